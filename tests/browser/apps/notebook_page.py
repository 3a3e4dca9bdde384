"""A JupyterLab of its own: temporary folders, a kernel of the same Python, and a notebook that a browser has open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.server import ROOT, free_port
from tests.browser.settle import TIMEOUT_S, frames

ASKS_OUTSIDE = "@jupyterlab/apputils-extension:announcements"
"""The extension that asks for news"""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run JupyterLab on the notebooks of a folder; yield its address."""
    own = {name: folder / ".own" / name.lower() for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR",
           "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")}  # fmt: skip
    settings = own["JUPYTER_CONFIG_DIR"] / "labconfig"
    settings.mkdir(parents=True)
    (settings / "page_config.json").write_text(json.dumps({"disabledExtensions": {ASKS_OUTSIDE: True}}))
    notebooks = own["JUPYTERLAB_SETTINGS_DIR"] / "@jupyterlab" / "notebook-extension"
    notebooks.mkdir(parents=True)
    # Else a cell below the window may not be in the page until somebody scrolls there.
    (notebooks / "tracker.jupyterlab-settings").write_text(json.dumps({"windowingMode": "none"}))
    port = free_port()
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1"),
        *(f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=", "--ServerApp.port_retries=0"),
        *("--LabApp.extension_manager=readonly", "--ServerApp.log_level=ERROR"),
    ]
    environment = {**os.environ, **{name: str(path) for name, path in own.items()}, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/api/status", server)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    since = monotonic()
    while monotonic() - since < TIMEOUT_S:
        assert server.poll() is None, "JupyterLab has ended"
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            sleep(0.1)
    raise AssertionError("JupyterLab does not answer")


class Notebook:
    """A notebook as its user meets it."""

    def __init__(self, page: Page, url: str, file: Path, cells: list[str]) -> None:
        """Write a notebook with these cells, and open it."""
        self.page, self.file = page, file
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        nbformat.write(
            nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)), metadata=kernel), file
        )
        page.goto(f"{url}/doc/tree/{file.name}?reset")
        self.cells = page.locator(".jp-Notebook-cell")
        expect(self.cells).to_have_count(len(cells))
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()

    def run(self, number: int) -> str:
        """Run a cell, counted from 0, wait until it is done, and return the text of its output."""
        cell = self.cells.nth(number)
        cell.locator(".cm-content").click()
        before = cell.locator(".jp-InputPrompt").first.inner_text()
        self.page.keyboard.press("Control+Enter")
        prompt = cell.locator(".jp-InputPrompt").first
        expect(prompt).not_to_have_text(before)
        expect(prompt).not_to_have_text("[*]:")
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts()).strip()

    def ask(self, number: int, code: str) -> str:
        """Write code into a cell, run it, and return the text of its output."""
        self.cells.nth(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(code)
        return self.run(number)

    def save(self) -> nbformat.NotebookNode:
        """Save the notebook, and read its file."""
        self.page.keyboard.press("Control+s")
        expect(self.page.locator(".jp-mod-dirty")).to_have_count(0)
        return nbformat.read(self.file, as_version=4)


class WidgetView(InspectorPage):
    """The walk in the output of a cell, as its user meets it."""

    def __init__(self, page: Page, cell: int) -> None:
        self.page = page
        self.output = page.locator(".jp-Notebook-cell").nth(cell).locator(".jp-OutputArea")
        self.panel = self.output.get_by_role("region", name="Arithmetic of one cell")
        self.board = self.output.locator(".walk .attnviz-board")
        expect(self.board.and_(page.locator("[data-painted]"))).to_be_visible()
        frames(page)

    def step(self, title: str) -> None:
        self.output.get_by_role("radio", name=title, exact=True).click()

    def at(self, panel: str, i: int, j: int) -> tuple[float, float]:
        self.board.scroll_into_view_if_needed()
        x, y = self.board.evaluate(PLACE, [panel, i, j])
        return x, y

    def matrix(self, name: str) -> np.ndarray:
        """Return the numbers of a matrix on the board, (rows, cols)."""
        return np.array(self.board.evaluate(VALUES, name), dtype=float)

    def shows(self, **values: object) -> None:
        """Wait until this step, layer or head is painted."""
        for name, value in values.items():
            expect(self.board).to_have_attribute(f"data-{name}", str(value))
        frames(self.page)


PLACE = """(board, [name, i, j]) => {
  const { left, top } = board.getBoundingClientRect();
  const { x, y } = board.attnviz.panels().find((one) => one.name === name);
  return [left + x._offset + x.l2p(j), top + y._offset + y.l2p(i)];
}"""
"""Where the middle of a cell is, in the window."""
VALUES = """(board, name) =>
  Array.from(board.attnviz.panels().find((one) => one.name === name).z, (row) => Array.from(row))"""

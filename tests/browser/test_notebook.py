"""The widgets in a real JupyterLab: what is clicked is what Python reads, and what Python sets is what is seen."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from torch.nn import functional as F

from attnviz.trace.trace import Trace
from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.server import ROOT, free_port
from tests.browser.settle import TIMEOUT_S, frames, in_the_end
from tests.loaded import built_in_model

TEXT = "The animal didn't cross the street because it was too tired."
VIEW, STATE = (f"application/vnd.jupyter.widget-{one}+json" for one in ("view", "state"))
SHOW = f"import attnviz\nwidget = attnviz.show({TEXT!r}, layer=3, head=5)\nwidget"
TRACE = f"trace = attnviz.trace({TEXT!r})\ntrace"
HEADS = f"heads = attnviz.show_heads({TEXT!r}, layer=3, head=5)\nheads"


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


@pytest.fixture
def jupyter(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path) as url:
        yield url


@cache
def trace() -> Trace:
    return built_in_model().trace(TEXT)


def weights(layer: int, head: int) -> np.ndarray:
    """Compute a head's weights with torch, (T, T)."""
    given = trace().layer(layer)
    query, key = given.query[head].double(), given.key[head].double()
    found: np.ndarray = F.softmax(query @ key.T / query.shape[1] ** 0.5, -1).numpy()
    return found


def test_widgets_are_pointed_at_read_set_and_saved(page: Page, jupyter: str, tmp_path: Path) -> None:
    """One notebook with one kernel, because to start them takes longer than most of what is done with them."""
    notebook = Notebook(page, jupyter, tmp_path / "walk.ipynb", [SHOW, HEADS, TRACE, ""])
    notebook.run(0)
    view = WidgetView(page, 0)
    view.shows(step="weights", layer=3, head=5)
    np.testing.assert_allclose(view.matrix("weights"), weights(3, 5), atol=1e-6)

    view.step("Scores")
    view.shows(step="scores")
    copy = it_gets_dark_with_jupyterlab_and_is_saved_with_its_state(page, notebook)
    view.click("scores", 4, 7)
    assert notebook.ask(3, "widget.step, widget.layer, widget.head, widget.q, widget.k") == "('scores', 3, 5, 4, 7)"

    notebook.ask(3, 'widget.step, widget.head, widget.q, widget.k = "weights", 2, 1, None')
    view.shows(step="weights", head=2)
    np.testing.assert_allclose(view.matrix("weights"), weights(3, 2), atol=1e-6)
    assert {("masked", "row"), ("weights", "row")} <= (marks := view.marks("pinned"))
    assert not any(shape in ("cell", "column") for _, shape in marks)
    notebook.ask(3, "widget.layer = 0")  # the kernel sends its document
    view.shows(layer=0)
    np.testing.assert_allclose(view.matrix("weights"), weights(0, 2), atol=1e-6)
    notebook.ask(3, 'widget.step = "qkv"')  # and the projections of a head that was not the first
    view.shows(step="qkv")
    projections = trace().layer(0).projections
    assert projections is not None
    weight = projections["query"].weight
    assert weight is not None
    np.testing.assert_array_equal(view.matrix("W_query"), weight[2].numpy())

    said = notebook.ask(3, "widget.layer = 6")
    assert said.endswith("ChoiceError: layer takes a whole number from 0 to 5, not 6; it stays 0.")
    assert "Traceback" not in said
    assert notebook.ask(3, "widget.layer, widget.step") == "(0, 'qkv')"
    view.shows(layer=0, step="qkv")

    notebook.run(1)
    heads_are_chosen_and_set(page, notebook)
    widgets_stand_side_by_side_and_are_saved_with_their_pictures(page, notebook)

    open_with_a_new_kernel(page, f"{jupyter}/doc/tree/{copy.name}?reset")
    view = WidgetView(page, 0)
    view.shows(step="scores", layer=3, head=5)
    view.step("Weights")
    view.shows(step="weights")
    np.testing.assert_allclose(view.matrix("weights"), weights(3, 5), atol=1e-6)


def it_gets_dark_with_jupyterlab_and_is_saved_with_its_state(page: Page, notebook: Notebook) -> Path:
    """Choose the dark theme, save with the state of the widget, and return a copy of the notebook."""
    walk = page.locator(".walk")
    expect(walk).to_have_attribute("data-theme", "light")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_text("Theme", exact=True).hover()
    page.get_by_text("JupyterLab Dark", exact=True).click()
    expect(walk).to_have_attribute("data-theme", "dark")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_text("Save Widget State Automatically", exact=True).click()
    in_the_end(page, notebook.save, has_its_widget)
    return Path(shutil.copy(notebook.file, notebook.file.with_name("copy.ipynb")))


def heads_are_chosen_and_set(page: Page, notebook: Notebook) -> None:
    """Choose heads in the output of the second cell, and set them in the last."""
    explorer = page.locator(".explorer")
    shows(explorer, 3, 5)
    np.testing.assert_allclose(drawn(explorer), weights(3, 5), atol=8e-6)

    explorer.locator("canvas").first.click()  # in the middle of the grid
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)  # a change is sent when no other follows
    clicked = notebook.ask(3, "heads.layer, heads.head")
    assert clicked == chosen_in(explorer) != "(3, 5)"

    notebook.ask(3, "heads.layer, heads.head, heads.q = 1, 8, 4")
    shows(explorer, 1, 8)
    np.testing.assert_allclose(drawn(explorer), weights(1, 8), atol=8e-6)
    assert explorer.evaluate("({ attnviz }) => attnviz.updates.values.q") == 4
    notebook.ask(3, "heads.head = -1")  # the kernel sends the rollout
    shows(explorer, 1, -1)


def widgets_stand_side_by_side_and_are_saved_with_their_pictures(page: Page, notebook: Notebook) -> None:
    """Show a trace in the third cell, beside the walk of the first."""
    notebook.ask(3, 'widget.step, widget.layer, widget.head, widget.q, widget.k = "weights", 3, 5, None, None')
    notebook.run(2)
    one, two = WidgetView(page, 0), WidgetView(page, 2)
    two.shows(layer=0, head=0)
    np.testing.assert_allclose(two.matrix("weights"), weights(0, 0), atol=1e-6)
    two.step("Scores")
    two.shows(step="scores")
    one.shows(step="weights", layer=3, head=5)

    one.click("weights", 2, 3)
    page.keyboard.press("h")
    one.shows(head=6)
    page.keyboard.press("b")  # a command of JupyterLab, which adds a cell, but not in a widget
    two.shows(head=0)
    expect(notebook.cells).to_have_count(4)
    assert notebook.ask(3, "widget.head, widget.q, widget.k") == "(6, 2, 3)"

    outputs = [cell.outputs[0].data for cell in notebook.save().cells[:3]]
    assert [data["text/plain"] for data in outputs] == [
        "WalkWidget(step weights, layer 3, head 5)",
        "HeadsWidget(layer 3, head 5)",
        "Trace(minilm, 16 tokens, 6 layers x 12 heads)",
    ]
    sizes = [Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).size for data in outputs]
    assert sizes[0] == sizes[2] == (1600, 900)
    assert sizes[1][0] == 1600


def open_with_a_new_kernel(page: Page, url: str) -> None:
    """Open a saved notebook, of which nothing has run; again, as its user would, if ipywidgets does not restore it.

    ipywidgets asks a new kernel for its widgets before it reads those of the notebook. If the kernel takes more than
    4 s to answer, ipywidgets says "model not found" of a widget that it has not read yet, and does not look again.
    """
    widget = page.locator(".walk .attnviz-board")
    lost = page.get_by_text("Error displaying widget: model not found")
    for _ in range(3):
        page.goto(url)
        expect(widget.or_(lost).first).to_be_visible()
        if widget.count():
            return


def has_its_widget(saved: Any) -> bool:
    """Whether a saved notebook holds the state of the widget that its first cell shows."""
    (shown,) = (one["data"][VIEW]["model_id"] for one in saved.cells[0].outputs if VIEW in one.get("data", {}))
    return shown in saved.metadata.get("widgets", {}).get(STATE, {}).get("state", {})


def shows(explorer: Locator, layer: int, head: int) -> None:
    """Wait until a head is drawn with its exact weights."""
    for name, value in (("layer", layer), ("head", head), ("exact", "true")):
        expect(explorer).to_have_attribute(f"data-{name}", str(value))


def chosen_in(explorer: Locator) -> str:
    layer, head = (explorer.get_attribute(f"data-{name}") for name in ("layer", "head"))
    return f"({layer}, {head})"


def drawn(explorer: Locator) -> np.ndarray:
    """Return the weights of the first head that is drawn, (T, T)."""
    cells: list[float] = explorer.evaluate(
        "({ attnviz }) => Array.from(attnviz.scene.of(attnviz.updates.values, attnviz.theme).heads[0].at)"
    )
    size = int(len(cells) ** 0.5)
    return np.array(cells).reshape(size, size)

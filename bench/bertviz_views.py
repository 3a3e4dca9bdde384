"""BertViz's head view and model view: how they are made, opened and worked.

BertViz (1.4.1) is a library for notebooks; what a notebook's cell would hold is opened as a page. The three libraries
that it loads from the net come from npm instead and are served beside it, so that its figures have no network in them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page

from bench.stopwatch import BrokeError, Shown, act, load
from tests.browser.server import ROOT

CACHE = Path(os.environ.get("ATTNVIZ_BENCH_CACHE") or Path.home() / ".cache" / "attnviz-bench")
PYTHON_FOLDER = CACHE / "python"
REQUIREMENTS = Path(__file__).with_name("requirements.txt").relative_to(ROOT)
INSTALL = f"{sys.executable} -m pip install --no-deps --target {PYTHON_FOLDER} -r {REQUIREMENTS}"

CDN = "https://cdnjs.cloudflare.com/ajax/libs"
LIBRARIES = {
    f"{CDN}/require.js/2.3.6/require.min.js": ("requirejs@2.3.6", "require.js"),
    f"{CDN}/d3/5.7.0/d3.min": ("d3@5.7.0", "dist/d3.min.js"),
    f"{CDN}/jquery/2.0.0/jquery.min": ("jquery@2.1.0", "dist/jquery.min.js"),  # npm's oldest; the same interface
}
"""The addresses in BertViz's pages, and where the same files lie on npm."""

DRAWN = "stopwatch.changed(() => stopwatch.made('#vis svg'))"
TOKENS_TO_HOVER = (2, 5, 8, 11, 14)
HEADS_TO_OPEN = (0, 7, 3, 11, 5)
"""In this order none lies under the detail of the one before."""


def prepare() -> None:
    """See that BertViz and its browser libraries are here; fetch the libraries once.

    Raises:
        SystemExit: something is missing; the message says what to do.
    """
    if not (PYTHON_FOLDER / "bertviz").is_dir():
        raise SystemExit(f"BertViz is not here to compare with. Install it with: {INSTALL}")
    for package, file in LIBRARIES.values():
        if not (library(package) / file).is_file():
            fetch(package)


def library(package: str) -> Path:
    """Return the folder of a browser library in the cache."""
    return CACHE / "npm" / package / "package"


def fetch(package: str) -> None:
    """Get a package from npm and unpack it into the cache.

    Raises:
        SystemExit: there is no npm or no network.
    """
    folder = library(package).parent
    folder.mkdir(parents=True, exist_ok=True)
    try:
        result = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True, timeout=120
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemExit(
            f"BertViz's browser library {package} is not in {CACHE} and `npm pack` can't get it: is there no network, "
            "or no npm? Run `python -m bench --only heads` once with both."
        ) from error
    archive = folder / result.stdout.split()[-1]
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    archive.unlink()


@dataclass(frozen=True)
class Made:
    """One of BertViz's views as a page."""

    url: str
    ms: float
    """From the text to the HTML, in Python"""
    size: int
    """Bytes of the HTML"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — the name that the parent gives it
        """Say nothing."""


class Workshop:
    """Makes views and serves them from a folder that goes with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for package, file in LIBRARIES.values():
            (folder / served_as(package)).write_bytes((library(package) / file).read_bytes())
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.make = cache(self._make)

    def _make(self, view: str, tokens: int) -> Made:
        name = f"{view}_{tokens}.html"
        path = os.pathsep.join([str(PYTHON_FOLDER), str(ROOT)])
        command = [sys.executable, "-m", "bench.bertviz_page", view, str(tokens), str(self.folder / name)]
        environment = {**os.environ, "PYTHONPATH": path}
        ran = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise BrokeError(f"its Python ended with status {ran.returncode}: {ran.stderr[-300:]}")
        result = json.loads(ran.stdout.splitlines()[-1])
        html = (self.folder / name).read_text()
        for address, (package, _) in LIBRARIES.items():
            served = served_as(package)
            # require.js is named in full, and adds ".js" itself to what it loads.
            html = html.replace(address, f"/{served}" if address.endswith(".js") else f"/{Path(served).stem}")
        (self.folder / name).write_text(f"<!doctype html><meta charset='utf-8'><body>\n{html}\n</body>")
        return Made(f"http://127.0.0.1:{self.server.server_port}/{name}", result["ms"], result["bytes"])


def served_as(package: str) -> str:
    """Return the name under which a library is served."""
    return package.partition("@")[0] + ".js"


@contextmanager
def workshop() -> Iterator[Workshop]:
    """Make BertViz's views for a while."""
    with TemporaryDirectory(prefix="bertviz-") as folder:
        made = Workshop(Path(folder))
        yield made
        made.server.shutdown()


def open_view(page: Page, made: Made) -> float:
    """Return the ms from the start of the navigation until the whole view is drawn."""
    return load(page, made.url, DRAWN)


def change_layer(page: Page, layer: int) -> Shown:
    """Choose a layer in the head view."""
    return act(page, DRAWN, "change", lambda: page.select_option("#layer", str(layer)))


def hover_in_head_view(page: Page, token: int) -> Shown:
    """Point at a token of the head view: it lights up, and its lines stay alone."""
    x, y = middle(page, "#left text", token)
    lit = f"() => document.querySelectorAll('#left .background')[{token}].style.opacity === '1'"
    return act(page, lit, "mouseover", lambda: page.mouse.move(x - 2, y))


def open_head(page: Page, head: int) -> Shown:
    """Click on a head of layer 0 in the model view: its detail opens."""
    box = page.locator(f"#attn_background_0_{head}").bounding_box()
    assert box, "the thumbnail is not on the page"
    x, y = box["x"] + box["width"] / 2, max(box["y"], 0) + min(box["height"], 100) / 2
    named = f"(t) => t.textContent === 'Layer 0, Head {head}'"
    opened = f"() => [...document.querySelectorAll('text.detail')].some({named})"
    return act(page, opened, "click", lambda: page.mouse.click(x, y))


def hover_in_model_view(page: Page, token: int) -> Shown:
    """Point at a token of the opened head: the lines of the others go."""
    x, y = middle(page, "g.detail text.token", token)
    opacity = "[...document.querySelectorAll('.attn-line-group')].map((group) => group.style.opacity)"
    alone = f"() => {{ const shown = {opacity}; return shown[{token}] === '1' && shown[{token} + 1] === '0'; }}"
    return act(page, alone, "mouseover", lambda: page.mouse.move(x, y))


def middle(page: Page, selector: str, index: int) -> tuple[float, float]:
    """Return where on the screen the middle of an element is, after scrolling it there."""
    x, y = page.evaluate(
        """([selector, index]) => {
          const found = document.querySelectorAll(selector)[index];
          found.scrollIntoView({block: 'nearest'});
          const box = found.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        [selector, index],
    )
    return x, y

"""Modules put into one text do in Chromium what they do one by one."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page

from attnviz.components import bundle
from attnviz.components.bundle.linking import FRONTEND

ENTRY = "main.js"
"""It loads bundles, from the address that it comes from."""
OF_A_PAGE = {"embed/walk.js", "embed/compare.js", "embed/heads.js", "embed/training.js"}
"""They show what a page of its own holds: test_web_pages.py, test_heads_web_page.py and test_train_page.py run them."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    """Serve the plain modules."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(FRONTEND))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


EXPORTS = """async ([path, text]) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const own = (all) => Object.keys(all).map((name) => [name, typeof all[name]]).sort();
  return [own(await import(path)), own(await import(url))];
}"""


def test_a_bundle_exports_what_its_entry_does(page: Page, files: str) -> None:
    page.goto(files)
    entries = {path.relative_to(FRONTEND).as_posix() for path in FRONTEND.rglob("*.js")} - {ENTRY} - OF_A_PAGE
    assert len(entries) > 60
    for entry in sorted(entries):
        plain, bundled = page.evaluate(EXPORTS, [f"/{entry}", bundle.module(entry)])
        assert bundled == plain, entry


def test_what_needs_a_server_is_refused() -> None:
    with pytest.raises(bundle.BundleError, match="this way to import or export is not known"):
        bundle.module(ENTRY)


def test_names_do_not_collide_and_modules_are_loaded_when_they_are_asked_for(page: Page, tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text(
        'import { same as other } from "./b.js";\nconst same = "a";\nconst load = () => import("./c.js");\n'
        'export const both = [same, other()];\nexport { load };\nexport default "whole";\n'
    )
    (tmp_path / "b.js").write_text('const same = () => "b";\nexport { same };\nwindow.ran = ["b"];\n')
    (tmp_path / "c.js").write_text(
        'import { same } from "./b.js";\nexport const late = same() + "c";\nwindow.ran.push("c");\n'
    )
    body = """async (text) => {
      const m = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      const before = [...window.ran];
      const [one, two] = [await m.load(), await m.load()];
      return [m.both, m.default, before, one.late, one === two, window.ran];
    }"""
    page.goto("about:blank")
    got = page.evaluate(body, bundle.module("a.js", tmp_path))
    assert got == [["a", "b"], "whole", ["b"], "bc", True, ["b", "c"]]


def test_bundles_on_one_page_share_the_modules_that_both_hold(page: Page, tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { next } from "./state.js";\nexport const all = [next(), next()];\n')
    (tmp_path / "b.js").write_text('import { next } from "./state.js";\nexport const all = [next()];\n')
    (tmp_path / "state.js").write_text("let last = 0;\nconst next = () => (last += 1);\nexport { next };\n")
    body = """async (texts) => {
      const [a, b] = await Promise.all(texts.map(async (text) =>
        (await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })))).default));
      const modules = new Map();
      return [a(modules), b(modules), a(modules), b(new Map())].map(({ all }) => all);
    }"""
    page.goto("about:blank")
    got = page.evaluate(body, [bundle.shared_module("a.js", tmp_path), bundle.shared_module("b.js", tmp_path)])
    assert got == [[1, 2], [3], [1, 2], [1]]


def test_a_classic_script_runs_by_itself_and_leaves_no_names(page: Page, tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { x } from "./b.js";\nwindow.found = [x, typeof $m, (() => this)()];\n')
    (tmp_path / "b.js").write_text("export const x = 1;\n")
    page.goto("about:blank")
    page.add_script_tag(content=bundle.script("a.js", tmp_path))
    assert page.evaluate("[window.found, typeof $modules]") == [[1, "undefined", None], "undefined"]

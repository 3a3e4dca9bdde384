"""The documentation as a site: it builds without a warning, opens from a disk, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.contexts import Contexts
from tests.browser.server import ROOT

PUBLIC = ("attnviz", "attnviz.bert", "attnviz.document", "attnviz.pretrained", "attnviz.toy", "attnviz.trained")
"""The packages of which every name in `__all__` is in the reference"""
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""The elements that load a file, and the attribute that names it"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


class Loaded(HTMLParser):
    """The addresses that a page loads, those that it leads to, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.files: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values["id"]} if "id" in values else set()
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.files.append(values["href"])
        elif values.get(LOADING.get(tag, ""), ""):
            self.files.append(values[LOADING[tag]])
        elif tag == "a" and "href" in values:
            self.links.append(values["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Loaded]:
    pages = {page: Loaded(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 35
    return pages


def test_pages_load_files_of_the_site_alone_and_lead_to_what_is_there(site: Path, pages: dict[Path, Loaded]) -> None:
    missing = []
    for page, loaded in pages.items():
        for address in (*loaded.files, *loaded.links):
            parts = urlsplit(address)
            if parts.scheme == "data" or (parts.scheme and address in loaded.links):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            found = not parts.scheme and not parts.netloc and target.is_file()
            anchored = not parts.fragment or target not in pages or parts.fragment in pages[target].anchors
            if not (found and anchored) and parts.fragment != "__skip":
                missing.append((page.name, address))
    assert missing == []
    styles = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert len(styles) > 50_000
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", styles) == []


def test_the_start_page_is_the_readme_and_pictures_and_notebooks_are_in_the_site(
    site: Path, pages: dict[Path, Loaded]
) -> None:
    assert "shows what attention computes" in (site / "index.html").read_text(encoding="utf-8")
    assert [name for name in pages[site / "index.html"].files if name.startswith("assets/screenshots/")]
    for notebook in (ROOT / "examples").glob("*.ipynb"):
        assert (site / "examples" / notebook.name).read_bytes() == notebook.read_bytes()
        page = pages[site / "examples" / f"{notebook.stem}.html"]
        assert any(file.startswith("data:image/png;base64,") for file in page.files), notebook
        assert notebook.name in page.links


def test_sections_of_docstrings_are_laid_out(site: Path) -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")}
    assert len(texts) > 10
    sections = re.compile(r"\b(?:Args|Raises|Returns):\s+\w+:")
    assert {name: sections.findall(text) for name, text in texts.items() if sections.search(text)} == {}
    assert "second sentence; in an encoder-decoder model" in texts["index.html"]


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_in_the_reference(site: Path, pages: dict[Path, Loaded], package: str) -> None:
    module = import_module(package)
    anchors = set().union(*(loaded.anchors for page, loaded in pages.items() if page.parent == site / "reference"))
    for name in module.__all__:
        member = getattr(module, name)
        if package == "attnviz":
            assert f"attnviz.{name}" in anchors
        elif getattr(member, "__module__", "").startswith("attnviz.") and hasattr(member, "__qualname__"):
            assert f"{member.__module__}.{member.__qualname__}" in anchors, name


@pytest.mark.parametrize("media", [{}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}])
def test_it_opens_from_a_disk_and_is_searched_there(
    site: Path, new_context: Contexts, media: dict[str, object]
) -> None:
    """The context fails the test if a page asks another machine for anything, or if a script fails."""
    page: Page = new_context(**media).new_page()
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    others = () if media else ("tour.html", "examples/first_head.html")
    for name in ("index.html", *others, "reference/index.html"):
        page.goto((site / name).as_uri())
        expect(page.locator("article h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        broken = "() => [...document.images].filter(image => image.complete && !image.naturalWidth).map(i => i.src)"
        assert page.evaluate(broken) == []
    if media:
        page.locator("label[for=__search]").first.click()
    page.locator("[data-md-component=search-query]").press_sequentially("jensen-shannon")  # it listens for keys
    result = page.locator(".md-search-result__item a").first
    expect(result).to_be_visible()
    result.click()
    expect(page.locator("article")).to_contain_text("Jensen-Shannon")
    assert failed == []

"""Exports web pages of their own, and opens them from the disk."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from attnviz.cli import main
from tests.browser.settle import frames


def exported(folder: Path, link: str) -> Path:
    """Export a link of the app as a web page; return the file."""
    assert main(["export", "--link", link, "--format", "html", "--out", str(folder), "--quiet"]) == 0
    (file,) = folder.glob("*.html")
    return file


def opened(page: Page, file: Path, link: str = "", *, painted: str = "[data-painted]") -> list[str]:
    """Open a file and wait until it has painted; return what the page has asked for and complained of."""
    page.goto("about:blank")  # or only what is behind the "#" would change, where the file is open already
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url))
    page.on("console", lambda message: found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.goto(file.as_uri() + link)
    page.wait_for_selector(painted)
    frames(page)
    return found

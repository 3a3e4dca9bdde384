"""A window that moves to a screen of another pixel density: a browser without a screen does not say so by itself."""

from __future__ import annotations

from playwright.sync_api import Page

SCREENS = """
  window.screens = new EventTarget();
  const ask = matchMedia.bind(window);
  window.matchMedia = (query) => query.startsWith('(resolution') ? window.screens : ask(query);
"""
"""Before a page is opened: its queries of the pixel density are answered by `screens`."""


def move_to(page: Page, density: float) -> None:
    """Move the window to a screen of this density."""
    page.evaluate("""(value) => {
      Object.defineProperty(window, 'devicePixelRatio', { value, configurable: true });
      window.screens.dispatchEvent(new Event('change'));
    }""", density)  # fmt: skip

"""A picture with its arithmetic as its user meets it: pointing at cells, and reading what the page then shows."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from tests.browser.settle import frames, settled, settled_at

PICTURE = ".attnviz-board:not([hidden]), .js-plotly-plot"

POINT = """([picture, name, i, j]) => {
  const graph = deepFind(picture);
  const { left, top } = graph.getBoundingClientRect();
  const plotly = () => {
    const trace = graph._fullData.find((one) => one.name === name);
    const axis = (of) => graph._fullLayout[`${of[0]}axis${of.slice(1)}`];
    return { x: axis(trace.xaxis), y: axis(trace.yaxis) };
  };
  const { x, y } = graph.attnviz ? graph.attnviz.panels().find((one) => one.name === name) : plotly();
  return [left + x._offset + x.l2p(j), top + y._offset + y.l2p(i)];
}"""
"""Where the middle of a cell is, in the window."""


class InspectorPage:
    """A page with a walk, as its user meets it."""

    picture = PICTURE

    @classmethod
    def open(cls, page: Page, url: str, path: str = "/", **link: str | int) -> InspectorPage:
        """Open a link and look at what it shows."""
        return cls(settled_at(page, f"{url}{path}?{urlencode(link)}"), has_heads=path == "/")

    def __init__(self, page: Page, *, has_heads: bool = True) -> None:
        self.page = page
        self.panel = page.get_by_role("region", name="Arithmetic of one cell")
        # Both come after the script: the strip moves the picture down, the panel follows the pointer.
        expect(self.panel).to_be_visible()
        if has_heads:
            expect(page.get_by_role("button", name="head 0")).to_be_visible()
        settled(page)

    def at(self, panel: str, i: int, j: int) -> tuple[float, float]:
        self.page.locator(self.picture).scroll_into_view_if_needed()
        x, y = self.page.evaluate(POINT, [self.picture, panel, i, j])
        return x, y

    def hover(self, panel: str, i: int, j: int) -> None:
        self.page.mouse.move(*self.at(panel, i, j))
        frames(self.page)

    def click(self, panel: str, i: int, j: int) -> None:
        self.page.mouse.click(*self.at(panel, i, j))
        frames(self.page)

    def leave(self) -> None:
        self.page.mouse.move(2, 2)
        frames(self.page)

    def line(self, name: str) -> Locator:
        return self.panel.locator(f"[data-line={name}]:visible")

    def result(self, name: str) -> float:
        frames(self.page)
        found = self.line(name).locator("[data-result]")
        expect(found).to_have_count(1)
        return float((found.get_attribute("data-value") or "").replace("Infinity", "inf"))

    def marks(self, state: str = "hovered") -> set[tuple[str, str]]:
        return marks_on(self.page, state)


def marks_on(page: Page, state: str = "hovered") -> set[tuple[str, str]]:
    """Return the matrix and the shape of all outlines on boards: of what is hovered, or pinned."""
    frames(page)
    shown = page.locator(f"[data-attnviz-overlay] [data-shape][data-state={state}]")
    pairs = shown.evaluate_all("all => all.map(({ dataset }) => [dataset.panel, dataset.shape])")
    return {(panel, shape) for panel, shape in pairs if shape != "halo"}

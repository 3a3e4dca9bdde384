"""The explorer as its user meets it: choosing heads, pointing at cells and tokens, and reading the values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from tests.browser.settle import frames, settled

CELL = """(section, [head, q, k]) => {
  const { board } = section.attnviz.view.pictures;
  const panel = board.panels().find(({ name }) => name === head) ?? board.panels()[0];
  const { left, top } = board.element.getBoundingClientRect();
  return [left + panel.x._offset + panel.x.l2p(k), top + panel.y._offset + panel.y.l2p(q)];
}"""
"""Where the middle of a heatmap's cell is, in the window."""

TOKEN = """(section, [side, index]) => {
  const { layout, element } = section.attnviz.view.pictures.lines;
  const { left, top } = element.getBoundingClientRect();
  const [x, y] = layout.point(side, layout.label, layout.at(side, index));
  return [left + x, top + y];
}"""
"""Where a token of the lines is written, in the window."""

THUMBNAIL = """(section, [layer, head]) => {
  const { grid } = section.attnviz.view;
  const { left, top } = grid.element.getBoundingClientRect();
  const frame = document.createElement('div');
  grid.put(frame, [layer, head]);
  const [x, y] = frame.style.transform.match(/[\\d.]+/g).map(Number);
  return [left + x + 6, top + y + 6];
}"""
"""Where a head's thumbnail is, in the window."""


HALF_A_STEP = 7.7e-6
"""A weight is sent as rint(weight × 65535), worked out in single precision."""


class Explored:
    """The explorer on a page."""

    def __init__(self, page: Page) -> None:
        """Wait until it is painted."""
        self.page = page
        self.section = page.locator(".explorer")
        self.wait()
        self.grid = self.section.get_by_role("grid")
        self.tooltip = self.section.locator(".tooltip")
        self.readout = self.section.locator(".readout")
        self.chips = self.section.locator(".legend .chip:not(.mean)")

    def wait(self) -> None:
        expect(self.section).to_have_attribute("data-painted", re.compile(r"\d+"))
        settled(self.page)

    @classmethod
    def open(cls, page: Page, url: str, **link: str | int) -> Explored:
        """Open a link and look at what it shows."""
        page.goto(f"{url}/?{urlencode(link)}")
        return cls(page)

    def where(self, script: str, argument: list[Any]) -> tuple[float, float]:
        x, y = self.section.evaluate(script, argument)
        return x, y

    def choose(self, layer: int, head: int, *keys: str) -> None:
        """Click a thumbnail, with keys held down."""
        at = self.where(THUMBNAIL, [layer, head])
        for key in keys:
            self.page.keyboard.down(key)
        self.page.mouse.click(*at)
        for key in keys:
            self.page.keyboard.up(key)
        frames(self.page)

    def point_at_head(self, layer: int, head: int) -> None:
        self.page.mouse.move(*self.where(THUMBNAIL, [layer, head]))
        frames(self.page)

    def point_at_cell(self, q: int, k: int, name: str = "") -> None:
        self.page.mouse.move(*self.where(CELL, [name, q, k]))
        frames(self.page)

    def pin_cell(self, q: int, k: int) -> None:
        self.page.mouse.click(*self.where(CELL, ["", q, k]))
        frames(self.page)

    def point_at_token(self, side: int, index: int) -> None:
        self.page.mouse.move(*self.where(TOKEN, [side, index]))
        frames(self.page)

    def pin_token(self, side: int, index: int) -> None:
        self.page.mouse.click(*self.where(TOKEN, [side, index]))
        frames(self.page)

    def leave(self) -> None:
        self.page.mouse.move(2, 2)
        frames(self.page)

    def values(self, place: Locator | None = None) -> list[float]:
        """The numbers shown, with all their digits."""
        frames(self.page)
        shown = (place or self.tooltip).locator("[data-value]")
        expect(shown).not_to_have_count(0)
        return [float(value) for value in shown.evaluate_all("all => all.map(({ dataset }) => dataset.value)")]

    def value_at(self, q: int, k: int, name: str = "") -> float:
        """Point at a cell, and read its number."""
        self.leave()
        self.point_at_cell(q, k, name)
        (value,) = self.values()
        return value

    def unfold(self, name: str) -> None:
        """Open the filter or the menu, unless it is open."""
        fold = self.section.locator(f"details.{name}")
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()

    def set(self, label: str, option: str) -> None:
        """Choose in the filter, or in the menu, which then closes: it lies over the picture."""
        is_behind_more = label in ("Order", "Values")
        self.unfold("menu" if is_behind_more else "filter")
        field = self.section.get_by_label(label, exact=True)
        field.select_option(option)
        if is_behind_more:
            field.press("Escape")
        frames(self.page)

    def check(self, name: str, *, is_on: bool = True) -> None:
        """Set a checkbox of the menu, and close the menu."""
        self.unfold("menu")
        box = self.section.get_by_role("checkbox", name=name)
        box.set_checked(is_on)
        self.section.locator("details.menu summary").press("Escape")
        frames(self.page)

    def view(self) -> dict[str, Any]:
        """What the viewer has set, as the browser knows it."""
        state: dict[str, Any] = self.section.evaluate("section => section.attnviz.updates.values")
        return state

    def lit(self, state: str = "hovered") -> set[str]:
        """Which shapes are lit over the heatmap."""
        marks = self.section.locator(f"[data-attnviz-overlay] [data-shape][data-state={state}]")
        return set(marks.evaluate_all("all => all.map(({ dataset }) => dataset.shape)")) - {"halo"}


Explore = Callable[..., Explored]

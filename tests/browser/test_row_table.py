"""The chosen row of a matrix as a table: opened, sorted and closed by keyboard, in each view that has a matrix."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import serious
from tests.browser.settle import settled, settled_at

SAYS = "The chosen row as a table"
VIEWS = {
    "Step by step": ("/?step=weights&q=7&k=9", "weights"),
    "Heads": ("/heads?q=7&k=9", None),
    "Compare": ("/compare?q=7&k=9", "difference"),
    "BERT": ("/bert?bert_part=language&q=2", None),
}
"""By the view: its link, and which of its matrices the table shows; None where there is one only"""

ROW = """(board, name) => {
  const { lights: { pinned }, shown } = board.attnviz;
  const { z, rows } = shown.panels.find((panel) => name === null || panel.name === name);
  return [pinned[rows], Array.from(z[pinned[rows]], (x) => Number.isNaN(x) ? null : x)];
}"""
"""The pinned row of a board's matrix: which it is, and its numbers; null where they are hidden."""

pytestmark = pytest.mark.page("one_page", reduced_motion="reduce")


class Table:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.board = page.locator(".attnviz-board").first
        self.opener = page.get_by_role("button", name=SAYS).first
        self.root = page.get_by_role("dialog", name=SAYS)

    def open(self) -> None:
        self.opener.press("Enter")
        expect(self.root).to_be_visible()

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=re.compile(name)).press("Enter")

    def column(self, name: str) -> Locator:
        return self.root.get_by_role("columnheader", name=re.compile(name))

    def entries(self) -> list[tuple[int, str]]:
        """Return the place and the number of each entry, in the order of the table."""
        texts = self.root.locator("tbody tr").evaluate_all("(rows) => rows.map((row) => row.innerText.split('\\t'))")
        return [(int(token.split()[0]), number) for token, number in texts]

    def holds(self, numbers: list[float | None], order: list[int]) -> None:
        """Hold that the table shows these numbers of a row, in this order."""
        entries = self.entries()
        assert [place for place, _ in entries] == order
        for place, text in entries:
            number = numbers[place]
            if number is None:
                assert text == "hidden"
            else:
                shown = float(text.removeprefix("< ").replace("−", "-"))
                assert shown == pytest.approx(number, abs=1.01e-4)


def by_number(numbers: list[float | None], way: int) -> list[int]:
    """Return the places of a row's numbers, the largest (-1) or the smallest (1) first, hidden ones last."""
    known = [np.inf if x is None else way * x for x in numbers]
    return [int(place) for place in np.argsort(known, kind="stable")]


@pytest.mark.parametrize("view", VIEWS)
def test_a_row_is_a_table_that_keys_sort_and_that_follows_the_pin(page: Page, app_url: str, view: str) -> None:
    link, matrix = VIEWS[view]
    settled_at(page, app_url + link)
    table = Table(page)
    expect(table.root).to_have_count(0)
    table.open()
    expect(table.opener).to_have_attribute("aria-expanded", "true")

    row, numbers = table.board.evaluate(ROW, matrix)
    expect(table.root.locator("caption")).to_contain_text(f"row {row} ")
    expect(table.column("number")).to_have_attribute("aria-sort", "descending")
    table.holds(numbers, by_number(numbers, -1))
    table.press("token")
    expect(table.column("token")).to_have_attribute("aria-sort", "ascending")
    expect(table.column("number")).to_have_attribute("aria-sort", "none")
    table.holds(numbers, [*range(len(numbers))])
    table.press("token")
    expect(table.column("token")).to_have_attribute("aria-sort", "descending")
    if view == "Step by step":
        sorted_by_number(table, numbers)
        assert serious(page) == []
    table.board.press("ArrowDown")
    settled(page)
    expect(table.root.locator("caption")).to_contain_text(f"row {row + 1} ")
    _, numbers = table.board.evaluate(ROW, matrix)
    table.holds(numbers, [*range(len(numbers))][::-1])

    table.root.get_by_role("button", name="Close").press("Escape")
    expect(table.root).to_have_count(0)
    expect(table.opener).to_be_focused()
    assert table.board.evaluate(ROW, matrix)[0] == row + 1  # Escape has released no pin

    table.opener.click()  # after a click the keys go on choosing what the picture shows
    expect(table.root).to_be_visible()
    expect(table.opener).to_be_focused()
    page.keyboard.press("Escape")
    expect(table.root).to_have_count(0)


def sorted_by_number(table: Table, numbers: list[float | None]) -> None:
    """Sort the table by its numbers both ways, and back by its tokens, the last one first."""
    table.holds(numbers, [*range(len(numbers))][::-1])
    for way, says in ((-1, "descending"), (1, "ascending")):
        table.press("number")
        expect(table.column("number")).to_have_attribute("aria-sort", says)
        table.holds(numbers, by_number(numbers, way))
    table.press("token")
    table.press("token")
    for button in table.root.get_by_role("columnheader").get_by_role("button").all():
        expect(button).to_be_enabled()


def test_the_table_of_a_covered_row_tells_nothing_of_it(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?step=weights&q=7&predict=1")
    table = Table(page)
    table.open()
    assert table.entries() == [(place, "covered") for place in range(11)]
    expect(table.root.get_by_role("columnheader").get_by_role("button", disabled=True)).to_have_count(2)
    expect(table.column("token")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Escape")
    table.board.press("r")
    settled(page)
    table.open()
    assert "covered" not in {number for _, number in table.entries()}
    page.keyboard.press("Escape")
    expect(table.root).to_have_count(0)


def test_a_table_of_several_matrices_shows_the_chosen_one_and_goes_with_the_picture(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/?step=weights&q=7")
    table = Table(page)
    table.open()
    table.root.get_by_role("combobox", name="Matrix").select_option("masked")
    row, numbers = table.board.evaluate(ROW, "masked")
    expect(table.root.locator("caption")).to_contain_text(f"masked, row {row} ")
    table.holds(numbers, by_number(numbers, -1))
    page.get_by_role("radio", name="Sentence").click()
    settled(page)
    expect(table.root).to_have_count(0)

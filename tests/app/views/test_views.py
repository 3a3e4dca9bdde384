"""A link from an earlier version opens the same view: the same numbers, labels, messages and settings."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

from attnviz.ui.bert import search as found_sentences
from tests.app.pages import go_to_page
from tests.app.views.comparing import (
    Record,
    array_differences,
    close_decimals,
    differences,
    figures,
    record,
    shortened,
    text_differences,
)
from tests.app.views.links import MORE, PAGES, ROOT, documented, links, opened, query
from tests.app.views.payloads import Seen
from tests.app.views.record import FOLDER, MADE_BY, fresh, read
from tests.app.views.seeing import WAITS, look

SHOWN = 12
"""Differences of a page that are written out"""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run of the page wait for the sentences of the search: AppTest forgets the widgets of one that does not."""
    monkeypatch.setattr(found_sentences, "PATIENCE", WAITS)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("page", PAGES.values())
def test_a_link_opens_the_view_that_was_recorded(page: str) -> None:
    """Recorded in sessions of their own, opened one after the other in one session: nothing of a view stays."""
    recorded, on_page = read(page), links()[page]
    assert set(recorded) == set(on_page), "the links are others: record them by `python -m tests.app.views.record`"
    found, at = [], fresh(page, on_page[0])
    for link in on_page:
        shown = fresh(page, link) if link == on_page[0] or opened(link) else go_to_page(at, page, query(link))
        now = record(look(shown, query(link)))
        found += [f"{link}\n    {difference}" for difference in differences(recorded[link], now)]
    some = "\n".join(found[:SHOWN])
    assert not found, f"{len(found)} differences to {FOLDER.name}/{page}.json, the first of them:\n{some}"


@pytest.mark.usefixtures("patient")
def test_a_view_that_is_waited_for_shows_what_its_widgets_are_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    link = "/bert?bert_part=search&hits=3&find=a+sick+child&lecture=1"
    at = fresh("bert", link)
    get, bars = at.get, iter([["a bar"]])
    monkeypatch.setattr(at, "get", lambda kind: next(bars, []) if kind == "progress" else get(kind))
    assert list(differences(read("bert")[link], record(look(at, query(link))))) == []


def test_each_key_that_a_link_may_hold_is_in_a_recorded_link() -> None:
    keys = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "links.md").read_text(encoding="utf-8"), re.MULTILINE)
    held = {key for on_page in links().values() for link in on_page for key in query(link)}
    assert len(keys) > 50
    assert set(keys) <= held


def test_all_pages_and_the_documented_examples_are_recorded() -> None:
    assert len(documented()) >= 1
    assert set(documented()) <= set(links()["step_by_step"])
    assert all(len(more) >= 10 for more in MORE.values())


@pytest.fixture
def view() -> Record:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(7, 5)).astype(np.float32)
    matrix[0, 3] = -np.inf
    return record(Seen(["Scale: 1/√D", "from −10.64 to 9.79"], {"scores": [matrix], "weights": [matrix.T]}))


def test_the_same_view_does_not_differ(view: Record) -> None:
    assert list(differences(view, copy.deepcopy(view))) == []


@pytest.mark.parametrize("number", range(10))
def test_each_figure_counts(view: Record, number: int) -> None:
    now = copy.deepcopy(view)
    now["arrays"]["weights"][0]["figures"][number] += 0.01
    (difference,) = differences(view, now)
    assert difference.startswith("weights: ")
    assert " was " in difference


def test_texts_and_arrays_that_are_gone_new_or_others_are_named(view: Record) -> None:
    now = copy.deepcopy(view)
    now["texts"] = ["from −10.64 to 9.75", "Mask: none"]
    del now["arrays"]["weights"]
    now["arrays"]["scores"][0]["shape"] = [5, 7]
    assert list(differences(view, now)) == [
        "“Scale: 1/√D” is gone",
        "“from −10.64 to 9.79” is now “from −10.64 to 9.75”",
        "“Mask: none” is new",
        "scores: shape was [7, 5], is now [5, 7]",
        "weights: there were 1 arrays of this name, now there are 0",
    ]


def test_a_matrix_differs_from_its_transpose_and_from_one_with_two_cells_swapped() -> None:
    matrix = np.arange(36, dtype=np.float32).reshape(6, 6)
    other = matrix.copy()
    other[1, 1], other[4, 2] = matrix[4, 2], matrix[1, 1]
    for changed in (matrix.T, other):
        assert any("slope" in difference for difference in array_differences(figures(matrix), figures(changed)))


def test_what_float32_leaves_open_is_no_difference() -> None:
    matrix = np.random.default_rng(1).normal(size=(20, 20)).astype(np.float32) * 30
    for factor in (1 + 3e-6, 1 - 3e-6):
        assert list(array_differences(figures(matrix), figures(matrix * np.float32(factor)))) == []
    assert close_decimals("from −3.56 to 0.00", "from −3.57 to -0.00")
    assert not close_decimals("from −3.56 to 0.00", "from 3.56 to 0.00")
    assert not close_decimals("0.00", "0.02")


def test_how_two_sums_are_rounded_is_no_difference() -> None:
    other = "**Equal: yes.** The largest is **4.77e−7**, in row 0. Both are rounded; this may make up to 3e−6 there."
    same = "**Equal: yes.** The largest is **0**: every rounding is the same."
    no = "**Equal: yes.** The largest is **0.477**, in row 0. Both are rounded; this may make up to 3e−6 there."
    assert list(text_differences([other], [same])) == []
    assert len(list(text_differences([no], [same]))) == 2
    moved = "They move the outputs by at most **{}**: nothing {}. Without it, by up to **{}**: more."
    one, two = moved.format("5.96e−7", "but rounding", "0.726"), moved.format("0", "at all", "0.726")
    assert list(text_differences([one], [two])) == []
    assert list(text_differences([one], [moved.format("0", "at all", "0.926")]))


def test_a_long_text_counts_to_its_end() -> None:
    long = "word " * 200 + "0.25"
    assert shortened(long) != shortened(long + "more")
    assert shortened(long) == shortened(long.replace("0.25", "0.26"))
    assert len(shortened(long)) < 300


def test_the_recordings_are_small_and_say_where_they_come_from() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert {file.stem for file in files} == set(PAGES.values())
    assert all(MADE_BY in file.read_text(encoding="utf-8")[:200] for file in files)
    assert sum(file.stat().st_size for file in files) < 2_200_000

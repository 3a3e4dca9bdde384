"""What is said of a head over a corpus."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnviz.ui.heads import corpus as panels
from tests.unit.ui.test_heads_state import survey_of

NUMBERS = (4, 7)
"""The model's own numbers of two layers, of three heads each"""


def here(layer: int = 7, head: int = 1, shares: dict[str, list[float]] | None = None, **own: Any) -> panels.CorpusHead:
    """Return a head over a corpus with what is given of its statistics; `shares` of labels by head, (L · H,)."""
    mean = np.array([[[0.25, 1.0], [0.5, 1.0], [0.25, 1.0]], [[0.5, 1.0], [0.5, 4.0], [1.0, 1.0]]])
    held = {"cls": [0.0] * 6} if shares is None else shares
    statistics = SimpleNamespace(**{
        "numbers": NUMBERS, "shape": (2, 3), "measures": ("self", "entropy"), "count": np.full((2, 3, 2), 9),
        "mean": mean, "std": mean / 8, "labels": tuple(held),
        "label_share": np.array(list(held.values())).reshape(-1, 2, 3), "head": lambda n: (NUMBERS[n // 3], n % 3),
        "share_below": lambda *_: 0.75, "limited": np.array([False, True]), **own,
    })  # fmt: skip
    survey = survey_of(("<s>", "a", "b", "</s>"))
    survey.measures = [SimpleNamespace(name=name, title=name, unit="") for name in ("entropy", "self")]
    survey.values = np.arange(12.0).reshape(2, 3, 2)
    survey.values[1, 2, 0] = np.nan
    return panels.CorpusHead(Path("x"), statistics, SimpleNamespace(), survey, layer, head)  # type: ignore[arg-type]


def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what the panels write."""
    texts: list[str] = []
    monkeypatch.setattr(panels.st, "markdown", texts.append)
    monkeypatch.setattr(panels.st, "caption", texts.append)
    monkeypatch.setattr(panels, "plot", lambda *_: None)
    monkeypatch.setattr(panels, "_height", lambda: 200)
    return texts


def test_a_head_is_found_by_its_layers_own_number() -> None:
    one = here()
    assert (one.row, one.number, one.at("entropy")) == (1, 4, (1, 1, 1))
    assert (one.value("entropy"), one.value("self"), one.value("cls")) == (8, 9, None)
    assert here(head=2).value("entropy") is None
    table = panels.beside(one)
    assert table.iloc[1].tolist() == ["entropy", 8, 4, 0.5, 0.75, 9]
    missing = panels.beside(here(head=2)).iloc[1]
    assert np.isnan([missing["this_text"], missing["below"]]).all()


def test_the_most_alike_heads_do_not_include_itself_where_another_is_the_same() -> None:
    own = [0.25, 0.0, 0.5, 0.125, 0.0, 0.75]  # the second head's rows are the same
    divergence = np.tile(np.array(own), (6, 1))
    assert here(divergence=divergence).nearest(3) == [1, 3, 0]
    assert here(divergence=divergence).nearest(9) == [1, 3, 0, 2, 5]


@pytest.mark.parametrize(
    ("shares", "head", "expected"),
    [
        ({"broad": [0, 0, 0, 0, 0.5, 0]}, 1, "entropy"),  # a label that just holds on half, under its measure's name
        ({"broad": [0, 0, 0, 0, 0.49, 0]}, 2, "self"),
        ({"cls": [1] * 6, "self": [0, 0, 0, 0, 0.75, 0]}, 1, "self"),  # whose label is of a measure that it has
        ({"self": [0.75] * 6, "broad": [1] * 6}, 0, "entropy"),  # the commonest first
        (None, 1, "entropy"),  # 4 is farther above 1.5 than 0.5 is above 0.5
    ],
)
def test_a_head_stands_out_by_its_commonest_label_or_else_by_what_is_farthest_above_all(
    shares: dict[str, list[float]] | None, head: int, expected: str
) -> None:
    assert here(head=head, shares=shares).strongest() == expected


@pytest.mark.parametrize(
    ("means", "where"),
    [([0.5, 0.25, np.nan], "2 tokens before the query"), ([0.25, 0.5, 0.25], "on the token itself"),
     ([0.25, np.nan, 0.5], "1 token after the query")],
)  # fmt: skip
def test_the_largest_mean_weight_is_said_with_its_side(
    monkeypatch: pytest.MonkeyPatch, means: list[float], where: str
) -> None:
    texts = said(monkeypatch)
    offset_mean = np.zeros((2, 3, 3))
    offset_mean[1, 1] = means
    panels.positions(here(offset_mean=offset_mean, offsets=(-2, 0, 1), offset_count=np.arange(3)))
    assert texts[0] == f"The mean weight is largest **{where}**: **0.500**."


def test_a_head_looks_everywhere_or_everywhere_it_may_by_the_mask_of_its_own_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = {"broad": [1.0] * 6}
    assert [panels._said(here(layer, shares=shares, sentences=9)) for layer in NUMBERS] == [
        "**looks everywhere** on 100 % of 9 sentences.", "**looks everywhere it may** on 100 % of 9 sentences."
    ]  # fmt: skip
    texts = said(monkeypatch)
    divergence = np.tile([0.0, 0.5, 0.5, 0.5, 0.25, 0.75], (6, 1))
    panels.alike(here(shares=shares, divergence=divergence, pair_count=9))
    rows = texts[1].splitlines()[2:]
    assert all(("may" in row) == ("layer 7" in row) and "everywhere" in row for row in rows) and len(rows) == 5


def test_in_a_lecture_a_label_counts_on_half_of_the_sentences() -> None:
    shares = {"cls": [0.5, 0.49, 0.0, 0.25, 0.75, 0.5], "sep": [0.0] * 6}
    assert panels._by_label(here(shares=shares)).split("\n") == [
        "| Label | Heads | Most often | On |",
        "| --- | ---: | --- | ---: |",
        "| attends to \\[CLS\\] | 3 | layer 7 · head 1 | 75 % |",
        "",
        "Heads: those with the label on 50 % of the sentences or more.",
    ]

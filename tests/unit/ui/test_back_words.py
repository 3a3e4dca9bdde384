"""What Embeddings and back says of tokens that come back or don't is true of any table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from attnviz.bert.round_trip import RoundTrip, there_and_back
from attnviz.bert.table import EmbeddingTable
from attnviz.tokens import Tokens
from attnviz.ui.bert.round_trip import token_tables
from attnviz.ui.bert.round_trip.results import RoundTripSetup
from attnviz.ui.bert.round_trip.views import _told_apart

APART = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
LONGER = torch.tensor([[1.0, 0.1], [2.0, 0.0], [0.0, 1.0]])
SAME_DIRECTION = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
EQUAL = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def said(weight: Tensor, *ids: int, is_unit: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what is to be noticed of some ids in a table of three rows."""

    def back(setup: RoundTripSetup) -> RoundTrip:
        return there_and_back(setup.tokens.ids, setup.ends())

    monkeypatch.setattr(RoundTripSetup, "round_trip", back)
    count, pieces = len(ids), ("a", "b", "c")
    no = (False,) * count
    tokens = Tokens(
        "", None, tuple(pieces[one] for one in ids), ids, ((0, 0),) * count, (0,) * count, no, no, 0, 3, "a test's"
    )
    table = EmbeddingTable(weight, pieces, pieces, lambda _: "", None)
    model = cast(Any, SimpleNamespace(name="not the built-in one"))
    return token_tables._tokens_notice(RoundTripSetup(model, table, tokens, False, is_unit, 0, 1.0))


def test_every_token_comes_back_only_if_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    every, same = "So every token comes back.", "But two rows of the same direction can't be told apart."
    assert every in said(APART, 0, 1, 2, is_unit=True, monkeypatch=monkeypatch)
    assert every in said(LONGER, 0, 1, 2, is_unit=True, monkeypatch=monkeypatch)
    for weight in (SAME_DIRECTION, EQUAL):
        found = said(weight, 0, 1, 2, is_unit=True, monkeypatch=monkeypatch)
        assert every not in found
        assert same in found


def test_rows_of_length_1_help_only_against_a_longer_row_of_another_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    helped = said(LONGER, 0, is_unit=False, monkeypatch=monkeypatch)
    assert "“a” does not come back" in helped
    assert "longer (2.000 instead of 1.005)" in helped
    assert helped.endswith("With rows of length 1 it comes back.")
    not_helped = said(SAME_DIRECTION, 1, is_unit=False, monkeypatch=monkeypatch)
    assert "longer (2.000 instead of 1.000)" in not_helped
    assert not_helped.endswith("Nor does it with rows of length 1: two rows of the same direction can't be told apart.")
    equal = said(EQUAL, 0, 1, is_unit=False, monkeypatch=monkeypatch)
    assert "of nearly the same length" in equal
    assert equal.endswith("can't be told apart.")


@pytest.mark.parametrize("is_unit", [False, True])
def test_a_row_of_zeros_has_no_direction(is_unit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = said(weight, 0, 2, is_unit=is_unit, monkeypatch=monkeypatch)
    assert "“c” does not come back: its row of the table is all zeros, so its logits are all 0." in found
    assert "direction" not in found


def test_labels_of_buttons_are_escaped_and_differ() -> None:
    labels = _told_apart(["[CLS]", "##s", "*", "##s"])
    assert labels == [r"\[CLS\]", r"\#\#s (1)", r"\*", r"\#\#s (3)"]

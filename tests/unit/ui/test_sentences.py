"""Sentences of the pages that are put together from numbers: why a head stands out, which differs most, what costs."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st

from attnviz.compare.matrices import Divergences
from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.links.link import STRETCH
from attnviz.measures.striking import StrikingHead
from attnviz.steps.picture import darkens
from attnviz.ui import controls, state
from attnviz.ui import suggestions as message
from attnviz.ui.compare import panes as compare
from attnviz.ui.compare.panes import B
from attnviz.ui.compare.panes import _most_different_sentence as most_different
from attnviz.ui.suggestions import sentence as striking
from attnviz.ui.transformer.overview import LENGTHS, _together


@pytest.fixture(autouse=True)
def fresh_view() -> Iterator[None]:
    """Begin a session of its own."""
    st.session_state.clear()
    state.begin("compare")
    yield
    st.session_state.clear()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the HTML that is shown."""
    texts: list[str] = []
    monkeypatch.setattr(st, "html", texts.append)
    return texts


@pytest.mark.parametrize(
    ("key", "kind", "heads", "looks", "others"),
    [
        (2, "encoder", 12, "looks at “sat”", "in the 11 other heads the mean is 0.06."),
        (1, "encoder", 2, "looks at another “cat”", "in the other head it is 0.06."),
        (1, "cross", 3, "looks at “cat”", "in the 2 other heads the mean is 0.06."),  # of another text
    ],
)
def test_a_head_that_stands_out_is_compared_with_the_others(
    key: int, kind: str, heads: int, looks: str, others: str
) -> None:
    axes = SimpleNamespace(labels=("cat", "cat", "sat"))
    here: Any = SimpleNamespace(axes=lambda: (axes, axes), kind=kind)
    said = striking(StrikingHead(3, 1, 0, key, 0.75, 0.0625), here, heads)
    assert said == f"Layer 3, head 1: “cat” {looks} with 0.75; {others}"
    where, row, column, cell = (mark.target for mark in said.marks)
    assert (where.layer, where.head, row.row, column.column) == (3, 1, 0, key)
    assert (cell.row, cell.column) == (0, key)


def test_the_most_different_head_is_named_and_beside_it_the_one_that_is_shown() -> None:
    found = Divergences(np.array([0.25, 0.0, 0.75]), (4, 5, 6), 5)
    by = "0.75 bits of Jensen-Shannon divergence between rows of weights, on average"
    first = f"Of 3 layers, layer 6 differs most from layer 5 on A’s text: {by}."
    assert most_different(found, "layer", 5, 6) == first
    assert most_different(found, "layer", 5, 4) == f"{first} Layer 4: 0.25."


def test_texts_are_shown_up_to_400_characters_with_the_words_that_differ(written: list[str]) -> None:
    for length, shown in ((400, True), (401, False)):
        written.clear()
        text = "a & " + "b" * (length - 4)
        state.put("text", text)
        B.put("text", "a <i>")
        compare.sentences()
        html = f"<span>a <b>&amp; / &lt;i&gt;</b> <b>{text[4:]} / –</b></span></p>"
        assert [html in one for one in written] == [True] * shown
    B.put("text", text)
    compare.sentences()
    assert not written  # of one text there is nothing to compare
    pairs = [(pair.a, pair.b) for pair in MINIMAL_PAIRS]
    keys = next(at for at, (a, b) in enumerate(pairs) if "keys" in b and "keys" not in a)
    assert compare._words_of(keys) == "key is / keys are"


def test_a_sentence_is_shown_with_the_view_that_it_is_about(written: list[str]) -> None:
    state.put("text", "a cat")
    message.say("One <b>.", "1 & 2")
    message.show_message()
    assert written == [
        '<p class="said" role="status">One &lt;b&gt;. <span class="more">1 &amp; 2</span></p>'
    ]  # fmt: skip
    assert message.is_about("a cat")
    assert not message.is_about("a")
    changed = {"text": "b", "pair": "c", "source": "toy", "model": "m", "kind": "cross", "layer": 2, "head": 3}
    for name, value in changed.items():
        before = state.get(name)
        assert before != value
        written.clear()
        state.put(name, value)
        message.show_message()
        assert not written, name
        state.put(name, before)
        message.show_message()
        assert len(written) == 1


@pytest.mark.parametrize("keys", [39, 40])
def test_the_colours_are_darkened_or_not_with_one_click_and_back_with_another(keys: int) -> None:
    seen = []
    for _ in range(3):
        seen.append((state.get("stretch"), darkens(STRETCH[state.get("stretch")], keys)))
        controls.turn_darkening(keys)
    usual = keys == 40  # by themselves from 40 tokens on
    assert seen == [("0", usual), ("off" if usual else "1", not usual), ("0", usual)]


def test_equal_costs_have_one_line_and_those_that_grow_with_the_square_are_marked() -> None:
    linear, square = [3 * length for length in LENGTHS], [length * length for length in LENGTHS]
    found = _together({"query": linear, "scores": square, "key": list(linear), "logits": [7 * one for one in linear]})
    assert dict(found) == {
        "query and key, each": tuple(linear), "scores (T²)": tuple(square), "logits": tuple(7 * one for one in linear)
    }  # fmt: skip
    assert list(_together({"a": linear, "b": linear, "c": linear})) == ["a and b and c, each"]

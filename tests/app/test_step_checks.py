"""The checks below the walk of Step by step: their numbers are torch's, and no choice breaks the page."""

from __future__ import annotations

import re

import pytest
import torch
from streamlit.testing.v1 import AppTest

from attnviz.tokens import WordTokenizer
from attnviz.toy.block import trace_toy
from attnviz.toy.config import ToyConfig
from tests.app.pages import figures, messages, open_page

TEXT = "the cat saw the dog run"


def opened(check: str, **query: str) -> AppTest:
    at = open_page("", recompute=check, **{"text": TEXT, **query})
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    return " ".join(one.value for one in at.markdown)


def number_of(text: str) -> float:
    return float(text.replace("−", "-"))


def test_the_loop_says_whether_its_scores_are_equal_and_by_how_much_they_are_not() -> None:
    at = opened("loop", q="3", k="1")
    layer = trace_toy(WordTokenizer().tokenize(TEXT), ToyConfig()).layer(0)
    query, key = layer.query[0], layer.key[0]
    gaps = (torch.stack([torch.stack([q @ k for k in key]) for q in query]) - query @ key.T).abs()
    text = said(at)
    assert "**Equal: yes.**" in text
    largest = re.search(r"largest difference of the 36 scores is \*\*([^*]+)\*\*", text)
    assert largest
    assert number_of(largest[1]) == pytest.approx(float(gaps.max()), rel=0.01)
    pinned = re.search(r"row 3, column 1: the loop gives ([^,]+), the product (\S+)\.", text)
    assert pinned
    assert [number_of(one) for one in pinned.groups()] == pytest.approx([float(query[3] @ key[1])] * 2, abs=2e-6)
    assert [one.value.count("for ") for one in at.code] == [2, 0]


@pytest.mark.parametrize(
    ("settings", "answer", "why"),
    [
        ({"mask": "causal"}, "yes", ""),
        ({"mask": "causal", "text": "alone"}, "yes", ""),
        ({}, "no", "Without a causal mask"),
        ({"mask": "causal", "qkv": "positions"}, "no", "U mixes positions"),
        ({"mask": "causal", "padding": "2", "mask_value": "-1e10"}, "no", "the average of all values"),
        ({"mask": "causal", "mask_value": "-1e10_before", "scale": "-1"}, "no", "does not hide all"),
        ({"source": "pretrained"}, "no", "Without a causal mask"),
    ],
)
def test_rows_from_their_past_say_what_the_mask_does(settings: dict[str, str], answer: str, why: str) -> None:
    at = opened("past", **settings)
    text = said(at)
    assert f"**Each row follows from its past alone: {answer}.**" in text
    assert why in text
    (figure,) = figures(at)
    gaps = figure["data"][0]["y"]
    assert len(gaps) == (8 if "source" in settings else 1 if "text" in settings else 6)
    assert (max(gaps) < 1e-5) == (answer == "yes")
    assert ("the rounding of float32 sums" in text) == (answer == "yes" and max(gaps) > 0)


@pytest.mark.parametrize(
    ("length", "rows"),
    [(3, "row 2"), (10, "rows 2, 3, 4, 5, 6, 7, 8, 9"), (12, "rows 2, 3, 4, 5, 6, 7, 8, 9 and 2 more")],
)
def test_of_the_rows_that_follow_from_their_past_eight_are_listed(length: int, rows: str) -> None:
    text = " ".join(f"w{number}" for number in range(length))
    at = opened("past", mask="causal", padding="2", mask_value="-1e10", text=text)
    if length == 3:
        assert "Only the last row is the same, after which nothing comes." in said(at)
    else:
        assert f"2 of {length} rows differ" in said(at)
        assert f" The same: {rows}. " in said(at)


@pytest.mark.parametrize("check", ["loop", "past"])
@pytest.mark.parametrize(
    "query",
    [
        {"text": ""},
        {"text": "one"},
        {"text": "word " * 200, "q": "150", "k": "3"},
        {"text": "<b> $x$ **bold** `code` ~~", "q": "0", "k": "0"},
        {"lecture": "1"},
        {"source": "pretrained", "layer": "5", "head": "99"},
    ],
    ids=["empty", "one token", "long", "markup", "lecture", "model"],
)
def test_no_text_and_no_model_breaks_a_check(check: str, query: dict[str, str]) -> None:
    at = opened(check, **query)
    assert not at.error


def test_an_unknown_check_is_named() -> None:
    at = opened("nonsense")
    assert "recompute=nonsense is not one of loop, past" in messages(at)
    assert not at.code

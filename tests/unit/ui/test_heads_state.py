"""Heads: what the browser may change in the view, and its words for a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as stl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnviz import heads as heads_view
from attnviz.links.link import KEYS, read_link, write_link
from attnviz.links.pages import PAGES
from attnviz.links.values import MAX_CHOSEN, write_heads
from attnviz.measures.summary import choose_measures
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.state import LABELS, measure_names


@pytest.fixture(autouse=True)
def fresh_view() -> Iterator[None]:
    """A session of its own, with the default view."""
    stl.session_state.clear()
    state.begin("heads")
    for name in PAGES["heads"].opening:  # a bare address opens a view of its own
        state.put(name, KEYS[name].default)
    yield
    stl.session_state.clear()


def whole_view() -> dict[str, Any]:
    return {name: state.get(name) for name in KEYS}


def own() -> dict[str, Any]:
    """The view's keys of this page, where they differ from a plain link."""
    return write_link(whole_view(), PAGES["heads"].keys)


def test_the_plain_view_is_one_head() -> None:
    assert own() == {}
    assert heads_state.view() == {
        "layer": 0, "head": 0, "chosen": [(0, 0)], "q": None, "k": None, "show": "both", "direction": "vertical",
        "threshold": 0.05, "strongest": 0, "special": "keep", "between": "all", "values": "weights", "mean": False,
        "stretch": "0", "sort": "", "label": "",
    }  # fmt: skip


def test_all_that_the_browser_may_change_ends_in_the_link() -> None:
    heads_state.take(
        {
            "layer": 3, "head": 5, "chosen": [[3, 5], [4, 1], [2, -1]], "q": 4, "k": 2.0, "show": "lines",
            "direction": "horizontal", "threshold": 0.123456, "strongest": 10, "special": "renormalise",
            "between": "ab", "values": "norms", "mean": True, "stretch": "1", "sort": "entropy",
            "label": "attends to [SEP]",
        }
    )  # fmt: skip
    link = own()
    assert link == {
        "layer": "3", "head": "5", "chosen": "3.5_4.1_2.r", "q": "4", "k": "2", "show": "lines",
        "direction": "horizontal", "threshold": "0.1235", "strongest": "10", "special": "renormalise", "between": "ab",
        "values": "norms", "mean": "1", "stretch": "1", "sort": "entropy", "label": "attends to [SEP]",
    }  # fmt: skip
    view, notes = read_link(link)
    assert view == whole_view()
    assert notes == []
    assert heads_view.chosen(state.get) == [(3, 5), (4, 1), (2, -1)]


def test_what_goes_back_to_the_default_leaves_the_link() -> None:
    heads_state.take({"sort": "entropy", "label": "broad", "q": 3, "threshold": 1, "show": "heatmap"})
    heads_state.take({"sort": "", "label": "", "q": None, "threshold": 0.05, "show": "both"})
    assert own() == {}


def test_rollout_stands_in_for_a_head_and_gives_it_back() -> None:
    heads_state.take({"layer": 2, "head": 7, "chosen": [[2, 7]]})
    heads_state.take({"layer": 2, "head": -1, "chosen": [[2, -1]]})
    assert own() == {"layer": "2", "head": "7", "rollout": "1"}
    assert heads_state.current() == (2, -1)
    assert heads_view.chosen(state.get) == [(2, -1)]
    heads_state.take({"head": 4, "chosen": [[2, 4]]})
    assert own() == {"layer": "2", "head": "4"}
    heads_state.take({"head": -1})
    state.choose_head(5, 6)
    assert heads_state.view()["chosen"] == [(5, 6)]


def test_the_current_head_is_always_among_the_chosen() -> None:
    state.put("chosen", tuple((1, head) for head in range(MAX_CHOSEN)))
    assert heads_view.chosen(state.get)[0] == (0, 0)
    assert len(heads_view.chosen(state.get)) == MAX_CHOSEN


NONSENSE = [
    None, True, -1, 1.5, math.nan, math.inf, 10**30, "", "x" * 100_000, "__import__('os')", "<script>", [], [1], [[1]],
    [[0, 0]] * 3, {"a": 1}, [[-5, 2]], [[1e9, 1]], "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", [*PAGES["heads"].keys, "nonsense", ""])
def test_nonsense_leaves_a_view_that_a_link_can_hold(name: str) -> None:
    for value in NONSENSE:
        stl.session_state.clear()
        state.begin("heads")
        heads_state.take({name: value})
        check_view()


def check_view() -> None:
    """Check that a link can hold the view."""
    view = whole_view()
    again, notes = read_link(write_link(view, KEYS))
    assert (again, notes) == (view, [])
    assert all(len(one) <= 200 for one in own().values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(PAGES["heads"].keys) | st.text(max_size=5), JSON, max_size=6))
def test_any_message_leaves_a_view_that_a_link_can_hold(message: dict[str, object]) -> None:
    heads_state.take(message)
    view = whole_view()
    assert read_link(write_link(view, KEYS)) == (view, [])


def test_texts_and_models_are_not_the_browsers_to_change() -> None:
    heads_state.take({"text": "x", "pair": "y", "model": "z", "kind": "cross", "more": "table", "rollout": True})
    assert own() == {}


# ---- links


@pytest.mark.parametrize(
    ("sent", "heads"),
    [
        ([[1, 2], [3, 4.0], [1, 2]], [(1, 2), (3, 4)]),
        ([[2, -1], [2, -2], [-1, 0]], [(2, -1)]),
        ([], []),
        ([[True, 1], [1, None], [1], [1, 2, 3], "ab", None, {"0": 1}, [[1], 2], ["1", "2"], [0.5, 1]], []),
        ([[10**40, 0]], [(10**40, 0)]),
        ([[float("nan"), 0], [float("inf"), 0], [1e300, float("nan")]], []),
        (None, []),
        ("[[0, 0]]", []),
        ({"0": [0, 0]}, []),
        (7, []),
    ],
)
def test_heads_from_the_browser(sent: object, heads: list[tuple[int, int]]) -> None:
    assert heads_state.read_heads(sent) == heads


def test_a_million_heads_from_the_browser_are_not_read() -> None:
    assert heads_state.read_heads([[n, 0] for n in range(1_000_000)]) == [(n, 0) for n in range(MAX_CHOSEN + 1)]


@pytest.mark.parametrize(
    ("raw", "heads"),
    [("3.5", ((3, 5),)), ("3.5_4.1_2.r", ((3, 5), (4, 1), (2, -1))), ("0.0_0.0_00.00", ((0, 0),)),
     ("_".join(f"0.{n}" for n in range(MAX_CHOSEN)), tuple((0, n) for n in range(MAX_CHOSEN)))],
)  # fmt: skip
def test_heads_in_a_link(raw: str, heads: tuple[tuple[int, int], ...]) -> None:
    view, notes = read_link({"chosen": raw})
    assert (view["chosen"], notes) == (heads, [])
    assert KEYS["chosen"].read(write_heads(heads)) == heads


@pytest.mark.parametrize(
    "raw",
    ["", "3", "3.5_", "_3.5", "3.5,4.1", "-1.2", "3.-1", "3.5.6", "r.3", "3.R", "٣.٥", "3.5\n", "99999.1", "a" * 10**5,
     "_".join(f"0.{n}" for n in range(MAX_CHOSEN + 1)), "_".join(["1.1"] * 10**5) + "_"],
)  # fmt: skip
def test_what_is_no_list_of_heads_is_named(raw: str) -> None:
    view, notes = read_link({"chosen": raw})
    assert view["chosen"] == ()
    (note,) = notes
    assert "is not a list of up to 24 heads such as 3.5_4.1" in note
    assert len(note) < 250


@pytest.mark.parametrize(("raw", "value"), [("0", 0), ("1", 1), ("0.05", 0.05), (".5", 0.5), ("0.12345", 0.1235)])
def test_thresholds_in_a_link(raw: str, value: float) -> None:
    assert read_link({"threshold": raw}) == ({**read_link({})[0], "threshold": pytest.approx(value)}, [])


@pytest.mark.parametrize("raw", ["", ".", "1.1", "2", "-0.1", "nan", "1e-3", "0,5", "٠", "0.5\n", "0." + "1" * 10**5])
def test_what_is_no_threshold_is_named(raw: str) -> None:
    view, notes = read_link({"threshold": raw})
    assert view["threshold"] == 0.05
    assert "is not a number from 0 to 1" in notes[0]


@given(st.floats(0, 1))
def test_thresholds_are_written_as_they_are_read(value: float) -> None:
    heads_state.take({"threshold": value})
    written = write_link(whole_view(), ["threshold"])
    assert KEYS["threshold"].read(written.get("threshold", "0.05")) == pytest.approx(value, abs=5.1e-5)


def survey_of(pieces: tuple[str, ...], *, limited: tuple[bool, ...] = (False, False)) -> Any:
    """Return what is asked of a survey of these tokens."""
    n = len(pieces)
    special = tuple(piece.startswith("<") for piece in pieces)
    places = tuple((number, number + 1) for number in range(n))
    tokens = Tokens("x" * n, None, pieces, tuple(range(n)), places, (0,) * n, special, (False,) * n, 0, 9, "some")
    measures = choose_measures(n, tokens, same_text=True, causal=False)
    return SimpleNamespace(measures=measures, limited=limited, numbers=(4, 7))


def test_a_model_with_other_special_tokens() -> None:
    words = measure_names(survey_of(("<s>", "a", "b", "</s>")))
    assert words.labels["cls"] == words.linked["cls"] == "attends to <s>"
    assert words.labels["sep"] == "attends to </s>"
    assert words.axis("cls") == "weight to <s>" and words.axis("entropy") == "entropy, bits"
    assert words.labels["broad"] != words.linked["broad"] == "broad"


def test_a_head_behind_a_mask_looks_everywhere_it_may() -> None:
    """Of all heads of a model with windows in some layers alone this is true; of one head, its layer's mask counts."""
    words = measure_names(survey_of(("a", "b"), limited=(False, True)))
    assert [words.label("broad", layer) for layer in (4, 7)] == ["looks everywhere", "looks everywhere it may"]
    assert words.label("diagonal", 7) == "diagonal"
    over_corpus = measure_names(survey_of(("a", "b"), limited=(False, True)), (True, False))
    assert [over_corpus.label("broad", layer) for layer in (4, 7)] == ["looks everywhere it may", "looks everywhere"]
    assert (words.labels["broad"], words.linked["broad"]) == ("looks everywhere it may", "broad")
    assert measure_names(survey_of(("a", "b"))).labels["broad"] == "looks everywhere"


def test_a_text_without_them_has_the_usual_words() -> None:
    assert measure_names(survey_of(("a", "b"))).labels == LABELS

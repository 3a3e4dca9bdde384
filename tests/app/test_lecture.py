"""Lecture mode through `app.py`: what the server lays out, and which keys each page offers."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.ui import FRAME
from tests.app.pages import html, open_page, payload, send_update
from tests.payloads import read_payload

APP = FRAME


def keyboard(at: AppTest) -> dict[str, Any]:
    """Return the header of the keyboard shortcuts."""
    headers = [read_payload(component.proto.bytes)[0] for component in at.get("bidi_component")]
    return next(header for header in headers if "lines" in header)


def offered(at: AppTest) -> set[str]:
    return {act for line in keyboard(at)["lines"] for act in line["sends"].values()}


EVERYWHERE = {"theme", "lecture", "help"}
HEAD = {"head_on", "head_back"}
LAYER = {"layer_on", "layer_back"}
STEP = {"next", "previous", "walk"}
MOTION = {"play", "cell_on", "cell_back"}
ONLY_STEP = {"pin", "predict", "stretch", "listing", "drawing", "reveal_row", "reveal_all"} | MOTION


@pytest.mark.parametrize(
    ("page", "query", "expected"),
    [
        ("", {"source": "toy"}, STEP | HEAD | ONLY_STEP),
        ("", {}, STEP | HEAD | LAYER | ONLY_STEP),
        ("", {"source": "pretrained"}, STEP | HEAD | LAYER | ONLY_STEP),
        ("averages", {}, STEP | {"drawing", "pin", "listing"} | MOTION),
        ("tokens", {}, set()),
        ("compare", {}, HEAD | LAYER | {"pin"}),
        ("compare", {"source": "toy"}, HEAD | {"pin"}),
        ("heads", {}, HEAD | LAYER | {"pin", "show", "stretch"}),
        ("", {"step": "weights"}, STEP | HEAD | ONLY_STEP),
    ],
)
def test_each_page_offers_the_keys_that_it_has(page: str, query: dict[str, str], expected: set[str]) -> None:
    assert offered(open_page(page, **query)) == expected | EVERYWHERE


def test_the_button_leads_in_and_the_link_keeps_it_from_page_to_page() -> None:
    at = open_page(source="pretrained", layer="3", head="5", step="weights")
    assert not keyboard(at)["lecture"]
    assert not payload(at, "walk")[0]["lecture"]
    at.button(key="lecture_switch").click().run()
    assert at.query_params["lecture"] == "1"
    assert keyboard(at)["lecture"]
    assert "--least-type" in html(at)
    assert payload(at, "walk")[0]["lecture"]
    at.switch_page("../../pages/averages.py").run()
    assert at.query_params["lecture"] == "1"
    assert keyboard(at)["lecture"]


@pytest.mark.parametrize("nonsense", ["yes", "2", "<script>"])
def test_a_link_with_nonsense_is_no_lecture(nonsense: str) -> None:
    at = open_page(lecture=nonsense)
    assert not keyboard(at)["lecture"]
    assert "lecture" in at.warning[0].value


@pytest.mark.parametrize(
    ("act", "before", "after"),
    [
        ("head_on", {"head": "1"}, {"head": 1}),  # the toy's last
        ("head_back", {"head": "0"}, {"head": 0}),
        ("head_on", {"head": "0"}, {"head": 1}),
        ("head_on", {"source": "pretrained", "head": "11"}, {"head": 11}),
        ("layer_on", {"source": "pretrained", "layer": "4"}, {"layer": 5}),
        ("layer_on", {"source": "pretrained", "layer": "5"}, {"layer": 5}),
        ("layer_on", {"source": "toy"}, {"layer": 0}),  # the toy has one layer, and the key is not there
        ("next", {"step": "scores"}, {"step": "scores"}),  # in the browser
        ("predict", {"step": "weights"}, {"predict": False}),
        ("drawing", {}, {"drawing": "stage"}),
        ("stretch", {"step": "weights"}, {"stretch": "0"}),  # in the browser, which knows where it changes something
        ("reveal_row", {"step": "weights", "predict": "1"}, {"predict": True}),  # in the browser
        ("show", {}, {"show": "both"}),  # a key of Heads
        ("lecture", {"lecture": "1"}, {"lecture": False}),
        ("no such thing", {"head": "1"}, {"head": 1}),
    ],
)
def test_what_a_key_does(act: str, before: dict[str, str], after: dict[str, Any]) -> None:
    """What the browser sends is done on the view, as the callback does it, and what is not there is passed over."""

    def run() -> None:
        import streamlit as st

        from attnviz.ui import lecture, state

        state.begin("step_by_step")
        lecture.act("step_by_step", st.query_params["act"])
        st.session_state["after"] = {
            name: state.get(name)
            for name in ("head", "layer", "step", "predict", "drawing", "show", "stretch", "lecture")
        }

    at = AppTest.from_function(run, default_timeout=120)
    for name, value in {**before, "act": act}.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    assert {name: at.session_state["after"][name] for name in after} == after


def test_a_key_counts_once_however_often_it_is_sent() -> None:
    """The browser sends it again until the server has answered, and with the keys that are pressed meanwhile."""
    at = open_page("heads", layer="3", head="5")

    def sent(number: int, acts: object) -> str:
        send_update(at, "lecture", {"number": number, "values": {"acts": acts}})
        assert not at.exception
        assert keyboard(at)["acknowledged"] == number
        return at.query_params.get("head", ["0"])[0]

    assert keyboard(at)["acknowledged"] == 0
    assert sent(11, [[11, "head_on"]]) == "6"
    assert sent(13, [[11, "head_on"], [12, "head_on"], [13, "head_on"]]) == "8"
    assert sent(14, [[13, "head_on"], [14, "head_back"]]) == "7"
    strange = [
        "head_on",
        None,
        [["x", "head_on"]],
        [[True, "head_on"]],
        [[2**60, "head_on"]],
        [[-1, "head_on"]],
        [[15]],
    ]
    for number, acts in enumerate([*strange, [[16, 5]]], 15):
        assert sent(number, acts) == "7", acts
    assert sent(300, [[n, "head_on"] for n in range(-100, 0)] + [[300, "head_on"]]) == "8"
    assert sent(900, [[n, "head_back"] for n in range(301, 900)]) == "0"


def test_a_key_turns_the_drawing_of_heads_round() -> None:
    at = open_page("heads", source="toy", text="a b")
    shown = []
    for number in range(1, 4):
        send_update(at, "lecture", {"number": number, "values": {"acts": [[number, "show"]]}})
        shown.append(at.query_params.get("show"))
    assert shown == ["lines", "heatmap", None]

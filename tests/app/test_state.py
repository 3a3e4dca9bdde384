"""The view of a session and the links that the browser sends with each message, some of them old."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest


@pytest.fixture
def at() -> AppTest:
    """Open a page with two buttons, for the next head and the next layer; its link holds both."""

    def run() -> None:
        import streamlit as st

        from attnviz.ui import state

        state.begin("heads")
        for name in ("head", "layer"):
            st.button(name, on_click=lambda name=name: state.put(name, state.get(name) + 1))
        st.text(f"layer {state.get('layer')} head {state.get('head')}")
        state.end(("layer", "head"))

    return AppTest.from_function(run).run()


def press(at: AppTest, *buttons: int, link: dict[str, str] | None = None) -> AppTest:
    """Press buttons one after the other, in a browser that still shows this link where one is given."""
    for button in buttons:
        if link is not None:
            at.query_params.clear()
            at.query_params.update(link)
        at.button[button].click().run()
        assert not at.exception
    return at


def test_a_press_counts_before_the_link_of_the_previous_one_arrives(at: AppTest) -> None:
    press(at, 0, 0, 1, link={})
    assert at.text[0].value == "layer 1 head 2"
    assert at.query_params == {"layer": "1", "head": "2"}
    press(at, 1)
    assert at.query_params == {"layer": "2", "head": "2"}
    press(at, 0, 0, link={"layer": "1", "head": "2"})  # neither the last link nor the first
    assert at.query_params == {"layer": "2", "head": "4"}


def test_pending_links_are_bounded(at: AppTest) -> None:
    press(at, *[0] * 15, link={})
    assert at.text[0].value == "layer 0 head 15"  # the link that it shows is still known, and undoes nothing
    press(at, *[0] * 15, link={})
    assert at.text[0].value != "layer 0 head 30"  # forgotten, and so read anew


def test_a_link_that_was_acknowledged_counts_as_new_when_it_returns(at: AppTest) -> None:
    press(at, 0, 0)
    at.query_params.clear()
    at.run()
    assert (at.text[0].value, at.query_params) == ("layer 0 head 0", {})


@pytest.mark.parametrize("writes", range(8))
def test_a_run_that_ends_early_leaves_a_state_that_the_next_one_can_use(writes: int) -> None:
    """Streamlit ends a run at any access to its state where the browser has sent another message."""

    def run() -> None:
        import streamlit as st

        from attnviz.ui import state
        from tests.app.pages import ended_after

        with ended_after(int(st.query_params.pop("ends"))):
            state.begin("heads")
        state.begin("heads")
        st.text(f"layer {state.get('layer')} {state.notes()}")
        state.end(("layer", "head"))

    at = AppTest.from_function(run)
    at.query_params.update({"layer": "3", "head": "x", "ends": str(writes)})
    at.run()
    assert not at.exception
    assert at.text[0].value.startswith("layer 3 [\"The link's head=x is not a whole number")
    assert at.query_params == {"layer": "3"}


def test_going_back_restores_the_view(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    press(at, 0, link={})
    reset = ScriptRunContext.reset

    def back(self: Any, *args: Any, **kwargs: Any) -> None:
        reset(self, *args, **{**kwargs, "is_history_navigation": True})

    monkeypatch.setattr(ScriptRunContext, "reset", back)
    at.query_params.clear()
    at.run()
    assert (at.text[0].value, at.query_params) == ("layer 0 head 0", {})


def test_an_index_beyond_the_end_is_reset_with_a_note() -> None:
    def run() -> None:
        import streamlit as st

        from attnviz.ui import state

        state.begin("heads")
        st.text(str(state.keep_pin(5, 5)))
        st.text(str((state.get("q"), state.get("k"))))
        state.end(("q", "k"))

    at = AppTest.from_function(run)
    at.query_params.update({"q": "5", "k": "4"})
    at.run()
    assert [one.value for one in at.text] == ["(None, 4)"] * 2
    (warning,) = at.warning  # Markdown with escapes
    assert warning.value.replace("\\", "") == "The pinned row 5 does not exist: this text has rows 0 to 4."
    assert at.query_params == {"k": "4"}

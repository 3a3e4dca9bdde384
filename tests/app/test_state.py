"""The view of a session: the one that the app opens on, and the links that the browser sends with each message.

Some of the links are old.
"""

from __future__ import annotations

from dataclasses import is_dataclass

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.links.link import DEFAULT_TEXT, KEYS
from attnviz.links.pages import OPENING, PAGES
from attnviz.ui import state
from tests.app.pages import choose, go_through_history, go_to_page, messages, open_page, open_parts, payload
from tests.app.walking import panels, values, walk


def test_the_bare_address_opens_on_a_head_that_means_something_and_stays_bare() -> None:
    at = open_page()
    assert (dict(at.query_params), messages(at)) == ({}, "")
    header, document = walk(at)
    assert header["opening"]
    chosen = header["values"]
    assert [chosen[name] for name in ("step", "layer", "head", "q", "k")] == ["tokens", 3, 1, 11, None]
    row = panels(choose(at, "step", "weights"))["weights"][11]
    assert (document.header.query.labels[11], document.header.key.labels[row.argmax()]) == ("it", "bicycle")
    assert f"{row.max():.2f}" == "0.97"


def test_what_is_changed_is_written_out_and_back_again_it_is_bare() -> None:
    at = choose(open_page(), "step", "scores")
    assert dict(at.query_params) == {name: value for name, value in OPENING.items() if name != "step"}
    assert not payload(at, "walk")[0]["opening"]
    choose(at, "step", "tokens")
    assert dict(at.query_params) == {}
    assert payload(at, "walk")[0]["opening"]
    assert dict(open_page(**OPENING).query_params) == {}


def test_the_toy_has_an_address_of_its_own() -> None:
    for link in ({"source": "toy"}, {"step": "weights"}, {"source": "toy", "lecture": "1"}, {"seed": "7", "q": "2"}):
        at = open_page(**link)
        assert (dict(at.query_params), messages(at)) == (link, "")
        assert values(at)["layer"] == 0
        assert at.text_area(key="text").value == DEFAULT_TEXT
    assert dict(choose(open_page(step="weights"), "step", "scores").query_params) == {"source": "toy"}
    at = open_page()
    at.segmented_control(key="source").set_value("toy").run()
    assert dict(at.query_params) == {"text": OPENING["text"], "step": "tokens", "q": "10", "head": "1"}  # "it"
    assert "have learned nothing" in " ".join(caption.value for caption in at.caption)


@pytest.mark.parametrize(("query", "written"), [({"lecture": "1"}, {"lecture": "1"}), ({"utm_source": "mail"}, {})])
def test_an_address_with_keys_of_no_view_opens_the_first_view_of_each_page(
    query: dict[str, str], written: dict[str, str]
) -> None:
    at = open_page(**query)
    kept = {name: value for name, value in query.items() if name not in KEYS}
    assert (dict(at.query_params), messages(at)) == ({**kept, **written}, "")
    shown = values(at)
    assert [shown[name] for name in ("step", "layer", "head", "q")] == ["tokens", 3, 1, 11]
    go_to_page(at, "compare", kept)
    found = dict(at.query_params)
    assert found.pop("b_text")
    assert found == {**kept, **PAGES["compare"].opening, **written}


def test_lecture_mode_on_the_opening_view_has_an_address_that_opens_the_same_view() -> None:
    at = open_page()
    at.button(key="lecture_switch").click().run()
    assert dict(at.query_params) == {"lecture": "1"}
    again = open_page(**dict(at.query_params))
    assert payload(again, "walk")[0]["values"] == payload(at, "walk")[0]["values"]
    assert payload(again, "walk")[0]["documents"] == payload(at, "walk")[0]["documents"]
    go_to_page(at, "compare", {})  # as the navigation does it, which clears the query
    assert {name: at.query_params[name] for name in ("layer", "head", "lecture")} == {
        "layer": "3", "head": "1", "lecture": "1",
    }  # fmt: skip


def test_other_pages_take_the_view_over_and_give_it_back() -> None:
    at = go_to_page(choose(open_page(), "k", 5), "heads", {})
    shown = {name: OPENING[name] for name in ("text", "layer", "head", "q")}
    assert dict(at.query_params) == {**shown, "k": "5"}
    at = go_to_page(open_page(), "heads", {})
    assert dict(at.query_params) == {}
    assert {name: str(payload(at, "explorer")[0]["view"][name]) for name in ("layer", "head", "q")} == {
        name: shown[name] for name in ("layer", "head", "q")
    }
    go_to_page(at, "step_by_step", {})
    assert dict(at.query_params) == {}
    assert panels(choose(at, "step", "weights"))["weights"].shape == (16, 16)
    at.text_area(key="text").set_value("one two").run()
    go_to_page(at, "heads", {})
    go_to_page(at, "step_by_step", {})
    assert at.query_params["text"] == "one two"
    assert go_to_page(at, "heads", {"layer": "2"}).query_params == {"layer": "2"}


def test_what_is_kept_of_the_view_says_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, str]] = []
    end = state.end

    def noted(*names: object) -> None:
        end(*names)
        found.append(state.link())

    monkeypatch.setattr(state, "end", noted)
    open_page()
    assert found[-1] == OPENING


@pytest.fixture
def at() -> AppTest:
    """Open a page with two buttons, for the next head and the next layer; its link holds both."""

    def run() -> None:
        import streamlit as st

        from attnviz.ui import state

        state.begin("train")
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


def test_a_fragment_forgets_no_link_that_the_browser_may_still_show(
    at: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "in_fragment", lambda: True)
    press(at, 0, 0, 0, link={})
    assert at.text[0].value == "layer 0 head 3"


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


def test_going_back_to_a_bare_address_over_another_page_opens_its_first_view(monkeypatch: pytest.MonkeyPatch) -> None:
    at = choose(open_page(), "head", 5)
    assert dict(go_to_page(at, "tokens", {}).query_params) == {}
    go_through_history(monkeypatch)
    go_to_page(at, "step_by_step", {})
    assert dict(at.query_params) == {}
    assert values(at)["head"] == int(OPENING["head"])


def test_going_back_restores_the_view(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    press(at, 0, link={})
    go_through_history(monkeypatch)
    at.query_params.clear()
    at.run()
    assert (at.text[0].value, at.query_params) == ("layer 0 head 0", {})


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("My sister bought a bicycle because she wanted to ride it home.", ("it", "bicycle")),
        ("Last year my sister bought a bicycle because she wanted to ride it to work.", ("it", "bicycle")),
        ("My sister bought a bicycle because she wanted to ride her to work.", ("her", "bicycle")),
        ("My sister bought a horse because she wanted to ride it to work.", ("it", "horse")),
        ("The chef burned it.", ("it", None)),
        ("The chef apologised to her guests.", (None, None)),
        ("a", (None, None)),
    ],
)
def test_a_pin_follows_its_words_into_another_text(text: str, labels: tuple[str | None, str | None]) -> None:
    at = open_page(**OPENING | {"k": "5"})
    at.text_area(key="text").set_value(text).run()
    assert messages(at) == ""
    document = walk(at)[1]
    axes = document.header.query.labels, document.header.key.labels
    chosen = [values(at)[name] for name in ("q", "k")]
    assert tuple(None if place is None else axis[place] for axis, place in zip(axes, chosen, strict=True)) == labels
    assert at.query_params.get("q") == (None if chosen[0] is None else str(chosen[0]))


def test_a_pin_follows_its_word_to_another_source() -> None:
    at = open_page(**OPENING | {"k": "5"})
    at.segmented_control(key="source").set_value("toy").run()
    labels = walk(at)[1].header.query.labels
    assert [labels[values(at)[name]] for name in ("q", "k")] == ["it", "bicycle"]


def test_a_pin_that_the_app_sets_for_the_new_tokens_stays() -> None:
    """Surprise me opens BERT in place of the toy, and pins the row 11, which was another word of the toy's text."""
    at = open_page(text=OPENING["text"], source="toy", q="11")
    open_parts(at, examples=True)
    at.button(key="surprise").click().run()
    labels = walk(at)[1].header.query.labels
    assert [labels[values(at)[name]] for name in ("q", "k")] == ["it", "bicycle"]
    assert at.query_params["q"] == "11"


def test_an_index_beyond_the_end_is_reset_with_a_note() -> None:
    def run() -> None:
        import streamlit as st

        from attnviz.ui import state

        state.begin("heads")
        state.show_notes()
        st.text(str(state.keep_pin("abcde", "abcde")))
        st.text(str((state.get("q"), state.get("k"))))
        state.end(("q", "k"))

    at = AppTest.from_function(run)
    at.query_params.update({"q": "5", "k": "4"})
    at.run()
    assert [one.value for one in at.text] == ["(None, 4)"] * 2
    (warning,) = at.warning  # Markdown with escapes
    assert warning.value.replace("\\", "") == "The pinned row 5 does not exist: this text has rows 0 to 4."
    assert at.query_params == {"k": "4"}


PARTS = {"bert": "bert_part", "train": "train_part"}
"""The keys of links that choose a part of a page"""


@pytest.mark.parametrize("page", PAGES)
def test_a_session_keeps_values_of_widgets_and_typed_records_and_nothing_else(page: str) -> None:
    at = open_page("" if page == "step_by_step" else page)
    key = PARTS.get(page, "")
    for part in KEYS[key].titles if key else ():
        go_to_page(at, page, {key: part})
    kept = at.session_state._state._state  # the session itself: no public one tells widgets from other values
    others = {
        name: value
        for name, value in kept.filtered_state.items()
        if kept.get_widget_id_from_key(name) is None and not is_dataclass(value)
    }
    assert not others

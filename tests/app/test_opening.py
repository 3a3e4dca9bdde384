"""The view that the app opens on: its address, its settings, and what becomes of them."""

from __future__ import annotations

import pytest

from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING
from attnviz.ui import state
from tests.app.pages import choose, go_to_page, messages, open_page, payload
from tests.app.walking import panels, values, walk


def test_the_bare_address_opens_on_a_head_that_means_something_and_stays_bare() -> None:
    at = open_page()
    assert (dict(at.query_params), messages(at)) == ({}, "")
    header, document = walk(at)
    assert header["opening"]
    chosen = header["values"]
    assert [chosen[name] for name in ("step", "layer", "head", "q", "k")] == ["weights", 3, 1, 11, None]
    row = panels(at)["weights"][11]
    assert (document.header.query.labels[11], document.header.key.labels[row.argmax()]) == ("it", "bicycle")
    assert f"{row.max():.2f}" == "0.97"


def test_what_is_changed_is_written_out_and_back_again_it_is_bare() -> None:
    at = choose(open_page(), "step", "scores")
    assert dict(at.query_params) == {name: value for name, value in OPENING.items() if name != "step"}
    assert not payload(at, "walk")[0]["opening"]
    choose(at, "step", "weights")
    assert dict(at.query_params) == {}
    assert payload(at, "walk")[0]["opening"]
    assert dict(open_page(**OPENING).query_params) == {}


def test_the_toy_has_an_address_of_its_own() -> None:
    for link in ({"source": "toy"}, {"step": "weights"}, {"lecture": "1"}, {"seed": "7", "q": "2"}):
        at = open_page(**link)
        assert (dict(at.query_params), messages(at)) == (link, "")
        assert values(at)["layer"] == 0
        assert at.text_area(key="text").value == DEFAULT_TEXT
    assert dict(choose(open_page(step="weights"), "step", "scores").query_params) == {"source": "toy"}
    at = open_page()
    at.segmented_control(key="source").set_value("toy").run()
    assert dict(at.query_params) == {"text": OPENING["text"], "step": "weights", "q": "11", "head": "1"}
    assert "have learned nothing" in " ".join(caption.value for caption in at.caption)


def test_other_pages_take_the_view_over_and_give_it_back() -> None:
    at = go_to_page(open_page(), "heads", {})
    shown = {name: OPENING[name] for name in ("text", "layer", "head", "q")}
    assert dict(at.query_params) == shown
    go_to_page(at, "step_by_step", {})
    assert dict(at.query_params) == {}
    assert panels(at)["weights"].shape == (16, 16)
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

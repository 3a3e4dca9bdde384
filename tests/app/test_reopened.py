"""The address that a session has written opens the same view in another session, also without a text."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.lessons import shipped
from attnviz.links.link import KEYS
from attnviz.links.pages import OPENING, PAGES
from tests.app.pages import boxes, choose, go_to_page, messages, open_page
from tests.app.walking import values

WITH_TEXT = [name for name, page in PAGES.items() if "text" in page.keys and page.in_lessons and name != "bert"]
TYPED = "The cat sat."


def opened(name: str, query: dict[str, str]) -> AppTest:
    return open_page("" if name == "step_by_step" else name, **query)


def typed(at: AppTest, text: str) -> dict[str, str]:
    """Type a text, and return the link that is then written."""
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    return dict(at.query_params)


def without_pins(link: dict[str, str]) -> dict[str, str]:
    """Return a link without the pinned cell: in a session it follows its words into the next text."""
    return {name: value for name, value in link.items() if name not in ("q", "k")}


@pytest.mark.parametrize("query", [{}, {"seed": "3"}], ids=["first view", "seed"])
@pytest.mark.parametrize("name", WITH_TEXT)
def test_a_text_typed_after_a_reload_of_an_empty_one_meets_the_same_view(name: str, query: dict[str, str]) -> None:
    query = query if not query or "seed" in PAGES[name].link_keys("toy") else {}
    at = opened(name, query)
    link = typed(at, "")
    assert "Type a sentence" in messages(at)
    again = opened(name, link)
    assert dict(again.query_params) == link
    assert without_pins(typed(again, TYPED)) == without_pins(typed(at, TYPED))


def test_a_fill_of_the_blank_keeps_its_settings_without_a_text() -> None:
    at = opened("bert", {"bert_part": "blank", "blank_kept": "7"})
    link = typed(at, "")
    assert (link["bert_part"], link["blank_kept"]) == ("blank", "7")
    assert typed(opened("bert", link), TYPED) == typed(at, TYPED)


def test_without_a_text_the_model_stays_that_of_the_first_view() -> None:
    at = open_page(**{**OPENING, "text": ""})
    typed(at, TYPED)
    assert [values(at)[name] for name in ("layer", "head")] == [3, 1]
    assert {name: at.query_params[name] for name in ("source", "layer", "head")} == {
        "source": "pretrained", "layer": "3", "head": "1",
    }  # fmt: skip


def test_a_comparison_without_a_text_keeps_both_panes() -> None:
    at = opened("compare", {})
    link = typed(at, "")
    assert link["b_text"]
    assert "compare" not in link
    assert not messages(at).startswith("The link")
    again = opened("compare", link)
    assert "is not one of" not in " ".join(boxes(again, "warning"))


def test_in_a_lesson_the_first_view_has_an_address_of_its_own() -> None:
    """One with only lesson and scene opens the scene."""
    lesson = shipped()["attention"]
    number, scene = next(
        (number, one) for number, one in enumerate(lesson.scenes, 1)
        if one.page == "step_by_step" and one.values().get("step", KEYS["step"].default) != OPENING["step"]
    )  # fmt: skip
    assert scene.values() != OPENING
    at = open_page(**OPENING, lesson=lesson.name, scene=str(number))
    link = dict(at.query_params)
    assert link.items() >= OPENING.items()
    shown = values(open_page(**link))
    assert {name: shown[name] for name in ("step", "layer", "head", "q")} == {
        "step": "tokens", "layer": 3, "head": 1, "q": 11,
    }  # fmt: skip
    choose(at, "k", 2)
    choose(at, "k", None)
    assert dict(at.query_params) == link
    go_to_page(at, "heads", {})
    assert {"text", "lesson", "scene"} <= set(at.query_params)

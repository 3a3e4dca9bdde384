"""A word that is hidden on Step by step: pages that show the model the whole text say so."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.links.pages import OPENING
from tests.app.pages import boxes, choose, go_to_page, messages, open_page
from tests.app.walking import hidden, walk

TEXT = OPENING["text"]
HIDING = {**OPENING, "blank_at": "5"}
NOTE = "Here the model reads the hidden word “bicycle” too: to hide it, type [MASK] in its place."
PAGES: dict[str, dict[str, str]] = {
    "heads": {}, "compare": {}, "transformer": {}, "bert, language": {"bert_part": "language"},
    "bert, subsets": {"bert_part": "subsets"}, "bert, back": {"bert_part": "back"},
    "bert, without": {"bert_part": "without"},
}  # fmt: skip
"""The pages on which the built-in model reads the text, and the query of a chapter that leads there"""


def after(name: str, **query: str) -> AppTest:
    """Hide a word on Step by step, and click on the chapter of another page."""
    at = open_page(**{**HIDING, **query})
    page, _, _ = name.partition(",")
    go_to_page(at, page, PAGES.get(name, {}))
    assert not at.exception
    return at


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_shows_the_whole_text_says_so_once(name: str) -> None:
    at = after(name)
    assert boxes(at, "warning").count(NOTE) == 1
    at.run()
    assert boxes(at, "warning").count(NOTE) == 1
    at.text_area(key="text").set_value(TEXT.replace("bicycle", "[MASK]")).run()
    assert "hidden word" not in messages(at)


@pytest.mark.parametrize("name", PAGES)
def test_where_no_word_is_hidden_no_page_speaks_of_one(name: str) -> None:
    at = open_page(**OPENING)
    page, _, _ = name.partition(",")
    go_to_page(at, page, PAGES[name])
    assert "hidden word" not in messages(at)


@pytest.mark.parametrize("name", ["tokens", "averages", "lessons", "train"])
def test_a_page_without_the_model_says_nothing(name: str) -> None:
    assert "hidden word" not in messages(after(name))


@pytest.mark.parametrize("name", ["compare", "transformer"])
def test_the_toy_hides_no_word(name: str) -> None:
    at = after(name)
    if name == "transformer":
        at.segmented_control(key="source").set_value("toy").run()
    else:
        go_to_page(at, name, {"source": "toy", "blank_at": "5"})
    assert "hidden word" not in messages(at)


def test_step_by_step_and_fill_the_blank_hide_it_themselves() -> None:
    at = open_page(**HIDING)
    assert "hidden word" not in messages(at)
    go_to_page(at, "bert", {"bert_part": "blank"})
    assert "hidden word" not in messages(at)
    go_to_page(at, "heads", {})
    assert NOTE in messages(at)
    go_to_page(at, "step_by_step", {})
    assert hidden(at) == {"row": 5, "word": "bicycle", "label": "bicycle"}
    go_to_page(at, "heads", {})
    go_to_page(choose(go_to_page(at, "step_by_step", {}), "blank_at", None), "heads", {})
    assert "hidden word" not in messages(at)


def test_the_word_is_followed_into_a_text_that_is_typed_on_another_page() -> None:
    at = after("heads")
    at.text_area(key="text").set_value(f"Today {TEXT}").run()
    assert NOTE in messages(at)
    go_to_page(at, "step_by_step", {})
    assert hidden(at) == {"row": 6, "word": "bicycle", "label": "bicycle"}
    go_to_page(at, "heads", {})
    at.text_area(key="text").set_value("All is other here.").run()
    assert "hidden word" not in messages(at)
    go_to_page(at, "step_by_step", {})
    assert walk(at)[0]["hidden"] is None


def test_a_word_of_several_pieces_needs_as_many_masks_and_typed_they_hide_it() -> None:
    text, word = "My sister unfastened her bag.", "unfastened"
    at = open_page(**{**HIDING, "text": text, "blank_at": "3"})
    labels = walk(at)[1].header.query.labels
    masks = "".join(label for label in labels if label == "[MASK]")
    assert len(masks) > len("[MASK]")
    go_to_page(at, "heads", {})
    assert f"“{word}” too: to hide it, type {masks} in its place." in messages(at)
    at.text_area(key="text").set_value(text.replace(word, masks)).run()
    assert "hidden word" not in messages(at)
    assert walk(go_to_page(at, "step_by_step", {}))[1].header.query.labels == labels


def test_a_model_that_guesses_no_hidden_word_says_nothing() -> None:
    at = after("heads")
    at.selectbox(key="model").set_value("induction").run()
    assert not at.exception
    assert "hidden word" not in messages(at)

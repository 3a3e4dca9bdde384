"""The bar with the app's name, its places and the chapters of the open one; what a view keeps from one to another, and
what the pages show of an empty text."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.links.pages import PAGES, PLACES, Chapter, Page, chapters
from tests.app.pages import blocks, go_through_history, go_to_page, in_places, messages, open_page, sent

CHAPTERS = [chapter for place in PLACES for chapter in chapters(place)]


def entries(at: AppTest) -> list[tuple[str, str, str]]:
    """Return label, page and query of the bar's links; a button has neither page nor query."""
    protos = [child.proto for block in blocks(at._tree) if in_places(block) for child in block.children.values()]
    return [
        (one.label, getattr(one, "page", ""), getattr(one, "query_string", ""))
        for one in protos
        if hasattr(one, "label")
    ]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda one: one.title)
def test_each_chapter_shows_all_places_and_those_of_its_own(chapter: Chapter) -> None:
    at = open_page(chapter.page.name, **chapter.query)

    def entry(title: str, page: Page, part: str = "") -> tuple[str, str, str]:
        if page is chapter.page:
            return title, "", ""  # a button
        return title, page.path.strip("/") or "./", f"{page.part_key}={part}" if part else ""

    shown = [entry("attnviz", PAGES["lessons"])]
    for place in PLACES:
        title = f"**{place.title}**" if place is chapter.place else place.title
        shown.append(entry(title, PAGES[place.opens]))
    of_place = chapters(chapter.place)
    for one in of_place if len(of_place) > 1 else ():
        title = f"**{one.title}**" if one == chapter else one.title
        shown.append(entry(title, one.page, one.part))
    assert entries(at) == shown
    assert entries(go_to_page(at, chapter.page.name, {**chapter.query, "lecture": "1"})) == []


def test_a_chapter_s_link_keeps_what_the_pages_have_in_common() -> None:
    at = go_to_page(open_page("tokens", text="one two"), "bert", {"bert_part": "back"})
    assert at.query_params == {"text": "one two", "bert_part": "back"}
    at.button(key="chapter_subsets").click().run()
    assert (at.query_params["text"], at.query_params["bert_part"]) == ("one two", "subsets")
    at.button(key="chapter_configuration").click().run()
    assert at.query_params["text"] == "one two" and "bert_part" not in at.query_params
    go_to_page(at, "transformer", {})
    assert at.query_params["text"] == "one two"


def test_another_part_of_train_begins_with_no_cell_and_no_run_of_the_one_before() -> None:
    at = open_page("train", seed="5", q="1", k="0", run="recorded", snapshot="100")
    at.button(key="chapter_text").click().run()
    assert at.query_params == {"train_part": "text", "seed": "5"}
    at = go_to_page(open_page("tokens", text="one two"), "train", {"train_part": "generate"})
    assert at.query_params == {"train_part": "generate"}
    assert go_to_page(at, "tokens", {}).query_params == {"text": "one two"}


def test_a_part_from_the_history_or_in_a_longer_link_opens_as_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    at = go_to_page(open_page("tokens", text="one two"), "bert", {"bert_part": "back", "seed": "5"})
    assert at.query_params == {"bert_part": "back", "seed": "5"}
    at = open_page("tokens", text="one two")
    go_through_history(monkeypatch)
    assert go_to_page(at, "bert", {"bert_part": "back"}).query_params == {"bert_part": "back"}


def test_the_open_place_leads_to_its_first_chapter_and_the_open_chapter_changes_nothing() -> None:
    at = open_page("train", train_part="text", seed="5")
    at.button(key="place_Make").click().run()
    assert at.query_params == {"seed": "5"}
    at = open_page("heads", layer="2", q="3")
    at.button(key="chapter_").click().run()
    assert at.query_params == {"layer": "2", "q": "3"}


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
@pytest.mark.parametrize(("page", "picture"), [("", "walk"), ("heads", "explorer"), ("compare", "compare")])
def test_an_empty_text_gives_a_hint_in_place_of_a_picture(page: str, picture: str, text: str) -> None:
    at = open_page(page)
    assert sent(at, picture)
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    assert "Type a sentence" in messages(at)
    assert not sent(at, picture)

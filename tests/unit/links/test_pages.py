"""The pages' titles, addresses and keys, and what a link to a page says and opens."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.links.link import KEYS, SHARED_KEYS
from attnviz.links.pages import OPENING, OPENING_OF_HEADS, PAGES, PLACES, Page, chapters
from tests.unit.links.views import DEFAULTS, VALUES

STEPS, HEADS, TRANSFORMER = (PAGES[name] for name in ("step_by_step", "heads", "transformer"))
SOURCE_KEYS = {"toy": "qkv", "pretrained": "pair", "trained": "model"}


def test_places_chapters_and_addresses_are_those_that_users_know() -> None:
    assert [
        (place.title, PAGES[place.opens].path, [(one.title, one.page.path, one.part) for one in chapters(place)])
        for place in PLACES
    ] == [
        ("Start", "/lessons", [("Start", "/lessons", "")]),
        ("One head", "/", [
            ("Tokens", "/tokens", ""), ("From averages", "/averages", ""), ("Step by step", "/", ""),
            ("Heads", "/heads", ""), ("Compare", "/compare", ""),
        ]),
        ("Whole model", "/transformer", [
            ("Transformer", "/transformer", ""), ("Configuration", "/bert", "configuration"),
            ("Embeddings and back", "/bert", "back"), ("Language model", "/bert", "language"),
            ("One head or several", "/bert", "subsets"),
        ]),
        ("Make", "/train", [
            ("Train on a task", "/train", "task"), ("Train on a text", "/train", "text"),
            ("Generate", "/train", "generate"), ("Classifier", "/bert", "classifier"), ("Agent", "/bert", "agent"),
            ("Search", "/bert", "search"), ("Heads switched off", "/bert", "without"),
            ("Fill the blank", "/bert", "blank"),
        ]),
    ]  # fmt: skip
    tab_titles = {
        "step_by_step": "attnviz: what attention computes",
        "averages": "From averages to attention · attnviz",
    }
    for page in PAGES.values():
        for chapter in page.chapters:
            assert chapter.tab_title == tab_titles.get(page.name, f"{chapter.title} · attnviz")


@pytest.mark.parametrize("page", [page for page in PAGES.values() if page.part_key])
def test_the_parts_of_a_page_are_chapters(page: Page) -> None:
    assert [chapter.part for chapter in page.chapters] == list(KEYS[page.part_key].titles)
    for chapter in page.chapters:
        assert page.chapter({page.part_key: chapter.part}.__getitem__) == chapter
        assert page.part_of(chapter.query) == chapter.part
    assert page.part_of({}) is page.part_of({page.part_key: "nothing"}) is page.part_of({"text": "a"}) is None
    assert page.part_of({**page.chapters[0].query, "text": "a"}) is None
    assert set(page.of_a_part) <= set(page.keys)


def test_each_page_is_found_by_its_name() -> None:
    for name, page in PAGES.items():
        assert page.name == name
        assert page.script.is_file()
        assert page.step_key == ("part" if name == "transformer" else "step")
        assert page.in_lessons is (name != "lessons")
        assert page.shows_source is (name in ("step_by_step", "transformer"))
        assert set(page.link_keys()) <= KEYS.keys()
        assert len(set(page.link_keys())) == len(page.link_keys())


def test_a_page_has_the_keys_of_the_source_that_is_shown() -> None:
    assert HEADS.link_keys("toy") == HEADS.link_keys() == HEADS.keys
    assert STEPS.link_keys("toy")[: len(STEPS.keys)] == STEPS.keys
    for source, key in SOURCE_KEYS.items():
        assert key in STEPS.link_keys(source)
        assert key in STEPS.link_keys()
    assert "qkv" not in STEPS.link_keys("pretrained")
    assert "architecture" in TRANSFORMER.link_keys("toy")
    assert "architecture" not in STEPS.link_keys()
    compare = PAGES["compare"].keys
    assert "projection" not in compare
    assert {"qkv", "model", "b_text", "b_mask"} <= set(compare)


def test_the_view_that_a_page_opens_on_has_no_link_and_the_plain_one_says_its_source() -> None:
    view, notes = STEPS.read(OPENING)
    assert notes == []
    assert STEPS.write(view, STEPS.link_keys()) == {}
    assert STEPS.write({**view, "q": 3}, STEPS.link_keys()) == {**OPENING, "q": "3"}
    assert STEPS.write(DEFAULTS, STEPS.link_keys()) == STEPS.plain == {"source": "toy"}
    view, notes = HEADS.read(OPENING_OF_HEADS)
    assert (notes, HEADS.write(view, HEADS.link_keys())) == ([], {})
    assert HEADS.write(DEFAULTS, HEADS.link_keys()) == HEADS.plain == {"text": DEFAULTS["text"]}


@pytest.mark.parametrize("query", [{}, {"lecture": "1"}, {"utm_source": "mail", "lecture": "1"}])
def test_an_address_without_keys_of_the_view_stands_for_the_opening_view(query: dict[str, str]) -> None:
    for page in PAGES.values():
        names = (*page.link_keys(), *SHARED_KEYS)
        full = page.opened(query)
        assert full == {**page.first_view, **query}
        view, notes = page.read(full)
        assert notes == []
        shared = {name: value for name, value in query.items() if name in SHARED_KEYS}
        assert page.write(view, names) == shared
        plain = page.plain if page.first_view else {}
        assert page.write({**DEFAULTS, **{name: view[name] for name in shared}}, names) == {**plain, **shared}
        for key in ({"q": "3"}, {"text": "a b"}):
            if key.keys() <= set(names):
                assert page.opened({**query, **key}) == {**query, **key}, "a link with a key of the view says all of it"


def reopened(page: Page, view: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the link of a view, and what an address with it opens: the values of the page's keys."""
    names = (*page.link_keys(view["source"]), *SHARED_KEYS)
    link = dict(parse_qsl(urlencode(page.write(view, names)), keep_blank_values=True))
    again, notes = page.read(page.opened(link))
    assert notes == []
    return link, {name: again[name] for name in names}


@given(st.sampled_from(list(PAGES.values())), st.data())
def test_an_address_opens_the_view_that_it_was_written_for(page: Page, data: st.DataObject) -> None:
    begins = data.draw(st.sampled_from([{}, page.first_view, page.plain]))
    view = page.read(begins)[0]
    changed = data.draw(st.sets(st.sampled_from([*page.link_keys(), *SHARED_KEYS]), max_size=4))
    view |= {name: data.draw(VALUES[name]) for name in changed}
    view["text"] = data.draw(st.sampled_from([view["text"], "", " ", OPENING["text"], DEFAULTS["text"]]))
    _, again = reopened(page, view)
    assert again == {name: view[name] for name in again}


@pytest.mark.parametrize("page", PAGES.values())
def test_in_a_lesson_an_address_says_the_view_since_one_without_it_opens_the_scene_s(page: Page) -> None:
    for begins in ({}, page.first_view):
        view = page.read(begins)[0] | {"lesson": "own", "scene": 2}
        link, again = reopened(page, view)
        assert not page.is_bare(link)
        assert again == {name: view[name] for name in again}


def test_all_pages_open_with_one_sentence_but_compare_which_needs_a_pair() -> None:
    texts = {name: page.read(page.opened({}))[0]["text"] for name, page in PAGES.items() if "text" in page.keys}
    assert len(texts) == len(PAGES) - 1, "all but Train"
    assert texts.pop("compare") == DEFAULTS["text"]
    assert set(texts.values()) == {OPENING["text"]}


def test_the_link_of_a_chapter_opens_the_text_that_it_has_always_opened() -> None:
    """It can be a view that somebody has shared."""
    page = PAGES["bert"]
    for chapter in page.chapters:
        assert page.read(page.opened(chapter.query))[0]["text"] == DEFAULTS["text"]
        written = {name: value for name, value in chapter.query.items() if value != KEYS[name].default}
        assert page.write(page.read(written)[0], page.link_keys()) == (written or page.plain)


@pytest.mark.parametrize(
    ("page", "view", "name"),
    [
        ("step_by_step", {"source": "trained", "model": "reverse"}, "reverse"),
        ("step_by_step", {"source": "trained", "model": "minilm"}, "induction"),
        ("step_by_step", {"source": "toy", "model": "reverse"}, None),
        ("heads", {"model": "reverse"}, "reverse"),
        ("heads", {"model": "minilm"}, None),
        ("averages", {"source": "trained", "model": "reverse"}, None),
        ("bert", {"model": "reverse"}, None),
    ],
)
def test_whose_head_a_view_shows(page: str, view: dict[str, str], name: str | None) -> None:
    assert PAGES[page].trained_model({**DEFAULTS, **view}.__getitem__) == name


def test_a_trained_model_that_a_link_only_names_opens_in_its_own_way() -> None:
    named = {"source": "trained", "model": "reverse"}
    view, _ = STEPS.read(named)
    assert view["text"] != DEFAULTS["text"]
    assert STEPS.write(view, ("text", "source", "model")) == {"text": view["text"], **named}
    assert "text" not in STEPS.write(view, ("source", "model"))
    whole = STEPS.write(view, STEPS.link_keys())
    assert STEPS.read(whole) == (view, [])
    assert STEPS.read({**named, "head": "0"})[0]["text"] == DEFAULTS["text"]
    written = STEPS.write({**DEFAULTS, **named}, STEPS.link_keys())
    assert written == {"text": DEFAULTS["text"], **named}
    assert STEPS.read({"source": "pretrained"})[0] == {**DEFAULTS, "source": "pretrained"}

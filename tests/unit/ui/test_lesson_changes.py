"""The visitor's own lesson: what changes, undoing and a browser's stored copy make of it, without a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import streamlit as st

from attnviz.lessons import MAX_SCENES, OWN, Lesson, LessonError, read_lesson
from attnviz.ui import state
from attnviz.ui.lessons import start as own
from attnviz.ui.lessons import state as lesson_state

FILE = b"""
title: Mine
scenes:
  - {title: A, question: Which?, sentence: a, page: step_by_step, query: {step: weights, q: 3, predict: 1}}
  - {title: B, sentence: b, page: step_by_step, query: {step: scores}}
  - {title: C, sentence: c, page: heads}
"""


@pytest.fixture(autouse=True)
def lesson() -> Iterator[Lesson]:
    """Begin a session in which a visitor has opened a lesson of three scenes."""
    st.session_state.clear()
    state.begin("lessons")
    read = read_lesson(FILE, OWN)
    lesson_state.keep(read)
    yield read
    st.session_state.clear()


def titles() -> str:
    return "".join(scene.title for scene in lesson_state.own_or_new().scenes)


def at(chosen: int) -> None:
    st.session_state["lesson_at"] = chosen


def test_a_scene_moves_between_the_ends_and_stays_the_chosen_one(lesson: Lesson) -> None:
    down, up = own._move(1), own._move(-1)
    at(0)
    up()
    assert (titles(), lesson_state.last_change()) == ("ABC", "")
    for order, done in (("BAC", "move scene 1"), ("BCA", "move scene 2"), ("BCA", "move scene 2")):
        down()
        assert (titles(), lesson_state.last_change()) == (order, done)
    assert st.session_state["lesson_at"] == 2
    own._remove()
    assert (titles(), lesson_state.last_change()) == ("BC", "remove “A”")
    at(2)  # which a client may send
    own._remove()
    assert titles() == "BC"
    for order in ("BCA", "BAC", "ABC", "ABC"):
        lesson_state.undo_change()
        assert titles() == order
    assert lesson_state.own() is lesson


def test_the_last_twenty_changes_are_undone_and_a_lesson_ends_at_a_hundred_scenes(lesson: Lesson) -> None:
    for count in range(1, 23):
        lesson_state.change(replace(lesson, title=f"{count}"), f"change {count}")
    for count in range(22, 2, -1):
        assert lesson_state.last_change() == f"change {count}"
        lesson_state.undo_change()
    assert lesson_state.last_change() == ""
    assert lesson_state.own_or_new().title == "2"
    lesson_state.change_scenes(lesson.scenes[1:2] * MAX_SCENES, "fill it")
    with pytest.raises(LessonError, match="100 scenes"):
        lesson_state.change_scenes(lesson.scenes[1:2] * (MAX_SCENES + 1), "one more")
    assert len(lesson_state.own_or_new().scenes) == MAX_SCENES


@pytest.mark.parametrize(
    ("scene", "predict", "answer", "number", "asks"),
    [
        (1, True, True, 1, True),
        (1, False, False, 1, True),  # of a picture that has an answer beside it
        (1, False, True, 1, False),
        (2, True, False, 2, False),  # it has no question
        (3, True, True, 3, False),
        (4, True, True, 3, False),
    ],
)
def test_a_scene_asks_until_its_answer_is_shown(
    scene: int, predict: bool, answer: bool, number: int, asks: bool
) -> None:
    for name, value in (("lesson", OWN), ("scene", scene), ("predict", predict), ("answer", answer)):
        state.put(name, value)
    assert lesson_state.asks() == asks
    here = lesson_state.here()
    assert here is not None
    assert here.number == number == state.get("scene")
    assert [sentence[:7] for sentence in state.notes()] == (["Scene 4"] if scene == 4 else [])
    lesson_state.reveal()
    assert not lesson_state.asks()


def test_what_the_browser_has_stored_is_taken_once(lesson: Lesson) -> None:
    lesson_state.take_back("title: Another\nscenes: []")
    assert lesson_state.own() is lesson  # the session knows better
    stored = lesson_state.for_browser()["lesson"]
    st.session_state.clear()
    state.begin("lessons")
    assert lesson_state.for_browser() == {}
    state.put("lesson", OWN)
    assert lesson_state.for_browser() == {"lesson": None}
    assert stored is not None
    lesson_state.take_back(stored)
    assert lesson_state.own() == lesson
    assert lesson_state.for_browser() == {"lesson": stored}


def test_a_form_changes_the_scene_that_it_shows_and_no_other(lesson: Lesson) -> None:
    keys = {name: name for name in ("title", "sentence", "question", "predict", "q", "steps")}
    scene = lesson.scenes[0]
    shown = {"title": " A2 ", "sentence": "a", "question": "", "predict": False, "q": 5, "steps": ["head_outputs"]}
    st.session_state.update(shown)
    own._save_scene(0, lesson.scenes[1], keys)
    own._save_scene(3, scene, keys)
    assert lesson_state.own() is lesson  # moved or removed in the meantime
    own._save_scene(0, scene, keys)
    changed = lesson_state.own_or_new().scenes[0]
    assert (changed.title, changed.question, changed.steps) == ("A2", "", ("head_outputs",))
    assert changed.values() == {"step": "weights", "q": "5"}
    assert lesson_state.last_change() == "edit scene 1"
    st.session_state.update({"predict": True, "q": None})
    own._save_scene(0, changed, keys)
    assert lesson_state.own_or_new().scenes[0].values() == {"step": "weights", "predict": "1"}
    before = lesson_state.own()
    own._save_scene(0, lesson_state.own_or_new().scenes[0], keys)
    assert lesson_state.own() is before  # nothing was changed
    st.session_state["title"] = ""
    own._save_scene(0, lesson_state.own_or_new().scenes[0], keys)
    assert lesson_state.own() is before
    assert lesson_state.refused_change()
    assert lesson_state.refused_change() == ""

"""Questions and steps of scenes of a whole model, through `app.py`."""

from __future__ import annotations

import pytest

from attnviz.lessons import shipped
from attnviz.measures.mistakes.texts import TEXTS
from tests.app.lessons import bar, link
from tests.app.pages import go_to_page, open_page, payload, payloads, send_update


@pytest.mark.parametrize(("name", "number", "key"), [("transformer", 7, "predict"), ("mistakes", 3, "answer")])
def test_a_question_of_a_whole_model_is_answered_too(name: str, number: int, key: str) -> None:
    scene = shipped()[name].scenes[number - 1]
    at = go_to_page(open_page(), scene.page, {**scene.values(), "lesson": name, "scene": str(number)})
    assert scene.asked in bar(at)
    at.button(key="lesson_reveal").click().run()
    assert scene.said in bar(at)
    assert key not in link(at)
    at.button(key="lesson_back_button").click().run()
    assert link(at)[key] == scene.values()[key]
    assert scene.asked in bar(at)


def test_a_row_that_is_revealed_in_the_picture_answers_the_question() -> None:
    scene = shipped()["transformer"].scenes[6]
    at = go_to_page(open_page(), scene.page, {**scene.values(), "lesson": "transformer", "scene": "7"})
    assert payload(at, "walk")[0]["asks"]
    send_update(at, "walk", {"number": 1_790_000_000_000, "values": {"predict": False}})
    assert scene.said in bar(at)


def test_next_goes_through_the_steps_of_a_scene_of_a_whole_model() -> None:
    scene = shipped()["transformer"].scenes[5]
    at = go_to_page(open_page(), scene.page, {**scene.values(), "lesson": "transformer", "scene": "6"})
    for step in scene.steps:
        at.button(key="scene_on_button").click().run()
        assert (link(at)["part"], link(at)["scene"]) == (step, "6")
    at.button(key="scene_on_button").click().run()
    assert link(at)["scene"] == "7"
    at.button(key="scene_back_button").click().run()
    assert link(at)["scene"] == "6"


def test_a_mistake_of_a_scene_is_all_that_is_shown_and_is_named_with_the_answer() -> None:
    scene = shipped()["mistakes"].scenes[2]
    at = go_to_page(open_page(), scene.page, {**scene.values(), "lesson": "mistakes", "scene": "3"})
    assert not any(component == "walk" for component, _ in payloads(at))
    names = [one.value for one in at.selectbox if one.key == "mistake"]
    assert names == [] and TEXTS["cross"].title not in bar(at)
    at.button(key="lesson_reveal").click().run()
    assert [one.value for one in at.selectbox if one.key == "mistake"] == ["cross"]
    assert not at.exception

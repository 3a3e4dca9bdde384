"""Lessons through `app.py`: every scene opens as it is meant, questions are answered, one's own lesson is built."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.lessons import OWN, Lesson, Scene, gallery, read_lesson, shipped, write_lesson
from attnviz.links.link import DEFAULT_TEXT
from attnviz.ui import FRAME
from tests.app.pages import choose, go_to_page, messages, open_page, payload, send

APP = FRAME
HOSTILE = "<img src=x onerror=alert(1)> **b** [l](http://e.example) $x$ :smile:"


def link(at: AppTest) -> dict[str, str]:
    return dict(at.query_params)


def bar(at: AppTest) -> str:
    """Read what the bar says, as HTML; empty where there is no bar."""
    return "".join(
        html.proto.body
        for html in at.get("html")
        if "lesson-says" in html.proto.body and "<style>" not in html.proto.body
    )


def test_every_scene_opens_as_it_is_meant() -> None:
    at = open_page()
    for name, lesson in shipped().items():
        for number, scene in enumerate(lesson.scenes, 1):
            expected = {**scene.values(), "lesson": name, **({"scene": str(number)} if number > 1 else {})}
            go_to_page(at, scene.page, expected)
            assert messages(at) == "", scene.link
            assert link(at) == expected, scene.link  # nothing is dropped, nothing added: the link is whole
            sentence = scene.question or scene.sentence
            assert sentence.replace("'", "&#x27;") in bar(at).replace("&quot;", '"'), scene.link
    for example in gallery():
        for page in ("heads", "step_by_step"):
            go_to_page(at, page, example.link(page))
            assert (messages(at), link(at)) == ("", example.link(page))


def test_a_link_that_only_names_a_scene_opens_it() -> None:
    """As it is typed or written down: lesson and scene, on any page. What is not so bare is left as it is."""
    at, arrived = open_page(), set()
    for name, lesson in shipped().items():
        for number, scene in enumerate(lesson.scenes, 1):
            asked = {"lesson": name, "scene": str(number), "lecture": "1"}
            # A session that begins with such a link takes long to make: one for each page, and one for all the others.
            at = go_to_page(at, "step_by_step", asked) if scene.page in arrived else open_page(**asked)
            arrived.add(scene.page)
            expected = {**scene.values(), **asked}
            if number == 1:
                del expected["scene"]
            assert (messages(at), link(at)) == ("", expected), (name, number)
            sentence = scene.question or scene.sentence
            assert sentence.replace("'", "&#x27;") in bar(at).replace("&quot;", '"'), (name, number)
            assert scene.page == at.session_state["view_page"]


def test_a_short_link_made_by_the_app_stays_short() -> None:
    """Who turns the last setting back to its default, and who goes to another page, has not opened a link."""
    at = open_page(lesson="heads", scene="2", text="Mine")
    assert link(at) == {"lesson": "heads", "scene": "2", "text": "Mine"}
    at.text_area(key="text").set_value(DEFAULT_TEXT).run()
    assert link(at) == {"lesson": "heads", "scene": "2"}
    at.run()
    assert link(at) == {"lesson": "heads", "scene": "2"}
    go_to_page(at, "tokens", {})
    assert link(at) == {"lesson": "heads", "scene": "2"}


def test_a_question_is_answered_before_the_next_scene() -> None:
    at = open_page()
    number = next(n for n, scene in enumerate(shipped()["attention"].scenes, 1) if scene.question)
    scene = shipped()["attention"].scenes[number - 1]
    go_to_page(at, scene.page, {**scene.values(), "lesson": "attention", "scene": str(number)})
    at.button(key="lesson_reveal").click().run()
    assert scene.sentence[:20] in bar(at)
    assert "predict" not in link(at)
    at.button(key="lesson_back_button").click().run()
    assert link(at)["predict"] == "1"
    at.button(key="lesson_reveal").click().run()
    at.button(key="scene_on_button").click().run()
    assert link(at) == {
        **shipped()["attention"].scenes[number].values(),
        "lesson": "attention",
        "scene": str(number + 1),
    }


def test_exploring_leaves_the_scene_and_a_button_restores_it() -> None:
    scene = shipped()["why"].scenes[1].values()
    at = go_to_page(open_page(), "step_by_step", {**scene, "lesson": "why", "scene": "2"})
    choose(at, "step", "scaled")
    at.text_area(key="text").set_value("another text").run()
    assert link(at) == {**scene, "text": "another text", "step": "scaled", "lesson": "why", "scene": "2"}
    at.button(key="lesson_back_button").click().run()
    assert link(at) == {**scene, "lesson": "why", "scene": "2"}
    at.button(key="lesson_leave").click().run()
    assert (link(at), bar(at)) == (scene, "")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"lesson": "dance"}, "There is no lesson “dance”"),
        ({"lesson": HOSTILE}, "There is no lesson “<img"),
        ({"lesson": "why", "scene": "99"}, "Scene 99 does not exist: this lesson has 10"),
        ({"lesson": "why", "scene": "0"}, ""),
        ({"lesson": "why", "scene": "-1"}, "scene=-1 is not a whole number"),
    ],
)
def test_nonsense_about_lessons_gets_a_note(asked: dict[str, str], sentence: str) -> None:
    at = go_to_page(open_page(), "tokens", asked)
    assert sentence in messages(at)
    assert messages(at).count(sentence) == 1 or not sentence


def test_the_visitors_lesson_is_opened_reordered_and_left() -> None:
    scenes = tuple(
        Scene(f"{HOSTILE} {n}", HOSTILE, page, "text=a") for n, page in enumerate(("tokens", "heads", "tokens"))
    )
    at = go_to_page(open_page(), "lessons", {})
    at.session_state["lessons_tab"] = "Your own"
    at.run()
    at.get("file_uploader")[0].set_value(("bad.yaml", b"- 1", "application/yaml")).run()
    assert "The file is not a mapping" in messages(at)
    text = write_lesson(Lesson(OWN, HOSTILE, HOSTILE, scenes))
    at.get("file_uploader")[0].set_value(("good.yaml", text.encode(), "application/yaml")).run()
    assert messages(at) == ""
    at.button(key="lesson_down_1").click().run()
    at.button(key="lesson_remove_3").click().run()
    assert not at.exception
    kept = at.session_state["lesson_own"]
    assert [scene.title[-1] for scene in kept.scenes] == ["1", "0"]
    go_to_page(at, "tokens", {"text": "a", "lesson": OWN, "scene": "2"})
    assert "&lt;img" in bar(at)
    assert "<img" not in bar(at)
    go_to_page(at, "lessons", {})
    assert read_lesson(lecture_header(at)["lesson"].encode(), OWN) == kept
    at.session_state["lessons_tab"] = "Your own"
    at.run()
    at.button(key="lesson_drop").click().run()
    assert lecture_header(at)["lesson"] == ""  # which the browser forgets


def lecture_header(at: AppTest) -> dict[str, Any]:
    """Return the header of the component that keeps the visitor's own lesson in the browser."""
    return payload(at, "lecture")[0]


def browser_has(at: AppTest, lesson: Any) -> None:
    """Answer as the browser does when the page has been loaded again."""
    send(at, "lecture", "lesson", lesson)
    assert not at.exception


MINE = Lesson(
    OWN, "Mine", "Two scenes.", (Scene("a", "Says a.", "tokens", "text=a+word"), Scene("b", "Says b.", "heads", ""))
)


def test_the_visitors_lesson_is_restored_after_a_reload() -> None:
    explored = {"text": "something else", "lesson": OWN, "scene": "1"}
    at = open_page("tokens", **explored)
    assert (lecture_header(at)["lesson"], messages(at), bar(at)) == (None, "", "")  # the browser is asked
    browser_has(at, write_lesson(MINE))
    assert (at.session_state["lesson_own"], messages(at)) == (MINE, "")
    assert "Says a." in bar(at)
    assert link(at) == {"text": "something else", "lesson": OWN}  # the view as it was, in the lesson at its scene
    browser_has(at, write_lesson(shipped()["why"]))
    assert at.session_state["lesson_own"] == MINE  # a session that has one takes no other
    at = open_page(lesson=OWN, scene="2")
    browser_has(at, write_lesson(MINE))
    assert at.session_state["view_page"] == "heads"
    assert (link(at), messages(at)) == ({"lesson": OWN, "scene": "2"}, "")


def test_a_session_without_a_lesson_requests_none_and_accepts_one() -> None:
    at = open_page("tokens", text="a word")
    assert "lesson" not in lecture_header(at)
    browser_has(at, write_lesson(MINE))
    assert at.session_state["lesson_own"] == MINE
    assert (link(at), messages(at), bar(at)) == ({"text": "a word"}, "", "")


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        "- 1",
        "\ud800",
        "title: [",
        HOSTILE,
        "x" * 200_000,
        "[" * 50_000,
        f"title: {HOSTILE}\nsummary: *a\nscenes: []",
    ],
    ids=lambda text: text[:8],
)
def test_an_invalid_lesson_from_the_browser_is_ignored(nonsense: str) -> None:
    at = open_page("tokens", text="a word")
    browser_has(at, nonsense)
    assert (at.session_state["lesson_own"], messages(at), lecture_header(at)["lesson"]) == (None, "", "")
    at = open_page("tokens", text="a word", lesson=OWN, scene="2")
    browser_has(at, nonsense)
    assert messages(at).count("Open its file on the page Lessons") == 1
    assert (link(at), bar(at)) == ({"text": "a word"}, "")


@pytest.mark.parametrize("nonsense", [None, 3, ["title"], {"lesson": "x"}])
def test_a_value_from_the_browser_that_is_no_text_is_ignored(nonsense: object) -> None:
    at = open_page("tokens", lesson=OWN)
    browser_has(at, nonsense)
    assert (lecture_header(at)["lesson"], messages(at)) == (None, "")

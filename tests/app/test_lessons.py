"""Lessons through `app.py`: every scene opens as it is meant, questions are answered, one's own lesson is built."""

from __future__ import annotations

from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.lessons import MAX_BYTES, OWN, Lesson, Scene, gallery, read_lesson, shipped, write_lesson
from attnviz.links import pages
from attnviz.links.link import DEFAULT_TEXT
from attnviz.measures.mistakes import TEXTS
from attnviz.ready import Check
from attnviz.settings import Settings
from attnviz.ui import FRAME
from attnviz.ui.lessons.state import LessonRecord
from attnviz.ui.state import ViewRecord, record_key
from tests.app.lessons import bar, link
from tests.app.pages import choose, go_to_page, messages, open_page, open_parts, payload, payloads, send, send_update
from tests.app.views.links import PAGES
from tests.app.views.record import read

APP = FRAME
HOSTILE = "<img src=x onerror=alert(1)> **b** [l](http://e.example) $x$ :smile:"


def test_every_scene_opens_as_it_is_meant() -> None:
    """In what is recorded of it, with which tests/app/views compares what its link opens now."""
    recorded, paths = {page: read(page) for page in PAGES.values()}, {page: path for path, page in PAGES.items()}
    for name, lesson in shipped().items():
        for number, scene in enumerate(lesson.scenes, 1):
            place = {"lesson": name, **({"scene": str(number)} if number > 1 else {})}
            shown = recorded[scene.page][f"{paths[scene.page]}?{urlencode(scene.values() | place)}"]["texts"]
            whole = {**pages.PAGES[scene.page].opened(scene.values()), **place}  # nothing is dropped, nothing added
            is_whole = whole == scene.values() | place
            address = "as the link" if is_whole else sorted(whole.items())
            assert f"address: {address}" in shown, scene.link
            assert [text for text in shown if text.startswith(("warning", "error", "info"))] == [], scene.link
            assert any(" ".join((scene.asked or scene.said).split()) in text for text in shown), scene.link


def test_every_example_of_the_gallery_opens_as_it_is_meant() -> None:
    at = open_page()
    for example in gallery():
        for page in ("heads", "step_by_step"):
            go_to_page(at, page, example.link(page))
            assert (messages(at), link(at)) == ("", example.link(page))


def test_a_link_that_only_names_a_scene_opens_it() -> None:
    """As it is typed or written down: lesson and scene, on any page. What is not so bare is left as it is.

    The last scene of each lesson, and one of each page: that all open well is the test before.
    """
    at, arrived = open_page(), set()
    for name, lesson in shipped().items():
        for number, scene in enumerate(lesson.scenes, 1):
            if scene.page in arrived and number != len(lesson.scenes):
                continue
            asked = {"lesson": name, "scene": str(number), "lecture": "1"}
            # A session that begins with such a link takes long to make: one for each page, and one for all the others.
            at = go_to_page(at, "step_by_step", asked) if scene.page in arrived else open_page(**asked)
            arrived.add(scene.page)
            expected = {**pages.PAGES[scene.page].opened(scene.values()), **asked}
            if number == 1:
                del expected["scene"]
            assert (messages(at), link(at)) == ("", expected), (name, number)
            sentence = scene.asked or scene.said
            assert sentence in bar(at), (name, number)
            assert scene.page == at.session_state[record_key(ViewRecord)].page


def test_a_short_link_made_by_the_app_stays_short() -> None:
    """Who turns the last setting back to its default, and who goes to another page, has not opened a link."""
    at = open_page(lesson="heads", scene="2", text="Mine")
    assert link(at) == {"lesson": "heads", "scene": "2", "text": "Mine"}
    at.text_area(key="text").set_value(DEFAULT_TEXT).run()
    assert link(at) == {"source": "toy", "lesson": "heads", "scene": "2"}
    at.run()
    assert link(at) == {"source": "toy", "lesson": "heads", "scene": "2"}
    go_to_page(at, "tokens", {})
    assert link(at) == {"text": DEFAULT_TEXT, "lesson": "heads", "scene": "2"}


def test_a_scene_takes_nothing_from_another_page() -> None:
    at = open_page("bert", bert_part="language", lesson="heads", scene="1", lecture="1")
    assert at.text_input(key="other").value


def test_a_question_is_answered_before_the_next_scene() -> None:
    at = open_page()
    number = next(n for n, scene in enumerate(shipped()["attention"].scenes, 1) if scene.question)
    scene = shipped()["attention"].scenes[number - 1]
    go_to_page(at, scene.page, {**scene.values(), "lesson": "attention", "scene": str(number)})
    at.button(key="lesson_reveal").click().run()
    assert scene.said[:20] in bar(at)
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
    open_parts(at, lessons_tab="Your own")
    field = at.file_uploader(key="lesson_file")
    assert field.label == f"Open a lesson file (YAML, up to {MAX_BYTES // 1000} kB)"
    assert field.proto.max_upload_size_mb == 1  # Streamlit's least
    field.set_value(("large.yaml", bytes(MAX_BYTES + 1), "application/yaml")).run()
    assert "at most 100,000 are allowed" in messages(at)
    at.get("file_uploader")[0].set_value(("bad.yaml", b"- 1", "application/yaml")).run()
    assert "The file is not a mapping" in messages(at)
    text = write_lesson(Lesson(OWN, HOSTILE, HOSTILE, scenes))
    at.get("file_uploader")[0].set_value(("good.yaml", text.encode(), "application/yaml")).run()
    assert messages(at) == ""
    assert at.radio(key="lesson_at").value == 0
    at.button(key="lesson_down").click().run()
    assert at.radio(key="lesson_at").value == 1  # the scene that was moved is still the chosen one
    at.radio(key="lesson_at").set_value(2).run()
    at.button(key="lesson_remove").click().run()
    assert not at.exception
    kept = lesson_of(at)
    assert [scene.title[-1] for scene in kept.scenes] == ["1", "0"]
    go_to_page(at, "tokens", {"text": "a", "lesson": OWN, "scene": "2"})
    assert HOSTILE in bar(at), "it is text"
    go_to_page(at, "lessons", {})
    assert read_lesson(lecture_header(at)["lesson"].encode(), OWN) == kept
    open_parts(at, lessons_tab="Your own")
    at.button(key="lesson_drop").click().run()
    assert lecture_header(at)["lesson"] == ""  # which the browser forgets
    at.button(key="lesson_undo").click().run()
    assert lesson_of(at) == kept
    assert read_lesson(lecture_header(at)["lesson"].encode(), OWN) == kept


def lesson_of(at: AppTest) -> Any:
    """Return the visitor's own lesson, as the session keeps it."""
    return at.session_state[record_key(LessonRecord)].own


def own_lesson(text: str) -> AppTest:
    """Open a lesson file on the page Start."""
    at = go_to_page(open_page(), "lessons", {})
    open_parts(at, lessons_tab="Your own")
    at.get("file_uploader")[0].set_value(("own.yaml", text.encode(), "application/yaml")).run()
    assert messages(at) == ""
    return at


def field(at: AppTest, kind: str, name: str) -> Any:
    """Return a field of the form that edits the chosen scene."""
    (found,) = [one for one in at.get(kind) if str(one.key).startswith(f"lesson_edit_{name}_")]
    return found


THREE = (
    "title: T\nscenes:\n"
    "  - {title: one, sentence: Says one., link: '/?source=pretrained&layer=3&head=1&step=weights&q=3'}\n"
    "  - {title: two, sentence: Says two., link: '/heads?layer=1'}\n"
    "  - {title: three, sentence: Says three., link: '/tokens'}\n"
)


def test_a_scene_is_edited_and_every_change_is_undone() -> None:
    at = own_lesson(THREE)
    opened = lesson_of(at)
    assert at.text_input(key="lesson_summary").value == ""
    field(at, "text_input", "title").set_value(HOSTILE)
    field(at, "text_area", "sentence").set_value("Says more.")
    field(at, "toggle", "predict").set_value(True)
    field(at, "number_input", "q").set_value(5)
    field(at, "text_input", "question").set_value("Which?")
    field(at, "multiselect", "steps").set_value(["head_outputs", "concat"])
    at.button(key="FormSubmitter:lesson_edit_0-Save").click().run()
    assert (messages(at), at.exception) == ("", [])
    edited = lesson_of(at)
    link = {"source": "pretrained", "layer": "3", "head": "1", "step": "weights", "q": "5", "predict": "1"}
    assert edited.scenes[0].values() == link
    words = (HOSTILE, "Says more.", "Which?", ("head_outputs", "concat"))
    assert (
        edited.scenes[0].title,
        edited.scenes[0].sentence,
        edited.scenes[0].question,
        edited.scenes[0].steps,
    ) == words
    assert edited.scenes[1:] == opened.scenes[1:]

    field(at, "toggle", "predict").set_value(False)  # but the question stands
    at.button(key="FormSubmitter:lesson_edit_0-Save").click().run()
    assert "A question needs" in messages(at)
    assert lesson_of(at) == edited

    at.radio(key="lesson_at").set_value(1).run()
    assert not [one for one in at.get("multiselect") if "steps" in str(one.key)]  # a scene of Heads has none
    at.button(key="lesson_remove").click().run()
    assert [scene.title for scene in lesson_of(at).scenes] == [HOSTILE, "three"]
    for expected in (edited, opened):
        at.button(key="lesson_undo").click().run()
        assert lesson_of(at) == expected
    at.button(key="lesson_undo").click().run()
    assert lesson_of(at) is None
    assert not at.get("button_group")
    assert not [one for one in at.button if one.key == "lesson_undo"]


def test_the_view_of_a_scene_is_replaced_by_the_one_that_is_open() -> None:
    at = own_lesson(THREE)
    go_to_page(at, "heads", {"layer": "4", "head": "5"})
    open_parts(at, share=True)
    at.selectbox(key="lesson_replace_at").set_value(1)
    at.session_state["share"] = True
    at.button(key="FormSubmitter:lesson_replace-Replace its view").click().run()
    first, second, third = lesson_of(at).scenes
    assert (second.title, second.sentence, second.page) == ("two", "Says two.", "heads")
    assert second.values() == {"layer": "4", "head": "5"}
    assert (first.title, third.title) == ("one", "three")


def test_next_goes_through_the_steps_of_a_scene_and_its_answer_before_the_next_scene() -> None:
    asked = THREE.replace("q=3'}", "q=3&predict=1', question: Which?, steps: [head_outputs, output]}")
    at = own_lesson(asked)
    scene = lesson_of(at).scenes[0]
    go_to_page(at, "step_by_step", {**scene.values(), "lesson": OWN})
    assert "Which?" in bar(at)
    at.button(key="lesson_reveal").click().run()
    for step in ("head_outputs", "output"):
        at.button(key="scene_on_button").click().run()
        assert (link(at)["step"], link(at)["lesson"], "scene" in link(at)) == (step, OWN, False)
        assert "Says one." in bar(at)
    assert not [one for one in at.button if one.key == "scene_on_button"]  # the next scene is on another page: a link
    for step in ("head_outputs", "weights"):
        at.button(key="scene_back_button").click().run()
        assert link(at)["step"] == step
    assert at.button(key="scene_back_button").disabled  # the first scene
    at.button(key="scene_on_button").click().run()
    choose(at, "step", "scores")  # which is none of the scene's
    assert not [one for one in at.button if one.key == "scene_on_button"]


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
    assert (lesson_of(at), messages(at)) == (MINE, "")
    assert "Says a." in bar(at)
    assert link(at) == {"text": "something else", "lesson": OWN}  # the view as it was, in the lesson at its scene
    browser_has(at, write_lesson(shipped()["why"]))
    assert lesson_of(at) == MINE  # a session that has one takes no other
    at = open_page(lesson=OWN, scene="2")
    browser_has(at, write_lesson(MINE))
    assert at.session_state[record_key(ViewRecord)].page == "heads"
    assert (link(at), messages(at)) == ({**pages.OPENING_OF_HEADS, "lesson": OWN, "scene": "2"}, "")


def test_a_session_without_a_lesson_requests_none_and_accepts_one() -> None:
    at = open_page("tokens", text="a word")
    assert "lesson" not in lecture_header(at)
    browser_has(at, write_lesson(MINE))
    assert lesson_of(at) == MINE
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
    assert (lesson_of(at), messages(at), lecture_header(at)["lesson"]) == (None, "", "")
    at = open_page("tokens", text="a word", lesson=OWN, scene="2")
    browser_has(at, nonsense)
    assert messages(at).count("Open its file on the page Start") == 1
    assert (link(at), bar(at)) == ({"text": "a word"}, "")


@pytest.mark.parametrize("writes", range(2))
def test_a_lesson_that_a_run_was_ended_in_keeping_breaks_no_page(writes: int) -> None:
    def run() -> None:
        import streamlit as st

        from attnviz.ui import state
        from attnviz.ui.lessons import state as lesson_state
        from tests.app.pages import ended_after

        writes = int(st.query_params.pop("writes"))
        state.begin("tokens")
        with ended_after(writes):
            lesson_state.take_back("no lesson")
        st.text(str(lesson_state.for_browser()))

    at = AppTest.from_function(run)
    at.query_params["writes"] = str(writes)
    assert not at.run().exception
    assert at.text[0].value == ("{'lesson': ''}" if writes else "{}")


@pytest.mark.parametrize("nonsense", [None, 3, ["title"], {"lesson": "x"}])
def test_a_value_from_the_browser_that_is_no_text_is_ignored(nonsense: object) -> None:
    at = open_page("tokens", lesson=OWN)
    browser_has(at, nonsense)
    assert (lecture_header(at)["lesson"], messages(at)) == (None, "")


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


def test_the_outline_lists_all_scenes_and_opens_those_of_this_page_at_once() -> None:
    scenes = tuple(
        Scene(f"*{name}*", "Says it.", page, f"text={name}")
        for name, page in (("a", "tokens"), ("b", "heads"), ("c", "tokens"))
    )
    at = own_lesson(write_lesson(Lesson(OWN, "Mine", "", scenes)))
    at.session_state["lesson_outline_1"] = True
    go_to_page(at, "tokens", {**scenes[0].values(), "lesson": OWN})
    assert [one.proto.popover.label for one in at.get("popover") if "of 3" in one.proto.popover.label] == ["1 of 3"]
    listed = [one for one in at.button if str(one.key).startswith("lesson_to_")]
    assert [(one.key, one.label) for one in listed] == [
        ("lesson_to_1", r"**1 · \*a\***"), ("lesson_to_3", r"3 · \*c\*")
    ]  # fmt: skip
    (other,) = [one.proto for one in at.get("page_link") if one.proto.label.startswith("2 ·")]
    assert other.label == r"2 · \*b\*"
    assert "scene=2" in other.query_string and "text=b" in other.query_string
    listed[1].click().run()
    assert link(at) == {"text": "c", "lesson": OWN, "scene": "3"}


def test_the_keys_of_a_lecture_go_through_scenes_also_of_other_pages_and_stop_at_both_ends() -> None:
    queries = (("tokens", "text=a"), ("tokens", "text=b"), ("heads", "source=toy&text=c"))
    scenes = tuple(Scene("It", "Says it.", page, query) for page, query in queries)
    at = own_lesson(write_lesson(Lesson(OWN, "Mine", "", scenes)))
    go_to_page(at, "tokens", {"text": "a", "lesson": OWN})
    numbers = count(1)

    def press(act: str) -> tuple[str, str, str]:
        number = next(numbers)
        send_update(at, "lecture", {"number": number, "values": {"acts": [[number, act]]}})
        assert not at.exception
        return at.session_state[record_key(ViewRecord)].page, link(at)["text"], link(at).get("scene", "1")

    ones, twos, threes = ("tokens", "a", "1"), ("tokens", "b", "2"), ("heads", "c", "3")
    for act, opened in (("back", ones), ("on", twos), ("back", ones), ("on", twos), ("on", threes)):
        assert press(f"scene_{act}") == opened
    go_to_page(at, "heads", {"source": "toy", "text": "c", "lesson": OWN, "scene": "3"})
    assert press("scene_on") == threes


def test_a_lesson_is_renamed_and_a_name_that_no_lesson_can_have_is_refused() -> None:
    at = own_lesson(THREE)
    at.text_input(key="lesson_title").set_value("  Mine ").run()
    at.text_input(key="lesson_summary").set_value("About it.").run()
    assert (lesson_of(at).title, lesson_of(at).summary) == ("Mine", "About it.")
    assert at.button(key="lesson_undo").label == r"Undo: change the lesson\'s title or summary"
    at.text_input(key="lesson_title").set_value(" ").run()
    assert "title" in messages(at) and lesson_of(at).title == "Mine"
    at.button(key="lesson_undo").click().run()
    assert (lesson_of(at).title, lesson_of(at).summary) == ("Mine", "")
    assert not at.code
    open_parts(at, lesson_format=True)
    assert read_lesson(at.code[0].value.encode(), OWN).scenes


def test_a_view_is_added_as_a_scene_with_a_question_where_a_row_is_covered() -> None:
    covered = {"text": "a b c", "step": "weights", "predict": "1", "q": "1"}
    at = open_page("", {"share": True}, **covered)
    for key, value in (("title", " Mine "), ("question", " Which? ")):
        at.text_input(key=f"lesson_add_{key}").set_value(value)
    at.text_area(key="lesson_add_sentence").set_value("It is so.")
    at.session_state["share"] = True
    at.button(key="FormSubmitter:lesson_add-Add to my lesson").click().run()
    (scene,) = lesson_of(at).scenes
    assert (scene.title, scene.sentence, scene.question, scene.page) == ("Mine", "It is so.", "Which?", "step_by_step")
    assert scene.values() == covered
    assert [one.value for one in at.toast] == ["Scene 1 of your lesson. It is listed on the page Start."]
    assert at.selectbox(key="lesson_replace_at").options == ["1 · Mine"]
    at.text_input(key="lesson_add_title").set_value("")
    at.session_state["share"] = True
    at.button(key="FormSubmitter:lesson_add-Add to my lesson").click().run()
    assert "title" in messages(at) and lesson_of(at).scenes == (scene,)


@pytest.mark.parametrize("public", [False, True])
def test_the_checks_before_class_are_shown_with_what_to_do_but_not_to_visitors(
    monkeypatch: pytest.MonkeyPatch, public: bool
) -> None:
    found = [
        Check("Port", "ok", "8501 is *free*"),
        Check("Memory", "warn", "1 GB", "Close it."),
        Check("A", "fail", "x"),
    ]
    monkeypatch.setattr("attnviz.ready.checks", lambda **_: iter(found))
    monkeypatch.setattr("attnviz.ui.lessons.start.settings", lambda: Settings(public=public))
    at = go_to_page(open_page("", {"lessons_tab": "Ready for class"}), "lessons", {})
    assert ("python -m attnviz ready" in messages(at)) == public
    buttons = [one for one in at.button if one.key == "check_ready"]
    assert bool(buttons) != public
    if buttons:
        buttons[0].click().run()
        assert [text.value for text in at.markdown if "**" in text.value] == [
            r":green[:material/check_circle:] **Port**: 8501 is \*free\*",
            ":orange[:material/warning:] **Memory**: 1 GB  \n→ Close it\\.",
            ":red[:material/error:] **A**: x",
        ]

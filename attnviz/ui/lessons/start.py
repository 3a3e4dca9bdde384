"""The tabs of the page Start: lessons and examples, all scenes, the visitor's own lesson, and checks before class.

The visitor's own lesson is opened from a file or built from views; it can be changed and downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any
from zlib import crc32

import streamlit as st

from attnviz.lessons import MAX_BYTES, OWN, Lesson, LessonError, Scene, gallery, read_lesson, shipped, write_lesson
from attnviz.lessons.lesson import MARKS, MAX_CHARACTERS, WALKED, check_text, first_step, query_of
from attnviz.settings import settings
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.lessons.state import CurrentScene, LessonRecord
from attnviz.ui.messages import plain
from attnviz.ui.places import page_link
from attnviz.ui.state import record
from attnviz.ui.tokens.choices import file_field, uploaded

SAYS = (
    "attnviz shows what attention computes in a real BERT and in small models, on your own text, down to the last "
    "number. Open a lesson, or an example and change its words."
)
ACROSS = 3
"""Lessons in a row, with all their scenes"""
FORMAT = """\
title: My lesson
summary: What it is about, in a sentence or two. It may be left out.
scenes:
  - title: The first scene
    sentence: >-
      What there is to see here. [Row "you"](row=you) and [this score](row=you column=2 matrix=scores) light up in the
      picture when someone points at the words.
    link: /?text=you+can+link+to+this&source=toy&step=scores
    steps: [scaled, weights]  # Right shows these too before the next scene
  # In lecture mode text fields and settings leave a scene of BERT, unless a word names them: [type](item=sentence).
  - title: The second scene
    question: What will row 3 look like?
    sentence: Shown when the row is revealed.
    page: step_by_step
    query: {source: pretrained, layer: 3, head: 1, step: weights, q: 3, predict: 1}
"""
_AT = "lesson_at"
"""The session key of the index of the chosen scene"""


def show_start() -> None:
    """Say what the app is, and show the shipped lessons and the example sentences as cards."""
    st.html(f'<p class="start-says">{SAYS}</p><h2 class="start-title">Lessons</h2>')
    with st.container(key="lesson_cards"):
        for lesson in shipped().values():
            first = CurrentScene(lesson, 1)
            summary = f"{lesson.summary.partition('. ')[0].rstrip('.')}." if lesson.summary else ""
            with st.container(key=f"lesson_start_{lesson.name}", border=True, gap=None):
                page_link(first.scene.page, f"**{plain(lesson.title)}**", lesson_state.link_to(first, lecture=True))
                st.html(f"<p>{escape(summary)} {len(lesson.scenes)} scenes.</p>")
    st.html('<h2 class="start-title">Examples, each with a head of a real BERT that does something clear on it</h2>')
    with st.container(key="example_cards"):
        for number, example in enumerate(gallery()):
            with st.container(key=f"example_card_{number}", border=True, gap=None):
                page_link("step_by_step", f"**{plain(example.title)}**", example.link("step_by_step"))
                st.html(f"<q>{escape(example.text)}</q><p>{escape(example.said)}</p>")


def show_scenes() -> None:
    """Show all scenes of the shipped lessons."""
    lessons = tuple(shipped().values())
    for start in range(0, len(lessons), ACROSS):
        row = lessons[start : start + ACROSS]
        for column, lesson in zip(st.columns(len(row), border=True), row, strict=True):
            with column:
                st.html(f'<div class="lesson-card"><h2>{escape(lesson.title)}</h2></div>')
                if lesson.summary:
                    st.caption(plain(lesson.summary))
                for number, scene in enumerate(lesson.scenes, 1):
                    link = lesson_state.link_to(CurrentScene(lesson, number))
                    page_link(scene.page, f"{number} · {plain(scene.title)}", link)


CHECK_MARKS = {
    "ok": ":green[:material/check_circle:]",
    "warn": ":orange[:material/warning:]",
    "fail": ":red[:material/error:]",
}


def show_ready() -> None:
    """Show the checks and their results; not on a public server, where the machine's details are private."""
    if settings().public:
        st.info("These checks are for the person who runs the server: python \\-m attnviz ready")
        return
    st.caption(plain("Checks everything that a lecture needs. In a terminal: python -m attnviz ready"))
    kept = record(LessonRecord)
    if st.button("Check now", key="check_ready"):
        with st.spinner("Checking …"):
            from attnviz.ready import checks
            from attnviz.ui import caches

            kept.checks = tuple(checks(load=lambda: caches.model("minilm")))
    for check in kept.checks:
        line = f"{CHECK_MARKS[check.state]} **{plain(check.name)}**: {plain(check.detail)}"
        st.markdown(f"{line}  \n→ {plain(check.advice)}" if check.advice else line)


def show_own() -> None:
    """Show the visitor's own lesson: upload, download, and scenes that can be opened, changed, moved and removed."""
    if settings().uploads:
        file_field(
            f"Open a lesson file (YAML, up to {MAX_BYTES // 1000} kB)", "lesson_file", MAX_BYTES, type=["yaml", "yml"],
            on_change=_take_file,
        )  # fmt: skip
    refused = lesson_state.refused_change()
    if refused:
        st.error(plain(refused))
    lesson = lesson_state.own()
    if lesson is None:
        st.caption("Or build one: go to a view, open Share at the top, and add the view as a scene.")
    else:
        _show_lesson(lesson)
    if lesson_state.last_change():
        st.button(
            f"Undo: {plain(lesson_state.last_change())}",
            icon=":material/undo:",
            key="lesson_undo",
            on_click=lesson_state.undo_change,
        )
    if lesson is not None and lesson.scenes:
        _show_scenes(lesson)
    with st.expander("How a lesson file is written", key="lesson_format", on_change="rerun") as written:
        if written.open:
            st.code(FORMAT, language="yaml")


def _take_file() -> None:
    """Open the uploaded file. If it is not a lesson, keep the previous one."""
    file = uploaded("lesson_file")
    if file is None:
        return
    try:
        if file.size > MAX_BYTES:
            raise LessonError(f"The file has {file.size:,} bytes; at most {MAX_BYTES:,} are allowed.")
        lesson_state.change(read_lesson(file.getvalue(), OWN), "open a file")
    except LessonError as why:
        lesson_state.refuse_change(why)


def _show_lesson(lesson: Lesson) -> None:
    kept = record(LessonRecord)
    for key, value in (("lesson_title", lesson.title), ("lesson_summary", lesson.summary)):
        if key not in st.session_state or kept.in_fields is not lesson:
            st.session_state[key] = value
    kept.in_fields = lesson
    st.text_input("Title of the lesson", key="lesson_title", max_chars=MAX_CHARACTERS["title"], on_change=_rename)
    st.text_input(
        "What it is about (optional)", key="lesson_summary", max_chars=MAX_CHARACTERS["summary"], on_change=_rename
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if lesson.scenes:
            first = CurrentScene(lesson, 1)
            link = lesson_state.link_to(first, lecture=True)
            page_link(first.scene.page, "Start", link, icon=":material/play_arrow:")
            st.download_button(
                "Download as YAML", data=lambda: write_lesson(lesson).encode(), file_name="lesson.yaml",
                mime="application/yaml", icon=":material/download:", on_click="ignore", key="lesson_download",
            )  # fmt: skip
        drop = partial(lesson_state.change, None, "start over")
        st.button("Start over", icon=":material/delete:", key="lesson_drop", on_click=drop)
    st.caption("It is kept in this browser tab only: download it to keep it longer.")


def _show_scenes(lesson: Lesson) -> None:
    """Show the list of scenes, and beside it the buttons and the form for the chosen scene."""
    scenes = lesson.scenes
    labels = [f"{number} · {plain(scene.title)}" for number, scene in enumerate(scenes, 1)]
    st.session_state[_AT] = min(max(_chosen(), 0), len(scenes) - 1)
    listed, chosen = st.columns([2, 3], gap="medium")
    with listed:
        st.radio("Scenes", range(len(scenes)), format_func=labels.__getitem__, key=_AT)
    at = min(max(_chosen(), 0), len(scenes) - 1)
    with chosen:
        there = CurrentScene(lesson, at + 1)
        with st.container(horizontal=True, vertical_alignment="center", key="lesson_tools"):
            _tool("Up", "arrow_upward", _move(-1), disabled=at == 0)
            _tool("Down", "arrow_downward", _move(1), disabled=at == len(scenes) - 1)
            _tool("Remove", "close", _remove)
            page_link(there.scene.page, "Open", lesson_state.link_to(there), icon=":material/arrow_forward:")
        _show_edit(at)


def _tool(label: str, icon: str, act: Callable[[], None], *, disabled: bool = False) -> None:
    key = f"lesson_{label.lower()}"
    st.button(label, icon=f":material/{icon}:", key=key, disabled=disabled, on_click=act)


def _chosen() -> int:
    """Return the index of the chosen scene; a client may send any value."""
    at = st.session_state.get(_AT)
    return at if isinstance(at, int) else 0


def _rename() -> None:
    lesson = lesson_state.own()
    title, summary = (str(st.session_state.get(key) or "").strip() for key in ("lesson_title", "lesson_summary"))
    try:
        check_text("title", title)
        if summary:
            check_text("summary", summary)
    except LessonError as why:
        lesson_state.refuse_change(why)
        return
    if lesson is not None:
        lesson_state.change(replace(lesson, title=title, summary=summary), "change the lesson's title or summary")


def _move(by: int) -> Callable[[], None]:
    """Return the callback that moves the chosen scene up or down. The scene stays chosen."""

    def move() -> None:
        scenes, at = list(lesson_state.own_or_new().scenes), _chosen()
        if not {at, at + by} <= set(range(len(scenes))):
            return
        scenes.insert(at + by, scenes.pop(at))
        lesson_state.change(replace(lesson_state.own_or_new(), scenes=tuple(scenes)), f"move scene {at + 1}")
        st.session_state[_AT] = at + by

    return move


def _remove() -> None:
    scenes, at = list(lesson_state.own_or_new().scenes), _chosen()
    if at in range(len(scenes)):
        removed = scenes.pop(at)
        lesson_state.change(replace(lesson_state.own_or_new(), scenes=tuple(scenes)), f"remove “{removed.title}”")


_EDITED = ("title", "sentence", "predict", "q", "question", "steps")


def _show_edit(at: int) -> None:
    """Show the form of the scene at this index."""
    scene = lesson_state.own_or_new().scenes[at]
    # The keys depend on the scene's content, so that after any change the fields show the stored scene.
    keys = {name: f"lesson_edit_{name}_{at}_{crc32(repr(scene).encode()):08x}" for name in _EDITED}
    with st.form(f"lesson_edit_{at}", border=True):
        _field("title", st.text_input, "Title", scene.title, keys, max_chars=MAX_CHARACTERS["title"])
        _field("sentence", st.text_area, "Sentence", scene.sentence, keys, max_chars=MARKS * MAX_CHARACTERS["sentence"])
        if scene.page in WALKED:
            _show_walk(scene, keys)
        st.form_submit_button("Save", icon=":material/check:", on_click=_save_scene, args=(at, scene, keys))
    st.caption("For another picture: go to its view, open Share, and replace the view of this scene.")


def _show_walk(scene: Scene, keys: dict[str, str]) -> None:
    """Show the fields for scenes on a page with a walk."""
    values = scene.values()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _field("predict", st.toggle, "Cover a row until it is revealed", values.get("predict") == "1", keys)
        row = int(values["q"]) if "q" in values else None
        _field("q", st.number_input, "Row (from 0)", row, keys, min_value=0, step=1, width=140)
    _field("question", st.text_input, "Question, asked before the answer is revealed (optional)", scene.question, keys,
           max_chars=MARKS * MAX_CHARACTERS["question"])  # fmt: skip
    first, steps = first_step(scene.page, values), WALKED[scene.page]
    st.multiselect(
        f"Steps that Right shows after {steps[first].title} (optional)", [name for name in steps if name != first],
        default=scene.steps, format_func=lambda name: steps[name].title, key=keys["steps"],
    )  # fmt: skip


def _field(name: str, widget: Any, label: str, value: Any, keys: dict[str, str], **options: Any) -> None:
    widget(label, value=value, key=keys[name], **options)


def _save_scene(at: int, scene: Scene, keys: dict[str, str]) -> None:
    """Save the form's values, from its callback."""
    scenes = list(lesson_state.own_or_new().scenes)
    if at >= len(scenes) or scenes[at] != scene:  # changed in the meantime
        return
    fields = {name: st.session_state.get(key) for name, key in keys.items()}
    words = {name: str(fields[name] or "").strip() for name in ("title", "sentence", "question")}
    scenes[at] = replace(scene, **words, query=_edited_query(scene, fields), steps=tuple(fields["steps"] or ()))
    if scenes[at] == scene:
        return
    try:
        lesson_state.change_scenes(scenes, f"edit scene {at + 1}")
    except LessonError as why:
        lesson_state.refuse_change(why)


def _edited_query(scene: Scene, fields: dict[str, Any]) -> str:
    """Return the query of the scene with the row to guess from the form's values."""
    if scene.page not in WALKED:
        return scene.query
    row = fields["q"]
    edited = {"predict": "1" if fields["predict"] else None, "q": None if row is None else f"{row}"}
    values = {**scene.values(), **edited}
    return query_of({name: value for name, value in values.items() if value is not None})

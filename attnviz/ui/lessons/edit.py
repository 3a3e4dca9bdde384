"""The form that edits a scene of the visitor's own lesson: its words, the row to guess, its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zlib import crc32

import streamlit as st

from attnviz.lessons import LessonError, Scene
from attnviz.lessons.scene import MARKS, MAX_CHARACTERS, WALKED, first_step, query_of
from attnviz.ui.lessons import changes

FIELDS = ("title", "sentence", "predict", "q", "question", "steps")


def show_edit(at: int) -> None:
    """Show the form of the scene at this index."""
    scene = changes.own().scenes[at]
    # The keys hold the scene's content: after any change the fields show what is kept.
    keys = {name: f"lesson_edit_{name}_{at}_{crc32(repr(scene).encode()):08x}" for name in FIELDS}
    with st.form(f"lesson_edit_{at}", border=True):
        _field("title", st.text_input, "Title", scene.title, keys, max_chars=MAX_CHARACTERS["title"])
        _field("sentence", st.text_area, "Sentence", scene.sentence, keys, max_chars=MARKS * MAX_CHARACTERS["sentence"])
        if scene.page in WALKED:
            _show_walk(scene, keys)
        st.form_submit_button("Save", icon=":material/check:", on_click=_save, args=(at, scene, keys))
    st.caption("For another picture: go to its view, open Share, and replace the view of this scene.")


def _show_walk(scene: Scene, keys: dict[str, str]) -> None:
    """Show the fields that only a scene with a walk has."""
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


def _save(at: int, scene: Scene, keys: dict[str, str]) -> None:
    """Take what the form holds, from its callback."""
    scenes = list(changes.own().scenes)
    if at >= len(scenes) or scenes[at] != scene:  # changed in the meantime
        return
    given = {name: st.session_state.get(key) for name, key in keys.items()}
    words = {name: str(given[name] or "").strip() for name in ("title", "sentence", "question")}
    scenes[at] = replace(scene, **words, query=_query(scene, given), steps=tuple(given["steps"] or ()))
    if scenes[at] == scene:
        return
    try:
        changes.keep_scenes(scenes, f"edit scene {at + 1}")
    except LessonError as why:
        changes.refuse(why)


def _query(scene: Scene, given: dict[str, Any]) -> str:
    """Return the query of the scene with the row to guess that was given."""
    if scene.page not in WALKED:
        return scene.query
    row = given["q"]
    chosen = {"predict": "1" if given["predict"] else None, "q": None if row is None else f"{row}"}
    values = {**scene.values(), **chosen}
    return query_of({name: value for name, value in values.items() if value is not None})

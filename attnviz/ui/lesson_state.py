"""The lesson that a session is in: which scene, where it leads, and the lesson of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from attnviz.lessons import OWN, Lesson, Scene, shipped
from attnviz.ui import state
from attnviz.ui.link import KEYS, read_link, write_link

SCRIPTS = {page: f"app_pages/{page}.py" for page in ("step_by_step", "heads", "averages", "tokens", "compare")}
"""The pages of scenes, as Streamlit's navigation knows them."""
_OWN = "lesson_own"


@dataclass(frozen=True, slots=True)
class Here:
    """An open lesson and the scene that it is at."""

    lesson: Lesson
    number: int
    """From 1"""

    @property
    def scene(self) -> Scene:
        """The scene."""
        return self.lesson.scenes[self.number - 1]

    def at(self, number: int) -> Here | None:
        """Return the same lesson at another scene; None where it has none of this number."""
        return replace(self, number=number) if 1 <= number <= len(self.lesson.scenes) else None


def find(name: str) -> Lesson | None:
    """Return a shipped lesson, or this session's own; None where there is none of this name, or it has no scene."""
    lesson = own() if name == OWN else shipped().get(name)
    return lesson if lesson and lesson.scenes else None


def own() -> Lesson | None:
    """Return the lesson that the visitor has brought or is building."""
    lesson: Lesson | None = st.session_state.get(_OWN)
    return lesson


def keep(lesson: Lesson | None) -> None:
    """Keep a lesson as the visitor's own, for as long as the session lasts."""
    st.session_state[_OWN] = lesson


def here() -> Here | None:
    """Return where the view is in a lesson; a link to one that is not there is let go, and said."""
    name = state.get("lesson")
    if not name:
        return None
    lesson = find(name)
    if lesson is None:
        gone = "The link is to a lesson of one's own: open its file on the page Lessons, then the link leads into it."
        state.note(
            gone if name == OWN else f"There is no lesson “{name}”. Those that there are stand on the page Lessons."
        )
        leave()
        return None
    count = len(lesson.scenes)
    if state.get("scene") > count:
        state.note(f"Scene {state.get('scene')} is not there: this lesson has {count}.")
        state.put("scene", count)
    return Here(lesson, max(state.get("scene"), 1))


def leave() -> None:
    """Close the lesson; the view stays as it is."""
    state.put("lesson", "")
    state.put("scene", 1)


def link_to(there: Here) -> dict[str, str]:
    """Return the link of a scene, without its page: its whole view, the lesson, and lecture mode as it is now."""
    values = there.scene.values()
    view, _ = read_link(values)
    view |= {"lesson": there.lesson.name, "scene": there.number, "lecture": state.get("lecture")}
    return write_link(view, [name for name in KEYS if name in values or name in ("lesson", "scene", "lecture")])

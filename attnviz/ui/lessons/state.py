"""The lesson that a session is in: which scene, where it leads, and the lesson of one's own.

One's own lesson is lost with the session, and loading the page again starts another. So the browser's tab keeps it too,
as the text of its file, and gives it to a session that has not heard of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from attnviz.lessons import OWN, Lesson, LessonError, Scene, read_lesson, shipped, write_lesson
from attnviz.links.link import KEYS, read_link, write_link
from attnviz.ui import state

_OWN = "lesson_own"
"""One's own lesson; None when it has been let go, and missing until there was one or the browser had none."""
_WRITTEN = "lesson_written"
"""The same as text"""


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
    """Keep a lesson as the visitor's own, for as long as the session and the browser's tab last; None lets it go."""
    try:
        written = write_lesson(lesson) if lesson and lesson.scenes else ""
    except LessonError:  # too large to be read again
        written = ""
    st.session_state[_OWN], st.session_state[_WRITTEN] = lesson, written


def for_browser() -> dict[str, str | None]:
    """Return what the keyboard component is told of one's own lesson, see `attnviz.components.lecture.keyboard`."""
    if _OWN in st.session_state:
        return {"lesson": st.session_state[_WRITTEN]}
    return {"lesson": None} if state.get("lesson") == OWN else {}


def take_back(text: str) -> None:
    """Keep the lesson that the browser has kept, from a callback; what is none is let go, and so is an empty text."""
    if _OWN in st.session_state:
        return
    try:
        # Half a surrogate pair is let through here, for the reader to refuse.
        keep(read_lesson(text.encode("utf-8", "surrogatepass"), OWN))
    except LessonError:
        keep(None)
    if state.get("lesson") == OWN:
        state.arrive_again()


def here() -> Here | None:
    """Return where the view is in a lesson; a link to one that is not there is let go, and said.

    A link to one's own waits until the browser has said whether it has kept that.
    """
    name = state.get("lesson")
    if not name:
        return None
    lesson = find(name)
    if lesson is None:
        if name == OWN and _OWN not in st.session_state:
            return None
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

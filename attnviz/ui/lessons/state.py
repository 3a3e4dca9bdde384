"""The open lesson of a session, its scene, and the visitor's own lesson, whose changes can be undone.

The visitor's own lesson is lost when the session ends, and reloading the page starts a new session. So the browser tab
also stores the lesson, as YAML, and sends it to a new session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from attnviz.lessons import MAX_SCENES, OWN, Lesson, LessonError, Scene, check_scene, read_lesson, shipped, write_lesson
from attnviz.links.link import KEYS, read_link
from attnviz.links.pages import PAGES
from attnviz.ui import state
from attnviz.ui.state import record

if TYPE_CHECKING:
    from attnviz.ready import Check

_NEW = Lesson(OWN, "My lesson", "", ())
_MOST_CHANGES = 20
"""The most changes that can be undone"""


@dataclass(slots=True)
class LessonRecord:
    """The session state of lessons."""

    is_known: bool = False
    """Whether it is known if the visitor has a lesson: one was made or opened, or the browser has reported"""
    own: Lesson | None = None
    """The visitor's own lesson"""
    written: str = ""
    """The visitor's own lesson as YAML"""
    before: list[tuple[str, Lesson | None]] = field(default_factory=list)
    """The changes that can be undone: a description, and the lesson before the change; newest last"""
    refused: str = ""
    """Why the last change was refused"""
    in_fields: Lesson | None = None
    """The lesson whose title and summary are in the fields of the page"""
    target: CurrentScene | None = None
    """The scene that a callback has requested: callbacks can't switch pages themselves"""
    checks: tuple[Check, ...] = ()
    """The results of the checks before class"""


@dataclass(frozen=True, slots=True)
class CurrentScene:
    """A lesson and one of its scenes."""

    lesson: Lesson
    number: int
    """The number of the scene, from 1"""

    @property
    def scene(self) -> Scene:
        """The scene."""
        return self.lesson.scenes[self.number - 1]

    def at(self, number: int) -> CurrentScene | None:
        """Return another scene of the lesson, or None if the number does not exist."""
        return replace(self, number=number) if 1 <= number <= len(self.lesson.scenes) else None


def find(name: str) -> Lesson | None:
    """Return a shipped lesson, or the visitor's own, by name; None if it does not exist or has no scenes."""
    lesson = own() if name == OWN else shipped().get(name)
    return lesson if lesson and lesson.scenes else None


def own() -> Lesson | None:
    """Return the visitor's own lesson."""
    return record(LessonRecord).own


def keep(lesson: Lesson | None) -> None:
    """Store a lesson as the visitor's own, in the session and the browser tab; None drops it."""
    kept = record(LessonRecord)
    try:
        kept.written = write_lesson(lesson) if lesson and lesson.scenes else ""
    except LessonError:  # too large for a file
        kept.written = ""
    kept.own, kept.is_known = lesson, True


def for_browser() -> dict[str, str | None]:
    """Return the visitor's lesson for the keyboard component (see `attnviz.components.lecture.keyboard`)."""
    kept = record(LessonRecord)
    if kept.is_known:
        return {"lesson": kept.written}
    return {"lesson": None} if state.get("lesson") == OWN else {}


def take_back(text: str) -> None:
    """Restore the lesson that the browser has stored, from a callback; drop it if it is empty or invalid."""
    if record(LessonRecord).is_known:
        return
    try:
        # Encode lone surrogates as well; the reader refuses them.
        keep(read_lesson(text.encode("utf-8", "surrogatepass"), OWN))
    except LessonError:
        keep(None)
    if state.get("lesson") == OWN:
        state.reopen_link()


def here() -> CurrentScene | None:
    """Return the open lesson and scene, or None. A link to an unknown lesson is reset, with a note.

    A link to the visitor's own lesson waits until the browser has reported whether it has stored one.
    """
    name = state.get("lesson")
    if not name:
        return None
    lesson = find(name)
    if lesson is None:
        if name == OWN and not record(LessonRecord).is_known:
            return None
        own_missing = "This link leads to somebody's own lesson. Open its file on the page Start; then the link works."
        state.note(own_missing if name == OWN else f"There is no lesson “{name}”. The page Start lists all lessons.")
        leave()
        return None
    count = len(lesson.scenes)
    if state.get("scene") > count:
        state.note(f"Scene {state.get('scene')} does not exist: this lesson has {count}.")
        state.put("scene", count)
    return CurrentScene(lesson, max(state.get("scene"), 1))


def asks() -> bool:
    """Whether the open scene has a question whose answer is still covered."""
    lesson = find(state.get("lesson")) if state.get("lesson") else None
    if lesson is None or not (state.get("predict") or not state.get("answer")):
        return False
    return bool(lesson.scenes[min(max(state.get("scene"), 1), len(lesson.scenes)) - 1].question)


def reveal() -> None:
    """Reveal the answer to the open scene's question."""
    for name in ("predict", "answer"):
        state.put(name, KEYS[name].default)


def leave() -> None:
    """Close the lesson; the view stays as it is."""
    state.put("lesson", "")
    state.put("scene", 1)


def link_to(there: CurrentScene, *, lecture: bool = False) -> dict[str, str]:
    """Return the query of a scene's link: its view, the lesson, and lecture mode if that is on or `lecture` is True."""
    page = PAGES[there.scene.page]
    values = page.opened(there.scene.values())
    view, _ = read_link(values)
    view |= {"lesson": there.lesson.name, "scene": there.number, "lecture": lecture or state.get("lecture")}
    return page.write(view, [name for name in KEYS if name in values or name in ("lesson", "scene", "lecture")])


def own_or_new() -> Lesson:
    """Return the visitor's own lesson, or a new one without scenes."""
    return own() or _NEW


def change(lesson: Lesson | None, done: str) -> None:
    """Keep a changed lesson; None drops it. `done` completes "Undo: "."""
    kept = record(LessonRecord)
    kept.before = [*kept.before, (done, kept.own)][-_MOST_CHANGES:]
    keep(lesson)


def change_scenes(scenes: Sequence[Scene], done: str) -> None:
    """Keep the lesson with these scenes.

    Raises:
        LessonError: a scene is invalid, there are too many, or the file would be too large to read.
    """
    for scene in scenes:
        check_scene(scene)
    if len(scenes) > MAX_SCENES:
        raise LessonError(f"The lesson has {MAX_SCENES} scenes, the maximum.")
    lesson = replace(own_or_new(), scenes=tuple(scenes))
    write_lesson(lesson)
    change(lesson, done)


def last_change() -> str:
    """Return the description of the last change; "" if there is nothing to undo."""
    before = record(LessonRecord).before
    return before[-1][0] if before else ""


def undo_change() -> None:
    """Undo the last change, from a callback."""
    before = record(LessonRecord).before
    if before:
        _, lesson = before.pop()
        keep(lesson)


def refuse_change(why: LessonError) -> None:
    """Note, from a callback, why a change was refused."""
    record(LessonRecord).refused = str(why)


def refused_change() -> str:
    """Return why the last change was refused, once; "" if it was not."""
    kept = record(LessonRecord)
    why, kept.refused = kept.refused, ""
    return why

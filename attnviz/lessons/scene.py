"""What a lesson is made of: frozen values, and the checks that a scene must pass wherever it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from attnviz.links.link import KEYS, read_link
from attnviz.links.pages import PAGES

OWN = "own"
"""The name, in links, of the lesson that a visitor has brought or is building."""
MAX_BYTES = 100_000
"""The largest file that is read."""
MAX_SCENES = 100
LONGEST = {"title": 120, "sentence": 600, "question": 300, "summary": 600}
"""Characters of each kind of text."""

PATHS = {page.name: page.path for page in PAGES.values() if page.in_lessons}
"""The pages that a scene may be on, by the names that `shell.begin` knows them by, and where they are."""

OF_THE_ROOM = ("lecture", "lesson", "scene")
"""Keys that say how a view is shown, and not what: a scene has none of them, so a link may be copied from a lesson."""


class LessonError(ValueError):
    """A lesson that can't be read. The message is a plain sentence or two, with the scene's number where it has one."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One view of one page, with what is said about it."""

    title: str
    sentence: str
    page: str
    """One of `PATHS`"""
    query: str = ""
    """The link's query string, without the question mark"""
    question: str = ""
    """Asked before a covered row is revealed and the sentence read; only where the link has predict=1"""

    @property
    def link(self) -> str:
        """Path and query string, from the app's own root."""
        return f"{PATHS[self.page]}?{self.query}" if self.query else PATHS[self.page]

    def values(self) -> dict[str, str]:
        """Return the query as keys and values."""
        return dict(parse_qsl(self.query, keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Lesson:
    """Scenes in the order in which they are shown."""

    name: str
    """As it stands in links: a short word, or `OWN`"""
    title: str
    summary: str
    scenes: tuple[Scene, ...]


def query_of(values: Mapping[str, str]) -> str:
    """Write keys and values as a query string, without those that are of the room."""
    return urlencode({name: value for name, value in values.items() if name not in OF_THE_ROOM})


def check_scene(scene: Scene) -> None:
    """See that a scene can be shown: our own page, a link without nonsense, texts that are there and not too long.

    Raises:
        LessonError: it can't, and why, in one sentence without the scene's number.
    """
    check_text("title", scene.title)
    check_text("sentence", scene.sentence)
    if scene.page not in PATHS:
        raise LessonError(f"“{scene.page[:40]}” is none of the pages {', '.join(PATHS)}.")
    values = scene.values()
    unknown = [name for name in values if name not in KEYS]
    if unknown:
        raise LessonError(f"The link has a key “{unknown[0][:40]}” that there is not.")
    _, notes = read_link(values)
    if notes:
        raise LessonError(notes[0])
    if scene.question:
        check_text("question", scene.question)
        if scene.page != "step_by_step" or values.get("predict") != "1" or "q" not in values:
            raise LessonError("A question needs a link to step_by_step with predict=1 and the row q that is covered.")


def check_text(kind: str, text: str) -> None:
    """See that a text is there and not too long.

    Raises:
        LessonError: it is not.
    """
    if not text.strip():
        raise LessonError(f"The {kind} is missing or empty.")
    if len(text) > LONGEST[kind]:
        raise LessonError(f"The {kind} has {len(text):,} characters; {LONGEST[kind]} are the most.")

"""`Lesson` and `Scene` as frozen values, and the checks that every scene must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from attnviz.annotated_text import AnnotatedText, MarkError
from attnviz.lessons.targets import marked_text
from attnviz.links.link import KEYS, SHARED_KEYS, read_link
from attnviz.links.pages import PAGES
from attnviz.steps import PARTS, STEPS

OWN = "own"
"""The name, in links, of the lesson that a visitor has uploaded or is building."""
MAX_BYTES = 100_000
"""The largest lesson file."""
MAX_SCENES = 100
MAX_CHARACTERS = {"title": 120, "sentence": 600, "question": 300, "summary": 600}
"""The maximum length of each text, as it is shown."""
MARKS = 4
"""With its marks, a text may be this many times as long as the maximum."""

PATHS = {page.name: page.path for page in PAGES.values() if page.in_lessons}
"""Page name -> path, for the pages that a scene may show."""

WALKED: Mapping[str, Mapping[str, Any]] = {"step_by_step": STEPS, "transformer": PARTS}
"""Page name -> its steps by name, for the pages whose scenes may go through steps and ask for a covered row"""

COVERED = (*WALKED, "train")
"""The pages with a row to guess"""
FEW = 10
"""A message lists up to this many steps"""


class LessonError(ValueError):
    """A lesson is invalid. The message is a sentence or two for the user, with the scene's number if it applies."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One view of one page, with its title and text."""

    title: str
    sentence: str
    """As its author writes it, with marks: see `attnviz.annotated_text.annotated`; `said` is what is shown"""
    page: str
    """One of `PATHS`"""
    query: str = ""
    """The link's query string, without the question mark"""
    question: str = ""
    """Shown in place of the sentence until what the link covers is revealed; see `covers`. It may have marks; `asked`
    is what is shown"""
    steps: tuple[str, ...] = ()
    """Steps of a page in `WALKED` that come after the link's own step and before the next scene"""

    @property
    def said(self) -> AnnotatedText:
        """The sentence, with the parts of the picture that its words name."""
        return self._read(self.sentence)

    @property
    def asked(self) -> AnnotatedText:
        """The question, with the parts of the picture that its words name."""
        return self._read(self.question)

    def _read(self, text: str) -> AnnotatedText:
        try:
            return marked_text(self.page, self.query, text)
        except MarkError:  # in a scene that `check_scene` refuses
            return AnnotatedText(text)

    @property
    def link(self) -> str:
        """Path and query string, relative to the app's root."""
        return f"{PATHS[self.page]}?{self.query}" if self.query else PATHS[self.page]

    def values(self) -> dict[str, str]:
        """Return the query as a dictionary."""
        return dict(parse_qsl(self.query, keep_blank_values=True))

    @property
    def walk(self) -> tuple[str, ...]:
        """The link's step and those that follow it; empty if no step follows."""
        return (first_step(self.page, self.values()), *self.steps) if self.steps else ()

    def step_beside(self, step: str, by: int) -> str | None:
        """Return the step `by` places after this one in the scene; None if there is none, or no such step."""
        at = self.walk.index(step) + by if step in self.walk else -1
        return self.walk[at] if 0 <= at < len(self.walk) else None


@dataclass(frozen=True, slots=True)
class Lesson:
    """An ordered list of scenes."""

    name: str
    """Its name in links: a short word, or `OWN`"""
    title: str
    summary: str
    """What it is about; may be empty"""
    scenes: tuple[Scene, ...]


def query_of(values: Mapping[str, str]) -> str:
    """Return a query string of these keys and values, without `SHARED_KEYS`: links can be copied from a lesson."""
    return urlencode({name: value for name, value in values.items() if name not in SHARED_KEYS})


def first_step(page: str, values: Mapping[str, str]) -> str:
    """Return the step that a link to a page in `WALKED` opens."""
    key = PAGES[page].step_key
    step: str = PAGES[page].opened(values).get(key, KEYS[key].default)
    return step


def covers(page: str, values: Mapping[str, str]) -> bool:
    """Whether a link covers what a question can ask for: a row, or the right way beside a mistake."""
    if "check" in values or "recompute" in values:  # in a lecture they replace the walk
        return page == "transformer" and values.get("check") == "mistake" and values.get("answer") == "0"
    return page in COVERED and values.get("predict") == "1" and "q" in values


def check_scene(scene: Scene) -> None:
    """Check a scene: a page of this app, a valid link, and texts that are neither empty nor too long.

    Raises:
        LessonError: the scene is invalid. The message is one sentence without the scene's number.
    """
    check_text("title", scene.title)
    if scene.page not in PATHS:
        raise LessonError(f"“{scene.page[:40]}” is not one of the pages {', '.join(PATHS)}.")
    values = scene.values()
    unknown = [name for name in values if name not in KEYS]
    if unknown:
        raise LessonError(f"The link has an unknown key “{unknown[0][:40]}”.")
    _, notes = read_link(values)
    if notes:
        raise LessonError(notes[0])
    for kind, text in (("sentence", scene.sentence), ("question", scene.question)):
        if text or kind == "sentence":
            _check_marked(kind, text, scene)
    if scene.question and not covers(scene.page, values):
        raise LessonError(
            f"A question needs a link to {' or '.join(COVERED)} with predict=1 and q, the row to cover, or one to "
            "transformer with check=mistake and answer=0."
        )
    _check_steps(scene)


def _check_marked(kind: str, text: str, scene: Scene) -> None:
    most = MARKS * MAX_CHARACTERS[kind]
    if len(text) > most:
        raise LessonError(f"The {kind} has {len(text):,} characters with its marks; at most {most:,} are allowed.")
    try:
        check_text(kind, marked_text(scene.page, scene.query, text))
    except MarkError as why:
        raise LessonError(f"The {kind} has a mark that names nothing. {why}") from None


def _check_steps(scene: Scene) -> None:
    if scene.steps and scene.page not in WALKED:
        raise LessonError(f"Only a scene of {' or '.join(WALKED)} has steps.")
    known = WALKED.get(scene.page, ())
    unknown = [step for step in scene.steps if step not in known]
    if unknown:
        which = f"one of the steps {', '.join(known)}" if len(known) <= FEW else "the name of a step"
        raise LessonError(f"“{unknown[0][:40]}” is not {which}.")
    if len(set(scene.walk)) < len(scene.walk):
        raise LessonError("The steps name one twice, or the one that the link opens.")


def check_text(kind: str, text: str) -> None:
    """Check that a text is neither empty nor too long. `kind` is a key of `MAX_CHARACTERS`.

    Raises:
        LessonError: it is empty or too long.
    """
    if not text.strip():
        raise LessonError(f"The {kind} is missing or empty.")
    if len(text) > MAX_CHARACTERS[kind]:
        raise LessonError(f"The {kind} has {len(text):,} characters; at most {MAX_CHARACTERS[kind]} are allowed.")

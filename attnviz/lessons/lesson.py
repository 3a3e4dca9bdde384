"""Lessons and their scenes as frozen values, the checks that every scene must pass, and lessons as YAML.

YAML is read from untrusted text, strictly and within limits, and written so that it reads back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

from attnviz.annotated_text import AnnotatedText, MarkError
from attnviz.lessons.targets import marked_text
from attnviz.links.link import KEYS, SHARED_KEYS, read_link
from attnviz.links.pages import PAGES
from attnviz.steps import PARTS, WALK

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

WALKED: Mapping[str, Mapping[str, Any]] = {"step_by_step": WALK, "transformer": PARTS}
"""Page name -> its steps by name, for the pages whose scenes may go through steps and ask for a covered row"""

COVERED = (*WALKED, "train")
"""The pages with a row to guess"""
FEW = 16
"""A message lists up to this many steps"""
# BaseLoader creates only strings, lists and mappings: no tag builds an object, and `scale: off` stays a string, where
# safe_load would return False.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MAX_DEPTH = 5
"""A lesson has four levels: the lesson, its scenes, a scene, its query."""


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


def read_lesson(data: bytes, name: str) -> Lesson:
    """Read a lesson from the bytes of a YAML file.

    The file is a mapping of `title`, `scenes` and optionally `summary`. A scene has `title`, `sentence`, either `link`
    ("/heads?layer=3&head=1") or `page` ("heads") with `query` (a mapping), and optionally `question` and `steps` (a
    list of names).

    Raises:
        LessonError: the file is not a valid lesson. The message gives the reason, and the scene's number if it applies.
    """
    content = _mapping(read_yaml(data), "The file", ("title", "summary", "scenes"))
    title, summary = _string(content, "title"), _string(content, "summary")
    check_text("title", title)
    summary = summary if summary.strip() else ""
    if summary:
        check_text("summary", summary)
    raw = content.get("scenes")
    if not isinstance(raw, list) or not raw:
        raise LessonError("The lesson has no list of scenes.")
    if len(raw) > MAX_SCENES:
        raise LessonError(f"The lesson has {len(raw)} scenes; at most {MAX_SCENES} are allowed.")
    return Lesson(name, title, summary, tuple(_numbered(raw)))


def read_yaml(data: bytes) -> Any:
    """Read YAML into strings, lists and mappings.

    Raises:
        LessonError: the file is too large, not UTF-8, not YAML, nested too deeply, or uses aliases.
    """
    if len(data) > MAX_BYTES:
        raise LessonError(f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are allowed.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LessonError("The file is not text in UTF-8.") from None
    try:
        _check_structure(text)
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 — creates strings, lists and mappings only, see above
    except LessonError:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", near line {mark.line + 1}" if mark else ""
        raise LessonError(f"The file is not YAML{where}.") from None
    except (RecursionError, TypeError, ValueError):  # a key that is a list, among others
        raise LessonError("The file is not a lesson: it has keys or nesting that no lesson has.") from None


def _check_structure(text: str) -> None:
    """Refuse aliases, with which a small file can expand without limit, and deep nesting, before building anything."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.ScalarEvent):
            event.value.encode("utf-8")  # raises for a lone surrogate, which YAML can write
        if isinstance(event, yaml.AliasEvent):
            raise LessonError("The file uses YAML aliases (*name), which are not supported: write the text out.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise LessonError("The file is nested deeper than a lesson.")


def _numbered(raw: list[Any]) -> Iterator[Scene]:
    for number, fields in enumerate(raw, 1):
        try:
            scene = _scene(fields)
            check_scene(scene)
        except LessonError as error:
            raise LessonError(f"Scene {number}: {error}") from None
        yield scene


def _scene(raw: Any) -> Scene:
    fields = _mapping(raw, "A scene", ("title", "sentence", "link", "page", "query", "question", "steps"))
    values, steps = fields.get("query") or {}, fields.get("steps") or []
    if "link" in fields:
        page, query = _by_link(_string(fields, "link"))
        if "page" in fields or "query" in fields:
            raise LessonError("It has both a link and a page or query: give one of them.")
    elif isinstance(values, dict) and all(isinstance(value, str) for value in values.values()):
        page, query = _string(fields, "page"), query_of(values)
    else:
        raise LessonError("The query is not a mapping of keys to words and numbers.")
    title, sentence, question = (_string(fields, key) for key in ("title", "sentence", "question"))
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise LessonError("The steps are not a list of names.")
    return Scene(title, sentence, page, query, question, tuple(steps))


def _by_link(link: str) -> tuple[str, str]:
    """Return the page and query of a link. The server in it is ignored: the scene opens in this app."""
    try:
        parts = urlsplit(link.strip())
        pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise LessonError("The link can't be read.") from None
    path = "/" + parts.path.rstrip("/").rpartition("/")[2] if parts.scheme else parts.path
    page = next((name for name, page_path in PATHS.items() if page_path == path), None)
    if page is None or parts.scheme not in ("", "http", "https") or (not parts.scheme and parts.netloc):
        raise LessonError(f"“{link[:60]}” does not lead to one of the pages {', '.join(PATHS.values())}.")
    if len(dict(pairs)) < len(pairs):
        raise LessonError("The link has the same key twice.")
    return page, query_of(dict(pairs))


def _mapping(raw: Any, what: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise LessonError(f"{what} is not a mapping with {', '.join(known)}.")
    unknown = [key for key in raw if key not in known]
    if unknown:
        raise LessonError(f"“{str(unknown[0])[:40]}” is not one of {', '.join(known)}.")
    return raw


def _string(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise LessonError(f"The {key} is not text.")
    return value


class _Dumper(yaml.SafeDumper):  # type: ignore[misc] # yaml has no types
    """Escapes line ends other than \\n, which YAML would read as spaces."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        style = '"' if re.search("[\r\x85\u2028\u2029]", text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _Dumper.represent_text)


def write_lesson(lesson: Lesson) -> str:
    """Return a lesson as YAML, without its name.

    Raises:
        LessonError: the file would exceed `MAX_BYTES`.
    """
    about = {"title": lesson.title, **({"summary": lesson.summary} if lesson.summary else {})}
    content = {**about, "scenes": [_fields(scene) for scene in lesson.scenes]}
    text: str = yaml.dump(content, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)
    size = len(text.encode("utf-8"))
    if size > MAX_BYTES:
        raise LessonError(f"The lesson would be a file of {size:,} bytes; at most {MAX_BYTES:,} are allowed.")
    return text


def _fields(scene: Scene) -> dict[str, Any]:
    fields = {"title": scene.title, "sentence": scene.sentence, "question": scene.question, "page": scene.page}
    return {
        **{name: value for name, value in fields.items() if value},
        **({"query": scene.values()} if scene.query else {}),
        **({"steps": list(scene.steps)} if scene.steps else {}),
    }

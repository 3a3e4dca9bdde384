"""Lessons as YAML: read from untrusted text, strictly and within limits; written so that they read back unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from attnviz.lessons.scene import (
    MAX_BYTES,
    MAX_SCENES,
    PATHS,
    Lesson,
    LessonError,
    Scene,
    check_scene,
    check_text,
    query_of,
)

# BaseLoader creates only strings, lists and mappings: no tag builds an object, and `scale: off` stays a string, where
# safe_load would return False.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MAX_DEPTH = 5
"""A lesson has four levels: the lesson, its scenes, a scene, its query."""


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

"""Reading a lesson from YAML that anybody may have written: strict, and safe against what YAML can be made to do."""

from __future__ import annotations

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

# BaseLoader makes nothing but strings, lists and mappings: no tag builds an object, and `scale: off` stays the word
# that it is, where safe_load would make False of it. With libyaml it reads 100 kB in a moment.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DEEPEST = 5
"""A lesson's own depth: the lesson, its scenes, a scene, its query."""


def read_lesson(data: bytes, name: str) -> Lesson:
    """Read a lesson from a YAML file's bytes.

    The file is a mapping of `title`, `summary` and `scenes`. A scene has `title`, `sentence` and either `link`
    ("/heads?layer=3&head=1") or `page` ("heads") with `query` (a mapping), and maybe `question`.

    Raises:
        LessonError: no lesson, and why, in plain words, with the scene's number where it is a scene's fault.
    """
    whole = _mapping(read_yaml(data), "The file", ("title", "summary", "scenes"))
    title, summary = (_string(whole, key) for key in ("title", "summary"))
    check_text("title", title)
    check_text("summary", summary)
    raw = whole.get("scenes")
    if not isinstance(raw, list) or not raw:
        raise LessonError("The lesson has no list of scenes.")
    if len(raw) > MAX_SCENES:
        raise LessonError(f"The lesson has {len(raw)} scenes; {MAX_SCENES} are the most.")
    return Lesson(name, title, summary, tuple(_numbered(raw)))


def read_yaml(data: bytes) -> Any:
    """Read YAML into strings, lists and mappings.

    Raises:
        LessonError: too large, no UTF-8, no YAML, aliases, nesting that no lesson has.
    """
    if len(data) > MAX_BYTES:
        raise LessonError(f"The file has {len(data):,} bytes; {MAX_BYTES:,} are the most.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LessonError("The file is not text in UTF-8.") from None
    try:
        _refuse_tricks(text)
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 — makes strings, lists and mappings only, see above
    except LessonError:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", near line {mark.line + 1}" if mark else ""
        raise LessonError(f"The file is no YAML{where}.") from None
    except (RecursionError, TypeError, ValueError):  # a key that is a list, among others
        raise LessonError("The file is no lesson: it has keys or nesting that no lesson has.") from None


def _refuse_tricks(text: str) -> None:
    """Refuse aliases, by which a small file grows without end, and deep nesting, before anything is built of them."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.ScalarEvent):
            event.value.encode("utf-8")  # YAML can write half a surrogate pair, and that is no character
        if isinstance(event, yaml.AliasEvent):
            raise LessonError("The file uses YAML aliases (*name), which are not read: write the text out.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise LessonError("The file is nested deeper than a lesson is.")


def _numbered(raw: list[Any]) -> Iterator[Scene]:
    for number, one in enumerate(raw, 1):
        try:
            scene = _scene(one)
            check_scene(scene)
        except LessonError as why:
            raise LessonError(f"Scene {number}: {why}") from None
        yield scene


def _scene(raw: Any) -> Scene:
    fields = _mapping(raw, "A scene", ("title", "sentence", "link", "page", "query", "question"))
    page, query = _by_link(_string(fields, "link")) if "link" in fields else _by_page(fields)
    if "link" in fields and ("page" in fields or "query" in fields):
        raise LessonError("It has both a link and a page with its query: one is enough.")
    return Scene(_string(fields, "title"), _string(fields, "sentence"), page, query, _string(fields, "question"))


def _by_page(fields: dict[str, Any]) -> tuple[str, str]:
    query = fields.get("query") or {}
    if not isinstance(query, dict) or not all(isinstance(value, str) for value in query.values()):
        raise LessonError("The query is no mapping of keys to words and numbers.")
    return _string(fields, "page"), query_of(query)


def _by_link(link: str) -> tuple[str, str]:
    """Split a link. Whatever server it was copied from, the scene opens here: only path and query are taken."""
    try:
        parts = urlsplit(link.strip())
        pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise LessonError("The link can't be read.") from None
    path = "/" + parts.path.rstrip("/").rpartition("/")[2] if parts.scheme in ("http", "https") else parts.path
    page = next((name for name, own in PATHS.items() if own == path), None)
    if page is None or (not parts.scheme and parts.netloc):
        raise LessonError(f"“{link[:60]}” leads to none of the pages {', '.join(PATHS.values())}.")
    if len(dict(pairs)) < len(pairs):
        raise LessonError("The link has the same key twice.")
    return page, query_of(dict(pairs))


def _mapping(raw: Any, what: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise LessonError(f"{what} is no mapping with {', '.join(known)}.")
    unknown = [key for key in raw if key not in known]
    if unknown:
        raise LessonError(f"“{str(unknown[0])[:40]}” is none of {', '.join(known)}.")
    return raw


def _string(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise LessonError(f"The {key} is no text.")
    return value

"""Writes a lesson as YAML that `read_lesson` reads back unchanged."""

from __future__ import annotations

import re
from typing import Any

import yaml

from attnviz.lessons.scene import MAX_BYTES, Lesson, LessonError, Scene


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
    whole = {**about, "scenes": [_fields(scene) for scene in lesson.scenes]}
    text: str = yaml.dump(whole, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)
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

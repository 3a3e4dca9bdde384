"""Writing a lesson as YAML that reads back the same."""

from __future__ import annotations

from typing import Any

import yaml

from attnviz.lessons.scene import MAX_BYTES, Lesson, LessonError, Scene


def write_lesson(lesson: Lesson) -> str:
    """Write a lesson as YAML. Its name is not written: a file is called what its owner calls it.

    Raises:
        LessonError: it would be larger than what is read again.
    """
    whole = {"title": lesson.title, "summary": lesson.summary, "scenes": [_fields(scene) for scene in lesson.scenes]}
    text: str = yaml.safe_dump(whole, allow_unicode=True, sort_keys=False, width=110)
    size = len(text.encode("utf-8"))
    if size > MAX_BYTES:
        raise LessonError(f"The lesson would be a file of {size:,} bytes; {MAX_BYTES:,} are the most.")
    return text


def _fields(scene: Scene) -> dict[str, Any]:
    fields = {"title": scene.title, "sentence": scene.sentence, "question": scene.question, "page": scene.page}
    return {
        **{name: value for name, value in fields.items() if value},
        **({"query": scene.values()} if scene.query else {}),
    }

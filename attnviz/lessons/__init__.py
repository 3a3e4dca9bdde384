"""Lessons: ordered scenes, each a link with a title and a sentence, stored as YAML. Independent of Streamlit.

lesson = read_lesson(Path("my.yaml").read_bytes(), OWN)
Path("again.yaml").write_text(write_lesson(lesson), encoding="utf-8")
"""

from attnviz.lessons.lesson import (
    MAX_BYTES,
    MAX_SCENES,
    OWN,
    PATHS,
    Lesson,
    LessonError,
    Scene,
    check_scene,
    read_lesson,
    write_lesson,
)
from attnviz.lessons.shipped import Example, TextExample, gallery, gallery_lesson, shipped, text_examples

__all__ = [
    "MAX_BYTES",
    "MAX_SCENES",
    "OWN",
    "PATHS",
    "Example",
    "Lesson",
    "LessonError",
    "Scene",
    "TextExample",
    "check_scene",
    "gallery",
    "gallery_lesson",
    "read_lesson",
    "shipped",
    "text_examples",
    "write_lesson",
]

"""The marks in a document's texts as JSON, and what they must be. `frontend/core/mark_checks.js` checks the same."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from attnviz.document.checks import is_whole, refuse
from attnviz.marked import Mark, Marked, MarkError, Target, marks_of
from attnviz.steps.picture import AXES

if TYPE_CHECKING:
    from attnviz.document.value import Header

SAID = ("notice", "fact", "advice")
"""The texts of a step that may have marks"""
MAX_MARKS = 64
"""In one text"""

_WHOLE = ("row", "column", "layer", "head")
_NAMES = tuple(field.name for field in fields(Target))
_FIELDS = {"from", "to", *_NAMES}
_target = attrgetter(*_NAMES)


def to_json(text: str) -> str | dict[str, Any]:
    """Return a text as JSON: a string, or with its marks an object with `text` and `marks`."""
    marks = marks_of(text)
    if not marks:
        return text
    listed = [{"from": one.start, "to": one.end, **dict(zip(_NAMES, _target(one.target), strict=True))}
              for one in marks]  # fmt: skip
    return {"text": str(text), "marks": listed}


def from_json(value: Any) -> Marked:
    """Return the text of JSON of which `is_said` is true.

    Raises:
        DocumentError: a mark names nothing.
    """
    if isinstance(value, str):
        return Marked(value)
    try:
        marks = [Mark(one["from"], one["to"], Target(**{name: one[name] for name in _NAMES}))
                 for one in value["marks"]]  # fmt: skip
    except MarkError:
        refuse("A mark in the document's texts names nothing.")
    return Marked(value["text"], marks)


def is_said(value: Any) -> bool:
    """Whether JSON is a text, plain or marked."""
    if isinstance(value, str):
        return True
    return (
        isinstance(value, dict)
        and value.keys() == {"text", "marks"}
        and isinstance(value["text"], str)
        and isinstance(value["marks"], list)
        and all(map(_is_mark, value["marks"]))
    )


def are_said(value: Any) -> bool:
    """Whether JSON is such a text, or a list of such."""
    return all(map(is_said, value)) if isinstance(value, list) else is_said(value)


def _is_mark(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == _FIELDS
        and all(is_whole(value[name]) for name in ("from", "to"))
        and all(value[name] is None or is_whole(value[name]) for name in _WHOLE)
        and all(isinstance(value[name], str) for name in ("matrix", "part"))
    )


def check_marks(header: Header) -> None:
    """Check that the marks of all texts are in them, and name parts that a picture of this document may have.

    Raises:
        DocumentError: a mark does not.
    """
    for index, step in enumerate(header.steps):
        for name in SAID:
            texts = getattr(step, name)
            for text in (texts,) if isinstance(texts, str) else texts:
                _check(f"header.steps[{index}].{name}", text, header)


def _check(path: str, text: str, header: Header) -> None:
    marks = marks_of(text)
    if len(marks) > MAX_MARKS:
        refuse(f"{path} has {len(marks):,} marks; a text has at most {MAX_MARKS}.")
    at = 0
    for mark in marks:
        if not at <= mark.start < mark.end <= len(text):
            refuse(f"{path} has marks that are not in its text, in order.")
        at = mark.end
        if not _is_there(mark.target, header):
            refuse(f"{path} has a mark that names what the document does not have.")


def _is_there(target: Target, header: Header) -> bool:
    return (
        (target.row is None or 0 <= target.row < len(header.query.labels))
        and (target.column is None or 0 <= target.column < len(header.key.labels))
        and (target.matrix == "" or target.matrix in AXES)
        and (target.layer is None or target.layer == header.layer)
        and (target.head is None or target.head in header.heads)
    )

"""The header of a document as JSON, and back. `frontend/core/document.js` reads the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

import orjson

from attnviz.annotated_text import AnnotatedText, Mark, Target, marks_of
from attnviz.document.checks import refuse
from attnviz.document.value import VERSION, Axis, Header, OfHeads, Reference, StepText
from attnviz.steps.picture import MadeFrom, MatrixProduct, Operation, PanelSpec, Picture

SAID = ("notice", "fact", "advice")
"""The texts of a step that may have marks"""

_NAMES = tuple(field.name for field in fields(Target))
_target = attrgetter(*_NAMES)


def write_header(header: Header) -> str:
    """Write a header as JSON."""
    written = _fields(header)
    if header.key == header.query:
        written["key"] = None
    written["steps"] = [_with_marks(step) for step in header.steps]
    try:
        return orjson.dumps(written, option=orjson.OPT_NON_STR_KEYS).decode()  # ticks are by column
    except orjson.JSONEncodeError:  # a text with lone surrogates, which only `json` writes
        return json.dumps(written, default=_fields, separators=(",", ":"))


def _fields(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields by name. `dataclasses.asdict` would copy what is in them."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _with_marks(step: StepText) -> dict[str, Any]:
    return {**_fields(step), **{name: said_to_json(getattr(step, name)) for name in SAID}}


def said_to_json(texts: OfHeads) -> Any:
    """Return a text as JSON, or a list of those of each head: a string, or with its marks an object."""
    return _text_to_json(texts) if isinstance(texts, str) else list(map(_text_to_json, texts))


def _text_to_json(text: str) -> str | dict[str, Any]:
    marks = marks_of(text)
    if not marks:
        return text
    listed = [
        {"from": mark.start, "to": mark.end, **dict(zip(_NAMES, _target(mark.target), strict=True))} for mark in marks
    ]
    return {"text": str(text), "marks": listed}


def read_header(text: str) -> Header:
    """Read a header from JSON as `write_header` writes it.

    Raises:
        DocumentError: it is another version, or not as `write_header` writes it.
    """
    try:
        given = json.loads(text)
    except ValueError:
        refuse("The document's header is not JSON.")
    except RecursionError:  # so deep that it is no header
        given = None
    if not isinstance(given, dict) or given.get("version") != VERSION:
        refuse(f"The document's version is not {VERSION}, the only one that this reader knows.")
    try:
        return _header(given)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        refuse(f"The document's header is not as version {VERSION} says.")


def _header(given: dict[str, Any]) -> Header:
    given = {**given, "key": given["query"] if given["key"] is None else given["key"]}  # null: the queries' tokens
    read = {name: _frozen(value) for name, value in given.items()}
    read |= {name: Axis(**{key: _frozen(value) for key, value in given[name].items()}) for name in ("query", "key")}
    read["steps"] = tuple(_step(step) for step in given["steps"])
    read["references"] = {
        name: Reference(reference["digest"], reference["dtype"], tuple(reference["shape"]))
        for name, reference in given["references"].items()
    }
    return Header(**{**read, "scale": float(given["scale"])})


def _step(given: Mapping[str, Any]) -> StepText:
    picture = None if given["picture"] is None else _picture(given["picture"])
    said = {name: _said_in(given[name]) for name in SAID}
    return StepText(**{**{name: _frozen(value) for name, value in given.items()}, **said, "picture": picture})


def _said_in(given: Any) -> OfHeads:
    return tuple(map(_text_from_json, given)) if isinstance(given, list) else _text_from_json(given)


def _text_from_json(given: Any) -> AnnotatedText:
    if isinstance(given, str):
        return AnnotatedText(given)
    marks = [Mark(mark["from"], mark["to"], Target(**{name: mark[name] for name in _NAMES})) for mark in given["marks"]]
    return AnnotatedText(given["text"], marks)


def _picture(given: Mapping[str, Any]) -> Picture:
    products = {result: MatrixProduct(**product) for result, product in given["products"].items()}
    operations = {
        result: Operation(**{name: _frozen(value) for name, value in operation.items()})
        for result, operation in given["operations"].items()
    }
    places = {name: _frozen(given[name]) for name in ("grid", "widths", "heights")}
    panels = tuple(map(_panel, given["panels"]))
    return Picture(panels, **places, products=products, operations=operations, between=given["between"])


def _panel(given: Mapping[str, Any]) -> PanelSpec:
    read = {name: _frozen(value) for name, value in given.items()}
    read["made_from"] = None if given["made_from"] is None else MadeFrom(**given["made_from"])
    read["ticks"] = {int(column): text for column, text in given["ticks"].items()}
    return PanelSpec(**read)


def _frozen(value: Any) -> Any:
    """Return tuples in place of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

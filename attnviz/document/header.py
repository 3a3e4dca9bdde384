"""The header of a document as JSON, and back. `frontend/core/document.ts` reads the same format."""

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
from attnviz.steps.picture import MatrixProduct, MorphSource, Operation, PanelSpec, Picture

SAID = ("notice", "fact", "advice")
"""The texts of a step that may have marks"""

_NAMES = ("row", "column", "matrix", "part", "layer", "head")
"""What words about a picture name; items and steps are those of pages"""
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
    """Return a dataclass's fields by name. `dataclasses.asdict` would copy the values."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _with_marks(step: StepText) -> dict[str, Any]:
    return {**_fields(step), **{name: said_to_json(getattr(step, name)) for name in SAID}}


def said_to_json(texts: OfHeads) -> Any:
    """Return a text as JSON, or a list of one text per head. A text is a string, or an object if it has marks."""
    return _text_to_json(texts) if isinstance(texts, str) else list(map(_text_to_json, texts))


def _text_to_json(text: str) -> str | dict[str, Any]:
    marks = marks_of(text)
    if not marks:
        return text
    mark_objects = [
        {"from": mark.start, "to": mark.end, **dict(zip(_NAMES, _target(mark.target), strict=True))} for mark in marks
    ]
    return {"text": str(text), "marks": mark_objects}


def read_header(text: str) -> Header:
    """Read a header from JSON as `write_header` writes it.

    Raises:
        DocumentError: it has another version, or is not as `write_header` writes it.
    """
    try:
        header = json.loads(text)
    except ValueError:
        refuse("The document's header is not JSON.")
    except RecursionError:  # nested too deeply to be a header
        header = None
    if not isinstance(header, dict) or header.get("version") != VERSION:
        refuse(f"The document's version is not {VERSION}, the only one that this reader knows.")
    try:
        return _header(header)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        refuse(f"The document's header is not as version {VERSION} says.")


def _header(header: dict[str, Any]) -> Header:
    values = {**header, "key": header["query"] if header["key"] is None else header["key"]}  # null: the queries' tokens
    arguments = {name: _frozen(value) for name, value in values.items()}
    arguments |= {
        name: Axis(**{key: _frozen(value) for key, value in values[name].items()}) for name in ("query", "key")
    }
    arguments["steps"] = tuple(_step(step) for step in values["steps"])
    arguments["references"] = {
        name: Reference(reference["digest"], reference["dtype"], tuple(reference["shape"]))
        for name, reference in values["references"].items()
    }
    return Header(**{**arguments, "scale": float(values["scale"])})


def _step(step: Mapping[str, Any]) -> StepText:
    picture = None if step["picture"] is None else _picture(step["picture"])
    texts = {name: _said_in(step[name]) for name in SAID}
    return StepText(**{**{name: _frozen(value) for name, value in step.items()}, **texts, "picture": picture})


def _said_in(texts: Any) -> OfHeads:
    return tuple(map(_text_from_json, texts)) if isinstance(texts, list) else _text_from_json(texts)


def _text_from_json(text: Any) -> AnnotatedText:
    if isinstance(text, str):
        return AnnotatedText(text)
    marks = [Mark(mark["from"], mark["to"], Target(**{name: mark[name] for name in _NAMES})) for mark in text["marks"]]
    return AnnotatedText(text["text"], marks)


def _picture(picture: Mapping[str, Any]) -> Picture:
    products = {result: MatrixProduct(**product) for result, product in picture["products"].items()}
    operations = {
        result: Operation(**{name: _frozen(value) for name, value in operation.items()})
        for result, operation in picture["operations"].items()
    }
    places = {name: _frozen(picture[name]) for name in ("grid", "widths", "heights")}
    panels = tuple(map(_panel, picture["panels"]))
    return Picture(panels, **places, products=products, operations=operations, between=picture["between"])


def _panel(panel: Mapping[str, Any]) -> PanelSpec:
    arguments = {name: _frozen(value) for name, value in panel.items()}
    arguments["made_from"] = None if panel["made_from"] is None else MorphSource(**panel["made_from"])
    arguments["ticks"] = {int(column): text for column, text in panel["ticks"].items()}
    return PanelSpec(**arguments)


def _frozen(value: Any) -> Any:
    """Convert lists to tuples, at every level."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

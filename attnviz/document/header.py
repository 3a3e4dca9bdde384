"""The header of a document as JSON, and back. `frontend/core/document.js` reads the same."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import orjson

from attnviz.document.checks import DOCUMENT_KINDS, is_whole, refuse
from attnviz.document.marks import SAID, are_said, from_json, to_json
from attnviz.document.value import VERSION, Axis, Header, OfHeads, Reference, StepText
from attnviz.steps.picture import MadeFrom, MatrixProduct, Operation, PanelSpec, Picture

_AXIS: dict[str, Any] = {
    "text": "a text", "pair": "a text or null", "labels": ["a text"], "ids": ["a whole number"], "covers": ["a text"],
    "places": ["a text"], "segments": ["a whole number"], "unknown": ["true or false"],
}  # fmt: skip
_PANEL: dict[str, Any] = {
    "name": "a text", "title": "a text or a list of texts", "rows": "a text", "cols": "a text",
    "role": "a text or null", "made_from": {"?": {"name": "a text", "pace": "a text"}},
    "limit": "a number, a list of texts or null", "scale": "a text", "stretched": "a text", "bar": "true or false",
    "numbered": "true or false", "ticks": "texts by column", "part_width": "a whole number or null",
}  # fmt: skip
_OPERATION: dict[str, Any] = {
    "kind": "a text", "of": ["a text"], "weight": "a text or null", "bias": "a text or null",
    "eps": "a number or null", "over": "a text or null", "name": "a text or null",
}  # fmt: skip
_PICTURE: dict[str, Any] = {
    "panels": [_PANEL], "grid": [["a whole number or null"]], "widths": ["a number"], "heights": ["a number"],
    "products": {"*": {"left": "a text", "right": "a text", "bias": "a text or null"}}, "operations": {"*": _OPERATION},
    "between": "a text",
}  # fmt: skip
_STEP: dict[str, Any] = {
    "name": "a text", "title": "a text",
    "formula": "a text or a list of texts",
    **dict.fromkeys(SAID, "a text, plain or marked, or a list of these"),
    "code": "a text or a list of texts",
    "missing": "a text",
    **dict.fromkeys(("is_by_cell", "can_be_covered", "can_be_stretched"), "true or false"),
    "picture": {"?": _PICTURE},
}  # fmt: skip
_HEADER: dict[str, Any] = {
    "model": "a text", "attention": "a text", "layer": "a whole number", "heads": ["a whole number"],
    "heads_in_layer": "a whole number", "query": _AXIS, "key": _AXIS, "scale": "a number", "scale_label": "a text",
    "mask": "a text", "mask_value": "a number or null", "mask_fills": "a text", "steps": [_STEP],
    "references": {"*": {"digest": "a text", "dtype": "a text", "shape": ["a whole number"]}},
    "kind": "a text", "place": "a text", "version": "a whole number",
}  # fmt: skip
"""What the JSON must be: a list has any number of such entries, an object exactly these keys. {"*": x} is an object
with any keys, {"?": x} may also be null"""


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
    return {**_fields(step), **{name: _said(getattr(step, name)) for name in SAID}}


def _said(texts: OfHeads) -> Any:
    return to_json(texts) if isinstance(texts, str) else list(map(to_json, texts))


def read_header(text: str) -> Header:
    """Read a header from JSON that may come from anywhere.

    Raises:
        DocumentError: it is not as `write_header` writes it.
    """
    try:
        given = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        refuse("The document's header is not JSON.")
    if isinstance(given, dict):
        if given.get("version") != VERSION:
            refuse(f"The document's version is not {VERSION}, the only one that this reader knows.")
        if given.get("kind") not in DOCUMENT_KINDS:
            refuse(f"The document's kind is not one of {', '.join(DOCUMENT_KINDS)}.")
        if given.get("key", {}) is None:  # the same tokens as the queries'
            given["key"] = given.get("query")
    _check_json(given, _HEADER, "header")
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
    return tuple(map(from_json, given)) if isinstance(given, list) else from_json(given)


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


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_json(value: object, wanted: str | list[Any] | dict[str, Any], path: str) -> None:
    """Refuse JSON that is not as `_HEADER` says."""
    match wanted:
        case {"?": inner}:
            if value is not None:
                _check_json(value, inner, path)
        case dict():
            _check_object(value, wanted, path)
        case [inner]:
            if not isinstance(value, list):
                refuse(f"{path} is not a list.")
            for index, entry in enumerate(value):
                _check_json(entry, inner, f"{path}[{index}]")
        case _:
            if not _IS[str(wanted)](value):
                refuse(f"{path} is not {wanted}.")


def _check_object(value: object, wanted: dict[str, Any], path: str) -> None:
    if "*" in wanted:
        if not isinstance(value, dict):
            refuse(f"{path} is not an object.")
        for entry in value.values():
            _check_json(entry, wanted["*"], f"An entry of {path}")
        return
    if not isinstance(value, dict) or value.keys() != wanted.keys():
        refuse(f"{path} is not an object with {', '.join(wanted)}.")
    for key, inner in wanted.items():
        _check_json(value[key], inner, f"{path}.{key}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_by_column(value: Any) -> bool:
    return isinstance(value, dict) and all(
        re.fullmatch("0|[1-9][0-9]{0,8}", column) and _is_text(text) for column, text in value.items()
    )


_IS: dict[str, Callable[[Any], bool]] = {
    "a text": _is_text,
    "a text or null": lambda value: value is None or _is_text(value),
    "a text or a list of texts": lambda value: _is_text(value) or _are_texts(value),
    "a text, plain or marked, or a list of these": are_said,
    "a number, a list of texts or null": lambda value: value is None or _is_number(value) or _are_texts(value),
    "a whole number": is_whole,
    "a whole number or null": lambda value: value is None or is_whole(value),
    "a number": _is_number,
    "a number or null": lambda value: value is None or _is_number(value),
    "true or false": lambda value: isinstance(value, bool),
    "texts by column": _is_by_column,
}

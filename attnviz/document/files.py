"""A document as one safetensors file, and back. `frontend/core/document.ts` reads the same format.

The header is JSON under the key "attnviz" of the file's `__metadata__`, so any safetensors reader can read the arrays.
https://github.com/safetensors/safetensors#format
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from safetensors import SafetensorError, deserialize

from attnviz.annotated_text import AnnotatedText, Mark, Target, marks_of
from attnviz.document.value import (
    CODES,
    MAX_BYTES,
    MAX_TOKENS,
    VERSION,
    Axis,
    Document,
    Header,
    OfHeads,
    Reference,
    StepText,
    refuse,
)
from attnviz.mask_reasons import MaskReasons
from attnviz.steps.picture import MatrixProduct, MorphSource, Operation, PanelSpec, Picture
from attnviz.trace.buckets import Buckets
from attnviz.trace.model import RowGuesses

KEY = "attnviz"
MAX_HEADER_BYTES = 4 * 2**20
"""The limit for the file's whole header: the JSON of the document and the list of arrays"""

_LENGTH = 8  # bytes of the length at the start of a safetensors file; the header is padded to a multiple of it
_DTYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}


def write(document: Document) -> bytes:
    """Write a document as a safetensors file, in a third of the time that the package's own writer takes.

    Raises:
        DocumentError: it is larger than `read` accepts.
    """
    # In the order of the package's writer: larger dtypes first, so that every array is aligned and readable in place.
    arrays = sorted(document.arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    entries: dict[str, Any] = {"__metadata__": {KEY: write_header(document.header)}}
    end = 0
    for name, array in arrays:
        start, end = end, end + array.nbytes
        entries[name] = {"dtype": CODES[array.dtype], "shape": array.shape, "data_offsets": (start, end)}
    header = orjson.dumps(entries)
    header += b" " * (-len(header) % _LENGTH)
    bodies = (array.astype(_DTYPES[CODES[array.dtype]], copy=False).data for _, array in arrays)
    data = b"".join((len(header).to_bytes(_LENGTH, "little"), header, *bodies))
    _check_size(data)
    return data


def read(data: bytes) -> Document:
    """Read a document from a file that may come from anywhere.

    Raises:
        DocumentError: this is not a document, or can't be shown; the message says why in one sentence.
    """
    _check_size(data)
    try:
        entries = deserialize(data)  # type: ignore[no-untyped-call]  # safetensors gives no types
    except SafetensorError:
        refuse("This is not a safetensors file.")
    arrays = {name: _array(entry) for name, entry in entries}
    return Document(read_header(_header_of(data)), arrays)


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        refuse(f"The file has {len(data):,} bytes; a document has at most {MAX_BYTES:,}.")
    length = _header_length(data)
    if length > len(data) - _LENGTH:
        refuse("This is not a safetensors file.")
    if length > MAX_HEADER_BYTES:
        refuse(f"The file's header has {length:,} bytes; a document's has at most {MAX_HEADER_BYTES:,}.")


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[:_LENGTH], "little")


def _array(entry: Mapping[str, Any]) -> npt.NDArray[Any]:
    if entry["dtype"] not in _DTYPES:
        refuse("The document has an array that is neither F32, BOOL nor U8.")
    return np.frombuffer(entry["data"], _DTYPES[entry["dtype"]]).reshape(entry["shape"])


def _header_of(data: bytes) -> str:
    """Return the document's header in a file whose outer JSON is known to be valid."""
    metadata = json.loads(data[_LENGTH : _LENGTH + _header_length(data)]).get("__metadata__") or {}
    if KEY not in metadata:
        refuse("This safetensors file is not a document of attnviz.")
    text: str = metadata[KEY]
    return text


OPTIONAL = ("buckets", "cap", "guesses_at", "guesses_note", "mask_reasons", "shared_by")
"""Fields of the header that are left out where they have their default: few documents need them"""
DROPPED = ("distances",)
"""Fields of the header that files of this version had for a time: they followed from an array"""
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
    for field in fields(header):
        if field.name in OPTIONAL and written[field.name] == field.default:
            del written[field.name]
    if header.buckets is not None:
        written["buckets"] = _fields(header.buckets)
    written["steps"] = [
        {**_fields(step), **{name: said_to_json(getattr(step, name)) for name in SAID}} for step in header.steps
    ]
    try:
        return orjson.dumps(written, option=orjson.OPT_NON_STR_KEYS).decode()  # ticks are by column
    except orjson.JSONEncodeError:  # a text with lone surrogates, which only `json` writes
        return json.dumps(written, default=_fields, separators=(",", ":"))


def _fields(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields by name. `dataclasses.asdict` would copy the values."""
    names = _field_names(type(value))  # type: ignore[arg-type]  # mypy does not know that classes are hashable
    return {name: getattr(value, name) for name in names}


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


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
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError):
        refuse(f"The document's header is not as version {VERSION} says.")


def _header(header: dict[str, Any]) -> Header:
    values = {**header, "key": header["query"] if header["key"] is None else header["key"]}  # null: the queries' tokens
    arguments = {name: _frozen(value) for name, value in values.items() if name not in DROPPED}
    arguments |= {
        name: Axis(**{key: _frozen(value) for key, value in values[name].items()}) for name in ("query", "key")
    }
    arguments["steps"] = tuple(_step(step) for step in values["steps"])
    arguments["guesses"] = tuple(
        RowGuesses(**{name: _frozen(value) for name, value in guesses.items()}) for guesses in values["guesses"]
    )
    arguments["references"] = {
        name: Reference(reference["digest"], reference["dtype"], tuple(reference["shape"]))
        for name, reference in values["references"].items()
    }
    arguments["scale"] = _number(values["scale"])
    arguments |= {name: _number(values[name]) for name in ("mask_value", "cap") if values.get(name) is not None}
    if values.get("buckets") is not None:
        arguments["buckets"] = _buckets(values["buckets"])
    if values.get("mask_reasons") is not None:
        arguments["mask_reasons"] = _mask_reasons(values["mask_reasons"])
    for name in ("guesses_at", "guesses_note"):
        if not isinstance(values.get(name, ""), str):
            raise TypeError(f"{name} is no text")
    if not _is_count(values.get("shared_by", 1), least=1):
        raise TypeError("shared_by is no number of heads")
    return Header(**arguments)


def _is_count(value: Any, *, least: int = 0) -> bool:
    return type(value) is int and least <= value <= MAX_TOKENS


def _mask_reasons(value: Mapping[str, Any]) -> MaskReasons:
    """Return the reasons of a header.

    Raises:
        TypeError: causal is neither true nor false, the window is not two numbers of keys, or padding has other things.
    """
    reasons = MaskReasons(**{name: _frozen(part) for name, part in value.items()})
    window, padding = reasons.window, reasons.padding
    is_window = window is None or (isinstance(window, tuple) and len(window) == 2 and all(map(_is_count, window)))
    is_padding = isinstance(padding, tuple) and all(map(_is_count, padding))
    if type(reasons.causal) is not bool or not is_window or not is_padding:
        raise TypeError("mask_reasons are a bool, two numbers of keys and a list of keys")
    return reasons


def _buckets(value: Mapping[str, Any]) -> Buckets:
    """Return the buckets of a header.

    Raises:
        TypeError: a number is not an integer, or both_sides is neither true nor false.
    """
    buckets = Buckets(**value)
    if type(buckets.count) is not int or type(buckets.max_distance) is not int or type(buckets.both_sides) is not bool:
        raise TypeError("buckets have two integers and a bool")
    return buckets


def _number(value: Any) -> float:
    """Return a number of a header.

    Raises:
        TypeError: it is no number; JSON's true and false are none, though Python's are.
        OverflowError: it is too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{type(value).__name__} is no number")
    return float(value)


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

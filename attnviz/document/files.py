"""A document as one safetensors file, and back. `frontend/core/document.js` reads the same.

The header is JSON under the key "attnviz" of the file's `__metadata__`, so every reader of safetensors finds the
arrays. https://github.com/safetensors/safetensors#format
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from attnviz.document.checks import refuse
from attnviz.document.value import VERSION, Axis, Document, Header, StepText

KEY = "attnviz"
MAX_BYTES = 128 * 2**20
MAX_HEADER_BYTES = 4 * 2**20
"""Of the file's whole header: the JSON of the document and the list of arrays"""
MAX_INTEGER = 2**53 - 1
"""The largest integer that JavaScript tells from its neighbours"""

_LENGTH = 8  # bytes, of the number with which a safetensors file begins
_DTYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?")}

_AXIS: dict[str, Any] = {"text": "a text", "pair": "a text or null", "labels": ["a text"], "ids": ["a whole number"]}
_STEP: dict[str, Any] = {
    **dict.fromkeys(("name", "title", "formula", "notice", "fact", "code"), "a text"),
    "matrices": [["a text or null"]],
}
_HEADER: dict[str, Any] = {
    "source": "a text", "query": _AXIS, "key": _AXIS, "layer": "a whole number", "head": "a whole number",
    "scale": "a number", "mask": "a text", "steps": [_STEP], "kind": "a text", "version": "a whole number",
}  # fmt: skip
"""What the JSON must be: an object has exactly these keys, a list any number of such entries"""


def write(document: Document) -> bytes:
    """Write a document as a safetensors file.

    Raises:
        DocumentError: it is larger than what `read` takes.
    """
    header = asdict(document.header)
    if document.header.key == document.header.query:
        header["key"] = None
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    data = save(dict(document.arrays), metadata={KEY: text})
    _check_size(data)
    return data


def read(data: bytes) -> Document:
    """Read a document from a file that may come from anywhere.

    Raises:
        DocumentError: this is no document, or one that can't be shown; the message says why in one sentence.
    """
    _check_size(data)
    try:
        entries = deserialize(data)  # type: ignore[no-untyped-call]  # safetensors gives no types
    except SafetensorError:
        refuse("This is not a safetensors file.")
    arrays = {name: _array(entry) for name, entry in entries}
    return Document(_header(data), arrays)


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
        refuse("The document has an array that is neither F32 nor BOOL.")
    return np.frombuffer(entry["data"], _DTYPES[entry["dtype"]]).reshape(entry["shape"])


def _header(data: bytes) -> Header:
    """Read the header of a file whose outer JSON is known to be sound."""
    metadata = json.loads(data[_LENGTH : _LENGTH + _header_length(data)]).get("__metadata__") or {}
    if KEY not in metadata:
        refuse("This safetensors file is not a document of attnviz.")
    try:
        given = json.loads(metadata[KEY], parse_constant=_no_constant)
    except (ValueError, RecursionError):
        refuse("The document's header is not JSON.")
    if isinstance(given, dict):
        if given.get("version") != VERSION:
            refuse(f"The document's version is not {VERSION}, the only one that this reader knows.")
        if given.get("kind") != "walk":
            refuse("The document's kind is not walk, the only one that this reader knows.")
        if given.get("key", {}) is None:  # the same tokens as the queries'
            given["key"] = given.get("query")
    _check_json(given, _HEADER, "header")
    axes = {name: Axis(**_frozen(given[name])) for name in ("query", "key")}
    steps = tuple(StepText(**_frozen(step)) for step in given["steps"])
    return Header(**{**given, **axes, "steps": steps, "scale": float(given["scale"])})


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_json(value: object, wanted: str | list[Any] | dict[str, Any], path: str) -> None:
    """Refuse JSON that is not as `_HEADER` says."""
    match wanted:
        case dict():
            if not isinstance(value, dict) or value.keys() != wanted.keys():
                refuse(f"{path} is not an object with {', '.join(wanted)}.")
            for key, inner in wanted.items():
                _check_json(value[key], inner, f"{path}.{key}")
        case [inner]:
            if not isinstance(value, list):
                refuse(f"{path} is not a list.")
            for index, entry in enumerate(value):
                _check_json(entry, inner, f"{path}[{index}]")
        case _:
            if not _IS[str(wanted)](value):
                refuse(f"{path} is not {wanted}.")


_IS: dict[str, Callable[[Any], bool]] = {
    "a text": lambda value: isinstance(value, str),
    "a text or null": lambda value: value is None or isinstance(value, str),
    "a whole number": lambda value: type(value) is int and abs(value) <= MAX_INTEGER,
    "a number": lambda value: type(value) in (int, float) and abs(value) <= sys.float_info.max,
}


def _frozen(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with tuples in place of lists, also inside of lists."""

    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return {name: tuples(value) for name, value in fields.items()}

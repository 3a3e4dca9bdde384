"""A document as one safetensors file, and back. `frontend/core/document.ts` reads the same format.

The header is JSON under the key "attnviz" of the file's `__metadata__`, so any safetensors reader can read the arrays.
https://github.com/safetensors/safetensors#format
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from safetensors import SafetensorError, deserialize

from attnviz.document.checks import MAX_BYTES, refuse
from attnviz.document.header import read_header, write_header
from attnviz.document.value import Document

KEY = "attnviz"
MAX_HEADER_BYTES = 4 * 2**20
"""The limit for the file's whole header: the JSON of the document and the list of arrays"""

_LENGTH = 8  # bytes of the length at the start of a safetensors file; the header is padded to a multiple of it
_DTYPES = {"F32": np.dtype("<f4"), "BOOL": np.dtype("?"), "U8": np.dtype("u1")}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


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
        entries[name] = {"dtype": _CODES[array.dtype], "shape": array.shape, "data_offsets": (start, end)}
    header = orjson.dumps(entries)
    header += b" " * (-len(header) % _LENGTH)
    bodies = (array.astype(_DTYPES[_CODES[array.dtype]], copy=False).data for _, array in arrays)
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
    return Document(read_header(_header(data)), arrays)


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


def _header(data: bytes) -> str:
    """Return the document's header in a file whose outer JSON is known to be valid."""
    metadata = json.loads(data[_LENGTH : _LENGTH + _header_length(data)]).get("__metadata__") or {}
    if KEY not in metadata:
        refuse("This safetensors file is not a document of attnviz.")
    text: str = metadata[KEY]
    return text

"""The binary format of payloads for browser components: a JSON header, then the raw arrays.

Streamlit sends `bytes` unchanged, and `frontend/core/packing.ts` reads them as typed arrays without copying. The
layout: a little-endian u32 with the header's length; the header, padded with spaces so that the arrays start at a
multiple of 4; then the arrays without gaps, in the order of the header's `arrays`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_ALIGN = 4
_DTYPES: dict[str, np.dtype[Any]] = {"f4": np.dtype("<f4"), "u2": np.dtype("<u2"), "u1": np.dtype("u1")}


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return a header and named float32, uint16 or uint8 arrays as one `bytes` value.

    Raises:
        TypeError: an array has another dtype.
        ValueError: the header holds NaN or an infinity.
    """
    coded = {name: (_code(name, array), array) for name, array in arrays.items()}
    listed = [{"name": name, "dtype": code, "shape": list(array.shape)} for name, (code, array) in coded.items()]
    # allow_nan=False: JSON.parse in the browser accepts neither NaN nor Infinity.
    text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode()
    text += b" " * (-(len(text) + _ALIGN) % _ALIGN)
    bodies = (array.astype(_DTYPES[code], copy=False).tobytes() for code, array in coded.values())
    return b"".join((struct.pack("<I", len(text)), text, *bodies))


def unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and arrays of a payload, as the browser does.

    Raises:
        ValueError: the payload's length is not the one in the header.
    """
    (length,) = struct.unpack_from("<I", payload)
    header: dict[str, Any] = json.loads(payload[_ALIGN : _ALIGN + length])
    offset, arrays = _ALIGN + length, {}
    for entry in header["arrays"]:
        dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        arrays[entry["name"]] = np.frombuffer(payload, dtype, count, offset).reshape(shape)
        offset += count * dtype.itemsize
    if offset != len(payload):
        raise ValueError(f"the header lists {offset} bytes, the payload holds {len(payload)}")
    return header, arrays


def _code(name: str, array: npt.NDArray[Any]) -> str:
    """Return the format's name of an array's dtype."""
    code = array.dtype.str.lstrip("<>|=")
    if code not in _DTYPES:
        raise TypeError(f"array {name!r} is {array.dtype}; the browser reads float32, uint16 and uint8")
    return code

"""Payloads: what a component or an exported page reads, as one safetensors file. Streamlit sends it unchanged.

The header is JSON under the key "header" of the file's `__metadata__`. `frontend/core/payload.ts` reads it, and the
arrays in place: safetensors puts arrays of larger numbers first, so that each lies at a multiple of its number's size.
https://github.com/safetensors/safetensors#format
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

KEY = "header"
_DTYPES = (np.dtype(np.float32), np.dtype(np.uint16), np.dtype(np.uint8))


def write_payload(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return a header and named float32, uint16 or uint8 arrays as a safetensors file.

    Raises:
        TypeError: an array has another dtype.
        ValueError: the header holds NaN or an infinity.
    """
    for name, array in arrays.items():
        if array.dtype.newbyteorder("=") not in _DTYPES:
            raise TypeError(f"array {name!r} is {array.dtype}; the browser reads float32, uint16 and uint8")
    # allow_nan=False: JSON.parse accepts neither NaN nor Infinity.
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    # In C's order, which safetensors does not check.
    data: bytes = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, {KEY: text})
    return data

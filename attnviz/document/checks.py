"""The arrays of a document with their axes, and the checks of names, dtypes, shapes and numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from attnviz.trace.matrices import AXES

if TYPE_CHECKING:
    from attnviz.document.value import Header

Arrays = Mapping[str, npt.NDArray[Any]]
Shapes = dict[str, tuple[int, ...]]

MAX_TOKENS = 4096
"""The most tokens on an axis: a reader computes matrices of queries by keys, 64 MiB each at this size."""
MAX_HEADS = 1024
MAX_BYTES = 128 * 2**20
"""The largest file, and the largest array outside of the file"""

DocumentKind = Literal["walk", "averages", "block"]
"""walk: heads of a layer, step by step; averages: the steps from an average over the past to one such head; block:
heads of a layer, and the steps around them in a transformer"""

COMPUTED = (
    "key_t", "scores", "scaled", "masked", "weights", "row_sum", "head_outputs", "triangle", "masked_zeros",
    "softmax_weights", "by_data",
)  # fmt: skip
"""The matrices that are not in a document: a reader computes them"""

ARRAYS: dict[str, tuple[str, ...]] = {
    **{name: axes for name, axes in AXES.items() if name not in COMPUTED},
    "thumbnails": ("head", "rows", "columns"), "hidden_thumbnail": ("rows", "columns"),
}  # fmt: skip
"""The arrays and their axes. Without `embeddings_k`, keys and values come from `embeddings`, so key_model is model."""

OF_HEAD = (
    *("W_query", "W_key", "W_value", "U_query", "U_key", "U_value", "b_query", "b_key", "b_value"),
    *("query", "key", "value", "mask"),
)
"""The arrays of a head: head 5's query is `query/5`. A mask that all heads share is `mask`."""

REQUIRED = ("query", "key", "value")

DTYPES = {"mask": ("F32", "BOOL"), "thumbnails": ("U8",), "hidden_thumbnail": ("U8",)}
"""The dtypes of arrays that are not F32"""
_DTYPES = {np.dtype(np.float32): "F32", np.dtype(np.bool_): "BOOL", np.dtype(np.uint8): "U8"}


class DocumentError(ValueError):
    """A document is rejected; the message says why, in one sentence."""


def refuse(why: str) -> NoReturn:
    """Raise DocumentError."""
    raise DocumentError(why)


def check_header(header: Header) -> None:
    """Check the number of tokens and of heads against the limits, and that the scale is finite.

    Raises:
        DocumentError: there are no tokens, too many tokens or heads, or a scale that is not finite.
    """
    for name, axis in (("query", header.query), ("key", header.key)):
        if not 1 <= len(axis.labels) <= MAX_TOKENS:
            refuse(f"header.{name} has {len(axis.labels):,} labels; a document has 1 to {MAX_TOKENS:,}.")
    if not 1 <= header.heads_in_layer <= MAX_HEADS:
        refuse(f"header.heads_in_layer is not from 1 to {MAX_HEADS:,}.")
    if not math.isfinite(header.scale):
        refuse("header.scale is not finite.")


def possible(header: Header) -> dict[str, tuple[str, ...]]:
    """Return the names of all arrays that a document with this header may have, with their axes."""
    axes_by_name: dict[str, tuple[str, ...]] = {}
    for name, axes in ARRAYS.items():
        if name in OF_HEAD:
            axes_by_name |= {f"{name}/{head}": axes for head in header.heads}
        if name not in OF_HEAD or name == "mask":
            axes_by_name[name] = axes
    return axes_by_name


def check_arrays(header: Header, arrays: Arrays) -> None:
    """Check the names, dtypes, shapes and numbers of the arrays, and the references, against the header.

    Raises:
        DocumentError: one of them does not follow the format.
    """
    names = possible(header)
    if any(name not in names for name in (*arrays, *header.references)):
        refuse("The document has an array with an unknown name.")
    shapes = {name: reference.shape for name, reference in header.references.items()}
    shapes |= {name: array.shape for name, array in arrays.items()}
    for name in (f"{name}/{head}" for name in REQUIRED for head in header.heads):
        if name not in shapes:
            refuse(f"Array {name} is missing.")
    check_held(header, arrays)
    _check_shapes(header, shapes, names)
    for name in names:
        if name in arrays:
            check_numbers(name, arrays[name])


def check_held(header: Header, arrays: Collection[str]) -> None:
    """Check that a reader can show a head at once: query, key and value of at least one head are in the file.

    Raises:
        DocumentError: there is no such head.
    """
    if not any(all(f"{name}/{head}" in arrays for name in REQUIRED) for head in header.heads):
        refuse("The file must have query, key and value of at least one head.")


def _check_shapes(header: Header, shapes: Shapes, names: Mapping[str, tuple[str, ...]]) -> None:
    """Check that axes with the same name have the same length, and token axes one entry per label."""
    sizes = {"query": len(header.query.labels), "key": len(header.key.labels), "head": header.heads_in_layer}
    crosses = "embeddings_k" in shapes
    checked = set()  # the arrays of all heads have the same shapes: check them once
    for name, listed in names.items():
        if name not in shapes or (listed, shapes[name]) in checked:
            continue
        axes = listed if crosses else tuple(axis.replace("key_model", "model") for axis in listed)
        shape = shapes[name]
        fits = len(shape) == len(axes) and all(
            size > 0 and sizes.get(axis, size) == size for axis, size in zip(axes, shape, strict=True)
        )
        if not fits:
            wanted = " × ".join(str(sizes.get(axis, axis)) for axis in axes)
            refuse(f"Array {name} is {' × '.join(map(str, shape))}; it must be {wanted}.")
        checked.add((listed, shape))
        sizes |= zip(axes, shape, strict=True)
        if "value_dim" in sizes:
            sizes["concat"] = header.heads_in_layer * sizes["value_dim"]


def check_numbers(name: str, array: npt.NDArray[Any]) -> None:
    """Check that numbers are finite float32. A mask may also be bool, or hold −inf where a query must not look.

    Raises:
        DocumentError: the dtype or a number is not allowed.
    """
    dtype, allowed_dtypes = _DTYPES.get(array.dtype, ""), DTYPES.get(name.partition("/")[0], ("F32",))
    if dtype not in allowed_dtypes:
        refuse(f"Array {name} is not {' or '.join(allowed_dtypes)}.")
    if dtype == "BOOL" and array.view(np.uint8).max() > 1:
        refuse(f"Array {name} holds a byte that is neither 0 nor 1.")
    if dtype != "F32":
        return
    allowed = np.isfinite(array)
    if name.startswith("mask"):
        allowed |= np.isneginf(array)
    if not allowed.all():
        refuse(f"Array {name} holds a number that is not finite.")

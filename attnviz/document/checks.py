"""What every document must hold. `frontend/core/checks.js` has the same checks, in the same order and words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from attnviz.attention import MaskKind
    from attnviz.document.value import Header, StepText

Arrays = Mapping[str, npt.NDArray[Any]]

MAX_TOKENS = 4096
"""The most tokens on an axis: a reader computes matrices of queries by keys, 64 MiB each at this size."""

MASKS: tuple[MaskKind, ...] = ("none", "causal", "padding", "cross", "other")

ARRAYS: dict[str, tuple[str, ...]] = {
    "token_embeddings": ("query", "model"), "positions": ("query", "model"), "embeddings": ("query", "model"),
    "embeddings_k": ("key", "key_model"),
    "W_query": ("model", "dim"), "W_key": ("key_model", "dim"), "W_value": ("key_model", "value_dim"),
    "U_query": ("query", "key"), "U_key": ("key", "key"), "U_value": ("key", "key"),
    "b_query": ("dim",), "b_key": ("dim",), "b_value": ("value_dim",),
    "query": ("query", "dim"), "key": ("key", "dim"), "value": ("key", "value_dim"), "mask": ("query", "key"),
    "W_output_head": ("value_dim", "output"), "b_output": ("output",),
}  # fmt: skip
"""The arrays and their axes. Without `embeddings_k`, keys and values are made of `embeddings`: key_model is model."""

REQUIRED = ("query", "key", "value")

COMPUTED = ("key_t", "scores", "scaled", "masked", "weights", "row_sum", "head_outputs", "concat", "W_output", "output")
"""What a step may show beside the arrays. The last three are of the whole layer, so a document does not hold them."""

MAX_FORMULA = 20_000
"""Characters; a longer one may exhaust the stack of a browser's regular expressions"""
FORMULA = re.compile(
    r'<math display="block">(?:</?(?:math|mrow|mi|mn|mo|mtext|mspace|msub|msup|munderover|mfrac|mstyle|msqrt)'
    r'(?: (?:class|mathvariant|width|displaystyle|stretchy)="[A-Za-z0-9.]*")*>'
    r"|[^<>&]|&(?:lt|gt|amp|quot|#x27);)*</math>"
)
"""Elements and attributes of MathML that can't run or load anything, so that a page may insert a formula as markup."""


class DocumentError(ValueError):
    """A document is refused; the message says why, in one sentence."""


def refuse(why: str) -> NoReturn:
    """Raise DocumentError."""
    raise DocumentError(why)


def check_header(header: Header) -> None:
    """Check what a header says, apart from the arrays.

    Raises:
        DocumentError: it says what no document may say.
    """
    for name, axis in (("query", header.query), ("key", header.key)):
        if not 1 <= len(axis.labels) <= MAX_TOKENS:
            refuse(f"header.{name} has {len(axis.labels):,} labels; a document has 1 to {MAX_TOKENS:,}.")
        if len(axis.ids) != len(axis.labels):
            refuse(f"header.{name} has {len(axis.labels):,} labels and {len(axis.ids):,} ids.")
    if min(header.layer, header.head) < 0:
        refuse("header.layer and header.head are counted from 0.")
    if not math.isfinite(header.scale):
        refuse("header.scale is not finite.")
    if header.mask not in MASKS:
        refuse(f"header.mask is not one of {', '.join(MASKS)}.")
    for index, step in enumerate(header.steps):
        _check_step(f"header.steps[{index}]", step)


def _check_step(path: str, step: StepText) -> None:
    if len(step.formula) > MAX_FORMULA or not FORMULA.fullmatch(step.formula):
        refuse(f"{path}.formula is not MathML as attnviz writes it.")
    names = [name for row in step.matrices for name in row if name is not None]
    if any(name not in ARRAYS and name not in COMPUTED for name in names):
        refuse(f"{path}.matrices names an unknown matrix.")


def check_arrays(header: Header, arrays: Arrays) -> None:
    """Check the names, dtypes, shapes and numbers of the arrays against the header.

    Raises:
        DocumentError: one of them is not as the format says.
    """
    if any(name not in ARRAYS for name in arrays):
        refuse("The document has an array with an unknown name.")
    for name in REQUIRED:
        if name not in arrays:
            refuse(f"Array {name} is missing.")
    if ("mask" in arrays) != (header.mask not in ("none", "causal")):
        refuse(f"A mask of the kind {header.mask} has {'no' if 'mask' in arrays else 'an'} array.")
    if header.mask == "causal" and len(header.query.labels) != len(header.key.labels):
        refuse("A causal mask needs as many queries as keys.")
    _check_shapes(header, arrays)
    for name in ARRAYS:
        if name in arrays:
            _check_numbers(name, arrays[name])


def _check_shapes(header: Header, arrays: Arrays) -> None:
    """Check that axes of one name have one length; those of the tokens have as many places as labels."""
    sizes = {"query": len(header.query.labels), "key": len(header.key.labels)}
    for name, listed in ARRAYS.items():
        if name not in arrays:
            continue
        axes = listed if "embeddings_k" in arrays else tuple(axis.replace("key_model", "model") for axis in listed)
        shape = arrays[name].shape
        fits = len(shape) == len(axes) and all(
            size > 0 and sizes.get(axis, size) == size for axis, size in zip(axes, shape, strict=True)
        )
        if not fits:
            wanted = " × ".join(str(sizes.get(axis, axis)) for axis in axes)
            refuse(f"Array {name} is {' × '.join(map(str, shape))}; it must be {wanted}.")
        sizes |= zip(axes, shape, strict=True)


def _check_numbers(name: str, array: npt.NDArray[Any]) -> None:
    """Check that numbers are finite float32. A mask may also be bool, or hold −inf where a query must not look."""
    if name == "mask" and array.dtype == np.bool_:
        if array.view(np.uint8).max() > 1:
            refuse("Array mask holds a byte that is neither 0 nor 1.")
        return
    if array.dtype != np.float32:
        refuse(f"Array {name} is not float32.")
    allowed = np.isfinite(array) | np.isneginf(array) if name == "mask" else np.isfinite(array)
    if not allowed.all():
        refuse(f"Array {name} holds a number that is not finite.")

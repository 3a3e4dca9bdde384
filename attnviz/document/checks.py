"""What every document must hold. `frontend/core/checks.js` has the same checks, in the same order and words."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from attnviz.trace.context import NORMS

if TYPE_CHECKING:
    from attnviz.attention import Masked, MaskKind
    from attnviz.document.value import Header, OfHeads, Reference, StepText
    from attnviz.trace.model import Kind

Arrays = Mapping[str, npt.NDArray[Any]]
Shapes = dict[str, tuple[int, ...]]

MAX_TOKENS = 4096
"""The most tokens on an axis: a reader computes matrices of queries by keys, 64 MiB each at this size."""
MAX_HEADS = 1024
MAX_BYTES = 128 * 2**20
"""Of a file, and of an array that is not in it"""

MASKS: tuple[MaskKind, ...] = ("none", "causal", "window", "padding", "cross", "other")
FILLED: tuple[Masked, ...] = ("scaled", "scores")
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

DocumentKind = Literal["walk", "averages", "block"]
"""walk: heads of a layer, step by step; averages: the ways from an average over the past to one such head; block: heads
of a layer, and the steps around them in a transformer"""
DOCUMENT_KINDS: tuple[DocumentKind, ...] = get_args(DocumentKind)

ARRAYS: dict[str, tuple[str, ...]] = {
    "token_embeddings": ("query", "model"), "positions": ("query", "model"), "embeddings": ("query", "model"),
    "embeddings_k": ("key", "key_model"),
    "W_query": ("model", "dim"), "W_key": ("key_model", "dim"), "W_value": ("key_model", "value_dim"),
    "U_query": ("query", "key"), "U_key": ("key", "key"), "U_value": ("key", "key"),
    "b_query": ("dim",), "b_key": ("dim",), "b_value": ("value_dim",),
    "query": ("query", "dim"), "key": ("key", "dim"), "value": ("key", "value_dim"), "mask": ("query", "key"),
    "concat": ("query", "concat"), "W_output": ("concat", "output"), "b_output": ("output",),
    "output": ("query", "output"),
    "by_loop": ("query", "model"), "by_matrix": ("query", "model"), "by_softmax": ("query", "model"),
    "input_norm": ("query", "model"), "attention_residual": ("query", "model"), "attention_norm": ("query", "model"),
    "feed_forward_norm": ("query", "model"), "W_1": ("model", "hidden"), "b_1": ("hidden",),
    "feed_forward_inner": ("query", "hidden"), "feed_forward_hidden": ("query", "hidden"),
    "W_2": ("hidden", "model"), "b_2": ("model",), "feed_forward_output": ("query", "model"),
    "feed_forward_residual": ("query", "model"), "block_output": ("query", "model"), "final_norm": ("query", "model"),
    "W_transform": ("model", "model"), "b_transform": ("model",), "transform_inner": ("query", "model"),
    "transform_hidden": ("query", "model"), "transform_norm": ("query", "model"),
    "W_vocabulary": ("model", "vocabulary"), "b_vocabulary": ("vocabulary",), "logits": ("query", "vocabulary"),
    "logits_and_rest": ("query", "outcome"), "probabilities": ("query", "outcome"),
    **{f"{letter}_{norm}": ("model",) for norm in NORMS for letter in ("gamma", "beta")},
    "thumbnails": ("head", "rows", "columns"), "hidden_thumbnail": ("rows", "columns"),
}  # fmt: skip
"""The arrays and their axes. Without `embeddings_k`, keys and values are made of `embeddings`: key_model is model."""

OF_HEAD = (
    *("W_query", "W_key", "W_value", "U_query", "U_key", "U_value", "b_query", "b_key", "b_value"),
    *("query", "key", "value", "mask"),
)
"""The arrays of a head: head 5's query is `query/5`. A mask that all heads share is `mask`."""

REQUIRED = ("query", "key", "value")

AVERAGES = ("embeddings", "by_loop", "by_matrix", "by_softmax")
"""What a document of averages has too: X, and its means over the past as float32 gives them, each in its own way"""

COMPUTED = {
    "key_t": ("dim", "key"), "scores": ("query", "key"), "scaled": ("query", "key"), "masked": ("query", "key"),
    "weights": ("query", "key"), "row_sum": ("query", "one"), "head_outputs": ("query", "value_dim"),
    "triangle": ("query", "key"), "masked_zeros": ("query", "key"), "softmax_weights": ("query", "key"),
    "by_data": ("query", "value_dim"),
}  # fmt: skip
"""What follows from the arrays, so that no document holds it, with its axes"""

DTYPES = {"mask": ("F32", "BOOL"), "thumbnails": ("U8",), "hidden_thumbnail": ("U8",)}
"""The dtypes of arrays that are not F32"""
_DTYPES = {np.dtype(np.float32): "F32", np.dtype(np.bool_): "BOOL", np.dtype(np.uint8): "U8"}
_BYTES = {"F32": 4, "BOOL": 1, "U8": 1}

DIGEST = re.compile(r"[A-Za-z0-9_~-]{1,128}")
"""May be part of an address"""

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


def is_whole(value: object) -> bool:
    """Whether JSON is a whole number that JavaScript tells from its neighbours."""
    return type(value) is int and abs(value) < 2**53


def refuse(why: str) -> NoReturn:
    """Raise DocumentError."""
    raise DocumentError(why)


def check_header(header: Header) -> None:
    """Check what a header says, apart from the steps and the arrays.

    Raises:
        DocumentError: it says what no document may say.
    """
    for name, axis in (("query", header.query), ("key", header.key)):
        if not 1 <= len(axis.labels) <= MAX_TOKENS:
            refuse(f"header.{name} has {len(axis.labels):,} labels; a document has 1 to {MAX_TOKENS:,}.")
        for column in ("ids", "covers", "places", "segments", "unknown"):
            count = len(getattr(axis, column))
            if count != len(axis.labels):
                refuse(f"header.{name} has {len(axis.labels):,} labels and {count:,} {column}.")
    if header.layer < 0:
        refuse("header.layer is counted from 0.")
    if bool(header.place) != (header.kind == "block"):
        refuse("A document of the kind block has a place, and no other has one.")
    if not 1 <= header.heads_in_layer <= MAX_HEADS:
        refuse(f"header.heads_in_layer is not from 1 to {MAX_HEADS:,}.")
    beyond = any(not 0 <= head < header.heads_in_layer for head in header.heads)
    if beyond or not header.heads or list(header.heads) != sorted(set(header.heads)):
        refuse("header.heads are not heads of the layer in ascending order.")
    if not math.isfinite(header.scale):
        refuse("header.scale is not finite.")
    for name, value, allowed in (
        ("mask", header.mask, MASKS),
        ("mask_fills", header.mask_fills, FILLED),
        ("attention", header.attention, KINDS),
    ):
        if value not in allowed:
            refuse(f"header.{name} is not one of {', '.join(allowed)}.")


def check_steps(header: Header) -> None:
    """Check the texts of the steps, apart from their marks and pictures.

    Raises:
        DocumentError: they are not texts of these heads.
    """
    for index, step in enumerate(header.steps):
        _check_step(f"header.steps[{index}]", step, len(header.heads))


def _check_step(path: str, step: StepText, heads: int) -> None:
    for name in ("formula", "notice", "fact", "advice", "code"):
        check_texts(f"{path}.{name}", getattr(step, name), heads)
    for formula in (step.formula,) if isinstance(step.formula, str) else step.formula:
        if len(formula) > MAX_FORMULA or not FORMULA.fullmatch(formula):
            refuse(f"{path}.formula is not MathML as attnviz writes it.")


def check_texts(path: str, texts: OfHeads, heads: int) -> None:
    """Check that there is one text, or one for each head."""
    if not isinstance(texts, str) and len(texts) != heads:
        refuse(f"{path} has {len(texts):,} texts for {heads:,} heads.")


def possible(header: Header) -> dict[str, tuple[str, ...]]:
    """Return the names of all arrays that a document with this header may have, with their axes."""
    found: dict[str, tuple[str, ...]] = {}
    for name, axes in ARRAYS.items():
        if name in OF_HEAD:
            found |= {f"{name}/{head}": axes for head in header.heads}
        if name not in OF_HEAD or name == "mask":
            found[name] = axes
    return found


def check_arrays(header: Header, arrays: Arrays) -> dict[str, int]:
    """Check the names, dtypes, shapes and numbers of the arrays, and the references, against the header.

    Returns the lengths of the axes.

    Raises:
        DocumentError: one of them is not as the format says.
    """
    names = possible(header)
    if any(name not in names for name in (*arrays, *header.references)):
        refuse("The document has an array with an unknown name.")
    for name in names:
        if name in header.references:
            _check_reference(name, header.references[name], name in arrays)
    shapes = {name: reference.shape for name, reference in header.references.items()}
    shapes |= {name: array.shape for name, array in arrays.items()}
    for name in (f"{name}/{head}" for name in REQUIRED for head in header.heads):
        if name not in shapes:
            refuse(f"Array {name} is missing.")
    if header.kind == "averages":
        _check_averages(header, shapes)
    check_held(header, arrays)
    _check_masks(header, shapes)
    sizes = _check_shapes(header, shapes, names)
    for name in names:
        if name in arrays:
            check_numbers(name, arrays[name])
    return sizes


def check_held(header: Header, arrays: Collection[str]) -> None:
    """Check that a reader can begin with a head: its query, key and value are in the file.

    Raises:
        DocumentError: there is no such head.
    """
    if not any(all(f"{name}/{head}" in arrays for name in REQUIRED) for head in header.heads):
        refuse("The file has query, key and value of none of its heads.")


def _check_averages(header: Header, shapes: Shapes) -> None:
    for name in AVERAGES:
        if name not in shapes:
            refuse(f"Array {name} is missing.")
    if header.mask != "causal" or header.mask_value is not None or header.heads_in_layer != 1:
        refuse("A document of averages has one head and a causal mask of −∞.")


def _check_reference(name: str, reference: Reference, is_held: bool) -> None:
    if is_held:
        refuse(f"Array {name} is in the file, and not in the file.")
    if not DIGEST.fullmatch(reference.digest):
        refuse(f"Array {name} has a digest that is not of letters and digits.")
    _check_dtype(name, reference.dtype)
    if math.prod(reference.shape) * _BYTES[reference.dtype] > MAX_BYTES:
        refuse(f"Array {name} has more than {MAX_BYTES:,} bytes.")


def _check_dtype(name: str, dtype: str) -> None:
    allowed = DTYPES.get(name.partition("/")[0], ("F32",))
    if dtype not in allowed:
        refuse(f"Array {name} is not {' or '.join(allowed)}.")


def _check_masks(header: Header, shapes: Shapes) -> None:
    """Check that there is a mask, or one for each head, if its kind does not say it."""
    of_heads = sum(f"mask/{head}" in shapes for head in header.heads)
    if header.mask in ("none", "causal"):
        if "mask" in shapes or of_heads:
            refuse(f"A mask of the kind {header.mask} has no array.")
    elif of_heads != (0 if "mask" in shapes else len(header.heads)):
        refuse(f"A mask of the kind {header.mask} has one array, or one for each head.")
    if header.mask == "causal" and len(header.query.labels) != len(header.key.labels):
        refuse("A causal mask needs as many queries as keys.")


def _check_shapes(header: Header, shapes: Shapes, names: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Check that axes of one name have one length; those of the tokens have as many places as labels."""
    sizes = {"query": len(header.query.labels), "key": len(header.key.labels), "head": header.heads_in_layer, "one": 1}
    crosses = "embeddings_k" in shapes
    fitting = set()  # heads have arrays of the same shapes
    for name, listed in names.items():
        if name not in shapes or (listed, shapes[name]) in fitting:
            continue
        axes = listed if crosses else tuple(axis.replace("key_model", "model") for axis in listed)
        shape = shapes[name]
        fits = len(shape) == len(axes) and all(
            size > 0 and sizes.get(axis, size) == size for axis, size in zip(axes, shape, strict=True)
        )
        if not fits:
            wanted = " × ".join(str(sizes.get(axis, axis)) for axis in axes)
            refuse(f"Array {name} is {' × '.join(map(str, shape))}; it must be {wanted}.")
        fitting.add((listed, shape))
        sizes |= zip(axes, shape, strict=True)
        if "value_dim" in sizes:
            sizes["concat"] = header.heads_in_layer * sizes["value_dim"]
    if not crosses and "model" in sizes:
        sizes["key_model"] = sizes["model"]
    return sizes


def check_numbers(name: str, array: npt.NDArray[Any]) -> None:
    """Check that numbers are finite float32. A mask may also be bool, or hold −inf where a query must not look.

    Raises:
        DocumentError: there are others.
    """
    dtype = _DTYPES.get(array.dtype, "")
    _check_dtype(name, dtype)
    if dtype == "BOOL" and array.view(np.uint8).max() > 1:
        refuse(f"Array {name} holds a byte that is neither 0 nor 1.")
    if dtype != "F32":
        return
    allowed = np.isfinite(array)
    if name.startswith("mask"):
        allowed |= np.isneginf(array)
    if not allowed.all():
        refuse(f"Array {name} holds a number that is not finite.")

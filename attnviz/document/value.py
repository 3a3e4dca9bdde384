"""`Document`: a frozen header and read-only arrays, and the checks of names, dtypes, shapes and numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from attnviz.trace.matrices import AXES, NORM_WEIGHTS, NORMED, POSITION_TABLES, POSITION_TERMS, QKV, ROTATED

if TYPE_CHECKING:
    from attnviz.attention import Masked, MaskKind
    from attnviz.mask_reasons import MaskReasons
    from attnviz.steps.picture import Picture
    from attnviz.trace.buckets import Buckets
    from attnviz.trace.model import Kind, RowGuesses

VERSION = 6
"""The version of the format; docs/document.md says when it changes"""

Arrays = Mapping[str, npt.NDArray[Any]]
Shapes = dict[str, tuple[int, ...]]

MAX_TOKENS = 4096
"""The most tokens on an axis: a reader computes matrices of queries by keys, 64 MiB each at this size."""
MAX_HEADS = 1024
MAX_DISTANCE = 2**31 - 1
"""The largest distance of buckets"""
MAX_BYTES = 128 * 2**20
"""The largest file, and the largest array outside of the file"""

DocumentKind = Literal["walk", "averages", "block"]
"""walk: heads of a layer, step by step; averages: the steps from an average over the past to one such head; block:
heads of a layer, and the steps around them in a transformer"""

COMPUTED = (
    "query_angles", "key_angles", "key_t", "scores", "scaled", "capped", "biased", "masked", "weights", "sink",
    "row_sum", "head_outputs", "triangle", "masked_zeros", "softmax_weights", "by_data",
)  # fmt: skip
"""The matrices that are not in a document: a reader computes them"""

ARRAYS: dict[str, tuple[str, ...]] = {
    **{name: axes for name, axes in AXES.items() if name not in COMPUTED},
    "thumbnails": ("head", "rows", "columns"), "hidden_thumbnail": ("rows", "columns"),
}  # fmt: skip
"""The arrays and their axes. Without `embeddings_k`, keys and values come from `embeddings`, so key_model is model."""

PROJECTIONS = ("W_query", "W_key", "W_value", "U_query", "U_key", "U_value")
"""The arrays of a head that grow with the width of the model; together they are most of a layer's data"""
OF_HEAD = (
    *PROJECTIONS,
    "b_query",
    "b_key",
    "b_value",
    *QKV,
    *NORM_WEIGHTS,
    *NORMED,
    *ROTATED,
    "mask",
    *POSITION_TABLES,
    *POSITION_TERMS,
    "position_bias",
    "sinks",
)
"""The arrays of a head: head 5's query is `query/5`. A mask that all heads share is `mask`."""

REQUIRED = QKV

DTYPES = {"mask": ("F32", "BOOL"), "thumbnails": ("U8",), "hidden_thumbnail": ("U8",)}
"""The dtypes of arrays that are not F32"""
CODES = {np.dtype(np.float32): "F32", np.dtype(np.bool_): "BOOL", np.dtype(np.uint8): "U8"}


class DocumentError(ValueError):
    """A document is rejected; the message says why, in one sentence."""


def refuse(why: str) -> NoReturn:
    """Raise DocumentError."""
    raise DocumentError(why)


OfHeads = str | tuple[str, ...]
"""One text for all heads, or one per head in the order of `Header.heads`; notice, fact and advice may be
`attnviz.annotated_text.AnnotatedText`"""


@dataclass(frozen=True, slots=True)
class Axis:
    """The tokens of the rows (queries) or of the columns (keys)."""

    text: str
    """The tokenized text"""
    pair: str | None
    """The second text of the tokenizer, if there is one"""
    labels: tuple[str, ...]
    """The labels of the tokens"""
    ids: tuple[int, ...]
    """Negative: the token has no id"""
    covers: tuple[str, ...]
    """The characters of the text that each token covers"""
    places: tuple[str, ...]
    """The positions of these characters, such as "4 to 9", from 0; "" for a token that the tokenizer added"""
    segments: tuple[int, ...]
    """1 for tokens of the second text, else 0"""
    unknown: tuple[bool, ...]
    """Whether a token replaces characters that are not in the vocabulary"""


@dataclass(frozen=True, slots=True)
class StepText:
    """The texts and the picture of one step. `attnviz.steps.Step` describes the fields of the same names."""

    name: str
    """The step's name in links"""
    title: str
    """Its name in the app"""
    formula: OfHeads
    """MathML Core: one `<math>` element"""
    notice: OfHeads
    """What to notice in a head's picture"""
    fact: OfHeads
    """A sentence about a head's numbers; "" if there is nothing to say"""
    advice: OfHeads
    """What to do if a head's picture looks blank; "" if it does not"""
    code: OfHeads
    """Lines of PyTorch"""
    missing: str
    """Why the step can't show all that it needs; "" if it can"""
    is_by_cell: bool
    """Whether it has one cell per query and key"""
    can_be_covered: bool
    """Whether rows of the result can be covered"""
    can_be_stretched: bool
    """Whether its colour domain can end at the largest weight"""
    picture: Picture | None
    """None for a step without matrices, or if the source provides none of them"""


@dataclass(frozen=True, slots=True)
class Reference:
    """An array that is not in the file."""

    digest: str
    """The digest by which a reader fetches it"""
    dtype: Literal["F32", "BOOL", "U8"]
    """The type of its numbers, as in a safetensors file"""
    shape: tuple[int, ...]
    """Its shape"""


@dataclass(frozen=True, slots=True)
class Header:
    """Everything in a document except the arrays. Layers and heads are counted from 0."""

    model: str
    """The model's name; "" if not known"""
    attention: Kind
    """encoder: self-attention in both directions, decoder: causal, cross: from the decoder to the encoder"""
    layer: int
    """In a document of kind block, the number of the attention among all of the model, in order of computation"""
    heads: tuple[int, ...]
    """The heads in the document, in ascending order"""
    heads_in_layer: int
    """The number of heads of the layer, H"""
    query: Axis
    """The tokens of the rows"""
    key: Axis
    """The same as `query` in self-attention"""
    scale: float
    """The factor between scores and scaled"""
    scale_label: str
    """The name of the scale: "1/√32", "off" or a number"""
    mask: MaskKind
    """What the mask hides"""
    steps: tuple[StepText, ...]
    """All steps, in the order of computation"""
    references: Mapping[str, Reference] = field(default_factory=dict)
    """Arrays that are not in the file, by their names"""
    kind: DocumentKind = "walk"
    """Which steps it has"""
    place: str = ""
    """Where the attention is in the model, such as "encoder block 2", if the kind is block; else "" """
    mask_value: float | None = None
    """The number that fills hidden cells; None is −∞"""
    guesses: tuple[RowGuesses, ...] = ()
    """What the model expects, in the order of the rows; empty if it names no tokens, or if `guesses_at` is not"""
    guesses_at: str = ""
    """The digest by which a reader fetches the guesses, as JSON; "" if they are in the file. A file without it has
    them"""
    guesses_note: str = ""
    """What is said of the guesses, as a sentence; "" if nothing is. A file without it has none"""
    mask_fills: Masked = "scaled"
    """Whether it fills cells of `scaled`, or of `scores`, so that the scale multiplies it"""
    cap: float | None = None
    """The soft cap of the scaled scores; None if there is none. A file without it has none"""
    buckets: Buckets | None = None
    """Which distances share a number of the position bias; None if it has no buckets. A file without it has none"""
    shared_by: int = 1
    """How many heads after one another share a head of keys and values. In a file without it, each has its own"""
    mask_reasons: MaskReasons | None = None
    """Why the mask hides its cells; None if that is not known, or if `mask` says it. A file without it has none"""
    version: int = VERSION
    """The version of the format"""


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """Heads of one layer as an immutable value.

    Raises:
        DocumentError: the header and the arrays do not agree, or an array holds numbers that the format forbids.
    """

    header: Header
    """Everything except the arrays"""
    arrays: Mapping[str, npt.NDArray[Any]]
    """Read-only arrays by the names in `ARRAYS`; those of a head are named like `query/5`"""

    def __post_init__(self) -> None:
        check_header(self.header)
        check_arrays(self.header, self.arrays)
        frozen = {name: read_only(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(frozen))

    @classmethod
    def of_checked(cls, header: Header, arrays: Mapping[str, npt.NDArray[Any]]) -> Document:
        """Return a document of parts that are known to be valid; the arrays come from `read_only`.

        `making` produces only valid names, shapes and dtypes, and checks the numbers that it puts into the file.
        """
        document = object.__new__(cls)
        object.__setattr__(document, "header", header)
        object.__setattr__(document, "arrays", MappingProxyType(dict(arrays)))
        return document


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous view, or a copy, that can't be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


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
    if header.cap is not None and not 0 < header.cap < math.inf:
        refuse("header.cap is not above 0.")
    if header.buckets is not None:
        _check_buckets(header.buckets)


def _check_buckets(buckets: Buckets) -> None:
    """Check that `Buckets.of` can compute them.

    Raises:
        DocumentError: there are too few, or the distance is too small or too large.
    """
    single = buckets.count // (4 if buckets.both_sides else 2)  # those of a side with one distance each
    least = single + 1 if buckets.both_sides else single
    if single < 1 or not least <= buckets.max_distance <= MAX_DISTANCE:
        refuse("header.buckets has too few buckets, or too small or too large a distance.")


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

    A position bias may hold NaN, in hidden cells for which there is none.

    Raises:
        DocumentError: the dtype or a number is not allowed.
    """
    dtype, allowed_dtypes = CODES.get(array.dtype, ""), DTYPES.get(name.partition("/")[0], ("F32",))
    if dtype not in allowed_dtypes:
        refuse(f"Array {name} is not {' or '.join(allowed_dtypes)}.")
    if dtype == "BOOL" and array.view(np.uint8).max() > 1:
        refuse(f"Array {name} holds a byte that is neither 0 nor 1.")
    if dtype != "F32":
        return
    allowed = np.isfinite(array)
    if name.startswith("mask"):
        allowed |= np.isneginf(array)
    if name.startswith("position_bias/"):
        allowed |= np.isnan(array)
    if not allowed.all():
        refuse(f"Array {name} holds a number that is not finite.")

"""`Document`: a frozen header and read-only arrays that agree in names, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from attnviz.document.checks import DocumentError, DocumentKind, check_arrays, check_header

if TYPE_CHECKING:
    from attnviz.attention import Masked, MaskKind
    from attnviz.steps.picture import Picture
    from attnviz.trace.model import Kind

__all__ = ["VERSION", "Axis", "Document", "DocumentError", "Header", "OfHeads", "Reference", "StepText"]

VERSION = 5
"""The version of the format; docs/document.md says when it changes"""

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
    mask_fills: Masked = "scaled"
    """Whether it fills cells of `scaled`, or of `scores`, so that the scale multiplies it"""
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
    """Read-only arrays by the names in `checks.ARRAYS`; those of a head are named like `query/5`"""

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

"""`Document`: a header and arrays, frozen. Whatever is not valid can't be one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from attnviz.document.checks import DocumentError, check_arrays, check_header

if TYPE_CHECKING:
    from attnviz.attention import MaskKind

__all__ = ["VERSION", "Axis", "Document", "DocumentError", "Header", "StepText"]

VERSION = 1
"""The version of the format; docs/document.md says when it changes"""


@dataclass(frozen=True, slots=True)
class Axis:
    """The tokens of the rows (queries) or of the columns (keys)."""

    text: str
    pair: str | None
    """The second text of the tokenizer, if there is one"""
    labels: tuple[str, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StepText:
    """What is said of one step of this head, and which matrices it shows."""

    name: str
    title: str
    formula: str
    """MathML Core: one `<math>` element"""
    notice: str
    fact: str
    """A sentence about this head's numbers; "" if there is none"""
    code: str
    """Lines of PyTorch"""
    matrices: tuple[tuple[str | None, ...], ...]
    """The names of the matrices in the rows of the picture; None is an empty place, () a step without matrices"""


@dataclass(frozen=True, slots=True)
class Header:
    """What a document says of a head, beside its numbers. Layers and heads are counted from 0."""

    source: str
    """The model and the head in words, such as "minilm · layer 3 · head 5"; "" if not known"""
    query: Axis
    key: Axis
    """The same as `query` in self-attention"""
    layer: int
    head: int
    scale: float
    mask: MaskKind
    steps: tuple[StepText, ...]
    """Those that this head has, in the order of computation"""
    kind: Literal["walk"] = "walk"
    version: int = VERSION


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One head as a value.

    Raises:
        DocumentError: the header and the arrays do not agree, or hold what the format forbids.
    """

    header: Header
    arrays: Mapping[str, npt.NDArray[Any]]
    """Read-only arrays by the names in `checks.ARRAYS`"""

    def __post_init__(self) -> None:
        check_header(self.header)
        check_arrays(self.header, self.arrays)
        frozen = {name: _read_only(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(frozen))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous view, or a copy, that can't be written."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view

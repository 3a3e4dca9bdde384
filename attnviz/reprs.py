"""Short reprs for notebooks (names and shapes on one line, never the numbers), and sizes for caches.

Values that also have a widget are a `NotebookRepr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import fields
from reprlib import repr as shortened
from typing import Any, ClassVar

Bundle = tuple[dict[str, Any], dict[str, Any]]
"""Data and metadata by MIME type"""


class ShortRepr:
    """Gives a class a repr of one line. A dataclass must be created with `repr=False` to inherit it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._summary())})"

    def _summary(self) -> Iterator[str]:
        """Yield the parts between the parentheses: for a dataclass, each shown field that is not None or empty."""
        shown = (field.name for field in fields(self) if field.repr)  # type: ignore[arg-type]
        values = ((name, getattr(self, name)) for name in shown)
        return (f"{name}{_brief(value)}" for name, value in values if not _is_empty(value))


class NotebookRepr(ShortRepr):
    """Adds the display of a value in a notebook's cell."""

    __slots__ = ()
    bundle: ClassVar[Callable[[Any], Bundle | None]] = staticmethod(lambda _: None)
    """Returns a value's display, or None to use its repr. `attnviz` sets it, as this module must not import widgets."""

    def _repr_mimebundle_(self, **_: Any) -> Bundle | None:
        return NotebookRepr.bundle(self)


class ArraysSize:
    """Gives a dataclass the size of its arrays."""

    __slots__ = ()

    @property
    def nbytes(self) -> int:
        """Bytes in memory of the arrays in its fields, in tuples too, and of fields that have a size themselves."""
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return sum(map(_nbytes, values))


def _nbytes(value: Any) -> int:
    return sum(map(_nbytes, value)) if isinstance(value, tuple) else int(getattr(value, "nbytes", 0))


def _is_empty(value: Any) -> bool:
    return value is None or (not hasattr(value, "shape") and isinstance(value, Sized) and len(value) == 0)


def _brief(value: Any) -> str:
    """Describe a value in a few words, to follow its name."""
    if hasattr(value, "shape"):
        return f" {tuple(value.shape)}"
    if isinstance(value, str):
        return f" {shortened(value)}"
    if isinstance(value, ShortRepr):
        return f" {value!r}"
    if isinstance(value, Sized):
        return f" [{len(value)}]"
    if callable(value):
        return ""
    return f" {value:.4g}" if isinstance(value, float) else f" {value!r}"

"""What a widget shows: all heads of one kind of attention of a trace, or of a single layer, as documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save

from attnviz.document import array_of, document_of_layer, write
from attnviz.measures.layers import weights_by_chunk
from attnviz.measures.thumbnails import thumbnails
from attnviz.reprs import ShortRepr
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk

if TYPE_CHECKING:
    from attnviz.trace.model import Kind

OWN_BYTES = 2**20
"""The largest array of another head than the first that is sent before it is looked at"""
PROJECTIONS = ("W_query", "W_key", "W_value", "U_query", "U_key", "U_value")
"""The arrays of a head that grow with the width of the model, and are together most of a layer"""


@dataclass(frozen=True, eq=False, repr=False)
class Heads(ShortRepr):
    """Heads of one or more layers on one text."""

    walk: Callable[[int, int], Walk]
    """Returns the head of a layer"""
    layers: tuple[int, ...]
    """Their own numbers in the model"""
    count: int
    """Heads in each layer"""

    def document(self, layer: int, head: int) -> bytes:
        """Return the document of a layer as a file, with all that a head needs.

        Raises:
            attnviz.document.DocumentError: the text is too long, or its numbers are not finite.
        """
        walk = self.walk(layer, head)
        small = np.concatenate([thumbnails(weights.numpy()) for _, weights in weights_by_chunk(walk.layer)])
        return write(document_of_layer(walk, thumbnails=small, refer_to=partial(_refer_to, layer, head)))

    def array(self, digest: str) -> bytes:
        """Return an array that a document refers to, as a safetensors file with the one array `array`.

        Raises:
            LookupError: there is no such array.
            ValueError: this is no digest of a document.
        """
        layer, name, *of = digest.split("-")
        if int(layer) not in self.layers:
            raise LookupError(digest)
        head = int(of[0]) if of else 0
        return save({"array": array_of(self.walk(int(layer), head), "/".join([name, *of]))})


def heads_of(what: Trace | Walk, kind: Kind | None = None) -> tuple[Heads, dict[str, Any]]:
    """Return the heads of a trace, of its first kind of attention or another, or those of a head's layer.

    Also returns what is to be shown first, by the names of the widget's traits.

    Raises:
        IndexError: the trace has no such kind of attention.
        TypeError: this is neither a trace nor a head.
    """
    if isinstance(what, Walk):
        layer = what.layer_index
        heads = Heads(lambda _, head: _named(replace(what, head=head)), (layer,), what.layer.heads)
        return heads, {"layer": layer, "head": what.head}
    trace = check_trace(what, kind)
    kind = trace.kinds[0] if kind is None else kind
    numbers = trace.numbers_of(kind)
    count = trace.layer(numbers[0], kind).heads
    return Heads(lambda layer, head: _named(trace.walk(layer, head, kind)), numbers, count), {}


def check_trace(what: object, kind: Kind | None) -> Trace:
    """Return a trace that has this kind of attention; raises as `heads_of` does."""
    if not isinstance(what, Trace):
        name = type(what).__name__
        raise TypeError(f"A value of type {name} is neither a text nor a trace; pass what `attnviz.trace` returns.")
    what.numbers_of(kind)
    return what


def _named(walk: Walk) -> Walk:
    """Return a head with a name for the title of its picture, if it has none."""
    name = f"{walk.model} · layer {walk.layer_index} · head {walk.head}".removeprefix(" · ")
    return walk if walk.name else replace(walk, name=name)


def _refer_to(layer: int, head: int, name: str, nbytes: int) -> str | None:
    """Return the digest of an array that is not sent at once; `Heads.array` reads it."""
    kind, _, of = name.partition("/")
    is_sent = of == str(head) or (kind not in PROJECTIONS and nbytes <= OWN_BYTES)
    return None if is_sent else f"{layer}-{name.replace('/', '-')}"

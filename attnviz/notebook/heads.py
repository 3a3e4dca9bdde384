"""The heads that a widget shows, as documents: those of one kind of attention of a trace, or of a single layer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import torch
from safetensors.numpy import save

from attnviz.document import GUESSES, array_of, document_of_layer, guesses_of, write
from attnviz.document.value import PROJECTIONS
from attnviz.measures.score_parts import ScoreParts, score_parts
from attnviz.reprs import ShortRepr
from attnviz.trace.model import Place
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk
from attnviz.trained.shipped import title

if TYPE_CHECKING:
    from attnviz.trace.model import Kind

NO_TRACE = "A head alone does not know what its X is made of: show the trace that it is from."
OWN_BYTES = 2**20
"""Larger arrays of a head other than the first are sent only when a user selects the head"""


@dataclass(frozen=True, eq=False, repr=False)
class Heads(ShortRepr):
    """Heads of one or more layers on one text."""

    walk: Callable[[int, int], Walk]
    """Returns the head of a layer"""
    layers: tuple[int, ...]
    """The layers' own numbers in the model"""
    count: int
    """Heads in each layer"""
    score: Callable[[int, int, int, int], ScoreParts] = lambda *_: ScoreParts(torch.empty(0), reason=NO_TRACE)
    """Returns what a score is made of, by layer, head, query and key"""
    id: str = field(default_factory=lambda: uuid4().hex)
    """In the names of its arrays: a browser keeps those of all widgets of a page together"""

    def document(self, layer: int, head: int) -> bytes:
        """Return the document of a layer as a file, with all that a head needs.

        Raises:
            attnviz.document.DocumentError: the text is too long, or its numbers are not finite.
        """
        walk = self.walk(layer, head)
        return write(document_of_layer(walk, thumbnails=True, refer_to=partial(self._refer_to, layer, head)))

    def array(self, digest: str) -> bytes:
        """Return the safetensors file with an array that a document refers to, named `array`; or the guesses, as JSON.

        Raises:
            LookupError: there is no such array.
            ValueError: this is not a digest from a document.
        """
        owner, layer, name, *head_part = digest.split("-")
        if owner != self.id or int(layer) not in self.layers:
            raise LookupError(digest)
        if name == GUESSES:
            return guesses_of(self.walk(int(layer), 0))
        head = int(head_part[0]) if head_part else 0
        return save({"array": array_of(self.walk(int(layer), head), "/".join([name, *head_part]))})

    def score_parts(self, layer: int, numbers: str) -> bytes:
        """Return what a score is made of, as JSON.

        Args:
            layer: the layer.
            numbers: the head, the query and the key, joined by "-".

        Raises:
            LookupError: there is no such layer, head, query or key.
            ValueError: these are not three numbers.
        """
        head, q, k = map(int, numbers.split("-"))
        return json.dumps(self.score(layer, head, q, k).payload()).encode()

    def _refer_to(self, layer: int, head: int, name: str, nbytes: int) -> str | None:
        """Return the digest of an array that is not sent at once; `array` reads it."""
        kind, _, head_number = name.partition("/")
        is_sent = head_number == str(head) or (kind not in PROJECTIONS and nbytes <= OWN_BYTES)
        return None if is_sent else f"{self.id}-{layer}-{name.replace('/', '-')}"


def heads_of(what: Trace | Walk, kind: Kind | None = None) -> tuple[Heads, dict[str, Any]]:
    """Return the heads of a trace with this kind of attention (by default, its first), or those of a head's layer.

    Also returns the first values of the widget's traits, by name.

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

    def score(layer: int, head: int, q: int, k: int) -> ScoreParts:
        return score_parts(trace, Place(kind, layer), head, (q, k))

    return Heads(lambda layer, head: _named(trace.walk(layer, head, kind)), numbers, count, score), {}


def check_trace(what: object, kind: Kind | None) -> Trace:
    """Return a trace that has this kind of attention; raises as `heads_of` does."""
    if not isinstance(what, Trace):
        name = type(what).__name__
        raise TypeError(f"A value of type {name} is neither a text nor a trace; pass what `attnviz.trace` returns.")
    what.numbers_of(kind)
    return what


def _named(walk: Walk) -> Walk:
    """Return a head with a name for the title of its picture, if it has none."""
    name = f"{title(walk.model)} · layer {walk.layer_index} · head {walk.head}".removeprefix(" · ")
    return walk if walk.name else replace(walk, name=name)

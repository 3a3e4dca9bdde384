"""The documents of a text's layers, or of all attentions of a model, as the browser requests them.

The page offers each document, which computes nothing. A request for one runs the model, once for all who
ask; large arrays are not in it, and are requested when somebody looks at them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.pretrained import BUILT_IN
from attnviz.runtime.arrays import PART, NotOfferedError, UnmakeableError, array_store
from attnviz.sources.shown import Shown
from attnviz.tokens import NoTokensError, Tokens
from attnviz.ui import caches
from attnviz.ui.sources import RESOURCES, SavedView

if TYPE_CHECKING:
    from attnviz.document import Document, ReferTo
    from attnviz.trace.walk import Walk

HEADS_BYTES = 2**20
"""Up to this size, query, key and value of all heads are in the document; else those of its first head."""
OTHER_BYTES = 2**14
"""Up to this size, any other array is in the document."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A document that ships with the app, so that it is there before its model is loaded."""

    has: Callable[[Mapping[str, Any], int], bool]
    """Whether it is that of a layer of a view"""
    document: Callable[[str], Document]
    """Returns it; takes the digest under which it is offered"""


@dataclass(frozen=True, slots=True)
class _Layers:
    """All layers of a text by what they are made of: no tensors, so an offer may hold it."""

    view: SavedView
    budget: int | None
    """The number of the model's `TraceBudget`: a model that was loaded again may have other weights. None for the
    built-in model, whose weights are always the published ones."""
    shipped: Shipped | None

    def is_shipped(self, layer: int) -> bool:
        """Return whether a layer's document ships with the app."""
        return self.shipped is not None and self.shipped.has(self.view.view, layer)

    def walk(self, layer: int, head: int = 0) -> Walk:
        """Return a head, from the cached trace or computed again.

        Raises:
            NotOfferedError: the model can't be loaded any more, is another one now, or has no such head.
        """
        from attnviz.pretrained import ModelError

        try:
            here = self.view.shown().at(layer, head)
            if self.budget not in (None, here.model.trace_budget.number):
                raise NotOfferedError
            return here.walk(RESOURCES)
        except (ModelError, NoTokensError, IndexError) as error:
            raise NotOfferedError from error


def offer_documents(
    here: Shown, view: SavedView, tokens: tuple[Tokens | None, ...], shipped: Shipped | None = None
) -> list[str | None]:
    """Offer the documents of all layers, or attentions, and return their digests by the layers' numbers.

    A layer of the model without attention has None.

    Args:
        here: what the page shows.
        view: the settings that lead to it.
        tokens: the tokens that the model reads.
        shipped: a document that need not be made.
    """
    store = array_store()
    layers = _Layers(view, None if here.model.name == BUILT_IN else here.model.trace_budget.number, shipped)
    settings = [(name, view.view[name]) for name in here.source.keys if name not in ("layer", "head")]
    read = [None if one is None else (one.labels, one.ids) for one in tokens]
    text = store.digest((view.page, here.source.key, here.text, here.pair, layers.budget, settings, read))
    digests: list[str | None] = [None] * (here.numbers[-1] + 1)
    for layer in here.numbers:
        key = text, layer
        make = partial(_document, layers, layer, store.digest(key))
        is_first = layers.is_shipped(layer)  # which newcomers wait for
        digests[layer] = store.offer(key, make, part=partial(_array, layers, layer), compress=is_first)
    return digests


def _document(layers: _Layers, layer: int, digest: str) -> bytes:
    from attnviz.document import DocumentError, write

    if layers.shipped is not None and layers.is_shipped(layer) and not caches.is_loaded(layers.view.view["model"]):
        return write(layers.shipped.document(digest))
    walk = layers.walk(layer)
    try:
        return write(document_of_walk(walk, digest))
    except DocumentError as error:
        raise UnmakeableError(str(error)) from error


def document_of_walk(walk: Walk, digest: str) -> Document:
    """Return the document of a walk's layer; `digest` is the beginning of the addresses of its large arrays.

    Raises:
        DocumentError: see `document_of_layer`.
    """
    from attnviz.document import document_of_layer

    return document_of_layer(walk, thumbnails=caches.overview(walk.layer), refer_to=_referring(walk, digest))


def _referring(walk: Walk, digest: str) -> ReferTo:
    """Return the rule which arrays a document refers to, and under which addresses."""
    operands: Any = walk.layer.query, walk.layer.key, walk.layer.value
    holds_all = 4 * sum(one.numel() for one in operands) <= HEADS_BYTES

    def refer_to(name: str, nbytes: int) -> str | None:
        matrix, _, head = name.partition("/")
        is_operand = matrix in ("query", "key", "value")
        is_held = holds_all or head == "0" if is_operand else nbytes <= OTHER_BYTES
        return None if is_held else address_of(name, digest)

    return refer_to


def address_of(name: str, digest: str) -> str:
    """Return the address of an array that a document refers to; `digest` is the document's."""
    return f"{digest}{PART}{name.replace('/', '-')}"


def _array(layers: _Layers, layer: int, part: str) -> bytes:
    """Return the file with the one array `array`; `part` is its name in the document, with "-" for "/"."""
    from safetensors.numpy import save

    from attnviz.document import array_of

    _, _, head = part.partition("-")
    walk = layers.walk(layer, int(head) if head.isdecimal() and len(head) < 5 else 0)
    try:
        return save({"array": array_of(walk, part.replace("-", "/"))})
    except KeyError as error:
        raise NotOfferedError from error

"""The documents of a text's layers, as the browser requests them.

The page offers the document of each layer, which computes nothing. A request for one runs the model, once for all who
ask; large arrays are not in it, and are requested when somebody looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.serving.work.arrays import PART, NotOfferedError, UnmakeableError, array_store
from attnviz.sources.shown import Shown
from attnviz.tokens import NoTokensError, Tokens
from attnviz.ui import caches
from attnviz.ui.sources import RESOURCES, SavedView

if TYPE_CHECKING:
    from attnviz.document import ReferTo
    from attnviz.trace.walk import Walk

HEADS_BYTES = 2**20
"""Up to this size, query, key and value of all heads are in the document; else those of its first head."""
OTHER_BYTES = 2**14
"""Up to this size, any other array is in the document."""


@dataclass(frozen=True, slots=True)
class _Layers:
    """All layers of a text by what they are made of: no tensors, so an offer may hold it."""

    view: SavedView
    budget: int
    """The number of the model's `TraceBudget`: a model that was loaded again may have other weights"""

    def walk(self, layer: int, head: int = 0) -> Walk:
        """Return a head, from the cached trace or computed again.

        Raises:
            NotOfferedError: the model can't be loaded any more, is another one now, or has no such head.
        """
        from attnviz.pretrained import ModelError

        try:
            here = self.view.shown().at(layer, head)
            if here.model.trace_budget.number != self.budget:
                raise NotOfferedError
            return here.walk(RESOURCES)
        except (ModelError, NoTokensError, IndexError) as error:
            raise NotOfferedError from error


def offer_documents(here: Shown, view: SavedView, tokens: tuple[Tokens, ...]) -> list[str]:
    """Offer the documents of all layers, and return their digests in the order of the layers.

    Args:
        here: what the page shows.
        view: the settings that lead to it.
        tokens: the tokens of its axes.
    """
    store = array_store()
    layers = _Layers(view, here.model.trace_budget.number)
    settings = [(name, view.view[name]) for name in here.source.keys if name not in ("layer", "head")]
    read = [(one.labels, one.ids) for one in tokens]
    text = store.digest(("walk", here.source.key, here.text, here.pair, here.kind, layers.budget, settings, read))
    digests = []
    for layer in range(here.model.description.layers[here.kind][0]):
        key = text, layer
        make = partial(_document, layers, layer, store.digest(key))
        digests.append(store.offer(key, make, part=partial(_array, layers, layer)))
    return digests


def _document(layers: _Layers, layer: int, digest: str) -> bytes:
    from attnviz.document import DocumentError, document_of_layer, write

    walk = layers.walk(layer)
    try:
        thumbnails = caches.overview(walk.layer)
        return write(document_of_layer(walk, thumbnails=thumbnails, refer_to=_referring(walk, digest)))
    except DocumentError as error:
        raise UnmakeableError(str(error)) from error


def _referring(walk: Walk, digest: str) -> ReferTo:
    """Return the rule which arrays a document refers to, and under which addresses."""
    operands: Any = walk.layer.query, walk.layer.key, walk.layer.value
    holds_all = 4 * sum(one.numel() for one in operands) <= HEADS_BYTES

    def refer_to(name: str, nbytes: int) -> str | None:
        matrix, _, head = name.partition("/")
        is_operand = matrix in ("query", "key", "value")
        is_held = holds_all or head == "0" if is_operand else nbytes <= OTHER_BYTES
        return None if is_held else f"{digest}{PART}{name.replace('/', '-')}"

    return refer_to


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

"""The sources of the page Transformer: a toy with the view's settings, and pretrained models, with all their steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnviz.sources.pretrained import PRETRAINED
from attnviz.sources.shown import Shown
from attnviz.sources.source import Get, Resources, Source
from attnviz.sources.toy import TOY, tokenizer
from attnviz.sources.trained import TRAINED
from attnviz.toy.config import MAX_TEXT_TOKENS, TransformerConfig
from attnviz.trace.model import Place, places
from attnviz.trained.shipped import title

if TYPE_CHECKING:
    from attnviz.toy.transformer import ToyTransformer
    from attnviz.trace.walk import Walk

KEYS = ("pair", "head", "architecture", "depth", "decoder_depth", "heads", "width", "feed_forward", "norm",
        "activation", "bias", "positions", "tokenizer", "charset", "seed")  # fmt: skip


def open_transformer(get: Get, resources: Resources) -> ToyTransformer:
    """Return the toy transformer with the view's settings."""
    from attnviz.toy.transformer import ToyTransformer

    return ToyTransformer(TransformerConfig.of(get), tokenizer(get, resources, limit=MAX_TEXT_TOKENS))


SOURCES: dict[str, Source] = {
    TOY.key: replace(
        TOY,
        keys=KEYS,
        open=open_transformer,
        help="a whole transformer with weights drawn from a seed. It has learned nothing, and its settings are yours.",
    ),
    **{one.key: replace(one, keys=("pair", "model", "head")) for one in (PRETRAINED, TRAINED)},
}
"""By their names in links, in the order in which the page offers them"""


@dataclass(frozen=True, slots=True)
class ShownPart(Shown):
    """An attention of a whole model, and the head of it, that a view shows; `layer` is its number in `places`."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The places of all attentions of the model, in order of computation."""
        return places(self.model.description.numbers)

    @property
    def place(self) -> Place:
        """Where the shown attention is."""
        return self.places[self.layer]

    @property
    def choices(self) -> dict[str, Any]:
        """What is shown of the model, and the model's name if it has one, by link keys."""
        return {**super(ShownPart, self).choices, "block": self.layer}

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of the attentions."""
        return self.numbers

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the attentions, each of which has a document."""
        return tuple(range(len(self.places)))

    @property
    def name(self) -> str:
        """For titles: "toy transformer, seed 0 · decoder block 1 · head 0"."""
        return f"{title(self.model.name)} · {self.place.name} · head {self.head}"

    def at(self, layer: int, head: int) -> ShownPart:
        """Return the same with another attention and head.

        Raises:
            IndexError: the model has no such attention or head.
        """
        for what, index, count in (("attention", layer, len(self.places)), ("head", head, self.heads)):
            if not 0 <= index < count:
                raise IndexError(f"{what} {index} does not exist: {what}s go from 0 to {count - 1}")
        return replace(self, kind=self.places[layer].kind, layer=layer, head=head)

    def walk(self, resources: Resources) -> Walk:
        """Run the model and return the head with the steps around its attention; raises as `trace` does."""
        return replace(self.trace(resources).walk_at(self.layer, self.head), name=self.name)


def shown_part(get: Get, resources: Resources) -> ShownPart:
    """Return what a view shows. An attention or a head that does not exist is replaced by the first, with a note.

    Raises:
        attnviz.pretrained.ModelError: the model can't be loaded.
    """
    source = SOURCES[get("source")]
    model = source.open(get, resources)
    found = places(model.description.numbers)
    number, head, notes = get("block"), get("head"), []
    if number >= len(found):
        notes.append(("block", f"Attention {number} does not exist: the choices go from 0 to {len(found) - 1}."))
        number = 0
    kind = found[number].kind
    heads = model.description.layers[kind][1]
    if head >= heads:
        notes.append(("head", f"Head {head} does not exist: the choices go from 0 to {heads - 1}."))
        head = 0
    pair = get("pair").strip() or None
    return ShownPart(source, model, get("text"), pair, kind, number, head, tuple(notes))

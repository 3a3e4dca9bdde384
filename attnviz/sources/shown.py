"""From a view to what it shows: the model, and the kind, layer and head within what that model has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnviz.sources import SOURCES
from attnviz.sources.source import Get, Resources, Source
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind, Model

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk
    from attnviz.trace.whole import Trace

KIND_NAMES: dict[Kind, str] = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder to encoder"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a view shows."""

    source: Source
    model: Model
    text: str
    pair: str | None
    kind: Kind
    layer: int
    head: int
    notes: tuple[tuple[str, str], ...] = ()
    """What the view asked for in vain: the key, and a sentence for the user"""

    @property
    def layers(self) -> int:
        """How many layers there are to choose from; 0 where a view chooses none."""
        return self.model.description.layers[self.kind][0] if self.source.has_layers else 0

    @property
    def heads(self) -> int:
        """How many heads there are to choose from."""
        return self.model.description.layers[self.kind][1]

    @property
    def name(self) -> str:
        """What is shown, in words: "minilm · layer 3 · head 5"."""
        several = len(self.model.description.layers) > 1
        which = f" · {KIND_NAMES[self.kind]}" if several else ""
        layer = f" · layer {self.layer}" if self.source.has_layers else ""
        return f"{self.model.name}{which}{layer} · head {self.head}"

    def at(self, layer: int, head: int) -> Shown:
        """Return the same with another layer and head.

        Raises:
            IndexError: one that the model does not have.
        """
        layers, heads = self.model.description.layers[self.kind]
        for what, index, count in (("layer", layer, layers), ("head", head, heads)):
            if not 0 <= index < count:
                raise IndexError(f"{what} {index} does not exist: {what}s go from 0 to {count - 1}")
        return replace(self, layer=layer, head=head)

    def tokens(self) -> Tokens:
        """Return the tokens on the rows, without running the model."""
        tokens, decoder_tokens = self.model.read(self.text, self.pair)
        return tokens if decoder_tokens is None or self.kind == "encoder" else decoder_tokens

    def trace(self, resources: Resources) -> Trace:
        """Run the model on the text.

        Raises:
            attnviz.tokens.NoTokensError: the text has no token for this model.
        """
        return resources.trace(self.model, self.text, self.pair)

    def walk(self, resources: Resources) -> Walk:
        """Run the model and pick the head, with its tokens and its name; raises as `trace` does."""
        walk = self.trace(resources).walk(self.layer, self.head, self.kind)
        return replace(walk, name=self.name)


def shown(get: Get, resources: Resources) -> Shown:
    """Return what a view shows; what the model does not have is replaced by its first, and noted.

    Raises:
        attnviz.pretrained.ModelError: the model can't be loaded.
    """
    source = SOURCES[get("source")]
    return of_model(source, source.open(get, resources), get)


def of_model(source: Source, model: Model, get: Get) -> Shown:
    """Return what a view shows of a model that is open."""
    counts = model.description.layers
    first = next(iter(counts))
    kind: Kind = get("kind") if source.has_layers else first
    notes = []
    if kind not in counts:
        notes.append(("kind", f"This model has no {kind} attention."))
        kind = first
    found = {}
    for name, count in zip(("layer", "head"), counts[kind], strict=True):
        found[name] = get(name) if name == "head" or source.has_layers else 0
        if found[name] >= count:
            said = f"{name.capitalize()} {found[name]} does not exist: the choices go from 0 to {count - 1}."
            notes.append((name, said))
            found[name] = 0
    pair = (get("pair").strip() or None) if "pair" in source.keys else None
    return Shown(source, model, get("text"), pair, kind, found["layer"], found["head"], tuple(notes))

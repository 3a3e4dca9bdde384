"""Resolves a view to what it shows: the model, the kind of attention, the layer and the head.

The page Transformer has its own sources, and shows one of all attentions of a whole model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from attnviz.formatting import does_not_exist
from attnviz.sources import SOURCES
from attnviz.sources.models import PRETRAINED, TOY, TRAINED, Get, Resources, Source, tokenizer
from attnviz.tokens import NoTokensError, Tokens
from attnviz.tokens.value import bare
from attnviz.toy.config import MAX_TEXT_TOKENS, TransformerConfig
from attnviz.trace.model import Kind, Model, Place, layers_in_words, no_layer, places
from attnviz.trained.shipped import title

if TYPE_CHECKING:
    from attnviz.measures.score_parts import ScoreParts
    from attnviz.toy.transformer import ToyTransformer
    from attnviz.trace.trace import Trace
    from attnviz.trace.walk import Walk


KIND_NAMES: dict[Kind, str] = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder to encoder"}


@dataclass(frozen=True, slots=True)
class HiddenWord:
    """A word of the typed text that is hidden from the model."""

    row: int
    """The position of its first token, and of the mask"""
    word: str
    label: str
    """The label of its first token, as guesses name it: an uncased model has it in lower case"""
    masks: str
    """What stands in its place: a mask for each of its tokens"""

    @property
    def named(self) -> dict[str, int | str]:
        """Where and what it is, for the browser."""
        return {"row": self.row, "word": self.word, "label": self.label, "masks": self.masks}


@dataclass(frozen=True, slots=True)
class ShownHead:
    """The model and head that a view shows."""

    source: Source
    model: Model
    text: str
    pair: str | None
    kind: Kind
    layer: int
    """The model's own number of the layer"""
    head: int
    notes: tuple[tuple[str, str], ...] = ()
    """For each setting that the model does not have: its key, and a sentence for the user"""
    hidden: HiddenWord | None = None
    """The word in whose place `text` or `pair` has a mask"""

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of the layers to choose from; none if a view of this source has no choice of a layer."""
        return self.numbers if self.source.has_layers else ()

    @property
    def choices(self) -> dict[str, Any]:
        """The kind, layer and head that are shown, and the model's name if it has one, by link key."""
        values = {"kind": self.kind, "layer": self.layer, "head": self.head, "model": self.model.name}
        return {name: value for name, value in values.items() if name in self.source.keys}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The model's own numbers of its layers with this kind of attention, each of which has a document."""
        return self.model.description.numbers[self.kind]

    @property
    def heads(self) -> int:
        """The number of heads per layer."""
        return self.model.description.layers[self.kind][1]

    @property
    def name(self) -> str:
        """For titles: "MiniLM (a small BERT) · layer 3 · head 5"."""
        several = len(self.model.description.layers) > 1
        kind = f" · {KIND_NAMES[self.kind]}" if several else ""
        layer = f" · layer {self.layer}" if self.source.has_layers else ""
        return f"{title(self.model.name)}{kind}{layer} · head {self.head}"

    def at(self, layer: int, head: int) -> ShownHead:
        """Return the same with another layer and head.

        Raises:
            IndexError: the model has no such layer or head.
        """
        if layer not in self.numbers:
            raise IndexError(no_layer(layer, self.numbers))
        if not 0 <= head < self.heads:
            raise IndexError(f"head {head} does not exist: heads go from 0 to {self.heads - 1}")
        return replace(self, layer=layer, head=head)

    def tokens(self) -> Tokens:
        """Return the tokens on the rows, without running the model."""
        return self.axes()[0]

    def axes(self) -> tuple[Tokens, Tokens]:
        """Return the tokens on the rows (queries) and on the columns (keys), without running the model.

        Raises:
            attnviz.tokens.NoTokensError: the model has nothing to read, as encoder or as decoder.
        """
        tokens, decoder_tokens = self.model.read(self.text, self.pair)
        if not len(tokens) or (decoder_tokens is not None and not len(decoder_tokens)):
            raise NoTokensError
        rows = tokens if decoder_tokens is None or self.kind == "encoder" else decoder_tokens
        return rows, tokens if self.kind == "cross" else rows

    def longest(self) -> int:
        """Return how many tokens are on the rows or on the columns, whichever are more, without running the model."""
        columns = self.model.read(self.text, self.pair)[0] if self.kind == "cross" else ()
        return max(len(self.tokens()), len(columns))

    def trace(self, resources: Resources) -> Trace:
        """Run the model on the text.

        Raises:
            attnviz.tokens.NoTokensError: the text has no tokens.
        """
        return resources.trace(self.model, self.text, self.pair)

    @property
    def place(self) -> Place:
        """Where the shown attention is."""
        return Place(self.kind, self.layer)

    def score_parts(self, resources: Resources, q: int, k: int) -> ScoreParts:
        """Run the model and return what the head's score of a query and a key is made of.

        Raises:
            attnviz.tokens.NoTokensError: the text has no tokens.
            IndexError: there is no such query or key.
        """
        from attnviz.measures.score_parts import score_parts

        return score_parts(self.trace(resources), self.place, self.head, (q, k))

    def walk(self, resources: Resources) -> Walk:
        """Run the model and return the head with its tokens and name; raises as `trace` does."""
        walk = self.trace(resources).walk(self.layer, self.head, self.kind)
        return replace(walk, name=self.name)


def shown(get: Get, resources: Resources) -> ShownHead:
    """Return what a view shows. A kind, layer or head that does not exist is replaced by the first, with a note.

    Raises:
        attnviz.pretrained.ModelError: the model can't be loaded.
    """
    source = SOURCES[get("source")]
    return of_model(source, source.open(get, resources), get)


def shown_with_hidden_word(get: Get, resources: Resources) -> ShownHead:
    """Return what a view shows (`shown`), with the word at the view's `blank_at` hidden from the model."""
    here, place = shown(get, resources), get("blank_at")
    return here if place is None else hide_word(here, place)


def hide_word(here: ShownHead, place: int) -> ShownHead:
    """Return the same with the word of the token at a position hidden: a mask stands for each of its tokens.

    If the model guesses no hidden words, or no word is there, nothing is hidden, with a note.
    """
    if not here.model.description.guesses_hidden_words:
        return replace(here, notes=(*here.notes, ("blank_at", "This model guesses no hidden word, so none is hidden.")))
    tokens, mask = here.model.read(here.text, here.pair)[0], here.model.description.mask_piece or ""
    if not place < len(tokens) or tokens.special[place] or tokens.source(place).strip() == mask:
        return replace(here, notes=(*here.notes, ("blank_at", f"Position {place} is no word that can be hidden.")))
    first = last = place
    while tokens.pieces[first].startswith(PIECE_OF_WORD):
        first -= 1
    while last + 1 < len(tokens) and tokens.pieces[last + 1].startswith(PIECE_OF_WORD):
        last += 1
    is_pair = tokens.segments[place] == 1 and here.pair is not None
    text = here.pair if is_pair and here.pair is not None else here.text
    begin, end = tokens.offsets[first][0], tokens.offsets[last][1]
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())  # RoBERTa's pieces include the space before them
    masks = mask * (last - first + 1)
    masked = text[:begin] + masks + text[end:]
    hidden = HiddenWord(first, text[begin:end], bare(tokens.labels[first]), masks)
    return replace(here, pair=masked, hidden=hidden) if is_pair else replace(here, text=masked, hidden=hidden)


PIECE_OF_WORD = "##"
"""The beginning of BERT's pieces that continue a word"""


def of_model(
    source: Source, model: Model, get: Get, *, pane: str = "", beyond: Literal["first", "last"] = "first"
) -> ShownHead:
    """Return what a view shows of an open model. A kind, layer or head that does not exist is replaced, with a note.

    Args:
        source: the source of the model.
        model: the model.
        get: the view.
        pane: the pane of a comparison that the notes name; empty if there is one model only.
        beyond: whether an index that does not exist is replaced by the first or by the last one below it.
    """
    this_model, of_pane = (f"The model of {pane}", f" of {pane}") if pane else ("This model", "")
    counts = model.description.layers
    first = next(iter(counts))
    kind: Kind = get("kind") if source.has_layers else first
    notes = []
    if kind not in counts:
        notes.append(("kind", f"{this_model} has no {kind} attention."))
        kind = first
    existing = {"layer": model.description.numbers[kind], "head": tuple(range(counts[kind][1]))}
    indices = {}
    for name, numbers in existing.items():
        indices[name] = requested = get(name) if name == "head" or source.has_layers else numbers[0]
        if requested not in numbers:
            subject = f"{name.capitalize()} {requested}{of_pane}"
            if numbers == tuple(range(len(numbers))):
                notes.append((name, does_not_exist(subject, numbers[-1])))
            else:
                notes.append((name, f"{subject} has no attention: the model has it in {layers_in_words(numbers)}."))
            below = [number for number in numbers if number < requested]
            indices[name] = below[-1] if below and beyond == "last" else numbers[0]
    pair = (get("pair").strip() or None) if "pair" in source.keys else None
    return ShownHead(source, model, get("text"), pair, kind, indices["layer"], indices["head"], tuple(notes))


TOY_KEYS = (
    "pair", "head", "architecture", "depth", "decoder_depth", "heads", "kv_heads", "width", "feed_forward", "norm",
    "activation", "bias", "positions", "tokenizer", "charset", "cap", "sink", "window", "qk_norm", "seed",
)  # fmt: skip


def open_transformer(get: Get, resources: Resources) -> ToyTransformer:
    """Return the toy transformer with the view's settings."""
    from attnviz.toy.transformer import ToyTransformer

    return ToyTransformer(TransformerConfig.of(get), tokenizer(get, resources, limit=MAX_TEXT_TOKENS))


TRANSFORMER_SOURCES: dict[str, Source] = {
    TOY.key: replace(
        TOY,
        keys=TOY_KEYS,
        open=open_transformer,
        help="a whole transformer with weights drawn from a seed. It has learned nothing, and its settings are yours.",
    ),
    **{source.key: replace(source, keys=("pair", "model", "head")) for source in (PRETRAINED, TRAINED)},
}
"""By their names in links, in the order in which the page offers them"""


@dataclass(frozen=True, slots=True)
class ShownPart(ShownHead):
    """An attention of a whole model and one of its heads, as a view shows them; `layer` is the attention's number."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The places of all attentions of the model, in order of computation."""
        return places(self.model.description.numbers)

    @property
    def place(self) -> Place:
        """Where the shown attention is."""
        return self.places[self.layer]

    def has_narrow_window(self) -> bool:
        """Return whether the window of a layer hides tokens of a text from others of the same text.

        Raises:
            NoTokensError: a text has no tokens.
        """
        if not self.model.description.windows:
            return False
        read, target = self.model.read(self.text, self.pair)
        counts: dict[Kind, int] = {"encoder": len(read), "decoder": len(read if target is None else target)}
        return any(self.model.description.has_narrow_window(kind, count) for kind, count in counts.items())

    @property
    def choices(self) -> dict[str, Any]:
        """The kind, attention and head that are shown, and the model's name if it has one, by link key."""
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
    source = TRANSFORMER_SOURCES[get("source")]
    model = source.open(get, resources)
    attentions = places(model.description.numbers)
    notes = []

    def existing(key: str, what: str, count: int) -> int:
        index: int = get(key)
        if index < count:
            return index
        notes.append((key, does_not_exist(f"{what} {index}", count - 1)))
        return 0

    number = existing("block", "Attention", len(attentions))
    kind = attentions[number].kind
    head = existing("head", "Head", model.description.layers[kind][1])
    pair = get("pair").strip() or None
    return ShownPart(source, model, get("text"), pair, kind, number, head, tuple(notes))

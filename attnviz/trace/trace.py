"""The trace of one text through a model, the same type for every source. Layers and heads are counted from 0.

A layer's number is its number in the model: if only some layers have attention, `numbers` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnviz.attention import AttentionSteps
from attnviz.reprs import NotebookRepr
from attnviz.tokens import Tokens
from attnviz.trace.context import context_of
from attnviz.trace.embedding_sum import EmbeddingSum
from attnviz.trace.layer import Block, LayerTrace, Norm, held_bytes
from attnviz.trace.model import Kind, Place, RowGuesses, layers_and_heads, no_layer, numbered, places
from attnviz.trace.vocabulary import Vocabulary
from attnviz.trace.walk import Walk


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Trace(NotebookRepr):
    """One forward pass of one model on one text."""

    tokens: Tokens
    """The encoder's tokens, or the decoder's if there is no encoder"""
    decoder_tokens: Tokens | None
    """The decoder's tokens of an encoder-decoder model, else None"""
    blocks: dict[Kind, tuple[Block, ...]]
    """The blocks by kind of attention"""
    last_hidden_state: Tensor
    """(T, C)"""
    embedding_parts: dict[str, Tensor] = field(default_factory=dict)
    """The summands of `embeddings`, such as "token" and "position", (T, C) each; empty if not known"""
    decoder_embedding_parts: dict[str, Tensor] = field(default_factory=dict)
    """The same for the first decoder block's input in an encoder-decoder model"""
    find_embedding_sum: Callable[[Trace], EmbeddingSum | None] = lambda _: None
    """Returns what `embeddings` are made of, where `embedding_parts` is empty; None if that is not known"""
    has_positions: bool | None = None
    """Whether `embeddings` include positions, if their summands are not known; None if that is not known either"""
    final_norms: Mapping[str, Norm | None] = field(default_factory=dict)
    """The norms after the last blocks, by stack, "encoder" or "decoder"; a stack without a norm has no entry. None is a
    norm other than LayerNorm, whose result is the last hidden state"""
    vocabulary: Vocabulary | None = None
    """How the language head computes the logits, if that is known"""
    has_learned: bool = False
    """Whether the weights come from training"""
    weights: tuple[Tensor, ...] = ()
    """Weights that belong to this trace, such as the toy's, which are drawn for each text"""
    language_head: Callable[[Tensor], Tensor] | None = None
    """Computes the logits, (T, V), from the last hidden state; None if the model has no language head"""
    rerun: Callable[[int], Tensor] | None = None
    """Runs the model on a batch of so many copies of the text and returns the last hidden states, (B, T, C), without
    the heads that this thread leaves out (`attnviz.trace.recorder.replaced`). It raises ReferenceError if the model is
    no longer open. None if the model can't be run again"""
    model: str = ""
    """The model's name; "" if not known"""
    numbers: dict[Kind, tuple[int, ...]] = field(default_factory=dict)
    """The numbers in the model of the layers in `blocks`, as in `Description`"""

    def __post_init__(self) -> None:
        counts = {kind: len(blocks) for kind, blocks in self.blocks.items()}
        object.__setattr__(self, "numbers", numbered(counts, self.numbers))

    def _summary(self) -> Iterator[str]:
        if self.model:
            yield self.model
        yield f"{len(self.tokens)} tokens"
        if self.decoder_tokens is not None:
            yield f"{len(self.decoder_tokens)} decoder tokens"
        yield layers_and_heads({kind: (len(layers), layers[0].heads) for kind, layers in self.layers.items()})

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The model's kinds of attention."""
        return tuple(self.blocks)

    @property
    def embeddings(self) -> Tensor | None:
        """The first block's input X, (T, C); None if not known, or if the first block has no attention."""
        return self.block(0).input if self.numbers[self.kinds[0]][0] == 0 else None

    @property
    def embedding_sum(self) -> EmbeddingSum | None:
        """What `embeddings` are made of; None if that is not known."""
        return EmbeddingSum(self.embedding_parts) if self.embedding_parts else self.find_embedding_sum(self)

    @property
    def logits(self) -> Tensor | None:
        """Compute the logits of the next or the masked token, (T, V); None if the model has no language head."""
        if self.language_head is None:
            return None
        with torch.inference_mode():
            return self.language_head(self.last_hidden_state)

    @property
    def focus(self) -> tuple[int, ...]:
        """The rows whose likeliest tokens are shown first: those of masked tokens, or else the last row.

        In an encoder that is the last row of the text itself, before tokens that the tokenizer adds.
        """
        kind = self.places[-1].kind
        tokens = self.query_tokens(kind)
        masked = None if self.vocabulary is None else self.vocabulary.masked
        guessed = tuple(row for row, token in enumerate(tokens.ids) if token == masked)
        text_rows = [row for row, is_added in enumerate(tokens.special) if kind != "encoder" or not is_added]
        return guessed or (text_rows[-1] if text_rows else len(tokens) - 1,)

    def guesses(self, kind: Kind) -> tuple[RowGuesses, ...]:
        """Return what a trained model expects, for the rows that it makes a guess for (`guessed_rows`)."""
        kept = _guesses.setdefault(self, {})
        if kind not in kept:  # the documents of all layers name them
            kept[kind] = self._guess(kind)
        return kept[kind]

    def guessed_rows(self, kind: Kind) -> list[int]:
        """Return the rows of this kind's matrices that a trained model makes a guess for.

        For an encoder these are the masked tokens; for a decoder all rows, each for the token after it, or of a text
        whose logits are too many the last ones. Empty without a known language head, and where the rows are the
        encoder's of a model with a decoder.
        """
        vocabulary, last = self.vocabulary, self.places[-1].kind
        if vocabulary is None or not self.has_learned or (kind == "encoder") != (last == "encoder"):
            return []
        ids = self.query_tokens(kind).ids
        if kind == "encoder":
            return [row for row, token in enumerate(ids) if token == vocabulary.masked]
        return list(range(len(ids)))[-vocabulary.rows_at_once :]

    def _guess(self, kind: Kind) -> tuple[RowGuesses, ...]:
        rows = self.guessed_rows(kind)
        if self.vocabulary is None or not rows:
            return ()
        with torch.inference_mode():
            return self.vocabulary.guesses(self.last_hidden_state, rows)

    @property
    def parts(self) -> tuple[Tensor, Tensor] | None:
        """Token and position embeddings, (T, C) each, if X is the sum of these two and they are known; else None."""
        return _summands(self.embedding_parts)

    def block(self, layer: int, kind: Kind | None = None) -> Block:
        """Return the block with this number in the model; `kind` defaults to the model's first.

        Raises:
            IndexError: the model has no such kind of attention, or none in this layer.
        """
        kind, numbers = self.kinds[0] if kind is None else kind, self.numbers_of(kind)
        if layer not in numbers:
            raise IndexError(no_layer(layer, numbers))
        return self.blocks[kind][numbers.index(layer)]

    def numbers_of(self, kind: Kind | None = None) -> tuple[int, ...]:
        """Return the numbers of the model's layers with a kind of attention; `kind` defaults to the first.

        Raises:
            IndexError: the model has no such kind of attention.
        """
        kind = self.kinds[0] if kind is None else kind
        if kind not in self.blocks:
            raise IndexError(f"no {kind} attention: this model has {', '.join(self.kinds)}")
        return self.numbers[kind]

    def layer(self, layer: int, kind: Kind | None = None) -> LayerTrace:
        """Return the attention of one block; raises as `block` does."""
        return self.block(layer, kind).attention

    @property
    def layers(self) -> dict[Kind, tuple[LayerTrace, ...]]:
        """The attention of all blocks, by kind, in the order of `numbers`."""
        return {kind: tuple(block.attention for block in blocks) for kind, blocks in self.blocks.items()}

    def attentions(self, layer: int, kind: Kind | None = None) -> Tensor:
        """Compute the weights of all heads of a layer, (H, Tq, Tk)."""
        return self.layer(layer, kind).attentions()

    def head(self, layer: int, head: int, kind: Kind | None = None) -> AttentionSteps:
        """Compute every step of one head."""
        return self.layer(layer, kind).head(head)

    def walk(self, layer: int, head: int, kind: Kind | None = None) -> Walk:
        """Return one head with its tokens; raises IndexError if it does not exist."""
        kind = self.kinds[0] if kind is None else kind
        attention = self.layer(layer, kind)
        attention.mask_of(head)  # raises IndexError
        tokens = self.query_tokens(kind), self.key_tokens(kind)
        parts = self._parts_at(Place(kind, layer))
        has_positions = "position" in parts if parts else self.has_positions
        return Walk(
            *tokens, attention, head, _summands(parts), has_positions, layer_index=layer, model=self.model, kind=kind,
            guess=partial(self.guesses, kind), guess_cells=self._guess_cells(kind),
            head_note="" if self.vocabulary is None else self.vocabulary.note,
        )  # fmt: skip

    def _guess_cells(self, kind: Kind) -> int:
        return 0 if self.vocabulary is None else len(self.guessed_rows(kind)) * self.vocabulary.size

    def _parts_at(self, place: Place) -> dict[str, Tensor]:
        """Return the summands of the embeddings, if an attention reads their sum and they are known."""
        if place.layer or place.kind == "cross":
            return {}
        return self.embedding_parts if place.kind == self.kinds[0] else self.decoder_embedding_parts

    @property
    def places(self) -> tuple[Place, ...]:
        """The places of all attentions of the model, in order of computation."""
        return places(self.numbers)

    def walk_at(self, number: int, head: int) -> Walk:
        """Return one head of the attention with this number in `places`, with the steps around the attention.

        Raises:
            IndexError: the model has no such attention or head.
        """
        if not 0 <= number < len(self.places):
            raise IndexError(f"attention {number} does not exist: attentions go from 0 to {len(self.places) - 1}")
        place = self.places[number]
        walk = self.walk(place.layer, head, place.kind)
        return replace(walk, number=number, block=context_of(self, place))

    def query_tokens(self, kind: Kind) -> Tokens:
        """Return the tokens on the rows of this kind's matrices."""
        return self.tokens if self.decoder_tokens is None or kind == "encoder" else self.decoder_tokens

    def key_tokens(self, kind: Kind) -> Tokens:
        """Return the tokens on the columns of this kind's matrices."""
        return self.tokens if self.decoder_tokens is None or kind != "decoder" else self.decoder_tokens

    @property
    def nbytes(self) -> int:
        """The memory of the trace, in bytes, without the weights of a shared model."""
        tensors = [tensor for blocks in self.blocks.values() for block in blocks for tensor in block.tensors()]
        parts = (*self.embedding_parts.values(), *self.decoder_embedding_parts.values())
        return held_bytes([*tensors, self.last_hidden_state, *parts, *self.weights])


_guesses: WeakKeyDictionary[Trace, dict[Kind, tuple[RowGuesses, ...]]] = WeakKeyDictionary()
"""What has been computed of each trace, freed with it"""


def _summands(parts: Mapping[str, Tensor]) -> tuple[Tensor, Tensor] | None:
    """Return token and position embeddings, if these two are the only summands."""
    return (parts["token"], parts["position"]) if parts.keys() == {"token", "position"} else None

"""The embedding table of a pretrained model, with the token of each row.

Shapes: V rows, C the width of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from torch import Tensor

from attnviz.pretrained import PretrainedModel
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import described
from attnviz.reprs import ShortRepr
from attnviz.tokens import MAX_POSITIONS, label_of

MOST_FOUND = 8
"""Maximum entries suggested for a piece that is not in the vocabulary"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbeddingTable(ShortRepr):
    """The embedding table of a model."""

    weight: Tensor
    """(V, C)"""
    pieces: tuple[str, ...]
    """V pieces of the vocabulary, as the tokenizer spells them"""
    labels: tuple[str, ...]
    """The pieces in readable form: invisible characters are spelled out"""
    decode: Callable[[Sequence[int]], str]
    """The text of ids, without special tokens"""
    positions: int | None
    """Rows of the table of positions that are added to the tokens' rows; None if there is none, or none is known"""

    def containing(self, text: str) -> tuple[str, ...]:
        """Return the labels of entries that contain a text, the shortest ones first."""
        matches = [label for label in self.labels if text.lower() in label.lower()] if text else []
        return tuple(sorted(matches, key=len)[:MOST_FOUND])


@dataclass(frozen=True, slots=True)
class Entry:
    """The result of searching a vocabulary for a text: one entry, or the pieces into which the tokenizer splits it."""

    token: int | None
    pieces: tuple[str, ...] = ()


_tables: WeakKeyDictionary[PretrainedModel, EmbeddingTable] = WeakKeyDictionary()
"""Each is freed with its model. Two threads may compute the same entry."""


def table_of(model: PretrainedModel) -> EmbeddingTable:
    """Return a model's embedding table. Its weights are those of the model, not a copy."""
    table = _tables.get(model)
    if table is None:
        table = _tables[model] = _built_in(model) if isinstance(model, BuiltInModel) else _of_transformers(model)
    return table


def search(model: PretrainedModel, text: str) -> Entry:
    """Find a text in a model's vocabulary, as a piece such as ##ing or as a text of one token."""
    text = text.strip()
    table = table_of(model)
    if text in table.pieces:
        return Entry(table.pieces.index(text))
    tokens = model.tokenize(text)
    places = [index for index in range(len(tokens)) if not tokens.special[index]]
    if len(places) == 1 and not tokens.unknown[places[0]]:
        return Entry(tokens.ids[places[0]])
    return Entry(None, tuple(tokens.labels[index] for index in places))


def _built_in(model: BuiltInModel) -> EmbeddingTable:
    tokenizer = described().tokenizer
    pieces = tuple(piece for _, piece in tokenizer.vocabulary())
    return EmbeddingTable(
        model.bert.embeddings.token.weight, pieces, tuple(map(label_of, pieces)), tokenizer.decode, MAX_POSITIONS
    )


def _of_transformers(model: PretrainedModel) -> EmbeddingTable:
    from attnviz.pretrained.transformers_model import TransformersModel  # imports transformers, which takes seconds

    if not isinstance(model, TransformersModel):
        raise TypeError(f"{model.name} is a {type(model).__name__}")
    weight, tokenizer = model.embeddings, model.tokenizer
    spelled = {token: piece for piece, token in tokenizer.get_vocab().items()}
    pieces = tuple(spelled.get(token, f"id {token}") for token in range(len(weight)))
    labels = tuple(label_of(piece, byte_level=model.is_byte_level) for piece in pieces)

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode([token for token in ids if token in spelled], skip_special_tokens=True))

    return EmbeddingTable(weight, pieces, labels, decode, model.position_rows)

"""Heads that stand out on a text: each by one pair of tokens to which it gives far more weight than all other heads.

Shapes: L layers, H heads, Tq queries, Tk keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from attnviz.measures.layers import weights_by_chunk
from attnviz.measures.summary import CLOSING_TOKENS, OPENING_TOKENS, is_punctuation
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

NEIGHBOURS = 1
"""Tokens up to this distance are neighbours: many heads look at these on any text."""


@dataclass(frozen=True, slots=True)
class Striking:
    """A head, and the pair of tokens by which it stands out."""

    layer: int
    """The model's own number of the layer"""
    head: int
    query: int
    key: int
    weight: float
    """The head's weight for the pair"""
    others: float
    """The mean weight for the pair in all other heads"""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The heads that stand out on a text, the most striking one first."""

    heads: tuple[Striking, ...]

    @property
    def nbytes(self) -> int:
        """An estimate of the size in bytes, for a cache: an entry and its six numbers."""
        return 256 * (1 + len(self.heads))


def most_striking(trace: Trace, kind: Kind) -> Ranking:
    """Rank the heads of one kind of attention by how far their weight for a pair of words exceeds the other heads'.

    For head h and the pair (i, j) that is α_hij minus the mean of α_gij over all other heads g of all layers. A head
    counts with the pair where this is largest, and a pair only with its most striking head. See `word_pairs` for the
    pairs. The ranking is empty if no pair or no other head exists, and has no head that does not exceed the others.
    """
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    pairs = word_pairs(queries, keys, same_text=kind != "cross")
    return Ranking(
        tuple(_distinct(_best_of_each_head(dict(zip(trace.numbers[kind], trace.layers[kind], strict=True)), pairs)))
    )


def word_pairs(queries: Tokens, keys: Tokens, *, same_text: bool) -> Tensor:
    """Return the pairs that are compared, (Tq, Tk) bool: of two words, without special tokens and punctuation.

    In one text a token is no pair with itself, its neighbours, or another piece of its own word (no white space between
    them; in a text without any white space each token counts as a word).

    Args:
        queries: the Tq tokens on the rows.
        keys: the Tk tokens on the columns.
        same_text: whether they are the same tokens.
    """
    rows, columns = (torch.tensor(_are_words(tokens), dtype=torch.bool) for tokens in (queries, keys))
    pairs = rows[:, None] & columns
    if not same_text:
        return pairs
    at = torch.arange(len(keys))
    word = torch.tensor(_word_numbers(keys), dtype=torch.long)
    return pairs & ((at[:, None] - at).abs() > NEIGHBOURS) & (word[:, None] != word)


def _are_words(tokens: Tokens) -> list[bool]:
    added = (*OPENING_TOKENS, *CLOSING_TOKENS)
    texts = [tokens.source(index).strip() for index in range(len(tokens))]
    return [
        bool(text) and not special and piece not in added and not is_punctuation(text)
        for text, special, piece in zip(texts, tokens.special, tokens.pieces, strict=True)
    ]


def _word_numbers(tokens: Tokens) -> list[int]:
    """Return a number for each token that pieces of one word share."""
    texts = [tokens.text] if tokens.pair is None else [tokens.text, tokens.pair]
    if not any(character.isspace() for text in texts for character in text.strip()):
        return list(range(len(tokens)))
    # The number of white-space characters before each character: pieces of a word have none between them.
    spaces = [list(accumulate(map(str.isspace, text), initial=0)) for text in texts]
    first = [0, spaces[0][-1] + 1]  # the numbers of the second text continue those of the first
    places = [min(segment, len(texts) - 1) for segment in tokens.segments]
    return [
        first[place] + spaces[place][max(end - 1, 0)] for (_, end), place in zip(tokens.offsets, places, strict=True)
    ]


def _best_of_each_head(layers: Mapping[int, LayerTrace], pairs: Tensor) -> list[Striking]:
    """Return each head with the pair by which it exceeds the mean of all other heads most, in order of layers."""
    others = sum(layer.heads for layer in layers.values()) - 1
    if others < 1 or not pairs.any():
        return []
    total = torch.zeros(pairs.shape)
    for layer in layers.values():
        for _, weights in weights_by_chunk(layer):
            total += weights.sum(0)
    found = []
    for number, layer in layers.items():
        for heads, weights in weights_by_chunk(layer):
            mean = (total - weights) / others  # (h, Tq, Tk)
            best = (weights - mean).masked_fill(~pairs, -torch.inf).flatten(1).argmax(1)
            for place, (head, cell) in enumerate(zip(heads, best.tolist(), strict=True)):
                query, key = divmod(cell, pairs.shape[1])
                at = place, query, key
                found.append(Striking(number, head, query, key, float(weights[at]), float(mean[at])))
    return found


def _distinct(found: Sequence[Striking]) -> list[Striking]:
    """Sort by what stands out, and keep the first head of each pair."""
    ordered = sorted(found, key=lambda one: one.others - one.weight)
    first: dict[tuple[int, int], Striking] = {}
    for one in ordered:
        if one.weight > one.others:
            first.setdefault((one.query, one.key), one)
    return list(first.values())

"""Heads that stand out on a text: each gives one pair of tokens far more weight than the other heads do on average.

Shapes: L layers, H heads, Tq queries, Tk keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from attnviz.measures.summary import CLOSING_TOKENS, OPENING_TOKENS, is_punctuation
from attnviz.measures.survey import weights_by_chunk
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

NEIGHBOURS = 1
"""Tokens up to this distance are neighbours: on any text, many heads look at those."""


@dataclass(frozen=True, slots=True)
class StrikingHead:
    """A head, and the pair of tokens by which it stands out."""

    layer: int
    """The layer's number in the model"""
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

    heads: tuple[StrikingHead, ...]

    @property
    def nbytes(self) -> int:
        """An estimate of the size in bytes, for a cache: an entry and its six numbers."""
        return 256 * (1 + len(self.heads))


def most_striking(trace: Trace, kind: Kind) -> Ranking:
    """Rank the heads of one kind of attention by how far their weight for a pair of words exceeds the other heads'.

    For head h and the pair (i, j) that is α_hij minus the mean of α_gij over all other heads g of all layers. Each head
    is ranked by the pair where this is largest, and each pair keeps only its most striking head. See `word_pairs` for
    the pairs. Heads that do not exceed the others are left out. The ranking is empty if there is no pair or only one
    head.
    """
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    pairs = word_pairs(queries, keys, same_text=kind != "cross")
    return Ranking(
        tuple(_distinct(_best_of_each_head(dict(zip(trace.numbers[kind], trace.layers[kind], strict=True)), pairs)))
    )


def word_pairs(queries: Tokens, keys: Tokens, *, same_text: bool) -> Tensor:
    """Return which pairs are compared, (Tq, Tk) bool: pairs of words, not of special tokens or punctuation.

    Within one text, a token does not pair with itself, its neighbours or another piece of its own word (pieces without
    white space between them; in a text without any white space each token counts as a word).

    Args:
        queries: the Tq tokens on the rows.
        keys: the Tk tokens on the columns.
        same_text: whether they are the same tokens.
    """
    rows, columns = (torch.tensor(_are_words(tokens), dtype=torch.bool) for tokens in (queries, keys))
    pairs = rows[:, None] & columns
    if not same_text:
        return pairs
    positions = torch.arange(len(keys))
    word = torch.tensor(_word_numbers(keys), dtype=torch.long)
    return pairs & ((positions[:, None] - positions).abs() > NEIGHBOURS) & (word[:, None] != word)


def _are_words(tokens: Tokens) -> list[bool]:
    added = (*OPENING_TOKENS, *CLOSING_TOKENS)
    texts = [tokens.source(index).strip() for index in range(len(tokens))]
    return [
        bool(text) and not special and piece not in added and not is_punctuation(text)
        for text, special, piece in zip(texts, tokens.special, tokens.pieces, strict=True)
    ]


def _word_numbers(tokens: Tokens) -> list[int]:
    """Return a number for each token; all pieces of a word have the same one."""
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


def _best_of_each_head(layers: Mapping[int, LayerTrace], pairs: Tensor) -> list[StrikingHead]:
    """Return each head, in order of layers, with the pair where it exceeds the mean of all other heads most."""
    others = sum(layer.heads for layer in layers.values()) - 1
    if others < 1 or not pairs.any():
        return []
    total = torch.zeros(pairs.shape)
    for layer in layers.values():
        for _, weights in weights_by_chunk(layer):
            total += weights.sum(0)
    best_pairs = []
    for number, layer in layers.items():
        for heads, weights in weights_by_chunk(layer):
            mean = (total - weights) / others  # (h, Tq, Tk)
            best = (weights - mean).masked_fill(~pairs, -torch.inf).flatten(1).argmax(1)
            for place, (head, cell) in enumerate(zip(heads, best.tolist(), strict=True)):
                query, key = divmod(cell, pairs.shape[1])
                index = place, query, key
                best_pairs.append(StrikingHead(number, head, query, key, float(weights[index]), float(mean[index])))
    return best_pairs


def _distinct(heads: Sequence[StrikingHead]) -> list[StrikingHead]:
    """Sort by how far each head exceeds the others, and keep the first head of each pair."""
    ordered = sorted(heads, key=lambda head: head.others - head.weight)
    first: dict[tuple[int, int], StrikingHead] = {}
    for head in ordered:
        if head.weight > head.others:
            first.setdefault((head.query, head.key), head)
    return list(first.values())

"""Measures of each head from the attention weights of a batch of sentences, and the divergence between heads.

Padding tokens do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.measures import NAMES
from attnviz.measures.summary import (
    CLOSING_TOKENS,
    OPENING_TOKENS,
    average,
    depends_on_query,
    distance,
    entropy,
    is_punctuation,
    of_each_mask,
    shares_of_keys,
    sink_shares,
    uniform_attention,
    weight_at,
)
from attnviz.tokens import Tokens

PARTS = ("special", "punctuation", "rare", "other")
"""Parts of a sentence: added tokens such as [CLS]; punctuation; pieces of words that are not in the vocabulary as a
whole; all other words. Each token is in exactly one of them"""
NO_PART = len(PARTS)
"""The part of padding"""


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Marks of the tokens of B sentences, padded to the longest, which has T tokens."""

    lengths: Tensor
    """(B,)"""
    parts: Tensor
    """(B, T): indices into `PARTS`, or `NO_PART`"""
    named: dict[str, Tensor]
    """By measure, for the measures that sum the weights on certain keys: these keys, (B, T) bool. A sentence without
    such a key has no value of the measure"""

    @property
    def is_token(self) -> Tensor:
        """Which positions are not padding, (B, T) bool."""
        return torch.arange(self.parts.shape[1]) < self.lengths[:, None]


def marks_of(sentences: Sequence[Tokens]) -> Marks:
    """Return the marks of the tokens of some sentences."""
    longest = max(map(len, sentences))

    def padded(rows: Sequence[Sequence[int | bool]], rest: int | bool) -> Tensor:
        return torch.tensor([[*row, *[rest] * (longest - len(row))] for row in rows])

    opening = [[piece in OPENING_TOKENS for piece in tokens.pieces] for tokens in sentences]
    closing = [[piece in CLOSING_TOKENS for piece in tokens.pieces] for tokens in sentences]
    punctuation = [[is_punctuation(tokens.source(index)) for index in range(len(tokens))] for tokens in sentences]
    # An opening token such as [CLS] counts as "cls", not as "first": as in `attnviz.measures.summary`.
    first = [[index == 0 and not any(flags[:1]) for index in range(len(flags))] for flags in opening]
    parts = [
        [_part(*marks) for marks in zip(tokens.special, dots, in_pieces(tokens), strict=True)]
        for tokens, dots in zip(sentences, punctuation, strict=True)
    ]
    return Marks(
        torch.tensor(list(map(len, sentences))),
        padded(parts, NO_PART),
        {
            name: padded(rows, False)
            for name, rows in (("first", first), ("cls", opening), ("sep", closing), ("punctuation", punctuation))
        },
    )


def in_pieces(tokens: Tokens) -> list[bool]:
    """Return for each token whether it is a piece of a word: a letter or digit of a neighbouring token touches it.

    WordPiece (Wu et al. 2016) splits words that are not in its vocabulary, which are the rare ones.
    """
    is_piece = [False] * len(tokens)
    for index in range(1, len(tokens)):
        start = tokens.offsets[index][0]
        touches = tokens.offsets[index - 1][1] == start and tokens.segments[index - 1] == tokens.segments[index]
        if start and touches and (tokens.source(index - 1)[-1:] + tokens.source(index)[:1]).isalnum():
            is_piece[index - 1] = is_piece[index] = True
    return is_piece


def _part(is_special: bool, is_punctuation_mark: bool, is_piece: bool) -> int:
    return 0 if is_special else 1 if is_punctuation_mark else 2 if is_piece else 3


REACH = 16
"""The largest distance, in tokens, for which the mean weight at a relative position is kept"""
OFFSETS = tuple(range(-REACH, REACH + 1))
NEIGHBOURS = {"previous": -1, "next": 1, "same": 0}


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """The observations of N sentences. Sums are over their tokens, in float64."""

    values: npt.NDArray[np.float32]
    """(N, L, H, M): the measures, in the order of `NAMES`; NaN if a sentence has no value of a measure"""
    uniform: npt.NDArray[np.float32]
    """(N, L, M): the measures of uniform attention over the keys that each layer's mask shows"""
    limited: npt.NDArray[np.bool_]
    """(N, L): whether which keys a query sees depends on the query, as with a causal mask or a window"""
    offset_sum: npt.NDArray[np.float64]
    """(L, H, R): sums of the weights at the relative positions `OFFSETS`, between tokens that are not special"""
    offset_count: npt.NDArray[np.int64]
    """(R,): the number of pairs of tokens at these positions"""
    part_sum: npt.NDArray[np.float64]
    """(L, H, P, P): sums of the weight that queries of one part give to all keys of another"""
    part_count: npt.NDArray[np.int64]
    """(P,): the number of queries"""


def observe(layers: Iterable[Tensor], masks: Iterable[Tensor], marks: Marks, *, causal: bool = False) -> Observations:
    """Observe the heads of a self-attention on a batch.

    Args:
        layers: the weights of each layer, (B, H, T, T); 0 on padding.
        masks: the cells that the mask of each layer hides, (B, T, T) bool.
        marks: the marks of the B sentences.
        causal: whether the mask hides all later keys.
    """
    by_layer = [_of_layer(weights, marks, causal=causal) for weights in layers]
    tokens = marks.is_token  # (B, T)
    is_padding = ~(tokens[:, None, :] & tokens[:, :, None])  # (B, T, T)
    hidden = [cells | is_padding for cells in masks]
    uniform = of_each_mask(
        lambda cells: _measures(uniform_attention(cells)[:, None], marks, causal=causal)[:, 0], hidden
    )
    # Padding is no query: its rows are those of the first token.
    limited = of_each_mask(lambda cells: depends_on_query(torch.where(tokens[..., None], cells, cells[:, :1])), hidden)
    not_special = (marks.parts > 0) & tokens  # (B, T)
    pairs = (not_special[:, :, None] & not_special[:, None, :]).double()[:, None]  # (B, 1, T, T)
    parts = torch.nn.functional.one_hot(marks.parts, NO_PART + 1)[..., :NO_PART]  # (B, T, P)
    return Observations(
        torch.stack([values for values, _, _ in by_layer], 1).numpy(),
        uniform.transpose(0, 1).numpy(),
        limited.T.numpy(),
        torch.stack([offsets for _, offsets, _ in by_layer]).numpy(),
        _at_offsets(pairs)[0].long().numpy(),
        torch.stack([sums for _, _, sums in by_layer]).numpy(),
        parts.sum((0, 1)).numpy(),
    )


def _of_layer(weights: Tensor, marks: Marks, *, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return a layer's measures, (B, H, M), sums by relative position, (H, R), and by part, (H, P, P)."""
    not_special = ((marks.parts > 0) & marks.is_token).to(weights.dtype)  # (B, T)
    between = weights * not_special[:, None, :, None] * not_special[:, None, None, :]
    parts = torch.nn.functional.one_hot(marks.parts, NO_PART + 1)[:, None, :, : len(PARTS)].to(weights.dtype)
    by_part = parts.transpose(-2, -1) @ (weights @ parts)  # (B, H, P, P): from query to key
    return _measures(weights, marks, causal=causal), _at_offsets(between), by_part.double().sum(0)


def _measures(weights: Tensor, marks: Marks, *, causal: bool) -> Tensor:
    """Return the measures of each head, (B, H, M), from weights (B, H, T, T), averaged over each sentence's queries."""
    attending = (weights.sum(-1) > 0) & marks.is_token[:, None]  # padding may have weights as a query
    keys = torch.stack(list(marks.named.values()), -1)[:, None].to(weights.dtype)  # (B, 1, T, K)
    on_keys = dict(zip(marks.named, (weights @ keys).unbind(-1), strict=True))  # (B, H, T) each
    measures, between_keys = [], shares_of_keys(weights)
    for name in NAMES:
        if name in NEIGHBOURS:
            measures.append(_at_neighbour(weights, marks, attending, NEIGHBOURS[name], causal=causal))
        elif name in on_keys:
            exists = marks.named[name].any(-1)[:, None]
            measures.append(average(on_keys[name], attending).masked_fill(~exists, torch.nan))
        else:
            measures.append(average({"entropy": entropy, "distance": distance}[name](between_keys), attending))
    return torch.stack(measures, -1)


def _at_neighbour(weights: Tensor, marks: Marks, attending: Tensor, offset: int, *, causal: bool) -> Tensor:
    """Return the mean weight at a relative position, (B, H); NaN if no query sees such a key."""
    if causal and offset > 0:
        return weights.new_full(weights.shape[:2], torch.nan)
    is_inside = torch.arange(weights.shape[-1]) + offset < marks.lengths[:, None]  # (B, T): the key is not padding
    return average(weight_at(weights, offset), attending & is_inside[:, None])


def _at_offsets(weights: Tensor) -> Tensor:
    """Return the sums of weights, (B, H, T, T), at each relative position, (H, R) float64."""
    summed = weights.sum(0).double()  # (H, T, T)
    reach = summed.shape[-1] - 1
    zeros = summed.new_zeros(len(summed))
    return torch.stack([summed.diagonal(at, -2, -1).sum(-1) if abs(at) <= reach else zeros for at in OFFSETS], -1)


def divergence_sums(weights: Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence of each pair of heads, summed over all queries, (G, G) float64, in bits.

    For the rows p and q of two heads it is H((p + q) / 2) − (H(p) + H(q)) / 2, with the entropy H: 0 where they are
    equal, 1 where they share no key (Lin 1991, "Divergence Measures Based on the Shannon Entropy", section IV; Clark et
    al. 2019, section 6, compare the heads of BERT by it).

    Args:
        weights: the weights of all G heads of a model on one text, (G, Tq, Tk). A sink's share counts as one more key.
    """
    sink = sink_shares(weights)
    weights = weights if sink is None else torch.cat([weights, sink], dim=-1)
    entropies = entropy(weights).double().sum(-1)  # (G,)
    sums = weights.new_zeros(len(weights), len(weights), dtype=torch.float64)
    for head in range(len(weights) - 1):
        mixed = entropy((weights[head + 1 :] + weights[head]) / 2).double().sum(-1)
        sums[head, head + 1 :] = mixed - (entropies[head + 1 :] + entropies[head]) / 2
    sums.clamp_min_(0)  # rounding may give slightly negative values
    return sums + sums.T


def clusters(divergence: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Return a cluster number for each head, (G,): similar heads share a cluster; 0 is the largest cluster.

    Agglomerative clustering by the mean divergence between clusters (scikit-learn's `AgglomerativeClustering`).

    Args:
        divergence: the divergence of each pair of heads, (G, G).
        count: the number of clusters.

    Raises:
        ValueError: `count` is not between 1 and G.
    """
    if not 1 <= count <= len(divergence):
        raise ValueError(f"{count} clusters of {len(divergence)} heads: there must be 1 to {len(divergence)}")
    if len(divergence) == 1:
        return np.zeros(1, np.int64)
    from sklearn.cluster import AgglomerativeClustering

    labels = AgglomerativeClustering(count, metric="precomputed", linkage="average").fit_predict(divergence)
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    ranks = np.empty(count, np.int64)
    ranks[np.lexsort((first, -sizes))] = np.arange(count)
    numbers: npt.NDArray[np.int64] = ranks[labels]
    return numbers

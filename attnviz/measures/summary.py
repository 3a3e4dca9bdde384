"""The measures of a head: a number per query from its row of weights α, their mean, and labels that follow from them.

Shapes: "..." is empty or (H,); Tq queries, Tk keys. A row sums to 1, or to 0 if the mask hides all of its keys, or to
less than 1 if a sink takes a share. In the formulas, the query is i, and the weights of the keys j are α_ij.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.formulas import Expression, tree
from attnviz.tokens import Tokens

_TINY = torch.finfo(torch.float32).tiny
"""Replaces a weight of 0 inside the logarithm, so that 0 · log₂ 0 is 0."""


MOST_ROUNDING = 1e-3
"""A row of weights whose sum differs from 1 by more leaves a share to a sink"""


def entropy(weights: Tensor) -> Tensor:
    """Compute −Σⱼ αᵢⱼ log₂ αᵢⱼ of each row, (..., Tq), in bits.

    It is 0 if a query attends to one key only and log₂ n if it attends to n keys equally. Clark et al. 2019, "What Does
    BERT Look At?", use it to separate focused heads from broad ones.
    """
    return -weights.clamp_min(_TINY).log2_().mul_(weights).sum(-1)


def distance(weights: Tensor) -> Tensor:
    """Compute Σⱼ αᵢⱼ |i − j| of each row, (..., Tq), in tokens: the mean distance of a query to its keys.

    Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model".
    """
    distances = _distances(weights.shape[-2], weights.shape[-1])
    mean: Tensor = torch.linalg.vecdot(weights, distances)
    return mean


def weight_at(weights: Tensor, offset: int) -> Tensor:
    """Return αᵢ,ᵢ₊ₒ of each row, (..., Tq): the weight on the key `offset` positions after the query.

    Offset −1 is the previous token, 0 the same, 1 the next. NaN if the query has no such key.
    """
    result = weights.new_full(weights.shape[:-1], torch.nan)
    diagonal = weights.diagonal(offset, -2, -1)  # (..., n): the rows that have this key
    first = max(0, -offset)
    result[..., first : first + diagonal.shape[-1]] = diagonal
    return result


def weight_on(weights: Tensor, keys: Tensor) -> Tensor:
    """Compute Σⱼ αᵢⱼ over the keys selected by `keys`, (Tk,) bool: (..., Tq)."""
    return weights @ keys.to(weights.dtype)


@lru_cache(maxsize=4)
def _distances(queries: int, keys: int) -> Tensor:
    """Return |i − j|, (Tq, Tk). The cached tensor is shared: do not modify it."""
    return (torch.arange(queries)[:, None] - torch.arange(keys)).abs().float()


_I, _J, _ONE = map(tree.Symbol, "ij1")
_ALPHA = tree.Symbol("α")
_WEIGHT = tree.Indexed(_ALPHA, tree.Product((_I, _J), "none"))

ENTROPY = tree.Negative(
    tree.Total(_J, None, tree.Product((_WEIGHT, tree.Logarithm(tree.Symbol("2"), _WEIGHT)), "none"))
)
DISTANCE = tree.Total(_J, None, tree.Product((_WEIGHT, tree.Absolute(tree.Sum((_I, tree.Negative(_J)))))))
WEIGHT_ON_SET = tree.Total(tree.Relation("∈", (_J, tree.Symbol("S"))), None, _WEIGHT)


def weight_at_offset(offset: int) -> Expression:
    """Return the weight of the key at i + `offset`, which is −1, 0 or 1."""
    keys: dict[int, Expression] = {-1: tree.Sum((_I, tree.Negative(_ONE))), 0: _I, 1: tree.Sum((_I, _ONE))}
    return tree.Indexed(_ALPHA, tree.List((_I, keys[offset])))


OPENING_TOKENS = ("[CLS]", "<s>", "<cls>")
CLOSING_TOKENS = ("[SEP]", "</s>", "<sep>")
"""The token before a text, and the token after each sentence, as different model families spell them."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One kind of number per head, and how it is computed."""

    name: str
    title: str
    unit: str
    low: float
    high: float
    """`low` and `high` are its bounds for this text"""
    rows: Callable[[Tensor], Tensor]
    """weights (..., Tq, Tk) -> one number per query, (..., Tq); NaN where it is undefined"""
    formula: Expression
    """The number of query i"""
    source: str
    label: str = ""
    """The label of a head with a high value; empty if the measure gives no label"""
    keys: tuple[int, ...] = ()
    """The keys whose weights it sums; empty for other measures"""
    is_of_keys: bool = False
    """Whether it is about how a query shares out what it gives to keys: with a sink, each row is divided by its sum"""


def choose_measures(queries: int, keys: Tokens, *, same_text: bool, causal: bool) -> tuple[Measure, ...]:
    """Return the measures that apply to attention from `queries` tokens to `keys`.

    Args:
        queries: Tq.
        keys: the tokens of the keys.
        same_text: whether queries and keys are the same tokens; if not, positions can't be compared.
        causal: whether the mask hides all later keys.
    """
    return (
        Measure(
            "entropy", "entropy", "bits", 0.0, log2(max(len(keys), 1)), entropy,
            ENTROPY, "Clark et al. 2019", is_of_keys=True,
        ),
        *(_position_measures(queries, causal=causal) if same_text else ()),
        *_token_measures(keys),
    )  # fmt: skip


def measure_head(weights: Tensor, measures: Sequence[Measure]) -> Tensor:
    """Compute M measures per head: weights (..., Tq, Tk) -> (..., M)."""
    attending = weights.sum(-1) > 0  # a row sums to 0 if every key is masked
    between_keys = shares_of_keys(weights)
    return torch.stack(
        [average(measure.rows(between_keys if measure.is_of_keys else weights), attending) for measure in measures], -1
    )


def sink_shares(weights: Tensor) -> Tensor | None:
    """Return what the rows of weights, (..., Tq, Tk), leave to a sink, (..., Tq, 1); None if they leave nothing."""
    sums = weights.sum(-1, keepdim=True)
    left = (1 - sums).masked_fill_(sums == 0, 0).clamp_min_(0)  # a row without keys has no share to leave
    return left if bool((left > MOST_ROUNDING).any()) else None


def shares_of_keys(weights: Tensor) -> Tensor:
    """Return how each query shares out what it gives to keys, (..., Tq, Tk): the weights, each row divided by its sum
    if a sink takes a share."""
    if sink_shares(weights) is None:
        return weights
    return weights / weights.sum(-1, keepdim=True).clamp_min(_TINY)


def average(values: Tensor, attending: Tensor) -> Tensor:
    """Average over the queries that attend to a key, without NaN: (..., Tq) -> (...).

    `attending` (..., Tq) is bool. The mean is NaN if no query is left.
    """
    return values.masked_fill(~attending, torch.nan).nanmean(-1)


def uniform_attention(hidden: Tensor) -> Tensor:
    """Return the same weight for each key that a query sees, and 0 for the hidden ones, (..., Tq, Tk) bool."""
    visible = (~hidden).float()
    return visible / visible.sum(-1, keepdim=True).clamp_min(1)  # 0 in a row of hidden keys


def uniform_measures(hidden: Tensor, measures: Sequence[Measure]) -> Tensor:
    """Compute the measures of uniform attention over the visible keys, (M,). `hidden` (Tq, Tk) is bool."""
    return measure_head(uniform_attention(hidden), measures)


def of_each_mask(compute: Callable[[Tensor], Tensor], masks: Iterable[Tensor]) -> Tensor:
    """Compute something of the hidden cells of each layer's mask, once for equal ones; the results are stacked.

    Layers often have the same mask, and most models have at most two: a causal one, and one with a window.
    """
    known: dict[bytes, Tensor] = {}
    results = []
    for hidden in masks:
        cells = hidden.numpy().tobytes()
        if cells not in known:
            known[cells] = compute(hidden)
        results.append(known[cells])
    return torch.stack(results)


def depends_on_query(hidden: Tensor) -> Tensor:
    """Return whether some queries see other keys than others, (...) bool. `hidden` (..., Tq, Tk) is bool."""
    return (hidden != hidden[..., :1, :]).any((-2, -1))


def is_punctuation(text: str) -> bool:
    """Whether a token's text is only punctuation (Unicode's general categories P...)."""
    stripped = text.strip()
    return bool(stripped) and all(unicodedata.category(character).startswith("P") for character in stripped)


def _position_measures(tokens: int, *, causal: bool) -> list[Measure]:
    farthest = float(max(tokens - 1, 1))
    measures = [
        Measure(
            "distance", "mean distance", "tokens", 0.0, farthest, distance,
            DISTANCE, "Vig and Belinkov 2019", is_of_keys=True,
        )
    ]  # fmt: skip
    for name, offset in (("previous", -1), ("next", 1), ("same", 0)):
        if name == "next" and causal:
            continue  # the mask hides it from every query, so its share says nothing about the head
        rows = partial(weight_at, offset=offset)
        formula, source = weight_at_offset(offset), "Clark et al. 2019"
        title, label = f"to {name} token", f"{name}-token head"
        measures.append(Measure(name, title, "", 0.0, 1.0, rows, formula, source, label))
    return measures


def _token_measures(keys: Tokens) -> list[Measure]:
    groups = {
        "cls": (_spelled(keys, OPENING_TOKENS), [piece in OPENING_TOKENS for piece in keys.pieces]),
        "sep": (_spelled(keys, CLOSING_TOKENS), [piece in CLOSING_TOKENS for piece in keys.pieces]),
        "punctuation": ("punctuation", [is_punctuation(keys.source(index)) for index in range(len(keys))]),
    }
    if not any(piece in OPENING_TOKENS for piece in keys.pieces[:1]):
        groups = {"first": ("first token", [index == 0 for index in range(len(keys))]), **groups}
    return [
        Measure(
            name, f"to {what}", "", 0.0, 1.0, partial(weight_on, keys=torch.tensor(marked)),
            WEIGHT_ON_SET, "Clark et al. 2019", f"attends to {what}",
            tuple(index for index, is_marked in enumerate(marked) if is_marked),
        )
        for name, (what, marked) in groups.items()
        if any(marked)
    ]  # fmt: skip


def _spelled(keys: Tokens, spellings: Sequence[str]) -> str:
    return next((piece for piece in keys.pieces if piece in spellings), "")


MIN_SHARE = 0.5
"""A label needs at least this share of a head's weight (the threshold of Clark et al. 2019)."""
MIN_TIMES_UNIFORM = 2.0
"""And at least this multiple of the share under uniform attention: among three tokens half is not remarkable."""
MIN_BROAD_ENTROPY = 0.85
"""A broad head has at least this fraction of the entropy of uniform attention."""

DIAGONAL, BROAD_HEAD = "diagonal", "broad"
_NEIGHBOURS = ("previous", "same", "next")


def label_heads(
    values: npt.NDArray[np.float32], uniform: npt.NDArray[np.float32], measures: Sequence[Measure]
) -> list[list[list[str]]]:
    """Return the labels of each head, as L lists of H lists.

    Args:
        values: the M measures of each head, (L, H, M).
        uniform: the measures of a head with uniform attention, (M,); or of one in each layer, (L, M).
        measures: the M measures.
    """
    names = [measure.name for measure in measures]
    labels = {measure.name: measure.label for measure in measures}
    by_label = holding(
        dict(zip(names, np.moveaxis(values, -1, 0), strict=True)),
        dict(zip(names, np.moveaxis(np.atleast_2d(uniform), -1, 0)[..., None], strict=True)),
        [name for name in names if labels[name]],
    )
    layers, heads = values.shape[:2]
    return [[[labels.get(name, name) for name, holds in by_label.items() if holds[layer, head]]
             for head in range(heads)] for layer in range(layers)]  # fmt: skip


def holding(
    values: Mapping[str, npt.NDArray[Any]], uniform: Mapping[str, npt.NDArray[Any]], labelled: Sequence[str]
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for each label whether it holds, in the shape of the values.

    Args:
        values: measures by name, arrays of one shape, NaN where a text has no such measure; with "entropy".
        uniform: the same measures of uniform attention; they broadcast to the values.
        labelled: the measures that give a label, which is named like the measure here.

    Returns:
        The labels of `labelled` in this order, then `DIAGONAL`, if one of its measures is there, and `BROAD_HEAD`.
    """
    holds = {name: _dominates(values[name], uniform[name]) for name in labelled}
    near = [name for name in _NEIGHBOURS if name in values]
    if near:
        together = (sum(of[name] for name in near) for of in (values, uniform))
        alone = np.any([holds[name] for name in near if name in holds], axis=0)
        holds[DIAGONAL] = _dominates(*together) & ~alone
    expected = uniform["entropy"]
    holds[BROAD_HEAD] = (expected > 0) & (values["entropy"] >= MIN_BROAD_ENTROPY * expected)
    return holds


def possible_labels(measures: Sequence[Measure]) -> list[str]:
    """Return every label that a head can have for this text."""
    return [*(measure.label for measure in measures if measure.label), DIAGONAL, BROAD_HEAD]


def shown_label(label: str, *, limited: bool = False) -> str:
    """Return a label as the page shows it; links have "broad".

    Args:
        label: one of the labels of `label_heads`.
        limited: whether which keys a query sees depends on the query, as with a causal mask or a window.
    """
    if label != BROAD_HEAD:
        return label
    return "looks everywhere it may" if limited else "looks everywhere"


def _dominates(share: Any, expected: Any) -> npt.NDArray[np.bool_]:
    """Whether a share is most of the weight and well above uniform attention. False for NaN."""
    dominates: npt.NDArray[np.bool_] = (share >= MIN_SHARE) & (share >= MIN_TIMES_UNIFORM * expected)
    return dominates

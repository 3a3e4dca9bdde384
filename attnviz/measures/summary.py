"""The measures of a head: one number each, the mean of a number that each of its queries has."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2

import torch
from torch import Tensor

from attnviz.measures.rows import distance, entropy, weight_at, weight_on
from attnviz.tokens import Tokens

OPENING = ("[CLS]", "<s>", "<cls>")
CLOSING = ("[SEP]", "</s>", "<sep>")
"""How model families spell the token in front of a text, and the one after each sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One number a head, and how it comes about."""

    name: str
    title: str
    unit: str
    low: float
    high: float
    """The least and the most that it can be on this text"""
    rows: Callable[[Tensor], Tensor]
    """weights (..., Tq, Tk) -> one number a query, (..., Tq); NaN where a query has none"""
    formula: str
    """In LaTeX"""
    source: str
    label: str = ""
    """What a head is called that has much of it; empty where much of it makes no label"""


def choose_measures(queries: int, keys: Tokens, *, same_text: bool, causal: bool) -> tuple[Measure, ...]:
    """Return the measures that say something about attention from `queries` tokens to `keys`.

    Args:
        queries: Tq.
        keys: the tokens that are looked at.
        same_text: whether queries and keys are the same tokens; where they are not, places can't be compared.
        causal: whether no query sees a later key.
    """
    return (
        Measure(
            "entropy", "entropy", "bits", 0.0, log2(max(len(keys), 1)), entropy,
            r"-\sum_j \alpha_{ij} \log_2 \alpha_{ij}", "Clark et al. 2019",
        ),
        *(_by_place(queries, causal=causal) if same_text else ()),
        *_by_token(keys),
    )  # fmt: skip


def measure_head(weights: Tensor, measures: Sequence[Measure]) -> Tensor:
    """Compute the measures of heads, (..., M) from weights (..., Tq, Tk)."""
    seeing = weights.sum(-1) > 0.5  # a row sums to 1, or to 0 where everything is hidden
    return torch.stack([average(measure.rows(weights), seeing) for measure in measures], -1)


def average(values: Tensor, seeing: Tensor) -> Tensor:
    """Average numbers of queries, (..., Tq) -> (...), over those that are not NaN and whose query sees a key.

    `seeing` (..., Tq) is bool. NaN where there is no such query.
    """
    return values.masked_fill(~seeing, torch.nan).nanmean(-1)


def chance(hidden: Tensor, measures: Sequence[Measure]) -> Tensor:
    """Compute the measures of a head that looks at all it may see alike, (M,). `hidden` (Tq, Tk) is bool."""
    visible = (~hidden).float()
    return measure_head(visible / visible.sum(-1, keepdim=True).clamp_min(1), measures)


def is_punctuation(text: str) -> bool:
    """Say whether a token's text is punctuation and nothing else (Unicode's general categories P...)."""
    stripped = text.strip()
    return bool(stripped) and all(unicodedata.category(character).startswith("P") for character in stripped)


def _by_place(tokens: int, *, causal: bool) -> list[Measure]:
    far = float(max(tokens - 1, 1))
    places = [
        Measure(
            "distance", "mean distance", "tokens", 0.0, far, distance,
            r"\sum_j \alpha_{ij}\,|i-j|", "Vig and Belinkov 2019",
        )
    ]  # fmt: skip
    for name, offset, at in (("previous", -1, "i-1"), ("next", 1, "i+1"), ("same", 0, "i")):
        if name == "next" and causal:
            continue  # no query sees it: the share is 0 by the mask, not by the head
        rows = partial(weight_at, offset=offset)
        formula, source = rf"\alpha_{{i,{at}}}", "Clark et al. 2019"
        title, label = f"to {name} token", f"{name}-token head"
        places.append(Measure(name, title, "", 0.0, 1.0, rows, formula, source, label))
    return places


def _by_token(keys: Tokens) -> list[Measure]:
    groups = {
        "cls": (_spelled(keys, OPENING), [piece in OPENING for piece in keys.pieces]),
        "sep": (_spelled(keys, CLOSING), [piece in CLOSING for piece in keys.pieces]),
        "punctuation": ("punctuation", [is_punctuation(keys.source(index)) for index in range(len(keys))]),
    }
    if not any(piece in OPENING for piece in keys.pieces[:1]):
        groups = {"first": ("first token", [index == 0 for index in range(len(keys))]), **groups}
    return [
        Measure(
            name, f"to {what}", "", 0.0, 1.0, partial(weight_on, keys=torch.tensor(marked)),
            r"\sum_{j \in S} \alpha_{ij}", "Clark et al. 2019", f"attends to {what}",
        )
        for name, (what, marked) in groups.items()
        if any(marked)
    ]  # fmt: skip


def _spelled(keys: Tokens, spellings: Sequence[str]) -> str:
    return next((piece for piece in keys.pieces if piece in spellings), "")

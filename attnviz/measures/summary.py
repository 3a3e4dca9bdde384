"""The measures of a head: each is a number per query, averaged over the queries."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2

import torch
from torch import Tensor

from attnviz.formulas import Expression
from attnviz.measures.rows import (
    DISTANCE,
    ENTROPY,
    WEIGHT_ON_SET,
    distance,
    entropy,
    weight_at,
    weight_at_offset,
    weight_on,
)
from attnviz.tokens import Tokens

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
            ENTROPY, "Clark et al. 2019",
        ),
        *(_position_measures(queries, causal=causal) if same_text else ()),
        *_token_measures(keys),
    )  # fmt: skip


def measure_head(weights: Tensor, measures: Sequence[Measure]) -> Tensor:
    """Compute M measures per head: weights (..., Tq, Tk) -> (..., M)."""
    attending = weights.sum(-1) > 0.5  # a row sums to 1, or to 0 if every key is masked
    return torch.stack([average(measure.rows(weights), attending) for measure in measures], -1)


def average(values: Tensor, attending: Tensor) -> Tensor:
    """Average over the queries that attend to a key, without NaN: (..., Tq) -> (...).

    `attending` (..., Tq) is bool. The mean is NaN if no query is left.
    """
    return values.masked_fill(~attending, torch.nan).nanmean(-1)


def uniform_measures(hidden: Tensor, measures: Sequence[Measure]) -> Tensor:
    """Compute the measures of uniform attention over the visible keys, (M,). `hidden` (Tq, Tk) is bool."""
    visible = (~hidden).float()  # rows of hidden keys become NaN, and are left out
    return measure_head(visible / visible.sum(-1, keepdim=True), measures)


def is_punctuation(text: str) -> bool:
    """Whether a token's text is only punctuation (Unicode's general categories P...)."""
    stripped = text.strip()
    return bool(stripped) and all(unicodedata.category(character).startswith("P") for character in stripped)


def _position_measures(tokens: int, *, causal: bool) -> list[Measure]:
    farthest = float(max(tokens - 1, 1))
    measures = [
        Measure(
            "distance", "mean distance", "tokens", 0.0, farthest, distance,
            DISTANCE, "Vig and Belinkov 2019",
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

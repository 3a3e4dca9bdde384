"""The logit lens: what a language head would say after each block (nostalgebraist 2020, "interpreting GPT: the logit
lens", lesswrong.com/posts/AcKRB8wDpdaN6v6ru).

Shapes: P states of a row (before the first block and after each), V tokens of the vocabulary, K likeliest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.measures.transformer.residual_stream import states
from attnviz.reprs import ShortRepr
from attnviz.trace.block import Norm
from attnviz.trace.vocabulary import Vocabulary
from attnviz.trace.whole import Trace

COUNT = 5
"""How many of the likeliest tokens of each state are shown"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lens(ShortRepr):
    """The likeliest tokens of one row after each block."""

    parts: tuple[str, ...]
    """What each state is: "X", "after block 0", ..."""
    tokens: Tensor
    """(P, K): ids, the likeliest first"""
    probabilities: Tensor
    """(P, K): theirs, of all V"""
    of_last: Tensor
    """(P,): the probability of the token that is likeliest in the end"""
    ranks: Tensor
    """(P,): its rank, from 0"""


def logit_lens(trace: Trace, row: int, count: int = COUNT) -> Lens | None:
    """Return what the final norm and the language head make of a row after each block of the last stack.

    Only the last state is what the head was trained for: the others are as the lens gives them, uncorrected.

    Args:
        trace: of a model with a language head.
        row: of the last stack.
        count: K.

    Returns:
        None if the language head, the final norm or the blocks' steps are not known.

    Raises:
        IndexError: there is no such row.
    """
    stack = trace.places[-1].stack
    vocabulary, norm = trace.vocabulary, trace.final_norms.get(stack)
    if vocabulary is None or (norm is None and stack in trace.final_norms):
        return None
    blocks = trace.blocks[stack]
    found = states(blocks)
    if found is None:
        return None
    with torch.inference_mode():
        logits = state_logits(torch.stack([state[row] for state in found]), norm, vocabulary)
        return lens_of(logits, count, trace.numbers_of(stack))


def state_logits(x: Tensor, norm: Norm | None, vocabulary: Vocabulary) -> Tensor:
    """Return what the final norm and the language head make of states, (P, C) -> (P, V)."""
    return vocabulary.logits(x if norm is None else norm.apply(x))


def lens_of(logits: Tensor, count: int = COUNT, numbers: Sequence[int] | None = None) -> Lens:
    """Return the lens of the logits of a row's states, (P, V), the last of which are the model's own.

    `numbers` are those of the P - 1 blocks in the model; 0, 1, ... if None.
    """
    probabilities = logits.softmax(-1)
    of_last = probabilities[:, int(logits[-1].argmax())]
    best = probabilities.topk(min(count, logits.shape[-1]), dim=-1)
    ranks = (probabilities > of_last[:, None]).sum(-1)
    blocks = range(len(logits) - 1) if numbers is None else numbers
    parts = ("X", *(f"after block {number}" for number in blocks))
    return Lens(parts, best.indices, best.values, of_last, ranks)

"""A token's way through a stack of blocks: its vector after each part, and what a language head would predict there.

The latter is the logit lens (nostalgebraist 2020, "interpreting GPT: the logit lens",
lesswrong.com/posts/AcKRB8wDpdaN6v6ru). `attnviz.measures.summands` has what each part adds.

Shapes: P parts, or states of a row (before the first block and after each), T tokens, C model width, V tokens of the
vocabulary, K the number of likeliest tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.tokens.value import bare
from attnviz.trace.layer import Block, BlockSteps, Norm
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Vocabulary

AFTER = {
    "attention_residual": "+ attention",
    "attention_norm": "norm",
    "cross_attention_residual": "+ cross-attention",
    "cross_attention_norm": "norm",
    "feed_forward_residual": "+ feed-forward",
    "block_output": "norm",
}
"""The fields of `BlockSteps` that hold the stream of a post-norm block, in order, and what each part does"""
IN_STREAM = tuple(name for name in AFTER if name.endswith("_residual"))
"""Those of a pre-norm block, whose norms are not part of the stream"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(ShortRepr):
    """All tokens after every part."""

    parts: tuple[str, ...]
    """What each part is: "X", "block 0 + attention", "block 0 norm", ..."""
    vectors: Tensor
    """(P, T, C)"""

    @property
    def norms(self) -> Tensor:
        """‖x‖ of each token after every part, (P, T)."""
        norms: Tensor = self.vectors.norm(dim=-1)
        return norms

    def similarity_to_start(self) -> Tensor:
        """Return the cosine of each token to itself before the first part, (P, T); 0 where a vector is 0."""
        return functional.cosine_similarity(self.vectors, self.vectors[:1], dim=-1)

    def similarity_to_others(self, token: int) -> Tensor:
        """Return the cosine of one token to each token after the same part, (P, T); 0 where a vector is 0."""
        return functional.cosine_similarity(self.vectors, self.vectors[:, token, None], dim=-1)


def states(blocks: Sequence[Block]) -> list[Tensor] | None:
    """Return the input of the first block and the output of each, (T, C); None if they are not known."""
    outputs = [blocks[0].input, *(None if (steps := block.steps()) is None else steps.block_output for block in blocks)]
    known = [output for output in outputs if output is not None]
    return known if len(known) == len(outputs) else None


def is_pre_norm(steps: BlockSteps) -> bool:
    """Return whether a block's norms are not part of the stream."""
    return steps.is_reduced or steps.feed_forward_norm is not None


def residual_stream(blocks: Sequence[Block], numbers: Sequence[int] | None = None) -> Stream | None:
    """Return the stream through the blocks of one stack, one after another; None if their steps are not known.

    `numbers` are the numbers of the blocks in the model; 0, 1, ... if None.
    """
    x = blocks[0].input
    if x is None:
        return None
    parts, vectors = ["X"], [x]
    for number, block in zip(range(len(blocks)) if numbers is None else numbers, blocks, strict=True):
        steps = block.steps()
        if steps is None:
            return None
        for field in IN_STREAM if is_pre_norm(steps) else AFTER:
            vector = getattr(steps, field)
            if vector is not None:  # a block without attention to an encoder has no such fields
                parts.append(f"block {number} {AFTER[field]}")
                vectors.append(vector)
    return Stream(tuple(parts), torch.stack(vectors))


COUNT = 5
"""How many of the likeliest tokens of each state are shown"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lens(ShortRepr, ArraysSize):
    """The likeliest tokens of one row after each block."""

    parts: tuple[str, ...]
    """What each state is: "X", "after block 0", ..."""
    tokens: Tensor
    """(P, K): ids, the likeliest first"""
    probabilities: Tensor
    """(P, K): their probabilities among all V"""
    of_last: Tensor
    """(P,): the probability of the token that is likeliest in the end"""
    ranks: Tensor
    """(P,): its rank, from 0"""

    def labels(self, trace: Trace) -> list[str]:
        """Return the label of the likeliest token of each state, as guesses name it."""
        vocabulary = trace.vocabulary
        return [] if vocabulary is None else [bare(vocabulary.label(token)) for token in self.tokens[:, 0].tolist()]


def logit_lens(trace: Trace, row: int, count: int = COUNT) -> Lens | None:
    """Apply the final norm and the language head to a row after each block of the last stack.

    The head was trained on the last state only; the lens applies it to the others as they are, uncorrected.

    Args:
        trace: a trace of a model with a language head.
        row: a row of the last stack.
        count: K.

    Returns:
        None if the language head, the final norm or the blocks' steps are not known.

    Raises:
        IndexError: there is no such row.
    """
    known = _states_before_head(trace)
    if known is None:
        return None
    stack_states, norm, vocabulary = known
    with torch.inference_mode():
        logits = state_logits(torch.stack([state[row] for state in stack_states]), norm, vocabulary)
        return lens_of(logits, count, trace.numbers_of(trace.places[-1].stack))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LensByPosition(ShortRepr, ArraysSize):
    """The likeliest token of R rows after each block; the first state is X."""

    tokens: Tensor
    """(R, P): its id"""
    probabilities: Tensor
    """(R, P): its probability among all V"""


def lens_by_position(trace: Trace, rows: Sequence[int]) -> LensByPosition | None:
    """Return the likeliest token of each row after each block, by the same lens.

    Args:
        trace: a trace of a model with a language head.
        rows: R rows of the last stack.

    Returns:
        None where `logit_lens` is.

    Raises:
        IndexError: there is no such row.
    """
    known = _states_before_head(trace)
    if known is None:
        return None
    stack_states, norm, vocabulary = known
    best = []
    with torch.inference_mode():
        for row in rows:  # one after the other: the logits of 64 rows after 7 blocks take 55 MB
            logits = state_logits(torch.stack([state[row] for state in stack_states]), norm, vocabulary)
            best.append(logits.softmax(-1).max(-1))
    return LensByPosition(torch.stack([row.indices for row in best]), torch.stack([row.values for row in best]))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowStates(ShortRepr):
    """A row of the last stack before its first block and after each."""

    numbers: tuple[int, ...]
    """The numbers of the P - 1 blocks in the model"""
    norms: Tensor
    """(P,): ‖x‖"""

    @classmethod
    def of(cls, trace: Trace, row: int) -> RowStates | None:
        """Return the states of a row; None if the blocks' steps are not known.

        Raises:
            IndexError: there is no such row.
        """
        stack = trace.places[-1].stack
        known = states(trace.blocks[stack])
        if known is None:
            return None
        return cls(trace.numbers_of(stack), torch.stack([state[row] for state in known]).norm(dim=-1))


def _states_before_head(trace: Trace) -> tuple[list[Tensor], Norm | None, Vocabulary] | None:
    """Return the states of the last stack, the norm after it, and the head; None if one of them is not known."""
    stack = trace.places[-1].stack
    vocabulary, norm = trace.vocabulary, trace.final_norms.get(stack)
    if vocabulary is None or (norm is None and stack in trace.final_norms):
        return None
    stack_states = states(trace.blocks[stack])
    return None if stack_states is None else (stack_states, norm, vocabulary)


def state_logits(x: Tensor, norm: Norm | None, vocabulary: Vocabulary) -> Tensor:
    """Apply the final norm and the language head to states: (P, C) -> (P, V)."""
    return vocabulary.logits(x if norm is None else norm.apply(x))


def lens_of(logits: Tensor, count: int = COUNT, numbers: Sequence[int] | None = None) -> Lens:
    """Return the lens of the logits of a row's states, (P, V), the last of which are the model's own.

    `numbers` are the numbers of the P - 1 blocks in the model; 0, 1, ... if None.
    """
    probabilities = logits.softmax(-1)
    of_last = probabilities[:, int(logits[-1].argmax())]
    best = probabilities.topk(min(count, logits.shape[-1]), dim=-1)
    ranks = (probabilities > of_last[:, None]).sum(-1)
    blocks = range(len(logits) - 1) if numbers is None else numbers
    parts = ("X", *(f"after block {number}" for number in blocks))
    return Lens(parts, best.indices, best.values, of_last, ranks)

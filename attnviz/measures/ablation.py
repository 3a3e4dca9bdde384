"""What a model answers without some of its heads, and how much its answer depends on each of them.

A head is switched off by zero, as by Michel et al. 2019, "Are Sixteen Heads Really Better than One?": in a second pass
of the model its slice of concat is 0 (`attnviz.trace.recorder.replaced`). The answer is what the language head expects
for the first masked token of an encoder, or after the last token of a decoder.

Shapes: L layers, H heads, T tokens, C model width, V tokens of the vocabulary, K tokens that are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.trace.model import Kind, Place
from attnviz.trace.recorder import Replacement, recording, replaced
from attnviz.trace.trace import Trace

AT_ONCE = 2**21
"""Weights, over all heads, that a layer computes at once: 8 MB, of which a forward pass holds three copies"""
LISTED = 5
"""How many of the likeliest tokens are listed"""
NO_HEAD = "This model has no language head that is known here: it names no token, so there is no answer to change."
NO_BLANK = "This model has not learned to name a hidden word, so there is no answer to change."
NO_MASK = (
    "Write {mask} in the text in place of a word: then the model names what it expects there, with and without heads."
)
NOT_RUN = "This model can't be run without some of its heads here."
SHARED = "Layers of this model share one attention, so no head can be switched off in one of them alone."


class NoAnswerError(ValueError):
    """There is no answer to compare. The message says why, in a sentence for the user."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer(ShortRepr, ArraysSize):
    """The likeliest tokens of the whole model, and the likeliest one without some heads if it is another."""

    row: int
    """The row that they are expected at"""
    tokens: Tensor
    """(K,): ids; the likeliest with all heads comes first"""
    before: Tensor
    """(K,): their probabilities among all V with all heads"""
    after: Tensor
    """(K,): the same without some heads"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerChanges(ShortRepr, ArraysSize):
    """How much the answer depends on each head."""

    changes: Tensor
    """(L, H): how much the probability of the whole model's likeliest token rises without this head alone, or falls if
    negative"""


def answer_row(trace: Trace) -> int:
    """Return the row of the answer: of the first masked token of an encoder, or the last row of a decoder.

    Raises:
        NoAnswerError: there is none.
    """
    vocabulary, kind = trace.vocabulary, trace.places[-1].kind
    if vocabulary is None or not trace.has_learned:
        raise NoAnswerError(NO_HEAD)
    rows, masked = trace.guessed_rows(kind), vocabulary.masked
    if not rows:
        raise NoAnswerError(NO_BLANK if masked is None else NO_MASK.format(mask=vocabulary.label(masked)))
    return rows[0] if kind == "encoder" else rows[-1]


def probabilities(trace: Trace, hidden: Tensor) -> Tensor:
    """Return the probabilities of all tokens at the row of the answer, (V,) or (B, V).

    Args:
        trace: the trace of the text.
        hidden: one or several last hidden states on the same text, (T, C) or (B, T, C).

    Raises:
        NoAnswerError: there is no answer.
    """
    row = answer_row(trace)
    if trace.vocabulary is None:
        raise NoAnswerError(NO_HEAD)
    with torch.inference_mode():
        shares = trace.vocabulary.logits(torch.atleast_2d(hidden[..., row, :])).softmax(-1)
    return shares.view(*hidden.shape[:-2], -1)


def compared(trace: Trace, hidden: Tensor) -> Answer:
    """Compare the whole model's answer with that of another last hidden state, (T, C); raises as `probabilities`."""
    before, after = probabilities(trace, trace.last_hidden_state), probabilities(trace, hidden)
    best = before.topk(min(LISTED, len(before))).indices.tolist()
    # A token that is likeliest only without the heads is listed too.
    tokens = torch.tensor(list(dict.fromkeys([*best, int(after.argmax())])))
    return Answer(answer_row(trace), tokens, before[tokens], after[tokens])


def hidden_without(trace: Trace, heads: Iterable[tuple[Place, int]]) -> Tensor:
    """Run the model of a trace on its text without some heads; return the last hidden state, (T, C).

    Raises:
        NoAnswerError: the model can't be run without them.
        IndexError: there is no such head.
    """
    rerun, modules = _runnable(trace)
    by_module: dict[nn.Module, list[int]] = {}
    for place, head in heads:
        by_module.setdefault(modules[place], []).append(head)
    counts = {modules[place]: trace.layer(place.layer, place.kind).heads for place in trace.places}
    replacements = {module: Replacement.by_zero(off, counts[module]) for module, off in by_module.items()}
    with torch.inference_mode(), replaced(replacements):
        return rerun(1)[0]


def each_without(trace: Trace, kind: Kind, means: Tensor | None = None) -> Iterator[Tensor]:
    """Yield the last hidden states without each single head of a kind, in order, in batches: (B, T, C).

    The caller may stop between batches. A batch has heads of one layer, as many as `AT_ONCE` allows.

    Args:
        trace: the trace of the text.
        kind: whose heads are switched off.
        means: (L, H, D), what replaces the heads' outputs; None means 0.

    Raises:
        NoAnswerError: the model can't be run without a head.
    """
    rerun, modules = _runnable(trace)
    for place, number in enumerate(trace.numbers_of(kind)):
        layer, values = trace.layer(number, kind), None if means is None else means[place]
        at_once = max(1, AT_ONCE // (layer.heads * layer.query.shape[1] * layer.key.shape[1]))
        for off in torch.eye(layer.heads, dtype=torch.bool).split(at_once):
            with torch.inference_mode(), replaced({modules[Place(kind, number)]: Replacement(off, values)}):
                hidden = rerun(len(off))
            yield hidden


def changes_in_steps(trace: Trace, kind: Kind) -> Iterator[int | AnswerChanges]:
    """Yield how many heads of a kind are done after each batch, and finally how much the answer depends on each.

    Raises:
        NoAnswerError: there is no answer, or the model can't be run without a head.
    """
    before = probabilities(trace, trace.last_hidden_state)
    best = int(before.argmax())
    changes, done = list[Tensor](), 0
    for hidden in each_without(trace, kind):
        changes.append(probabilities(trace, hidden)[:, best] - before[best])
        done += len(hidden)
        yield done
    yield AnswerChanges(torch.cat(changes).view(len(trace.numbers_of(kind)), -1))


def _runnable(trace: Trace) -> tuple[Callable[[int], Tensor], dict[Place, nn.Module]]:
    """Return what runs the model on copies of the text, and the module of each attention."""
    if trace.rerun is None:
        raise NoAnswerError(NOT_RUN)
    with torch.inference_mode(), recording() as recorder:
        trace.rerun(1)
    if len(recorder.modules) != len(trace.places):
        raise NoAnswerError(NOT_RUN)
    if len(set(recorder.modules)) != len(recorder.modules):
        raise NoAnswerError(SHARED)
    return trace.rerun, dict(zip(trace.places, recorder.modules, strict=True))

"""What the built-in model computes without some heads: in the worker pool, cached for all sessions within bounds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from attnviz.bert.ablation import (
    Effects,
    Head,
    HeadMeasures,
    effects_in_steps,
    head_means,
    head_measures,
    hidden_without,
    without,
)
from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import built_in as reference
from attnviz.measures.survey import survey_name
from attnviz.runtime.long_work import Work
from attnviz.ui import state
from attnviz.ui.bert.models import built_in
from attnviz.ui.caches import named_cache, result
from attnviz.ui.long_work import wait_for
from attnviz.ui.sources import RESOURCES

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.trace.trace import Trace

HIDDEN_BYTES = 12 * 2**20
"""Output embeddings of 15 texts of 512 tokens, or of some 500 sentences"""
EFFECT_BYTES = 2**20
"""Effects and measures of some thousand texts"""
INDEX_BYTES = 2**20
"""The embeddings of the built-in sentences"""
AT_ONCE_UP_TO = 128
"""Tokens: the effects of all heads on longer texts take seconds, and are computed on request only"""
FAILED = "The heads could not be measured: there may be too little memory for it just now. Choose a shorter text."


@dataclass(slots=True)
class _EffectsRecord:
    """What a session keeps of the effects of all heads."""

    requested: tuple[str, str] | None = None
    """The key of the last ablation of a long text whose effects were requested"""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A text's pass through the whole model, and through the model without some heads."""

    model: BuiltInModel
    trace: Trace
    off: tuple[Head, ...]
    by: str
    """"zero" or "mean\""""
    after: Tensor
    """(T, C): the output embeddings without the heads"""

    @property
    def size(self) -> tuple[int, int]:
        """The number of layers, and of heads in a layer."""
        layers, heads = self.model.description.layers["encoder"]
        return layers, heads

    @property
    def off_text(self) -> str:
        """A short name for the heads that are switched off."""
        if not self.off:
            return "no head"
        (layer, head), *others = self.off
        if not others:
            return f"layer {layer} · head {head}"
        is_layer = len(self.off) == self.size[1] and all(other == layer for other, _ in others)
        return f"all of layer {layer}" if is_layer else f"{len(self.off)} heads"

    @property
    def key(self) -> tuple[str, str]:
        """What the effects of all heads depend on."""
        return survey_name(self.trace, "encoder"), self.by

    @property
    def digest(self) -> str:
        """A name for a plot of this text and these heads: a new name clears the plot's selection."""
        return blake2b(repr((self.key, self.off)).encode(), digest_size=6).hexdigest()

    @property
    def means(self) -> Tensor | None:
        """What replaces the heads' outputs, (L, H, D); None means 0."""
        return means_of(self.model) if self.by == "mean" else None


def ablate(text: str) -> Ablation:
    """Run a text through the whole model, and through the model without the heads that the view switches off.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token.
    """
    model = built_in()
    trace, off, by = RESOURCES.trace(model, text, None), off_in(model), state.get("off_by")
    if not off:
        return Ablation(model, trace, off, by, trace.last_hidden_state)
    key = survey_name(trace, "encoder"), off, by

    def compute() -> Tensor:
        return hidden_without(model, trace.tokens, off, means_of(model) if by == "mean" else None)

    return Ablation(model, trace, off, by, result("heads off", HIDDEN_BYTES, key, compute))


def off_in(model: BuiltInModel) -> tuple[Head, ...]:
    """Return the heads that the view switches off; those that the model does not have are left out, with a note."""
    layers, heads = model.description.layers["encoder"]
    chosen: Collection[Head] = state.get("off")
    missing = [head for head in chosen if head[0] >= layers or head[1] >= heads]
    if missing:
        state.note(f"Layer {missing[0][0]} · head {missing[0][1]} does not exist: there are {layers} x {heads} heads.")
        state.put("off", tuple(head for head in chosen if head not in missing))
    return tuple(state.get("off"))


def means_of(model: BuiltInModel) -> Tensor:
    """Return each head's mean output over the reference sentences, (L, H, D)."""
    return result("head means", EFFECT_BYTES, model.name, partial(head_means, model, reference().sentences))


def sentence_cosines(ablation: Ablation) -> tuple[Tensor, Tensor]:
    """Return the cosine of each built-in sentence with the text, with all heads and without some: (N,) each.

    The sentences are embedded by the whole model; only the text's embedding differs.
    """
    sentences = reference().sentences
    index: Tensor = result(
        "sentences", INDEX_BYTES, ablation.model.name, partial(embed_sentences, sentences, model=ablation.model)
    )
    text = ablation.trace.tokens.text

    def query(off: tuple[Head, ...]) -> Tensor:
        with without(ablation.model, off, ablation.means):
            return embed_sentences([text], model=ablation.model)[0]

    before, after = (
        result("queries", EFFECT_BYTES, (ablation.key, off), partial(query, off)) for off in ((), ablation.off)
    )
    return (index @ before).clamp(-1, 1), (index @ after).clamp(-1, 1)


def measures_of(ablation: Ablation) -> HeadMeasures:
    """Return the measures of the attention of all heads."""
    return result("head measures", EFFECT_BYTES, ablation.key[0], partial(head_measures, ablation.trace))


def effects_of(ablation: Ablation) -> Effects | None:
    """Return the effects of all heads; None for a long text until this session requests them."""
    is_requested = state.record(_EffectsRecord).requested == ablation.key
    if len(ablation.trace.tokens) > AT_ONCE_UP_TO and not is_requested:
        return None
    layers, heads = ablation.size
    effects: Work[Effects] = Work(
        named_cache("head effects", EFFECT_BYTES),
        ablation.key,
        lambda: effects_in_steps(ablation.model, ablation.trace, ablation.means),
        FAILED,
    )
    return wait_for(effects, layers * heads, "heads are measured")


def request_effects(ablation: Ablation) -> None:
    """Request the effects of all heads on a long text, from a callback."""
    state.record(_EffectsRecord).requested = ablation.key

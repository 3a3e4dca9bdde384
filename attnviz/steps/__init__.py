"""The steps: one value per step with its title, formula, notice and code.

    step = STEPS["weights"]
    step.title, step.notice(walk), step.code(walk)

`inputs.py`, `scores.py`, `biased.py` and `weights.py` hold the steps of one head, `block.py` and `vocabulary.py` those
around an attention in a transformer, `averages.py` those of the page "From averages to attention". None of them imports
torch, so links can be parsed without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnviz.steps.averages import WAYS
from attnviz.steps.biased import BIASED
from attnviz.steps.block import AFTER_ATTENTION, INPUT_NORM
from attnviz.steps.inputs import EMBEDDINGS, NORMED, QKV, ROTATED, TOKENS
from attnviz.steps.scores import CAPPED, MASKED, SCALED, SCORES
from attnviz.steps.step import Step, unavailable
from attnviz.steps.vocabulary import LANGUAGE_HEAD
from attnviz.steps.weights import CONCAT, HEAD_OUTPUTS, OUTPUT, WEIGHTS

if TYPE_CHECKING:
    from attnviz.trace.model import Description, Place
    from attnviz.trace.walk import Walk

ATTENTION: dict[str, Step[Walk]] = {
    step.name: step for step in (EMBEDDINGS, QKV, SCORES, SCALED, MASKED, WEIGHTS, HEAD_OUTPUTS, CONCAT, OUTPUT)
}
"""The steps that show a walk, by name, in order; every walk has them."""

STEPS: dict[str, Step[Any]] = {TOKENS.name: TOKENS, **ATTENTION}
"""The steps from the text to the output that every walk has, by name, in order."""

_ALL: tuple[Step[Any], ...] = (
    TOKENS, EMBEDDINGS, QKV, NORMED, ROTATED, SCORES, SCALED, CAPPED, BIASED, MASKED, WEIGHTS, HEAD_OUTPUTS,
    CONCAT, OUTPUT,
)  # fmt: skip
WALK: dict[str, Step[Any]] = {step.name: step for step in _ALL}
"""`STEPS`, and among them those that only some attentions have: see `Step.is_in` and `Description.steps_in`."""

OF_HEAD = tuple(name for step in WALK.values() if step.is_of_head for name in step.matrices)
"""The matrices of one head."""

_INPUT: tuple[Step[Any], ...] = (TOKENS, EMBEDDINGS, INPUT_NORM)
PARTS = {step.name: step for step in (*_INPUT, *WALK.values(), *AFTER_ATTENTION, *LANGUAGE_HEAD)}
"""All steps of a transformer, by name, in order; a walk has only those whose matrices its part of a block has"""

_OF_PART = {
    "norm": ("input_norm", "feed_forward_norm", "final_norm"),
    "feed_forward": ("feed_forward_norm", "feed_forward_hidden", "feed_forward_output", "feed_forward_residual"),
}
"""The steps of each part that a pre-norm block may lack"""


def steps_of(walk: Walk) -> dict[str, Step[Any]]:
    """Return the steps of a walk, by name, in order."""
    if walk.averages:
        return dict(WAYS)
    steps = {name: step for name, step in WALK.items() if name in STEPS or step.is_in(walk)}
    if walk.block is None:
        return steps
    return {name: step for name, step in PARTS.items() if name in steps or name in walk.block.matrices}


def walk_names_at(model: Description, place: Place) -> tuple[str, ...]:
    """Return the names of the steps from the text to the output that an attention of a model has, in order."""
    layers = {name: model.steps_in.get(name, {}).get(place.kind, ()) for name in WALK}
    return tuple(name for name in WALK if name in STEPS or place.layer in layers[name])


def names_at(model: Description, place: Place) -> tuple[str, ...]:
    """Return the names of the steps that `steps_of` gives for an attention of a model, before the model is run."""
    pre_norm, crosses = model.norm_first, "cross" in model.layers
    names = set(walk_names_at(model, place))
    if pre_norm is not None and place.layer not in model.attention_alone.get(place.kind, ()):
        names |= {"attention_residual", "input_norm" if pre_norm else "attention_norm"}
        if place.kind != "decoder" or not crosses:
            names |= {"feed_forward_hidden", "feed_forward_output", "feed_forward_residual"}
            names.add("feed_forward_norm" if pre_norm else "block_output")
            if place.layer == model.numbers[place.kind][-1]:
                names |= {"final_norm"} if model.final_norm else set()
                has_logits = model.shows_logits and (place.kind != "encoder" or not crosses)
                names |= {"logits", "probabilities"} if has_logits else set()
                names |= {"transform_hidden", "transform_norm"} if has_logits and model.head_transform else set()
    names -= {name for part in model.lacks for name in _OF_PART[part]}
    return tuple(name for name in PARTS if name in names)


__all__ = [
    "ATTENTION", "OF_HEAD", "PARTS", "STEPS", "TOKENS", "WALK", "Step", "names_at", "steps_of", "unavailable",
    "walk_names_at",
]  # fmt: skip

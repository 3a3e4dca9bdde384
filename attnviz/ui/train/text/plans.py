"""What is to be trained on a text, as the view says it: a stage of the model series with the view's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attnviz.toy.language.config import BigramConfig, ModelConfig, TokenConfig
from attnviz.training.plan import Plan
from attnviz.training.series import SERIES, Stage
from attnviz.training.text.cut import MOST, Cut
from attnviz.ui.train.plans import OF_TRAINING

Get = Callable[[str], Any]
STAGES: dict[str, Stage] = {stage.name: stage for stage in SERIES}


def plan_of(stage: Stage, vocabulary: int, get: Get) -> Plan:
    """Return the training of a stage on a text with so many different characters."""
    plan = stage.plan(vocabulary)
    block, dropout = get("train_block"), get("train_dropout")
    cut: Cut = get("cut") or "blocks"
    if block is None and cut != "blocks":
        block = MOST
    model = plan.token_model if block is None else _with_block(plan.token_model, block)
    if dropout is not None:
        model = _with_dropout(model, dropout)
    given = {name: get(key) for key, name in OF_TRAINING.items() if get(key) is not None}
    return Plan(plan.subject, model, replace(plan.training, seed=get("seed"), **given), cut)


def is_usual(stage: Stage, plan: Plan) -> bool:
    """Whether a stage's expected losses hold for a plan: it differs in its seed and its steps at most."""
    usual = stage.plan(plan.token_model.vocabulary)
    training = replace(plan.training, seed=usual.training.seed, steps=usual.training.steps)
    return (plan.model, plan.cut, training) == (usual.model, usual.cut, usual.training)


def stage_of(plan: Plan) -> Stage | None:
    """Return the stage whose model a plan has, with whatever block size and dropout; None if there is none."""
    model = _with_dropout(_with_block(plan.token_model, 1), 0.0)
    return next((stage for stage in SERIES if _with_block(stage.plan(model.vocabulary).token_model, 1) == model), None)


def _with_block(model: ModelConfig, block: int) -> ModelConfig:
    """Return a model's shape with another block size; a bigram has none."""
    return model if isinstance(model, BigramConfig) else replace(model, block_size=block)


def _with_dropout(model: ModelConfig, dropout: float) -> ModelConfig:
    """Return a model's shape with another dropout; a bigram and a GRU have none."""
    return replace(model, dropout=dropout) if isinstance(model, TokenConfig) else model

"""The training that the view describes: a task or a stage of the model series, the model and the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from attnviz.formatting import counted
from attnviz.toy.language.config import BigramConfig, ModelConfig, TokenConfig
from attnviz.training.jobs.jobs import Job
from attnviz.training.plan import Plan
from attnviz.training.series import SERIES, Stage
from attnviz.training.settings import TrainingSettings
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.tagging import Tagging
from attnviz.training.tasks.task import Task
from attnviz.training.text.cut import MOST, Cut
from attnviz.ui.train.tagged import own_sentences

Get = Callable[[str], Any]

OF_TRAINING: Mapping[str, str] = {
    "steps": "steps", "batch": "batch", "rate": "learning_rate", "warm_up": "warm_up", "decay": "decay",
    "optimiser": "optimiser", "weight_decay": "weight_decay",
}  # fmt: skip
"""Settings of a training: link keys, with their names in `TrainingSettings`"""
OF_MODEL: Mapping[str, str] = {
    "train_layers": "layers", "train_heads": "heads", "train_width": "width", "train_dropout": "dropout",
}  # fmt: skip
"""Settings of its model: link keys, with their names in `TokenConfig`"""

STAGES: dict[str, Stage] = {stage.name: stage for stage in SERIES}


def task_of(get: Get) -> Task:
    """Return the view's task, or the first one; for tagging, the task on the visitor's files if these are chosen."""
    task = TASKS.get(get("task")) or next(iter(TASKS.values()))
    return (own_sentences() or task) if task.name == Tagging.name else task


def is_of(job: Job, task: Task) -> bool:
    """Whether a training is on a task and, if that has files, on the same files."""
    data, files = job.data, task.data
    if not isinstance(data, TaggedFiles):
        return job.plan.subject == task.name
    return files is not None and data.digest == files.digest


def default_of(task: Task, key: str) -> Any:
    """Return a task's default value of a setting, by its link key."""
    return getattr(task.training, OF_TRAINING[key]) if key in OF_TRAINING else getattr(task.model, OF_MODEL[key])


def plan_of(get: Get, *, control: bool = False) -> Plan:
    """Return the plan that the view's settings describe: the task's model, or the control with the same settings.

    Raises:
        ValueError: the settings do not fit each other; the message is a clause such as "a width of 30 can't ...".
    """
    task = task_of(get)
    training = {name: get(key) for key, name in OF_TRAINING.items() if get(key) is not None}
    shape = {name: get(key) for key, name in OF_MODEL.items() if get(key) is not None}
    if control:
        shape = {name: value for name, value in shape.items() if name == "dropout"}
    model = replace(task.control_model if control else task.model, **shape)
    return Plan(task.name, model, replace(task.training, seed=get("seed"), **training))


def settings_of(plan: Plan, task: Task) -> dict[str, Any]:
    """Return the settings of a task's training by link key; None for the task's default values.

    A control has its own shape, so only its training settings and dropout are returned.
    """
    model = plan.model
    of_model = {key: name for key, name in OF_MODEL.items() if not task.is_control(model) or name == "dropout"}
    values = {key: getattr(plan.training, name) for key, name in OF_TRAINING.items()}
    values |= {key: getattr(model, name) for key, name in of_model.items()}
    return {
        **{key: None if value == default_of(task, key) else value for key, value in values.items()},
        "seed": plan.training.seed,
    }


def fitting_plan(get: Get) -> tuple[Plan, str]:
    """Return the view's plan and ""; if its settings do not fit each other, the task's own model and the reason."""
    try:
        return plan_of(get), ""
    except ValueError as error:
        return plan_of(lambda key: None if key in OF_MODEL else get(key)), str(error)


def sample_of(get: Get) -> str:
    """Return the text that the model is shown: the view's, or the task's first example."""
    sample: str = get("sample")
    return sample if sample.strip() else task_of(get).examples[0]


def schedule(settings: TrainingSettings) -> str:
    """Describe the learning rate's course: at the first step, after warm-up, in the middle and at the last step."""
    last = settings.steps - 1
    steps = sorted({0, min(max(0, settings.warm_up - 1), last), last // 2, last})
    rates = ", ".join(f"{settings.rate_at(step):.3g} at step {step:,}" for step in steps)
    rises = f"rises over {counted(settings.warm_up, 'step')} and then " if settings.warm_up else ""
    then = "stays" if settings.decay == "none" else f"falls along a cosine to {settings.last_rate:g} of its value"
    return f"The learning rate {rises}{then}: {rates}."


def stage_plan_of(stage: Stage, vocabulary: int, get: Get) -> Plan:
    """Return the plan of a stage on a text with `vocabulary` different characters."""
    plan = stage.plan(vocabulary)
    block, dropout = get("train_block"), get("train_dropout")
    cut: Cut = get("cut") or "blocks"
    if block is None and cut != "blocks":
        block = MOST
    model = plan.token_model if block is None else _with_block(plan.token_model, block)
    if dropout is not None:
        model = _with_dropout(model, dropout)
    chosen = {name: get(key) for key, name in OF_TRAINING.items() if get(key) is not None}
    return Plan(plan.subject, model, replace(plan.training, seed=get("seed"), **chosen), cut)


def is_usual(stage: Stage, plan: Plan) -> bool:
    """Whether a stage's expected losses hold for a plan, which may differ only in its seed and steps."""
    usual = stage.plan(plan.token_model.vocabulary)
    training = replace(plan.training, seed=usual.training.seed, steps=usual.training.steps)
    return (plan.model, plan.cut, training) == (usual.model, usual.cut, usual.training)


def stage_of(plan: Plan) -> Stage | None:
    """Return the stage whose model a plan has, whatever its block size and dropout; None if there is none."""
    model = _with_dropout(_with_block(plan.token_model, 1), 0.0)
    return next((stage for stage in SERIES if _with_block(stage.plan(model.vocabulary).token_model, 1) == model), None)


def _with_block(model: ModelConfig, block: int) -> ModelConfig:
    """Return a model's shape with another block size; a bigram has none."""
    return model if isinstance(model, BigramConfig) else replace(model, block_size=block)


def _with_dropout(model: ModelConfig, dropout: float) -> ModelConfig:
    """Return a model's shape with another dropout; a bigram and a GRU have none."""
    return replace(model, dropout=dropout) if isinstance(model, TokenConfig) else model

"""The stages of the model series as the page shows them: their models, their trainings and what to expect of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from attnviz.runtime.arrays import NotOfferedError
from attnviz.runtime.training import training_jobs
from attnviz.toy.language.config import ModelConfig, TokenConfig
from attnviz.trained.recorded import Recording, of_stage
from attnviz.trained.snapshots import why_not_shown
from attnviz.training.jobs.job import Job
from attnviz.training.jobs.limits import parameters_of
from attnviz.training.jobs.view import View
from attnviz.training.jobs.weights import model_of, thinned
from attnviz.training.plan import TEXT, Plan, build
from attnviz.training.series import SERIES, Stage
from attnviz.ui.train.arrays import Reading
from attnviz.ui.train.runs import MOST_CODES, difference, diverging, module_at, queued, thinned_loss
from attnviz.ui.train.text.arrays import Asked, offer_model
from attnviz.ui.train.text.cuts import drawn_of
from attnviz.ui.train.text.facts import Facts
from attnviz.ui.train.text.plans import Get, is_usual, plan_of, stage_of

SAMPLED = (0, 100, 200, 500, 1000, 1500, 2000, 5000)
"""The steps at which a model writes a text; and after the last one"""
OVERLAID = 2
"""The most trainings of a model that are shown beneath its newest one"""
SHIPPED = "Recorded: trained earlier with these settings. Choose a model, play its training, or train anew."


@dataclass(frozen=True, slots=True)
class Earlier:
    """A training over which a newer one is drawn."""

    title: str
    """What it had otherwise, such as "learning rate 0.01\""""
    view: View


@dataclass(frozen=True, slots=True)
class Row:
    """A stage with its newest training on the text that is chosen, or its model before one."""

    stage: Stage
    plan: Plan
    number: int
    """Of its job; 0 before the training, and of one that was recorded"""
    view: View
    will_follow: bool
    """Whether it is trained after the training that goes on"""
    recording: Recording | None = None
    """Its training that ships with the app, where that is shown"""
    earlier: tuple[Earlier, ...] = ()
    """Other trainings of this model on this text, the latest first"""

    @property
    def status(self) -> str:
        """What the browser is told of its state: `TrainingState` of frontend/types/training.d.ts."""
        return "recorded" if self.recording else self.view.status if self.number else "new"

    @property
    def message(self) -> str:
        """What is said of its state."""
        if self.recording:
            return SHIPPED
        if self.view.status == "queued":
            return queued(self.view)
        return self.view.message or diverging(self.view.losses)


def rows_of(visitor: str, facts: Facts, get: Get) -> list[Row]:
    """Return all stages of the series, in its order."""
    jobs = [job for job in training_jobs().jobs(visitor) if job.plan.subject == TEXT and job.text == facts.text]
    of_stage: dict[str, list[Job]] = {stage.name: [] for stage in SERIES}
    for job in jobs:
        stage = stage_of(job.plan)
        if stage is not None:
            of_stage[stage.name].append(job)
    then = {stage.name for plan in _following(visitor, jobs) if (stage := stage_of(plan)) is not None}
    return [_row(stage, of_stage[stage.name], facts, get, then) for stage in SERIES]


def _following(visitor: str, jobs: list[Job]) -> tuple[Plan, ...]:
    """Return the plans that follow the visitor's latest training, if it is on this text and goes on."""
    latest = training_jobs().job(visitor)
    goes_on = latest is not None and latest in jobs and (latest.view.can_continue or not latest.view.has_ended)
    return latest.then if latest is not None and goes_on else ()


def _row(stage: Stage, jobs: list[Job], facts: Facts, get: Get, then: set[str]) -> Row:
    if jobs:
        job, *before = jobs
        earlier = _earlier(job.plan, before, recording_of(stage, facts))
        return Row(stage, job.plan, job.number, job.view, stage.name in then, None, earlier)
    if (recording := recorded_of(stage, facts, get)) is not None:
        return Row(stage, recording.plan, 0, recording.view, stage.name in then, recording)
    plan = plan_of(stage, len(facts.labels), get)
    return Row(stage, plan, 0, View("stopped", plan.training.steps), stage.name in then)


def _earlier(plan: Plan, jobs: list[Job], recording: Recording | None) -> tuple[Earlier, ...]:
    """Return what is shown of trainings before that of a plan: those of a visitor, then the recorded one."""
    own = [Earlier(difference(one.plan, [plan]) or "the same settings", one.view) for one in jobs]
    shipped = [] if recording is None else [Earlier("recorded", recording.view)]
    return tuple(one for one in [*own, *shipped] if one.view.evaluations)[:OVERLAID]


def recording_of(stage: Stage, facts: Facts) -> Recording | None:
    """Return the training of a stage that ships, if it is on this text."""
    return of_stage(stage.name) if facts.is_built_in else None


def recorded_of(stage: Stage, facts: Facts, get: Get) -> Recording | None:
    """Return the training of a stage that ships, if it is on this text and with the view's settings."""
    recording = recording_of(stage, facts)
    fits = recording is not None and recording.plan == plan_of(stage, len(facts.labels), get)
    return recording if fits else None


def told(row: Row, facts: Facts, visitor: str, reading: Reading, get: Get) -> dict[str, Any]:
    """Return what the browser is told of a stage: `LadderRung` in frontend/types/ladder.d.ts."""
    following = plan_of(row.stage, len(facts.labels), get)
    stage, view, plan = row.stage, row.view, row.plan
    expected = stage.expected if facts.is_built_in and is_usual(stage, plan) else {}
    steps = _kept(row, reading)
    return {
        "name": stage.name, "title": stage.title, "adds": stage.adds, "reported": stage.reported,
        "parameters": _parameters(plan.model), "expected": [list(one) for one in expected.items()],
        "block": plan.block_size, "cut": plan.cut, "rate": plan.training.learning_rate, "batch": plan.training.batch,
        "next": {"block": following.block_size, "batch": following.training.batch, "seed": following.training.seed},
        "drawn": drawn_of(facts, following) if get("text_view") == "data" else [],
        "will_follow": row.will_follow, "earlier": [one.title for one in row.earlier],
        "changed": difference(plan, [stage.plan(plan.token_model.vocabulary)]),
        "run": {
            "id": "recorded" if row.recording else str(row.number), "title": stage.title, "is_control": False,
            "digest": _offer(row, facts, visitor, reading),
            "state": row.status, "message": row.message, "can_continue": view.can_continue,
            "step": view.step, "steps": view.steps, "speed": view.speed or None, "left": view.seconds_left,
            "snapshots": steps, "kinds": _kinds(plan.token_model, reading), "cannot_open": why_not_shown(plan),
        },
        "samples": _samples(steps, is_live=view.status in ("running", "queued")),
    }  # fmt: skip


def _kinds(model: ModelConfig, reading: Reading) -> list[dict[str, Any]]:
    return list(reading.kinds(model)) if isinstance(model, TokenConfig) and reading.ids else []


def _kept(row: Row, reading: Reading) -> list[int]:
    if row.status == "new":
        return [0]
    model, length = row.plan.model, len(reading.ids)
    heads = model.layers * model.heads if isinstance(model, TokenConfig) else 0
    return [one.step for one in thinned(row.view.snapshots, max(2, MOST_CODES // max(1, heads * length * length)))]


def _samples(steps: list[int], *, is_live: bool) -> list[int]:
    """Return the snapshots at which the model writes a text: those next to `SAMPLED`, and the last one at the end."""
    near = {min(steps, key=lambda step: abs(step - wanted)) for wanted in SAMPLED if steps and wanted <= steps[-1]}
    return sorted({*near, *([] if is_live else steps[-1:])})


def _offer(row: Row, facts: Facts, visitor: str, reading: Reading) -> str:
    newline = facts.labels.index("\n") if "\n" in facts.labels else facts.first[0]
    asked = Asked(reading, newline, row.plan.training.seed, facts.blocks, facts.shown)
    if (recording := row.recording) is not None:
        return offer_model(("recorded", recording.card.name), asked, lambda step: _recorded_at(recording, step))
    if not row.number:
        plan = row.plan

        def untrained(step: int) -> nn.Module:
            if step:
                raise NotOfferedError
            return build(plan.model, plan.training.seed).eval()

        return offer_model(("new", repr(plan.model), plan.training.seed), asked, untrained)
    number = row.number
    return offer_model(("job", visitor, number), asked, lambda step: module_at(visitor, number, step))


def _recorded_at(recording: Recording, step: int) -> nn.Module:
    found = next((one for one in recording.view.snapshots if one.step == step), None)
    if found is None:
        raise NotOfferedError
    return model_of(recording.plan.model, found.weights)


@lru_cache(256)
def _parameters(config: ModelConfig) -> int:
    return parameters_of(config, 2**40)


def curves_of(row: Row) -> Mapping[str, NDArray[np.float32]]:
    """Return a stage's curves: `loss` at `loss_steps`, and `held_out` at `evaluated`; "0.held_out" of one before."""
    steps, loss = thinned_loss(row.view.losses)
    earlier = [(f"{n}.", one.view) for n, one in enumerate(row.earlier)]
    return {"loss_steps": steps, "loss": loss} | {
        f"{before}{name}": array for before, view in [("", row.view), *earlier] for name, array in _held_out(view)
    }


def _held_out(view: View) -> Iterator[tuple[str, NDArray[np.float32]]]:
    yield "evaluated", np.array([one.step for one in view.evaluations], np.float32)
    yield "held_out", np.array([one.loss for one in view.evaluations], np.float32)

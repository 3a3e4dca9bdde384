"""The trainings of a visitor as the page shows them: their curves, and where the browser finds their snapshots.

For a task, several are shown together; for a text, the newest of each stage of the model series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from attnviz.formatting import counted
from attnviz.links.link import KEYS
from attnviz.links.train import RECORDED
from attnviz.runtime.arrays import NotOfferedError
from attnviz.toy.language.config import AnyConfig, TokenConfig
from attnviz.trained.making import why_not_shown
from attnviz.trained.recorded import CONTROL, Recording, of_stage, of_task
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.view import Evaluation, View, thinned_losses
from attnviz.training.jobs.weights import model_of, thinned
from attnviz.training.plan import Data, Plan, build, parameters_of, task_of
from attnviz.training.series import SERIES, Stage
from attnviz.training.settings import TEXT
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks.task import Pattern, Task
from attnviz.ui.train.arrays import ModelAt, Reading, offer, task_parts, text_parts
from attnviz.ui.train.plans import Get, is_of, is_usual, stage_of, stage_plan_of
from attnviz.ui.train.text import Facts, drawn_of
from attnviz.ui.training_jobs import queued, training_jobs

SHOWN = 3
"""Maximum trainings of a task that are shown together, the newest ones"""
OVERLAID = 2
"""Maximum earlier trainings of a stage that are drawn beneath its newest one"""
MOST_CODES = 4 * 2**20
"""Maximum weights of all snapshots offered to a browser, 2 bytes each"""
SAMPLED = (0, 100, 200, 500, 1000, 1500, 2000, 5000)
"""The steps at which a model writes a text, besides the last one"""
SHIPPED = "Recorded: trained earlier with these settings. Choose a model, play its training, or train anew."
NAMES_OF_SETTINGS = {
    **KEYS["optimiser"].titles,
    **{name: f"{'no' if name == 'none' else title} decay" for name, title in KEYS["decay"].titles.items()},
    **{name: title.partition(",")[0] for name, title in KEYS["cut"].titles.items()},
}
"""The name of a training that differs in one of these"""
RECENT = 20
"""The number of last steps whose mean loss tells whether a training diverges"""

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Run:
    """A training, or a model before its training."""

    plan: Plan
    number: int
    """The number of its job; 0 for an untrained model and for a recorded training"""
    view: View
    recording: str = ""
    """The name of the recording, if it ships with the app"""
    data: Data | None = None
    """The visitor's data, if it is trained on these"""

    @property
    def task(self) -> Task:
        """Its task; raises ValueError if it is on a text."""
        return task_of(self.plan, self.data)

    @property
    def files(self) -> TaggedFiles | None:
        """The visitor's files of tagged words, if it is trained on these."""
        return self.data if isinstance(self.data, TaggedFiles) else None

    @property
    def model(self) -> TokenConfig:
        """The shape of its model."""
        if not isinstance(self.plan.model, TokenConfig):
            raise TypeError(f"a {type(self.plan.model).__name__} has no heads")
        return self.plan.model

    @property
    def id(self) -> str:
        """Its name in the browser."""
        if self.recording:
            return RECORDED[self.recording.endswith(CONTROL)]
        return str(self.number)

    @property
    def is_control(self) -> bool:
        """Whether its model is the task's control."""
        return self.plan.subject != TEXT and self.task.is_control(self.plan.model)

    @property
    def status(self) -> str:
        """Its state in the browser: `TrainingState` of frontend/types/training.d.ts."""
        return "recorded" if self.recording else self.view.status if self.number else "new"

    @property
    def message(self) -> str:
        """A sentence about its state."""
        training = self.plan.training
        if self.recording and self.plan.subject == TEXT:
            return SHIPPED
        if self.recording:
            return (
                f"Recorded: trained earlier with seed {training.seed}, learning rate {training.learning_rate:g}, "
                f"{training.steps:,} steps of {training.batch} sequences; it ships with the app. Play it, or train "
                "anew."
            )
        return queued(self.view) if self.view.status == "queued" else self.view.message or diverging(self.view.losses)


def diverging(losses: NDArray[np.float32]) -> str:
    """Return a warning if the last losses are far above the first one; "" if not."""
    if len(losses) < RECENT or not (lately := float(losses[-RECENT:].mean())) > 2 * float(losses[0]):
        return ""
    return (
        f"This training diverges: its loss was {losses[0]:.2f} at first, and is {lately:,.2f} now. "
        "A lower learning rate may help."
    )


def jobs_of(visitor: str) -> tuple[Job, ...]:
    """Return the visitor's trainings that are kept, the newest last."""
    return training_jobs().jobs(visitor)[::-1]


def jobs_on(visitor: str, text: str) -> tuple[Job, ...]:
    """Return the visitor's trainings on a text, the newest first."""
    return tuple(job for job in training_jobs().jobs(visitor) if job.plan.subject == TEXT and job.text == text)


def job_of(visitor: str, number: int) -> Job | None:
    """Return a visitor's training by its number; None if it is no longer kept."""
    return next((job for job in training_jobs().jobs(visitor) if job.number == number), None)


def run_of(training: Job | Recording) -> Run:
    """Return a visitor's training in its present state, or a recorded one."""
    if isinstance(training, Recording):
        return Run(training.plan, 0, training.view, training.card.name)
    return Run(training.plan, training.number, training.view, data=training.data)


def untrained(plan: Plan, data: Data | None = None) -> Run:
    """Return the model of a plan before its training."""
    return Run(plan, 0, View("stopped", plan.training.steps), data=data)


def runs_of(visitor: str, plan: Plan, task: Task, chosen: str = "") -> list[Run]:
    """Return the trainings of a task that are shown together, the newest last.

    They are the recorded ones, if one has this plan or `chosen` is one of them; then the visitor's own. If the visitor
    has none and the plan was not recorded, the untrained model takes their place.
    """
    own_runs = [run_of(job) for job in jobs_of(visitor) if is_of(job, task)]
    recorded = recorded_of(plan.subject)
    is_recorded = bool(recorded) and recorded[-1].plan == plan
    shown = [*(recorded if is_recorded or chosen in RECORDED else ()), *own_runs[-SHOWN:]]
    return shown if own_runs or is_recorded else [*shown, untrained(plan, task.data)]


def recorded_of(task: str) -> list[Run]:
    """Return the recorded trainings of a task: the control, then that of the task's own model."""
    return [run_of(recording) for recording in of_task(task)[::-1]]


@dataclass(frozen=True, slots=True)
class Row:
    """A stage with its newest training on the chosen text, or its untrained model."""

    stage: Stage
    run: Run
    will_follow: bool
    """Whether it is queued after the running training"""
    earlier: tuple[tuple[str, View], ...] = ()
    """Other trainings of this model on this text, the latest first, each with what differed, such as "learning rate
    0.01\""""


def rows_of(visitor: str, facts: Facts, get: Get) -> list[Row]:
    """Return all stages of the series, in its order."""
    jobs, latest = jobs_on(visitor, facts.text), training_jobs().job(visitor)
    stages = [stage_of(job.plan) for job in jobs]
    # The plans queued after the visitor's latest training, if that is on this text and not finished.
    goes_on = latest is not None and latest in jobs and (latest.view.can_continue or not latest.view.has_ended)
    following = [stage_of(plan) for plan in latest.then] if latest is not None and goes_on else []
    return [
        _row(
            stage,
            [job for job, of_job in zip(jobs, stages, strict=True) if of_job is stage],
            facts,
            get,
            stage in following,
        )
        for stage in SERIES
    ]


def _row(stage: Stage, jobs: Sequence[Job], facts: Facts, get: Get, will_follow: bool) -> Row:
    if jobs:
        newest, *before = map(run_of, jobs)
        return Row(stage, newest, will_follow, _earlier(newest.plan, before, _recording_of(stage, facts)))
    recording = recorded_stage(stage, facts, get)
    run = untrained(stage_plan_of(stage, len(facts.labels), get)) if recording is None else run_of(recording)
    return Row(stage, run, will_follow)


def _earlier(plan: Plan, runs: Sequence[Run], recording: Recording | None) -> tuple[tuple[str, View], ...]:
    """Return the earlier trainings to show beneath a plan's: the visitor's, then the recorded one."""
    own_views = [(difference(run.plan, [plan]) or "the same settings", run.view) for run in runs]
    shipped = [] if recording is None else [("recorded", recording.view)]
    return tuple((title, view) for title, view in [*own_views, *shipped] if view.evaluations)[:OVERLAID]


def _recording_of(stage: Stage, facts: Facts) -> Recording | None:
    """Return the recorded training of a stage, if it is on this text."""
    return of_stage(stage.name) if facts.is_built_in else None


def recorded_stage(stage: Stage, facts: Facts, get: Get) -> Recording | None:
    """Return the recorded training of a stage, if it is on this text and has the view's settings."""
    recording = _recording_of(stage, facts)
    fits = recording is not None and recording.plan == stage_plan_of(stage, len(facts.labels), get)
    return recording if fits else None


def task_header(task: Task, reading: Reading) -> dict[str, Any]:
    """Return the header of a task and a text: `TrainingTask` in frontend/types/training.d.ts."""
    first = reading.labels.index(task.sign) if task.sign in reading.labels else 0
    return {
        "name": task.name, "title": task.title, "explanation": task.explanation, "expected": task.expected,
        "control": task.control,
        "patterns": [{"name": pattern.name, "title": pattern.title, "kind": pattern.kind} for pattern in task.patterns],
        "answers": list(task.outputs), "read": list(reading.labels), "first": first,
        "right": task.solution(reading.text),
        **({} if task.data is None else {"baseline": task.data.baseline.accuracy}),
    }  # fmt: skip


def header_of(run: Run, runs: Sequence[Run], visitor: str, reading: Reading) -> dict[str, Any]:
    """Return the header of a task's training: `TrainingRun` in frontend/types/training.d.ts.

    Its arrays are not offered if the model knows no token of the text. `runs` are shown together.
    """
    name, model_at = models_of(run, visitor)
    of_one, files = task_parts(run.plan.subject, run.files), "" if run.files is None else run.files.digest
    digest = offer((*name, files), reading, model_at, of_one) if reading.ids else ""
    return _header(run, title_of(run, runs), reading, digest)


def stage_header(row: Row, facts: Facts, visitor: str, reading: Reading, get: Get) -> dict[str, Any]:
    """Return the header of a stage: `SeriesStage` in frontend/types/model_series.d.ts."""
    stage, run, plan = row.stage, row.run, row.run.plan
    following = stage_plan_of(stage, len(facts.labels), get)
    expected = stage.expected if facts.is_built_in and is_usual(stage, plan) else {}
    newline = facts.labels.index("\n") if "\n" in facts.labels else facts.first[0]
    asked = newline, plan.training.seed, facts.blocks, facts.shown
    name, model_at = models_of(run, visitor)
    header = _header(run, stage.title, reading, offer((*name, *asked), reading, model_at, text_parts(*asked)))
    return {
        "name": stage.name, "title": stage.title, "adds": stage.adds, "reported": stage.reported,
        "parameters": _parameters(plan.model), "expected": [list(item) for item in expected.items()],
        "block": plan.block_size, "cut": plan.cut, "rate": plan.training.learning_rate, "batch": plan.training.batch,
        "next": {"block": following.block_size, "batch": following.training.batch, "seed": following.training.seed},
        "drawn": drawn_of(facts, following) if get("text_view") == "data" else [],
        "will_follow": row.will_follow, "earlier": [title for title, _ in row.earlier],
        "changed": difference(plan, [stage.plan(plan.token_model.vocabulary)]),
        "run": header,
        "samples": _samples(header["snapshots"], is_live=run.view.is_live),
    }  # fmt: skip


def _header(run: Run, title: str, reading: Reading, digest: str) -> dict[str, Any]:
    """Return `TrainingRun`, the header of any training, with the snapshots offered to the browser."""
    view, model = run.view, run.plan.model
    kinds = list(reading.kinds(model)) if isinstance(model, TokenConfig) else []
    kept = thinned(view.snapshots, max(2, MOST_CODES // max(1, cells_of(kinds))))
    return {
        "id": run.id, "title": title, "is_control": run.is_control, "digest": digest,
        "state": run.status, "message": run.message, "can_continue": view.can_continue,
        "step": view.step, "steps": view.steps, "speed": view.speed or None, "left": view.seconds_left,
        "snapshots": ([snapshot.step for snapshot in kept] or [0] * (not run.number)) if reading.ids else [],
        "kinds": kinds, "cannot_open": why_not_shown(run.plan),
    }  # fmt: skip


def cells_of(kinds: Sequence[Mapping[str, Any]]) -> int:
    """Return how many weights a snapshot has on a text, by the `kinds` of a training's header."""
    return sum(kind["layers"] * kind["heads"] * kind["rows"] * kind["cols"] for kind in kinds)


def _samples(steps: list[int], *, is_live: bool) -> list[int]:
    """Return the snapshots at which the model writes a text: those nearest to `SAMPLED`, and finally the last one."""
    near = {min(steps, key=lambda step: abs(step - wanted)) for wanted in SAMPLED if steps and wanted <= steps[-1]}
    return sorted({*near, *([] if is_live else steps[-1:])})


@lru_cache(256)
def _parameters(config: AnyConfig) -> int:
    return parameters_of(config, 2**40)


def models_of(run: Run, visitor: str) -> tuple[tuple[object, ...], ModelAt]:
    """Return a training's name for an offer, and a function that returns its model at a snapshot.

    Offers are kept long. A visitor's training is looked up by name each time, so that a dropped one is freed.
    """
    plan, view, number = run.plan, run.view, run.number
    if run.recording:
        return ("recorded", run.recording), lambda step: model_at(plan, view, step)
    if number:
        return ("job", visitor, number), lambda step: module_at(visitor, number, step)

    def before(step: int) -> nn.Module:
        if step:
            raise NotOfferedError
        return build(plan.model, plan.training.seed).eval()

    return ("new", repr(plan.model), plan.training.seed), before


def module_at(visitor: str, number: int, step: int) -> nn.Module:
    """Return the model of a visitor's training at a snapshot.

    Raises:
        NotOfferedError: the snapshot no longer exists.
    """
    job = job_of(visitor, number)
    if job is None:
        raise NotOfferedError
    return model_at(job.plan, job.view, step)


def model_at(plan: Plan, view: View, step: int) -> nn.Module:
    """Return the model at a snapshot in `view`; raises as `module_at` does."""
    snapshot = next((other for other in view.snapshots if other.step == step), None)
    if snapshot is None:
        raise NotOfferedError
    return model_of(plan.model, snapshot.weights)


def title_of(run: Run, runs: Sequence[Run]) -> str:
    """Return a title that tells a training from the others in `runs`: its model, or the settings that differ."""
    if run.recording:
        return "recorded control" if run.id == RECORDED[1] else "recorded"
    if not run.number:
        return "not trained"
    if run.is_control:
        return "control"
    rivals = [other for other in runs if other is not run and not other.is_control]
    differing = difference(run.plan, [rival.plan for rival in rivals])
    return differing or f"{counted(run.model.layers, 'layer')}, {counted(run.model.heads, 'head')}"


def difference(plan: Plan, others: Sequence[Plan]) -> str:
    """Return up to three settings in which a plan differs from `others`, such as "seed 1, steps 500"; "" if none."""
    different = [
        f"{name.replace('_', ' ')} {value:g}" if isinstance(value, (int, float)) else NAMES_OF_SETTINGS[value]
        for name, value in _settings(plan).items()
        if any(_settings(other).get(name) != value for other in others)
    ]
    return ", ".join(different[:3])


def _settings(plan: Plan) -> dict[str, Any]:
    training = plan.training
    shape = ("layers", "heads", "width", "dropout", "block_size")
    return {
        "cut": plan.cut, "learning_rate": training.learning_rate, "seed": training.seed, "batch": training.batch,
        "steps": training.steps, "optimiser": training.optimiser, "decay": training.decay,
        "warm_up": training.warm_up, "weight_decay": training.weight_decay,
        **{name: getattr(plan.model, name) for name in shape if hasattr(plan.model, name)},
    }  # fmt: skip


def all_curves(runs: Sequence[Run]) -> Arrays:
    """Return the curves of trainings: those of the first under "0.loss" and so on."""
    return {f"{number}.{name}": array for number, run in enumerate(runs) for name, array in curves_of(run).items()}


def curves_of(run: Run) -> Arrays:
    """Return a training's curves, by their names in the payload.

    They are those of `loss_curves`, `accuracy` (E,), `trained` (E,) or (0,), and `scores.p` (E, heads) of pattern p.
    """
    evaluations = run.view.evaluations
    return loss_curves(run.view) | {
        "accuracy": _floats(at.accuracy for at in evaluations),
        "trained": _floats(at.trained for at in evaluations if at.trained is not None),
        **{f"scores.{number}": _scores(evaluations, pattern) for number, pattern in enumerate(run.task.patterns)},
    }


def stage_curves(rows: Sequence[Row]) -> Arrays:
    """Return the curves of stages, those of the first under "0.loss"; "0.1.held_out" is an earlier training's."""
    curves: Arrays = {}
    for number, row in enumerate(rows):
        curves |= {f"{number}.{name}": array for name, array in loss_curves(row.run.view).items()}
        for before, (_, view) in enumerate(row.earlier):
            of_view = loss_curves(view)
            curves |= {f"{number}.{before}.{name}": of_view[name] for name in ("evaluated", "held_out")}
    return curves


def loss_curves(view: View) -> Arrays:
    """Return the losses of a training: `loss` at `loss_steps`, and `held_out` at `evaluated`, (E,)."""
    steps, loss = thinned_losses(view.losses)
    return {
        "loss_steps": steps, "loss": loss,
        "evaluated": _floats(at.step for at in view.evaluations),
        "held_out": _floats(at.loss for at in view.evaluations),
    }  # fmt: skip


def _scores(evaluations: Sequence[Evaluation], pattern: Pattern) -> NDArray[np.float32]:
    """Return the scores of all heads of the pattern's kind, (E, L · H)."""
    rows = [
        [score for place, heads in sorted(at.scores.get(pattern.name, {}).items(), key=lambda item: item[0].layer)
         for score in heads if place.kind == pattern.kind]
        for at in evaluations
    ]  # fmt: skip
    return np.array(rows, np.float32).reshape(len(rows), -1) if rows else np.zeros((0, 0), np.float32)


def _floats(values: Iterable[float]) -> NDArray[np.float32]:
    return np.array(list(values), np.float32)

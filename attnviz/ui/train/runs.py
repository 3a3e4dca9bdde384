"""The trainings of a visitor as the page shows them: their curves, and where the browser finds their snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from attnviz.formatting import counted
from attnviz.links.train import RECORDED
from attnviz.runtime.arrays import NotOfferedError
from attnviz.runtime.training import training_jobs
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import TokenModel
from attnviz.trained.recorded import of_task
from attnviz.trained.recorded.recipes import CONTROL
from attnviz.trained.snapshots import why_not_shown
from attnviz.training.jobs.job import Job
from attnviz.training.jobs.view import Evaluation, View
from attnviz.training.jobs.weights import model_of, thinned
from attnviz.training.plan import Data, Plan, build, task_of
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks.task import Pattern, Task
from attnviz.ui.train.arrays import Reading, offer
from attnviz.ui.train.plans import CUTS, DECAYS, OPTIMISERS, is_of

SHOWN = 3
"""The most trainings that are shown together, the newest ones"""
MOST_POINTS = 400
"""Of a loss curve; each is the mean of some steps if there are more"""
MOST_CODES = 4 * 2**20
"""The most weights of all snapshots that a browser is offered, 2 bytes each"""

NAMES_OF_SETTINGS = {
    **OPTIMISERS,
    **{name: f"{'no' if name == 'none' else title} decay" for name, title in DECAYS.items()},
    **{name: title.partition(",")[0] for name, title in CUTS.items()},
}
"""What a training that differs in one of these is called"""
RECENT = 20
"""The steps whose mean loss tells whether a training diverges"""

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Run:
    """A training, or a model before its training."""

    plan: Plan
    number: int
    """Of its job; 0 before the training, and of one that was recorded"""
    view: View
    recording: str = ""
    """The name of the recording, if it ships with the app"""
    data: Data | None = None
    """What it is trained on, if that is the visitor's"""

    @property
    def task(self) -> Task:
        """What it learns."""
        return task_of(self.plan, self.data)

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
        return self.task.is_control(self.plan.model)


def runs_of(visitor: str, plan: Plan, task: Task, chosen: str = "") -> list[Run]:
    """Return the trainings of a task that are shown together, the newest last.

    They are the recorded ones, where the plan is that of the recorded training or `chosen` is one of them; then the
    visitor's own. Before the first of these, it is the untrained model, if its training was not recorded.
    """
    own = [run_of(job) for job in jobs_of(visitor) if is_of(job, task)]
    recorded = recorded_of(plan.subject)
    is_recorded = bool(recorded) and recorded[-1].plan == plan
    shown = [*(recorded if is_recorded or chosen in RECORDED else ()), *own[-SHOWN:]]
    return shown if own or is_recorded else [*shown, Run(plan, 0, View("stopped", plan.training.steps), data=task.data)]


def run_of(job: Job) -> Run:
    """Return a visitor's training as it is now."""
    return Run(job.plan, job.number, job.view, data=job.data)


def recorded_of(task: str) -> list[Run]:
    """Return the recorded trainings of a task: the control, then that of the task's own model."""
    return [Run(one.plan, 0, one.view, one.card.name) for one in of_task(task)[::-1]]


def jobs_of(visitor: str) -> tuple[Job, ...]:
    """Return a visitor's trainings that are still here, the newest last."""
    return training_jobs().jobs(visitor)[::-1]


def task_header(task: Task, reading: Reading) -> dict[str, Any]:
    """Return what the browser is told of a task and a text: `TrainingTask` in frontend/types/training.d.ts."""
    first = reading.labels.index(task.sign) if task.sign in reading.labels else 0
    return {
        "name": task.name, "title": task.title, "explanation": task.explanation, "expected": task.expected,
        "control": task.control,
        "patterns": [{"name": one.name, "title": one.title, "kind": one.kind} for one in task.patterns],
        "answers": list(task.outputs), "read": list(reading.labels), "first": first,
        "right": task.solution(reading.text),
        **({} if task.data is None else {"baseline": task.data.baseline.accuracy}),
    }  # fmt: skip


def header_of(run: Run, others: Sequence[Run], visitor: str, reading: Reading) -> dict[str, Any]:
    """Return what the browser is told of a training: `TrainingRun` in frontend/types/training.d.ts."""
    view, kinds = run.view, list(reading.kinds(run.model))
    cells = sum(kind["layers"] * kind["heads"] * kind["rows"] * kind["cols"] for kind in kinds)
    kept = thinned(view.snapshots, max(2, MOST_CODES // max(1, cells)))
    return {
        "id": run.id,
        "title": title_of(run, others),
        "is_control": run.is_control,
        "digest": _offer(run, visitor, reading) if reading.ids else "",
        "state": "recorded" if run.recording else view.status if run.number else "new",
        "message": _message(run), "can_continue": view.can_continue,
        "step": view.step, "steps": view.steps,
        "speed": view.speed or None, "left": view.seconds_left,
        "snapshots": ([one.step for one in kept] or [0] * (not run.number)) if reading.ids else [],
        "kinds": kinds, "cannot_open": why_not_shown(run.plan),
    }  # fmt: skip


def _message(run: Run) -> str:
    view, training = run.view, run.plan.training
    if run.recording:
        return (
            f"Recorded: trained earlier with seed {training.seed}, learning rate {training.learning_rate:g}, "
            f"{training.steps:,} steps of {training.batch} sequences; it ships with the app. Play it, or train anew."
        )
    if view.status != "queued":
        return view.message or diverging(view.losses)
    return queued(view)


def queued(view: View) -> str:
    """Return how long a training that waits may have to, in a sentence."""
    if view.place <= 1:
        return "Next in line: it starts as soon as another training on this server ends."
    return f"Waiting: number {view.place} in line for a processor of this server."


def diverging(losses: NDArray[np.float32]) -> str:
    """Say so if the losses of the last steps are far above the first one; "" if not."""
    if len(losses) < RECENT or not (lately := float(losses[-RECENT:].mean())) > 2 * float(losses[0]):
        return ""
    return (
        f"This training diverges: its loss was {losses[0]:.2f} at first, and is {lately:,.2f} now. "
        "A lower learning rate may help."
    )


def _offer(run: Run, visitor: str, reading: Reading) -> str:
    files = run.data if isinstance(run.data, TaggedFiles) else None
    if run.recording:
        return offer(("recorded", run.recording), reading, lambda step: model_of_run(run, step))
    if not run.number:
        plan = run.plan

        def untrained(step: int) -> TokenModel:
            if step:
                raise NotOfferedError
            return _checked(build(plan.model, plan.training.seed).eval())

        digest = "" if files is None else files.digest
        return offer(("new", repr(plan.model), plan.training.seed, digest), reading, untrained, files)
    number = run.number
    return offer(("job", visitor, number), reading, lambda step: model_at(visitor, number, step), files)


def model_at(visitor: str, number: int, step: int) -> TokenModel:
    """Return a transformer at a snapshot; raises as `module_at` does, and for another kind of model."""
    return _checked(module_at(visitor, number, step))


def module_at(visitor: str, number: int, step: int) -> nn.Module:
    """Return a model at a snapshot. Offers are kept long, so it is looked for by its names each time.

    Raises:
        NotOfferedError: there is no such snapshot any more.
    """
    for job in jobs_of(visitor):
        if job.number == number:
            found = next((one for one in job.view.snapshots if one.step == step), None)
            if found is not None:
                return model_of(job.plan.model, found.weights)
    raise NotOfferedError


def model_of_run(run: Run, step: int) -> TokenModel:
    """Return a model at a snapshot of a training that is at hand; raises as `model_at` does."""
    found = next((one for one in run.view.snapshots if one.step == step), None)
    if found is None:
        raise NotOfferedError
    return _checked(model_of(run.plan.model, found.weights))


def _checked(model: Any) -> TokenModel:
    if not isinstance(model, TokenModel):
        raise NotOfferedError
    return model


def title_of(run: Run, others: Sequence[Run]) -> str:
    """Return what tells a training from the others that are shown: its model, or the settings that differ."""
    if run.recording:
        return "recorded control" if run.id == RECORDED[1] else "recorded"
    if not run.number:
        return "not trained"
    if run.is_control:
        return "control"
    rivals = [one for one in others if not one.is_control]
    return difference(run.plan, [one.plan for one in rivals]) or shape_of(run.model)


def shape_of(model: TokenConfig) -> str:
    """Return the layers and heads of a model, such as "1 layer, 2 heads"."""
    return f"{counted(model.layers, 'layer')}, {counted(model.heads, 'head')}"


def difference(plan: Plan, others: Sequence[Plan]) -> str:
    """Return the first settings in which a plan differs from any of others, such as "seed 1, steps 500"; "" if none."""
    different = [
        f"{name.replace('_', ' ')} {value:g}" if isinstance(value, (int, float)) else NAMES_OF_SETTINGS[value]
        for name, value in _settings(plan).items()
        if any(_settings(one).get(name) != value for one in others)
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
    """Return a training's curves by their names in the payload: see `components.training.training`."""
    evaluations = run.view.evaluations
    steps, loss = thinned_loss(run.view.losses)
    return {
        "loss_steps": steps, "loss": loss,
        "evaluated": _floats(one.step for one in evaluations),
        "held_out": _floats(one.loss for one in evaluations),
        "accuracy": _floats(one.accuracy for one in evaluations),
        "trained": _floats(one.trained for one in evaluations if one.trained is not None),
        **{f"scores.{number}": _scores(evaluations, pattern) for number, pattern in enumerate(run.task.patterns)},
    }  # fmt: skip


def thinned_loss(losses: NDArray[np.float32], most: int = MOST_POINTS) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return at most `most` points of a loss curve, steps and losses: means of equally many steps if there are more."""
    count = len(losses)
    each = -(-count // most) if count else 1
    starts = np.arange(0, count, each)
    if not len(starts):
        return _floats([]), _floats([])
    sizes = np.diff(np.append(starts, count))
    return (starts + (sizes - 1) / 2).astype(np.float32), (np.add.reduceat(losses, starts) / sizes).astype(np.float32)


def _scores(evaluations: Sequence[Evaluation], pattern: Pattern) -> NDArray[np.float32]:
    """Return the scores of all heads of the pattern's kind, (E, L · H)."""
    rows = [
        [score for place, heads in sorted(one.scores.get(pattern.name, {}).items(), key=lambda found: found[0].layer)
         for score in heads if place.kind == pattern.kind]
        for one in evaluations
    ]  # fmt: skip
    return np.array(rows, np.float32).reshape(len(rows), -1) if rows else np.zeros((0, 0), np.float32)


def _floats(values: Iterable[float]) -> NDArray[np.float32]:
    return np.array(list(values), np.float32)

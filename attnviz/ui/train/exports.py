"""Files of the trainings on screen: an animation of the head, the curves, and a web page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from attnviz.components.payload import write_payload
from attnviz.export.csv_files import rows_csv
from attnviz.export.files.images import AnimationKind, Frame, write_animation
from attnviz.export.web import write_page
from attnviz.export.web.pages import Page
from attnviz.formatting import counted, percent
from attnviz.runtime.pool import worker_pool
from attnviz.toy.language.config import TokenConfig
from attnviz.trace.model import Place
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.view import Evaluation, View
from attnviz.training.jobs.weights import attention_over_time, thinned
from attnviz.training.tasks.task import Pattern, Task
from attnviz.ui import state
from attnviz.ui.train import commands
from attnviz.ui.train.arrays import Reading, at_snapshots, reading_of, task_parts
from attnviz.ui.train.chosen import GoneError, SnapshotName, shown_runs
from attnviz.ui.train.plans import is_of
from attnviz.ui.train.runs import (
    SHOWN,
    Run,
    all_curves,
    cells_of,
    header_of,
    jobs_of,
    model_at,
    recorded_of,
    rows_of,
    run_of,
    task_header,
)
from attnviz.ui.train.text import chosen_facts
from attnviz.ui.training_jobs import visitor

COLUMNS = ("training", "step", "loss", "held-out loss", "held-out accuracy", "training accuracy")
BYTES = 1_500_000
"""Bytes of all snapshots' weights in a page: with base64 and all else, the page stays within 3 MB"""
FRAMES = 120
"""The most snapshots of a training that an animation shows"""
ABLATIONS = 8
"""Snapshots of a training for which the page holds the accuracy without each head"""
HOW = "Its attention at each snapshot of the training: press play, drag the slider, or use the arrow keys."


def frames_of(of: SnapshotName) -> int:
    """Return how many frames the animation has; 0 if there is no head, or no text for it."""
    task = of.learned()
    if task is None or of.head() is None or not reading_of(task, *task.read(of.sample)).ids:
        return 0
    return min(FRAMES, len(of.job().view.snapshots))


def moving_picture(of: SnapshotName, kind: AnimationKind) -> bytes:
    """Return the animation. It is made in the worker pool, as it takes seconds.

    Raises:
        GoneError: the training is no longer there, or there is nothing to show.
    """
    return worker_pool().run(lambda: _picture(of, kind))


def _picture(of: SnapshotName, kind: AnimationKind) -> bytes:
    job, head, task = of.job(), of.head(), of.learned()
    model = job.plan.model
    if head is None or task is None:
        raise GoneError("There is no head to show.")
    reading = reading_of(task, *task.read(of.sample))
    if not reading.ids or not isinstance(model, TokenConfig):
        raise GoneError("There is no head to show.")
    place, number = head
    snapshots = thinned(job.view.snapshots, FRAMES)
    over = attention_over_time(job.plan.model, snapshots, reading.batch, place)
    hidden = np.zeros(over.weights.shape[2:], bool)
    if place.kind == "decoder":
        hidden = np.triu(~hidden, 1)
    frames = [
        Frame(np.where(hidden, np.nan, weights[number].astype(np.float32)), _caption(job.view, step))
        for step, weights in zip(over.steps, over.weights, strict=True)
    ]
    labels = next((kind["query"], kind["key"]) for kind in reading.kinds(model) if kind["kind"] == place.kind)
    title = f"{task.title.partition(':')[0]}: {_name_of(place)}, head {number}"
    return write_animation(frames, kind, title=title, labels=labels)


def _name_of(place: Place) -> str:
    return f"layer {place.layer}" if place.kind != "cross" else f"decoder to encoder, layer {place.layer}"


def _caption(view: View, step: int) -> str:
    """Return a frame's caption: the step, and the accuracy at its last evaluation."""
    last = next((measured for measured in reversed(view.evaluations) if measured.step <= step), None)
    right = "" if last is None else f" · accuracy {percent(last.accuracy)}"
    return f"after {counted(step, 'step')}{right}"


class CurvesOf(NamedTuple):
    """The curves of a training, without its weights, so that they may be kept long."""

    name: str
    losses: NDArray[np.float32]
    """(steps,), in nats"""
    evaluations: tuple[Evaluation, ...]
    patterns: tuple[Pattern, ...] = ()
    """What the task looks for in heads; none for a text"""


def shown_curves() -> list[CurvesOf]:
    """Return the curves of all trainings that the view shows."""
    named: list[tuple[str, View, tuple[Pattern, ...]]]
    if commands.is_text():
        rows = rows_of(visitor(), chosen_facts(), state.get)
        named = [(row.stage.title.removeprefix("+ "), row.run.view, ()) for row in rows]
    else:
        named = []
        for run in shown_runs():
            title = "recorded training" if run.recording else f"training {run.number}"
            named.append((f"{title}, control" if run.is_control else title, run.view, run.task.patterns))
    return [
        CurvesOf(title, view.losses, view.evaluations, patterns) for title, view, patterns in named if len(view.losses)
    ]


def curves_csv(trainings: Sequence[CurvesOf]) -> bytes:
    """Return a row for each step of each training, in UTF-8 with a byte order mark.

    `loss` is the loss of the next batch after that many steps, in nats. What was measured is in the row of its step:
    loss and accuracy on held-out data, accuracy on the training data where it is small, and for each pattern of the
    task the largest score of a head. What was measured after the last step has its own row.
    """
    patterns = {pattern.name: pattern for training in trainings for pattern in training.patterns}
    columns = (*COLUMNS, *(f"largest score: {pattern.title}" for pattern in patterns.values()))
    rows = ([of.name, *row] for of in trainings for row in _rows(of, list(patterns.values())))
    return rows_csv(columns, rows)


def _rows(of: CurvesOf, patterns: Sequence[Pattern]) -> Iterable[list[object]]:
    measured = {at.step: [_digits(value) for value in _measured(at, patterns)] for at in of.evaluations}
    losses = {step: _digits(loss) for step, loss in enumerate(of.losses.tolist())}
    for step in sorted(losses.keys() | measured.keys()):
        yield [step, losses.get(step, ""), *measured.get(step, [""] * (3 + len(patterns)))]


def _measured(at: Evaluation, patterns: Sequence[Pattern]) -> list[float | None]:
    best = [
        max(
            (score for place, heads in at.scores.get(pattern.name, {}).items() if place.kind == pattern.kind
             for score in heads if not math.isnan(score)),
            default=None,
        )
        for pattern in patterns
    ]  # fmt: skip
    return [at.loss, at.accuracy, at.trained, *best]


def _digits(number: float | None) -> float | str:
    return "" if number is None else float(f"{number:.9g}")  # nine digits restore a float32 exactly


def title_of_page(of: SnapshotName) -> str:
    """Return the title of the page; raises as `training_file` does."""
    return f"{_task(of).title.partition(':')[0]}: a small model in training"


def _task(of: SnapshotName) -> Task:
    task = of.learned()
    if task is None:
        raise GoneError("There is no page of a training on a text.")
    return task


def training_file(of: SnapshotName) -> bytes:
    """Return the page as one file. It is made in the worker pool, as it takes seconds.

    Raises:
        GoneError: the training is no longer there.
    """
    return worker_pool().run(lambda: write_page(training_page(of)))


def training_page(of: SnapshotName) -> Page:
    """Return the newest trainings of a task as a page; raises as `training_file` does."""
    task = _task(of)
    reading = reading_of(task, *task.read(of.sample))
    runs, shown = _runs(of)
    headers, files = [], dict[str, NDArray[np.uint8]]()
    for run in runs:
        header = header_of(run, runs, of.visitor, reading)
        state = "done" if header["state"] in ("running", "queued") else header["state"]
        steps = _steps(header, len(runs))
        headers.append({**header, "digest": header["id"], "state": state, "snapshots": steps})
        files |= _files_of(run, reading, steps)
    values = {
        "watch": of.watch, "snapshot": of.step, "pin": {"q": None, "k": None}, "run": shown.id, "slow": 0,
        "visitor": "", "predict": False,
    }  # fmt: skip
    header = {
        "task": task_header(task, reading), "runs": headers, "values": values, "is_page": True, "in_lesson": False,
        "acknowledged": 0,
    }  # fmt: skip
    return Page(
        "training",
        title_of_page(of),
        f"“{' '.join(of.sample.split())}” {HOW}",
        write_payload(header, {**all_curves(runs), **files}),
        json.dumps(header, ensure_ascii=False),
    )


def _runs(of: SnapshotName) -> tuple[list[Run], Run]:
    """Return the trainings in the page, and the one it shows first: recorded ones, or the visitor's."""
    if of.recording:
        runs = recorded_of(of.task)
        return runs, next(run for run in runs if run.recording == of.recording)
    jobs = [job for job in jobs_of(of.visitor) if is_of(job, _task(of))][-SHOWN:]
    shown = of.job()
    if isinstance(shown, Job) and shown not in jobs:
        jobs = [shown, *jobs[1:]]
    runs = [run_of(job) for job in jobs]
    return runs, next(run for run in runs if run.number == of.number)


def _steps(header: dict[str, Any], runs: int) -> list[int]:
    """Return the snapshots in the page: fewer if each has many weights."""
    steps: list[int] = header["snapshots"]
    most = max(2, BYTES // (2 * max(1, cells_of(header["kinds"])) * runs))
    chosen = np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int)
    return [steps[at] for at in dict.fromkeys(chosen.tolist())]


def _files_of(run: Run, reading: Reading, steps: list[int]) -> dict[str, NDArray[np.uint8]]:
    """Return the files that the app's server would offer, keyed by address."""
    files, ablation = dict[str, bytes](), task_parts(run.task.name, run.files)["a"]
    tested = set(steps[:: max(1, -(-len(steps) // ABLATIONS))]) | set(steps[-1:])
    for step in steps:
        model = model_at(run.plan, run.view, step)
        files[f"{run.id}~s.{step}"] = save(at_snapshots([model], reading))
        if step in tested:
            files[f"{run.id}~a.{step}"] = save(ablation(model))
    return {name: np.frombuffer(file, np.uint8) for name, file in files.items()}

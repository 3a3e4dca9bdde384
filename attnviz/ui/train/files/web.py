"""The trainings that are shown, as one web page: their curves, and their heads at each snapshot."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from attnviz.components.packing import pack
from attnviz.export.web import write_page
from attnviz.export.web.page import Page
from attnviz.runtime.pool import worker_pool
from attnviz.training.jobs.job import Job
from attnviz.training.tasks.task import Task
from attnviz.ui.train.arrays import Reading, accuracy_without, at_snapshots, reading_of
from attnviz.ui.train.chosen import Chosen
from attnviz.ui.train.plans import is_of
from attnviz.ui.train.runs import (
    SHOWN,
    Run,
    all_curves,
    header_of,
    jobs_of,
    model_of_run,
    recorded_of,
    run_of,
    task_header,
)

BYTES = 1_500_000
"""Of the weights of all snapshots in a page, which is then within 3 MB, in base64 and with all else"""
ABLATIONS = 8
"""The snapshots of a training at which the page knows the accuracy without each head"""
HOW = "Its attention at each snapshot of the training: press play, drag the slider, or use the arrow keys."


def title_of_page(of: Chosen) -> str:
    """Return the title of the page; raises as `training_file` does."""
    return f"{_task(of).title.partition(':')[0]}: a small model in training"


def _task(of: Chosen) -> Task:
    task = of.learned()
    if task is None:
        raise LookupError("There is no page of a training on a text.")
    return task


def training_file(of: Chosen) -> bytes:
    """Return the page as one file. It is made in the worker pool, as it takes seconds.

    Raises:
        LookupError: the training is no longer there.
    """
    return worker_pool().run(lambda: write_page(training_page(of)))


def training_page(of: Chosen) -> Page:
    """Return the newest trainings of a task as a page; raises as `training_file` does."""
    task = _task(of)
    reading = reading_of(task, *task.read(of.sample))
    runs, shown = _runs(of)
    headers, files = [], dict[str, NDArray[np.uint8]]()
    for run in runs:
        header = header_of(run, [one for one in runs if one is not run], of.visitor, reading)
        state = "done" if header["state"] in ("running", "queued") else header["state"]
        steps = _steps(header, len(runs))
        headers.append({**header, "digest": header["id"], "state": state, "snapshots": steps})
        files |= _files(run, reading, steps)
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
        pack(header, {**all_curves(runs), **files}),
        json.dumps(header, ensure_ascii=False),
    )


def _runs(of: Chosen) -> tuple[list[Run], Run]:
    """Return the trainings that the page shows, and the shown one among them: the recorded ones, or the visitor's."""
    if of.recording:
        runs = recorded_of(of.task)
        return runs, next(one for one in runs if one.recording == of.recording)
    jobs = [job for job in jobs_of(of.visitor) if is_of(job, _task(of))][-SHOWN:]
    shown = of.job()
    if isinstance(shown, Job) and shown not in jobs:
        jobs = [shown, *jobs[1:]]
    runs = [run_of(job) for job in jobs]
    return runs, next(one for one in runs if one.number == of.number)


def _steps(header: dict[str, Any], runs: int) -> list[int]:
    """Return the snapshots that the page holds: fewer if each has many weights."""
    steps: list[int] = header["snapshots"]
    cells = sum(kind["layers"] * kind["heads"] * kind["rows"] * kind["cols"] for kind in header["kinds"])
    most = max(2, BYTES // (2 * max(1, cells) * runs))
    chosen = np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int)
    return [steps[at] for at in dict.fromkeys(chosen.tolist())]


def _files(run: Run, reading: Reading, steps: list[int]) -> dict[str, NDArray[np.uint8]]:
    """Return the files that the app's server would offer, by their addresses."""
    found = {}
    tested = set(steps[:: max(1, -(-len(steps) // ABLATIONS))]) | set(steps[-1:])
    for step in steps:
        model = model_of_run(run, step)
        found[f"{run.id}~s.{step}"] = save(at_snapshots([model], reading))
        if step in tested:
            found[f"{run.id}~a.{step}"] = save({"accuracy": accuracy_without(model, run.task)})
    return {name: np.frombuffer(file, np.uint8) for name, file in found.items()}

"""Tasks: how long each is trained, with its defaults on one thread, until 95 % of what is held out is right."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import torch

from attnviz.training.evaluation import evaluate
from attnviz.training.loop import Trainer
from attnviz.training.plan import build
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Task
from bench.table import Row

ENOUGH, LIMIT = 0.95, 10
EVERY = 25
"""Steps between two evaluations, whose time does not count"""


def rows() -> Iterator[Row]:
    """Train each task with the seed 0."""
    torch.set_num_threads(1)
    for name, task in TASKS.items():
        seconds, steps = until_enough(task)
        yield Row(f"{name}: trained until {ENOUGH:.0%} are right, {steps} steps", 0, seconds, LIMIT, "s")


def until_enough(task: Task) -> tuple[float, int]:
    """Return the seconds and the steps; infinitely many seconds if the default steps are too few."""
    trainer = Trainer(build(task.model, 0), task.batch, task.training)
    seconds = 0.0
    while trainer.step < task.training.steps:
        began = time.perf_counter()
        for _ in range(EVERY):
            trainer.advance()
        seconds += time.perf_counter() - began
        if evaluate(trainer.model, task).accuracy >= ENOUGH:
            return seconds, trainer.step
    return math.inf, trainer.step

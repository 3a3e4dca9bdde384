"""The losses of all trainings that are shown, as one table in CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.export.csv_files import rows_csv
from attnviz.training.jobs.view import Evaluation
from attnviz.training.plan import TEXT
from attnviz.ui import state
from attnviz.ui.train.plans import fitting_plan, task_of
from attnviz.ui.train.runs import Run, runs_of
from attnviz.ui.train.text.chosen import chosen_facts
from attnviz.ui.train.text.stages import rows_of
from attnviz.ui.trained.visitor import visitor

COLUMNS = ("training", "step", "loss", "held-out loss", "held-out accuracy")


class Losses(NamedTuple):
    """What is known of a training, without its weights: it may be kept long."""

    name: str
    losses: NDArray[np.float32]
    """(steps,), in nats"""
    evaluations: tuple[Evaluation, ...]


def shown_losses() -> list[Losses]:
    """Return the losses of all trainings that the view shows."""
    name = visitor()
    if state.get("train_part") == TEXT:
        named = [(row.stage.title.removeprefix("+ "), row.view) for row in rows_of(name, chosen_facts(), state.get)]
    else:
        runs = runs_of(name, fitting_plan(state.get)[0], task_of(state.get), state.get("run"))
        named = [(_title(run), run.view) for run in runs]
    return [Losses(title, view.losses, view.evaluations) for title, view in named if len(view.losses)]


def losses_csv(trainings: Sequence[Losses]) -> bytes:
    """Return a row for each step of each training, in UTF-8 with a byte order mark.

    `loss` is that of the batch after so many steps, before the next one, in nats. What is measured on held-out data
    stands in the row of its step, and in a row of its own after the last one.
    """
    return rows_csv(COLUMNS, ([one.name, *row] for one in trainings for row in _rows(one)))


def _rows(of: Losses) -> Iterable[list[object]]:
    measured = {one.step: [_digits(one.loss), _digits(one.accuracy)] for one in of.evaluations}
    losses = {step: _digits(loss) for step, loss in enumerate(of.losses.tolist())}
    for step in sorted(losses.keys() | measured.keys()):
        yield [step, losses.get(step, ""), *measured.get(step, ["", ""])]


def _digits(number: float) -> float:
    return float(f"{number:.9g}")  # nine digits restore a float32 exactly


def _title(run: Run) -> str:
    what = "recorded training" if run.recording else f"training {run.number}"
    return f"{what}, control" if run.is_control else what

"""Records a training: runs it with the same code as in the app, and keeps some of its snapshots."""

from __future__ import annotations

import io
import queue
from dataclasses import asdict, replace
from datetime import UTC, datetime

import numpy as np
import torch

from attnviz.trained.card import Card, Corpus, FoundHead
from attnviz.trained.making import BUILT_IN_CORPUS, RECENT
from attnviz.trained.recorded import SNAPSHOTS, Recording, plan_of
from attnviz.training.evaluation import Evaluator
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.process import Message
from attnviz.training.jobs.run import Run
from attnviz.training.jobs.view import Evaluation, Snapshot, View
from attnviz.training.jobs.weights import model_of
from attnviz.training.plan import subject_of

PASSING, EARLY = 0.8, 20
"""The weight of all steps together, relative to a curve that rises by 1; and how many steps count as early"""


def record(name: str) -> Recording:
    """Train as the page Train does by default, in this process, and return the recording.

    Raises:
        ValueError: there is no recording of this name.
        attnviz.training.loop.DivergedError: the loss is no longer finite.
    """
    plan, text = plan_of(name)
    job, events = Job("", plan, text), io.BytesIO()
    header, body = job.start_command()
    Run(Message({**header, "kind": "start"}, body), queue.SimpleQueue(), events).to_the_end()
    events.seek(0)
    while (event := Message.read(events)) is not None:
        job.receive(event)
    view = replace(job.view, status="done", speed=0.0)
    card = Card(
        name,
        0.0,
        0.0,
        float(view.losses[-RECENT:].mean()),
        None if text is None else Corpus.of(BUILT_IN_CORPUS, text),
        command=f"python -m attnviz record {name}",
        date=datetime.now(UTC).date().isoformat(),
        torch=torch.__version__,
    )
    return measured(Recording(plan, card, replace(view, snapshots=chosen(view, SNAPSHOTS[name]))))


def measured(recording: Recording) -> Recording:
    """Return a recording whose last evaluation and card are measured with its last weights on all held-out sequences.

    Raises:
        ValueError: its text is not the built-in corpus.
    """
    plan, view, text = recording.plan, recording.view, recording.text
    if recording.card.corpus != (None if text is None else Corpus.of(BUILT_IN_CORPUS, text)):
        raise ValueError("It was trained on another text.")
    model = model_of(plan.model, view.snapshots[-1].weights)
    result = Evaluator(subject_of(plan, text), plan.training.batch).evaluate(model, whole=True)
    last = Evaluation.of(view.snapshots[-1].step, result)
    card = replace(recording.card, loss=last.loss, accuracy=last.accuracy, heads=_heads(last))
    before = tuple(evaluation for evaluation in view.evaluations if evaluation.step < last.step)
    return replace(recording, card=card, view=replace(view, evaluations=(*before, last)))


def chosen(view: View, most: int) -> tuple[Snapshot, ...]:
    """Return at most `most` snapshots (2 or more), including the first and the last, more where the model changes more.

    The distance from each snapshot to the next is how far the accuracy and the best score of each pattern move, plus
    how many steps pass, on a logarithmic scale, as early ones count more. The snapshots kept are evenly spaced in it.
    """
    steps, evaluations = np.array([snapshot.step for snapshot in view.snapshots]), view.evaluations
    evaluated = [evaluation.step for evaluation in evaluations]
    curves = [[evaluation.accuracy for evaluation in evaluations]]
    curves += [[evaluation.best(pattern) or 0.0 for evaluation in evaluations] for pattern in evaluations[-1].scores]
    curves += [[evaluation.trained or 0.0 for evaluation in evaluations]]
    moves = sum(np.abs(np.diff(np.interp(steps, evaluated, curve))) for curve in curves)
    passed = np.log1p(steps / EARLY)
    distance = np.concatenate([[0.0], np.cumsum(moves + PASSING * np.diff(passed) / passed[-1])])
    targets = np.linspace(0.0, distance[-1], most)
    kept = np.unique(np.abs(distance[:, None] - targets).argmin(0))
    return tuple(view.snapshots[number] for number in kept)


def _heads(last: Evaluation) -> dict[str, FoundHead]:
    """Return the head that shows each pattern most."""
    heads = {pattern: last.best_head(pattern) for pattern in last.scores}
    return {pattern: FoundHead(**asdict(head)) for pattern, head in heads.items() if head is not None}

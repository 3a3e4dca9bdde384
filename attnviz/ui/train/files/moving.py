"""The shown head over a whole training, as an animated picture."""

from __future__ import annotations

import numpy as np

from attnviz.export.files.animation import FRAMES, AnimationKind, Frame, write_animation
from attnviz.formatting import counted
from attnviz.runtime.pool import worker_pool
from attnviz.toy.language.config import TokenConfig
from attnviz.trace.model import Place
from attnviz.training.jobs.view import View
from attnviz.training.jobs.weights import attention_over_time, thinned
from attnviz.ui.train.arrays import reading_of
from attnviz.ui.train.chosen import Chosen


def frames_of(of: Chosen) -> int:
    """Return how many frames the picture has; 0 if there is no head, or no text for it."""
    task = of.learned()
    if task is None or of.head() is None or not reading_of(task, *task.read(of.sample)).ids:
        return 0
    return min(FRAMES, len(of.job().view.snapshots))


def moving_picture(of: Chosen, kind: AnimationKind) -> bytes:
    """Return the picture. It is made in the worker pool, as it takes seconds.

    Raises:
        LookupError: the training is no longer there, or there is nothing to show.
    """
    return worker_pool().run(lambda: _made(of, kind))


def _made(of: Chosen, kind: AnimationKind) -> bytes:
    job, head, task = of.job(), of.head(), of.learned()
    model = job.plan.model
    if head is None or task is None:
        raise LookupError("There is no head to show.")
    reading = reading_of(task, *task.read(of.sample))
    if not reading.ids or not isinstance(model, TokenConfig):
        raise LookupError("There is no head to show.")
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
    labels = next((one["query"], one["key"]) for one in reading.kinds(model) if one["kind"] == place.kind)
    title = f"{task.title.partition(':')[0]}: {_name(place)}, head {number}"
    return write_animation(frames, kind, title=title, labels=labels)


def _name(place: Place) -> str:
    return f"layer {place.layer}" if place.kind != "cross" else f"decoder to encoder, layer {place.layer}"


def _caption(view: View, step: int) -> str:
    """Return what stands below a frame: the step, and the accuracy as it was evaluated last."""
    last = next((one for one in reversed(view.evaluations) if one.step <= step), None)
    right = "" if last is None else f" · accuracy {100 * last.accuracy:.0f} %"
    return f"after {counted(step, 'step')}{right}"

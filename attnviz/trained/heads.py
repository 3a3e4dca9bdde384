"""The head of a training that is shown large: the chosen one, or the one that shows what the task is about."""

from __future__ import annotations

from typing import NamedTuple

from attnviz.toy.language.config import has_attention
from attnviz.trace.model import Kind, Place
from attnviz.training.jobs.view import View
from attnviz.training.plan import Plan
from attnviz.training.tasks import TASKS


class Head(NamedTuple):
    """A head of a model in training."""

    place: Place
    head: int


def head_of(plan: Plan, view: View, watch: str) -> Head | None:
    """Return the head that is meant by `watch`, or by "" the one that shows the task's last pattern most at the end.

    As `Training.place` in frontend/training/training.js.
    """
    model, task = plan.model, TASKS.get(plan.subject)
    if not has_attention(model):
        return None
    own: Kind = "decoder" if model.architecture == "both" else model.architecture
    kinds: tuple[Kind, ...] = ("encoder", "decoder", "cross") if model.architecture == "both" else (own,)
    kind, _, place = watch.partition(".")
    layer, _, head = place.partition(".")
    if kind in kinds and int(layer) < model.layers and int(head) < model.heads:
        return Head(Place(kind, int(layer)), int(head))
    pattern = task.patterns[-1] if task is not None and task.patterns else None
    best = view.evaluations[-1].best_head(pattern.name) if pattern is not None and view.evaluations else None
    if best is not None:
        return Head(Place(best.kind, best.layer), best.head)
    last = pattern.kind if pattern is not None and pattern.kind in kinds else kinds[-1]
    return Head(Place(last, model.layers - 1), 0)

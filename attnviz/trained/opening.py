"""How a trained model opens where a view names nothing else: its own example, and the head that is shown large."""

from __future__ import annotations

from typing import Any, NamedTuple

from attnviz.pretrained.names import ModelError
from attnviz.toy.language.config import has_attention
from attnviz.trace.model import Kind, Place
from attnviz.trained.shipped import load
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


KEYS = ("text", "pair", "kind", "layer", "head", "block")
"""The keys of a link of which a view has none that opens in this way"""


def opening(name: str) -> dict[str, Any]:
    """Return the text and the head with which a model opens, by keys of links; nothing if there is no such model.

    The text is the first example of its task. Of the heads that its card names, it is the one that shows what the task
    is about: its last pattern. A card that names none leaves the first head.
    """
    from attnviz.trace.model import places
    from attnviz.trained.words import examples, heads

    try:
        model = load(name)
        numbers = model.description.numbers
    except ModelError:  # the page says so
        return {}
    there = [(place.kind, place.layer) for place in places(numbers)]
    _, kind, layer, head = (heads(model) or (("", *there[0], 0),))[-1]
    block = next(at for at, place in enumerate(there) if place == (kind, layer))
    return {"text": examples(model)[0], "kind": kind, "layer": layer, "head": head, "block": block}

"""What a scene of Train shows in a static site: the attention of a recorded training's model at a snapshot."""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.attention import causal_mask
from attnviz.export.views import View
from attnviz.figures.colour_limit import as_array
from attnviz.figures.panels import Layout, Panel
from attnviz.tokens import CharVocab, Tokens
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.trained import recorded
from attnviz.trained.recorded import Recording
from attnviz.training.evaluation import head_of, weights_of
from attnviz.training.jobs.weights import model_of
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch
from attnviz.training.text.subject import Text

BLOCK = 8


def of_training(view: View) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the weights that a scene is about with their tokens, or None and the tokens that its model reads."""
    if view["train_part"] == "text":
        return _of_text(view)
    return _of_task(view) if view["train_part"] == "task" and view["task"] in TASKS else (None, _beginning())


def _of_task(view: View) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the head that is watched, or the one that shows the task's last pattern most in the end."""
    task, recordings = TASKS[view["task"]], recorded.of_task(view["task"])
    first, second = task.read(view["sample"] or task.examples[0])
    query, source = (first, None) if second is None else (second, first)
    tokens = {"query": query, "key": query}
    chosen = recordings[1:] if view["run"] == "control" else recordings[:1]
    if not chosen or any(query.unknown) or any(source.unknown if source else ()):
        return None, tokens
    watched, model = head_of(chosen[0].plan, chosen[0].view, view["watch"]), _model(chosen[0], view["snapshot"])
    if watched is None:
        return None, tokens
    kind, layer, head = watched.place.kind, watched.place.layer, watched.head
    batch = Batch(
        torch.tensor([query.ids]),
        torch.zeros(1, len(query), dtype=torch.long),
        None if source is None else torch.tensor([source.ids]),
    )
    found = weights_of(model, batch)[watched.place]
    if source is not None:
        tokens = {"query": source if kind == "encoder" else query, "key": query if kind == "decoder" else source}
    title = f"weights of {kind} layer {layer} · head {head} after {_step(chosen[0], view['snapshot'])} steps"
    return _layout([(title, found[0, head])], causal=kind == "decoder"), tokens


def _of_text(view: View) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the heads of a stage's first layer at the beginning of the built-in corpus; None without attention."""
    recording, tokens = recorded.of_stage(view["rung"] or FIRST_SHOWN), _beginning()
    model = None if recording is None else model_of(recording.plan.model, recording.view.snapshots[-1].weights)
    if not isinstance(model, TokenModel):
        return None, tokens
    ids = torch.tensor([tokens["query"].ids])
    found = weights_of(model, Batch(ids, torch.zeros_like(ids)))[Place("decoder", 0)][0]
    return _layout([(f"layer 0 · head {head}", weights) for head, weights in enumerate(found)], causal=True), tokens


def _beginning() -> dict[str, Tokens]:
    text = _corpus()
    tokens = CharVocab(Text(text, BLOCK).labels).tokenize(text[:BLOCK])
    return {"query": tokens, "key": tokens}


def _corpus() -> str:
    from attnviz.training.text.corpus import built_in

    return built_in()


def _model(recording: Recording, step: int | None) -> TokenModel:
    snapshots = recording.view.snapshots
    nearest = snapshots[-1] if step is None else min(snapshots, key=lambda one: abs(one.step - step))
    model = model_of(recording.plan.model, nearest.weights)
    if not isinstance(model, TokenModel):
        raise TypeError(f"{type(model).__name__} has no attention")
    return model.eval()


def _step(recording: Recording, step: int | None) -> int:
    steps = [one.step for one in recording.view.snapshots]
    return steps[-1] if step is None else min(steps, key=lambda one: abs(one - step))


def _layout(matrices: list[tuple[str, Tensor]], *, causal: bool) -> Layout:
    """Return matrices of weights side by side."""

    def seen(weights: Tensor) -> Tensor:
        return weights.masked_fill(~causal_mask(len(weights)), -torch.inf) if causal else weights

    panels = [
        Panel("weights", title, as_array(seen(weights)), "query", "key", 1, "weights", bar=number == len(matrices) - 1)
        for number, (title, weights) in enumerate(matrices)
    ]
    return Layout(grid=(tuple(panels),), widths=(1,) * len(panels), heights=(1,))

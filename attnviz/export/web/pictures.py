"""SVG pictures of views that can't be standalone web pages: they show the same numbers, and do not move.

A static site also uses them for scenes of BERT, with the effect of each head, and of Train, with the attention
of a recorded training's model at a snapshot.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from attnviz.attention import causal_mask
from attnviz.bert.ablation import effects, head_means
from attnviz.bert.search import built_in as reference
from attnviz.export.drawing.marks import THEMES, Drawing, Mark
from attnviz.export.drawing.picture import draw_layout
from attnviz.export.files.svg import write_svg
from attnviz.export.sheets import draw_tokens
from attnviz.export.views import View, on_page
from attnviz.figures.colour_limit import as_array
from attnviz.figures.panels import Layout, Panel, in_a_row
from attnviz.figures.steps import describe, lay_out
from attnviz.formatting import counted
from attnviz.links.pages import PAGES
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import Resources
from attnviz.sources.models import tokenizer
from attnviz.tokens import CharVocab, NoTokensError, Tokens
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.trained import recorded
from attnviz.trained.recorded import Recording
from attnviz.training.evaluation import head_of, weights_of
from attnviz.training.jobs.view import Snapshot
from attnviz.training.jobs.weights import model_of
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text

WIDTH, HEIGHT, MARGIN = 1120.0, 560.0, 8.0


def draw_view(page: str, view: View, resources: Resources) -> tuple[dict[str, bytes], str]:
    """Return a view as SVG by the names of the themes, and its text alternative; `page` is the app's page.

    Raises:
        attnviz.pretrained.ModelError: a model can't be loaded.
        attnviz.tokens.NoTokensError: the text has no token.
    """
    room = {"x": MARGIN, "y": MARGIN, "width": WIDTH - 2 * MARGIN, "height": HEIGHT - 2 * MARGIN}
    layout, tokens, alt = _shown(page, on_page(page, view), resources)
    files = {}
    for name, theme in THEMES.items():
        marks: list[Mark] = (
            [*draw_tokens(tokens["query"], theme, **room)]
            if layout is None
            else draw_layout(layout, {axis: on_axis.labels for axis, on_axis in tokens.items()}, **room, theme=theme)
        )
        files[name] = write_svg(Drawing(WIDTH, HEIGHT, tuple(marks), alt, alt, theme)).encode()
    return files, alt


def _shown(page: str, view: View, resources: Resources) -> tuple[Layout | None, dict[str, Tokens], str]:
    """Return a view's matrices (None if it shows tokens only), the tokens of the axes, and the text alternative."""
    if page == "tokens":
        tokens = tokenizer(view.__getitem__, resources)(view["text"])
        if not len(tokens):
            raise NoTokensError
        return None, {"query": tokens}, _table_of(tokens)
    if page in ("bert", "train"):
        layout, tokens_of_axes = _of_bert(view, resources) if page == "bert" else _of_training(view)
        if layout is None:
            return None, tokens_of_axes, _table_of(tokens_of_axes["query"])
        return layout, tokens_of_axes, describe(layout)
    walk = PAGES[page].shows(view.__getitem__, resources).walk(resources)
    layout = lay_out(walk, "weights" if page == "heads" else view[PAGES[page].step_key])
    return layout, {"query": walk.query_tokens, "key": walk.key_tokens}, describe(layout)


def _table_of(tokens: Tokens) -> str:
    """Return the text alternative of a table of tokens."""
    is_single = len(tokens) == 1
    return f"{counted(len(tokens), 'token')} with {'its position and id' if is_single else 'their positions and ids'}"


EFFECTS_TITLE = "1 − cosine of the sentence embedding without each head, in thousandths"


def _of_bert(view: View, resources: Resources) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the effects of all heads if a scene switches heads off, else None; and the tokens of its text.

    Raises:
        attnviz.pretrained.ModelError: the built-in model can't be loaded.
        NoTokensError: the text has no token.
    """
    model = cast("BuiltInModel", resources.load(BUILT_IN))
    tokens = model.tokenize(view["text"])
    if not len(tokens):
        raise NoTokensError
    if view["bert_part"] != "without":
        return None, {"query": tokens}
    means = head_means(model, reference().sentences) if view["off_by"] == "mean" else None
    changes = effects(resources.trace(model, view["text"], None), means).sentence  # (L, H)
    panel = Panel("effects", EFFECTS_TITLE, as_array(1000 * changes), "layer", "head", scale="weights", bar=True)
    return in_a_row(panel), {"query": tokens}


TEXT_SHOWN = 8
"""How many characters of the built-in corpus are shown"""


def _of_training(view: View) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the weights that a scene shows with their tokens, or None and the tokens that its model reads."""
    if view["train_part"] == "text":
        return _of_text(view)
    return _of_task(view) if view["train_part"] == "task" and view["task"] in TASKS else (None, _beginning())


def _of_task(view: View) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the watched head, or the one that shows the task's last pattern most at the end of the training."""
    task, recordings = TASKS[view["task"]], recorded.of_task(view["task"])
    first, second = task.read(view["sample"] or task.examples[0])
    query, source = (first, None) if second is None else (second, first)
    tokens = {"query": query, "key": query}
    chosen = recordings[1:] if view["run"] == "control" else recordings[:1]
    if not chosen or any(query.unknown) or any(source.unknown if source else ()):
        return None, tokens
    recording = chosen[0]
    watched, snapshot = head_of(recording.plan, recording.view, view["watch"]), _nearest(recording, view["snapshot"])
    if watched is None:
        return None, tokens
    kind, layer, head = watched.place.kind, watched.place.layer, watched.head
    batch = Batch(
        torch.tensor([query.ids]),
        torch.zeros(1, len(query), dtype=torch.long),
        None if source is None else torch.tensor([source.ids]),
    )
    model = cast("TokenModel", model_of(recording.plan.model, snapshot.weights)).eval()
    weights = weights_of(model, batch)[watched.place]
    if source is not None:
        tokens = {"query": source if kind == "encoder" else query, "key": query if kind == "decoder" else source}
    title = f"weights of {kind} layer {layer} · head {head} after {counted(snapshot.step, 'step')}"
    return _side_by_side([(title, weights[0, head])], causal=kind == "decoder"), tokens


def _of_text(view: View) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the heads of a stage's first layer at the beginning of the built-in corpus; None without attention."""
    recording, tokens = recorded.of_stage(view["rung"] or FIRST_SHOWN), _beginning()
    model = None if recording is None else model_of(recording.plan.model, recording.view.snapshots[-1].weights)
    if not isinstance(model, TokenModel):
        return None, tokens
    ids = torch.tensor([tokens["query"].ids])
    weights = weights_of(model, Batch(ids, torch.zeros_like(ids)))[Place("decoder", 0)][0]  # (H, T, T)
    named = [(f"layer 0 · head {head}", of_head) for head, of_head in enumerate(weights)]
    return _side_by_side(named, causal=True), tokens


def _beginning() -> dict[str, Tokens]:
    """Return the tokens with which the built-in corpus begins."""
    text = built_in()
    tokens = CharVocab(Text(text, TEXT_SHOWN).labels).tokenize(text[:TEXT_SHOWN])
    return {"query": tokens, "key": tokens}


def _nearest(recording: Recording, step: int | None) -> Snapshot:
    """Return the snapshot nearest to a step; the last one for None."""
    snapshots = recording.view.snapshots
    return snapshots[-1] if step is None else min(snapshots, key=lambda snapshot: abs(snapshot.step - step))


def _side_by_side(matrices: list[tuple[str, Tensor]], *, causal: bool) -> Layout:
    """Return matrices of weights side by side."""

    def masked(weights: Tensor) -> Tensor:
        return weights.masked_fill(~causal_mask(len(weights)), -torch.inf) if causal else weights

    panels = [
        Panel(
            "weights", title, as_array(masked(weights)), "query", "key", 1, "weights", bar=number == len(matrices) - 1
        )
        for number, (title, weights) in enumerate(matrices)
    ]
    return in_a_row(*panels)

"""attnviz shows what attention computes, on your own text, down to the last number.

In a notebook:

    import attnviz
    steps = attnviz.trace("The cat sat on the mat.").head(layer=3, head=5)
    steps.weights

To trace a transformers model that is in memory, call `attnviz.trace_model(model, tokenizer, text)`. With
`attnviz[notebook]`, `attnviz.show(...)` returns a widget, and a trace at the end of a cell is shown as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The first import of the folder attnviz/trace/ would otherwise replace the function `trace`.
import attnviz.trace as _folder  # noqa: F401
from attnviz.reprs import Bundle, NotebookRepr

if TYPE_CHECKING:
    from attnviz.notebook.widgets import HeadsWidget, WalkWidget
    from attnviz.pretrained import Trace
    from attnviz.trace.model import Kind, Model
    from attnviz.trace.walk import Walk

__all__ = ["show", "show_heads", "trace", "trace_model"]


def trace(text: str, pair: str | None = None, *, model: str = "minilm") -> Trace:
    """Run a model on a text and keep every layer's query, key and value.

    Args:
        text: the text that the model reads.
        pair: a second sentence; in an encoder-decoder model, the text that the decoder reads.
        model: "minilm" (built in), a name on the Hugging Face hub, a local folder, or a model trained with this project
            (`attnviz.trained.names()`), such as "induction".

    Raises:
        attnviz.pretrained.ModelError: the model can't be loaded.
        attnviz.tokens.NoTokensError: the model's tokenizer finds no token in the text.
    """
    from attnviz.sources.models import open_by_name  # late: it imports torch, and transformers for most models

    return open_by_name(model).trace(text, pair)


def trace_model(model: Any, tokenizer: Any, text: str, pair: str | None = None) -> Trace:
    """Run a transformers model that is in memory on a text, as `trace` does.

    The forward pass runs in a copy, on the CPU, in float32 and in evaluation mode. So the model and the tokenizer do
    not change, and further training of the model does not change the trace. Weights in half precision keep their
    values, but the pass is more exact than one in half precision. Forward hooks run in the copy too. To trace many
    texts with one copy, use `attnviz.pretrained.open_model(model, tokenizer).trace(text, pair)`.

    Args:
        model: a `transformers.PreTrainedModel`, with or without a head.
        tokenizer: its fast tokenizer.
        text: the text that the model reads.
        pair: a second sentence; in an encoder-decoder model, the text that the decoder reads.

    Raises:
        attnviz.pretrained.ModelError: it is not a transformers model, is quantised, does more than softmax attention,
            or does not run through transformers' AttentionInterface; or the tokenizer is not fast or not the model's.
        attnviz.tokens.NoTokensError: the tokenizer finds no token in the text.
    """
    from attnviz.pretrained import open_model

    return open_model(model, tokenizer).trace(text, pair)


def show(
    what: str | Trace | Walk,
    pair: str | None = None,
    *,
    model: str | Model = "minilm",
    kind: Kind | None = None,
    layer: int | None = None,
    head: int | None = None,
    step: str | None = None,
) -> WalkWidget:
    """Show a text, a trace or a head step by step, in a notebook (docs/notebook.md). It needs `attnviz[notebook]`.

    Args:
        what: a text, or what `trace`, `trace_model` or `Trace.walk` returns.
        pair: a second text, as in `trace`.
        model: the model that runs on a text: a name as in `trace`, or an open model.
        kind: "encoder", "decoder" or "cross", if the model has several kinds of attention; by default its first.
        layer: the layer that is shown first; by default 0, or the layer of a `Trace.walk`.
        head: the head that is shown first; likewise.
        step: the step that is shown first; by default "weights".

    Returns:
        The widget. Its traits `step`, `layer`, `head`, `q` and `k` hold the current choice, and can be set.

    Raises:
        attnviz.notebook.NotebookError: anywidget is not installed, or the text or the model can't be shown.
        attnviz.notebook.widgets.ChoiceError: there is no such layer, head or step.
    """
    from attnviz.notebook import show  # late: it imports torch

    return show(what, pair, model=model, kind=kind, layer=layer, head=head, step=step)


def show_heads(
    what: str | Trace,
    pair: str | None = None,
    *,
    model: str | Model = "minilm",
    kind: Kind | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> HeadsWidget:
    """Show all layers and heads of a text or a trace at once, and the chosen heads as lines and heatmaps.

    Arguments and errors are those of `show`. Head −1 is the attention rollout up to the layer.

    Returns:
        The widget. Its traits `layer`, `head`, `q` and `k` hold the current choice, and can be set.
    """
    from attnviz.notebook import show_heads

    return show_heads(what, pair, model=model, kind=kind, layer=layer, head=head)


def _bundle(what: Trace | Walk) -> Bundle | None:
    from attnviz.notebook import bundle

    return bundle(what)


NotebookRepr.bundle = staticmethod(_bundle)

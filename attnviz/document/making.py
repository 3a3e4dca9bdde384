"""From a head of any source to its document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attnviz.document.value import Axis, Document, Header, StepText
from attnviz.formulas import mathml
from attnviz.steps import STEPS, unavailable

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from attnviz.tokens import Tokens
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk


def document_of(walk: Walk) -> Document:
    """Make the document of one head. Its arrays share their memory with the trace where that is float32.

    Raises:
        DocumentError: the head has no tokens, more than a document holds, or numbers that are not finite.
    """
    layer = walk.layer
    header = Header(
        source=walk.name,
        query=_axis(walk.query_tokens),
        key=_axis(walk.key_tokens),
        layer=walk.layer_index,
        head=walk.head,
        scale=float(layer.scale),
        mask=layer.mask.kind,
        steps=tuple(_steps(walk)),
    )
    tensors: dict[str, Tensor | None] = {
        **dict(zip(("token_embeddings", "positions"), walk.parts or (), strict=False)),
        **_projections(layer, walk.head),
        "query": layer.query[walk.head],
        "key": layer.key[walk.head],
        "value": layer.value[walk.head],
        "mask": _mask(layer, walk.head),
    }
    return Document(header, {name: _as_array(tensor) for name, tensor in tensors.items() if tensor is not None})


def _axis(tokens: Tokens) -> Axis:
    return Axis(tokens.text, tokens.pair, tokens.labels, tokens.ids)


def _steps(walk: Walk) -> Iterator[StepText]:
    """Yield what is said of each step that this head has."""
    from attnviz.figures.steps import lay_out  # imports torch, which reading and writing do without

    for step in STEPS.values():
        of = walk if step.matrices else walk.query_tokens
        grid = lay_out(walk, step.name).grid if step.matrices else ()
        if step.matrices and not grid:
            continue  # the source does not give what it shows
        yield StepText(
            name=step.name,
            title=step.title,
            formula=mathml(step.formula(of)),
            notice=step.notice(of),
            fact=step.fact(of) or unavailable(step, walk),
            code=step.code(of),
            matrices=tuple(tuple(None if panel is None else panel.name for panel in row) for row in grid),
        )


def _projections(layer: LayerTrace, head: int) -> dict[str, Tensor | None]:
    """Return the inputs, and the weights and biases of this head, as far as the source gives them."""
    same = layer.key_input is layer.query_input
    found = {"embeddings": layer.query_input, "embeddings_k": None if same else layer.key_input}
    for name, projection in (layer.projections or {}).items():
        letter = "U" if projection.kind == "positions" else "W"
        found[f"{letter}_{name}"] = None if projection.weight is None else projection.weight[head]
        found[f"b_{name}"] = None if projection.bias is None else projection.bias[head]
    if layer.output_projection is not None:
        width = layer.value.shape[-1]
        found["W_output_head"] = layer.output_projection.weight[head * width : (head + 1) * width]
        found["b_output"] = layer.output_projection.bias
    return found


def _mask(layer: LayerTrace, head: int) -> Tensor | None:
    """Return the cells of a mask that its kind does not say: bool, or float where it adds numbers to scores."""
    cells = layer.mask_of(head)
    if cells is None or layer.mask.kind == "causal":
        return None
    return cells.expand(layer.query.shape[1], layer.key.shape[1]) if layer.mask.adds else ~layer.hidden(head)


def _as_array(tensor: Tensor) -> npt.NDArray[Any]:
    tensor = tensor.detach()
    array: npt.NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return array

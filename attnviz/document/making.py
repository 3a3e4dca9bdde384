"""From heads of any source to their document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from attnviz.document.checks import ARRAYS, OF_HEAD
from attnviz.document.value import Axis, Document, Header, OfHeads, Reference, StepText
from attnviz.formatting import scale_label
from attnviz.formulas import mathml
from attnviz.marked import marks_of
from attnviz.measures.thumbnails import hidden_thumbnail
from attnviz.steps import STEPS, unavailable
from attnviz.steps.averages import WAYS
from attnviz.steps.picture import joined
from attnviz.trace.matrices import find_matrix, matrix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from attnviz.steps import Step
    from attnviz.tokens import Tokens
    from attnviz.trace.walk import Walk

Make = Callable[[], "npt.NDArray[Any]"]
ReferTo = Callable[[str, int], str | None]
"""Decides how a document holds an array: called with its name and its size in bytes, it returns the digest by which a
reader fetches it, or None to put it into the file. `array_of` makes what a reader fetches."""


def document_of(walk: Walk, *, refer_to: ReferTo | None = None) -> Document:
    """Make the document of one head; raises as `document_of_layer` does."""
    return document_of_layer(walk, (walk.head,), refer_to=refer_to)


def document_of_layer(
    walk: Walk,
    heads: Sequence[int] | None = None,
    *,
    thumbnails: npt.NDArray[np.uint8] | None = None,
    refer_to: ReferTo | None = None,
) -> Document:
    """Make the document of several heads of a layer, or of averages where the walk has them.

    Its arrays share their memory with the trace where it is float32.

    Args:
        walk: any head of the layer.
        heads: the heads; None takes all.
        thumbnails: of the weights of all heads of the layer, (H, n, m), as `attnviz.measures.thumbnails` makes them.
        refer_to: which arrays are not in the file; None puts all into it.

    Raises:
        DocumentError: there are no tokens, more than a document holds, or numbers that are not finite.
        IndexError: the layer has no such head.
    """
    layer = walk.layer
    chosen = tuple(range(layer.heads) if heads is None else heads)
    walks = [walk if head == walk.head else replace(walk, head=head) for head in chosen]
    arrays, references = {}, {}
    for name, held in _arrays(walks).items():
        digest = None if refer_to is None else refer_to(name, held.nbytes)
        if digest is None:
            arrays[name] = held.make()
        else:
            references[name] = Reference(digest, held.dtype, held.shape)
    if thumbnails is not None:
        arrays |= _thumbnails(walk, thumbnails)
    header = Header(
        model=walk.model,
        attention=walk.kind,
        layer=walk.layer_index,
        heads=chosen,
        heads_in_layer=layer.heads,
        query=_axis(walk.query_tokens),
        key=_axis(walk.key_tokens),
        scale=float(layer.scale),
        scale_label=scale_label(layer.scale, layer.head_size),
        mask=layer.mask.kind,
        steps=tuple(_step(step, walks) for step in (WAYS if walk.averages else STEPS).values()),
        references=references,
        kind="averages" if walk.averages else "walk",
    )
    return Document(header, arrays)


def array_of(walk: Walk, name: str) -> npt.NDArray[Any]:
    """Make one array of a document that refers to it; `walk` is the head in its name, or any head if it has none.

    Raises:
        KeyError: documents of this head have no array of this name.
    """
    import numpy as np

    return np.ascontiguousarray(_arrays([walk])[name].make())  # safetensors writes memory as it lies


def _axis(tokens: Tokens) -> Axis:
    return Axis(
        text=tokens.text,
        pair=tokens.pair,
        labels=tokens.labels,
        ids=tokens.ids,
        covers=tuple(map(tokens.source, range(len(tokens)))),
        places=tuple(
            "" if added else _place(start, end)
            for added, (start, end) in zip(tokens.special, tokens.offsets, strict=True)
        ),
        segments=tokens.segments,
        unknown=tokens.unknown,
    )


def _place(start: int, end: int) -> str:
    """Return the character range [start, end) as text, with its last character."""
    return "–" if end <= start else str(start) if end - start == 1 else f"{start} to {end - 1}"


def _step(step: Step[Any], walks: Sequence[Walk]) -> StepText:
    of: Sequence[Any] = walks if step.matrices else [walks[0].query_tokens]
    pictures = [picture for one in (of if step.names_head else of[:1]) if (picture := step.picture(one)) is not None]
    return StepText(
        name=step.name,
        title=step.title,
        formula=mathml(step.formula(of[0])),
        notice=step.notice(of[0]),
        fact=_of_heads(map(step.fact, of)),
        advice=_of_heads(map(step.advice, of)),
        code=step.code(of[0]),
        missing=unavailable(step, walks[0]),
        is_by_cell=step.is_by_cell,
        can_be_covered=step.can_be_covered,
        can_be_stretched=step.can_be_stretched,
        picture=joined(pictures) if pictures else None,
    )


def _of_heads(texts: Iterable[str]) -> OfHeads:
    """Return one text if it is the same for all heads, with the same marks."""
    texts = tuple(texts)
    return texts[0] if len({(text, marks_of(text)) for text in texts}) == 1 else texts


@dataclass(frozen=True, slots=True)
class _Held:
    """An array that is computed when it is needed."""

    shape: tuple[int, ...]
    dtype: Literal["F32", "BOOL"]
    make: Make

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * (4 if self.dtype == "F32" else 1)


def _arrays(walks: Sequence[Walk]) -> dict[str, _Held]:
    """Return all arrays of these heads by their names in the document, as far as the source gives them."""
    walk = walks[0]
    layer = walk.layer
    found: dict[str, _Held | None] = {}
    for name in ARRAYS:
        if name in _COMPUTED:
            continue
        of = {f"{name}/{one.head}": one for one in walks} if name in OF_HEAD else {name: walk}
        found |= {key: _held(find_matrix(one, name)) for key, one in of.items()}
    if layer.key_input is layer.query_input:
        del found["embeddings_k"]
    found |= _masks(walks)
    (heads, _, width), queries = layer.value.shape, layer.query.shape[1]
    if len(walks) < heads:
        found["concat"] = _Held((queries, heads * width), "F32", lambda: _as_array(matrix(walk, "concat")))
    if layer.output_projection is not None:
        shape = queries, layer.output_projection.weight.shape[1]
        found["output"] = _Held(shape, "F32", lambda: _as_array(matrix(walk, "output")))
    return {name: held for name, held in found.items() if held is not None}


_COMPUTED = ("mask", "concat", "output", "thumbnails", "hidden_thumbnail")
"""The arrays that are not among a walk's matrices, or cost much to compute"""


def _held(tensor: Tensor | None) -> _Held | None:
    if tensor is None:
        return None
    return _Held(tuple(tensor.shape), "F32" if tensor.is_floating_point() else "BOOL", partial(_as_array, tensor))


def _masks(walks: Sequence[Walk]) -> dict[str, _Held | None]:
    """Return the cells of a mask that its kind does not say: one for all heads, or one for each if they have their own.

    They are bool, or float where the mask adds numbers to scores.
    """
    layer = walks[0].layer
    cells = layer.mask.cells
    if cells is None or layer.mask.kind == "causal":
        return {}
    shape = layer.query.shape[1], layer.key.shape[1]
    if not layer.mask.adds and cells.is_floating_point():
        cells = cells.isfinite()
    if cells.ndim == 3 and cells.shape[0] > 1:
        return {f"mask/{walk.head}": _held(cells[walk.head].expand(shape)) for walk in walks}
    return {"mask": _held((cells[0] if cells.ndim == 3 else cells).expand(shape))}


def _thumbnails(walk: Walk, weights: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[np.uint8]]:
    hidden = walk.layer.hidden(walk.head).numpy()
    return {"thumbnails": weights, **({"hidden_thumbnail": hidden_thumbnail(hidden)} if hidden.any() else {})}


def _as_array(tensor: Tensor) -> npt.NDArray[Any]:
    tensor = tensor.detach()
    array: npt.NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return array

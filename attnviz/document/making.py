"""Makes the document of heads from any source."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from math import nan, prod
from typing import TYPE_CHECKING, Any, Literal

from attnviz.document.texts import step_texts
from attnviz.document.value import (
    ARRAYS,
    OF_HEAD,
    Axis,
    Document,
    Header,
    Reference,
    StepText,
    check_header,
    check_held,
    check_numbers,
    read_only,
)
from attnviz.formatting import scale_label
from attnviz.measures.thumbnails import hidden_thumbnail
from attnviz.measures.thumbnails import thumbnails as thumbnails_of
from attnviz.trace.matrices import OF_BIAS, find_matrix, heads_matrix, matrix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from attnviz.attention import AttentionSteps
    from attnviz.tokens import Tokens
    from attnviz.trace.walk import Walk

Make = Callable[[], "npt.NDArray[Any]"]
ReferTo = Callable[[str, int], str | None]
"""Decides how a document stores an array: called with its name and its size in bytes, it returns the digest by which a
reader fetches the array, or None to put it into the file. `array_of` makes the array that a reader fetches. It is asked
for `GUESSES` too, with the size of the logits that they are made of; `guesses_of` makes them."""
GUESSES = "guesses"


def document_of(walk: Walk, *, refer_to: ReferTo | None = None) -> Document:
    """Make the document of one head; raises as `document_of_layer` does."""
    return document_of_layer(walk, (walk.head,), refer_to=refer_to)


def document_of_layer(
    walk: Walk,
    heads: Sequence[int] | None = None,
    *,
    thumbnails: bool = False,
    refer_to: ReferTo | None = None,
) -> Document:
    """Make the document of several heads of a layer, with averages or the steps of a block if the walk has them.

    Its arrays share their memory with the trace where it is float32.

    Args:
        walk: any head of the layer.
        heads: the heads; None takes all.
        thumbnails: whether it has thumbnails of the weights of all heads of the layer.
        refer_to: decides which arrays are not in the file; None puts all into it.

    Raises:
        DocumentError: there are no tokens, too many of them, or numbers that are not finite.
        IndexError: the layer has no such head.
    """
    chosen = tuple(range(walk.layer.heads) if heads is None else heads)
    of_all = walk.layer.all_heads()
    walks = walk.of_heads(chosen, of_all)
    in_file, references = {}, {}
    for name, array in _arrays(walks).items():
        digest = None if refer_to is None else refer_to(name, array.nbytes)
        if digest is None:
            in_file[name] = array
        else:
            references[name] = Reference(digest, array.dtype, array.shape)
    guesses_at = _guesses_at(walk, refer_to)
    header = _header(walk, chosen, step_texts(walks), references, guesses_at)
    check_header(header)
    check_held(header, in_file)
    for whole, name in {array.whole: name for name, array in in_file.items()}.items():
        check_numbers(name, whole())
    arrays = {name: array.make() for name, array in in_file.items()}
    return Document.of_checked(header, arrays | _thumbnails(walk, of_all) if thumbnails else arrays)


def array_of(walk: Walk, name: str) -> npt.NDArray[Any]:
    """Make one array of a document that refers to it; `walk` is of the head in its name, or of any if it names none.

    Raises:
        KeyError: documents of this head have no array of this name.
    """
    return _arrays([walk])[name].make()


def guesses_of(walk: Walk) -> bytes:
    """Make the guesses of a document that refers to them, as JSON: a list as `guesses` of its header."""
    return json.dumps([asdict(guesses) for guesses in walk.guess()]).encode()


def _guesses_at(walk: Walk, refer_to: ReferTo | None) -> str:
    """Return the digest by which the guesses are fetched; "" if there are none, or if they are in the file."""
    if refer_to is None or not walk.guess_cells:
        return ""
    return refer_to(GUESSES, 4 * walk.guess_cells) or ""


def _header(
    walk: Walk,
    heads: tuple[int, ...],
    steps: tuple[StepText, ...],
    references: Mapping[str, Reference],
    guesses_at: str,
) -> Header:
    """Return the header of a document of these heads; `walk` is any head of the layer."""
    layer = walk.layer
    return Header(
        model=walk.model,
        attention=walk.kind,
        layer=walk.layer_index if walk.number is None else walk.number,
        heads=heads,
        heads_in_layer=layer.heads,
        query=_axis(walk.query_tokens),
        key=_axis(walk.key_tokens),
        scale=float(layer.scale),
        scale_label=scale_label(layer.scale, layer.head_size, 1 + len(layer.position_terms)),
        mask=layer.mask.kind,
        mask_value=None if layer.mask.is_infinite else layer.mask.value,
        mask_fills=layer.mask.fills,
        guesses=() if guesses_at else walk.guess(),
        guesses_at=guesses_at,
        guesses_note=walk.head_note if walk.guess_cells else "",
        cap=layer.cap,
        buckets=None if layer.position_bias is None else layer.position_bias.buckets,
        shared_by=layer.shared_by,
        mask_reasons=None if layer.mask.kind == "causal" else layer.mask_reasons,
        steps=steps,
        references=references,
        kind="averages" if walk.averages else "walk" if walk.block is None else "block",
        place="" if walk.block is None else walk.block.place,
    )


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


@dataclass(slots=True, eq=False)
class _Held:
    """An array that is computed when it is needed."""

    shape: tuple[int, ...]
    dtype: Literal["F32", "BOOL"]
    whole: Make
    """Computes the array, or the stacked arrays of several heads, only once"""
    place: int | None = None
    """The index of its head in the stacked arrays"""

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * (4 if self.dtype == "F32" else 1)

    def make(self) -> npt.NDArray[Any]:
        """Return the array, read-only."""
        whole = self.whole()
        return whole if self.place is None else whole[self.place]


def _arrays(walks: Sequence[Walk]) -> dict[str, _Held]:
    """Return all arrays of these heads that the source provides, by their names in the document."""
    first = walks[0]
    layer = first.layer
    heads = [walk.head for walk in walks]
    arrays: dict[str, _Held | None] = {}
    for name in ARRAYS:
        if name in _COMPUTED:
            continue
        if name in OF_BIAS:  # large, and BLOOM's is one row for all queries: made for each head alone
            arrays |= {f"{name}/{walk.head}": _bias_held(walk, name) for walk in walks}
        elif name in OF_HEAD:
            arrays |= _of_heads(name, heads_matrix(layer, name, heads), heads)
        else:
            arrays[name] = _held(find_matrix(first, name))
    if layer.key_input is layer.query_input:
        del arrays["embeddings_k"]
    arrays |= _masks(walks)
    (count, _, width), queries = layer.value.shape, layer.query.shape[1]
    if len(walks) < count:
        arrays["concat"] = _Held((queries, count * width), "F32", cache(lambda: _as_array(matrix(first, "concat"))))
    if layer.output_projection is not None:
        shape = queries, layer.output_projection.weight.shape[1]
        arrays["output"] = _Held(shape, "F32", cache(lambda: _as_array(matrix(first, "output"))))
    return {name: array for name, array in arrays.items() if array is not None}


_COMPUTED = ("mask", "concat", "output", "thumbnails", "hidden_thumbnail")
"""The arrays that are not among a walk's matrices, or are expensive to compute"""


def _held(tensor: Tensor | None) -> _Held | None:
    if tensor is None:
        return None
    return _Held(tuple(tensor.shape), _dtype(tensor), cache(partial(_as_array, tensor)))


def _bias_held(walk: Walk, name: str) -> _Held | None:
    """Return a head's position bias, or a term of it, which is computed when it is needed."""
    layer = walk.layer
    if layer.position_bias is None or name not in ("position_bias", *layer.position_terms):
        return None
    shape = layer.query.shape[1], layer.key.shape[1]
    return _Held(shape, "F32", cache(lambda: _as_array(_blank(matrix(walk, name)))))


def _blank(bias: Tensor) -> Tensor:
    """Return a position bias with NaN in the hidden cells for which there is no number, as they are drawn."""
    return bias.masked_fill(bias.isneginf(), nan)


def _of_heads(name: str, tensor: Tensor | None, heads: Sequence[int]) -> dict[str, _Held | None]:
    """Return the arrays of these heads; `tensor` has an axis of them, and is converted at most once."""
    if tensor is None:
        return {}
    whole = cache(partial(_as_array, tensor))
    shape, dtype = tuple(tensor.shape[1:]), _dtype(tensor)
    return {f"{name}/{head}": _Held(shape, dtype, whole, place) for place, head in enumerate(heads)}


def _dtype(tensor: Tensor) -> Literal["F32", "BOOL"]:
    return "F32" if tensor.is_floating_point() else "BOOL"


def _masks(walks: Sequence[Walk]) -> dict[str, _Held | None]:
    """Return a mask's cells, unless its kind defines them: one array for all heads, or one per head if they differ.

    They are bool, or float if the mask adds numbers to scores.
    """
    layer = walks[0].layer
    cells = layer.mask.cells
    if cells is None or layer.mask.kind == "causal":
        return {}
    shape = layer.query.shape[1], layer.key.shape[1]
    if not layer.mask.adds and cells.is_floating_point():
        cells = cells.isfinite()
    if cells.ndim == 3 and cells.shape[0] > 1:
        heads = [walk.head for walk in walks]
        return _of_heads("mask", cells.expand(-1, *shape)[heads], heads)
    return {"mask": _held((cells[0] if cells.ndim == 3 else cells).expand(shape))}


def _thumbnails(walk: Walk, of_all: AttentionSteps) -> dict[str, npt.NDArray[np.uint8]]:
    hidden = (walk.layer.hidden(walk.head) if walk.layer.mask.is_infinite else walk.steps.hidden_weights).numpy()
    reasons = walk.layer.mask_reasons
    codes = hidden.astype("uint8")
    if reasons is not None:
        codes *= reasons.codes(*hidden.shape)
    arrays = {"thumbnails": thumbnails_of(of_all.weights.detach().numpy())}
    if hidden.any():
        arrays["hidden_thumbnail"] = hidden_thumbnail(codes)
    return {name: read_only(array) for name, array in arrays.items()}


def _as_array(tensor: Tensor) -> npt.NDArray[Any]:
    tensor = tensor.detach()
    return read_only((tensor.float() if tensor.is_floating_point() else tensor).numpy())

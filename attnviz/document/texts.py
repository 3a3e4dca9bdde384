"""What a document says of each step: texts and pictures that a layer's settings decide, and sentences about numbers.

The former are the same for every text of a length: a server that shows many texts makes them once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache, cached

from attnviz.annotated_text import marks_of
from attnviz.document.value import OfHeads, StepText
from attnviz.formulas import mathml
from attnviz.steps import steps_of, unavailable
from attnviz.steps.picture import joined

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.steps import Step
    from attnviz.trace.layer import LayerTrace, OutputProjection, Projection
    from attnviz.trace.walk import Walk

SETTINGS = 64
"""The most settings whose texts and pictures are kept; they take some 50 kB each"""


def step_texts(walks: Sequence[Walk]) -> tuple[StepText, ...]:
    """Return what there is to say of each step of some heads of a layer, in the order of computation."""
    said: dict[Callable[[Any], str], OfHeads] = {}  # steps share sentences, most of them none
    made = []
    for step, text in zip(_steps(walks), _of_settings(walks), strict=True):
        for sentence in (step.fact, step.advice):
            if sentence not in said:
                said[sentence] = _of_heads(map(sentence, _shown(step, walks)))
        fact, advice = said[step.fact], said[step.advice]
        made.append(replace(text, fact=fact, advice=advice) if fact or advice else text)
    return tuple(made)


def _steps(walks: Sequence[Walk]) -> Iterable[Step[Any]]:
    return steps_of(walks[0]).values()


def _shown(step: Step[Any], walks: Sequence[Walk]) -> Sequence[Any]:
    """Return what a step shows of each head; of the tokens, which are of no head, once."""
    return walks if step.matrices else [walks[0].query_tokens]


def _of_heads(texts: Iterable[str]) -> OfHeads:
    """Return one text if it is the same for all heads, with the same marks."""
    first, *others = texts = tuple(texts)
    is_same = all(text == first and marks_of(text) == marks_of(first) for text in others)
    return first if is_same else texts


def settings_of(walks: Sequence[Walk]) -> Hashable:
    """Return all that a step's formula, notice, code and picture may depend on: anything but numbers and the text."""
    layer, maps, block = walks[0].layer, walks[0].layer.projections, walks[0].block
    return (
        bool(walks[0].averages), None if block is None else block.settings, tuple(walk.head for walk in walks),
        walks[0].kind, walks[0].query_tokens.tokenizer, walks[0].parts is None, walks[0].has_positions,
        walks[0].layer_index > 0,
        layer.query.shape, layer.key.shape, layer.value.shape, layer.scale, _mask(layer),
        layer.query_input is layer.key_input, _shape(layer.query_input), _shape(layer.key_input),
        None if maps is None else tuple((name, one.kind, *_map(one)) for name, one in maps.items()),
        None if layer.output_projection is None else _map(layer.output_projection),
        tuple(layer.unavailable.items()),
    )  # fmt: skip


def _map(projection: Projection | OutputProjection) -> tuple[Hashable, ...]:
    return _shape(projection.weight), projection.bias is None


def _shape(tensor: Tensor | None) -> Hashable:
    return None if tensor is None else tensor.shape


def _mask(layer: LayerTrace) -> Hashable:
    mask = layer.mask
    cells = None if mask.cells is None else (mask.cells.dtype, mask.adds, mask.hides_rows)
    return mask.kind, mask.window, cells, mask.value, mask.fills


@cached(LRUCache(SETTINGS), key=settings_of, lock=threading.Lock())
def _of_settings(walks: Sequence[Walk]) -> tuple[StepText, ...]:
    """Return what there is to say of each step, without the sentences about numbers."""
    return tuple(_of_step(step, walks) for step in _steps(walks))


def _of_step(step: Step[Any], walks: Sequence[Walk]) -> StepText:
    of = _shown(step, walks)
    pictures = [picture for one in (of if step.names_head else of[:1]) if (picture := step.picture(one)) is not None]
    return StepText(
        name=step.name,
        title=step.title_of(walks[0].kind, walks[0].layer_index),
        formula=mathml(step.formula(of[0])),
        notice=step.notice(of[0]),
        fact="",
        advice="",
        code=step.code(of[0]),
        missing=unavailable(step, walks[0]),
        is_by_cell=step.is_by_cell,
        can_be_covered=step.can_be_covered,
        can_be_stretched=step.can_be_stretched,
        picture=joined(pictures) if pictures else None,
    )

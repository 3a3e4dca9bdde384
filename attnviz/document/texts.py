"""The texts and pictures of a document's steps, which depend on a layer's settings, and sentences about its numbers.

The former are the same for every text of the same length, so a server that shows many texts makes them once.
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
    from attnviz.trace.head_norm import HeadNorm
    from attnviz.trace.layer import LayerTrace, LinearMap, Projection
    from attnviz.trace.walk import Walk

SETTINGS = 64
"""The most settings whose texts and pictures are cached; they take about 50 kB each"""


def step_texts(walks: Sequence[Walk]) -> tuple[StepText, ...]:
    """Return the texts and the picture of each step for some heads of a layer, in the order of computation."""
    sentences: dict[Callable[[Any], str], OfHeads] = {}  # steps share functions: for most, the one that returns ""
    texts = []
    for step, text in zip(_steps(walks), _of_settings(walks), strict=True):
        for sentence in (step.fact, step.advice):
            if sentence not in sentences:
                sentences[sentence] = _of_heads(map(sentence, _shown(step, walks)))
        fact, advice = sentences[step.fact], sentences[step.advice]
        texts.append(replace(text, fact=fact, advice=advice) if fact or advice else text)
    return tuple(texts)


def _steps(walks: Sequence[Walk]) -> Iterable[Step[Any]]:
    return steps_of(walks[0]).values()


def _shown(step: Step[Any], walks: Sequence[Walk]) -> Sequence[Any]:
    """Return what a step shows of each head; for the step of the tokens, which belong to no head, only these."""
    return walks if step.matrices else [walks[0].query_tokens]


def _of_heads(texts: Iterable[str]) -> OfHeads:
    """Return one text if it is the same for all heads, with the same marks."""
    first, *others = texts = tuple(texts)
    is_same = all(text == first and marks_of(text) == marks_of(first) for text in others)
    return first if is_same else texts


def settings_of(walks: Sequence[Walk]) -> Hashable:
    """Return everything that a step's formula, notice, code and picture may depend on: all but numbers and the text."""
    layer, maps, block = walks[0].layer, walks[0].layer.projections, walks[0].block
    return (
        bool(walks[0].averages), None if block is None else block.settings, tuple(walk.head for walk in walks),
        walks[0].kind, walks[0].query_tokens.tokenizer, walks[0].parts is None, walks[0].has_positions,
        walks[0].layer_index > 0,
        layer.query.shape, layer.key.shape, layer.value.shape, layer.scale, _mask(layer), layer.cap,
        layer.sinks is None, _position_bias(layer),
        layer.query_input is layer.key_input, _shape(layer.query_input), _shape(layer.key_input),
        None if layer.rotation is None else (layer.rotation.cos.shape, layer.rotation.pairing, layer.rotation.factor),
        tuple((name, *_norm(norm)) for name, norm in layer.norms.items()),
        None if maps is None else tuple((name, each.kind, *_map(each)) for name, each in maps.items()),
        None if layer.output_projection is None else _map(layer.output_projection),
        tuple(layer.unavailable.items()),
    )  # fmt: skip


def _norm(norm: HeadNorm) -> tuple[Hashable, ...]:
    return norm.kind, norm.bias is None, norm.eps, norm.is_joint, norm.is_untrained


def _map(projection: Projection | LinearMap) -> tuple[Hashable, ...]:
    return _shape(projection.weight), projection.bias is None


def _shape(tensor: Tensor | None) -> Hashable:
    return None if tensor is None else tensor.shape


def _mask(layer: LayerTrace) -> Hashable:
    mask = layer.mask
    cells = None if mask.cells is None else (mask.cells.dtype, mask.adds, mask.hides_rows)
    return mask.kind, mask.window, layer.mask_reasons, cells, mask.value, mask.fills


def _position_bias(layer: LayerTrace) -> Hashable:
    """Return what the texts and titles depend on."""
    bias = layer.position_bias
    if bias is None:
        return None
    slopes = None if bias.slopes is None else tuple(bias.slopes.tolist())
    terms = None if bias.terms is None else (bias.terms.names, bias.terms.first)
    return bias.kind, bias.buckets, terms, slopes, slopes is None or (bias.is_by_distance, bias.starts_at_0)


@cached(LRUCache(SETTINGS), key=settings_of, lock=threading.Lock())
def _of_settings(walks: Sequence[Walk]) -> tuple[StepText, ...]:
    """Return the texts and the picture of each step, without the sentences about numbers."""
    return tuple(_of_step(step, walks) for step in _steps(walks))


def _of_step(step: Step[Any], walks: Sequence[Walk]) -> StepText:
    shown = _shown(step, walks)
    drawn = shown if step.names_head else shown[:1]
    pictures = [picture for head in drawn if (picture := step.picture(head)) is not None]
    return StepText(
        name=step.name,
        title=step.title_of(walks[0].kind, walks[0].layer_index),
        formula=mathml(step.formula(shown[0])),
        notice=step.notice_in(walks[0], shown[0]),
        fact="",
        advice="",
        code=step.code(shown[0]),
        missing=unavailable(step, walks[0]),
        is_by_cell=step.is_by_cell,
        can_be_covered=step.can_be_covered,
        can_be_stretched=step.can_be_stretched,
        picture=joined(pictures) if pictures else None,
    )

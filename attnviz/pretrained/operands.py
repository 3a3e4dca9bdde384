"""How a module makes queries, keys and values of its input: projections, norms and rotation that reproduce a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import get_args

import torch
from torch import Tensor, nn

from attnviz.pretrained.families import find_head_norms, find_input_projections, reproduces
from attnviz.pretrained.model import FusedOrder
from attnviz.pretrained.rotary import RotaryLayout, find_rotary
from attnviz.trace.buckets import Buckets
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.layer import Operand, Projection
from attnviz.trace.matrices import QKV
from attnviz.trace.model import Need
from attnviz.trace.recorder import Call
from attnviz.trace.rotation import Rotation

NOT_LINEAR = (
    "This family changes queries or keys between the projection and the attention (for example by a scale of its own), "
    "so X · W alone does not give them; they are shown as attention received them."
)
NO_INPUT = "How this family passes X to its attention is not known, so neither X nor X · W is available."
NO_PROJECTIONS = "How this family projects its queries and keys is not known, so X · W is not available."


@dataclass(frozen=True, slots=True)
class Operands:
    """How a module makes queries, keys and values of its input."""

    projections: dict[str, Projection] | None = None
    norms: Mapping[Operand, HeadNorm] = field(default_factory=dict)
    rotary: RotaryLayout | None = None
    fused: FusedOrder = "parts"


def find_operands(call: Call, module: nn.Module) -> tuple[Operands, dict[Need, str]]:
    """Return the projections, and the norms and the rotation after them, that reproduce a recorded call.

    If none do, the reasons.
    """
    if call.query_input is None or call.key_input is None:
        return Operands(), {"embeddings": NO_INPUT, "projections": NO_INPUT}
    heads, width = call.query.shape[0], call.query.shape[-1]
    known = [
        (projections, order)
        for order in get_args(FusedOrder)
        if (projections := find_input_projections(module, heads, width, order)) is not None
    ]
    possible: list[Mapping[Operand, HeadNorm]] = [{}, *find_head_norms(module, heads, width)]
    for (projections, order), norms in product(known, possible):
        is_plain, rotary = _rotary(call, projections, norms)
        if is_plain or rotary is not None:
            return Operands(projections, norms, rotary, order), {}
    return Operands(), {"projections": NOT_LINEAR if known else NO_PROJECTIONS}


MAX_DISTANCE = 128
"""From which distance on all are in one bucket, where a module does not say it: T5's default, and MPNet's"""


def find_buckets(call: Call, model: nn.Module) -> Buckets | None:
    """Return the buckets of a call's position bias, if the model has a table that gives it by them, as T5 and MPNet."""
    bias = call.position_bias
    if not isinstance(bias, Tensor):
        return None
    for module in model.modules():
        table = getattr(module, "relative_attention_bias", None)
        if not isinstance(table, nn.Embedding) or table.num_embeddings < 4:
            continue
        distance = getattr(module, "relative_attention_max_distance", MAX_DISTANCE)
        for both_sides in (True, False):
            buckets = Buckets(table.num_embeddings, distance, both_sides)
            values = table.weight[buckets.of(*bias.shape[-2:])].permute(2, 0, 1)  # (H, Tq, Tk)
            if values.shape == bias.shape and torch.equal(*(_without_hidden(x, call.mask) for x in (values, bias))):
                return buckets
    return None


def _without_hidden(cells: Tensor, mask: Tensor | None) -> Tensor:
    """Return cells with 0 where a mask hides them: outside of LongT5's window no bias is shown."""
    return cells if mask is None or mask.dtype != torch.bool else cells.masked_fill(~mask, 0.0)


def _rotary(
    call: Call, projections: Mapping[str, Projection], norms: Mapping[Operand, HeadNorm]
) -> tuple[bool, RotaryLayout | None]:
    """Return whether projections and norms give what a call recorded, and else the rotation with which they do."""
    query, key, value = (projections[name] for name in QKV)
    x, context = call.query_input, call.key_input
    if x is None or context is None or not reproduces(value, context, call.value):
        return False, None

    def agrees(rotation: Rotation | None) -> bool:
        def changed(name: Operand, projected: Tensor) -> Tensor:
            normed = norms[name].apply(projected) if name in norms else projected
            return normed if rotation is None else rotation.apply(normed)

        return reproduces(query, x, call.query, partial(changed, "query")) and reproduces(
            key, context, call.key, partial(changed, "key")
        )

    return (True, None) if agrees(None) else (False, find_rotary(call.tables, call.query.shape[-1], agrees))

"""What the explorer is sent: everything about a small text at once; of a large one first what is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.components.packing import pack
from attnviz.links.link import ROLLOUT, Head
from attnviz.measures.summary import CLOSING, OPENING
from attnviz.pretrained import Kind, Trace
from attnviz.tokens import Tokens
from attnviz.ui.heads.survey import Survey

ALL_BYTES = 2_500_000
"""Weights of a text that go to the browser all at once"""
FIRST_BYTES = 2_000_000
"""Else so many of the current layer's heads go first"""
MOST_BYTES = 6_000_000
"""And never more at a time"""


def head_bytes(survey: Survey) -> int:
    """Return the bytes that one head's weights take on their way."""
    return survey.hidden.size * 2


def first_heads(survey: Survey, layer: int, chosen: Sequence[Head]) -> list[Head]:
    """Return the heads that are sent at first, the chosen ones in front."""
    layers, heads = survey.overview.shape[:2]
    every = [(own, head) for own in range(layers) for head in range(heads)]
    each = head_bytes(survey)
    rolled = [head for head in chosen if head[1] == ROLLOUT]
    if each * len(every) <= ALL_BYTES:
        return within(survey, [*every, *rolled])
    of_layer = [head for head in every if head[0] == layer and head not in chosen]
    room = max(FIRST_BYTES // each - len(chosen), 0)
    return within(survey, [*chosen, *of_layer[:room]])


def within(survey: Survey, heads: Iterable[Head], *, rollout: bool = True) -> list[Head]:
    """Return those of the heads that there are, each once, as many as may go at a time; at least one fits."""
    layers, count = survey.overview.shape[:2]
    real = [
        (layer, head)
        for layer, head in dict.fromkeys(heads)
        if 0 <= layer < layers and (0 <= head < count or (rollout and head == ROLLOUT))
    ]
    return real[: max(1, MOST_BYTES // head_bytes(survey))]


def explorer_payload(
    trace: Trace,
    kind: Kind,
    survey: Survey,
    view: Mapping[str, Any],
    sent: Sequence[Head],
    weights: npt.NDArray[np.uint16],
    *,
    first: bool,
    acknowledged: int = 0,
) -> bytes:
    """Write what the explorer is sent (see `components.explorer`).

    Args:
        trace: the model's pass.
        kind: which of its attentions.
        survey: what is known of all its heads.
        view: what the link holds.
        sent: the heads whose weights are sent.
        weights: (S, Tq, Tk), from `encoded_weights`.
        first: whether the browser knows nothing of this text yet.
        acknowledged: the number of the last update that `view` includes.
    """
    layers, heads, *_ = survey.overview.shape
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    header = {
        "trace": survey.name, "model": keys.tokenizer, "kind": kind, "layers": layers, "heads": heads,
        "rows": len(queries), "cols": len(keys), "causal": survey.causal,
        "query_labels": queries.labels, "key_labels": keys.labels,
        "query_groups": groups(queries), "key_groups": groups(keys),
        "sent": sent, "view": dict(view), "acknowledged": acknowledged, "labels": survey.labels,
        "measures": [
            {"name": one.name, "title": one.title, "unit": one.unit, "low": one.low, "high": one.high}
            for one in survey.measures
        ],
        "rollout": kind != "cross", "norms": survey.key_norms is not None,
    }  # fmt: skip
    # The widest numbers first: each array then starts where the browser can read it in place.
    arrays: dict[str, npt.NDArray[Any]] = {"measures": survey.values}
    if first and survey.key_norms is not None:
        arrays["key_norms"] = survey.key_norms
    arrays["weights"] = weights
    if first and sum(head != ROLLOUT for _, head in sent) < layers * heads:
        arrays["overview"] = survey.overview
    if survey.hidden.any() and not survey.causal:
        arrays["hidden"] = survey.hidden.view(np.uint8)
    return pack(header, arrays)


def groups(tokens: Tokens) -> list[int]:
    """Return a number a token: 0 special, added or typed; 1 of the first sentence; 2 of the second."""
    special = [added or piece in OPENING or piece in CLOSING
               for added, piece in zip(tokens.special, tokens.pieces, strict=True)]  # fmt: skip
    return [0 if is_special else 1 + min(segment, 1)
            for is_special, segment in zip(special, tokens.segments, strict=True)]  # fmt: skip

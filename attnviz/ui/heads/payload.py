"""The payload of the explorer: all heads of a small text at once; of a large text the visible heads first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.components.packing import pack
from attnviz.links.link import ROLLOUT, Head
from attnviz.measures.summary import CLOSING_TOKENS, OPENING_TOKENS
from attnviz.measures.survey import Survey
from attnviz.pretrained import Kind, Trace
from attnviz.tokens import Tokens

ALL_BYTES = 2_500_000
"""Up to this size, all weights of a text are sent at once"""
FIRST_BYTES = 2_000_000
"""Otherwise the first message has this much of the current layer"""
MAX_BYTES = 6_000_000
"""The most weights in one message"""


def head_bytes(survey: Survey) -> int:
    """Return the size of one head's weights in a payload."""
    return survey.hidden.size * 2


def first_heads(survey: Survey, layer: int, chosen: Sequence[Head]) -> list[Head]:
    """Return the heads of the first message, chosen heads first."""
    layers, heads = survey.overview.shape[:2]
    every = [(own, head) for own in range(layers) for head in range(heads)]
    each = head_bytes(survey)
    rolled = [head for head in chosen if head[1] == ROLLOUT]
    if each * len(every) <= ALL_BYTES:
        return within(survey, [*every, *rolled])
    of_layer = [head for head in every if head[0] == layer and head not in chosen]
    count = max(FIRST_BYTES // each - len(chosen), 0)
    return within(survey, [*chosen, *of_layer[:count]])


def within(survey: Survey, heads: Iterable[Head], *, rollout: bool = True) -> list[Head]:
    """Return the existing heads without duplicates, at most as many as one message takes, and at least one."""
    layers, count = survey.overview.shape[:2]
    real = [
        (layer, head)
        for layer, head in dict.fromkeys(heads)
        if 0 <= layer < layers and (0 <= head < count or (rollout and head == ROLLOUT))
    ]
    return real[: max(1, MAX_BYTES // head_bytes(survey))]


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
    """Return the payload of the explorer (see `components.explorer`).

    Args:
        trace: the trace of the text.
        kind: the kind of attention.
        survey: the survey of all heads.
        view: the view's values.
        sent: the heads whose weights are included.
        weights: (S, Tq, Tk), from `encoded_weights`.
        first: whether to include the initial data of this text.
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
    # Widest number type first, so that every array is aligned and the browser can read it in place.
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
    """Return the group of each token: 0 special (added or typed), 1 first sentence, 2 second sentence."""
    special = [added or piece in OPENING_TOKENS or piece in CLOSING_TOKENS
               for added, piece in zip(tokens.special, tokens.pieces, strict=True)]  # fmt: skip
    return [0 if is_special else 1 + min(segment, 1)
            for is_special, segment in zip(special, tokens.segments, strict=True)]  # fmt: skip

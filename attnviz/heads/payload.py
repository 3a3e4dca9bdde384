"""The payload of the explorer: what is known of all heads, and where the browser requests their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from attnviz.measures.summary import CLOSING_TOKENS, OPENING_TOKENS
from attnviz.measures.survey import Survey
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace


def explorer_payload(
    trace: Trace,
    kind: Kind,
    survey: Survey,
    files: Mapping[str, Any],
    view: Mapping[str, Any],
    *,
    acknowledged: int = 0,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the explorer (see `components.explorer`).

    Args:
        trace: the trace of the text.
        kind: the kind of attention.
        survey: the survey of all heads.
        files: where the browser requests arrays, from `files.list_files`.
        view: the view's values.
        acknowledged: the number of the last update that `view` includes.
    """
    heads = survey.overview.shape[1]
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    header = {
        "trace": survey.name, "model": keys.tokenizer, "kind": kind, "layers": survey.numbers, "heads": heads,
        "rows": len(queries), "cols": len(keys), "causal": survey.causal,
        "query_labels": queries.labels, "key_labels": keys.labels,
        "query_groups": groups(queries), "key_groups": groups(keys),
        "files": files, "view": dict(view), "acknowledged": acknowledged, "labels": survey.labels,
        "measures": [
            {"name": one.name, "title": one.title, "unit": one.unit, "low": one.low, "high": one.high,
             "keys": one.keys}
            for one in survey.measures
        ],
        "rollout": kind != "cross", "norms": survey.key_norms is not None,
    }  # fmt: skip
    return header, {"measures": survey.values}


def groups(tokens: Tokens) -> list[int]:
    """Return the group of each token: 0 special (added or typed), 1 first sentence, 2 second sentence."""
    special = [added or piece in OPENING_TOKENS or piece in CLOSING_TOKENS
               for added, piece in zip(tokens.special, tokens.pieces, strict=True)]  # fmt: skip
    return [0 if is_special else 1 + min(segment, 1)
            for is_special, segment in zip(special, tokens.segments, strict=True)]  # fmt: skip

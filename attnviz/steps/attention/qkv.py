"""Q, K, V: the three roles that each token's row plays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formulas.tree import Box
from attnviz.steps.attention.formula import projection_formula, projection_kind
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_NOTICE = {
    "linear": "One input, three roles: a query asks, a key answers, and a value is what gets passed on.",
    "identity": "Nothing is learned here: query, key and value are all X, so a token mostly matches itself.",
    "positions": (
        "U (T × T) mixes positions, where a transformer's W (C × D) mixes features. So U fits one length only, treats "
        "a position alike whatever word stands there, and lets every token see the future before any mask."
    ),
}


def _code(walk: Walk) -> str:
    projections = walk.layer.projections
    if projections is None:
        return "# this family's projections are not available; query, key and value are as attention received them"
    if projections["query"].kind == "identity":
        return "query = key = value = x"
    lines = []
    for name, projection in projections.items():
        source = "x_key" if name != "query" and walk.layer.key_input is not walk.layer.query_input else "x"
        if projection.kind == "positions":
            lines.append(f"{name} = U_{name} @ {source}")
        else:
            lines.append(f"{name} = {source} @ W_{name}" + ("" if projection.bias is None else f" + b_{name}"))
    return "\n".join(lines)


_AXES = {"query": ("query", "dim"), "key": ("key", "dim"), "value": ("key", "dim")}

STEP: Step[Walk] = Step(
    name="qkv",
    title="Q, K, V",
    formula=lambda walk: Box(projection_formula(walk)),
    notice=lambda walk: _NOTICE[projection_kind(walk)],
    code=_code,
    weights={
        **{f"W_{name}": ("feature", "dim") for name in _AXES},
        **{f"U_{name}": (axis, "key") for name, (axis, _) in _AXES.items()},
        **{f"b_{name}": ("bias", "dim") for name in _AXES},
    },
    matrices=_AXES,
    needs=("embeddings", "projections"),
)

"""What stands beside each picture: the formula, what to notice, and the lines of PyTorch that give the same numbers."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.steps.vocabulary import LIGHT_INK, Ink, number
from attnviz.trace.walk import Walk

_SPAN = {"scores": 0, "scaled": 1, "masked": 2, "weights": 3, "head_outputs": 4, "concat": 5, "output": 6}

_NOTICE = {
    "embeddings": "Each token is now a row of numbers. Position must be added, for attention itself knows no order.",
    "qkv": "One input, three roles: a query asks, a key answers, and a value is what gets passed on.",
    "scores": "Each cell is one dot product: a query's row of Q with a key's column of Kᵀ. Large means: they match.",
    "scaled": "Only the size changes. Dot products grow with the head width; large ones would saturate the softmax.",
    "masked": "A hidden cell becomes −∞, not a low number: after the softmax exactly nothing is left of it.",
    "weights": "Each row now sums to 1: it says how one query shares out its attention over the keys.",
    "head_outputs": "Each row is an average of the rows of V, in the proportions of the weights.",
    "concat": "Every head has looked in its own way. Side by side, nothing is mixed yet.",
    "output": "W_O mixes what the heads found and brings it back to the width of the input.",
}


_NO_SCALE = "The scale is 1, so nothing changes here. Go on to the weights: large scores make them all or nothing."
_NO_MASK = "No mask: every query sees every key, before and after it. The causal mask hides the future."
_NO_PROJECTION = "There is no output projection, so the heads stay side by side, unmixed."
_LAYER_INPUT = "This is what the layer receives: a row of numbers for each token, position included."
_QKV = {
    "identity": "Nothing is learned here: query, key and value are all X, so a token mostly matches itself.",
    "positions": (
        "U (T × T) mixes positions, where a transformer's W (C × D) mixes features. So U fits one length only, treats "
        "a position alike whatever word stands there, and lets every token see the future before any mask."
    ),
}


def notice(step: str, walk: Walk) -> str:
    """Return what to notice at a step, in plain words, for this very setting."""
    layer = walk.layer
    kind = layer.projections["query"].kind if layer.projections else "linear"
    special = {
        "embeddings": _LAYER_INPUT if walk.parts is None else None,
        "qkv": _QKV.get(kind),
        "scaled": _NO_SCALE if layer.scale == 1 else None,
        "masked": _NO_MASK if layer.mask.kind == "none" else None,
        "output": _NO_PROJECTION if layer.output_projection is None and not layer.unavailable_reason else None,
    }
    return special.get(step) or _NOTICE[step]


def formula(step: str, walk: Walk, ink: Ink = LIGHT_INK) -> str:
    """Return the LaTeX of the computation, as this walk does it, with the term of this step in a box."""
    q, k, v = (rf"\color{{{colour}}}{name}" for colour, name in ((ink.query, "Q"), (ink.key, "K"), (ink.value, "V")))
    if step in ("embeddings", "qkv"):
        kind = walk.layer.projections["query"].kind if walk.layer.projections else "linear"
        template = {"linear": r"X\,W_%s", "positions": r"U_%s\,X", "identity": "X"}[kind]
        parts = [(q, "Q"), (k, "K"), (v, "V")]
        maps = r" \qquad ".join(rf"{{{colour}}} = {template.replace('%s', name)}" for colour, name in parts)
        return rf"\boxed{{{maps}}}" if step == "qkv" else rf"\boxed{{X}} \qquad {maps}"
    terms: list[Callable[[str], str]] = [
        lambda _: rf"{{{q}}}\,{{{k}}}^{{\top}}",
        lambda inner: rf"{inner} \cdot s",
        lambda inner: rf"{inner} + M" if walk.layer.mask.kind != "none" or step == "masked" else inner,
        lambda inner: rf"\operatorname{{softmax}}\left({inner}\right)",
        lambda inner: rf"{inner}\,{{{v}}}",
        lambda inner: rf"\operatorname{{concat}}_h\left[{inner}\right]",
        lambda inner: inner if walk.layer.output_projection is None else rf"{inner}\,W_O",
    ]
    text = ""
    for place, term in enumerate(terms):
        text = term(text)
        if place == _SPAN[step]:
            text = rf"\boxed{{{text}}}"
    return rf"\operatorname{{output}} = {text}"


def code(step: str, walk: Walk) -> str:
    """Return the lines of PyTorch that make this step from the one before, with this walk's own constants."""
    layer = walk.layer
    width = layer.head_size
    scale = f"1 / math.sqrt({width})" if abs(layer.scale - width**-0.5) < 1e-9 else f"{layer.scale!r}"
    lines = {
        "embeddings": "x = token_embeddings + positions" if walk.parts else "x = embeddings",
        "qkv": _project_lines(walk),
        "scores": "scores = query @ key.T",
        "scaled": f"scaled = scores * ({scale})" if "/" in scale else f"scaled = scores * {scale}",
        "masked": _mask_lines(walk),
        "weights": "weights = torch.softmax(masked, dim=-1)",
        "head_outputs": "head_outputs = weights @ value",
        "concat": "concat = torch.cat(head_outputs_of_all_heads, dim=-1)",
        "output": _output_lines(walk),
    }
    return lines[step]


def fact(step: str, walk: Walk) -> str:
    """Return a sentence about these very numbers, or nothing where there is none worth saying."""
    steps = walk.steps
    if not steps.scores.numel():
        return ""
    if step == "scaled" and steps.scale != 1:
        before, after = float(steps.scores.abs().max()), float(steps.scaled.abs().max())
        return f"Here the largest magnitude goes from {number(before)} to {number(after)} (× {number(steps.scale, 4)})."
    if step == "masked":
        hidden = int(steps.masked.isneginf().sum())
        return f"Here {hidden} of {steps.masked.numel()} cells are hidden." if hidden else "Here nothing is hidden."
    if step == "weights":
        return _strongest(walk)
    if step == "concat":
        return f"Here {walk.layer.heads} heads × {steps.head_outputs.shape[-1]} numbers = {walk.concat.shape[1]} a row."
    return ""


FAINT_BELOW = 0.1
"""Weights that are hardly told from 0 where colours go to 1; the browser has the same, explorer_values.js"""


def faint(step: str, walk: Walk) -> str:
    """Return a sentence where weights coloured from 0 to 1 look like an empty sheet, with what helps; else nothing.

    They do where half of the rows have no weight above `FAINT_BELOW`. Stretching the colours to the largest weight
    helps unless that is near 1 anyway, as it is in the first row under a causal mask.
    """
    weights = walk.steps.weights
    if step not in ("weights", "head_outputs") or not weights.numel():
        return ""
    largest = weights.amax(-1)
    if 2 * int((largest > FAINT_BELOW).sum()) >= len(largest):
        return ""
    helps = "stretch them" if float(largest.max()) <= 0.5 else "zoom in, or point at a row"
    return f"Most rows have no weight above {FAINT_BELOW}, and the colours go to 1, so they are faint: {helps}."


def _strongest(walk: Walk) -> str:
    """Name the largest weight between two different tokens; what a token keeps for itself says little."""
    weights = walk.steps.weights
    to_itself = walk.layer.query_input is walk.layer.key_input and walk.query_labels == walk.key_labels
    others = weights.clone().fill_diagonal_(-1) if to_itself else weights
    q, k = divmod(int(others.argmax()), weights.shape[1])
    if others[q, k] <= 0:
        return ""
    share = number(100 * float(weights[q, k]), 0)
    return f"Here row {q}, “{walk.query_labels[q]}”, puts {share} % on column {k}, “{walk.key_labels[k]}”."


def _project_lines(walk: Walk) -> str:
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


def _mask_lines(walk: Walk) -> str:
    mask = walk.layer.mask
    if mask.cells is None:
        return "masked = scaled  # no mask"
    if mask.kind == "causal":
        return 'past = torch.ones_like(scaled).tril().bool()\nmasked = scaled.masked_fill(~past, float("-inf"))'
    if mask.cells.is_floating_point():
        return "masked = scaled + mask"
    return 'masked = scaled.masked_fill(~mask, float("-inf"))  # mask: True where a query may look'


def _output_lines(walk: Walk) -> str:
    projection = walk.layer.output_projection
    if projection is None:
        return "output = concat  # no output projection"
    return "output = concat @ W_output" + ("" if projection.bias is None else " + b_output")

"""The attention of the toy transformer's code: its class, with what the settings add, and a comparison with torch.

Its heads may share keys and values. Norms and rotary positions change its queries and keys; a soft cap, a position
bias, a window and a sink its scores.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

from attnviz.export.code.cells import TOLERANCE
from attnviz.export.code.toy import ALIBI, BUCKETED, RMS_NORM, TURNS
from attnviz.formatting import joined
from attnviz.toy.config import TransformerConfig
from attnviz.toy.weights import BUCKETS

ATTENTION = """\
def heads(x):
    return {split}


{functions}class Attention(nn.Module):
    \"\"\"H heads side by side, and W_O. Queries come from x, keys and values from the context.\"\"\"

    def __init__(self):
        super().__init__()
        {maps}

    def forward(self, x, context, place, mask=None):
        query, key, value = heads(self.query(x)), heads(self.key(context)), heads(self.value(context))
{shared}{changed}        scores = query @ key.transpose(-2, -1)  # (H, Tq, D) @ (H, D, Tk) -> (H, Tq, Tk)
        scaled = scores / math.sqrt(D)
{capped}{biased}        masked = {before} if mask is None else {before}.masked_fill(~mask, -math.inf)  # True: visible
{weights}        head_outputs = weights @ value  # (H, Tq, Tk) @ (H, Tk, D) -> (H, Tq, D)
        for name, matrix in (
{kept}("scores", scores), ("scaled", scaled),
            ("masked", masked), ("weights", weights), ("head_outputs", head_outputs),
        ):
            keep(place, name, matrix[HEAD])
        concat = keep(place, "concat", head_outputs.transpose(0, 1).flatten(1))  # (H, Tq, D) -> (Tq, H·D)
        return keep(place, "output", self.output(concat))\
"""
SPLIT = "x.unflatten(-1, (H, D)).transpose(0, 1)  # (T, C) -> (T, H, D) -> (H, T, D)"
SPLIT_FEWER = "x.unflatten(-1, (-1, D)).transpose(0, 1)  # (T, H·D) -> (T, H, D) -> (H, T, D); G instead of H for keys"
MAPS = "self.query, self.key, self.value, self.output = ({linear} for _ in range(4))"
SHARED_MAPS = """\
self.query, self.output = {linear}, {linear}
        self.key, self.value = {to_keys}, {to_keys}\
"""
SHARED = """\
        # H / G heads of queries after one another share a head of keys and values: (G, Tk, D) -> (H, Tk, D)
        key, value = (rows.repeat_interleave(H // G, dim=0) for rows in (key, value))
"""
"""The code for heads that share keys and values"""
CAPPED = """\
        capped = {cap!r} * torch.tanh(scaled / {cap!r})  # a soft cap: scores stay between −{cap:g} and {cap:g}
        keep(place, "capped", capped[HEAD])
"""
BIASED = """\
        biased = {unbiased}
        if x is context:  # in self-attention
            position_bias = {bias}
            biased = {unbiased} + position_bias
            keep(place, "position_bias", position_bias[HEAD])
            keep(place, "biased", biased[HEAD])
"""
BIASES = {
    "alibi": (ALIBI, "position_biases(len(x))"),
    "buckets": (
        BUCKETED.format(row=f'torch.randn(1, {BUCKETS}, generator=seeded("position bias", h))'),
        'position_biases(len(x), both_sides=place.startswith("encoder"))',
    ),
}
"""By the kind of positions: the code of the function, and of its call in an attention"""
WEIGHTS = """\
        weights = torch.softmax(masked, dim=-1)  # each row sums to 1
"""
WITH_SINK = """\
        sinks = torch.full((H, len(x), 1), {sink!r})  # the same score for every head; a model learns one for each
        with_sink = torch.softmax(torch.cat((masked, sinks), dim=-1), dim=-1)  # (H, Tq, Tk + 1): each row sums to 1
        weights, sink = with_sink[..., :-1], with_sink[..., -1:]  # the sink gives nothing to the output
        keep(place, "sinks", sinks[HEAD])
        keep(place, "sink", sink[HEAD])
"""
"""`WEIGHTS` with a sink"""
INDENT = " " * 12
KEPT = """\
            ("query", query), ("key", key), ("value", value), """
TURN = f"""\
def turned(x):
    \"\"\"Turn each pair of neighbouring dimensions by the position times a frequency (Su et al. 2021).\"\"\"
{indent(TURNS.format("x.shape[-2]"), "    ")}
    a, b = x[..., 0:R:2], x[..., 1:R:2]  # the two dimensions of each pair
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    return torch.cat((pairs, x[..., R:]), dim=-1)\
"""
KEPT_BEFORE = """\
        for name, matrix in ("query", query), ("key", key), ("value", value):
            keep(place, name, matrix[HEAD])
"""
"""`KEPT` before norms or a rotation change queries and keys"""
NORMED = """\
        query, key = rms_norm(query), rms_norm(key)  # each row of a head gets the length √D
        keep(place, "normed_query", query[HEAD])
        keep(place, "normed_key", key[HEAD])
"""
TURNED = """\
        if x is context:  # in self-attention
            query, key = turned(query), turned(key)
            keep(place, "rotated_query", query[HEAD])
            keep(place, "rotated_key", key[HEAD])
"""

SAME_AS_TORCH = """\
for place, kept in COMPUTED.items():  # torch's own layers have no {lacking}, so its attention is compared
{operands}
    value, added = kept["value"].double(), torch.zeros(len(query), len(key)).double()
{more}    added = added.masked_fill(kept["masked"].isneginf(), -math.inf)
{sink}    theirs = nn.functional.scaled_dot_product_attention(
        query[None], key[None], value[None], added[None], scale=1 / math.sqrt(D)
    )[0].float()
    torch.testing.assert_close(kept["head_outputs"], theirs, rtol={tolerance}, atol={tolerance})
print("The head outputs are those of torch's own attention.")\
"""
OPERANDS = """\
    query, key = (kept.get(f"rotated_{name}", kept[name]).double() for name in ("query", "key"))\
"""
NORMED_OPERANDS = """\
    query, key = (kept.get(f"rotated_{name}", kept[f"normed_{name}"]).double() for name in ("query", "key"))\
"""
ADDED_BY_CAP = """\
    exact = query @ key.T / math.sqrt(D)
    added = {cap!r} * torch.tanh(exact / {cap!r}) - exact  # what the cap changes, as a mask that is added
"""
ADDED_BIAS = """\
    if "biased" in kept:
        added = added + kept["position_bias"]
"""
SINK_AS_KEY = """\
    added = torch.cat((added, kept["sinks"].double()), dim=-1)  # a sink is one more key, whose numbers and value are 0
    key, value = (nn.functional.pad(rows, (0, 0, 0, 1)) for rows in (key, value))
"""


def attention_code(config: TransformerConfig, linear: Callable[[str, str], str]) -> str:
    """Return the class of an attention, and before it the functions that its norms and positions need.

    Args:
        config: the model's settings.
        linear: returns the code of a linear map of these widths.
    """
    is_rotary, is_shared = bool(config.rotated), config.shared_by > 1
    function, bias = BIASES.get(config.positions, ("", ""))
    functions = [RMS_NORM] * config.qk_norm + [TURN] * is_rotary + [function] * bool(function)
    unbiased = "scaled" if config.cap is None else "capped"
    changed = (NORMED if config.qk_norm else "") + (TURNED if is_rotary else "")
    return ATTENTION.format(
        split=SPLIT_FEWER if is_shared else SPLIT,
        maps=(SHARED_MAPS if is_shared else MAPS).format(linear=linear("C", "C"), to_keys=linear("C", "G * D")),
        functions="".join(f"{code}\n\n\n" for code in functions),
        shared=SHARED if is_shared else "",
        changed=f"{KEPT_BEFORE}{changed}" if changed else "",
        capped="" if config.cap is None else CAPPED.format(cap=config.cap),
        biased=BIASED.format(bias=bias, unbiased=unbiased) if bias else "",
        before="biased" if bias else unbiased,
        weights=WEIGHTS if config.sink is None else WITH_SINK.format(sink=float(config.sink)),
        kept=INDENT if changed else KEPT,
    )


def lacking_in_torch(config: TransformerConfig) -> list[str]:
    """Return what these settings have that torch's own layers do not, in words."""
    has = {
        "norms of queries and keys": config.qk_norm,
        "such positions": bool(config.rotated or config.biased),
        "soft cap": config.cap is not None,
        "sink": config.sink is not None,
    }
    return [name for name, is_on in has.items() if is_on]


def same_attention_code(config: TransformerConfig) -> str:
    """Return the code that compares each attention with torch's own, which knows a mask that is added."""
    return SAME_AS_TORCH.format(
        lacking=joined(lacking_in_torch(config), "or"),
        operands=NORMED_OPERANDS if config.qk_norm else OPERANDS,
        more=("" if config.cap is None else ADDED_BY_CAP.format(cap=config.cap))
        + (ADDED_BIAS if config.biased else ""),
        sink="" if config.sink is None else SINK_AS_KEY,
        tolerance=TOLERANCE,
    )

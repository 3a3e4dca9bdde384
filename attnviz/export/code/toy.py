"""Exports the toy block as code that draws its seeded weights with the same lines as attnviz.toy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attnviz.export.code.cells import Cell, literals, section
from attnviz.toy.config import (
    MAX_HEAD_SIZE,
    MAX_MODEL_WIDTH,
    MAX_TOKENS,
    MAX_WIDTH,
    NORM_EPS,
    WIDTH,
    Embedding,
    ToyConfig,
)
from attnviz.toy.weights import BUCKETS, MAX_DISTANCE, QUANTITY

SEEDED = """\
def seeded(quantity, index=0):
    \"\"\"A generator of numbers that depend only on the seed and these arguments.\"\"\"
    name = f"{SEED}/{quantity}/{index}".encode()
    number = int.from_bytes(hashlib.blake2b(name, digest_size=7).digest(), "big")
    return torch.Generator().manual_seed(number)\
"""
SETTINGS = """\
import hashlib

IDS = {ids}  # the tokenizer's output: one id per token
SEED = {seed}
T, C, H, D = len(IDS), {model_width}, {heads}, {width}\
"""
STD = """
STD = {{{stds}}}  # standard deviations of the weights of the projections\
"""
DRAW = f"""\
def draw(quantity, index, rows, cols{{parameter}}):
    \"\"\"{{said}}.\"\"\"
    return {{numbers}}(rows, cols, generator=seeded(quantity, index))


def draw_wide(quantity, index, rows{{parameter}}):
    \"\"\"C columns; those beyond {WIDTH}{{widths}} are drawn by themselves, so that C does not change the first.\"\"\"
    first = draw(quantity, index, rows, {WIDTH}{{argument}})
    wider = draw(f"{{quantity}}, wider", index, rows, {MAX_WIDTH - WIDTH}{{argument}})
    {{widest}}return torch.cat((first, wider{{and_widest}}), dim=1)[:, :C]\
"""
DRAWN: dict[Embedding, dict[str, str]] = {
    "normal": {"parameter": "", "argument": "", "numbers": "torch.randn", "said": "Standard normal numbers"},
    "uniform": {
        "parameter": ", numbers=torch.randn", "argument": ", numbers", "numbers": "numbers",
        "said": "Numbers that are standard normal, or of torch.rand uniform from 0 to 1",
    },
}  # fmt: skip
"""The values of the names in `DRAW`, by the distribution of the token embeddings"""
WIDEST = {
    False: {"widths": "", "widest": "", "and_widest": ""},
    True: {
        "widths": f" and {MAX_WIDTH}", "and_widest": ", widest",
        "widest": f'widest = draw(f"{{quantity}}, widest", index, rows, {MAX_MODEL_WIDTH - MAX_WIDTH}{{argument}})\n'
        "    ",
    },
}  # fmt: skip
"""The same, by whether C is larger than `MAX_WIDTH`"""
EMBED = "x = torch.cat([draw_wide({}) for token in IDS])  # (T, C): equal ids, equal rows"
TOKEN: dict[Embedding, str] = {
    "normal": f'"{QUANTITY["normal"]}", token, 1', "uniform": f'"{QUANTITY["uniform"]}", token, 1, torch.rand',
}  # fmt: skip
"""The arguments with which `EMBED` draws each token"""
COMPUTED_POSITIONS = {
    "sinusoidal": (
        "angle = torch.arange({})[:, None] / 10000 ** (torch.arange(0, C, 2) / C)  # (T, C/2)",
        "torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :C]  # (T, C/2, 2) -> (T, C)",
    ),
    "lab": (
        "angle = torch.arange({})[:, None] / 10000 ** (torch.arange(C) / C)  # (T, C): a frequency a dimension",
        "torch.where(torch.arange(C) % 2 == 0, angle.sin(), angle.cos())",
    ),
}
"""By name: the code for the angles, with a gap for the number of positions, and the code for the embeddings"""
POSITIONS = {
    "none": "# Positions are off: X is the token embeddings alone",
    "rotary": "# Positions are rotary: nothing is added to X; queries and keys are turned",
    "alibi": "# Nothing is added to X: scores get a position bias, which falls with the distance",
    "buckets": "# Nothing is added to X: scores get a position bias, a number for each range of distances",
    "random": f'x = x + draw_wide("position", 0, {MAX_TOKENS})[:T]',
    **{name: f"{angle.format('T')}\nx = x + {rows}" for name, (angle, rows) in COMPUTED_POSITIONS.items()},
}
TURNS = """\
R = D - D % 2  # dimensions that are turned, in pairs of neighbours
angle = torch.arange({})[:, None] / 10000 ** (torch.arange(0, R, 2) / R)  # (T, R/2): position times frequency
cos, sin = angle.cos(), angle.sin()\
"""
"""The code of the tables of rotary positions, with a gap for the number of positions"""
ALIBI = """\
def slopes(count):
    power = 2 ** math.floor(math.log2(count))
    falling = 2.0 ** (-8 / power * torch.arange(1, power + 1))  # Press et al. 2022, section 3
    return falling if power == count else torch.cat((falling, slopes(2 * power)[::2][: count - power]))


def position_biases(n):
    at = torch.arange(n)
    return -slopes(H)[:, None, None] * (at[:, None] - at).abs()  # (H, T, T): slope times distance\
"""
"""The code of a function that returns an ALiBi"""
BUCKETED = f"""\
def position_biases(n, both_sides):
    offsets = torch.arange(n) - torch.arange(n)[:, None]  # key minus query
    count = {BUCKETS} // 2 if both_sides else {BUCKETS}
    first = (offsets > 0).long() * count if both_sides else 0
    distances = offsets.abs() if both_sides else (-offsets).clamp(min=0)
    single = count // 2  # buckets of one distance; the others widen (Raffel et al. 2020, section 2.1)
    ratio = torch.log(distances.float().clamp(min=1) / single) / math.log({MAX_DISTANCE} / single)
    wide = (single + (ratio * (count - single)).long()).clamp(max=count - 1)
    table = torch.cat([{{row}} for h in range(H)])  # (H, {BUCKETS})
    return table[:, first + torch.where(distances < single, distances, wide)]  # (H, T, T)\
"""
"""The code of a function that returns T5's biases, with a gap for what draws a row of its table"""
BUCKET_ROW = f'draw("position bias", h, 1, {BUCKETS})'
RMS_NORM = f"""\
def rms_norm(x):
    return x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + {NORM_EPS!r})  # γ is 1: nothing is learned\
"""
NORMS = f"""\
{RMS_NORM}


normed_query, normed_key = rms_norm(query), rms_norm(key)
show("normed_query", normed_query[HEAD])
show("normed_key", normed_key[HEAD])\
"""
MAPS = {
    "identity": "query = key = value = x[None]  # nothing is learned: (1, T, C)",
    "linear": """\
def project(name{parameter}):
    W = torch.stack([{weights}[:C, :D] for h in {heads}])  # ({count}, C, D)
    W = {scaled}
    return x @ W{bias}  # (T, C) @ ({count}, C, D) -> ({count}, T, D)


query, key, value = project("query"), project("key"{argument}), project("value"{argument}){repeated}""",
    "positions": f"""\
def project(name):
    U = torch.stack([draw(f"U_{{name}}", h, {MAX_TOKENS}, {MAX_TOKENS})[:T, :T] for h in range(H)]) / 4  # (H, T, T)
    return U @ x  # (H, T, T) @ (T, C) -> (H, T, C)


query, key, value = project("query"), project("key"), project("value")""",
}
WEIGHTS = f'draw(f"W_{{name}}", h, {MAX_WIDTH}, {MAX_HEAD_SIZE})'
TALL_WEIGHTS = f"""\
torch.cat((
        draw(f"W_{{name}}", h, {MAX_WIDTH}, {MAX_HEAD_SIZE}),
        draw(f"W_{{name}}, taller", h, {MAX_MODEL_WIDTH - MAX_WIDTH}, {MAX_HEAD_SIZE}),
    ))"""
BIAS = f"""\
 + torch.stack([draw(f"b_{{name}}", h, 1, {MAX_HEAD_SIZE})[:, :D] for h in {{heads}}]) / math.sqrt(C)"""
OWN_KEYS = {"parameter": "", "heads": "range(H)", "count": "H", "argument": "", "repeated": ""}
SHARED_KEYS = {
    "parameter": ", each=1", "heads": "range(0, H, each)", "count": "H / each", "argument": ", {each}",
    "repeated": "\n# {each} heads after one another share a head of keys and values\n"
    "key, value = (shared.repeat_interleave({each}, dim=0) for shared in (key, value))  # (H, T, D)",
}  # fmt: skip
"""The values of the names in the linear `MAPS`, by whether heads share keys and values"""
SCALES = {"sqrt_d": "1 / math.sqrt(D)", "sqrt_c": "1 / math.sqrt(C)", "off": "1.0"}
OUTPUT = f'W_O = torch.cat([draw_wide("W_output", h, {MAX_WIDTH})[:D] for h in range(H)]) / math.sqrt(C)  # (H·D, C)'
TALL_OUTPUT = f"""\
W_O = torch.cat([
    torch.cat((
        draw_wide("W_output", h, {MAX_WIDTH}), draw_wide("W_output, taller", h, {MAX_MODEL_WIDTH - MAX_WIDTH})
    ))[:D]
    for h in range(H)
]) / math.sqrt(C)  # (H·D, C)"""
OUTPUT_BIAS = 'b_O = draw_wide("b_output", 0, 1)[0] / math.sqrt(C)  # (C,)'


def toy_inputs(ids: Sequence[int], config: ToyConfig) -> tuple[Cell, ...]:
    """Return the cells from the ids to query, key and value of the toy block."""
    settings = SETTINGS.format(
        ids=literals(ids), seed=config.seed, heads=config.head_count, width=config.width_per_head,
        model_width=config.width,
    )  # fmt: skip
    draw = _filled(DRAW, {**WIDEST[config.width > MAX_WIDTH], **DRAWN[config.embedding]})
    inputs = (
        _maps(config),
        *(f'show("{name}", {name}[HEAD])' for name in ("query", "key", "value")),
        f"scale = {SCALES.get(config.scale) or repr(float(config.scale))}",
        f"mask = {_mask(config)}",
        *(
            []
            if config.sink is None
            else [f"sinks = torch.full((H, T, 1), {float(config.sink)!r})  # the same score for every query and head"]
        ),
        (TALL_OUTPUT if config.width_per_head > MAX_WIDTH else OUTPUT) if config.projection else "W_O = None",
        OUTPUT_BIAS if config.projection and config.bias else "b_O = None",
    )
    embed = (EMBED.format(TOKEN[config.embedding]), POSITIONS[config.positions], 'show("embeddings", x)')
    return (
        *section("The weights, drawn from the seed", f"{settings}{_stds(config)}\n\n\n{SEEDED}\n\n\n{draw}"),
        *section("embeddings: a row of numbers for each token", "\n".join(embed)),
        *section("query, key, value", "\n".join(inputs)),
        *(section("normed: queries and keys all have the same size", NORMS) if config.qk_norm else ()),
        *section_of_bias(config),
        *(section("The angles of each position", TURNS.format("T")) if config.positions == "rotary" else ()),
    )


def section_of_bias(config: ToyConfig) -> tuple[Cell, ...]:
    """Return the cells that define `position_bias`, (H, T, T); none if nothing is added to the scores."""
    title = "The position bias: a number for each distance"
    if config.positions == "alibi":
        return section(title, f"{ALIBI}\n\n\nposition_bias = position_biases(T)")
    if config.positions == "buckets":
        both = not config.causal
        return section(title, f"{BUCKETED.format(row=BUCKET_ROW)}\n\n\nposition_bias = position_biases(T, {both})")
    return ()


def _stds(config: ToyConfig) -> str:
    """Return the line with the standard deviations that the view sets; empty if it sets none or no weights use them."""
    stds = {name: std for name, std in config.stds.items() if std is not None}
    if not stds or config.qkv != "linear":
        return ""
    return STD.format(stds=", ".join(f'"{name}": {std!r}' for name, std in stds.items()))


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with these values in place of their names in braces; other braces stay."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def _maps(config: ToyConfig) -> str:
    """Return the lines that make query, key and value."""
    is_set = [std is not None for std in config.stds.values()]
    scaled = "W * STD[name]" if all(is_set) else "W / math.sqrt(C)"
    if any(is_set) and not all(is_set):
        scaled = f"W * STD[name] if name in STD else {scaled}"
    weights = TALL_WEIGHTS if config.width > MAX_WIDTH else WEIGHTS
    maps = _filled(MAPS[config.qkv], {"weights": weights, "scaled": scaled, "bias": BIAS if config.bias else ""})
    each = str(config.shared_by)
    shared = {name: _filled(text, {"each": each}) for name, text in SHARED_KEYS.items()}
    return _filled(maps, OWN_KEYS if config.shared_by == 1 else shared)


def _mask(config: ToyConfig) -> str:
    """Return the expression for the mask, (T, T) bool, True where a query may attend; "None" if it hides nothing."""
    visible = visible_code("T", None if config.window is None else config.reach, causal=config.causal)
    if config.padding:
        cells = "torch.ones(T, T, dtype=torch.bool)" if visible == "None" else visible
        return f"{cells} & (torch.arange(T) >= {config.padding})  # the first {config.padding} tokens are padding"
    return visible


def visible_code(length: str, reach: tuple[int, int] | None, *, causal: bool) -> str:
    """Return the expression of the mask, (T, T) bool, True where a token looks; "None" if it looks at all.

    Args:
        length: the code of T.
        reach: how many keys before and after itself a query sees; None if there is no window.
        causal: whether it sees no later key.
    """
    if reach is None and not causal:
        return "None"
    before, after = (None, 0) if reach is None else reach
    end = "" if before is None else f".triu({-before})"
    return f"torch.ones({length}, {length}, dtype=torch.bool).tril({after or ''}){end}"

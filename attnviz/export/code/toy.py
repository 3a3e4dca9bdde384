"""Exports the toy block as code that draws its seeded weights with the same lines as attnviz.toy."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.export.code.lines import Cell, literals
from attnviz.toy.config import MAX_HEAD_SIZE, MAX_TOKENS, MAX_WIDTH, WIDTH, ToyConfig
from attnviz.trace.walk import Walk

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
DRAW = f"""\
def draw(quantity, index, rows, cols):
    \"\"\"Standard normal numbers.\"\"\"
    return torch.randn(rows, cols, generator=seeded(quantity, index))


def draw_wide(quantity, index, rows):
    \"\"\"C columns; those beyond {WIDTH} are drawn by themselves, so that C does not change the first.\"\"\"
    others = draw(f"{{quantity}}, wider", index, rows, {MAX_WIDTH - WIDTH})
    return torch.cat((draw(quantity, index, rows, {WIDTH}), others), dim=1)[:, :C]\
"""
EMBED = 'x = torch.cat([draw_wide("embedding", token, 1) for token in IDS])  # (T, C): equal ids, equal rows'
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
"""The angles of computed positions, whose number is to be filled in, and what is made of them"""
POSITIONS = {
    "none": "# Positions are off: X is the token embeddings alone",
    "random": f'x = x + draw_wide("position", 0, {MAX_TOKENS})[:T]',
    **{name: f"{angle.format('T')}\nx = x + {made}" for name, (angle, made) in COMPUTED_POSITIONS.items()},
}
MAPS = {
    "identity": "query = key = value = x[None]  # nothing is learned: (1, T, C)",
    "linear": f"""\
def project(name):
    W = torch.stack([draw(f"W_{{name}}", h, {MAX_WIDTH}, {MAX_HEAD_SIZE})[:C, :D] for h in range(H)])  # (H, C, D)
    W = W / math.sqrt(C)
    return x @ W{{bias}}  # (T, C) @ (H, C, D) -> (H, T, D)


query, key, value = project("query"), project("key"), project("value")""",
    "positions": f"""\
def project(name):
    U = torch.stack([draw(f"U_{{name}}", h, {MAX_TOKENS}, {MAX_TOKENS})[:T, :T] for h in range(H)]) / 4  # (H, T, T)
    return U @ x  # (H, T, T) @ (T, C) -> (H, T, C)


query, key, value = project("query"), project("key"), project("value")""",
}
BIAS = f"""\
 + torch.stack([draw(f"b_{{name}}", h, 1, {MAX_HEAD_SIZE})[:, :D] for h in range(H)]) / math.sqrt(C)"""
SCALES = {"sqrt_d": "1 / math.sqrt(D)", "sqrt_c": "1 / math.sqrt(C)", "off": "1.0"}
OUTPUT = f'W_O = torch.cat([draw_wide("W_output", h, {MAX_WIDTH})[:D] for h in range(H)]) / math.sqrt(C)  # (H·D, C)'
OUTPUT_BIAS = 'b_O = draw_wide("b_output", 0, 1)[0] / math.sqrt(C)  # (C,)'


@dataclass(frozen=True, slots=True)
class ToyRecipe:
    """The code for the toy block on these ids."""

    ids: tuple[int, ...]
    config: ToyConfig

    def cells(self, walk: Walk) -> tuple[Cell, ...]:
        """Return the cells from the ids to query, key and value."""
        del walk  # the seed determines everything
        config = self.config
        settings = SETTINGS.format(
            ids=literals(self.ids), seed=config.seed, heads=config.head_count, width=config.width_per_head,
            model_width=config.width,
        )  # fmt: skip
        rest = (
            f"scale = {SCALES.get(config.scale) or repr(float(config.scale))}",
            f"mask = {_mask(config)}",
            OUTPUT if config.projection else "W_O = None",
            OUTPUT_BIAS if config.projection and config.bias else "b_O = None",
        )
        maps = MAPS[config.qkv].replace("{bias}", BIAS if config.bias else "")
        return (
            Cell("markdown", "## The weights, drawn from the seed"),
            Cell("code", f"{settings}\n\n\n{SEEDED}\n\n\n{DRAW}"),
            Cell("markdown", "## embeddings: a row of numbers for each token"),
            Cell("code", f'{EMBED}\n{POSITIONS[config.positions]}\nshow("embeddings", x)'),
            Cell("markdown", "## query, key, value"),
            Cell("code", f'{maps}\nshow("query", query[HEAD])\nshow("key", key[HEAD])\n'
                 'show("value", value[HEAD])\n' + "\n".join(rest)),
        )  # fmt: skip


def _mask(config: ToyConfig) -> str:
    """Return the expression for the mask, (T, T) bool, True where a query may look; None if it hides nothing."""
    seen = "torch.ones(T, T, dtype=torch.bool)" + (".tril()" if config.causal else "")
    if config.padding:
        return f"{seen} & (torch.arange(T) >= {config.padding})  # the first {config.padding} tokens are padding"
    return seen if config.causal else "None"

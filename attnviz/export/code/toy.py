"""Exports the toy block as code that draws its seeded weights with the same lines as attnviz.toy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from attnviz.export.code.lines import Cell, literals
from attnviz.export.code.settled import plain
from attnviz.toy.attention import linear_weights, rows_of_output
from attnviz.toy.config import MAX_HEAD_SIZE, MAX_TOKENS, MAX_WIDTH, ToyConfig
from attnviz.toy.embeddings import QUANTITY, lab_positions, sinusoidal_positions
from attnviz.toy.weights import draw, draw_wide
from attnviz.trace.walk import Walk

SETTINGS = """\
import hashlib

IDS = {ids}  # the tokenizer's output: one id per token
SEED = {seed}
T, C, H, D = len(IDS), {model_width}, {heads}, {width}\
"""
STD = """
STD = {{{stds}}}  # standard deviations of the weights of the projections\
"""
EMBED = 'x = torch.cat([draw_wide(SEED, "{}", token, 1, C{}) for token in IDS])  # (T, C): equal ids, equal rows'
POSITIONS = {
    "none": "# Positions are off: X is the token embeddings alone",
    "random": f'x = x + draw_wide(SEED, "position", 0, {MAX_TOKENS}, C)[:T]',
    "sinusoidal": "x = x + sinusoidal_positions(T, C)",
    "lab": "x = x + lab_positions(T, C)",
}
POSITION_FUNCTIONS = {"sinusoidal": sinusoidal_positions, "lab": lab_positions}
MAPS = {
    "identity": "query = key = value = x[None]  # nothing is learned: (1, T, C)",
    "linear": """\
def project(name):
    W = torch.stack([{weights} for h in range(H)])  # (H, C, D)
    W = {scaled}
    return x @ W{bias}  # (T, C) @ (H, C, D) -> (H, T, D)


query, key, value = project("query"), project("key"), project("value")""",
    "positions": f"""\
def project(name):
    U = [draw(SEED, f"U_{{name}}", h, {MAX_TOKENS}, {MAX_TOKENS})[:T, :T] / 4 for h in range(H)]
    U = torch.stack(U)  # (H, T, T)
    return U @ x  # (H, T, T) @ (T, C) -> (H, T, C)


query, key, value = project("query"), project("key"), project("value")""",
}
WEIGHTS = f'draw(SEED, f"W_{{name}}", h, {MAX_WIDTH}, {MAX_HEAD_SIZE})[:C, :D]'
TALL_WEIGHTS = "linear_weights(SEED, name, h, C)[:, :D]"
BIAS = f"""\
 + torch.stack([draw(SEED, f"b_{{name}}", h, 1, {MAX_HEAD_SIZE})[:, :D] for h in range(H)]) / math.sqrt(C)"""
SCALES = {"sqrt_d": "1 / math.sqrt(D)", "sqrt_c": "1 / math.sqrt(C)", "off": "1.0"}
ROWS = f'draw_wide(SEED, "W_output", h, {MAX_WIDTH}, C)[:D]'
TALL_ROWS = "rows_of_output(SEED, h, D, C)"
OUTPUT = "W_O = torch.cat([{rows} for h in range(H)]) / math.sqrt(C)  # (H·D, C)"
OUTPUT_BIAS = 'b_O = draw_wide(SEED, "b_output", 0, 1, C)[0] / math.sqrt(C)  # (C,)'


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
        embed = EMBED.format(
            QUANTITY[config.embedding], "" if config.embedding == "normal" else f', "{config.embedding}"'
        )
        rows = TALL_ROWS if config.width_per_head > MAX_WIDTH else ROWS
        rest = (
            f"scale = {SCALES.get(config.scale) or repr(float(config.scale))}",
            f"mask = {_mask(config)}",
            OUTPUT.format(rows=rows) if config.projection else "W_O = None",
            OUTPUT_BIAS if config.projection and config.bias else "b_O = None",
        )
        return (
            Cell("markdown", "## The weights, drawn from the seed"),
            Cell("code", f"{settings}{_stds(config)}\n\n\n{plain(*_functions(config)).text}"),
            Cell("markdown", "## embeddings: a row of numbers for each token"),
            Cell("code", f'{embed}\n{POSITIONS[config.positions]}\nshow("embeddings", x)'),
            Cell("markdown", "## query, key, value"),
            Cell("code", f'{_maps(config)}\nshow("query", query[HEAD])\nshow("key", key[HEAD])\n'
                 'show("value", value[HEAD])\n' + "\n".join(rest)),
        )  # fmt: skip


def _stds(config: ToyConfig) -> str:
    """Return the line with the standard deviations that the view sets; empty if it sets none, or nothing has them."""
    own = {name: std for name, std in config.stds.items() if std is not None}
    if not own or config.qkv != "linear":
        return ""
    return STD.format(stds=", ".join(f'"{name}": {std!r}' for name, std in own.items()))


def _functions(config: ToyConfig) -> Iterator[Callable[..., object]]:
    """Yield the functions of `attnviz.toy` that the code uses."""
    yield from (draw, draw_wide)
    if config.qkv == "linear" and config.width > MAX_WIDTH:
        yield linear_weights
    if config.projection and config.width_per_head > MAX_WIDTH:
        yield rows_of_output
    if config.positions in POSITION_FUNCTIONS:
        yield POSITION_FUNCTIONS[config.positions]


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with these values in place of their names in braces; other braces stay."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def _maps(config: ToyConfig) -> str:
    """Return the lines that make query, key and value."""
    given = [std is not None for std in config.stds.values()]
    scaled = "W * STD[name]" if all(given) else "W / math.sqrt(C)"
    if any(given) and not all(given):
        scaled = f"W * STD[name] if name in STD else {scaled}"
    weights = TALL_WEIGHTS if config.width > MAX_WIDTH else WEIGHTS
    return _filled(MAPS[config.qkv], {"weights": weights, "scaled": scaled, "bias": BIAS if config.bias else ""})


def _mask(config: ToyConfig) -> str:
    """Return the expression for the mask, (T, T) bool, True where a query may look; None if it hides nothing."""
    seen = "torch.ones(T, T, dtype=torch.bool)" + (".tril()" if config.causal else "")
    if config.padding:
        return f"{seen} & (torch.arange(T) >= {config.padding})  # the first {config.padding} tokens are padding"
    return seen if config.causal else "None"

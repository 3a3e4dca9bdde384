"""LayerNorms: each token's row is brought to mean 0 and variance 1, then scaled and shifted (Ba et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Fraction,
    Indexed,
    Name,
    Negative,
    Power,
    Product,
    Relation,
    Root,
    Sum,
    Symbol,
)
from attnviz.marked import Marked, named
from attnviz.steps.picture import Operation, Picture, panel, picture
from attnviz.steps.step import Step
from attnviz.steps.transformer.stream import TITLES, end_of_block, has, part_of, row
from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.walk import Walk

_X, _I = Symbol("x"), Symbol("i")


def _norm(name: str, title: str, read: Callable[[Walk], str], notice: str, cross_title: str = "") -> Step[Walk]:
    """Return a step that normalises the rows of the matrix that `read` names."""

    def vectors(walk: Walk) -> tuple[str | None, str | None]:
        weight, bias = f"gamma_{name}", f"beta_{name}"
        return weight if has(walk, weight) else None, bias if has(walk, bias) else None

    def code(walk: Walk) -> str:
        source, width = read(walk).replace("embeddings", "x"), matrix(walk, name).shape[1]
        eps = part_of(walk).eps.get(name)
        if eps is None:
            return f"# the norm of this family is not known; {name} is as the model computes it"
        given = [f"{source}, ({width},)", *(one for one in vectors(walk) if one is not None)]
        if vectors(walk)[0] is None and vectors(walk)[1] is not None:
            given[1] = f"bias={given[1]}"
        lines = ",\n    ".join([*given, f"eps={eps!r}"])
        return f"{name} = F.layer_norm(\n    {lines})"

    def draw(walk: Walk) -> Picture:
        source, eps = read(walk), part_of(walk).eps.get(name)
        weight, bias = vectors(walk)
        made = {} if eps is None else {name: Operation("norm", (source,), weight, bias, eps, "token")}
        panels = (panel(source, TITLES[source], bar=True), panel(name, title.partition(" (")[0].lower(), bar=True))
        return picture((panels,), (1, 1), operations=made)

    return Step(
        name=name,
        title=title,
        cross_title=cross_title,
        formula=lambda walk: _formula(*vectors(walk)) if name in part_of(walk).eps else _UNKNOWN,
        notice=lambda walk: f"{notice} {_OF_LAYER_NORM if name in part_of(walk).eps else _OF_ANOTHER}",
        code=code,
        picture=draw,
        fact=lambda walk: _fact(walk, matrix(walk, read(walk))),
        weights={f"gamma_{name}": ("weight", "feature"), f"beta_{name}": ("bias", "feature")},
        matrices={name: ("query", "feature")},
        is_of_head=False,
    )


def _formula(weight: str | None, bias: str | None) -> Expression:
    """Return the formula of a norm; the arguments are the names of its vectors, if it has them."""
    deviation = Root(Sum((Power(Indexed(Symbol("σ"), _I), Symbol("2")), Symbol("ε"))))
    made: Expression = Fraction(Sum((Indexed(_X, _I), Negative(Indexed(Symbol("μ"), _I)))), deviation)
    made = made if weight is None else Product((made, Symbol("γ")), "dot")
    made = made if bias is None else Sum((made, Symbol("β")))
    return Relation("=", (Indexed(Symbol("y"), _I), Box(made)))


def _fact(walk: Walk, rows: Tensor) -> str:
    """Say what the variances and the means of the rows are before the norm."""
    means, variances = rows.mean(-1), rows.var(-1, unbiased=False)
    low, high = int(variances.argmin()), int(variances.argmax())
    return Marked.of(
        "Before, the variance of a row goes from ",
        named(f"{number(float(variances[low]))} in {row(walk, low)}", row=low),
        ", to ",
        named(f"{number(float(variances[high]))} in {row(walk, high)}", row=high),
        f"; the means go from {number(float(means.min()))} to {number(float(means.max()))}.",
    )


_UNKNOWN = Relation("=", (Symbol("y"), Box(Call(Name("norm"), _X))))
"""Of a norm that is no LayerNorm, such as RMSNorm"""
_OF_LAYER_NORM = (
    "Each row i is normalised alone: its own mean μ and variance σ². So no token learns anything of another here."
)
_OF_ANOTHER = "Each row is normalised alone, but not by LayerNorm: this family has a norm of its own (such as RMSNorm)."

INPUT = _norm(
    "input_norm", "Norm (attention)", lambda _: "embeddings",
    "Pre-norm: attention reads a normalised copy, while X itself goes on.", "Norm (cross-attention)",
)  # fmt: skip
ATTENTION = _norm(
    "attention_norm", "Norm (attention)", lambda _: "attention_residual",
    "Post-norm: the sum itself is normalised, and goes on so.", "Norm (cross-attention)",
)  # fmt: skip
FEED_FORWARD = _norm(
    "feed_forward_norm", "Norm (feed-forward)", lambda _: "attention_residual",
    "Pre-norm: the feed-forward reads a normalised copy, while the sum itself goes on.",
)  # fmt: skip
BLOCK = _norm(
    "block_output", "Norm (feed-forward)", lambda _: "feed_forward_residual",
    "Post-norm: the block ends with a norm, and the next block reads this.",
)  # fmt: skip
HEAD = _norm(
    "transform_norm", "Norm (head)", lambda _: "transform_hidden",
    "The language head normalises before it compares a row with the tokens.",
)  # fmt: skip
FINAL = _norm(
    "final_norm", "Final norm", end_of_block,
    "After the last pre-norm block the stream is normalised once, for it has grown with every sum.",
)  # fmt: skip

"""`Picture`: which matrices a step shows, where they are placed and how they are coloured, without their numbers.

`attnviz.figures.steps.lay_out` fills it with the numbers of a walk; a document carries it to the browser, which does
the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from attnviz.formulas import Role
from attnviz.trace import matrices
from attnviz.trace.model import Activation, Pairing

Scale = Literal["signed", "weights"]
Pace = Literal["even", "columns", "rows"]

_KINDS = {"key_model": "model", "value_dim": "dim", "output": "model", "outcome": "vocabulary", "one": ""}
AXES: dict[str, tuple[str, str]] = {
    name: (_KINDS.get(axes[0], axes[0]), _KINDS.get(axes[1], axes[1]))
    for name, axes in matrices.AXES.items()
    if len(axes) == 2 and name not in ("mask", "cos", "sin", "relative_positions", *matrices.POSITION_TABLES)
}
"""The kinds of rows and columns of each matrix that a picture may show"""

_QUANTITIES: dict[Role, tuple[str, ...]] = {
    "query": ("query", "W_query", "U_query", "normed_query", "rotated_query"),
    "key": ("key", "key_t", "W_key", "U_key", "normed_key", "rotated_key"),
    "value": ("value", "W_value", "U_value", "head_outputs", "concat"),
    "attention": (
        "scores",
        "scaled",
        "capped",
        "biased",
        "masked",
        "sinks",
        "weights",
        "triangle",
        "masked_zeros",
        "softmax_weights",
    ),
}
ROLE: dict[str, Role] = {quantity: role for role, several in _QUANTITIES.items() for quantity in several}
"""The role of a quantity, by its name"""


MANY = 40
"""From this many keys on, the colours of weights end at the largest weights, unless the user says otherwise"""


def darkens(stretch: bool | None, keys: int) -> bool:
    """Whether the colours of weights are darkened: always, never, or automatically (None) from `MANY` keys on."""
    return keys >= MANY if stretch is None else stretch


@dataclass(frozen=True, slots=True)
class MorphSource:
    """The matrix that morphs into another, cell by cell, in the transition between two pictures."""

    name: str
    pace: Pace
    """The order of the transition: all cells at once, columns from the right, or rows from the top"""


MADE_FROM = {
    "normed_query": MorphSource("query", "even"),
    "normed_key": MorphSource("key", "even"),
    "rotated_query": MorphSource("query", "even"),
    "rotated_key": MorphSource("key", "even"),
    "scaled": MorphSource("scores", "even"),
    "capped": MorphSource("scaled", "even"),
    "biased": MorphSource("scaled", "even"),
    "masked": MorphSource("scaled", "columns"),
    "weights": MorphSource("masked", "rows"),
    "attention_norm": MorphSource("attention_residual", "even"),
    "feed_forward_norm": MorphSource("attention_residual", "even"),
    "feed_forward_hidden": MorphSource("feed_forward_inner", "even"),
    "block_output": MorphSource("feed_forward_residual", "even"),
    "transform_hidden": MorphSource("transform_inner", "even"),
    "transform_norm": MorphSource("transform_hidden", "even"),
    "probabilities": MorphSource("logits", "rows"),
    "softmax_weights": MorphSource("triangle", "even"),
    "by_matrix": MorphSource("by_loop", "even"),
    "by_softmax": MorphSource("by_matrix", "even"),
    "by_data": MorphSource("by_softmax", "even"),
}
"""What a matrix is made from in a transition, by its name"""


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """One matrix of a picture."""

    name: str
    title: str | tuple[str, ...]
    """In a document of several heads, one title each if they differ"""
    rows: str
    """The axis kind of the rows: query, key, model, dim, concat or none"""
    cols: str
    role: Role | None
    made_from: MorphSource | None
    limit: float | tuple[str, ...] | None = None
    """The end of the colour domain: a number, or the end that these matrices share, or (None) this one's own (see
    `attnviz.figures.colour_limit.colour_limit`)"""
    scale: Scale = "signed"
    stretched: str = ""
    """The title when colours are darkened, with {} in place of the end of the colour domain (see
    `attnviz.figures.colour_limit.darkened_limit`); "" if they can't be darkened"""
    bar: bool = False
    """Whether it has a colour bar"""
    numbered: bool = True
    """Whether a small matrix shows its numbers in its cells"""
    ticks: Mapping[int, str] = field(default_factory=dict)
    """Labels of columns that are not tokens: position -> text"""
    part_width: int | None = None
    """For concatenated heads: the columns of one head"""


def panel(name: str, title: str, **options: Any) -> PanelSpec:
    """Describe a matrix that a walk has; `options` are the other fields of `PanelSpec`."""
    return PanelSpec(name, title, *AXES[name], ROLE.get(name), MADE_FROM.get(name), **options)


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """left @ right, plus a bias: names of matrices, and of a vector."""

    left: str
    right: str
    bias: str | None = None


OperationKind = Literal["sum", "norm", "rms_norm", "activation", "softmax", "rotation", "term"]
Over = Literal["token", "all"]


@dataclass(frozen=True, slots=True)
class Operation:
    """How a matrix is computed from others without a matrix product. A field that its kind does not use is None.

    sum: of all matrices, cell by cell. norm: (x - mean) / sqrt(variance + eps) * weight + bias (Ba et al. 2016).
    rms_norm: x / √(mean of x² + eps) * weight, of each row (Zhang and Sennrich 2019).
    activation: of each cell. softmax: of each row. rotation: of each pair of columns, by the angle of the row and pair
    (Su et al. 2021, section 3.2). term: of each cell, the product of a query, or of a key, with the row of a table that
    belongs to the cell, times the scale (He et al. 2021, section 3.1).
    """

    kind: OperationKind
    of: tuple[str, ...]
    """The names of its operands: one matrix, or the summands"""
    weight: str | None = None
    """The name of a norm's weight vector, or of a term's table; None if the norm has no weight"""
    bias: str | None = None
    eps: float | None = None
    """What a norm adds to the variance"""
    over: Over | None = None
    """Over which numbers a norm takes mean and variance: those of each token, or of the whole matrix"""
    name: Activation | None = None
    """The activation"""
    root: str | None = None
    """The name of the vector that an RMS norm divides rows by; None if it follows from the numbers of each row"""
    cos: str | None = None
    """The names of a rotation's tables, (rows, pairs): the cosine of each angle"""
    sin: str | None = None
    """The sine"""
    pairing: Pairing | None = None
    """Which columns a rotation turns together"""
    rows: str | None = None
    """The name of the relative positions of a term's cells; the first row of its table is of the lowest"""


@dataclass(frozen=True, slots=True)
class Picture:
    """The matrices of a step and their places."""

    panels: tuple[PanelSpec, ...]
    grid: tuple[tuple[int | None, ...], ...]
    """The numbers of the panels, row by row; None is an empty place"""
    widths: tuple[float, ...]
    """Relative width of each column of the grid"""
    heights: tuple[float, ...]
    products: Mapping[str, MatrixProduct] = field(default_factory=dict)
    """The operands of each panel that is a product, by its name"""
    operations: Mapping[str, Operation] = field(default_factory=dict)
    """How other panels are computed, by their names"""
    between: str = ""
    """The operation, shown in the empty corner of a product"""


def picture(
    grid: Sequence[Sequence[PanelSpec | None]],
    widths: Sequence[float],
    heights: Sequence[float] = (1,),
    products: Mapping[str, MatrixProduct] | None = None,
    between: str = "",
    operations: Mapping[str, Operation] | None = None,
) -> Picture:
    """Return the picture of panels in a grid."""
    panels = tuple(spec for row in grid for spec in row if spec is not None)
    numbers = iter(range(len(panels)))
    places = tuple(tuple(None if spec is None else next(numbers) for spec in row) for row in grid)
    return Picture(panels, places, tuple(widths), tuple(heights), products or {}, operations or {}, between)


def product_picture(
    left: PanelSpec,
    right: PanelSpec,
    result: PanelSpec,
    sizes: tuple[int, int, int],
    text: str,
    bias: str | None = None,
) -> Picture:
    """Return the picture of left @ right = result: left beside the result, right above it.

    Args:
        left: the left operand, (rows, inner).
        right: the right operand, (inner, cols).
        result: their product, (rows, cols).
        sizes: rows, inner and cols.
        text: the operation.
        bias: the name of the vector that is added, if there is one.
    """
    rows, inner, cols = sizes
    products = {result.name: MatrixProduct(left.name, right.name, bias)}
    return picture(((None, right), (left, result)), share(inner, cols), share(inner, rows), products, text)


def share(operand: int, result: int) -> tuple[float, float]:
    """Return the shares of an operand and a result, in proportion to their sizes but with a minimum for both."""
    part = operand / max(1, operand + result)
    part = min(0.42, max(0.24, part))
    return part, 1 - part


FEW = 8
"""Up to this many tokens, two matrices side by side can both show their numbers."""


def pair_picture(before: PanelSpec, after: PanelSpec, keys: int) -> Picture:
    """Return before and after side by side. With many keys the result gets most of the width, for its numbers."""
    few = keys <= FEW
    return picture(((replace(before, numbered=few), after),), (1, 1 if few else 2))


def joined(pictures: Iterable[Picture]) -> Picture:
    """Merge the pictures of several heads, which differ only in their titles."""
    first, *others = pictures
    panels = []
    for number, spec in enumerate(first.panels):
        titles = [spec.title, *(other.panels[number].title for other in others)]
        panels.append(spec if len(set(titles)) == 1 else replace(spec, title=tuple(map(str, titles))))
    return replace(first, panels=tuple(panels))

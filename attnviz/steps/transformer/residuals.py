"""Residual sums: what attention and feed-forward add to the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.formulas.tree import Box, Expression, Name, Relation, Sum, Symbol
from attnviz.marked import Marked, marked, named
from attnviz.steps.picture import Operation, Picture, panel, picture
from attnviz.steps.step import Step
from attnviz.steps.transformer.stream import TITLES, before_feed_forward, lengths, row

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _sum(
    name: str,
    title: str,
    terms: Callable[[Walk], tuple[str, str]],
    formula: Expression,
    notice: str,
    cross_title: str = "",
) -> Step[Walk]:
    """Return a step that adds two matrices; `terms` are the stream and what is added."""
    said = marked(notice)

    def draw(walk: Walk) -> Picture:
        stream, added = terms(walk)
        names = (stream, added, name)
        summands = (panel(stream, TITLES[stream], limit=names), panel(added, f"+ {TITLES[added]}", limit=names))
        result = panel(name, "= sum", limit=names, bar=True)
        return picture(((*summands, result),), (1, 1, 1), operations={name: Operation("sum", (stream, added))})

    def fact(walk: Walk) -> str:
        stream, added = terms(walk)
        shares = lengths(walk, added) / lengths(walk, stream).clamp(min=1e-12)
        largest = int(shares.argmax())
        mean = 100 * float(shares.mean())
        return Marked.of(
            f"Here what is added is on average {number(mean, 0)} % as long as the row that it is added to, most in ",
            named(row(walk, largest), row=largest),
            f": {number(100 * float(shares[largest]), 0)} %.",
        )

    return Step(
        name=name,
        title=title,
        cross_title=cross_title,
        formula=lambda _: formula,
        notice=lambda _: said,
        code=lambda walk: f"{name} = {' + '.join(terms(walk))}".replace("embeddings", "x"),
        picture=draw,
        fact=fact,
        matrices={name: ("query", "feature")},
        is_of_head=False,
    )


ATTENTION = _sum(
    "attention_residual",
    "Add (attention)",
    lambda _: ("embeddings", "output"),
    Relation("=", (Symbol("R"), Box(Sum((Symbol("X"), Name("output")))))),
    "The residual sum: attention does not replace a token's row, it [adds to it](matrix=output). What stood in "
    "[X](matrix=embeddings) is still there.",
    "Add (cross-attention)",
)
FEED_FORWARD = _sum(
    "feed_forward_residual",
    "Add (feed-forward)",
    lambda walk: (before_feed_forward(walk), "feed_forward_output"),
    Relation("=", (Symbol("R"), Box(Sum((Symbol("X"), Name("feed-forward")))))),
    "The second residual sum: the [feed-forward's output](matrix=feed_forward_output) is added to the stream, as the "
    "attention's was.",
)

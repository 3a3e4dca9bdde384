"""Logits and probabilities: from the last hidden state to the next token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.formulas.tree import Box, Call, Expression, Indexed, Name, Product, Relation, Sum, Symbol
from attnviz.marked import Marked, marked, named
from attnviz.steps.picture import Operation, PanelSpec, Picture, panel, picture, product_picture
from attnviz.steps.step import Step
from attnviz.steps.transformer.stream import TITLES, end_of_stack, has, part_of, row
from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_V = Symbol("V")


def _panel(walk: Walk, name: str, **options: object) -> PanelSpec:
    """Describe a matrix with a column for each entry of the vocabulary, which is labelled."""
    return panel(name, TITLES[name], ticks=dict(enumerate(part_of(walk).vocabulary)), **options)


def _logits_formula(walk: Walk) -> Expression:
    product = Product((Symbol("X"), Indexed(Symbol("W"), _V)))
    return Relation(
        "=", (Symbol("Z"), Box(Sum((product, Indexed(Symbol("b"), _V))) if has(walk, "b_vocabulary") else product))
    )


def _logits_picture(walk: Walk) -> Picture:
    source = end_of_stack(walk)
    biased = has(walk, "b_vocabulary")
    width, entries = matrix(walk, "W_vocabulary").shape
    return product_picture(
        panel(source, TITLES[source]),
        _panel(walk, "W_vocabulary"),
        _panel(walk, "logits", bar=True),
        (matrix(walk, source).shape[0], width, entries),
        "X · W + b" if biased else "X · W",
        "b_vocabulary" if biased else None,
    )


def _largest(walk: Walk, name: str) -> tuple[int, int, float]:
    """Return row, column and number of the largest cell."""
    found = matrix(walk, name)
    at, entry = divmod(int(found.argmax()), found.shape[1])
    return at, entry, float(found[at, entry])


def _logits_fact(walk: Walk) -> str:
    at, entry, logit = _largest(walk, "logits")
    label = part_of(walk).vocabulary[entry]
    return Marked.of(
        f"Here the largest logit is {number(logit)}: in ",
        named(row(walk, at), row=at, matrix="logits"),
        f", for “{label}”.",
    )


def _probabilities_fact(walk: Walk) -> str:
    last = len(walk.query_labels) - 1
    entry = int(matrix(walk, "probabilities")[last].argmax())
    share = 100 * float(matrix(walk, "probabilities")[last, entry])
    return Marked.of(
        "Here, after ",
        named(row(walk, last), row=last, matrix="probabilities"),
        f", the most likely next token is “{part_of(walk).vocabulary[entry]}”, with {number(share, 0)} %.",
    )


def _probabilities_picture(walk: Walk) -> Picture:
    row_of_two = (
        _panel(walk, "logits"),
        _panel(walk, "probabilities", scale="weights", bar=True),
    )
    return picture((row_of_two,), (1, 1), operations={"probabilities": Operation("softmax", ("logits",))})


LOGITS: Step[Walk] = Step(
    name="logits",
    title="Logits",
    formula=_logits_formula,
    notice=lambda _: marked(
        "A dot product with each [token's column](matrix=W_vocabulary) says how well it fits as the next one. The "
        "columns are the token embeddings themselves, transposed, as in the paper. Here only tokens of the text have "
        "one."
    ),
    code=lambda walk: (
        f"logits = {end_of_stack(walk)} @ W_vocabulary{' + b_vocabulary' if has(walk, 'b_vocabulary') else ''}"
    ),
    picture=_logits_picture,
    fact=_logits_fact,
    weights={"W_vocabulary": ("feature", "entry"), "b_vocabulary": ("bias", "entry")},
    matrices={"logits": ("query", "entry")},
    is_of_head=False,
)

PROBABILITIES: Step[Walk] = Step(
    name="probabilities",
    title="Softmax",
    formula=lambda _: Relation("=", (Symbol("P"), Box(Call(Name("softmax"), Symbol("Z"))))),
    notice=lambda _: (
        "Each row sums to 1: what the model expects after that token. These weights have learned nothing, so what it "
        "expects means nothing yet."
    ),
    code=lambda _: "probabilities = torch.softmax(logits, dim=-1)",
    picture=_probabilities_picture,
    fact=_probabilities_fact,
    matrices={"probabilities": ("query", "entry")},
    is_of_head=False,
)

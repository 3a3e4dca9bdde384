"""The step Biased: scores and a position bias, which depends on the distance of query and key."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import number
from attnviz.steps.formula import attention_formula
from attnviz.steps.picture import FEW, MorphSource, Operation, PanelSpec, Picture, panel, picture
from attnviz.steps.step import Step
from attnviz.trace.buckets import where_keys_are
from attnviz.trace.matrices import matrix, operand

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.buckets import Buckets
    from attnviz.trace.position_bias import PositionBias, PositionTerms, TermName
    from attnviz.trace.walk import Walk


def unbiased(walk: Walk) -> str:
    """Return the name of the matrix that a position bias is added to."""
    return "scaled" if walk.layer.cap is None else "capped"


def biased_panel(walk: Walk, title: str, **options: Any) -> PanelSpec:
    """Describe the biased scores."""
    return replace(panel("biased", title, **options), made_from=MorphSource(unbiased(walk), "even"))


def _slope(walk: Walk) -> str:
    """Return the slope of a head's ALiBi; "" of any other bias."""
    bias = walk.layer.position_bias
    slopes = None if bias is None else bias.slopes
    return "" if slopes is None else f"{float(slopes.expand(walk.layer.heads)[walk.head]):.4g}"


def _notice(walk: Walk) -> str:
    bias = walk.layer.position_bias
    start = "The [position bias](matrix=position_bias)"
    if bias is None:
        return ""
    if bias.terms is not None:
        return _terms_notice(bias.terms)
    if bias.kind == "slopes":
        if bias.is_by_distance:
            return annotated(
                f"{start} falls by the same slope with each position that a key is further away (ALiBi), so near keys "
                "start ahead. Each head has a slope of its own, which is not learned."
            )
        return annotated(
            f"{start} falls by the same slope with each position that a key is further back (ALiBi). This model adds "
            "slope × position of the key: with −slope × distance all numbers of a row would differ by the same amount, "
            "and its weights not at all."
        )
    if bias.kind == "buckets":
        return annotated(
            f"{start} is a number for each distance, the same along each diagonal (T5). Near distances have one each, "
            f"which a model learns; far ones share one, in buckets that widen.{_none_outside(bias)}"
        )
    places = "numbers that depend on the places of query and key"
    return annotated(f"{start} is added to each score: {places}.{_none_outside(bias)}")


def _none_outside(bias: PositionBias) -> str:
    """Return a sentence if hidden cells have no number here, as outside of the windows of LongT5's encoder."""
    said = " Keys outside of the window are not looked at: no bias is shown for them."
    return said if bias.cells.isneginf().any() else ""


_TERMS: dict[TermName, tuple[str, str]] = {
    "content_to_position": ("content → position", "the query of a cell times [the key of δ](matrix={})"),
    "position_to_content": ("position → content", "the key of a cell times [the query of δ](matrix={})"),
}
"""The title of each term, and what it is, with the name of its matrix to be filled in"""


_OPERANDS: dict[TermName, tuple[str, str]] = {
    "content_to_position": ("query", "position_key"), "position_to_content": ("key", "position_query")
}  # fmt: skip
"""The rows that each term takes of the text, and its table"""


def _terms_notice(terms: PositionTerms) -> str:
    products = ", and ".join(_TERMS[name][1].format(name) for name in terms.names)
    many = "Two more products are added" if len(terms.names) > 1 else "Another product is added"
    start = f"{many} to the [scaled scores](matrix=scaled), with the same scale"
    delta = "δ is the position of the cell’s query minus that of its key; far distances may share one number."
    return annotated(f"{start}: {products}. {delta} Keys and queries of δ are learned (DeBERTa).")


def _terms_fact(walk: Walk, terms: PositionTerms) -> str:
    if walk.steps.hidden.all():
        return ""
    cells = {name: matrix(walk, name) for name in terms.names}
    whole = matrix(walk, "position_bias").masked_fill(walk.steps.hidden, -float("inf"))
    q, k = divmod(int(whole.argmax()), walk.layer.key.shape[1])
    summands = (
        part
        for name, of_term in cells.items()
        for part in (", ", named(number(float(of_term[q, k])), row=q, column=k, matrix=name), f" as {_TERMS[name][0]}")
    )
    return AnnotatedText.of(
        "Here they add most to ",
        named(f"row {q}, column {k}", row=q, column=k, matrix="biased"),
        *summands,
        f", for {terms.labels()[int(terms.relative_positions[q, k]) - terms.first].replace('-', '−')}.",
    )


def _fact(walk: Walk) -> str:
    bias, layer = walk.layer.position_bias, walk.layer
    if bias is None or walk.summary.cells < 2:
        return ""
    if bias.terms is not None:
        return _terms_fact(walk, bias.terms)
    if bias.slopes is not None:
        return f"Here the slope is {_slope(walk)} a position."
    hidden, cells = walk.steps.hidden, bias.of_heads(walk.head).expand_as(walk.steps.scaled)
    visible = cells.masked_fill(hidden, -float("inf"))
    q, k = divmod(int(visible.argmax()), layer.key.shape[1])
    if hidden.all():
        return ""
    return AnnotatedText.of(
        "Here it adds most to ",
        named(f"row {q}, column {k}", row=q, column=k, matrix="position_bias"),
        f": {number(float(cells[q, k]))}{_bucket_in_words(cells, bias.buckets, q, k)}.",
    )


def _bucket_in_words(bias: Tensor, buckets: Buckets | None, q: int, k: int) -> str:
    """Return the bucket of a cell of the bias (Tq, Tk), and the distances in it at which there is a bias."""
    if buckets is None:
        return ""
    ends = (row.isfinite().nonzero() - place for place, row in ((0, bias[0]), (len(bias) - 1, bias[-1])))
    longest, sign = 1 + max(int(distances.abs().max()) for distances in ends), -1 if k > q else 1
    numbers = (buckets.of(1, longest)[0] if k > q else buckets.of(longest, 1)[:, 0]).tolist()
    own = numbers[abs(q - k)]
    same = [sign * distance for distance, number in enumerate(numbers) if number == own]
    return f", of bucket {own} ({where_keys_are(same)})"


_PRODUCTS: dict[TermName, str] = {
    "content_to_position": "({query} @ position_key.T).gather(1, row_of_table) * scale",
    "position_to_content": "({key} @ position_query.T).gather(1, row_of_table.T).T * scale",
}
"""The code of each term"""


def _terms_code(walk: Walk, terms: PositionTerms) -> str:
    operands = {"query": operand(walk.layer, "query"), "key": operand(walk.layer, "key")}
    lines = [f"{name} = {_PRODUCTS[name].format(**operands)}" for name in terms.names]
    first = f"{-terms.first:+}"
    return "\n".join(
        (
            f"scale = {terms.scale!r}",
            f"row_of_table = (relative_positions {first[0]} {first[1:]}).long()  # the row of each cell",
            *lines,
            f"position_bias = {' + '.join(terms.names)}",
            f"biased = {unbiased(walk)} + position_bias",
        )
    )


_AT = "at = torch.arange({}.shape[1])\n"


def _code(walk: Walk) -> str:
    bias, before = walk.layer.position_bias, unbiased(walk)
    last = f"biased = {before} + position_bias"
    if bias is None:
        return last
    if bias.terms is not None:
        return _terms_code(walk, bias.terms)
    if bias.slopes is not None and bias.is_by_distance:
        return f"{_AT.format(before)}position_bias = -slope * (at[:, None] - at).abs()  # slope: this head's\n{last}"
    if bias.slopes is not None:
        at = "at" if bias.starts_at_0 else "(at - at[-1])"
        return f"{_AT.format(before)}position_bias = slope * {at}  # of each key; slope: this head's\n{last}"
    if bias.buckets is not None:
        where = ", in the window" if bias.cells.isneginf().any() else ""
        return (
            f"position_bias = table[bucket]  # table: a number for each of {bias.buckets.count} buckets{where}\n{last}"
        )
    return last


def _picture(walk: Walk) -> Picture:
    before, slope, terms = unbiased(walk), _slope(walk), walk.layer.position_terms
    titles: dict[str, str] = {name: f"+ {_TERMS[name][0]}" for name in terms}
    titles = titles or {"position_bias": "+ bias" + (slope and f", slope {slope}")}
    limit, few = (before, *titles, "biased"), walk.layer.key.shape[1] <= FEW
    row = (
        panel(before, "content → content" if terms else before, limit=limit, numbered=few),
        *(panel(name, title, limit=limit, numbered=few) for name, title in titles.items()),
        biased_panel(walk, "= biased", limit=limit, bar=True),
    )
    operations: dict[str, Operation] = {
        name: Operation("term", _OPERANDS[name][:1], _OPERANDS[name][1], rows="relative_positions") for name in terms
    }
    return picture((row,), (*(1 for _ in row[1:]), 1 if few else 2), operations=operations)


BIASED: Step[Walk] = Step(
    name="biased",
    title="Biased",
    is_in=lambda walk: walk.layer.position_bias is not None,
    formula=partial(attention_formula, boxed="biased"),
    notice=_notice,
    code=_code,
    picture=_picture,
    fact=_fact,
    weights=("relative_positions", "position_key", "position_query"),
    matrices=("content_to_position", "position_to_content", "position_bias", "biased"),
    is_by_cell=True,
    cell="the biased score",
    can_be_covered=True,
    names_head=True,
)

"""From the last hidden state to the next or the masked token: the head's dense layer, logits, probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import number, percent
from attnviz.formulas.tree import Box, Call, Name, Relation, Symbol
from attnviz.steps.block import (
    TITLES,
    TRANSFORM_NORM,
    activated_picture,
    activation_code,
    activation_formula,
    end_of_stack,
    has,
    lengths,
    mapped,
    part_of,
    read_by_vocabulary,
)
from attnviz.steps.picture import Operation, PanelSpec, Picture, panel, picture, product_picture
from attnviz.steps.step import Step, row_words
from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


_TRANSFORM_UNKNOWN = "# the activation of this head is not known; transform_hidden is as the model computes it"


def _transform_code(walk: Walk) -> str:
    bias, activation = " + b_transform" if has(walk, "b_transform") else "", part_of(walk).head_activation
    activation_line = (
        _TRANSFORM_UNKNOWN
        if activation is None
        else f"transform_hidden = {activation_code(activation, 'transform_inner')}"
    )
    return f"transform_inner = {end_of_stack(walk)} @ W_transform{bias}\n{activation_line}"


def _transform_picture(walk: Walk) -> Picture:
    source = end_of_stack(walk)
    bias = "b_transform" if has(walk, "b_transform") else None
    return activated_picture(
        panel(source, TITLES[source]),
        panel("W_transform", TITLES["W_transform"]),
        panel("transform_inner", TITLES["transform_inner"] + (" + b_T" if bias else "")),
        panel("transform_hidden", TITLES["transform_hidden"], bar=True),
        *matrix(walk, source).shape,
        bias=bias,
        activation=part_of(walk).head_activation,
    )


def _transform_fact(walk: Walk) -> str:
    norms = lengths(walk, "transform_hidden")
    high = int(norms.argmax())
    return AnnotatedText.of(
        "Here the longest row is ",
        named(row_words(walk, high), row=high, matrix="transform_hidden"),
        f", with a length of {number(float(norms[high]))}.",
    )


TRANSFORM_HIDDEN: Step[Walk] = Step(
    name="transform_hidden",
    title="Dense (head)",
    formula=lambda walk: activation_formula(
        Symbol("T"), part_of(walk).head_activation, mapped(walk, "X", "T", "b_transform")
    ),
    notice=lambda _: annotated(
        "The language head begins: one more [map](matrix=W_transform) of each row by itself, trained to name the "
        "tokens that were hidden from the model."
    ),
    code=_transform_code,
    picture=_transform_picture,
    fact=_transform_fact,
    weights=("W_transform", "b_transform"),
    matrices=("transform_inner", "transform_hidden"),
    is_of_head=False,
)


def _panel(walk: Walk, name: str, **options: object) -> PanelSpec:
    """Describe a matrix with a labelled column for each vocabulary entry shown, and perhaps one for all others."""
    part = part_of(walk)
    has_rest = part.rest and name in ("logits_and_rest", "probabilities")
    labels = [*part.vocabulary, *([f"{part.rest:,} others"] if has_rest else [])]
    return panel(name, TITLES[name], ticks=dict(enumerate(labels)), **options)


def _logits_picture(walk: Walk) -> Picture:
    source = read_by_vocabulary(walk)
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
    values = matrix(walk, name)
    token, entry = divmod(int(values.argmax()), values.shape[1])
    return token, entry, float(values[token, entry])


def _logits_fact(walk: Walk) -> str:
    token, entry, logit = _largest(walk, "logits")
    label = part_of(walk).vocabulary[entry]
    return AnnotatedText.of(
        f"Here the largest logit is {number(logit)}: in ",
        named(row_words(walk, token), row=token, matrix="logits"),
        f", for “{label}”.",
    )


def _probabilities_fact(walk: Walk) -> str:
    part = part_of(walk)
    focus = part.focus
    probabilities = matrix(walk, "probabilities")[focus, : len(part.vocabulary)]
    entry = int(probabilities.argmax())
    share = float(probabilities[entry])
    where, what = ("at", "token") if walk.kind == "encoder" else ("after", "next token")
    return AnnotatedText.of(
        f"Here, {where} ",
        named(row_words(walk, focus), row=focus, matrix="probabilities"),
        f", the most likely {what} is “{part.vocabulary[entry]}”, with {percent(share)}.",
    )


def _probabilities_picture(walk: Walk) -> Picture:
    before = "logits_and_rest" if part_of(walk).rest else "logits"
    panels = _panel(walk, before, limit=("logits",)), _panel(walk, "probabilities", scale="weights", bar=True)
    return picture((panels,), (1, 1), operations={"probabilities": Operation("softmax", (before,))})


def _logits_notice(walk: Walk) -> str:
    part = part_of(walk)
    place = "here" if walk.kind == "encoder" else "as the next one"
    fit = f"A dot product with each [token's column](matrix=W_vocabulary) says how well it fits {place}. "
    if part.rest:
        whole = part.rest + len(part.vocabulary)
        shown = f"Of all {whole:,} tokens, {len(part.vocabulary)} that are likely in some row are shown."
        return AnnotatedText.of(annotated(fit), " ".join(filter(None, (shown, part.head_note))))
    if part.has_learned:
        return annotated(f"{fit}All {len(part.vocabulary)} that the model can answer with have one.")
    return annotated(
        f"{fit}The columns are the token embeddings themselves, transposed, as in the paper. Here only tokens of the "
        "text have one."
    )


def _probabilities_notice(walk: Walk) -> str:
    part = part_of(walk)
    notice = f"Each row sums to 1: what the model expects {'there' if walk.kind == 'encoder' else 'after that token'}. "
    if part.rest:
        notice += "The last column is all other tokens of the vocabulary together. "
    untrained = "" if part.has_learned else "These weights have learned nothing, so what it expects means nothing yet."
    return f"{notice}{untrained}{part.head_note}".strip()


def _probabilities_code(walk: Walk) -> str:
    if not part_of(walk).rest:
        return "probabilities = torch.softmax(logits, dim=-1)"
    return (
        "# the last column of logits_and_rest is the logsumexp of all logits that are not shown\n"
        "probabilities = torch.softmax(logits_and_rest, dim=-1)"
    )


LOGITS: Step[Walk] = Step(
    name="logits",
    title="Logits",
    formula=lambda walk: Relation("=", (Symbol("Z"), Box(mapped(walk, "X", "V", "b_vocabulary")))),
    notice=_logits_notice,
    code=lambda walk: (
        f"logits = {read_by_vocabulary(walk)} @ W_vocabulary{' + b_vocabulary' if has(walk, 'b_vocabulary') else ''}"
    ),
    picture=_logits_picture,
    fact=_logits_fact,
    weights=("W_vocabulary", "b_vocabulary"),
    matrices=("logits",),
    is_of_head=False,
)

PROBABILITIES: Step[Walk] = Step(
    name="probabilities",
    title="Softmax",
    formula=lambda _: Relation("=", (Symbol("P"), Box(Call(Name("softmax"), Symbol("Z"))))),
    notice=_probabilities_notice,
    code=_probabilities_code,
    picture=_probabilities_picture,
    fact=_probabilities_fact,
    matrices=("logits_and_rest", "probabilities"),
    is_of_head=False,
)

LANGUAGE_HEAD = (TRANSFORM_HIDDEN, TRANSFORM_NORM, LOGITS, PROBABILITIES)
"""The steps of a language head, in order"""

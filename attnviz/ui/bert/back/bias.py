"""Which tokens the output layer favours before any text is read, by its bias, or what stands in the place of one."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from attnviz.bert.embedding_and_output import Favoured
from attnviz.pretrained import BUILT_IN
from attnviz.pretrained.names import shown
from attnviz.ui.bert.back.chosen import Chosen
from attnviz.ui.bert.back.look import named, percent, value
from attnviz.ui.bert.back.look import show as show_html
from attnviz.ui.widgets import notice

TITLES = {"bias": ("largest bias", "smallest bias"), "length": ("longest rows", "shortest rows")}
"""Of the two tables"""
BUILT_IN_LACKS = (
    "The built-in model's file has no masked-language head: the output layer is the table alone, without a bias."
)
NO_HEAD = "No language head was found in {name}: the output layer is the table alone, without a bias."
NO_BIAS = "The language head of {name} has no bias."


def show(found: Chosen) -> None:
    """Show the tokens with the largest and the smallest biases, or with the longest and the shortest rows."""
    favoured = found.favoured()
    notice(_notice(found, favoured))
    if not favoured.differ:
        return
    most, least = TITLES[favoured.by]
    left, right = st.columns(2)
    with left:
        show_html(_table(found, favoured, favoured.most, favoured.largest, most))
    with right:
        show_html(_table(found, favoured, favoured.least, favoured.smallest, least))


def _table(found: Chosen, favoured: Favoured, ids: Tensor, numbers: Tensor, title: str) -> str:
    """Return tokens with their numbers as a table."""
    bottom, top = float(favoured.smallest[0]), float(favoured.largest[0])
    is_bias = favoured.by == "bias"
    chances = [f'<td class="n">{percent(one)}</td>' for one in favoured.probabilities(numbers).tolist()]
    rows = "".join(
        f'<tr><td class="n">{rank}</td>'
        f'<td class="tint" style="--part:{(number - bottom) / (top - bottom):.3f}">{named(label_in(found, token))}</td>'
        f'<td class="n">{value(number)}</td>{chance if is_bias else ""}</tr>'
        for rank, (token, number, chance) in enumerate(
            zip(ids.tolist(), numbers.tolist(), chances, strict=True), start=1
        )
    )
    columns = '<th class="n">b</th><th class="n">softmax(b)</th>' if is_bias else '<th class="n">length of w</th>'
    return (
        f'<table data-by="{title}"><thead><tr><th class="n"></th><th>{title}</th>{columns}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def label_in(found: Chosen, token: int) -> str:
    """Return what a token is called; an output layer may have more rows than the table."""
    labels = found.table.labels
    return labels[token] if token < len(labels) else f"id {token}"


def _notice(found: Chosen, favoured: Favoured) -> str:
    name = shown(found.model.name.strip())
    if favoured.by == "bias":
        adds = f"The language head of {name} adds a bias b to each logit: x · w + b."
        if not favoured.differ:
            return f"{adds} It is {value(float(favoured.largest[0]))} for every token, so it favours none."
        best, least = (label_in(found, int(ids[0])) for ids in (favoured.most, favoured.least))
        return (
            f"{adds} Before any text is read, with zeros in the place of x, the logits are b, and “{best}” is favoured "
            f"most, “{least}” least. The way there and back above leaves b out."
        )
    vocabulary = len(found.table.weight)
    even = f"With zeros in the place of x every token has a probability of 1 in {vocabulary:,}."
    if found.is_random:
        return (
            f"The output layer was drawn without a bias. {even} Of two rows w at the same acute angle to x, the longer "
            "one has the larger logit; here chance has made the lengths."
        )
    if found.model.name == BUILT_IN:
        lacks = BUILT_IN_LACKS
    else:
        lacks = (NO_HEAD if found.model.language_head is None else NO_BIAS).format(name=name)
    if not favoured.differ:
        return f"{lacks} {even} Rows of length 1 favour no token either."
    shortest = label_in(found, int(favoured.least[0]))
    return (
        f"{lacks} {even} In its place stand the lengths of the rows: of two rows w at the same acute angle to x, the "
        f"longer one has the larger logit. “{shortest}” has the shortest row."
    )

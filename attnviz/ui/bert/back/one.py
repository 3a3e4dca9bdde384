"""One token written out: the products of a logit, the softmax, the probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from attnviz.formatting import nonzero
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.bert.back.chosen import Chosen, place_of
from attnviz.ui.bert.back.look import named, percent, value
from attnviz.ui.bert.back.look import show as show_html
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice

FIRST = 5
"""The products of a logit that are written out"""
BUTTONS = 40
"""The most tokens with a button each"""


def choose_token(tokens: Tokens) -> int:
    """Show the choice of a token of the text, and return its position."""
    place, places = place_of(tokens), list(range(len(tokens)))
    if state.get("q") != place:
        if state.get("q") is not None:
            state.note(f"Token {state.get('q')} does not exist: the text has tokens 0 to {len(tokens) - 1}.")
        state.put("q", place)
    labels = _told_apart(tokens.labels)
    if len(tokens) <= BUTTONS:
        state.choice(
            "q", st.pills, "Token", places, format_func=labels.__getitem__, required=True,
            label_visibility="collapsed", on_change=_forget_search,
        )  # fmt: skip
    else:
        state.choice(
            "q", st.selectbox, "Token", places, format_func=lambda at: f"{at} · {tokens.labels[at]}",
            label_visibility="collapsed", on_change=_forget_search,
        )  # fmt: skip
    return place_of(tokens)


def _told_apart(labels: Sequence[str]) -> list[str]:
    """Escape labels for Markdown, and add the position to those that occur more than once.

    Buttons with one label would be one button.
    """
    escaped = list(map(plain, labels))
    return [f"{label} ({at})" if escaped.count(label) > 1 else label for at, label in enumerate(escaped)]


def _forget_search() -> None:
    state.put("back_piece", "")


def show(found: Chosen) -> None:
    """Show the numbers of one token."""
    place = choose_token(found.tokens)
    show_html(_written(found, place))
    notice(
        f"The softmax divides by a sum over all {len(found.table.weight):,} tokens, so each probability depends on "
        "every logit. The largest logit is subtracted first: that changes no probability, and no exponential becomes "
        "too large."
    )


def _written(found: Chosen, place: int) -> str:
    """Return the arithmetic of a token's candidates."""
    back, labels = found.back(), found.table.labels
    tokens, logits = back.tokens[place].tolist(), back.logits[place].tolist()
    made, width = found.operands(back.ids[place], tuple(tokens)), found.table.weight.shape[1]
    label, best = named(found.tokens.labels[place]), named(labels[tokens[0]])
    total, scale = back.sums[place].item(), "" if found.scale == 1 else f"{found.scale:g} · "
    x, row = made.x[:FIRST].tolist(), made.rows[0][:FIRST].tolist()
    products = " + ".join(_product(a, b) for a, b in zip(x, row, strict=True))
    rows = "".join(
        f'<tr><td>{named(labels[token])}</td><td class="n">{value(logit)}</td>'
        f'<td class="n">{value(found.scale * (logit - logits[0]))}</td>'
        f'<td class="n">{_exponential(found.scale * (logit - logits[0]))}</td>'
        f'<td class="n">{percent(share, 3)}</td></tr>'
        for token, logit, share in zip(tokens, logits, back.probabilities[place].tolist(), strict=True)
    )
    row_of = "its own row" if tokens[0] == back.ids[place] else f"the row of “{best}”"
    return (
        f'<p class="written">x, the embedding of “{label}”, id {back.ids[place]:,}: ({_numbers(x)}, …), {width:,} '
        f'numbers</p><p class="written">w, {row_of} of the output layer: ({_numbers(row)}, …)</p>'
        f'<p class="written"><b>logit</b> = x · w = {products} + … = <b class="logit">{value(logits[0])}</b></p>'
        '<div class="back-wide"><table><thead><tr><th>candidate</th><th class="n">logit</th>'
        f'<th class="n">z = {scale}{"(" if scale else ""}logit − {value(logits[0])}{")" if scale else ""}</th>'
        f'<th class="n">exp(z)</th><th class="n">exp(z) / sum</th></tr></thead><tbody>{rows}</tbody></table>'
        f'</div><p class="written">sum of exp(z) over all {len(labels):,} tokens = <b class="sum">{total:,.3f}</b>, so '
        f"the probability of “{best}” is 1 / {total:,.3f} = "
        f'<b class="probability">{percent(1 / total, 3)}</b></p>'
    )


def _product(a: float, b: float) -> str:
    """Write a product, with negative factors in brackets."""
    return " · ".join(value(factor) if factor >= 0 else f"({value(factor)})" for factor in (a, b))


def _numbers(numbers: list[float]) -> str:
    return ", ".join(map(value, numbers))


def _exponential(z: float) -> str:
    return nonzero(math.exp(z), 4)

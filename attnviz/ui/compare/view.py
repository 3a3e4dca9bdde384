"""The comparison of the two panes: picture, notice and figures.

The page imports it after showing the controls, because it imports torch.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from attnviz.compare import explain as explain_compare
from attnviz.compare.formulas import FORMULAS
from attnviz.compare.matrices import Comparison, Distance, align_tokens, compare, joined_labels, measure_distance
from attnviz.formatting import number
from attnviz.formulas import latex
from attnviz.trace.walk import Walk
from attnviz.ui import shell, state
from attnviz.ui.compare.panes import Choice, differs, run
from attnviz.ui.compare.picture import show_picture
from attnviz.ui.picture import palette
from attnviz.ui.plain import plain

ONE_MODEL = """So both panes would show {0}, and there is nothing to compare. A second model has to be fetched once,
with a network; after that it is on this machine. Without one, **Toy beside BERT** sets weights that have learned
nothing beside a trained model's, and **Two layers** and **Two heads** compare within {0}."""


def show(a: Choice, b: Choice) -> None:
    """Show A, B and their difference, with the figures.

    Raises:
        attnviz.tokens.NoTokensError: one of the texts has no token for its model.
    """
    if is_missing_a_model(a, b):
        st.info(ONE_MODEL.format(plain(str(a.model))))
        return
    left, right = run(a), run(b)
    for tokens in dict.fromkeys((left.query_tokens, right.query_tokens)):
        shell.token_notes(tokens)
    compared = align_heads(left, right)
    labels = {
        "query": joined_labels(compared.queries, left.query_tokens.labels, right.query_tokens.labels),
        "key": joined_labels(compared.keys, left.key_tokens.labels, right.key_tokens.labels),
    }
    show_picture(compared, (left, right), labels, (a, b))
    distance = measure_distance(compared)
    sentence = explain_compare.notice(compared, distance, labels["query"], labels["key"], differs(a, b))
    about = " ".join(part for part in (sentence, explain_compare.gap_note(compared), caveats(a, b)) if part)
    st.html(f'<div class="notice">{html.escape(about)}</div>')
    st.html(figures(compared, distance, labels))
    with st.expander("How these figures are worked out", key="compare_formulas", on_change="rerun") as formulas:
        if formulas.open:
            for formula in FORMULAS.values():
                st.latex(latex(formula, palette().ink.of))
            st.caption(explain_compare.SOURCES)


def is_missing_a_model(a: Choice, b: Choice) -> bool:
    """Whether A and B are equal only because a requested model is not available."""
    unavailable = any(choice.model not in (None, choice.pane.get("model").strip()) for choice in (a, b))
    return unavailable and not differs(a, b)


def align_heads(left: Walk, right: Walk) -> Comparison:
    """Align two heads by their tokens and compare the quantity of the view."""
    queries = align_tokens(left.query_tokens, right.query_tokens)
    across = any(head.query_tokens is not head.key_tokens for head in (left, right))
    keys = align_tokens(left.key_tokens, right.key_tokens) if across else queries
    return compare(left.steps, right.steps, state.get("quantity"), queries, keys)


def caveats(a: Choice, b: Choice) -> str:
    """Return notes on hypothetical scales and masks, and on untrained weights."""
    parts = []
    hypothetical = [choice.pane.name for choice in (a, b) if choice.is_what_if]
    if hypothetical:
        parts.append(
            f"{' and '.join(hypothetical)}: a what-if: the model's own Q and K with another scale or mask; "
            "the layers before are unchanged."
        )
    if a.source is not b.source:
        parts += [choice.source.caution(choice.get) for choice in (a, b)]
    return " ".join(filter(None, parts))


def figures(compared: Comparison, distance: Distance | None, labels: Mapping[str, Sequence[str]]) -> str:
    """Return the figures as HTML, each with its name, its value and what it refers to."""
    if distance is None:
        return ""
    row, column = (
        explain_compare.name(labels[kind], at) for kind, at in zip(("query", "key"), distance.at, strict=True)
    )
    tiles = [
        ("mean |A − B|", number(distance.mean, 4), f"of {distance.cells:,} cells"),
        ("largest A − B", number(distance.largest, 4), f"{row} → {column}"),
        ("cosine", "–" if distance.cosine is None else number(distance.cosine, 4), "1: one is a multiple of the other"),
    ]
    bits = compared.divergence
    if bits is not None and np.isfinite(bits).any():
        at = int(np.nanargmax(bits))
        worst = f"mean of the rows; most {number(float(bits[at]), 3)}: {explain_compare.name(labels['query'], at)}"
        tiles.insert(2, ("JSD, bits", number(float(np.nanmean(bits)), 4), worst))
    else:
        tiles.insert(2, ("JSD", "–", compared.no_divergence_reason or "no row has weights on both sides"))
    return '<div class="figures">' + "".join(_tile(*tile) for tile in tiles) + "</div>"


def _tile(name: str, value: str, about: str) -> str:
    name, value, about = html.escape(name), html.escape(value), html.escape(about)
    of = f'<span class="of" title="{about}">{about}</span>'
    return f'<div><span class="figure-name">{name}</span> <b>{value}</b>{of}</div>'

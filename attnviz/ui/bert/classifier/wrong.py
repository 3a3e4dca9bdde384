"""What it gets wrong: the held-out texts, the most confident first, and the accuracy by kind of text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import pandas as pd
import streamlit as st

from attnviz.ui import state
from attnviz.ui.bert.classifier.result import interval
from attnviz.ui.bert.classifier.results import Shown
from attnviz.ui.bert.classifier.view import percent
from attnviz.ui.widgets import notice

CSS = """
<style>
.mistakes { max-height: 26rem; overflow: auto; }
.mistakes table { width: 100%; border-collapse: collapse; font-size: 0.9rem; line-height: 1.35; }
.mistakes th { text-align: left; position: sticky; top: 0; background: var(--st-background-color, Canvas); }
.mistakes :is(th, td) { padding: 0.25rem 0.7rem 0.25rem 0; vertical-align: top;
  border-bottom: 1px solid rgba(128, 128, 140, 0.35); }
.mistakes td:not(:first-child) { white-space: nowrap; }
</style>
"""
PLAIN = "plain"
"""The kind of the texts that say what they mean in plain words"""
LARGE = "<style>.mistakes table { font-size: 1rem; }</style>"
"""In a lecture"""


def show(here: Shown) -> None:
    """Show the texts and the kinds."""
    outcome = here.outcome
    wrong, total = mistakes(here), outcome.accuracy.total
    st.markdown(f"**{len(wrong)}** of {total} held-out {here.several} are wrong, the most confident first:")
    by_kind = kinds(here)
    left, right = st.columns([5, 3], gap="medium") if len(by_kind) else (st.container(), None)
    with left:
        st.html(as_html(wrong))
    if right is not None:
        with right:
            st.markdown("Right, by kind of text:")
            st.table(by_kind)
            notice(weakness(by_kind.index[by_kind["right"].str.removesuffix(" %").astype(float).argmin()]))


def weakness(kind: str) -> str:
    """Say on what kind of text it is weakest, and why, where the kind is the reason."""
    why = ": one vector for the whole text says which words are there, and little of what they do to each other"
    return f"It is weakest on “{kind}”{'' if kind == PLAIN else why}."


def as_html(wrong: pd.DataFrame) -> str:
    """Return the list of texts, each whole."""
    cells = wrong.assign(probability=wrong["probability"].map(percent))
    head = "".join(f"<th>{escape(name)}</th>" for name in cells.columns)
    rows = "".join(_row(row) for row in cells.itertuples(index=False))
    style = CSS + (LARGE if state.get("lecture") else "")
    begin = '<div class="mistakes" role="region" tabindex="0" aria-label="Texts that are wrong">'
    return f"{style}{begin}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def mistakes(here: Shown) -> pd.DataFrame:
    """Return the held-out texts that are wrong, the most confident first."""
    outcome, examples = here.outcome, here.examples
    rows = [
        {
            "text": examples.texts[outcome.rows[place]],
            "is": examples.labels[outcome.classes[place]],
            "predicted": examples.labels[outcome.predicted[place]],
            "probability": float(outcome.confidence[place]),
            **({"kind": examples.kinds[outcome.rows[place]]} if examples.kinds else {}),
        }
        for place in outcome.wrong()
    ]
    names = ["text", "is", "predicted", "probability", *(["kind"] if examples.kinds else [])]
    return pd.DataFrame(rows, columns=names)


def kinds(here: Shown) -> pd.DataFrame:
    """Return the accuracy by kind of text; empty if kinds are not known."""
    found = here.outcome.by_kind(here.examples.kinds)
    rows = {
        name: {"right": percent(one.value), "of": one.total, "95 % interval": interval(one)}
        for name, one in found.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")

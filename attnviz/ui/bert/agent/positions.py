"""The mistake of a maximum over positions: it chooses a token. Pool first, then choose."""

from __future__ import annotations

import streamlit as st

from attnviz.bert.agent import TITLES, over_positions
from attnviz.ui import caches, shell, state
from attnviz.ui.bert.agent.calls import WARNING
from attnviz.ui.bert.classifier.results import Shown
from attnviz.ui.bert.classifier.sentence import field, typed
from attnviz.ui.bert.look import built_in, in_torch
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice, plot

LINES = """hidden = model(**inputs).last_hidden_state[0]  # (T, C)
logits = layer(hidden)  # (T, 4): four numbers at each token
wrong = logits.argmax(0)  # four positions, each from 0 to T − 1: tokens, not actions
wrong_too = logits.argmax()  # from 0 to 4T − 1
right = layer(hidden.mean(0)).argmax()  # pool first: (C,) → (4,) → one of 0, 1, 2, 3"""


def show(here: Shown) -> None:
    """Show both ways on the typed report."""
    from attnviz.figures.plots import heatmap

    text = field(here)
    if not text:
        return
    trace = caches.trace(built_in(), text, None)
    shell.token_notes(trace.tokens)
    found, right = over_positions(here.classifier, trace.last_hidden_state), typed(here, text)
    labels = trace.tokens.labels
    chosen = ", ".join(f"{at} (“{plain(labels[at])}”)" for at in found.positions)
    count = len(labels)
    no_action = ", which is no action at all." if found.place > 3 else ": a cell that only looks like an action."
    st.markdown(
        f"**Pool first, then choose**: one vector of the report, four numbers, and the largest is action "
        f"**{right.label}, {TITLES[right.label]}**.  \n"
        f"**The mistake**: four numbers at each of the {count} tokens, ({count}, 4), and the maximum over the "
        f"positions. For the four actions it gives the positions {chosen}: tokens, not actions. The maximum over all "
        f"is the number **{found.place}** of 0 to {4 * count - 1}{no_action}"
    )
    rows = [f"{number} {title}" for number, title in enumerate(TITLES)]
    columns = [f"{number} {label}" for number, label in enumerate(labels)]
    plot(
        heatmap(found.logits.T, rows, columns, palette(), across=f"logits at each token, (4, {count})"),
        "agent_positions",
    )
    if not state.get("lecture"):
        st.caption(WARNING)
    notice("A maximum over the wrong axis runs without an error: the numbers that come out only mean something else.")
    in_torch(LINES)

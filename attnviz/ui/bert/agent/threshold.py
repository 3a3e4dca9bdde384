"""Below a chosen confidence a human is asked: coverage against error as the threshold moves."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.bert.agent import ASK, Selective, selective
from attnviz.ui import state
from attnviz.ui.bert.agent.calls import WARNING
from attnviz.ui.bert.classifier.results import Shown
from attnviz.ui.bert.classifier.view import percent, show_plot
from attnviz.ui.bert.look import in_torch
from attnviz.ui.palette import palette
from attnviz.ui.widgets import notice

THRESHOLDS = tuple(number / 100 for number in range(101))
LINES = """confidence, action = probabilities.max(-1)  # (N,) each, of the held-out reports
stays = confidence >= threshold
coverage = stays.float().mean()
error = (action != classes)[stays].float().mean()"""


def show(here: Shown) -> None:
    """Show coverage and error, and what the chosen threshold does."""
    from attnviz.figures.classification import coverage

    if not state.get("lecture"):
        state.bound("confidence", st.slider, "Ask a human below a probability of", 0.0, 1.0, step=0.01)
    threshold = state.get("confidence")
    outcome = here.outcome
    one = selective(outcome, [threshold])
    stays = outcome.confidence >= np.float64(threshold)
    acts = stays & (outcome.predicted != ASK)
    wrong = f", and wrong on **{percent(float(one.error[0]))}** of these" if stays.any() else ""
    unsure, asks = int((~stays).sum()), int((stays & ~acts).sum())
    st.markdown(
        f"At **{threshold:.2f}** the agent is sure enough on **{percent(float(one.coverage[0]))}** of "
        f"{len(outcome.rows)} held-out reports{wrong}; the other {unsure} {'goes' if unsure == 1 else 'go'} to a "
        f"human. On {asks} of those it is sure of, it chooses to ask a human; on "
        f"{int((acts & ~outcome.is_right).sum())} it would take a wrong action."
    )
    curve = curve_of(here)
    show_plot(coverage(curve.thresholds, curve.coverage, curve.error, threshold, palette()), "agent_coverage")
    st.caption(WARNING)
    notice(
        "A higher threshold leaves fewer reports to the agent and more to people. What is left is wrong less often, if "
        "its probabilities are worth anything."
    )
    in_torch(LINES)


def curve_of(here: Shown) -> Selective:
    """Return coverage and error at all thresholds."""
    return selective(here.outcome, THRESHOLDS)

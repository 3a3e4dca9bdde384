"""An agent's last layer: four actions on the same frozen model. A teaching example, not a medical device."""

from __future__ import annotations

import math
from functools import partial
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
import streamlit as st

from attnviz.bert.agent import ASK, MOVES, REVIEW, TITLES, Decision, decide, message, over_positions, selective
from attnviz.formatting import percent
from attnviz.ui import caches, shell, state
from attnviz.ui.bert.classifier import script_of, tables_of
from attnviz.ui.bert.classifier.data import AGENT, show_controls
from attnviz.ui.bert.classifier.training import TrainedClassifier, begin, is_live, trained_classifier
from attnviz.ui.bert.classifier.views import (
    SENTENCE_LINES,
    TypedText,
    features_in,
    read_typed,
    show_arithmetic,
    show_mistakes,
    show_plot,
    show_result,
    show_seeds,
    show_view,
    text_field,
)
from attnviz.ui.bert.parts import Part, built_in, in_torch
from attnviz.ui.messages import plain
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.widgets import notice, palette, plot

if TYPE_CHECKING:
    import pandas as pd

WARNING = (
    "A teaching example and no medical device: the reports are made up, the layer is often wrong, and nothing is "
    f"called or sent: {urlsplit(REVIEW).hostname} is an example address."
)
THRESHOLDS = tuple(number / 100 for number in range(101))
THRESHOLD_LINES = """confidence, action = probabilities.max(-1)  # (N,) each, of the held-out reports
stays = confidence >= threshold
coverage = stays.float().mean()
error = (action != classes)[stays].float().mean()"""
POSITIONS_LINES = """hidden = model(**inputs).last_hidden_state[0]  # (T, C)
logits = layer(hidden)  # (T, 4): four numbers at each token
wrong = logits.argmax(0)  # four positions, each from 0 to T − 1: tokens, not actions
wrong_too = logits.argmax()  # from 0 to 4T − 1
right = layer(hidden.mean(0)).argmax()  # pool first: (C,) → (4,) → one of 0, 1, 2, 3"""


def show_report(trained: TrainedClassifier) -> None:
    """Show the decision on a report."""
    text = text_field(trained)
    if not text:
        return
    typed = read_typed(trained, text)
    decision = decide(typed.probabilities, state.get("confidence"))
    with st.container(key="agent_said"):
        st.markdown(decision_text(decision))
    st.html(actions_html(typed, decision))
    st.caption(WARNING)
    notice(
        "Only the last layer learns, a matrix of 384 × 4. A game's agent has the same one: four numbers, of which the "
        "largest is up, right, down or left."
    )
    show_arithmetic(trained, typed)
    shape = trained.classifier.weight.shape
    in_torch(
        features_in(SENTENCE_LINES.format(width=shape[1], classes=shape[0]), trained)
        + "\naction = int(probabilities.argmax())"
    )


def decision_text(decision: Decision) -> str:
    """Return a sentence that says which action is taken."""
    numbers = (decision.confidence, state.get("confidence"))
    written = ([percent(one, digits) for one in numbers] for digits in (1, 3, 5))
    probability, threshold = next((pair for pair in written if pair[0] != pair[1]), [percent(numbers[0], 1)] * 2)
    just = "just " if probability == threshold else ""
    likeliest = f"{decision.likeliest} {TITLES[decision.likeliest]}"
    sure = f"with a probability of **{probability}**"
    if decision.is_handed_over:
        below = f"{just}below the threshold of {threshold}"
        return f"**Ask a human**: {likeliest} is the likeliest {sure}, which is {below}."
    return f"**{likeliest[0].upper()}{likeliest[1:]}** {sure}; the threshold is {threshold}."


def actions_html(typed: TypedText, decision: Decision) -> str:
    """Return the four actions as HTML: number, action, probability, what it would call, and a game's move."""
    rows = "".join(
        f"<tr{' class=is-done' if number == decision.action else ''}><td>{number}</td><td>{TITLES[number]}</td>"
        f"<td>{percent(typed.probabilities[number], 1)}</td>"
        f"<td><code>{escape(message(number, shortened(typed.text), decision))}</code></td><td>{MOVES[number]}</td></tr>"
        for number in range(len(TITLES))
    )
    head = "<th>#</th><th>action</th><th>probability</th><th>would call</th><th>in a game</th>"
    opening = '<div class="calls-scroll" data-item="actions" role="region" tabindex="0" aria-label="The four actions">'
    return f'{opening}<table class="calls"><tr>{head}</tr>{rows}</table></div>'


def shortened(text: str, most: int = 80) -> str:
    """Return a report on one line, cut to `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def show_threshold(trained: TrainedClassifier) -> None:
    """Show coverage and error, and what the chosen threshold does."""
    from attnviz.figures.classification import coverage

    if not state.get("lecture"):
        state.bound("confidence", st.slider, "Ask a human below a probability of", 0.0, 1.0, step=0.01)
    threshold = state.get("confidence")
    outcome = trained.outcome
    at_threshold = selective(outcome, [threshold])
    stays = outcome.confidence >= np.float64(threshold)
    acts = stays & (outcome.predicted != ASK)
    wrong = f", and wrong on **{percent(float(at_threshold.error[0]), 1)}** of these" if stays.any() else ""
    unsure, asks = int((~stays).sum()), int((stays & ~acts).sum())
    st.markdown(
        f"At **{threshold:.2f}** the agent is sure enough on **{percent(float(at_threshold.coverage[0]), 1)}** of "
        f"{len(outcome.rows)} held-out reports{wrong}; the other {unsure} {'goes' if unsure == 1 else 'go'} to a "
        f"human. On {asks} of those it is sure of, it chooses to ask a human; on "
        f"{int((acts & ~outcome.is_right).sum())} it would take a wrong action."
    )
    curve = selective(outcome, THRESHOLDS)
    show_plot(coverage(curve.thresholds, curve.coverage, curve.error, threshold, palette()), "agent_coverage")
    st.caption(WARNING)
    notice(
        "A higher threshold leaves fewer reports to the agent and more to people. What is left is wrong less often, if "
        "its probabilities are worth anything."
    )
    in_torch(THRESHOLD_LINES)


def show_positions(trained: TrainedClassifier) -> None:
    """Compare pooling first with a maximum over token positions, on the typed report."""
    from attnviz.figures.plots import heatmap

    text = text_field(trained)
    if not text:
        return
    trace = caches.trace(built_in(), text, None)
    shell.token_notes(trace.tokens)
    over_tokens, right = over_positions(trained.classifier, trace.last_hidden_state), read_typed(trained, text)
    labels = trace.tokens.labels
    chosen = ", ".join(f"{place} (“{plain(labels[place])}”)" for place in over_tokens.positions)
    count = len(labels)
    no_action = ", which is no action at all." if over_tokens.place > 3 else ": a cell that only looks like an action."
    with st.container(key="agent_mistake"):
        st.markdown(
            f"**Pool first, then choose**: one vector of the report, four numbers, and the largest is action "
            f"**{right.label}, {TITLES[right.label]}**.  \n"
            f"**The mistake**: four numbers at each of the {count} tokens, ({count}, 4), and the maximum over the "
            f"positions. For the four actions it gives the positions {chosen}: tokens, not actions. The maximum "
            f"over all is the number **{over_tokens.place}** of 0 to {4 * count - 1}{no_action}"
        )
    across = f"logits at each token, (4, {count})"
    plot(heatmap(over_tokens.logits.T, numbered(TITLES), numbered(labels), palette(), across=across), "agent_positions")
    if not state.get("lecture"):
        st.caption(WARNING)
    notice("A maximum over the wrong axis runs without an error: the numbers that come out only mean something else.")
    in_torch(POSITIONS_LINES)


def tables() -> dict[str, pd.DataFrame]:
    """Return all tables."""
    trained = trained_classifier(AGENT)
    return {**tables_of(AGENT), **({} if trained is None else {"thresholds": threshold_table(trained)})}


def threshold_table(trained: TrainedClassifier) -> pd.DataFrame:
    """Return coverage and error as a table."""
    import pandas as pd

    curve = selective(trained.outcome, THRESHOLDS)
    rows = {"coverage": curve.coverage, "error": [None if math.isnan(error) else error for error in curve.error]}
    return pd.DataFrame(rows, index=pd.Index(curve.thresholds, name="threshold"))


VIEWS = {
    "sentence": show_report,
    "result": show_result,
    "wrong": show_mistakes,
    "seeds": show_seeds,
    "threshold": show_threshold,
    "positions": show_positions,
}
"""Keyed by name in links"""

PART = Part(
    partial(show_view, AGENT, VIEWS),
    tables,
    partial(script_of, AGENT),
    controls=partial(show_controls, AGENT),
    begin=partial(begin, AGENT),
    is_live=is_live,
)

"""One report: what the last layer chooses, what it would call, and a game's moves of the same shape."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

import streamlit as st

from attnviz.bert.agent import MOVES, REVIEW, TITLES, Decision, decide, message
from attnviz.ui import state
from attnviz.ui.bert.classifier.result import features_in
from attnviz.ui.bert.classifier.results import Shown
from attnviz.ui.bert.classifier.sentence import LINES, Typed, field, show_arithmetic, typed
from attnviz.ui.bert.classifier.view import percent
from attnviz.ui.bert.look import in_torch
from attnviz.ui.widgets import notice

WARNING = (
    "A teaching example and no medical device: the reports are made up, the layer is often wrong, and nothing is "
    f"called or sent: {urlsplit(REVIEW).hostname} is an example address."
)
CSS = """
<style>
.calls { width: 100%; border-collapse: collapse; font-size: 0.95rem; }
.calls th { text-align: left; font-weight: 600; opacity: 0.8; }
.calls td:not(:nth-child(4)), .calls th { white-space: nowrap; }
.calls :is(th, td) { padding: 0.2rem 0.6rem 0.2rem 0.2rem; border-bottom: 1px solid rgba(128, 128, 140, 0.35); }
.calls td:nth-child(4) { min-width: 16rem; }
.calls code { overflow-wrap: anywhere; font-size: 0.9em; }
.calls tr.is-done td { font-weight: 700; background: color-mix(in srgb, #7E5BC0 16%, transparent); }
.calls-scroll { overflow-x: auto; }
@media (max-width: 640px) { /* each call has a line of its own */
  .calls tr { display: grid; grid-template-columns: 1.4rem 1fr auto auto; }
  .calls th:nth-child(4) { display: none; }
  .calls td:nth-child(4) { order: 1; grid-column: 1 / -1; min-width: 0; }
  .calls :is(td, th):not(:nth-child(4)) { border: 0; }
}
</style>
"""
LARGE = "<style>.calls { font-size: 1.125rem; }</style>"
"""In a lecture"""


def show(here: Shown) -> None:
    """Show the decision on a report."""
    text = field(here)
    if not text:
        return
    found = typed(here, text)
    decision = decide(found.probabilities, state.get("confidence"))
    st.markdown(said(decision))
    st.html(CSS + (LARGE if state.get("lecture") else "") + table(found, decision))
    st.caption(WARNING)
    notice(
        "Only the last layer learns, a matrix of 384 × 4. A game's agent has the same one: four numbers, of which the "
        "largest is up, right, down or left."
    )
    show_arithmetic(here, found)
    shape = here.classifier.weight.shape
    in_torch(
        features_in(LINES.format(width=shape[1], classes=shape[0]), here) + "\naction = int(probabilities.argmax())"
    )


def said(decision: Decision) -> str:
    """Say what is done, in a sentence."""
    threshold = state.get("confidence")
    likeliest = f"{decision.likeliest} {TITLES[decision.likeliest]}"
    sure = f"with a probability of **{percent(decision.confidence)}**"
    if decision.is_handed_over:
        below = f"below the threshold of {percent(threshold, 0)}"
        return f"**Ask a human**: {likeliest} is the likeliest {sure}, which is {below}."
    return f"**{likeliest[0].upper()}{likeliest[1:]}** {sure}; the threshold is {percent(threshold, 0)}."


def table(found: Typed, decision: Decision) -> str:
    """Return the four actions as HTML: number, action, probability, what it would call, and a game's move."""
    rows = "".join(
        f"<tr{' class=is-done' if number == decision.action else ''}><td>{number}</td><td>{TITLES[number]}</td>"
        f"<td>{percent(found.probabilities[number])}</td>"
        f"<td><code>{escape(message(number, shortened(found.text), decision))}</code></td><td>{MOVES[number]}</td></tr>"
        for number in range(len(TITLES))
    )
    head = "<td></td><th>action</th><th>probability</th><th>would call</th><th>in a game</th>"
    begin = '<div class="calls-scroll" role="region" tabindex="0" aria-label="The four actions">'
    return f'{begin}<table class="calls"><tr>{head}</tr>{rows}</table></div>'


def shortened(text: str, most: int = 80) -> str:
    """Return a report on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"

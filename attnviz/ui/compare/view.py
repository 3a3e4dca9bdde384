"""The comparison of the two panes: picture, pinned cell, notice and figures.

The page imports this module after showing the controls, because it imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.annotated_text import AnnotatedText
from attnviz.compare import explain as explain_compare
from attnviz.compare.explain import DIVERGENCE, FORMULAS
from attnviz.compare.matrices import Comparison, Distance, measure_distance
from attnviz.components.updates import mount_with_updates
from attnviz.export.comparison import HeadComparison, compared
from attnviz.figures.colour_limit import end_text
from attnviz.formatting import number
from attnviz.formulas import latex
from attnviz.lessons.targets import html
from attnviz.links.link import KEYS, STRETCH
from attnviz.sources.compared import Choice, differs, run
from attnviz.sources.shown import shown
from attnviz.steps.picture import darkens
from attnviz.trained.shipped import title
from attnviz.ui import controls, shell, state
from attnviz.ui.compare.panes import CompareRecord
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.widgets import palette

CHOSEN = ("q", "k", "focus")
"""The link keys of the user's choices in the picture"""
MORE = ("off", "measures")
"""The parts below the picture: the answer without the heads that are compared, and more measures with all formulas"""


def _show_picture(compared: HeadComparison) -> None:
    """Show A, B and their difference on one board, with the pinned cell."""
    stretch = STRETCH[state.get("stretch")]
    row, column = state.keep_pin(compared.labels["query"], compared.labels["key"], "there are")
    chosen = {"q": row, "k": column, "focus": _focus(compared)}
    digest, kept = compared.digest(stretch=stretch), state.record(CompareRecord)
    known = {"trace": digest, **chosen}
    is_known, kept.chosen = kept.chosen == digest, ""
    header, matrices = ({"ranges": {}}, {}) if is_known else compared.payload(stretch=stretch)
    with st.container(key="comparison"):
        # A browser without this trace requests the full payload: it reruns the page, and only a rerun after an update
        # sends what is chosen alone.
        mount_with_updates(
            "compare",
            {**header, **known},
            matrices,
            key="compare_picture",
            on_update=_take_choice,
            on_want_change=lambda: None,
        )
    kept.sent = digest


def _focus(compared: HeadComparison) -> str:
    """Return the matrix that fills the whole picture, from the view; reset it with a note if it does not exist."""
    focus: str = state.get("focus")
    if focus and focus not in compared.matrices():
        state.note(f"The comparison shows no matrix {focus}, so all are shown.")
        state.put("focus", "")
        return ""
    return focus


def _take_choice(values: Mapping[str, object]) -> None:
    pin = values.get("pin")
    state.apply_from_browser({**values, **(pin if isinstance(pin, Mapping) else {})}, CHOSEN)
    kept = state.record(CompareRecord)
    kept.chosen = kept.sent


_DARKENED = "compare_darkened"
BY_ITSELF = "On by itself in a long text: of ten rows, nine have no weight above it."
Tile = tuple[str, str, str]
"""A figure: its name, its value, and a description"""
ONE_MODEL = """So both panes would show {0}, and there is nothing to compare. A second model has to be fetched once,
with a network; after that it is on this machine. Without one, **Toy beside BERT** sets weights that have learned
nothing beside a trained model's, and **Two layers** and **Two heads** compare within {0}."""


def show(a: Choice, b: Choice, darkening: DeltaGenerator) -> None:
    """Show A, B and their difference, with the figures.

    Args:
        a: the choice in pane A.
        b: the choice in pane B.
        darkening: the container for the switch that darkens the colours.

    Raises:
        attnviz.tokens.NoTokensError: one of the texts has no tokens for its model.
    """
    is_unavailable = any(choice.model not in (None, choice.asked("model").strip()) for choice in (a, b))
    if is_unavailable and not differs(a, b):
        st.info(ONE_MODEL.format(plain(title(str(a.model)))))
        return
    left, right = run(a, RESOURCES), run(b, RESOURCES)
    for tokens in dict.fromkeys((left.query_tokens, right.query_tokens)):
        shell.token_notes(tokens)
    if state.get("blank_at") is not None:
        of_text = [one for one in (a, b) if one.get("text") == state.get("text")]
        shell.hidden_word_note(*(shown(one.get, RESOURCES) for one in of_text))
    both = compared((a, b), (left, right), state.get("quantity"))
    with darkening:
        _darken(both)
    _show_picture(both)
    ends = both.colours(stretch=STRETCH[state.get("stretch")])
    st.html(f'<div class="notice compared">{html(AnnotatedText.joined((both.notice(), both.caveats(), ends)))}</div>')
    distance = measure_distance(both.comparison)
    if distance is not None:
        st.html(figures(differences(distance, both.labels)))
    _show_more(a, b, both.comparison, distance, both.labels)


def _show_more(
    a: Choice, b: Choice, compared: Comparison, distance: Distance | None, labels: Mapping[str, Sequence[str]]
) -> None:
    """Show what is chosen below the picture, if anything is."""
    if state.get("more") not in (None, *MORE):
        state.note(f"Compare has no part “{KEYS['more'].titles[state.get('more')]}” below the picture.")
        state.put("more", None)
    more = state.choice("more", st.segmented_control, "More", MORE, label_visibility="collapsed")
    if more == "off":
        from attnviz.ui.compare.switched_off import show_switched_off

        show_switched_off(a, b)
    elif more == "measures":
        if distance is not None:
            st.html(figures(_more_measures(compared, distance, labels)))
        for formula in FORMULAS.values():
            st.latex(latex(formula, palette().text_ink.of))
        st.caption(explain_compare.SOURCES)


def _darken(both: HeadComparison) -> None:
    """Show the switch that darkens the colours of A and B, if it has an effect."""
    if both.darkened_limit == 1:
        return
    st.session_state[_DARKENED] = darkens(STRETCH[state.get("stretch")], both.keys)
    st.toggle(
        f"Darken: colours end at {end_text(both.darkened_limit)}, not 1", key=_DARKENED,
        help=BY_ITSELF if darkens(None, both.keys) else "They end at the largest weight.",
        on_change=controls.turn_darkening, args=(both.keys,),
    )  # fmt: skip


def differences(distance: Distance, labels: Mapping[str, Sequence[str]]) -> list[Tile]:
    """Return the mean and the largest difference between A and B."""
    row, column = explain_compare.place(labels["query"], labels["key"], distance.at)
    return [
        ("mean |A − B|", number(distance.mean, 4), f"of {distance.cells:,} cells"),
        ("largest A − B", number(distance.largest, 4), AnnotatedText.of(row, " → ", column)),
    ]


def _more_measures(compared: Comparison, distance: Distance, labels: Mapping[str, Sequence[str]]) -> list[Tile]:
    """Return the Jensen-Shannon divergence and the cosine of A and B."""
    bits = compared.divergence
    if bits is not None and np.isfinite(bits).any():
        at = int(np.nanargmax(bits))
        worst = f"mean of the rows; most {number(float(bits[at]), 3)}: {explain_compare.name(labels['query'], at)}"
        divergence = (f"{DIVERGENCE}, bits", number(float(np.nanmean(bits)), 4), worst)
    else:
        divergence = (
            "Jensen-Shannon divergence",
            "–",
            compared.no_divergence_reason or "no row has weights on both sides",
        )
    cosine = "–" if distance.cosine is None else number(distance.cosine, 4)
    return [divergence, ("cosine", cosine, "1: one is a multiple of the other")]


def figures(tiles: Sequence[Tile]) -> str:
    """Return figures as HTML."""
    shown = "".join(
        f'<div><span class="figure-name">{escape(name)}</span> <b>{escape(value)}</b>'
        f'<span class="of" title="{escape(about)}">{html(AnnotatedText.of(about))}</span></div>'
        for name, value, about in tiles
    )
    return f'<div class="figures">{shown}</div>'

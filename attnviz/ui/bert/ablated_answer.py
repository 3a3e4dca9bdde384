"""What the built-in model answers for a [MASK] without some heads, and which heads its answer depends on most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.measures.ablation import NoAnswerError, compared
from attnviz.ui import answer
from attnviz.ui.messages import plain

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.bert.ablation import Effects
    from attnviz.ui.bert.ablation import Ablation

HEADS = 6
"""How many heads are listed"""
NOTHING_OFF = "Nothing is switched off: click a head in the grid."


def guesses(ablation: Ablation) -> pd.DataFrame | None:
    """Return the first guesses of the whole model, with their shares with all heads and without some.

    None if the text has no [MASK].
    """
    try:
        return answer.table(ablation.trace, compared(ablation.trace, ablation.after))
    except NoAnswerError:
        return None


def show_answer(ablation: Ablation, effects: Effects | None) -> None:
    """Show the guesses before and after, and the heads ranked by how much the first guess depends on them."""
    import pandas as pd

    trace = ablation.trace
    try:
        found = compared(trace, ablation.after)
    except NoAnswerError as reason:
        st.info(str(reason))
        return
    with st.container(key="hint_answer"):
        said = answer.sentence(trace, found, ablation.off_text if ablation.off else "")
        st.markdown(said if ablation.off else f"{said} {NOTHING_OFF}")
    answer.show_table(trace, found)
    if effects is not None and effects.answer is not None:
        flat = effects.answer.flatten()
        order = flat.abs().argsort(descending=True, stable=True)[:HEADS].tolist()
        heads = effects.answer.shape[1]
        rows = [
            (f"layer {place // heads} · head {place % heads}", answer.signed(float(flat[place]))) for place in order
        ]
        first = plain(answer.label_of(trace, int(found.tokens[0])))
        st.markdown(f"The heads on which the share of “{first}” depends most, each switched off alone:")
        st.table(pd.DataFrame(rows, columns=["head", "change of its share"]).set_index("head"))
    answer.show_note(trace)

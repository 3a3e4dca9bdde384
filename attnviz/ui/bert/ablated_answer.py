"""What the built-in model answers for a [MASK] without some heads, and which heads its answer depends on most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.ablation import answer_of
from attnviz.bert.blank import label_for
from attnviz.formatting import fine_percent
from attnviz.pretrained.described import MASK, head_note
from attnviz.ui.messages import plain

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.bert.ablation import Effects
    from attnviz.ui.bert.ablation import Ablation

GUESSES, HEADS = 5, 6
"""How many guesses and how many heads are listed"""
NO_MASK = (
    f"Write {MASK} in the text in place of a word: then the model names what it expects there, with and without heads."
)


def guesses(ablation: Ablation) -> pd.DataFrame | None:
    """Return the first guesses of the whole model, with their shares with all heads and without some.

    None if the text has no [MASK].
    """
    import pandas as pd

    tokens = ablation.trace.tokens
    before, after = (
        answer_of(ablation.model, tokens, hidden) for hidden in (ablation.trace.last_hidden_state, ablation.after)
    )
    if before is None or after is None:
        return None
    best = before.topk(GUESSES).indices
    # A guess that comes first only without the heads is listed too.
    rows = list(dict.fromkeys([*best.tolist(), int(after.argmax())]))
    shares = {"all heads": before[rows].tolist(), "without": after[rows].tolist()}
    return pd.DataFrame(shares, index=[label_for(ablation.model, token) for token in rows])


def show_answer(ablation: Ablation, effects: Effects | None) -> None:
    """Show the guesses before and after, and the heads ranked by how much the first guess depends on them."""
    import pandas as pd

    table = guesses(ablation)
    if table is None:
        st.info(NO_MASK)
        return
    first, after = table["all heads"].idxmax(), table["without"].idxmax()
    before_share, after_share = (fine_percent(float(table.loc[first, name])) for name in table.columns)
    changed = f", and “{plain(str(after))}” comes first" if after != first else ""
    with st.container(key="hint_answer"):
        st.markdown(
            f"For the first {MASK} the model’s first guess is **“{plain(str(first))}”** with **{before_share}**; "
            f"without **{ablation.off_text}** it has **{after_share}**{changed}."
            if ablation.off
            else f"For the first {MASK} the model’s first guess is **“{plain(str(first))}”** with **{before_share}**. "
            "Nothing is switched off: click a head in the grid."
        )
    st.table(table.map(lambda share: fine_percent(float(share))))
    if effects is not None and effects.answer is not None:
        flat = effects.answer.flatten()
        order = flat.abs().argsort(descending=True, stable=True)[:HEADS].tolist()
        heads = effects.answer.shape[1]
        rows = [(f"layer {place // heads} · head {place % heads}", signed(float(flat[place]))) for place in order]
        st.markdown(f"The heads on which the share of “{plain(str(first))}” depends most, each switched off alone:")
        st.table(pd.DataFrame(rows, columns=["head", "change of its share"]).set_index("head"))
    st.caption(plain(head_note()))


def signed(change: float) -> str:
    """Write a change of a share in percentage points, with its sign."""
    return f"{'+' if change > 0 else '−' if change < 0 else ''}{100 * abs(change):.2f} points"

"""Logit lens: what the language head would say of a token after each block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from attnviz.formatting import nonzero
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.transformer.checks.stack import choose_stack, choose_token
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

NO_HEAD = "This model has no language head that is known here: it gives numbers for each token, and names none."


def show(here: ShownPart) -> None:
    """Show the likeliest tokens after each block, and the probability of the one that is likeliest in the end."""
    from attnviz.figures.plots import lines
    from attnviz.measures.residual_stream import logit_lens

    trace = here.trace(RESOURCES)
    if trace.vocabulary is None:
        st.info(here.model.description.unavailable.get("logits", NO_HEAD))
        return
    _, tokens = choose_stack(here)
    if here.place.stack != trace.places[-1].stack:
        st.info("The language head reads the decoder: choose it above.")
        return
    row = choose_token(tokens)
    lens = logit_lens(trace, row)
    if lens is None:
        st.info("The norm after the last block of this family is no LayerNorm, so its lens is not known here.")
        return
    label = trace.vocabulary.label
    likeliest = label(int(lens.tokens[-1, 0]))
    st.markdown(
        f"**“{plain(tokens.labels[row])}” through the logit lens.** After each block, the final norm and the language "
        "head are applied to its row, as if the blocks that follow were left out. After the last block, "
        f"“{plain(likeliest)}” is the likeliest token."
    )
    shown = [
        [
            f"{plain(label(int(token)))} {nonzero(100 * float(share), 1)} %"
            for token, share in zip(*of_part, strict=True)
        ]
        for of_part in zip(lens.tokens, lens.probabilities, strict=True)
    ]
    ranks = [str(number + 1) for number in range(lens.tokens.shape[1])]
    st.table(pd.DataFrame(shown, index=list(lens.parts), columns=ranks))
    st.markdown(f"The probability of “{plain(likeliest)}”:")
    series = {"probability": lens.of_last.tolist()}
    plot(lines(series, lens.parts, palette(), title="probability", across=""), "check_lens")
    st.caption(
        "Raw: the head was trained for the last state alone, and earlier ones may lie in another basis (nostalgebraist "
        "2020, “interpreting GPT: the logit lens”). "
        + ("" if trace.has_learned else "These weights have learned nothing, so it means nothing yet.")
    )

"""Why language models are trained on GPUs, in words and with the numbers of the models here."""

from __future__ import annotations

import streamlit as st

from attnviz.training.jobs.limits import parameters_of
from attnviz.ui.train.text.plans import STAGES

A_CORE = 25e9
"""Operations a second that one processor core reached in training the GPT here: some 40 steps of 0.64 · 10⁹"""
GPT_3 = 175e9, 300e9
"""Parameters and tokens of a large model's training (Brown et al. 2020)"""
TEXT = """
Nearly all of a training's arithmetic is in products of matrices: about 6 operations for each parameter and token, 2 in
the forward pass and 4 in the backward pass ([Kaplan et al. 2020](https://arxiv.org/abs/2001.08361)).

- **The GPT here:** 6 · {parameters:,} parameters · {tokens:,} tokens = {step:.2f} · 10⁹ operations a step. One core
  of a processor made some 40 such steps a second, 25 · 10⁹ operations.
- **GPT-3** ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)): 6 · 175 · 10⁹ parameters · 300 · 10⁹ tokens =
  {large:.2g} operations. That core would need {years:,.0f} years.

The numbers of a matrix product do not depend on each other, so they can be computed at once. A GPU has thousands of
units that multiply and add, and memory fast enough to feed them. A transformer suits it: in training, all positions of
all sequences of a batch go through a layer together. A recurrent network, such as the GRU here, has to read one
position after another, whatever the hardware. For models as small as these, a processor is enough.
"""


def show_processors(vocabulary: int) -> None:
    """Show the text, folded."""
    plan = STAGES["gpt"].plan(vocabulary)
    parameters, tokens = parameters_of(plan.model, 2**40), plan.training.batch * plan.block_size
    large = 6 * GPT_3[0] * GPT_3[1]
    with st.expander("Why GPUs"):
        st.markdown(
            TEXT.format(
                parameters=parameters, tokens=tokens, step=6 * parameters * tokens / 1e9, large=large,
                years=large / A_CORE / (365 * 24 * 3600),
            )
        )  # fmt: skip

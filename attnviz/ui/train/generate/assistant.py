"""How a language model becomes an assistant, in words: what this page shows of it, and what not."""

from __future__ import annotations

import streamlit as st

TEXT = """
A language model continues a text. It does not answer a question unless an answer is a likely continuation. Four stages
make an assistant of it; the model and the loop that generates text stay the same.

1. **Pre-training.** The model learns to predict the next token in a very large amount of text. *This is how
   the part Text trains its models, and how the character GPT here was trained*: 1.6 million parameters and one
   million characters, where large models have billions of parameters and read trillions of tokens.
2. **Supervised fine-tuning.** Training goes on, with the same loss, on conversations that people have written: a
   request and a good answer. The model learns to answer in this form.
3. **Preferences and a reward model.** The model writes several answers to one request, people say which is better, and
   a second model learns from that to give an answer a number, its reward
   ([Ouyang et al. 2022](https://arxiv.org/abs/2203.02155), InstructGPT).
4. **Reinforcement learning from human feedback (RLHF).** The model generates answers, as it does on this page, and its
   weights are changed so that the reward rises, by PPO in that paper. A penalty keeps its probabilities close to those
   of the model after stage 2. *Direct preference optimisation*
   ([Rafailov et al. 2023](https://arxiv.org/abs/2305.18290), DPO) needs neither a reward model nor generated answers:
   its loss raises the probability of the better answer against that of the worse one, from the same comparisons.

**What is here:** stage 1, and generation, which all stages share. **What is not:** stages 2 to 4. They need
conversations and comparisons that people have made, and a model large enough to benefit from them.
"""


def show_assistant() -> None:
    """Show the text, folded."""
    with st.expander("From language model to assistant"):
        st.markdown(TEXT)

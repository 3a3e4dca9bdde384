"""Generate: its side bar, the component with a generated text and its draws, and how an assistant is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnviz.components.updates import mount_with_updates
from attnviz.formatting import counted
from attnviz.links.link import KEYS
from attnviz.links.train import MAX_LENGTH, MAX_PROMPT, MAX_TEMPERATURE
from attnviz.pretrained.names import ModelError
from attnviz.tokens.value import label_of
from attnviz.toy.language.config import has_attention, longest_context
from attnviz.trained.shipped import is_kept
from attnviz.training.generation import has_lens
from attnviz.ui import shell, state, trained_models
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.train import commands
from attnviz.ui.train.generated import (
    SHIPPED,
    GenerationRequest,
    TextModel,
    asked_of,
    chosen_model,
    offer,
    prompt_and_truth,
    text_model_of,
    text_models,
    tokens_of,
    wanted_count,
)
from attnviz.ui.trained_models import visitor
from attnviz.ui.training_jobs import keep
from attnviz.ui.widgets import TEXT_HEIGHT

TEMPERATURE_HELP = """Each logit is divided by T before the softmax. Below 1 likely characters become likelier still;
above 1 all come closer together. 0 is greedy: always the likeliest."""
HALVES_HELP = "The model gets the first half of the text below and goes on. The true second half stands beside it."
CACHE_HELP = "Keys and values of earlier characters are kept, not computed again. The text is the same."
VALUES = ("drawn", "watch", "panel", "seed")
"""The link keys that a user sets in the component"""
_SNAPSHOT = "generate_snapshot"
ASSISTANT = """
A language model continues a text. It does not answer a question unless an answer is a likely continuation. Four stages
make an assistant of it; the model and the loop that generates text stay the same.

1. **Pre-training.** The model learns to predict the next token in a very large amount of text. *This is how
   the chapter Train on a text trains its models, and how the character GPT here was trained*: 1.6 million parameters
   and one million characters, where large models have billions of parameters and read trillions of tokens.
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


def generate_controls() -> None:
    """Show all settings."""
    name = state.get("text_model")
    if is_kept(name):  # a link from another session
        trained_models.add_own(name)
    offered = text_models(visitor(), trained_models.own_names())
    if name not in offered:
        state.note("The trained model of this link is no longer here, so the character GPT generates.")
        state.put("text_model", SHIPPED)
    state.choice(
        "text_model", st.selectbox, "Model", list(offered), format_func=offered.get,
        help="Train one in the chapter Train on a text, and it can be chosen here.", on_change=_forget_snapshot,
    )  # fmt: skip
    try:
        model = text_model_of(state.get("text_model"), visitor(), state.get("snapshot"))
    except ModelError:
        st.rerun()  # it was removed after it was offered
    if len(model.steps) > 1:
        _snapshot(model)
    halves = state.bound("halves", st.toggle, "Go on with half of a text", help=HALVES_HELP)
    state.bound(
        "prompt", st.text_area, "The whole text" if halves else "Prompt", height=TEXT_HEIGHT, max_chars=MAX_PROMPT,
        placeholder=model.passage if halves else model.prompt,
        help="What the model begins with. Without one it begins with the text that is shown in grey.",
    )  # fmt: skip
    if not halves:
        state.bound("length", st.slider, "Characters to generate", 1, MAX_LENGTH)
    state.bound(
        "temperature", st.slider, "Temperature T", 0.0, float(MAX_TEMPERATURE), step=0.05, help=TEMPERATURE_HELP
    )
    left, right = st.columns(2)
    with left:
        state.bound("top_k", st.number_input, "Top-k (0: all)", 0, 10_000, help="Only the k likeliest can be drawn.")
    with right:
        state.bound(
            "top_p", st.number_input, "Top-p", 0.0, 1.0, step=0.05, format="%.2f",
            help="Only the fewest likeliest can be drawn that have this probability together.",
        )  # fmt: skip
    state.bound("seed", st.number_input, "Seed", 0, 999_999, help="All draws follow from this number.")
    state.bound("cache", st.toggle, "Key-value cache", help=CACHE_HELP)


def _snapshot(model: TextModel) -> None:
    """Let the user choose a snapshot; the newest is not kept in the link."""
    st.session_state[_SNAPSHOT] = model.step
    st.select_slider("After how many steps", model.steps, key=_SNAPSHOT, on_change=_take_snapshot, args=(model.steps,))


def _take_snapshot(steps: tuple[int, ...]) -> None:
    step = st.session_state[_SNAPSHOT]
    if step in steps:
        state.put("snapshot", None if step == steps[-1] else step)


def _forget_snapshot() -> None:
    for name in ("snapshot", "drawn", "watch"):
        state.put(name, KEYS[name].default)


def show_generate() -> None:
    """Show the text that the view's model generates."""
    keep(visitor())
    if commands.have_settings_changed() and state.in_fragment():
        st.rerun()  # the side bar shows the seed too
    try:
        model = chosen_model()
    except ModelError:
        st.rerun()  # it was removed after the side bar was drawn, which then offers another
    with st.container():
        tokens = tokens_of(model)
        shell.token_notes(tokens)
        prompt, truth = prompt_and_truth(tokens)
        asked = asked_of(model, prompt, truth)
        _say(model, truth, asked)
    if asked is not None:
        with st.container(key="generation"):
            mount_with_updates("generation", _header(asked, truth), {}, key="generation_view", on_update=take)
    if not lesson_bar.is_open():  # its sentence and the picture have the window to themselves
        show_assistant()


def _say(model: TextModel, truth: Sequence[int] | None, asked: GenerationRequest | None) -> None:
    """Say why nothing is generated, or less than requested."""
    if asked is None:
        least = "one character" if truth is None else "two characters"
        st.info(f"Type at least {least} that the model knows, such as “{plain(model.prompt.strip())}”.")
    elif asked.count < wanted_count(truth):
        st.info(f"With this model, at most {counted(asked.count, 'character')} can be generated at once.")


def _header(asked: GenerationRequest, truth: Sequence[int] | None) -> dict[str, Any]:
    """Return `GenerationHeader` of frontend/types/generation.d.ts."""
    model, sampling = asked.model, asked.sampling
    config = model.config
    layers, heads = (config.layers, config.heads) if has_attention(config) else (0, 0)
    return {
        "model": {
            "title": model.title, "characters": list(model.labels),
            "names": {str(at): name for at, label in enumerate(model.labels) if (name := label_of(label)) != label},
            "block": longest_context(config), "layers": layers, "heads": heads,
            "has_lens": has_lens(config), "has_cache": has_attention(config),
        },
        "prompt": list(asked.ids), "truth": None if truth is None else list(truth), "count": asked.count,
        "temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p,
        "cached": asked.cached, "digest": offer(asked),
        "values": {name: state.get(name) for name in VALUES},
        "in_lesson": lesson_bar.is_open(),
    }  # fmt: skip


def take(sent: Mapping[str, object]) -> None:
    """Apply what the browser has sent. It may be anything."""
    commands.take_chosen(sent, VALUES)


def show_assistant() -> None:
    """Show how an assistant is made, folded."""
    with st.expander("From language model to assistant"):
        st.markdown(ASSISTANT)

"""What is needed to fill blanks, where the chosen model can't, and what can be done meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.blank import Lack
from attnviz.links.pages import PAGES
from attnviz.pretrained import BUILT_IN
from attnviz.pretrained.names import shown
from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel

WHY: dict[Lack, str] = {
    "head": "It gives a vector for each token; no masked-language head was found in it, which would name the token of "
    "a blank.",
    "decoder": "It is a decoder: it predicts the next token from those before it, and has not learned to fill a blank "
    "from both sides.",
    "both": "It has an encoder and a decoder, and writes its answer token by token; this part needs an encoder with a "
    "masked-language head.",
    "mask": "It has a language head, but its tokenizer has no mask token.",
}
BUILT_IN_WHY = (
    "It was trained to give vectors of sentences; its published file has no masked-language head, which would name the "
    "token of a blank."
)
NEEDED = """
**What is needed:** a BERT with its masked-language head, such as `bert-base-uncased` or `roberta-base`. It is not
shipped with attnviz: its file has 440 MB or more, five times that of the built-in model. {how}
"""
HUB = (
    "Choose or type its name under **Model** in the sidebar; it is fetched from the Hugging Face hub once, and then "
    "kept. "
)
FOLDER = (
    "Or type there a folder on this machine with its `config.json`, `model.safetensors` and tokenizer, as "
    "transformers' `save_pretrained` writes them: that needs no network."
)
LISTED = "Choose it under **Model** in the sidebar."
REFUSED = (
    "This server offers no other model. On a machine of your own attnviz takes any: see *Model* in the sidebar there."
)
WORKS = "It needs a model with a masked-language head. These work without one:"


def show_needed(model: PretrainedModel, lack: Lack) -> None:
    """Say why the model fills no blank, which one does and how it is opened, and link to what works without it."""
    why = BUILT_IN_WHY if model.name == BUILT_IN else WHY[lack]
    st.markdown(f"**{plain(shown(model.name.strip()))} fills no blank.** {WORKS}")
    text = {} if state.is_default("text") else {"text": state.get("text")}
    st.page_link(
        PAGES["bert"].script, label="There and back: which tokens have vectors near a token's",
        icon=":material/arrow_forward:", query_params={"bert_part": "back", **text},
    )  # fmt: skip
    st.page_link(
        PAGES["train"].script, label="Generate: a model that was trained here names the likeliest next characters",
        icon=":material/arrow_forward:", query_params={"train_part": "generate"},
    )  # fmt: skip
    with st.expander("Why, and how a model that can is opened"):
        st.markdown(f"{why}\n{NEEDED.format(how=_how())}")


def _how() -> str:
    """Return how such a model is opened on this server."""
    allowed = settings()
    if allowed.hub or allowed.folders:
        return (HUB if allowed.hub else "") + (FOLDER if allowed.folders else "")
    return LISTED if set(allowed.models) - {BUILT_IN} else REFUSED

"""Fill the blank: the tokens that a masked-language model predicts for a mask, or what is needed for that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.blank import (
    Blanks,
    Lack,
    completed,
    fill,
    label_for,
    lacks,
    last_word,
    maskable,
    masks_in,
    read,
)
from attnviz.export.code.bert.uses import blank_script
from attnviz.formatting import percent
from attnviz.links.bert import MAX_KEPT
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING
from attnviz.pretrained import BUILT_IN, PretrainedModel
from attnviz.pretrained.described import MASK
from attnviz.pretrained.names import shown
from attnviz.settings import settings
from attnviz.tokens import Tokens
from attnviz.ui import shell, state
from attnviz.ui.bert.parts import Part, choose_model, chosen_model, in_torch, show_likely, shown_model
from attnviz.ui.caches import result
from attnviz.ui.messages import plain
from attnviz.ui.places import page_link
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    import pandas as pd

NBYTES = 4 * 2**20
"""Size of the cache: room for thousands of sentences"""
ACROSS, MOST = 3, 9
"""Plots in a row; the maximum number of masks shown"""
WHY: dict[Lack, str] = {
    "head": "It gives a vector for each token; no masked-language head was found in it, which would name the token of "
    "a blank.",
    "decoder": "It is a decoder: it predicts the next token from those before it, and has not learned to fill a blank "
    "from both sides.",
    "both": "It has an encoder and a decoder, and writes its answer token by token; this part needs an encoder with a "
    "masked-language head.",
    "mask": "It has a language head, but its tokenizer has no mask token.",
}
NEEDED = """
**What is needed:** a model with a masked-language head. The built-in model has one, trained by attnviz, which is
seldom right. A BERT that came with its head, such as `bert-base-uncased` or `roberta-base`, guesses better, and is not
shipped: its file has 440 MB or more, five times that of the built-in model. {how}
"""
HUB = (
    "Choose or type its name under **Model** in **Settings**; it is fetched from the Hugging Face hub once, and then "
    "kept. "
)
FOLDER = (
    "Or type there a folder on this machine with its `config.json`, `model.safetensors` and tokenizer, as "
    "transformers' `save_pretrained` writes them: that needs no network."
)
LISTED = "Choose it under **Model** in **Settings**."
REFUSED = (
    "This server offers no model but the built-in one. On a machine of your own attnviz takes any: see *Model* in "
    "*Settings* there."
)
WORKS = "That needs a model with a masked-language head, which the built-in one has. What works now:"


FIRST = {DEFAULT_TEXT: ("because ", "it"), OPENING["text"]: ("wanted ", "to")}
"""Of the app's own sentences, the word that is masked at first, after what stands before it. The built-in model guesses
it; of their last words it guesses none"""


def _first_masked(model: PretrainedModel, tokens: Tokens) -> int | None:
    """Return the position that is masked without a choice and a mask: the last word, or that of `FIRST`."""
    before, word = FIRST.get(tokens.text, ("", ""))
    end = tokens.text.find(before + word) + len(before + word)
    places = (place for place in maskable(model, tokens) if tokens.source(place).strip() == word)
    own = next((place for place in places if tokens.offsets[place][1] == end), None) if word else None
    return last_word(model, tokens) if own is None else own


def masked_positions(model: PretrainedModel, tokens: Tokens) -> tuple[int, ...]:
    """Return the positions to mask besides the text's own masks: the view's, or the first one if there is no mask."""
    place = state.get("blank_at")
    if place is not None and place in maskable(model, tokens):
        return (place,)
    if masks_in(model, tokens):
        return ()
    first = _first_masked(model, tokens)
    return () if first is None else (first,)


def blanks_of(model: PretrainedModel, tokens: Tokens) -> Blanks | None:
    """Return a model's predictions for the blanks; None if there is nothing to mask.

    `tokens` come from `attnviz.bert.blank.read`; `lacks` must return None for the model.
    """
    chosen = masked_positions(model, tokens)
    if not chosen and not masks_in(model, tokens):
        return None
    kept = state.get("blank_kept")
    key = model.name, model.trace_budget.number, tokens.text, chosen, kept
    return result("blanks", NBYTES, key, partial(fill, model, tokens, chosen, kept=kept))


def controls() -> None:
    """Show the settings: the model, and how many tokens are listed."""
    choose_model()
    state.bound("blank_kept", st.slider, "Likeliest tokens", 1, MAX_KEPT)


def show() -> None:
    """Show the chosen model's predictions, or what it lacks."""
    model, text = chosen_model(), shell.text()
    lack = lacks(model)
    if lack is not None:
        show_needed(model, lack)
        return
    tokens = read(model, text)
    shell.token_notes(tokens)
    _choose(model, tokens)
    blanks = blanks_of(model, tokens)
    if blanks is None:
        st.info("There is nothing to be masked in this text. Type a sentence.")
        return
    st.html(_completed_html(completed(model, blanks)))
    _show_likely(model, blanks)
    if model.description.head_note:
        st.caption(plain(model.description.head_note))
    notice(
        "The model reads the words on both sides of a mask. Each mask is filled by itself, while the others stay "
        "masked: two likely tokens need not fit together."
    )
    in_torch()


def _completed_html(pieces: Sequence[tuple[str, bool]]) -> str:
    """Return the pieces of a completed text as HTML, with those that were filled in marked."""
    filled = "".join(f"<mark>{escape(piece)}</mark>" if is_filled else escape(piece) for piece, is_filled in pieces)
    return f'<div class="filled" dir="auto" tabindex="0" role="group" aria-label="Completed">{filled}</div>'


def _choose(model: PretrainedModel, tokens: Tokens) -> None:
    """Let the user choose a token to mask."""
    names = {place: f"{place}  {tokens.labels[place]}" for place in maskable(model, tokens)}
    if state.get("blank_at") not in (None, *names):
        state.note(f"Position {state.get('blank_at')} is no token of this text that can be masked.")
        state.put("blank_at", None)
    state.bound(
        "blank_at", st.selectbox, f"Mask this token, or type {MASK} in the text", list(names), index=None,
        format_func=names.get, among=[None, *names],
        placeholder=f"only each {MASK} of the text" if masks_in(model, tokens) else _first_named(model, tokens),
    )  # fmt: skip


def _first_named(model: PretrainedModel, tokens: Tokens) -> str:
    """Return in words what is masked without a choice and a mask."""
    first = _first_masked(model, tokens)
    return "the last word" if first in (None, last_word(model, tokens)) else f"“{tokens.source(first).strip()}”"


def _show_likely(model: PretrainedModel, blanks: Blanks) -> None:
    """Show the likeliest tokens for each mask, and the rank of the token that was masked."""
    shown = list(enumerate(blanks.places))[:MOST]
    across = min(ACROSS, len(shown))
    for first in range(0, len(shown), across):
        for column, (index, place) in zip(st.columns(across), shown[first : first + across], strict=False):
            names = [label_for(model, token) for token in blanks.ids[index].tolist()]
            with column:
                st.html(f'<div class="notice">{_title(model, blanks, index, place)}</div>')
                show_likely(names, blanks.probabilities[index], f"blank_{index}", name=f"mask at position {place}")
    if len(blanks.places) > MOST:
        st.caption(f"The first {MOST} of {len(blanks.places)} masks are shown; Export gives all of them.")


def _title(model: PretrainedModel, blanks: Blanks, index: int, place: int) -> str:
    """Return the heading of one mask's plot, as HTML."""
    true, rank = blanks.truth[index], blanks.true_rank[index]
    if true is None:
        return f"<b>{MASK}</b>, position {place}"
    share = percent(blanks.true_probability[index] or 0, 4)
    return f"<b>{escape(label_for(model, true))}</b>, position {place}, masked: rank {rank:,}, {share}"


def show_needed(model: PretrainedModel, lack: Lack) -> None:
    """Say why the model can't fill blanks and how to open one that can; link to what works now."""
    st.markdown(f"**{plain(shown(model.name.strip()))} fills no blank.** {WORKS}")
    text = {} if state.is_default("text") else {"text": state.get("text")}
    page_link(
        "bert", "Fill the blank with the built-in model", {"bert_part": "blank", **text},
        icon=":material/arrow_forward:",
    )  # fmt: skip
    page_link(
        "bert", "Embeddings and back: which tokens have vectors near a token's", {"bert_part": "back", **text},
        icon=":material/arrow_forward:",
    )  # fmt: skip
    page_link(
        "train", "Generate: a model that was trained here names the likeliest next characters",
        {"train_part": "generate"}, icon=":material/arrow_forward:",
    )  # fmt: skip
    with st.expander("Why, and how a model that can is opened"):
        st.markdown(f"{WHY[lack]}\n{NEEDED.format(how=_how())}")


def _how() -> str:
    """Say how to open such a model on this server."""
    server = settings()
    if server.hub or server.folders:
        return (HUB if server.hub else "") + (FOLDER if server.folders else "")
    return LISTED if set(server.models) - {BUILT_IN} else REFUSED


def tables() -> dict[str, pd.DataFrame]:
    """Return the likeliest tokens: a row for each mask and token."""
    import pandas as pd

    model = shown_model()
    blanks = _blanks(model)
    if blanks is None:
        return {}
    rows = [
        (place, rank + 1, label_for(model, token), token, logit, probability)
        for index, place in enumerate(blanks.places)
        for rank, (token, logit, probability) in enumerate(
            zip(*(values[index].tolist() for values in (blanks.ids, blanks.logits, blanks.probabilities)), strict=True)
        )
    ]
    columns = ["position", "rank", "token", "id", "logit", "probability"]
    return {"blanks": pd.DataFrame(rows, columns=columns).set_index("position")}


def script() -> str:
    """Return the script that computes the numbers on screen."""
    model = shown_model()
    blanks = _blanks(model)
    if blanks is None or model.mask is None:
        return ""
    _, mask = model.mask
    ids = [mask if place in blanks.places else token for place, token in enumerate(blanks.tokens.ids)]
    return blank_script(model.name.strip(), ids, mask, kept=blanks.ids.shape[1])


def _blanks(model: PretrainedModel) -> Blanks | None:
    """Return the model's predictions for the view's blanks; None if there is nothing to fill."""
    text = state.get("text")
    return None if lacks(model) or not text.strip() else blanks_of(model, read(model, text))


PART = Part(show, tables, script, controls=controls)

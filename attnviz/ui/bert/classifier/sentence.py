"""What it says of one text that a user types: probabilities, what each word does, and where [CLS] looks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st
from torch import Tensor

from attnviz.bert.classification.classifier import terms
from attnviz.bert.classification.outcome import Without, most_passes, without_words
from attnviz.formatting import number
from attnviz.links.classification import MAX_SENTENCE
from attnviz.trace.trace import Trace
from attnviz.ui import caches, shell, state
from attnviz.ui.bert.classifier.result import features_in
from attnviz.ui.bert.classifier.results import Shown, pooled_text
from attnviz.ui.bert.classifier.view import percent, show_plot
from attnviz.ui.bert.look import built_in, in_torch
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice

HEIGHT = 68
"""px: of the field, two lines"""
CSS = """<style>.st-key-words_bar, .st-key-cls_bar { min-height: 2.5rem; }
.st-key-words_bar { justify-content: center; }</style>"""
LINES = """hidden = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
features = hidden.last_hidden_state[0].mean(0)  # ({width},)
logits = layer.weight @ features + layer.bias  # ({classes},)
probabilities = logits.softmax(-1)
from_cls = hidden.attentions[-1][0, :, 0]  # (H, T): where [CLS] looks in the last layer"""


@dataclass(frozen=True)
class Typed:
    """What a classifier says of a text."""

    text: str
    features: Tensor
    """(C,)"""
    logits: Tensor
    """(K,)"""

    @property
    def probabilities(self) -> list[float]:
        """Of the classes, (K,)."""
        found: list[float] = self.logits.softmax(-1).tolist()
        return found

    @property
    def label(self) -> int:
        """The likeliest class."""
        return int(self.logits.argmax())


def field(here: Shown) -> str:
    """Show the field of the text, and return it; "" if it is blank."""
    text: str = state.bound(
        here.what.text_key, st.text_area, f"Your {here.what.one}", height=HEIGHT, max_chars=MAX_SENTENCE,
        placeholder=f"Type a {here.what.one}",
    )  # fmt: skip
    if not text.strip():
        st.info(f"Type a {here.what.one} to see what the linear layer makes of it.")
        return ""
    return text


def typed(here: Shown, text: str) -> Typed:
    """Return what a classifier says of a text."""
    pooled = pooled_text(built_in(), (text,))
    return Typed(text, here.classifier.features(pooled)[0], here.classifier.logits(pooled)[0])


def show(here: Shown) -> None:
    """Show one sentence."""
    text = field(here)
    if not text:
        return
    found = typed(here, text)
    labels = here.examples.labels
    order = np.argsort(found.probabilities)[::-1]
    st.markdown(" · ".join(f"{plain(labels[n])} **{percent(found.probabilities[n])}**" for n in order))
    _show_reasons(here, found)
    show_arithmetic(here, found)
    in_torch(features_in(LINES.format(width=here.classifier.weight.shape[1], classes=len(labels)), here))


def _show_reasons(here: Shown, found: Typed) -> None:
    """Show what each word does, and where [CLS] looks."""
    st.html(CSS)
    left, right = st.columns(2, gap="medium")
    with left:
        show_words(here, found)
    with right:
        show_attention(found.text)
    notice("Attention says where [CLS] looks; leaving a word out says what it does. The two need not agree.")


def show_words(here: Shown, found: Typed) -> None:
    """Show by how much the probability of the likeliest class falls without each word."""
    from attnviz.figures.classification import effects

    label = here.examples.labels[found.label]
    words, changes = removals(here, found)
    if not words:
        st.caption("One word alone has none that can be left out.")
        return
    what = "Some words" if any(" " in one.words for one in words) else "Each word"
    with st.container(key="words_bar"):
        st.markdown(f"{what} left out: what it adds to **{plain(label)}**")
    show_plot(effects(changes, [_short(one.words) for one in words], palette()), "class_words")


def _short(words: str) -> str:
    """Name several words by the first and the last of them."""
    several = words.split()
    return words if len(several) < 2 else f"{several[0]} … {several[-1]}"


def removals(here: Shown, found: Typed) -> tuple[list[Without], list[float]]:
    """Return what was left out each time, and by how much the probability of the likeliest class falls then."""
    words = without_words(found.text, most_passes(len(built_in().tokenize(found.text))))
    if not words:
        return [], []
    pooled = pooled_text(built_in(), tuple(one.text for one in words))
    after = here.classifier.probabilities(pooled)[:, found.label]
    return words, (found.probabilities[found.label] - after).tolist()


def show_attention(text: str) -> None:
    """Show the last layer's attention from [CLS]: the mean over the heads, and a chosen head."""
    from attnviz.figures.classification import looks

    model = built_in()
    trace = caches.trace(model, text, None)
    weights = from_cls(trace)
    shell.token_notes(trace.tokens)
    head = state.get("cls_head")
    with st.container(horizontal=True, key="cls_bar", vertical_alignment="center"):
        st.markdown("Attention from [CLS] in the last layer:")
        if not state.get("lecture"):
            heads = list(range(len(weights)))
            head = state.bound(
                "cls_head", st.selectbox, "Head", heads, among=heads, label_visibility="collapsed", width=170,
                placeholder="mean over heads", format_func="and head {}".format, index=None,
            )  # fmt: skip
    chosen = None if head is None else weights[head].tolist()
    show_plot(looks(weights.mean(0).tolist(), chosen, trace.tokens.labels, palette()), "class_attention")


def from_cls(trace: Trace) -> Tensor:
    """Return the last layer's weights of the first token, (H, T)."""
    last = len(trace.blocks["encoder"]) - 1
    return trace.attentions(last)[:, 0]


def show_arithmetic(here: Shown, found: Typed) -> None:
    """Write each logit as the sum that it is, and the softmax."""
    if state.get("lecture"):
        return
    with st.expander("features · W + b → softmax, with these numbers"):
        for label, name in enumerate(here.examples.labels):
            one = terms(here.classifier, found.features, label)
            products = " + ".join(
                f"({number(x, 3)} · {number(w, 3)})" for x, w in zip(one.features, one.weights, strict=True)
            )
            st.markdown(
                f"{plain(name)}: {products} + ({number(one.rest, 3)} of {one.others} further products) + "
                f"({number(one.bias, 3)}) = **{number(one.logit, 3)}**"
            )
        st.markdown(softmax_of(found, here.examples.labels[found.label]))


def softmax_of(found: Typed, likeliest: str) -> str:
    """Write the softmax of the likeliest class: the largest logit is subtracted first, so that no term is too large."""
    logits: list[float] = found.logits.tolist()
    top = logits[found.label]
    raised = [math.exp(one - top) for one in logits]
    largest = number(top, 3) if top >= 0 else f"({number(top, 3)})"
    terms_of = [f"e^({number(one, 3)} − {largest})" for one in logits]
    return (
        f"softmax: {terms_of[found.label]} / ({' + '.join(terms_of)}) = "
        f"{number(raised[found.label], 3)} / {number(sum(raised), 3)} = "
        f"**{number(found.probabilities[found.label], 4)}**, the probability of {plain(likeliest)}. The largest logit "
        "is subtracted from each, which changes no probability."
    )

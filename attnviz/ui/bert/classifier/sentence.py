"""What a classifier says of one text that a user types: probabilities, what each word does, and where [CLS] looks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st
from torch import Tensor

from attnviz.bert.classification.classifier import terms
from attnviz.bert.classification.outcome import Without, most_passes, without_words
from attnviz.formatting import number
from attnviz.links.bert import MAX_SENTENCE
from attnviz.trace.trace import Trace
from attnviz.ui import caches, shell, state
from attnviz.ui.bert.classifier.training import TrainedClassifier, pooled_text
from attnviz.ui.bert.classifier.views import features_in, percent, show_plot
from attnviz.ui.bert.models import built_in
from attnviz.ui.bert.parts import in_torch
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice

HEIGHT = 68
"""px: of the field, two lines"""
SENTENCE_LINES = """hidden = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
features = hidden.last_hidden_state[0].mean(0)  # ({width},)
logits = layer.weight @ features + layer.bias  # ({classes},)
probabilities = logits.softmax(-1)
from_cls = hidden.attentions[-1][0, :, 0]  # (H, T): where [CLS] looks in the last layer"""


@dataclass(frozen=True)
class TypedText:
    """What a classifier says of a text."""

    text: str
    features: Tensor
    """(C,)"""
    logits: Tensor
    """(K,)"""

    @property
    def probabilities(self) -> list[float]:
        """Of the classes, (K,)."""
        shares: list[float] = self.logits.softmax(-1).tolist()
        return shares

    @property
    def label(self) -> int:
        """The likeliest class."""
        return int(self.logits.argmax())


def text_field(trained: TrainedClassifier) -> str:
    """Show the field of the text, and return it; "" if it is blank."""
    text: str = state.bound(
        trained.kind.text_key, st.text_area, f"Your {trained.kind.text}", height=HEIGHT, max_chars=MAX_SENTENCE,
        placeholder=f"Type a {trained.kind.text}",
    )  # fmt: skip
    if not text.strip():
        st.info(f"Type a {trained.kind.text} to see what the linear layer makes of it.")
        return ""
    return text


def read_typed(trained: TrainedClassifier, text: str) -> TypedText:
    """Return what a classifier says of a text."""
    pooled = pooled_text(built_in(), (text,))
    return TypedText(text, trained.classifier.features(pooled)[0], trained.classifier.logits(pooled)[0])


def show_sentence(trained: TrainedClassifier) -> None:
    """Show one sentence."""
    text = text_field(trained)
    if not text:
        return
    typed = read_typed(trained, text)
    labels = trained.examples.labels
    order = np.argsort(typed.probabilities)[::-1]
    st.markdown(" · ".join(f"{plain(labels[n])} **{percent(typed.probabilities[n])}**" for n in order))
    _show_reasons(trained, typed)
    show_arithmetic(trained, typed)
    in_torch(features_in(SENTENCE_LINES.format(width=trained.classifier.weight.shape[1], classes=len(labels)), trained))


def _show_reasons(trained: TrainedClassifier, typed: TypedText) -> None:
    """Show what each word does, and where [CLS] looks."""
    left, right = st.columns(2, gap="medium")
    with left:
        show_words(trained, typed)
    with right:
        show_attention(typed.text)
    notice("Attention says where [CLS] looks; leaving a word out says what it does. The two need not agree.")


def show_words(trained: TrainedClassifier, typed: TypedText) -> None:
    """Show by how much the probability of the likeliest class falls without each word."""
    from attnviz.figures.classification import effects

    label = trained.examples.labels[typed.label]
    words, changes = removals(trained, typed)
    if not words:
        st.caption("One word alone has none that can be left out.")
        return
    what = "Some words" if any(" " in left_out.words for left_out in words) else "Each word"
    with st.container(key="words_bar"):
        st.markdown(f"{what} left out: what it adds to **{plain(label)}**")
    show_plot(effects(changes, [_short(left_out.words) for left_out in words], palette()), "class_words")


def _short(words: str) -> str:
    """Name several words by the first and the last of them."""
    several = words.split()
    return words if len(several) < 2 else f"{several[0]} … {several[-1]}"


def removals(trained: TrainedClassifier, typed: TypedText) -> tuple[list[Without], list[float]]:
    """Return what was left out each time, and by how much the probability of the likeliest class falls then."""
    words = without_words(typed.text, most_passes(len(built_in().tokenize(typed.text))))
    if not words:
        return [], []
    pooled = pooled_text(built_in(), tuple(left_out.text for left_out in words))
    after = trained.classifier.probabilities(pooled)[:, typed.label]
    return words, (typed.probabilities[typed.label] - after).tolist()


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


def show_arithmetic(trained: TrainedClassifier, typed: TypedText) -> None:
    """Write each logit as the sum that it is, and the softmax."""
    if state.get("lecture"):
        return
    with st.expander("features · W + b → softmax, with these numbers"):
        for label, name in enumerate(trained.examples.labels):
            sum_of = terms(trained.classifier, typed.features, label)
            products = " + ".join(
                f"({number(x, 3)} · {number(w, 3)})" for x, w in zip(sum_of.features, sum_of.weights, strict=True)
            )
            st.markdown(
                f"{plain(name)}: {products} + ({number(sum_of.rest, 3)} of {sum_of.others} further products) + "
                f"({number(sum_of.bias, 3)}) = **{number(sum_of.logit, 3)}**"
            )
        st.markdown(softmax_of(typed, trained.examples.labels[typed.label]))


def softmax_of(typed: TypedText, likeliest: str) -> str:
    """Write the softmax of the likeliest class: the largest logit is subtracted first, so that no term is too large."""
    logits: list[float] = typed.logits.tolist()
    top = logits[typed.label]
    raised = [math.exp(logit - top) for logit in logits]
    largest = number(top, 3) if top >= 0 else f"({number(top, 3)})"
    terms_of = [f"e^({number(logit, 3)} − {largest})" for logit in logits]
    return (
        f"softmax: {terms_of[typed.label]} / ({' + '.join(terms_of)}) = "
        f"{number(raised[typed.label], 3)} / {number(sum(raised), 3)} = "
        f"**{number(typed.probabilities[typed.label], 4)}**, the probability of {plain(likeliest)}. The largest logit "
        "is subtracted from each, which changes no probability."
    )

"""The views of a classifier or an agent: the buttons that train, the result, seeds, mistakes, and a typed text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from torch import Tensor

from attnviz.bert.classification.classifier import terms
from attnviz.bert.classification.examples import Examples
from attnviz.bert.classification.outcome import (
    NAMES,
    SEEDS,
    SeedResult,
    Share,
    TextWithoutWords,
    most_passes,
    spreads,
    verdict,
    without_words,
)
from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.figures.plots import Spec
from attnviz.formatting import number, percent
from attnviz.links.bert import MAX_SENTENCE
from attnviz.settings import settings
from attnviz.trace.trace import Trace
from attnviz.training.jobs.view import thinned_losses
from attnviz.ui import caches, shell, state
from attnviz.ui.bert.classifier import training
from attnviz.ui.bert.classifier.data import FORMAT, ClassifierKind, chosen_examples, file_refusal
from attnviz.ui.bert.classifier.training import (
    TrainedClassifier,
    job_of,
    pooled_texts,
    seed_results,
    trained_classifier,
)
from attnviz.ui.bert.parts import built_in, in_torch
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.training_jobs import keep, training_jobs, visitor
from attnviz.ui.widgets import notice, palette, plot

if TYPE_CHECKING:
    import pandas as pd

HIGHER = 1.6
"""How many times higher the plots are in a lecture"""
TRAINING_LINES = """with torch.no_grad():  # the model is frozen
    hidden = [model(**tokenizer(text, return_tensors="pt")) for text in texts]
features = torch.stack([one.last_hidden_state[0].mean(0) for one in hidden])
layer = nn.Linear({width}, {classes})  # all that learns
optimiser = torch.optim.AdamW(layer.parameters(), lr={rate:g}, weight_decay=0)
for step in range({steps}):
    rows = train[torch.randperm(len(train), generator=generator)[:{batch}]]
    loss = F.cross_entropy(layer(features[rows]), classes[rows])
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    optimiser.step()
accuracy = (layer(features[held_out]).argmax(-1) == classes[held_out]).float().mean()"""
LEARNERS = {"classifier": "linear layer", "bag_of_words": "bag of words", "majority": "most frequent class"}
PLAIN_WORDS = "plain"
"""The kind of texts that say what they mean in plain words"""
HEIGHT = 68
"""px: height of the text field, two lines"""
SENTENCE_LINES = """hidden = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
features = hidden.last_hidden_state[0].mean(0)  # ({width},)
logits = layer.weight @ features + layer.bias  # ({classes},)
probabilities = logits.softmax(-1)
from_cls = hidden.attentions[-1][0, :, 0]  # (H, T): where [CLS] looks in the last layer"""


def show_view(kind: ClassifierKind, views: Mapping[str, Callable[[TrainedClassifier], None]]) -> None:
    """Show the chosen one of `views`, which are keyed by name in links."""
    keep(visitor())
    training_jobs().prepare()
    examples = chosen_examples(kind)
    _choose(kind, examples)
    if examples is not None and (why := training.training_refusal(kind, examples)):
        st.warning(plain(why))
    if file_refusal() and kind.takes_files and settings().uploads:
        st.error(plain(file_refusal()))
    trained = trained_classifier(kind)
    if examples is not None and (trained is None or trained.view is None):
        _say_what_failed(examples)
    if trained is None:
        _say_what_is_missing(has_texts=examples is not None)
        return
    _say_what_is_cut(trained)
    views[state.get(kind.view_key)](trained)


def _choose(kind: ClassifierKind, examples: Examples | None) -> None:
    """Show the menu of views, and the buttons; a lesson shows neither."""
    if lesson_bar.is_open():
        return
    with st.container(horizontal=True, key="class_bar", vertical_alignment="center"):
        if not state.get("lecture"):
            state.choice(
                kind.view_key, st.segmented_control, "What is shown", required=True, label_visibility="collapsed"
            )
        live = training.live_job()
        if live is not None:
            st.button("Stop", key="class_stop", icon=":material/stop:", on_click=training.stop)
        else:
            goes_on = examples is not None and training.can_go_on(examples)
            if goes_on:
                st.button(
                    "Continue", key="class_continue", type="primary", icon=":material/play_arrow:",
                    on_click=training.go_on,
                )  # fmt: skip
            st.button(
                "Train", key="class_train", type="secondary" if goes_on else "primary", icon=":material/play_arrow:",
                on_click=training.train, args=(kind,),
                help="It takes a second or two. Another training of yours that goes on is stopped.",
            )  # fmt: skip
        if live is not None:
            st.caption(plain(training.progress_text(live.view)))


def _say_what_failed(examples: Examples) -> None:
    """Say why a training with these texts and settings has nothing to show, if it has failed."""
    job = job_of(examples)
    if job is not None and job.view.status in ("failed", "diverged") and job.view.message:
        st.error(plain(job.view.message))


def _say_what_is_cut(trained: TrainedClassifier) -> None:
    """Say how many texts of a user's file are truncated."""
    cut = trained.cut
    if cut:
        st.caption(
            f"{cut:,} of {len(trained.examples):,} texts {'has' if cut == 1 else 'have'} more than {SENTENCE_TOKENS} "
            f"tokens: the first {SENTENCE_TOKENS} are read."
        )


def _say_what_is_missing(*, has_texts: bool) -> None:
    """Say what has to be done before there is something to show."""
    if not has_texts:
        if not file_refusal():
            st.info(f"Upload a CSV file in **Settings**: {FORMAT}")
    elif not training.is_live():
        st.info("Press **Train**: a linear layer learns these classes in a second or two.")


def origin(trained: TrainedClassifier) -> str:
    """Say where the classifier comes from, in a sentence."""
    plan = trained.plan.training
    how = f"seed {plan.seed}, {plan.steps:,} steps, learning rate {plan.learning_rate:g}"
    features = "the mean over tokens" if trained.classifier.how == "mean" else "[CLS]"
    features += ", tanh first" if trained.classifier.tanh else ""
    if trained.shipped is not None:
        return f"Trained before the class, on {features}: {how}. Train makes one with the choices in Settings."
    if trained.view is not None and trained.view.status != "done":
        return f"{training.progress_text(trained.view)} On {features}: {how}."
    return f"Trained now, on {features}: {how}."


def show_plot(figure: Spec, key: str) -> None:
    """Show a figure, higher in a lecture, which has nothing below it."""
    if state.get("lecture"):
        layout = figure["layout"]
        figure = {**figure, "layout": {**layout, "height": int(HIGHER * layout["height"])}}
    plot(figure, key)


def show_result(trained: TrainedClassifier) -> None:
    """Show the result."""
    from attnviz.figures.classification import confusion, losses

    outcome, baselines = trained.outcome, trained.baselines
    with st.container(key="class_result"):
        st.markdown(
            f"**{percent(outcome.accuracy.value, 1)}** of {outcome.accuracy.total} held-out {trained.several} are "
            f"right (95 % interval {interval(outcome.accuracy)}); bag of words with logistic regression "
            f"**{percent(baselines.bag_of_words.value, 1)}**, the most frequent class "
            f"**{percent(baselines.majority.value, 1)}**."
        )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        steps, means = thinned_losses(trained.losses)
        show_plot(losses(steps, means, trained.evaluations[:, :2], palette()), "class_losses")
    with right:
        show_plot(confusion(outcome.confusion(), trained.examples.labels, palette()), "class_confusion")
    if not state.get("lecture"):
        st.caption(plain(origin(trained)))
    notice("Where the loss on held-out texts rises while that of training falls, the layer learns its texts by heart.")
    plan, shape = trained.plan.training, trained.classifier.weight.shape
    lines = TRAINING_LINES.format(
        width=shape[1], classes=shape[0], rate=plan.learning_rate, steps=plan.steps, batch=plan.batch
    )
    if trained.cut:
        lines = lines.replace("tokenizer(text, ", f"tokenizer(text, truncation=True, max_length={SENTENCE_TOKENS}, ")
    in_torch(features_in(lines, trained))


def features_in(lines: str, trained: TrainedClassifier) -> str:
    """Adapt torch code that takes the mean over tokens to the features of a classifier."""
    of_text = "last_hidden_state[0].mean(0)" if trained.classifier.how == "mean" else "last_hidden_state[0, 0]"
    return lines.replace("last_hidden_state[0].mean(0)", of_text + (".tanh()" if trained.classifier.tanh else ""))


def interval(share: Share) -> str:
    """Format an interval in percent."""
    return between(*share.interval, 1)


def between(low: float, high: float, digits: int = 0) -> str:
    """Return two shares as one range: "63.6 to 78.0 %"."""
    return f"{percent(low, digits).removesuffix(' %')} to {percent(high, digits)}"


def show_seeds(trained: TrainedClassifier) -> None:
    """Show the accuracies of five seeds beside the baselines."""
    from attnviz.figures.classification import seeds

    results = seed_results(trained)
    if len(results) == SEEDS:
        st.markdown(f"**{verdict(results, trained.kind.name)}**")
    else:
        st.markdown(
            f"{len(results)} of {SEEDS} seeds are trained with these settings. Each splits the texts anew, and draws "
            "other first weights and another order."
        )
    if results:
        names = [f"seed {result.seed}" for result in results]
        shares = {LEARNERS[name]: [result.share(name).value for result in results] for name in NAMES}
        left, right = st.columns(2, gap="medium")
        with left:
            show_plot(seeds(shares, names, palette()), "class_seeds")
        with right:
            st.table(seeds_table(results))
    if not (state.get("lecture") or training.is_live()):
        first = state.get("seed")
        st.button(
            f"Train with seeds {first} to {first + SEEDS - 1}", key="class_five", on_click=training.train,
            args=(trained.kind, SEEDS),
        )  # fmt: skip
    if not state.get("lecture"):
        st.caption(plain(origin(trained)))
    notice("One split may be lucky: what holds for five is worth more than the best of them.")


def seeds_table(results: list[SeedResult]) -> pd.DataFrame:
    """Return the accuracies in %: a row for each seed, then their mean and range."""
    import pandas as pd

    rows = {
        str(result.seed): {LEARNERS[name]: percent(result.share(name).value, 1) for name in NAMES} for result in results
    }
    if results:
        by_name = spreads(results)
        rows["mean"] = {LEARNERS[name]: percent(spread.mean, 1) for name, spread in by_name.items()}
        rows["range"] = {LEARNERS[name]: between(spread.low, spread.high) for name, spread in by_name.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("seed")


def show_mistakes(trained: TrainedClassifier) -> None:
    """Show the misclassified texts, and the accuracy by kind of text."""
    outcome = trained.outcome
    wrong, total = mistakes(trained), outcome.accuracy.total
    st.markdown(f"**{len(wrong)}** of {total} held-out {trained.several} are wrong, the most confident first:")
    by_kind = kinds(trained)
    left, right = st.columns([5, 3], gap="medium") if len(by_kind) else (st.container(), None)
    with left:
        st.html(mistakes_html(wrong))
    if right is not None:
        with right:
            st.markdown("Right, by kind of text:")
            st.table(by_kind)
            shares = outcome.by_kind(trained.examples.kinds)
            notice(weakness(min(shares, key=lambda kind: shares[kind].value)))


def weakness(kind: str) -> str:
    """Say which kind of text the classifier is weakest on, and why, if the kind explains it."""
    why = ": one vector for the whole text says which words are there, and little of what they do to each other"
    return f"It is weakest on “{kind}”{'' if kind == PLAIN_WORDS else why}."


def mistakes_html(wrong: pd.DataFrame) -> str:
    """Return the misclassified texts, each in full, as HTML."""
    cells = wrong.assign(probability=[percent(share, 1) for share in wrong["probability"]])
    head = "".join(f"<th>{escape(name)}</th>" for name in cells.columns)
    rows = "".join(_row(row) for row in cells.itertuples(index=False))
    opening = '<div class="mistakes" role="region" tabindex="0" aria-label="Texts that are wrong">'
    return f"{opening}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def mistakes(trained: TrainedClassifier) -> pd.DataFrame:
    """Return the misclassified held-out texts, the most confident first."""
    import pandas as pd

    outcome, examples = trained.outcome, trained.examples
    rows = [
        {
            "text": examples.texts[outcome.rows[place]],
            "is": examples.labels[outcome.classes[place]],
            "predicted": examples.labels[outcome.predicted[place]],
            "probability": float(outcome.confidence[place]),
            **({"kind": examples.kinds[outcome.rows[place]]} if examples.kinds else {}),
        }
        for place in outcome.wrong()
    ]
    names = ["text", "is", "predicted", "probability", *(["kind"] if examples.kinds else [])]
    return pd.DataFrame(rows, columns=names)


def kinds(trained: TrainedClassifier) -> pd.DataFrame:
    """Return the accuracy by kind of text; empty if kinds are not known."""
    import pandas as pd

    shares = trained.outcome.by_kind(trained.examples.kinds)
    rows = {
        name: {"right": percent(share.value, 1), "of": share.total, "95 % interval": interval(share)}
        for name, share in shares.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


@dataclass(frozen=True)
class TypedText:
    """A classifier's prediction for a text."""

    text: str
    features: Tensor
    """(C,)"""
    logits: Tensor
    """(K,)"""

    @property
    def probabilities(self) -> list[float]:
        """The probabilities of the classes, (K,)."""
        shares: list[float] = self.logits.softmax(-1).tolist()
        return shares

    @property
    def label(self) -> int:
        """The likeliest class."""
        return int(self.logits.argmax())


def text_field(trained: TrainedClassifier) -> str:
    """Show the text field, unless a scene hides it, and return its text; "" if it is blank."""
    key = trained.kind.text_key
    text: str = state.get(key)
    if text.strip() and lesson_bar.hides(key):
        return text
    text = state.bound(
        key, st.text_area, f"Your {trained.kind.text}", height=HEIGHT, max_chars=MAX_SENTENCE,
        placeholder=f"Type a {trained.kind.text}",
    )  # fmt: skip
    if not text.strip():
        st.info(f"Type a {trained.kind.text} to see what the linear layer makes of it.")
        return ""
    return text


def read_typed(trained: TrainedClassifier, text: str) -> TypedText:
    """Return a classifier's prediction for a text."""
    pooled = pooled_texts(text)
    return TypedText(text, trained.classifier.features(pooled)[0], trained.classifier.logits(pooled)[0])


def show_sentence(trained: TrainedClassifier) -> None:
    """Show the prediction for the typed sentence."""
    text = text_field(trained)
    if not text:
        return
    typed = read_typed(trained, text)
    labels = trained.examples.labels
    order = np.argsort(typed.probabilities)[::-1]
    with st.container(key="class_said"):
        st.markdown(" · ".join(f"{plain(labels[n])} **{percent(typed.probabilities[n], 1)}**" for n in order))
    left, right = st.columns(2, gap="medium")
    with left:
        show_words(trained, typed)
    with right:
        show_attention(typed.text)
    notice("Attention says where [CLS] looks; leaving a word out says what it does. The two need not agree.")
    show_arithmetic(trained, typed)
    in_torch(features_in(SENTENCE_LINES.format(width=trained.classifier.weight.shape[1], classes=len(labels)), trained))


def show_words(trained: TrainedClassifier, typed: TypedText) -> None:
    """Show how much the probability of the likeliest class falls without each word."""
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
    """Shorten several words to the first and the last."""
    several = words.split()
    return words if len(several) < 2 else f"{several[0]} … {several[-1]}"


def removals(trained: TrainedClassifier, typed: TypedText) -> tuple[list[TextWithoutWords], list[float]]:
    """Return what was left out each time, and how much the probability of the likeliest class falls then."""
    words = without_words(typed.text, most_passes(len(built_in().tokenize(typed.text))))
    if not words:
        return [], []
    pooled = pooled_texts(*(left_out.text for left_out in words))
    after = trained.classifier.probabilities(pooled)[:, typed.label]
    return words, (typed.probabilities[typed.label] - after).tolist()


def show_attention(text: str) -> None:
    """Show the last layer's attention from [CLS]: the mean over the heads, and a chosen head."""
    from attnviz.figures.classification import looks

    trace = caches.trace(built_in(), text, None)
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
    return trace.attentions(len(trace.blocks["encoder"]) - 1)[:, 0]


def show_arithmetic(trained: TrainedClassifier, typed: TypedText) -> None:
    """Write out each logit as a sum, and the softmax."""
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
    """Write out the likeliest class's softmax: the largest logit is subtracted first, so that no term is too large."""
    logits: list[float] = typed.logits.tolist()
    top = logits[typed.label]
    exponentials = [math.exp(logit - top) for logit in logits]
    largest = number(top, 3) if top >= 0 else f"({number(top, 3)})"
    terms_of = [f"e^({number(logit, 3)} − {largest})" for logit in logits]
    return (
        f"softmax: {terms_of[typed.label]} / ({' + '.join(terms_of)}) = "
        f"{number(exponentials[typed.label], 3)} / {number(sum(exponentials), 3)} = "
        f"**{number(typed.probabilities[typed.label], 4)}**, the probability of {plain(likeliest)}. The largest logit "
        "is subtracted from each, which changes no probability."
    )

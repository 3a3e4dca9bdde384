"""How good it is: accuracy with its interval beside the baselines, the loss over the steps, the confusion."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.bert.classification.outcome import Share
from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.ui import state
from attnviz.ui.bert.classifier.results import Shown
from attnviz.ui.bert.classifier.view import origin, percent, show_plot
from attnviz.ui.bert.look import in_torch
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice

MOST_POINTS = 400
LINES = """with torch.no_grad():  # the model is frozen
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


def show(here: Shown) -> None:
    """Show the result."""
    from attnviz.figures.classification import confusion, losses

    outcome, found = here.outcome, here.baselines
    st.markdown(
        f"**{percent(outcome.accuracy.value)}** of {outcome.accuracy.total} held-out {here.several} are right "
        f"(95 % interval {interval(outcome.accuracy)}); bag of words with logistic regression "
        f"**{percent(found.bag_of_words.value)}**, the most frequent class **{percent(found.majority.value)}**."
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        steps, means = _thinned(here.losses)
        show_plot(losses(steps, means, here.evaluations[:, :2], palette()), "class_losses")
    with right:
        show_plot(confusion(outcome.confusion(), here.examples.labels, palette()), "class_confusion")
    if not state.get("lecture"):
        st.caption(plain(origin(here)))
    notice("Where the loss on held-out texts rises while that of training falls, the layer learns its texts by heart.")
    training, model = here.plan.training, here.classifier.weight.shape
    lines = LINES.format(
        width=model[1], classes=model[0], rate=training.learning_rate, steps=training.steps, batch=training.batch
    )
    if here.cut:
        lines = lines.replace("tokenizer(text, ", f"tokenizer(text, truncation=True, max_length={SENTENCE_TOKENS}, ")
    in_torch(features_in(lines, here))


def features_in(lines: str, here: Shown) -> str:
    """Write the features of a classifier into lines of torch that take the mean."""
    of_text = "last_hidden_state[0].mean(0)" if here.classifier.how == "mean" else "last_hidden_state[0, 0]"
    return lines.replace("last_hidden_state[0].mean(0)", of_text + (".tanh()" if here.classifier.tanh else ""))


def interval(share: Share) -> str:
    """Write an interval in %."""
    low, high = share.interval
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def _thinned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `MOST_POINTS` steps and the means of the losses around them."""
    each = max(1, -(-len(values) // MOST_POINTS))
    starts = np.arange(0, len(values), each)
    if not len(starts):
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    sizes = np.diff(np.append(starts, len(values)))
    return (starts + (sizes - 1) / 2).astype(np.float32), np.add.reduceat(values, starts) / sizes

"""A classifier on the frozen model: a linear layer, trained in the page on film reviews or a user's CSV file.

Here are the part of the page, and what Export offers for it and for the agent: tables, and a script that trains the
same layer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.export.code.bert.uses import classifier_script
from attnviz.ui import state
from attnviz.ui.bert.classifier.data import CLASSIFIER, ClassifierKind, show_controls
from attnviz.ui.bert.classifier.training import TrainedClassifier, begin, is_live, seed_results, trained_classifier
from attnviz.ui.bert.classifier.views import (
    read_typed,
    removals,
    seeds_table,
    show_mistakes,
    show_result,
    show_seeds,
    show_sentence,
    show_view,
)
from attnviz.ui.bert.parts import Part

if TYPE_CHECKING:
    import pandas as pd


def tables_of(kind: ClassifierKind) -> dict[str, pd.DataFrame]:
    """Return tables of the texts, the held-out predictions, the losses, the seeds, and the typed text."""
    import pandas as pd

    trained = trained_classifier(kind)
    if trained is None:
        return {}
    outcome, examples = trained.outcome, trained.examples
    labels = examples.labels
    texts = {"text": examples.texts, "class": [labels[label] for label in examples.classes]}
    predictions = {
        "text": [examples.texts[row] for row in outcome.rows],
        "is": [labels[label] for label in outcome.classes],
        "predicted": [labels[label] for label in outcome.predicted],
        **{f"p({name})": outcome.probabilities[:, number] for number, name in enumerate(labels)},
    }
    steps, loss, accuracy = trained.evaluations.T
    measured = pd.DataFrame({"held-out loss": loss, "held-out accuracy": accuracy}, index=steps.astype(np.int64))
    return {
        "data": pd.DataFrame({**texts, **({"kind": examples.kinds} if examples.kinds else {})}),
        "held_out": pd.DataFrame(predictions, index=pd.Index(outcome.rows, name="row of data")),
        "confusion": pd.DataFrame(
            outcome.confusion(), pd.Index(labels, name="is"), [f"predicted {label}" for label in labels]
        ),
        "losses": pd.DataFrame({"training loss": trained.losses}).join(measured, how="outer").rename_axis("step"),
        "seeds": seeds_table(seed_results(trained)),
        **_of_text(trained),
    }


def _of_text(trained: TrainedClassifier) -> dict[str, pd.DataFrame]:
    """Return the prediction for the typed text, and how it changes without each word."""
    import pandas as pd

    text = state.get(trained.kind.text_key)
    if not text.strip():
        return {}
    typed = read_typed(trained, text)
    labels = trained.examples.labels
    words, changes = removals(trained, typed)
    return {
        "typed": pd.DataFrame({"logit": typed.logits.tolist(), "probability": typed.probabilities}, index=labels),
        "without_words": pd.DataFrame(
            {"left out": [left_out.words for left_out in words], f"adds to p({labels[typed.label]})": changes}
        ),
    }


def script_of(kind: ClassifierKind) -> str:
    """Return a script that trains the same layer and classifies the typed text with it."""
    trained = trained_classifier(kind)
    if trained is None:
        return ""
    classifier = trained.classifier
    return classifier_script(
        trained.plan, trained.examples.labels, state.get(kind.text_key), mean=classifier.how == "mean",
        tanh=classifier.tanh, accuracy=trained.outcome.accuracy.value, most=SENTENCE_TOKENS if trained.cut else 512,
    )  # fmt: skip


VIEWS = {"result": show_result, "sentence": show_sentence, "wrong": show_mistakes, "seeds": show_seeds}
"""Keyed by name in links"""

PART = Part(
    partial(show_view, CLASSIFIER, VIEWS),
    partial(tables_of, CLASSIFIER),
    partial(script_of, CLASSIFIER),
    controls=partial(show_controls, CLASSIFIER),
    begin=partial(begin, CLASSIFIER),
    is_live=is_live,
)

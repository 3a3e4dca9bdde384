"""What Export offers for a classifier: numbers as tables, and a script that trains the same layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.export.code.bert.uses import classifier_script
from attnviz.ui import state
from attnviz.ui.bert.classifier.data import ClassifierKind
from attnviz.ui.bert.classifier.training import TrainedClassifier, seed_results, trained_classifier
from attnviz.ui.bert.classifier.views import read_typed, removals, seeds_table

if TYPE_CHECKING:
    import pandas as pd


def tables_of(kind: ClassifierKind) -> dict[str, pd.DataFrame]:
    """Return tables of the texts, the held-out predictions, the losses, the seeds, and the typed text."""
    trained = trained_classifier(kind)
    if trained is None:
        return {}
    tables = {
        "data": data_table(trained), "held_out": held_out_table(trained), "confusion": confusion_table(trained),
        "losses": losses_table(trained), "seeds": seeds_table(seed_results(trained)),
    }  # fmt: skip
    return {**tables, **_of_text(trained)}


def data_table(trained: TrainedClassifier) -> pd.DataFrame:
    """Return all texts with their classes, in the order of the file."""
    import pandas as pd

    examples = trained.examples
    columns = {"text": examples.texts, "class": [examples.labels[label] for label in examples.classes]}
    return pd.DataFrame({**columns, **({"kind": examples.kinds} if examples.kinds else {})})


def held_out_table(trained: TrainedClassifier) -> pd.DataFrame:
    """Return the held-out texts with the probabilities of the classes."""
    import pandas as pd

    outcome, examples = trained.outcome, trained.examples
    columns = {
        "text": [examples.texts[row] for row in outcome.rows],
        "is": [examples.labels[label] for label in outcome.classes],
        "predicted": [examples.labels[label] for label in outcome.predicted],
    }
    shares = {f"p({name})": outcome.probabilities[:, number] for number, name in enumerate(examples.labels)}
    return pd.DataFrame({**columns, **shares}, index=pd.Index(outcome.rows, name="row of data"))


def confusion_table(trained: TrainedClassifier) -> pd.DataFrame:
    """Return the confusion matrix."""
    import pandas as pd

    labels = trained.examples.labels
    return pd.DataFrame(
        trained.outcome.confusion(),
        index=pd.Index(labels, name="is"),
        columns=[f"predicted {label}" for label in labels],
    )


def losses_table(trained: TrainedClassifier) -> pd.DataFrame:
    """Return the loss of each step, and loss and accuracy on held-out texts where they were measured."""
    import pandas as pd

    losses = pd.DataFrame({"training loss": trained.losses})
    steps, loss, accuracy = trained.evaluations.T
    held = pd.DataFrame({"held-out loss": loss, "held-out accuracy": accuracy}, index=steps.astype(np.int64))
    return losses.join(held, how="outer").rename_axis("step")


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

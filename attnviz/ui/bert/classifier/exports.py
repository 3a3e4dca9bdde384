"""What Export gives of the classifier and the agent: numbers as tables, and a script that trains the same layer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.export.code.bert_use import classifier_script
from attnviz.ui import state
from attnviz.ui.bert.classifier.data import chosen
from attnviz.ui.bert.classifier.results import Shown, seed_results, shown
from attnviz.ui.bert.classifier.seeds import table
from attnviz.ui.bert.classifier.sentence import removals, typed
from attnviz.ui.bert.classifier.what import CLASSIFIER, What


def tables() -> dict[str, pd.DataFrame]:
    """Return the tables of the classifier."""
    return tables_of(CLASSIFIER)


def script() -> str:
    """Return the script of the classifier."""
    return script_of(CLASSIFIER)


def tables_of(what: What) -> dict[str, pd.DataFrame]:
    """Return the texts, what is said of those that were held out, the losses, the seeds, and the typed text."""
    here = shown(what) if chosen(what) is not None else None
    if here is None:
        return {}
    found = {
        "data": data_table(here), "held_out": held_out_table(here), "confusion": confusion_table(here),
        "losses": losses_table(here), "seeds": table(seed_results(here)),
    }  # fmt: skip
    return {**found, **_of_text(here)}


def data_table(here: Shown) -> pd.DataFrame:
    """Return all texts with their classes, in the order of the file."""
    examples = here.examples
    columns = {"text": examples.texts, "class": [examples.labels[one] for one in examples.classes]}
    return pd.DataFrame({**columns, **({"kind": examples.kinds} if examples.kinds else {})})


def held_out_table(here: Shown) -> pd.DataFrame:
    """Return the held-out texts with the probabilities of the classes."""
    outcome, examples = here.outcome, here.examples
    columns = {
        "text": [examples.texts[row] for row in outcome.rows],
        "is": [examples.labels[one] for one in outcome.classes],
        "predicted": [examples.labels[one] for one in outcome.predicted],
    }
    shares = {f"p({name})": outcome.probabilities[:, number] for number, name in enumerate(examples.labels)}
    return pd.DataFrame({**columns, **shares}, index=pd.Index(outcome.rows, name="row of data"))


def confusion_table(here: Shown) -> pd.DataFrame:
    """Return the confusion matrix."""
    labels = here.examples.labels
    return pd.DataFrame(
        here.outcome.confusion(), index=pd.Index(labels, name="is"), columns=[f"predicted {one}" for one in labels]
    )


def losses_table(here: Shown) -> pd.DataFrame:
    """Return the losses of all steps, and those on held-out texts where they were measured."""
    losses = pd.DataFrame({"training loss": here.losses})
    steps, loss, accuracy = here.evaluations.T
    held = pd.DataFrame({"held-out loss": loss, "held-out accuracy": accuracy}, index=steps.astype(np.int64))
    return losses.join(held, how="outer").rename_axis("step")


def _of_text(here: Shown) -> dict[str, pd.DataFrame]:
    """Return what is said of the typed text, and without each of its words."""
    text = state.get(here.what.text_key)
    if not text.strip():
        return {}
    found = typed(here, text)
    labels = here.examples.labels
    words, changes = removals(here, found)
    return {
        "typed": pd.DataFrame({"logit": found.logits.tolist(), "probability": found.probabilities}, index=labels),
        "without_words": pd.DataFrame(
            {"left out": [one.words for one in words], f"adds to p({labels[found.label]})": changes}
        ),
    }


def script_of(what: What) -> str:
    """Return a script that trains the layer that is shown, and reads the typed text with it."""
    here = shown(what) if chosen(what) is not None else None
    if here is None:
        return ""
    classifier = here.classifier
    return classifier_script(
        here.plan, here.examples.labels, state.get(what.text_key), mean=classifier.how == "mean", tanh=classifier.tanh,
        accuracy=here.outcome.accuracy.value, most=SENTENCE_TOKENS if here.cut else 512,
    )  # fmt: skip

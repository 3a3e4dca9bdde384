"""What Export gives of the part: its numbers as tables, and a script of plain torch and transformers."""

from __future__ import annotations

import pandas as pd

from attnviz.bert.ablation import cosine, sentence_embedding
from attnviz.export.code.bert_use import without_script
from attnviz.tokens import NoTokensError
from attnviz.ui import state
from attnviz.ui.bert.look import built_in
from attnviz.ui.bert.without.classifier import probabilities
from attnviz.ui.bert.without.results import Found, effects_of, found, measures_of, off_in
from attnviz.ui.bert.without.search import ranking
from attnviz.ui.bert.without.table import heads_table


def _found() -> Found | None:
    """Return what the view shows; None if its text has no token."""
    try:
        return found(state.get("text")) if state.get("text").strip() else None
    except NoTokensError:
        return None


def tables() -> dict[str, pd.DataFrame]:
    """Return the cosine of each token, all heads if they are measured, the classifier and the ranking."""
    here = _found()
    if here is None:
        return {}
    before, labels = here.trace.last_hidden_state, here.trace.tokens.labels
    whole = cosine(sentence_embedding(before), sentence_embedding(here.after))
    rows = {"token": [*labels, "sentence"], "cosine": [*cosine(before, here.after).tolist(), float(whole)]}
    found_ = {"output": pd.DataFrame(rows)}
    effects = effects_of(here)
    if effects is not None:
        found_["heads"] = heads_table(effects, measures_of(here))
    return {**found_, "classifier": probabilities(here), "search": ranking(here)}


def script() -> str:
    """Return the script of the view."""
    return without_script(state.get("text"), off_in(built_in()), by_mean=state.get("off_by") == "mean")

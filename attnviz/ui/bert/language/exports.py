"""What Export gives of the first language model: what comes out of each row, its weights, and the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from attnviz.bert.blocks import KEPT
from attnviz.export.code.bert import language_script
from attnviz.links.link import KEYS
from attnviz.ui import state
from attnviz.ui.bert.language.results import Change, change_of, made_of, moved_by, setup_of
from attnviz.ui.bert.look import built_in
from attnviz.ui.bert.rows import numbered

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.tokens import Tokens


def change_in(model: BuiltInModel, tokens: Tokens) -> Change | None:
    """Return the change of the text's last word that the view wants; None if there is none."""
    change = change_of(model, tokens, state.get("other").strip() or KEYS["other"].default)
    return None if change is None or tokens.ids[change.place] == change.token else change


def tables() -> dict[str, pd.DataFrame]:
    """Return the likeliest tokens of each row, and the weights of the shown block."""
    from attnviz.bert.table import table_of

    if not state.get("text").strip():
        return {}
    model, setup = built_in(), setup_of()
    tokens, labels = model.tokenize(state.get("text")), table_of(model).labels
    made, names = made_of(model, tokens, setup), numbered(tokens.labels)
    rows: dict[str, object] = {"token": tokens.labels, "id": tokens.ids}
    for place in range(made.guesses.tokens.shape[1]):
        ids = made.guesses.tokens[:, place].tolist()
        rows |= {f"out {place}": [labels[one] for one in ids], f"id {place}": ids}
        rows |= {f"probability {place}": made.guesses.probabilities[:, place].numpy()}
    change = change_in(model, tokens)
    if change is not None:
        rows["largest change of a logit"] = moved_by(model, tokens, setup, change).numpy()
    block = min(state.get("lm_block"), setup.blocks - 1)
    weights = pd.DataFrame(made.stack.weights[block].numpy(), index=names, columns=names)
    return {"language_model": pd.DataFrame(rows).rename_axis("row"), f"weights_of_block_{block}": weights}


def script() -> str:
    """Return the script that computes what is shown."""
    if not state.get("text").strip():
        return ""
    model = built_in()
    tokens = model.tokenize(state.get("text"))
    change = change_in(model, tokens)
    changed = None if change is None else (change.place, change.token)
    return language_script(tokens.text, tokens.ids, setup_of(), limit=model.max_tokens, kept=KEPT, change=changed)

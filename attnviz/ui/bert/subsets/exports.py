"""What Export gives of heads on subsets: the chosen row under each softmax, how far they differ, and the script."""

from __future__ import annotations

from functools import partial

import pandas as pd

from attnviz.bert.blocks import row_of
from attnviz.export.code.bert import subsets_script
from attnviz.ui import state
from attnviz.ui.bert.look import built_in
from attnviz.ui.bert.rows import chosen_row, numbered
from attnviz.ui.bert.subsets.results import names, subsets_of, telling_row


def tables() -> dict[str, pd.DataFrame]:
    """Return the weights of the chosen row with what is measured of them, and the differences between any two."""
    if not state.get("text").strip():
        return {}
    model = built_in()
    tokens = model.tokenize(state.get("text"))
    subsets = subsets_of(model, tokens)
    place = chosen_row(tokens, partial(telling_row, subsets, tokens))
    row, named, labels = row_of(subsets, place), names(subsets.heads), numbered(tokens.labels)
    weights = pd.DataFrame(row.weights.numpy(), index=named, columns=labels)
    measured = {
        "largest key": [labels[key] for key in row.largest],
        "largest other key": ["" if key is None else labels[key] for key in row.other],
        "entropy (bits)": row.entropy.numpy(),
    }
    differences = pd.DataFrame(row.difference.numpy(), index=named, columns=named)
    return {f"row_{place}": weights.assign(**measured), f"differences_of_row_{place}": differences}


def script() -> str:
    """Return the script that computes what is shown."""
    if not state.get("text").strip():
        return ""
    model = built_in()
    tokens = model.tokenize(state.get("text"))
    subsets = subsets_of(model, tokens)
    row = chosen_row(tokens, partial(telling_row, subsets, tokens))
    return subsets_script(tokens.text, tokens.ids, limit=model.max_tokens, heads=subsets.heads, row=row)

"""What Export gives of There and back: the candidates of each token, the nearest neighbours, and a script."""

from __future__ import annotations

import pandas as pd

from attnviz.ui.bert.back.chosen import Chosen, chosen_of, place_of
from attnviz.ui.bert.back.near import token_of
from attnviz.ui.bert.models import current


def tables() -> dict[str, pd.DataFrame]:
    """Return the candidates of each token, and the neighbours of the chosen one."""
    found = chosen_of(current())
    if found is None:
        return {}
    made = {"there_and_back": _candidates(found)}
    token = token_of(found, place_of(found.tokens))
    return made if token is None else made | {"neighbours": _neighbours(found, token)}


def _candidates(found: Chosen) -> pd.DataFrame:
    back, labels = found.back(), found.table.labels
    table = pd.DataFrame(
        {
            "token": found.tokens.labels, "id": back.ids, "comes back": back.returns.tolist(),
            "own logit": back.own.tolist(), "margin": back.margin.tolist(),
        }
    )  # fmt: skip
    for place in range(back.tokens.shape[1]):
        rank = place + 1
        table[f"candidate {rank}"] = [labels[token] for token in back.tokens[:, place].tolist()]
        table[f"logit {rank}"] = back.logits[:, place].tolist()
        table[f"probability {rank}"] = back.probabilities[:, place].tolist()
    return table.rename_axis("position")


def _neighbours(found: Chosen, token: int) -> pd.DataFrame:
    near, labels = found.near(token), found.table.labels
    columns = {
        "by cosine": [labels[one] for one in near.by_cosine.tolist()], "cosine": near.cosines.tolist(),
        "by dot product": [labels[one] for one in near.by_product.tolist()], "dot product": near.products.tolist(),
    }  # fmt: skip
    return pd.DataFrame(columns, index=pd.RangeIndex(1, len(near.cosines) + 1, name=f"nearest to {labels[token]}"))


def script() -> str:
    """Return the script that prints what is shown; empty if there is no text."""
    from attnviz.export.code.bert.back import Settings, back_script

    found = chosen_of(current())
    if found is None:
        return ""
    place = place_of(found.tokens)
    token = token_of(found, place)
    return back_script(
        Settings(found.is_random, found.is_unit, found.seed, found.scale),
        model=found.model.name.strip(), text=found.tokens.text, ids=found.tokens.ids, limit=found.model.max_tokens,
        place=place, token=found.tokens.ids[place] if token is None else token, shown=found.back().likeliest,
    )  # fmt: skip

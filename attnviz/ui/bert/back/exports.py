"""What Export gives of There and back: each token's candidates, neighbours, what the output layer favours, a script."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import torch

from attnviz.ui.bert.back.bias import label_in
from attnviz.ui.bert.back.chosen import Chosen, chosen_of, place_of
from attnviz.ui.bert.back.near import token_of
from attnviz.ui.bert.models import current


def tables() -> dict[str, pd.DataFrame]:
    """Return the candidates of each token, what the output layer favours, and the neighbours of the chosen token."""
    found = chosen_of(current())
    if found is None:
        return {}
    made = {"there_and_back": _candidates(found), "output_layer": _favoured(found)}
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


def _favoured(found: Chosen) -> pd.DataFrame:
    favoured = found.favoured()
    tokens, numbers = torch.cat([favoured.most, favoured.least]), torch.cat([favoured.largest, favoured.smallest])
    columns = {
        "token": [label_in(found, token) for token in tokens.tolist()], "id": tokens.tolist(),
        favoured.by: numbers.tolist(),
    }  # fmt: skip
    if favoured.by == "bias":
        columns["softmax of the bias"] = favoured.probabilities(numbers).tolist()
    count = len(favoured.most)
    ends = [f"{end} {rank}" for end in ("largest", "smallest") for rank in range(1, count + 1)]
    return pd.DataFrame(columns, index=pd.Index(ends, name="rank"))


def script() -> str:
    """Return the script that prints what is shown; empty if there is no text."""
    from attnviz.export.code.bert import BackSettings, back_script

    found = chosen_of(current())
    if found is None:
        return ""
    place = place_of(found.tokens)
    token = token_of(found, place)
    kind: Literal["MaskedLM", "CausalLM"] = "CausalLM" if "decoder" in found.model.description.layers else "MaskedLM"
    return back_script(
        BackSettings(found.is_random, found.is_unit, found.seed, found.scale, None if found.bias is None else kind),
        model=found.model.name.strip(), text=found.tokens.text, ids=found.tokens.ids, limit=found.model.max_tokens,
        place=place, token=found.tokens.ids[place] if token is None else token, shown=found.back().likeliest,
    )  # fmt: skip

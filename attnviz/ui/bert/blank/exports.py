"""What Export gives of blanks: the likeliest tokens for each mask, and the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from attnviz.bert.blank import label_for, lacks, mask_of, read
from attnviz.export.code.bert import blank_script
from attnviz.ui import state
from attnviz.ui.bert import models
from attnviz.ui.bert.blank.results import blanks_of

if TYPE_CHECKING:
    from attnviz.bert.blank import Blanks
    from attnviz.pretrained import PretrainedModel


def tables() -> dict[str, pd.DataFrame]:
    """Return the likeliest tokens: a row for each mask and token."""
    model = models.current()
    blanks = _found(model)
    if blanks is None:
        return {}
    rows = [
        (place, rank + 1, label_for(model, token), token, logit, probability)
        for number, place in enumerate(blanks.places)
        for rank, (token, logit, probability) in enumerate(
            zip(*(one[number].tolist() for one in (blanks.ids, blanks.logits, blanks.probabilities)), strict=True)
        )
    ]
    columns = ["position", "rank", "token", "id", "logit", "probability"]
    return {"blanks": pd.DataFrame(rows, columns=columns).set_index("position")}


def script() -> str:
    """Return the script that computes what is shown."""
    model = models.current()
    blanks, mask = _found(model), mask_of(model)
    if blanks is None or mask is None:
        return ""
    ids = [mask if place in blanks.places else one for place, one in enumerate(blanks.tokens.ids)]
    return blank_script(model.name.strip(), ids, mask, kept=blanks.ids.shape[1])


def _found(model: PretrainedModel) -> Blanks | None:
    """Return what the model expects in the blanks of the view; None if there is nothing to be filled."""
    text = state.get("text")
    return None if lacks(model) or not text.strip() else blanks_of(model, read(model, text))

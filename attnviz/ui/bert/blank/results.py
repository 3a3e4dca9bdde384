"""What the chosen model expects in the blanks of the view's text, once for all sessions."""

from __future__ import annotations

from functools import partial

from attnviz.bert.blank import Blanks, fill, last_word, maskable, masks_in
from attnviz.pretrained import PretrainedModel
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.caches import result

NBYTES = 4 * 2**20
"""Thousands of sentences"""


def chosen_of(model: PretrainedModel, tokens: Tokens) -> tuple[int, ...]:
    """Return the positions that are masked beside the masks of the text: the view's, or the last word, or none."""
    place = state.get("blank_at")
    if place is not None and place in maskable(model, tokens):
        return (place,)
    if masks_in(model, tokens):
        return ()
    last = last_word(model, tokens)
    return () if last is None else (last,)


def blanks_of(model: PretrainedModel, tokens: Tokens) -> Blanks | None:
    """Return what a model expects in the blanks; None if there is nothing that could be masked.

    `tokens` are those of `attnviz.bert.blank.read`, and the model lacks nothing.
    """
    chosen = chosen_of(model, tokens)
    if not chosen and not masks_in(model, tokens):
        return None
    kept = state.get("blank_kept")
    key = model.name, model.trace_budget.number, tokens.text, chosen, kept
    return result("blanks", NBYTES, key, partial(fill, model, tokens, chosen, kept=kept))

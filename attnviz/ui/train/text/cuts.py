"""How the chosen text is cut into the sequences to train on: the first ones, their number, what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import streamlit as st
import torch

from attnviz.training.plan import Plan
from attnviz.training.text.cut import Cut, sequences_of, settings_of
from attnviz.ui.train.text.facts import Facts

SHOWN, DRAWN = 4, 3
"""Sequences that are shown: the first ones of a text that is cut line by line, or of the first batch of blocks"""
_KEPT = "train_text_cut"
"""The last cut of the session, which is looked at again and again while a training goes on"""


def cut_of(facts: Facts, plan: Plan) -> Mapping[str, Any]:
    """Return `LadderCut` of frontend/types/ladder.d.ts: the cut of a plan, of the training part of a text."""
    if plan.cut == "blocks":
        return {"name": plan.cut, "lines": None}
    key, kept = (facts.digest, plan.cut, plan.block_size), st.session_state.get(_KEPT)
    if kept is None or kept[0] != key:
        kept = st.session_state[_KEPT] = (key, lines_of(facts, plan.cut, plan.block_size))
    return {"name": plan.cut, "lines": kept[1]}


def drawn_of(facts: Facts, plan: Plan) -> list[dict[str, Any]]:
    """Return the first blocks of the first batch that a plan draws, each with the character after it."""
    places = facts.train - plan.block_size
    if plan.cut != "blocks" or places < 1:
        return []
    generator = torch.Generator().manual_seed(plan.training.seed)
    starts = torch.randint(places, (plan.training.batch, 1), generator=generator)[:DRAWN, 0].tolist()
    return [_sequence(facts, start, start + plan.block_size + 1, 0) for start in starts]


def lines_of(facts: Facts, cut: Cut, most: int) -> dict[str, Any]:
    """Return `LadderLines` of frontend/types/ladder.d.ts."""
    train, settings = facts.text[: facts.train], settings_of(cut, most)
    found = list(sequences_of(train, cut, most))
    lines = [len(line) for line in train.split("\n") if line]
    lengths = [stop - start for start, stop in found]
    repeated = [max(0, before - start) for (_, before), (start, _) in pairwise(found)]
    first = [(start, stop, again) for (start, stop), again in zip(found, [0, *repeated], strict=False)]
    return {
        "most": most, "least": settings.least, "overlap": settings.overlap,
        "count": len(lines), "short": sum(length < settings.least for length in lines),
        "sequences": len(found), "lengths": [min(lengths), max(lengths)] if found else [0, 0],
        "ends": sum(train[stop - 1] == "\n" for _, stop in found),
        "repeated": sum(repeated), "dropped": len(train) - (sum(lengths) - sum(repeated)),
        "validation": sum(1 for _ in sequences_of(facts.text[facts.train :], cut, most)),
        "shown": [_sequence(facts, *one) for one in islice(first, SHOWN)],
    }  # fmt: skip


def _sequence(facts: Facts, start: int, stop: int, repeated: int) -> dict[str, Any]:
    return {"start": start, "ids": _ids(facts.labels, facts.text[start:stop]), "repeated": repeated}


def _ids(labels: Sequence[str], text: str) -> list[int]:
    return [labels.index(character) for character in text]

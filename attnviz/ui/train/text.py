"""The session's text to train on, and what is known of it before any training: pairs, floor, blocks, how it is cut.

It is the built-in corpus, a text that the visitor has pasted or uploaded, or a part of it. No link holds the text. A
part, such as a chapter of a book, is a range of characters, which a search for words finds.

Shapes: N characters of the text, V different ones, K of them in the table of pairs, B blocks of T characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import islice, pairwise
from string import ascii_letters
from typing import Any

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnviz.formatting import percent
from attnviz.settings import settings
from attnviz.tokens import label_of
from attnviz.toy.language.model import BigramModel, count_pairs
from attnviz.training.plan import Plan
from attnviz.training.series import SERIES
from attnviz.training.text.corpus import built_in
from attnviz.training.text.cut import Cut, sequences_of, settings_of
from attnviz.training.text.subject import Text, TextError, as_read, check_length, check_lines, validation_loss
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.tokens.choices import OwnText
from attnviz.ui.widgets import PASTED_HEIGHT, settings_popover

MOST_CHARACTERS = 1000
"""Maximum different characters: a bigram model has the square of their number as parameters"""
MOST_SHOWN = 96
"""Maximum characters in the table of pairs; for a text with more, the most frequent ones"""
FIRST_IDS = 50
BLOCKS, BLOCK = 4, 8
"""The number of blocks whose loss is written out, and the maximum characters of each"""
LINES_SHOWN, BLOCKS_DRAWN = 4, 3
"""Sequences shown: the first ones of a text that is cut line by line, or of the first batch of blocks"""
VOWELS = "aeiou"
"""English vowels, in either case. The other letters from a to z, y too, are consonants; accented letters are neither"""
ENDS = ("text_from", "text_to")
HITS, AROUND = 4, 24
"""Maximum search hits listed, and the characters shown of each"""
LONGEST = 100
"""Maximum characters of a search"""
_WORDS = "train_text_words"


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """A checked text, with what is shown of it."""

    text: str = field(repr=False)
    digest: str
    """Identifies the text"""
    labels: tuple[str, ...]
    """(V,): the characters, in order of their ids"""
    train: int
    """How many characters at the beginning are trained on"""
    first: tuple[int, ...]
    """The first ids of the text"""
    shown: tuple[int, ...]
    """(K,): the ids of the characters in the table, in order"""
    counts: NDArray[np.float32]
    """(K, K): how often j follows i in the training part"""
    totals: NDArray[np.float32]
    """(K,): how often anything follows i there"""
    vowels: Mapping[str, int] | None
    """How often vowels follow consonants there (`vowels_in`); None if there is nothing to compare"""
    floor: float
    """The counted table's loss over the validation part, in nats a character, with 1 added to each count"""
    blocks: tuple[tuple[int, ...], ...]
    """(B, T + 1): blocks of the validation part, each with the character after it"""

    @property
    def is_built_in(self) -> bool:
        """Whether it is the built-in corpus."""
        return self is built_in_facts()

    def told(self) -> dict[str, Any]:
        """Return `SeriesText` of frontend/types/model_series.d.ts."""
        return {
            "is_built_in": self.is_built_in, "size": len(self.text), "train": self.train,
            "labels": [label_of(label) for label in self.labels], "characters": list(self.labels),
            "first": list(self.first), "shown": list(self.shown), "floor": self.floor,
            "blocks": [list(block) for block in self.blocks],
            "vowels": self.vowels,
        }  # fmt: skip


def facts_of(text: str) -> Facts:
    """Check a text, and count its pairs.

    Raises:
        TextError: it can't be trained on; the message is a sentence for the user.
    """
    text = as_read(text)
    different = len(set(text))
    if different > MOST_CHARACTERS:
        raise TextError(
            f"This text has {different:,} different characters; models of characters are trained here on at most "
            f"{MOST_CHARACTERS:,}."
        )
    block = min(getattr(stage.config(1), "block_size", BLOCK) for stage in SERIES)
    subject = Text(text, block)
    vocabulary = len(subject.labels)
    counts = count_pairs(subject.train, vocabulary)
    totals = counts.sum(dim=1)
    shown = totals.argsort(descending=True, stable=True)[:MOST_SHOWN].sort().values
    floor = validation_loss(BigramModel.by_counting(subject.train, vocabulary, smoothing=1), subject.validation, block)
    return Facts(
        text=text, digest=blake2b(text.encode(), digest_size=12).hexdigest(), labels=subject.labels,
        train=len(subject.train), first=tuple(subject.ids[:FIRST_IDS].tolist()), shown=tuple(shown.tolist()),
        counts=_frozen(counts[shown][:, shown]), totals=_frozen(totals[shown]), floor=floor,
        vowels=vowels_in(subject.train, counts, subject.labels),
        blocks=_blocks(subject.validation),
    )  # fmt: skip


@cache
def built_in_facts() -> Facts:
    """Return the facts of the built-in corpus."""
    return facts_of(built_in())


def fits(facts: Facts, cut: Cut, block: int) -> str:
    """Return a sentence that says why a text can't be cut so, or is too short for a block size; "" if it fits."""
    try:
        check_length(len(facts.text), block)
        if cut != "blocks":
            check_lines(facts.text, cut, block)
    except TextError as error:
        return str(error)
    return ""


def _frozen(numbers: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = numbers.numpy().astype(np.float32)
    array.setflags(write=False)
    return array


def _blocks(validation: Tensor) -> tuple[tuple[int, ...], ...]:
    """Return blocks that start at evenly spaced places of the validation part."""
    length = min(BLOCK, len(validation) - 1)
    starts = np.linspace(0, len(validation) - length - 1, BLOCKS).astype(int).tolist()
    return tuple(tuple(validation[start : start + length + 1].tolist()) for start in starts)


def drawn_of(facts: Facts, plan: Plan) -> list[dict[str, Any]]:
    """Return the first blocks of the first batch that a plan draws, each with the character after it."""
    places = facts.train - plan.block_size
    if plan.cut != "blocks" or places < 1:
        return []
    generator = torch.Generator().manual_seed(plan.training.seed)
    starts = torch.randint(places, (plan.training.batch, 1), generator=generator)[:BLOCKS_DRAWN, 0].tolist()
    return [_sequence(facts, start, start + plan.block_size + 1, 0) for start in starts]


def lines_of(facts: Facts, cut: Cut, most: int) -> dict[str, Any]:
    """Return `SeriesLines` of frontend/types/model_series.d.ts."""
    train, settings = facts.text[: facts.train], settings_of(cut, most)
    spans = list(sequences_of(train, cut, most))
    lines = [len(line) for line in train.split("\n") if line]
    lengths = [stop - start for start, stop in spans]
    repeated = [max(0, before - start) for (_, before), (start, _) in pairwise(spans)]
    first = [(start, stop, again) for (start, stop), again in zip(spans, [0, *repeated], strict=False)]
    return {
        "most": most, "least": settings.least, "overlap": settings.overlap,
        "count": len(lines), "short": sum(length < settings.least for length in lines),
        "sequences": len(spans), "lengths": [min(lengths), max(lengths)] if spans else [0, 0],
        "ends": sum(train[stop - 1] == "\n" for _, stop in spans),
        "repeated": sum(repeated), "dropped": len(train) - (sum(lengths) - sum(repeated)),
        "validation": sum(1 for _ in sequences_of(facts.text[facts.train :], cut, most)),
        "shown": [_sequence(facts, *span) for span in islice(first, LINES_SHOWN)],
    }  # fmt: skip


def _sequence(facts: Facts, start: int, stop: int, repeated: int) -> dict[str, Any]:
    ids = [facts.labels.index(character) for character in facts.text[start:stop]]
    return {"start": start, "ids": ids, "repeated": repeated}


def vowels_in(ids: Tensor, counts: Tensor, labels: Sequence[str]) -> Mapping[str, int] | None:
    """Count vowels after consonants, and vowels.

    Args:
        ids: (N,), the text.
        counts: (V, V), how often j follows i in it.
        labels: the V characters.

    Returns:
        `followed`, the pairs of a consonant and the character after it; `by_vowel`, those of them whose second
        character is a vowel; `characters`, N; and `vowels`, how many of these are vowels. None if the text has no
        vowel, or no consonant with a character after it: there is nothing to compare.
    """
    vowel = torch.tensor([len(label) == 1 and label.lower() in VOWELS for label in labels])
    consonant = torch.tensor([label in ascii_letters for label in labels]) & ~vowel
    after = counts[consonant]
    followed, vowels = int(after.sum()), int(vowel[ids].sum())
    counted = {"followed": followed, "by_vowel": int(after[:, vowel].sum()), "characters": len(ids), "vowels": vowels}
    return counted if followed and vowels else None


@dataclass(slots=True)
class _TextRecord:
    """What a session keeps of its text: a running training reads its facts and its lines at each refresh."""

    part: state.Last[tuple[Facts | None, str]] = field(default_factory=state.Last)
    """The chosen part's facts and ""; None and the reason if it can't be trained on"""
    lines: state.Last[dict[str, Any]] = field(default_factory=state.Last)
    """How the text is cut line by line"""


def part_of(whole: Facts) -> tuple[Facts, str]:
    """Return the chosen part and ""; if it can't be trained on, the whole text and the reason."""
    begin, end = _bounds(whole)
    if (begin, end) == (0, len(whole.text)):
        return whole, ""
    if begin >= end:
        return whole, f"The part has no text: it would begin at character {begin:,} and end at {end:,}."

    def read() -> tuple[Facts | None, str]:
        try:
            return facts_of(whole.text[begin:end]), ""
        except TextError as why:
            return None, f"The part from character {begin:,} to {end:,} is not used. {why}"

    part, why = state.record(_TextRecord).part.get((whole.digest, begin, end), read)
    return part or whole, why


def _bounds(whole: Facts) -> tuple[int, int]:
    begin, end = (state.get(key) for key in ENDS)
    count = len(whole.text)
    return min(begin or 0, count), count if end is None else min(end, count)


def part_choice() -> None:
    """Let the user choose a part of the text, such as one chapter, by fields that are folded."""
    whole = _whole()
    count = len(whole.text)
    for key in ENDS:
        state.sync_widget(key)  # the popover's label comes before its fields
        if (state.get(key) or 0) > count:
            state.put(key, None)
            state.note(f"The text has {count:,} characters, so {key} is left out.")
    begin, end = _bounds(whole)
    is_part = (begin, end) != (0, count)
    shown = f"Characters {begin:,}–{end:,}" if is_part else "The whole text"
    with settings_popover(shown, "text_part", width="stretch") as control:
        if control.open:
            left, right = st.columns(2)
            for key, column, label, other in (
                (ENDS[0], left, "From character", "the first"),
                (ENDS[1], right, "To character", "the last"),
            ):
                with column:
                    state.bound(
                        key, st.number_input, label, 0, count, None, 1000, placeholder=other, on_change=forget_reading
                    )
            _find(whole)
            part = whole.text[begin:end]
            st.caption(
                f"text[{begin}:{end}] is {len(part):,} of {count:,} characters, {percent(len(part) / count)}: "
                f"“{plain(part[:AROUND])} … {plain(part[-AROUND:])}”"
            )


def _find(whole: Facts) -> None:
    """Search for words, and show buttons that make the part begin or end at a hit."""
    words = st.text_input(
        "Find a place", key=_WORDS, max_chars=LONGEST, placeholder="words such as a chapter's title"
    ).strip()[:LONGEST]
    if not words:
        return
    hits: list[int] = []
    at = whole.text.find(words)
    while at >= 0 and len(hits) <= HITS:
        hits.append(at)
        at = whole.text.find(words, at + 1)
    if not hits:
        st.caption("The text has no such words; capital letters count.")
    for number, at in enumerate(hits[:HITS]):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{at:,}: “{plain(whole.text[at : at + AROUND])}”")
            for key, label in zip(ENDS, ("Begin", "End"), strict=True):
                st.button(label, key=f"train_text_{key}_{number}", on_click=_take, args=(key, at))
    if len(hits) > HITS:
        st.caption("And at further places: search for more words.")


def _take(key: str, at: int) -> None:
    forget_reading()
    state.put(key, at or None)


def chosen_facts() -> Facts:
    """Return the text to train on: the chosen text, or the chosen part of it."""
    return part_of(_whole())[0]


def cut_of(facts: Facts, plan: Plan) -> Mapping[str, Any]:
    """Return `SeriesCut` of frontend/types/model_series.d.ts: how a plan cuts the training part of a text."""
    if plan.cut == "blocks":
        return {"name": plan.cut, "lines": None}
    key = facts.digest, plan.cut, plan.block_size
    lines = state.record(_TextRecord).lines.get(key, lambda: lines_of(facts, plan.cut, plan.block_size))
    return {"name": plan.cut, "lines": lines}


def _whole() -> Facts:
    """Return the chosen text: the visitor's, or the built-in corpus until there is one."""
    return _TEXT.chosen() or built_in_facts()


def text_choice() -> None:
    """Let the user choose a text, and paste or upload one."""
    source = _TEXT.choice("Text to train on")
    if source == "paste":
        limit = settings().largest_text
        st.text_area(
            "Your text", key=_TEXT.pasted, max_chars=limit, height=PASTED_HEIGHT,
            placeholder=f"Paste some pages, up to {limit:,} characters, and press Ctrl+Enter.",
            on_change=_TEXT.take_pasted, args=(limit,),
        )  # fmt: skip
    elif source == "upload":
        _TEXT.file_field()
    if source in ("paste", "upload"):
        facts = _TEXT.tell(source, "Until then, the built-in corpus is shown.")
        if facts is not None:
            st.caption(
                f"In use: {len(facts.text):,} characters, {len(facts.labels)} different ones. Your text is in no link: "
                "a link opens the built-in corpus."
            )


def part_refused() -> str:
    """Return why the chosen part is not used; "" if it is."""
    return part_of(_whole())[1]


def forget_reading() -> None:
    """Reset the snapshot, head and cell, which belong to another text."""
    for name, value in (("watch", ""), ("snapshot", None), ("q", None), ("k", None)):
        state.put(name, value)


def _forget() -> None:
    """Reset all that belongs to another text."""
    forget_reading()
    for key in ENDS:
        state.put(key, None)


_TEXT = OwnText("train_text", "A text to train on", facts_of, _forget)

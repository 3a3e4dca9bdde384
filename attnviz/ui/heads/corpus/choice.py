"""The choice on the page Heads between this text and a corpus, and the corpus in words: its measures, its labels, and
what it says of the labels of this text.

It imports nothing that takes time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from attnviz.corpus.offered import OfferedError, about, corpora, labels, statistics
from attnviz.sources import PRETRAINED
from attnviz.sources.models import source_of
from attnviz.sources.shown import Shown
from attnviz.ui import state
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey


class MeasureName(NamedTuple):
    """A measure in words."""

    title: str
    unit: str
    """With it, "" for a share of the weight"""


MEASURES = {
    "entropy": MeasureName("entropy", "bits"),
    "distance": MeasureName("mean distance", "tokens"),
    "previous": MeasureName("to previous token", ""),
    "next": MeasureName("to next token", ""),
    "same": MeasureName("to same token", ""),
    "first": MeasureName("to first token", ""),
    "cls": MeasureName("to [CLS]", ""),
    "sep": MeasureName("to [SEP]", ""),
    "punctuation": MeasureName("to punctuation", ""),
}
LABELS = {
    "previous": "previous-token head",
    "next": "next-token head",
    "same": "same-token head",
    "first": "attends to the first token",
    "cls": "attends to [CLS]",
    "sep": "attends to [SEP]",
    "punctuation": "attends to punctuation",
    "diagonal": "diagonal",
    "broad": "looks everywhere",
}
HALF = 0.5
"""The share of the sentences from which on a head is said to have a label"""


@dataclass(frozen=True, slots=True)
class Words:
    """How measures and labels are called for one model: some spell [CLS] as `<s>`."""

    measures: dict[str, MeasureName]
    labels: dict[str, str]

    @property
    def linked(self) -> dict[str, str]:
        """The labels as `attnviz.measures.summary` and links have them."""
        return self.labels | {"broad": "broad"}

    def axis(self, measure: str) -> str:
        """Return the title of an axis with a measure."""
        title, unit = self.measures[measure]
        return f"{title}, {unit}" if unit else f"weight {title}"


def words_for(survey: Survey) -> Words:
    """Return the words for the model of a text, which has its special tokens."""
    own = {one.name: one for one in survey.measures if one.name in ("cls", "sep")}
    return Words(
        MEASURES | {name: MeasureName(one.title, "") for name, one in own.items()},
        LABELS | {name: one.label for name, one in own.items()},
    )


def share(part: float) -> str:
    """Return a share in %, with a decimal where it is near nothing or all; "–" if there is none."""
    if isnan(part):
        return "–"
    percent = 100 * part
    if 0 < percent < 0.05 or 99.95 <= percent < 100:
        return "< 0.1 %" if percent < 50 else "> 99.9 %"
    return f"{percent:.1f} %" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f} %"


NONE = """There are no corpus statistics for this model: `python -m attnviz corpus FILES --model NAME` makes some, and
the setting ATTNVIZ_CORPORA shows them here."""


def corpora_of(here: Shown) -> dict[str, Path]:
    """Return the files with statistics of this model and kind of attention, by their names in links."""
    warn = lambda reason: st.warning(plain(reason))  # noqa: E731
    return corpora(here.model.name, here.kind, here.numbers, here.heads, on_error=warn)


def over_corpus(found: Mapping[str, Path]) -> bool:
    """Return whether a corpus is chosen, before `choose`. If there is none, this text is shown, with a note."""
    state.sync_widget("over")
    if not found and state.get("over") == "corpus":
        state.note("There are no corpus statistics for this model, so this text is shown.")
        state.put("over", "text")
    return bool(state.get("over") == "corpus")


def file_of(found: Mapping[str, Path], *, is_over: bool) -> Path | None:
    """Return the file of the chosen corpus, before `choose`; None if there is none. The first is "" in links.

    Args:
        found: the files.
        is_over: whether all of it is shown, not only its labels.
    """
    state.sync_widget("corpus")
    names, name = list(found), state.get("corpus")
    if name and name not in names[1:]:
        if names and name != names[0]:
            state.note(f"There is no corpus {name} for this model, so another one is shown.")
        state.put("corpus", "")
    if not names:
        return None
    file = found[state.get("corpus") or names[0]]
    try:
        (statistics if is_over else labels)(file)
    except OfferedError as error:
        st.warning(plain(str(error)))
        return None
    return file


def choose(found: Mapping[str, Path]) -> None:
    """Show the choice between this text and a corpus, and of a corpus if there are several."""
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="heads_over"):
        over = state.choice(
            "over", st.segmented_control, "All heads over", required=True, label_visibility="collapsed",
            width="content",
        )  # fmt: skip
        if over == "corpus" and len(found) > 1:
            first, *others = found
            state.choice(
                "corpus", st.selectbox, "Corpus", ["", *others],
                format_func=lambda name: about(found[name or first]).corpus, label_visibility="collapsed", width=320,
            )  # fmt: skip


def of_labels(here: Shown, file: Path | None, survey: Survey, layer: int, head: int) -> str:
    """Say on which share of a corpus the labels of a head hold: those of this text, and those that mostly do."""
    if file is None:
        is_read = source_of(here.model.name) is PRETRAINED and here.kind != "cross"
        return NONE if is_read else ""  # of others the command makes none
    found = labels(file)
    shares = dict(found.shares.get((layer, head), ()))
    own, words = survey.labels[survey.numbers.index(layer)][head], words_for(survey)
    names = [name for name, label in words.linked.items() if label in own]
    names += [name for name, part in shares.items() if part >= HALF and name not in names]
    said = ", ".join(f"{plain(words.labels[name])} on {share(shares.get(name, 0.0))}" for name in names)
    return f"Layer {layer} · head {head} over {found.sentences:,} sentences: {said or 'no label on half of them'}."

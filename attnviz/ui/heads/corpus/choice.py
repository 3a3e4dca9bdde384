"""The choice on the page Heads between this text and a corpus, and what the corpus says of this text's labels.

It imports nothing that takes time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.corpus.offered import OfferedError, about, corpora, labels, statistics
from attnviz.sources import PRETRAINED
from attnviz.sources.shown import Shown
from attnviz.sources.trained import source_of
from attnviz.ui import state
from attnviz.ui.heads.corpus.words import HALF, share, words_for
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey

NONE = """There are no corpus statistics for this model: `python -m attnviz corpus FILES --model NAME` makes some, and
the setting ATTNVIZ_CORPORA shows them here."""


def corpora_of(here: Shown) -> dict[str, Path]:
    """Return the files with statistics of this model and kind of attention, by their names in links."""
    warn = lambda reason: st.warning(plain(reason))  # noqa: E731
    return corpora(here.model.name, here.kind, here.numbers, here.heads, on_error=warn)


def over_corpus(found: Mapping[str, Path]) -> bool:
    """Return whether a corpus is chosen, before `choose`. If there is none, this text is shown, with a note."""
    state.adopt("over")
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
    state.adopt("corpus")
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

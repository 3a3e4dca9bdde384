"""The page Heads over a corpus: all heads by their mean weights, and one of them beside this text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from attnviz.corpus.offered import statistics as read
from attnviz.export.csv_files import table_csv
from attnviz.links.link import CORPUS_VIEWS
from attnviz.ui import state
from attnviz.ui.heads.corpus import panels
from attnviz.ui.heads.corpus.grid import show_grid
from attnviz.ui.heads.corpus.here import Here
from attnviz.ui.heads.corpus.words import share
from attnviz.ui.plain import plain
from attnviz.ui.styles import style
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey


def show(file: Path, survey: Survey) -> None:
    """Show all heads over the corpus of a file, and the chosen one beside this text."""
    found = Here(file, *read(file), survey, state.get("layer"), state.get("head"))
    statistics = found.statistics
    state.adopt("corpus_view")  # its choice stands after the grid, which shows what it names
    st.html(style("corpus"))
    left, right = st.columns([1, 1], gap="medium")
    with left:
        side = statistics.offsets[-1] + 1
        st.markdown(
            f"**Mean weights** over {statistics.sentences:,} sentences, by how far the key (column) stands from the "
            f"query (row): {side} × {side} tokens, colours from 0 to 1."
        )
        show_grid(found, found.nearest(panels.LIKE_IT) if state.get("corpus_view") == "alike" else ())
        notice(
            "A label that holds on one sentence may be chance; one that holds on nearly all of them is what the head "
            "does. Most heads have none: they do different things on different sentences."
        )
    with right, st.container(key="corpus_right"):
        st.markdown(f"**Layer {found.layer} · head {found.head}**: {_said(found)}")
        if state.get("lecture"):
            state.keep_within("corpus_view", "View", list(CORPUS_VIEWS))
        else:
            state.choice(
                "corpus_view", st.segmented_control, "Of this head", required=True, label_visibility="collapsed"
            )
        name = state.get("corpus_view")
        _offer(getattr(panels, name)(found), f"heads_{file.stem}_corpus_{found.layer}_{found.head}_{name}.csv")
    st.caption(_of_corpus(found))


def _offer(table: pd.DataFrame, file: str) -> None:
    """Offer the numbers that are shown."""
    st.download_button(
        "Download as CSV", lambda: table_csv(table, index=False), file, "text/csv", on_click="ignore",
        icon=":material/download:", key="corpus_csv", type="tertiary",
    )  # fmt: skip


def _said(here: Here) -> str:
    """Say which labels hold, on which share of the sentences."""
    held = [(name, part) for name, part in here.labels(here.layer, here.head) if part >= 0.01]
    if not held:
        return f"no label holds on 1 % of {here.statistics.sentences:,} sentences."
    found = [f"**{plain(here.words.labels[name])}** on {share(part)}" for name, part in held]
    return f"{', '.join(found)} of {here.statistics.sentences:,} sentences."


def _of_corpus(here: Here) -> str:
    """Say what the corpus is."""
    licence = f" Licence: {plain(here.card.licence)}." if here.card.licence else ""
    return (
        f"Corpus: {plain(here.card.corpus)}; {here.statistics.sentences:,} sentences, {here.statistics.tokens:,} "
        f"tokens.{licence} In the grid, a head has the labels that hold on half of the sentences or more. Layers and "
        "heads are counted from 0."
    )

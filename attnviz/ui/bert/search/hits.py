"""Rows of a ranking: a sentence each, with its rank, its score, and where it stands in the other ranking."""

from __future__ import annotations

import streamlit as st

from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.search.found import Found
from attnviz.ui.bert.search.look import isolated
from attnviz.ui.plain import plain

NONE = "No sentence has a word in common with the query, so words find nothing here."


def by_meaning(here: Found) -> None:
    """Show the best hits by meaning; a click chooses the sentence that is looked at."""
    ranking = here.ranking
    st.markdown("**By meaning**: cosine of the sentence embeddings")
    for rank, place in enumerate(ranking.by_meaning[: state.get("hits")].tolist(), 1):
        other = _moved("words", rank, int(ranking.words_rank[place])) or "no word in common"
        _hit(here, f"hit_meaning_{rank}", place, f"**{rank}** · {number(float(ranking.cosine[place]), 3)}", other)


def by_words(here: Found) -> None:
    """Show the best hits by words, as far as they share any."""
    ranking = here.ranking
    st.markdown("**By words**: BM25")
    shown = [place for place in ranking.by_words[: state.get("hits")].tolist() if ranking.words_rank[place]]
    for rank, place in enumerate(shown, 1):
        other = _moved("meaning", rank, int(ranking.meaning_rank[place]))
        _hit(here, f"hit_words_{rank}", place, f"**{rank}** · {number(float(ranking.bm25[place]), 3)}", other)
    if not shown:
        st.caption(NONE)


def _moved(other: str, rank: int, before: int) -> str:
    """Say the rank in the other ranking, and how far this one moves it; "" if it has none there."""
    if not before:
        return ""
    arrow = f", {'▲' if rank < before else '▼'} {abs(before - rank):,}" if rank != before else ""
    return f"by {other}: {before:,}{arrow}"


def _hit(here: Found, key: str, place: int, score: str, other: str) -> None:
    sentence = plain(isolated(here.index.text.sentences[place]))
    beside = other.replace(" ", "\u00a0")  # stays on one line
    st.button(
        f"{score} · {sentence} :gray[{beside}]", key=key, type="secondary" if place == here.hit else "tertiary",
        width="stretch", on_click=state.put, args=("hit", place),
    )  # fmt: skip

"""The query, and what it finds: two rankings, the tokens of query and hit, or all sentences in the plane."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import streamlit as st

from attnviz.formatting import number
from attnviz.links.bert import MAX_HITS, MAX_QUERY
from attnviz.ui import state
from attnviz.ui.bert.search.found import Found, found_in, index_of_text
from attnviz.ui.bert.search.look import CSS, isolated
from attnviz.ui.bert.search.text import about, chosen_text, text_choice
from attnviz.ui.bert.search.work import Job
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.plain import plain

VIEWS = {"ranking": "Ranking", "tokens": "Token by token", "map": "Map"}
"""By their names in links: each is a module of this package with `show`"""

FAILED = "This text could not be embedded: there may be too little memory for it just now. Choose a shorter one."


def controls() -> None:
    """Show the choice of the text, and how many hits are listed, in the sidebar."""
    st.html("<style>.st-key-text_field { display: none; }</style>")  # the other parts' text: here a query is typed
    text_choice()
    state.bound("hits", st.slider, "Hits of each ranking", 1, MAX_HITS)
    st.caption(about(chosen_text(), None))


def show() -> None:
    """Show the query, and the chosen view of what it finds."""
    st.html(CSS)
    is_alone = state.get("lecture") and lesson_bar.is_open()
    if is_alone:
        state.keep_within("find_view", "View", list(VIEWS))
    else:
        _ask()
    try:
        index = index_of_text()
    except (MemoryError, RuntimeError):  # torch raises the second one too where memory is short
        st.error(FAILED)
        return
    if isinstance(index, Job):
        _show_progress(index)
        if index.finished.is_set():  # since it was asked for: nothing would look again
            st.rerun()
        return
    if not state.get("find").strip():
        st.info("Type what you are looking for, in your own words: a sentence, a question, or a word.")
        return
    here = found_in(index)
    _show_hit(here)
    import_module(f"attnviz.ui.bert.search.{state.get('find_view')}").show(here)
    if index.cut:
        st.caption(about(chosen_text(), index))


def _ask() -> None:
    """Show the field of the query, and the choice of a view."""
    with st.container(horizontal=True, key="search_ask", vertical_alignment="bottom"):
        state.bound(
            "find", st.text_input, "Find by meaning", max_chars=MAX_QUERY, on_change=partial(state.put, "hit", None),
            placeholder="What are you looking for?",
        )  # fmt: skip
        state.choice(
            "find_view", st.segmented_control, "Show", list(VIEWS), required=True, format_func=VIEWS.get,
            label_visibility="collapsed",
        )  # fmt: skip


def _show_progress(job: Job) -> None:
    count = len(job.text)
    said = f"{job.done:,} of {count:,} sentences are embedded" if job.done else f"{count:,} sentences are being read"
    st.progress(job.done / count, text=f"{said} …")
    st.caption("In batches, sorted by length. Another text, or another page, ends it.")


def _show_hit(here: Found) -> None:
    """Show the sentence that is looked at, with its scores."""
    ranking, place = here.ranking, here.hit
    by_words = int(ranking.words_rank[place])
    words = f"BM25 {number(float(ranking.bm25[place]))}, rank {by_words:,}" if by_words else "no word in common"
    st.markdown(
        f"**{plain(isolated(here.sentence))}** · sentence {place:,} of the text · cosine "
        f"**{number(float(ranking.cosine[place]), 3)}**, rank {int(ranking.meaning_rank[place]):,} · {words}"
    )

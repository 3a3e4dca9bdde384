"""Search by meaning: a query among the sentences of a text, beside what its words alone find.

The text belongs to the session: the built-in sentences, or what its visitor pasted or uploaded. No link holds it. A
pasted text is removed from its field at once, because Streamlit resends the values of all fields with every click.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
import torch
from torch import Tensor

from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import (
    MOST_SENTENCES,
    Index,
    NoSentenceError,
    Ranking,
    Sentences,
    TokenSimilarity,
    build,
    split,
    token_similarity,
)
from attnviz.bert.search import built_in as built_in_sentences
from attnviz.export.code.bert.uses import search_script
from attnviz.formatting import number, percent
from attnviz.links.bert import MAX_HITS, MAX_QUERY
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.long_work import Job, Work
from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.bert.parts import Part, built_in, in_torch
from attnviz.ui.caches import is_waiting, named_cache, request, result
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.styles import style
from attnviz.ui.tokens.choices import OwnText
from attnviz.ui.widgets import PASTED_HEIGHT, clicked, notice, palette, plot

if TYPE_CHECKING:
    import pandas as pd

MAX_FILE = 2**20
"""Bytes"""
PASTED = 5
"""The longest pasted text, as a multiple of other pages' limit: they read it in one pass, here each sentence is one"""
QUERY_BYTES, SIMILARITY_BYTES = 2 * 2**20, 4 * 2**20
"""Sizes of caches: some 1,300 queries; some 2,000 pairs of short sentences, or twenty of the longest"""
INDEX_BYTES = 128 * 2**20
"""Size of the cache: some seventy indexes of 1,000 sentences, or at least three of a megabyte of text"""
PATIENCE = 2.5
"""Seconds that a run waits for an index before it shows progress: the built-in sentences take about one"""
FAILED = "This text could not be embedded: there may be too little memory for it just now. Choose a shorter one."
ISOLATE, END = "\u2068", "\u2069"
"""Text between them takes the direction of its first letter, and does not reorder the text around it"""
CONTROLS = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
"""All characters that change the direction of text, removed"""
NO_COMMON_WORD = "No sentence has a word in common with the query, so words find nothing here."
RANKING_LINES = """\
inputs = tokenizer([query, *sentences], padding=True, truncation=True, max_length=256, return_tensors="pt")
hidden = model(**inputs).last_hidden_state  # (1 + N, T, C)
is_token = inputs["attention_mask"][..., None]  # (1 + N, T, 1): 0 at padding
mean = (hidden * is_token).sum(1) / is_token.sum(1)
E = torch.nn.functional.normalize(mean, dim=-1)  # (1 + N, C): rows of length 1
cosine = E[1:] @ E[0]  # (N,): of each sentence with the query
ranking = cosine.argsort(descending=True)"""
SPECIAL = ("[CLS]", "[SEP]")
TOKENS_LINES = """rows, columns = (
    model(**tokenizer(one, truncation=True, max_length=256, return_tensors="pt")).last_hidden_state[0]
    for one in (query, hit)
)  # (Tq, C), (Th, C)
cosine = torch.cosine_similarity(rows[:, None], columns[None], dim=-1)  # (Tq, Th)
score = torch.cosine_similarity(rows.mean(0), columns.mean(0), dim=0)  # of the sentence embeddings"""
MAP_LINES = """centred = E[1:] - E[1:].mean(0)  # the sentences' embeddings, (N, C)
U, S, V = torch.linalg.svd(centred, full_matrices=False)
places = centred @ V[:2].T  # (N, 2)
kept = S[:2] ** 2 / (S**2).sum()  # of the variance
of_query = (E[0] - E[1:].mean(0)) @ V[:2].T"""


def chosen_text() -> Sentences:
    """Return the text to search: the visitor's, or the built-in sentences until there is one."""
    return _TEXT.chosen() or built_in_sentences()


def text_choice() -> None:
    """Let the user choose a text, and paste or upload one."""
    source = _TEXT.choice("Text that is searched")
    if source == "paste":
        limit = PASTED * settings().largest_text
        with st.form("search_paste", clear_on_submit=True, border=False):
            st.text_area(
                "Your text", key=_TEXT.pasted, max_chars=limit, height=PASTED_HEIGHT,
                placeholder=f"Paste some pages, up to {limit:,} characters.",
            )  # fmt: skip
            st.form_submit_button("Search in this text", on_click=_TEXT.take_pasted, args=(limit,), width="stretch")
    elif source == "upload":
        _TEXT.file_field()
    if source in ("paste", "upload"):
        _TEXT.tell(source, "Until then, the built-in sentences are searched.")


def about(text: Sentences, index: Index | None) -> str:
    """Describe the text that is searched, and what is left out of it."""
    sentences = [f"{len(text):,} {'sentence' if len(text) == 1 else 'sentences'}."]
    if text.left_out:
        sentences.append(f"The first {MOST_SENTENCES:,} are searched; {text.left_out:,} more are left out.")
    if index is not None and index.cut:
        sentences.append(
            f"{index.cut:,} of them have more than 256 tokens: the model was trained on the first 256, and reads those."
        )
    if text is not built_in_sentences():
        sentences.append("Your text is in no link: a link opens the built-in sentences.")
    return " ".join(sentences)


def _sentences(text: str) -> Sentences:
    """Cut a text into sentences; raises NoSentenceError if it has none."""
    sentences = split(text)
    if not len(sentences):
        raise NoSentenceError
    return sentences


_TEXT = OwnText("search_text", "A text to search in", _sentences, partial(state.put, "hit", None), MAX_FILE)


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """A query, and what it finds in a text."""

    model: BuiltInModel
    index: Index
    query: str
    embedding: Tensor
    """(C,): the query's"""
    ranking: Ranking
    hit: int
    """The number of the selected sentence: the view's, or the best hit's"""

    @property
    def sentence(self) -> str:
        """The selected sentence."""
        return self.index.text.sentences[self.hit]


def is_working() -> bool:
    """Whether the session's text is being embedded."""
    return is_waiting(_indexes(), chosen_text().digest)


def index_of_text() -> Index | Job[Index]:
    """Return the index of the session's text, or the job that embeds it. All visitors who search the text share it.

    Raises:
        LongWorkError: there is too little memory; the message is for the user.
    """
    model, text = built_in(), chosen_text()
    nbytes = 4 * len(text) * model.description.width + 20 * sum(map(len, text.sentences))
    embedding = Work(_indexes(), text.digest, partial(build, model, text), FAILED, nbytes)
    return request(embedding, timeout=0.0 if is_working() else PATIENCE)


def search_in(index: Index) -> SearchResult:
    """Rank the sentences of a text for the view's query."""
    model, query = built_in(), state.get("find")
    embedding: Tensor = result(
        "queries of the search", QUERY_BYTES, query, lambda: embed_sentences([query], model=model)[0]
    )
    ranking = index.rank(query, embedding)
    hit = state.keep_index("hit", "Sentence", len(ranking.cosine))
    return SearchResult(model, index, query, embedding, ranking, int(ranking.by_meaning[0]) if hit is None else hit)


def result_at_hand() -> SearchResult | None:
    """Return the view's result if its index is ready, for Export, which does not wait."""
    index = _indexes().peek(chosen_text().digest)
    return search_in(index) if index is not None and state.get("find").strip() else None


def similarity(search: SearchResult) -> TokenSimilarity:
    """Compare the tokens of query and hit."""
    key = search.query, search.sentence
    return result("token similarities", SIMILARITY_BYTES, key, partial(token_similarity, search.model, *key))


def _indexes() -> SingleFlightCache[Index]:
    """Return the indexes of texts by their digests."""
    return named_cache("search indexes", INDEX_BYTES)


def isolated(sentence: str) -> str:
    """Return a sentence for use within other text: a right-to-left one does not reorder the text around it."""
    return f"{ISOLATE}{sentence.translate(CONTROLS)}{END}"


def controls() -> None:
    """Show the settings in the side bar: the text, and how many hits are listed."""
    st.html(style("bert_own_text"))
    text_choice()
    state.bound("hits", st.slider, "Hits of each ranking", 1, MAX_HITS)
    st.caption(about(chosen_text(), None))


def show() -> None:
    """Show the query, and the chosen view of what it finds."""
    if not lesson_bar.hides("find"):
        _ask()
    index = index_of_text()
    if isinstance(index, Job):
        done, count = index.done, len(chosen_text())
        status = f"{done:,} of {count:,} sentences are embedded" if done else f"{count:,} sentences are being read"
        st.progress(done / count, text=f"{status} …")
        st.caption("In batches, sorted by length. Another text, or another page, ends it.")
        if index.result.done():  # done since the request, so nothing else would rerun the page
            st.rerun()
        return
    if not state.get("find").strip():
        st.info("Type what you are looking for, in your own words: a sentence, a question, or a word.")
        return
    search = search_in(index)
    _show_hit(search)
    VIEWS[state.get("find_view")](search)
    if index.cut:
        st.caption(about(chosen_text(), index))


def _ask() -> None:
    """Show the query field, and the menu of views."""
    with st.container(horizontal=True, key="search_ask", vertical_alignment="bottom"):
        state.bound(
            "find", st.text_input, "Find by meaning", max_chars=MAX_QUERY, on_change=partial(state.put, "hit", None),
            placeholder="What are you looking for?",
        )  # fmt: skip
        state.choice("find_view", st.segmented_control, "Show", required=True, label_visibility="collapsed")


def _show_hit(search: SearchResult) -> None:
    """Show the selected sentence, with its scores."""
    ranking, place = search.ranking, search.hit
    by_words = int(ranking.words_rank[place])
    words = f"BM25 {number(float(ranking.bm25[place]))}, rank {by_words:,}" if by_words else "no word in common"
    with st.container(key="search_hit"):
        st.markdown(
            f"**{plain(isolated(search.sentence))}** · sentence {place:,} of the text · cosine "
            f"**{number(float(ranking.cosine[place]), 3)}**, rank {int(ranking.meaning_rank[place]):,} · {words}"
        )


def by_meaning(search: SearchResult) -> None:
    """Show the best hits by meaning; a click selects a sentence."""
    ranking = search.ranking
    st.markdown("**By meaning**: cosine of the sentence embeddings")
    for rank, place in enumerate(ranking.by_meaning[: state.get("hits")].tolist(), 1):
        other = _other_rank("words", rank, int(ranking.words_rank[place])) or "no word in common"
        _hit_button(
            search, f"hit_meaning_{rank}", place, f"**{rank}** · {number(float(ranking.cosine[place]), 3)}", other
        )


def by_words(search: SearchResult) -> None:
    """Show the best hits by words, of those that share a word with the query."""
    ranking = search.ranking
    st.markdown("**By words**: BM25")
    shown = [place for place in ranking.by_words[: state.get("hits")].tolist() if ranking.words_rank[place]]
    for rank, place in enumerate(shown, 1):
        other = _other_rank("meaning", rank, int(ranking.meaning_rank[place]))
        _hit_button(search, f"hit_words_{rank}", place, f"**{rank}** · {number(float(ranking.bm25[place]), 3)}", other)
    if not shown:
        st.caption(NO_COMMON_WORD)


def _other_rank(other: str, rank: int, other_rank: int) -> str:
    """Say a hit's rank in the other list, and how far this list moves it; "" if it has none there."""
    if not other_rank:
        return ""
    arrow = f", {'▲' if rank < other_rank else '▼'} {abs(other_rank - rank):,}" if rank != other_rank else ""
    return f"by {other}: {other_rank:,}{arrow}"


def _hit_button(search: SearchResult, key: str, place: int, score: str, other: str) -> None:
    sentence = plain(isolated(search.index.text.sentences[place]))
    beside = other.replace(" ", "\u00a0")  # stays on one line
    st.button(
        f"{score} · {sentence} :gray[{beside}]", key=key, type="secondary" if place == search.hit else "tertiary",
        width="stretch", on_click=state.put, args=("hit", place),
    )  # fmt: skip


def show_ranking(search: SearchResult) -> None:
    """Show the best hits of both rankings; a click selects a sentence."""
    left, right = st.columns(2, gap="medium")
    with left, st.container(key="hits_meaning"):
        by_meaning(search)
    with right, st.container(key="hits_words"):
        by_words(search)
    notice(
        "Meaning finds sentences that share no word with the query, and words find sentences that mean something else. "
        "Rare names and numbers are what words find best. ▲ and ▼: places above or below its rank in the other list."
    )
    in_torch(RANKING_LINES)


def show_tokens(search: SearchResult) -> None:
    """Show the cosines of all pairs of tokens."""
    from attnviz.figures.search import token_heatmap

    similar = similarity(search)
    pair = most_alike(similar)
    if pair is not None:
        query_token, hit_token = (
            plain(labels[place]) for labels, place in zip((similar.query, similar.hit), pair, strict=True)
        )
        st.markdown(
            f"Most alike of all pairs of different words: “{query_token}” of the query and “{hit_token}” of the hit, "
            f"cosine **{number(float(similar.cosine[pair]))}**."
        )
    plot(
        token_heatmap(similar.cosine, similar.query, similar.hit, palette(), is_large=state.get("lecture")),
        "search_tokens",
    )
    notice(
        "Tokens with similar meanings in these two sentences are alike, even where they are spelled differently. "
        "The score of the sentences is the mean of all products q · h of these pairs, over the norms of both means."
    )
    in_torch(TOKENS_LINES)


def most_alike(similar: TokenSimilarity) -> tuple[int, int] | None:
    """Return the most similar pair of differently spelled words of query and hit; None if there is none."""
    words = (
        [any(map(str.isalnum, label)) and label not in SPECIAL for label in labels]
        for labels in (similar.query, similar.hit)
    )
    rows, columns = map(torch.tensor, words)
    same = torch.tensor([[label == other for other in similar.hit] for label in similar.query])
    masked = similar.cosine.masked_fill(~(rows[:, None] & columns) | same, -torch.inf)
    row, column = divmod(int(masked.argmax()), masked.shape[1])
    return None if masked[row, column].isinf() else (row, column)


def show_map(search: SearchResult) -> None:
    """Show the map; a click on a point selects its sentence."""
    from attnviz.figures.search import plane_map

    plane = search.index.plane
    key = f"search_map_{search.index.text.digest}"
    figure = plane_map(
        [*search.index.text.sentences, search.query], torch.cat([plane.places, plane.place(search.embedding)[None]]),
        plane.kept, search.ranking.by_meaning[: state.get("hits")].tolist(), search.hit, palette(),
        is_large=state.get("lecture"),
    )  # fmt: skip
    left, right = st.columns([3, 2], gap="medium")
    with left:
        plot(figure, key, on_select=partial(_click_point, key), selection_mode="points")
    with right, st.container(key="hits_meaning"):
        by_meaning(search)
    notice(
        f"The plane keeps {percent(sum(plane.kept), 1)} of the variance of {plane.mean.numel()} dimensions (PCA). So "
        "sentences that lie beside each other here may be far apart: the ranking measures in all dimensions."
    )
    in_torch(MAP_LINES)


def _click_point(key: str) -> None:
    """Select the sentence whose point was clicked."""
    place = clicked(key)
    place = place[0] if isinstance(place, (list, tuple)) and place else place
    if type(place) is int and place >= 0:
        state.put("hit", place)


def tables() -> dict[str, pd.DataFrame]:
    """Return all sentences with their scores and ranks, and their places in the plane; nothing without a query."""
    search = result_at_hand()
    return {} if search is None else {"ranking": ranking_table(search), "map": map_table(search)}


def ranking_table(search: SearchResult) -> pd.DataFrame:
    """Return a row for each sentence, the best by meaning first; a rank by words is empty where no word is shared."""
    import pandas as pd

    ranking = search.ranking
    order = ranking.by_meaning.tolist()
    return pd.DataFrame(
        {
            "rank": range(1, len(order) + 1),
            "cosine": ranking.cosine[order].tolist(),
            "rank by words": pd.array([rank or None for rank in ranking.words_rank[order].tolist()], dtype="Int64"),
            "BM25": ranking.bm25[order].tolist(),
            "number": order,
            "sentence": [search.index.text.sentences[place] for place in order],
        }
    ).set_index("rank")


def map_table(search: SearchResult) -> pd.DataFrame:
    """Return the place of each sentence, and of the query, which has no number."""
    import pandas as pd

    plane = search.index.plane
    x, y = plane.places.T.tolist()
    of_query = plane.place(search.embedding).tolist()
    axes = [f"component {n + 1} ({percent(share, 2)} of the variance)" for n, share in enumerate(plane.kept)]
    rows = {
        axes[0]: [*x, of_query[0]],
        axes[1]: [*y, of_query[1]],
        "sentence": [*search.index.text.sentences, search.query],
    }
    numbers = [*map(str, range(len(x))), "query"]
    return pd.DataFrame(rows, index=pd.Index(numbers, name="number"))


def script() -> str:
    """Return the script of the view; "" if the text is not embedded yet."""
    search = result_at_hand()
    return "" if search is None else search_script(search.query, search.index.text.sentences, state.get("hits"))


VIEWS = {"ranking": show_ranking, "tokens": show_tokens, "map": show_map}
"""Keyed by name in links"""

PART = Part(show, tables, script, controls=controls, is_live=is_working)

"""The text that is searched, and what the query finds in it.

The text belongs to the session: the built-in sentences, or what its visitor pasted or uploaded. No link holds it. A
pasted text is removed from its field at once, because Streamlit resends the values of all fields with every click.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st
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
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.long_work import Job, Work
from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.bert.models import built_in
from attnviz.ui.caches import named_cache, result
from attnviz.ui.long_work import is_waiting, request
from attnviz.ui.tokens.choices import OwnText
from attnviz.ui.widgets import PASTED_HEIGHT

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
            st.form_submit_button("Search in this text", on_click=_take_pasted, width="stretch")
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


def _forget_hit() -> None:
    state.put("hit", None)


def _take_pasted() -> None:
    _TEXT.take_pasted(PASTED * settings().largest_text)


def _sentences(text: str) -> Sentences:
    """Cut a text into sentences; raises NoSentenceError if it has none."""
    sentences = split(text)
    if not len(sentences):
        raise NoSentenceError
    return sentences


_TEXT = OwnText("search_text", "A text to search in", _sentences, _forget_hit, MAX_FILE)


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
    """The number of the selected sentence"""

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
    embedding = _embedded(model, query)
    ranking = index.rank(query, embedding)
    return SearchResult(model, index, query, embedding, ranking, _chosen_hit(ranking))


def result_at_hand() -> SearchResult | None:
    """Return the view's result if its index is ready, for Export, which does not wait."""
    index = _indexes().peek(chosen_text().digest)
    return search_in(index) if index is not None and state.get("find").strip() else None


def similarity(search: SearchResult) -> TokenSimilarity:
    """Compare the tokens of query and hit."""
    key = search.query, search.sentence
    return result("token similarities", SIMILARITY_BYTES, key, partial(token_similarity, search.model, *key))


def _embedded(model: BuiltInModel, query: str) -> Tensor:
    return result("queries of the search", QUERY_BYTES, query, lambda: embed_sentences([query], model=model)[0])


def _chosen_hit(ranking: Ranking) -> int:
    """Return the view's sentence, or the best hit; a number beyond the text is reset with a note."""
    hit = state.keep_index("hit", "Sentence", len(ranking.cosine))
    return int(ranking.by_meaning[0]) if hit is None else int(hit)


def _indexes() -> SingleFlightCache[Index]:
    """Return the indexes of texts by their digests."""
    return named_cache("search indexes", INDEX_BYTES)

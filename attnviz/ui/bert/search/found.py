"""What the view of the search shows: the index of the session's text, the query's ranking, and the hit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from streamlit.runtime.scriptrunner import get_script_run_ctx
from torch import Tensor

from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import Index, Ranking, TokenSimilarity, token_similarity
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.ui import state
from attnviz.ui.bert.look import built_in
from attnviz.ui.bert.search.text import chosen_text
from attnviz.ui.bert.search.work import Job, embedder
from attnviz.ui.caches import result

QUERY_BYTES, SIMILARITY_BYTES = 2 * 2**20, 4 * 2**20
"""Some 1,300 queries; some 2,000 pairs of short sentences, or twenty of the longest"""
PATIENCE = 2.5
"""Seconds for which a run waits for a text before it shows the progress: the built-in sentences take about one"""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A query in a text."""

    model: BuiltInModel
    index: Index
    query: str
    embedding: Tensor
    """(C,): the query's"""
    ranking: Ranking
    hit: int
    """The sentence that is looked at"""

    @property
    def sentence(self) -> str:
        """The sentence that is looked at."""
        return self.index.text.sentences[self.hit]


def is_working() -> bool:
    """Whether the session's text is being embedded."""
    return embedder().is_working(_visitor(), chosen_text())


def index_of_text() -> Index | Job:
    """Return the index of the session's text, or the job that embeds it."""
    return embedder().request(_visitor(), chosen_text(), built_in(), patience=0.0 if is_working() else PATIENCE)


def found_in(index: Index) -> Found:
    """Rank the sentences of a text for the view's query."""
    model, query = built_in(), state.get("find")
    embedding = _embedded(model, query)
    ranking = index.rank(query, embedding)
    return Found(model, index, query, embedding, ranking, _hit(ranking))


def at_hand() -> Found | None:
    """Return what the view shows if it is computed, for Export, which waits for nothing."""
    index = embedder().peek(chosen_text())
    return found_in(index) if index is not None and state.get("find").strip() else None


def similarity(here: Found) -> TokenSimilarity:
    """Compare the tokens of query and hit."""
    key = here.query, here.sentence
    return result("token similarities", SIMILARITY_BYTES, key, partial(token_similarity, here.model, *key))


def _embedded(model: BuiltInModel, query: str) -> Tensor:
    return result("queries of the search", QUERY_BYTES, query, lambda: embed_sentences([query], model=model)[0])


def _hit(ranking: Ranking) -> int:
    """Return the sentence that the link says, or the best one; a number beyond the text is reset with a note."""
    hit, count = state.get("hit"), len(ranking.cosine)
    if hit is not None and hit >= count:
        state.note(f"Sentence {hit} does not exist: they go from 0 to {count - 1}.")
        state.put("hit", None)
        hit = None
    return int(ranking.by_meaning[0]) if hit is None else int(hit)


def _visitor() -> str:
    """Return the id of this session."""
    run = get_script_run_ctx(suppress_warning=True)
    return run.session_id if run is not None else ""

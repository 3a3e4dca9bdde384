"""What Export gives of the search: both rankings and the map as tables, and a script of plain torch."""

from __future__ import annotations

import pandas as pd

from attnviz.export.code.bert_use import search_script
from attnviz.ui import state
from attnviz.ui.bert.search.found import Found, at_hand


def tables() -> dict[str, pd.DataFrame]:
    """Return all sentences with their scores and ranks, and where they lie in the plane; nothing without a query."""
    here = at_hand()
    return {} if here is None else {"ranking": ranking_table(here), "map": map_table(here)}


def ranking_table(here: Found) -> pd.DataFrame:
    """Return a row for each sentence, the best by meaning first; a rank by words is empty where no word is shared."""
    ranking = here.ranking
    order = ranking.by_meaning.tolist()
    return pd.DataFrame(
        {
            "rank": range(1, len(order) + 1),
            "cosine": ranking.cosine[order].tolist(),
            "rank by words": pd.array([one or None for one in ranking.words_rank[order].tolist()], dtype="Int64"),
            "BM25": ranking.bm25[order].tolist(),
            "number": order,
            "sentence": [here.index.text.sentences[place] for place in order],
        }
    ).set_index("rank")


def map_table(here: Found) -> pd.DataFrame:
    """Return the place of each sentence, and of the query, which has no number."""
    plane = here.index.plane
    x, y = plane.places.T.tolist()
    of_query = plane.place(here.embedding).tolist()
    named = [f"component {n + 1} ({100 * share:.2f} % of the variance)" for n, share in enumerate(plane.kept)]
    rows = {
        named[0]: [*x, of_query[0]],
        named[1]: [*y, of_query[1]],
        "sentence": [*here.index.text.sentences, here.query],
    }
    numbers = [*map(str, range(len(x))), "query"]
    return pd.DataFrame(rows, index=pd.Index(numbers, name="number"))


def script() -> str:
    """Return the script of the view; "" if the text is not embedded."""
    here = at_hand()
    return "" if here is None else search_script(here.query, here.index.text.sentences, state.get("hits"))

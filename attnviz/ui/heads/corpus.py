"""The page Heads over a corpus: the mean weights of all heads, and one head compared with this text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st
from safetensors.numpy import save

from attnviz.components.explorer import explorer
from attnviz.components.updates import acknowledged
from attnviz.corpus.offered import stamp, statistics
from attnviz.corpus.offered import statistics as read
from attnviz.corpus.statistics import CorpusStatistics
from attnviz.export.csv_files import table_csv
from attnviz.heads.all_heads import encode
from attnviz.links.link import CORPUS_VIEWS
from attnviz.runtime.arrays import array_store
from attnviz.settings import name_in_links
from attnviz.ui import state
from attnviz.ui.heads import corpus_panels
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.corpus_panels import CorpusHead
from attnviz.ui.heads.state import HALF, share
from attnviz.ui.messages import plain
from attnviz.ui.styles import style
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey


KEY = "corpus_grid"
SAID = 3
"""The most labels shown for the head under the pointer"""


def _show_grid(here: CorpusHead, alike: Sequence[int] = ()) -> None:
    """Show the grid; `alike` are the numbers of the framed heads, in addition to the chosen one."""
    explorer(*payload(here, alike), key=KEY, on_view=heads_state.take)


def payload(here: CorpusHead, alike: Sequence[int] = ()) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the explorer (see `components.explorer`)."""
    corpus, name, words = here.statistics, here.card.model, here.measure_names
    (layers, heads), side = corpus.shape, corpus.offsets[-1] + 1
    chosen = [here.layer, here.head], *([*corpus.head(other)] for other in alike)
    trace = f"corpus {name_in_links(here.file)} {name} {stamp(here.file)}"
    digest = array_store().offer((trace,), partial(_file, here.file), compress=True)
    positions, ones = [str(position) for position in range(side)], [1] * side
    header = {
        "trace": trace, "model": name, "kind": here.card.kind, "layers": corpus.numbers, "heads": heads,
        "only_grid": True,
        "rows": side, "cols": side, "causal": False, "rollout": False, "norms": False,
        "query_labels": positions, "key_labels": positions, "query_groups": ones, "key_groups": ones,
        "files": {"shared": digest, "weights": [[digest, 0, layers * heads]], "rollout": []},
        "view": {**heads_state.view(), "layer": here.layer, "head": here.head, "chosen": chosen, "q": None, "k": None},
        "acknowledged": acknowledged(KEY),
        "labels": _of_heads(here, lambda held: [words.linked[name] for name, part in held if part >= HALF]),
        "said": _of_heads(here, lambda held: [f"{words.labels[name]} on {share(part)}" for name, part in held[:SAID]]),
        "measures": [
            {"name": measure, "title": words.measures[measure].title, "unit": words.measures[measure].unit, "low": 0.0,
             "high": float(corpus.edges(measure)[-1]), "keys": []}
            for measure in corpus.present
        ],
    }  # fmt: skip
    places = [corpus.measures.index(measure) for measure in corpus.present]
    return header, {"measures": corpus.mean[..., places].astype(np.float32)}


def pictures(of: CorpusStatistics) -> npt.NDArray[np.float32]:
    """Return a matrix for each head, (L · H, n, n), whose cell (i, j) is the mean weight at the position j − i."""
    apart = np.arange(of.offsets[-1] + 1)
    apart = apart[None, :] - apart[:, None]  # key − query
    means = np.nan_to_num(of.offset_mean)[..., apart - of.offsets[0]]
    # Make the array contiguous: indexing may change the memory order, which safetensors does not check.
    return np.ascontiguousarray(means.reshape(-1, *apart.shape), np.float32)


def _file(path: Path) -> bytes:
    """Return the pictures of all heads as the file that the browser requests."""
    return save({"weights": encode(pictures(statistics(path)[0]))})


def _of_heads(here: CorpusHead, say: Any) -> list[list[list[str]]]:
    """Apply `say` to the labels of each head; returns L lists of H lists."""
    heads = here.statistics.shape[1]
    return [[say(here.labels(layer, head)) for head in range(heads)] for layer in here.statistics.numbers]


def show_corpus(file: Path, survey: Survey) -> None:
    """Show all heads over the corpus of a file, and the chosen head compared with this text."""
    head = CorpusHead(file, *read(file), survey, state.get("layer"), state.get("head"))
    statistics = head.statistics
    state.sync_widget("corpus_view")  # its widget comes after the grid, which depends on it
    st.html(style("corpus"))
    left, right = st.columns([1, 1], gap="medium")
    with left:
        side = statistics.offsets[-1] + 1
        st.markdown(
            f"**Mean weights** over {statistics.sentences:,} sentences, by how far the key (column) stands from the "
            f"query (row): {side} × {side} tokens, colours from 0 to 1."
        )
        _show_grid(head, head.nearest(corpus_panels.LIKE_IT) if state.get("corpus_view") == "alike" else ())
        notice(
            "A label that holds on one sentence may be chance; one that holds on nearly all of them is what the head "
            "does. Most heads have none: they do different things on different sentences."
        )
    with right, st.container(key="corpus_right"):
        st.markdown(f"**Layer {head.layer} · head {head.head}**: {_said(head)}")
        if state.get("lecture"):
            state.keep_within("corpus_view", "View", list(CORPUS_VIEWS))
        else:
            state.choice(
                "corpus_view", st.segmented_control, "Of this head", required=True, label_visibility="collapsed"
            )
        name = state.get("corpus_view")
        _offer(getattr(corpus_panels, name)(head), f"heads_{file.stem}_corpus_{head.layer}_{head.head}_{name}.csv")
    st.caption(_of_corpus(head))


def _offer(table: pd.DataFrame, file: str) -> None:
    """Show the button that downloads the numbers shown."""
    st.download_button(
        "Download as CSV", lambda: table_csv(table, index=False), file, "text/csv", on_click="ignore",
        icon=":material/download:", key="corpus_csv", type="tertiary",
    )  # fmt: skip


def _said(here: CorpusHead) -> str:
    """Return a sentence with the labels of the head, and the share of sentences on which each holds."""
    held = [(name, part) for name, part in here.labels(here.layer, here.head) if part >= 0.01]
    if not held:
        return f"no label holds on 1 % of {here.statistics.sentences:,} sentences."
    labels = [f"**{plain(here.measure_names.labels[name])}** on {share(part)}" for name, part in held]
    return f"{', '.join(labels)} of {here.statistics.sentences:,} sentences."


def _of_corpus(here: CorpusHead) -> str:
    """Return a description of the corpus."""
    licence = f" Licence: {plain(here.card.licence)}." if here.card.licence else ""
    return (
        f"Corpus: {plain(here.card.corpus)}; {here.statistics.sentences:,} sentences, {here.statistics.tokens:,} "
        f"tokens.{licence} In the grid, a head has the labels that hold on half of the sentences or more. Layers and "
        "heads are counted from 0."
    )

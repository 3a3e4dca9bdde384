"""The page Heads over a corpus: the mean weights of all heads, and one head compared with this text.

Each view of a head is one function, named as in links, which returns the numbers shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st
from safetensors.numpy import save

from attnviz.components.explorer import explorer
from attnviz.components.updates import acknowledged
from attnviz.corpus import QUANTILES
from attnviz.corpus.observing import clusters
from attnviz.corpus.offered import stamp
from attnviz.corpus.offered import statistics as read
from attnviz.corpus.run import CorpusCard
from attnviz.corpus.statistics import CorpusStatistics
from attnviz.formatting import number
from attnviz.heads.all_heads import encode
from attnviz.links.pages import PAGES
from attnviz.measures.summary import choose_measures
from attnviz.runtime.arrays import array_store
from attnviz.settings import name_in_links
from attnviz.ui import state
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.state import HALF, MeasureNames, measure_names, share
from attnviz.ui.heads.table import HEIGHT, offer_table
from attnviz.ui.messages import plain, plain_part
from attnviz.ui.places import page_link
from attnviz.ui.sources import RESOURCES
from attnviz.ui.styles import style
from attnviz.ui.widgets import notice, palette, plot

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey

KEY = "corpus_grid"
SAID = 3
"""The most labels shown for the head under the pointer"""
LIKE_IT, CLUSTERS = 6, 12
"""The number of similar heads listed; the number of clusters of all heads"""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusHead:
    """A head over a corpus, and on the page's text."""

    file: Path
    statistics: CorpusStatistics
    """The contents of the file"""
    card: CorpusCard
    survey: Survey
    """The heads on the page's text"""
    layer: int
    """The model's own number of the layer"""
    head: int

    @property
    def row(self) -> int:
        """The layer's index in arrays (L, H, ...)."""
        return self.statistics.numbers.index(self.layer)

    @property
    def number(self) -> int:
        """The head's index in arrays (L · H, ...)."""
        return self.row * self.statistics.shape[1] + self.head

    @property
    def measure_names(self) -> MeasureNames:
        """The names of measures and labels for this model over the corpus."""
        return measure_names(self.survey, self.statistics.limited.tolist())

    @property
    def names(self) -> list[str]:
        """The measures of which this head has values over the corpus."""
        counts = self.statistics.count[self.row, self.head].tolist()
        return [name for name, count in zip(self.statistics.measures, counts, strict=True) if count]

    def strongest(self) -> str:
        """Return the measure in which this head stands out: that of its most common label, or the one farthest above.

        A label counts if it holds on half of the sentences and is the name of a measure ("broad" is entropy).
        Farthest above: the mean of this head minus that of all heads, in standard deviations of the heads.
        """
        named = ["entropy" if name == "broad" else name for name, part in self.labels(self.layer, self.head)
                 if part >= HALF]  # fmt: skip
        of_label = next((name for name in named if name in self.names), None)
        if of_label is not None:
            return of_label

        def above_all(measure: str) -> float:
            means = self.statistics.mean[..., self.statistics.measures.index(measure)]  # (L, H)
            return float((means[self.row, self.head] - np.nanmean(means)) / max(np.nanstd(means), 1e-12))

        return max(self.names, key=above_all)

    def value(self, measure: str) -> float | None:
        """Return the value on this text; None if the text has no such measure."""
        for index, text_measure in enumerate(self.survey.measures):
            if text_measure.name == measure:
                value = float(self.survey.values[self.row, self.head, index])
                return None if isnan(value) else value
        return None

    def at(self, measure: str) -> tuple[int, int, int]:
        """Return the index of this head's measure in arrays (L, H, M)."""
        return self.row, self.head, self.statistics.measures.index(measure)

    def nearest(self, count: int) -> list[int]:
        """Return the numbers of the heads whose rows are most similar to this head's, the most similar first."""
        index = self.number
        ranked = np.argsort(self.statistics.divergence[index], kind="stable").tolist()
        return [other for other in ranked if other != index][:count]

    def labels(self, layer: int, head: int) -> list[tuple[str, float]]:
        """Return a head's labels that hold on any sentence, with their shares of all sentences; the largest first."""
        shares = self.statistics.label_share[:, self.statistics.numbers.index(layer), head].tolist()
        held = [(name, share) for name, share in zip(self.statistics.labels, shares, strict=True) if share > 0]
        return sorted(held, key=lambda label: -label[1])


def payload(here: CorpusHead, alike: Sequence[int] = ()) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the explorer (see `components.explorer`).

    `alike` are the numbers of the framed heads, in addition to the chosen one.
    """
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
        "labels": _of_heads(here, lambda _, held: [words.linked[name] for name, part in held if part >= HALF]),
        "said": _of_heads(
            here, lambda layer, held: [f"{words.label(name, layer)} on {share(part)}" for name, part in held[:SAID]]
        ),
        "limited": corpus.limited.tolist(),
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
    return save({"weights": encode(pictures(read(path)[0]))})


def _of_heads(here: CorpusHead, say: Any) -> list[list[list[str]]]:
    """Apply `say` to the number of its layer and the labels of each head; returns L lists of H lists."""
    heads = here.statistics.shape[1]
    return [[say(layer, here.labels(layer, head)) for head in range(heads)] for layer in here.statistics.numbers]


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
        framed = head.nearest(LIKE_IT) if state.get("corpus_view") == "alike" else []
        explorer(*payload(head, framed), key=KEY, on_view=heads_state.take)
        notice(
            "A label that holds on one sentence may be chance; one that holds on nearly all of them is what the head "
            "does. Most heads have none: they do different things on different sentences."
        )
    with right, st.container(key="corpus_right"):
        st.markdown(f"**Layer {head.layer} · head {head.head}**: {_said(head)}")
        if state.get("lecture"):
            state.keep_within("corpus_view", "View", list(VIEWS))
        else:
            state.choice(
                "corpus_view", st.segmented_control, "Of this head", required=True, label_visibility="collapsed"
            )
        name = state.get("corpus_view")
        name_of_file = f"heads_{file.stem}_corpus_{head.layer}_{head.head}_{name}.csv"
        offer_table(VIEWS[name](head), name_of_file, key="corpus_csv", type="tertiary")
    licence = f" Licence: {plain(head.card.licence)}." if head.card.licence else ""
    st.caption(
        f"Corpus: {plain(head.card.corpus)}; {statistics.sentences:,} sentences, {statistics.tokens:,} "
        f"tokens.{licence} In the grid, a head has the labels that hold on half of the sentences or more. Layers and "
        "heads are counted from 0."
    )


def _said(here: CorpusHead) -> str:
    """Return a sentence with the labels of the head, and the share of sentences on which each holds."""
    held = [(name, part) for name, part in here.labels(here.layer, here.head) if part >= 0.01]
    if not held:
        return f"no label holds on 1 % of {here.statistics.sentences:,} sentences."
    labels = [f"**{plain(here.measure_names.label(name, here.layer))}** on {share(part)}" for name, part in held]
    return f"{', '.join(labels)} of {here.statistics.sentences:,} sentences."


def measures(here: CorpusHead) -> pd.DataFrame:
    """Show each measure on this text and over the corpus."""
    table = beside(here)
    lines = ["| Measure | This text | Mean | Std. dev. | Below |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in table.itertuples():
        title, unit = here.measure_names.measures[str(row.measure)]
        named = f"{plain(title)}{f', {unit}' if unit else ''}"
        value = "–" if isnan(row.this_text) else number(row.this_text, 3)
        lines.append(f"| {named} | **{value}** | {number(row.mean, 3)} | {number(row.std, 3)} | {share(row.below)} |")
    st.markdown("\n".join(lines))
    st.caption("Mean and standard deviation are over the sentences. Below: the share of sentences with a lower value.")
    return table


def beside(here: CorpusHead) -> pd.DataFrame:
    """Return a row for each measure of this head, with its values on this text and over the corpus."""
    corpus = here.statistics
    rows = []
    for name in here.names:
        value, at = here.value(name), here.at(name)
        below = np.nan if value is None else corpus.share_below(here.row, here.head, name, value)
        rows.append(
            (name, np.nan if value is None else value, corpus.mean[at], corpus.std[at], below, corpus.count[at])
        )
    return pd.DataFrame(rows, columns=["measure", "this_text", "mean", "std", "below", "sentences"])


def distribution(here: CorpusHead) -> pd.DataFrame:
    """Show the distribution of a measure over the sentences, and the value on this text."""
    from attnviz.figures.corpus import distribution as figure

    name = _measure(here)
    value, at, corpus = here.value(name), here.at(name), here.statistics
    median = number(corpus.quantiles[(*at, QUANTILES.index(0.5))], 3)
    title, unit = here.measure_names.measures[name]
    if value is None:
        st.markdown(f"This text has no measure “{plain(title)}”. Median of the sentences: **{median}**.")
    else:
        below = share(corpus.share_below(here.row, here.head, name, value))
        st.markdown(
            f"{title.capitalize()}: **{number(value, 3)}**{f' {unit}' if unit else ''} on this text; {below} of the "
            f"sentences have less. Median **{median}**, mean {number(corpus.mean[at], 3)}."
        )
    counts, edges = corpus.histograms[at], corpus.edges(name)
    spec = figure(
        counts.tolist(), edges.tolist(), palette(), title=here.measure_names.axis(name), here=value, height=_height()
    )
    plot(spec, f"corpus_distribution_{here.layer}_{here.head}_{name}")
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "sentences": counts})


def positions(here: CorpusHead) -> pd.DataFrame:
    """Show the mean weight at each relative position."""
    from attnviz.figures.corpus import apart
    from attnviz.figures.corpus import positions as figure

    means = here.statistics.offset_mean[here.row, here.head]
    best = int(np.nanargmax(means))
    offset = here.statistics.offsets[best]
    where = "on the token itself" if offset == 0 else f"{apart(offset)} the query"
    st.markdown(f"The mean weight is largest **{where}**: **{number(float(means[best]), 3)}**.")
    plot(figure(means.tolist(), here.statistics.offsets, palette(), _height()),
         f"corpus_positions_{here.layer}_{here.head}")  # fmt: skip
    st.caption("Between tokens that are not special, over all pairs of tokens so far apart.")
    return pd.DataFrame(
        {"key - query": here.statistics.offsets, "mean weight": means, "pairs": here.statistics.offset_count}
    )


def parts(here: CorpusHead) -> pd.DataFrame:
    """Show the mean weight from each part of a sentence to each other part."""
    from attnviz.figures.corpus import by_part

    means, names = here.statistics.part_mean[here.row, here.head], here.statistics.parts
    st.markdown("Where queries of each kind look: a row adds up to **1**.")
    plot(by_part(means, names, palette(), _height()), f"corpus_parts_{here.layer}_{here.head}")
    st.caption(r"Special: added tokens such as \[CLS\]. Rare: pieces of words that are not whole in the vocabulary.")
    table = pd.DataFrame(means, columns=[f"to {name}" for name in names])
    table.insert(0, "from", names)
    table["queries"] = here.statistics.part_count
    return table


def alike(here: CorpusHead) -> pd.DataFrame:
    """Show the heads whose rows are most similar to this head's; the grid has frames around them."""
    corpus, index = here.statistics, here.number
    groups = clusters(corpus.divergence, min(CLUSTERS, len(corpus.divergence)))
    st.markdown("Nearest by the mean **Jensen-Shannon divergence** of their rows, framed in the grid:")
    lines = ["| Head | Divergence, bits | Labels |", "| --- | ---: | --- |"]
    for other in here.nearest(LIKE_IT):
        layer, head = corpus.head(other)
        held = [here.measure_names.label(name, layer) for name, part in here.labels(layer, head) if part >= HALF]
        lines.append(f"| layer {layer} · head {head} | **{number(corpus.divergence[index, other], 3)}** "
                     f"| {plain(', '.join(held)) or '–'} |")  # fmt: skip
    st.markdown("\n".join(lines))
    same = ["{}.{}".format(*corpus.head(other)) for other in np.flatnonzero(groups == groups[index]).tolist()]
    st.caption(
        f"0: the same rows; 1: no key in common; over {corpus.pair_count:,} queries. Of {groups.max() + 1} clusters "
        f"(average linkage), its own has {len(same)} heads (layer.head): {', '.join(same[:24])}"
        f"{' …' if len(same) > 24 else ''}."
    )
    layers, heads = zip(*map(corpus.head, range(len(groups))), strict=True)
    table = pd.DataFrame({"layer": layers, "head": heads, "divergence": corpus.divergence[index], "cluster": groups})
    return table.drop(index).sort_values("divergence", kind="stable", ignore_index=True)


def examples(here: CorpusHead) -> pd.DataFrame:
    """Show the sentences with the highest values of a measure, each as a link to this head on that sentence."""
    name = _measure(here)
    at, strongest = here.at(name), here.statistics.strongest
    shown = [
        (float(value), strongest.texts[(file, line)])  # type: ignore[index]
        for value, (file, line) in zip(strongest.values[at], strongest.places[at].tolist(), strict=True)
        if np.isfinite(value)
    ]
    with st.container(key="corpus_examples", gap=None):
        for value, text in shown:
            view = state.every() | {"text": text, "pair": "", "over": "text", "q": None, "k": None}
            label = f"{number(value, 3)} · {lit(here, name, text)}"
            page_link("heads", label, PAGES["heads"].write(view, PAGES["heads"].keys))
    quoted = ", ".join(here.card.quoted)
    st.caption(
        f"Of the sentences that may be quoted here ({plain(quoted)}), of 8 tokens or more. Each opens this head on it. "
        "Marked: the tokens whose own rows have at least half of the sentence’s largest value."
    )
    return pd.DataFrame(shown, columns=[name, "sentence"])


def lit(here: CorpusHead, name: str, text: str) -> str:
    """Return a sentence as Markdown, and mark the tokens whose rows have at least half of the largest value."""
    trace = RESOURCES.trace(RESOURCES.load(here.card.model), text, None)
    kind = trace.kinds[0]
    tokens, weights = trace.query_tokens(kind), trace.layers[kind][here.row].attentions()[here.head]
    measures = choose_measures(len(tokens), tokens, same_text=True, causal=kind == "decoder")
    measure = next((measure for measure in measures if measure.name == name), None)
    if measure is None:
        return plain(text)
    rows = measure.rows(weights.clone()).nan_to_num(0).numpy()  # clone: entropy works in place
    pieces, end = [], 0
    for row, is_special, (start, stop) in zip(rows, tokens.special, tokens.offsets, strict=True):
        if is_special or row < rows.max() / 2 or stop <= max(start, end):
            continue
        pieces += [plain_part(text[end:start]), f":violet-background[{plain(text[start:stop])}]"]
        end = stop
    return "".join([*pieces, plain_part(text[end:])])


def heads(here: CorpusHead) -> pd.DataFrame:
    """Show all heads in a table, with the share of each label."""
    table = all_heads(here)
    if state.get("lecture"):
        st.markdown(_by_label(here))
    else:
        st.dataframe(table, hide_index=True, height=HEIGHT, key="corpus_table")
    return table


def _by_label(here: CorpusHead) -> str:
    """Return a table, short enough for lecture mode, of each label: how many heads have it, and which most often."""
    corpus, lines = here.statistics, ["| Label | Heads | Most often | On |", "| --- | ---: | --- | ---: |"]
    for name, shares in zip(corpus.labels, corpus.label_share, strict=True):
        layer, head = corpus.head(int(shares.argmax()))
        if shares.any():
            many, label = int((shares >= HALF).sum()), plain(here.measure_names.labels[name])
            lines.append(f"| {label} | {many} | layer {layer} · head {head} | {share(float(shares.max()))} |")
    return "\n".join([*lines, "", f"Heads: those with the label on {share(HALF)} of the sentences or more."])


def all_heads(here: CorpusHead) -> pd.DataFrame:
    """Return a row for each head: mean and standard deviation of each measure, and the share of each label."""
    corpus, (layers, count) = here.statistics, here.statistics.shape
    columns: dict[str, object] = {"layer": np.repeat(corpus.numbers, count), "head": np.tile(np.arange(count), layers)}
    columns |= {f"label: {here.measure_names.labels[name]}": shares.ravel()
                for name, shares in zip(corpus.labels, corpus.label_share, strict=True) if shares.any()}  # fmt: skip
    for name in corpus.present:
        index = corpus.measures.index(name)
        columns[f"{name} mean"] = corpus.mean[..., index].ravel()
        columns[f"{name} std"] = corpus.std[..., index].ravel()
    return pd.DataFrame(columns)


def _measure(here: CorpusHead) -> str:
    """Show the choice of a measure, and return it; the default is the measure in which the head stands out."""
    strongest = here.strongest()
    if state.get("corpus_measure") not in (None, *here.names):
        state.keep_within("corpus_measure", "Measure", here.names)
        state.put("corpus_measure", None)
    if state.get("lecture"):
        return str(state.get("corpus_measure") or strongest)
    chosen = state.bound(
        "corpus_measure", st.selectbox, "Measure", here.names, index=None, label_visibility="collapsed",
        format_func=lambda name: here.measure_names.measures[name].title,
        placeholder=f"{here.measure_names.measures[strongest].title}: this head’s own",
    )  # fmt: skip
    return str(chosen or strongest)


def _height() -> int:
    from attnviz.figures.corpus import BESIDE, LARGE

    return LARGE if state.get("lecture") else BESIDE


VIEWS = {
    "measures": measures, "distribution": distribution, "positions": positions, "parts": parts, "alike": alike,
    "examples": examples, "heads": heads,
}  # fmt: skip
"""The views of a head, by their names in links"""

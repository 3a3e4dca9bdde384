"""What is shown of one head over a corpus, a function each, by its name in links."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.corpus.sums.pairs import clusters
from attnviz.formatting import number
from attnviz.links.link import write_link
from attnviz.links.pages import PAGES
from attnviz.ui import state
from attnviz.ui.heads.corpus.here import Here
from attnviz.ui.heads.corpus.words import LABELS, MEASURES, axis, share
from attnviz.ui.heads.table import HEIGHT, to_csv
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.walk.checks import plot

LIKE_IT, CLUSTERS = 6, 12
"""Heads that are named as alike; groups into which all heads are put"""


def measures(here: Here) -> None:
    """Show each measure on this text beside the corpus."""
    found = here.statistics
    lines = ["| Measure | This text | Mean | Deviation | Below this text |", "| --- | ---: | ---: | ---: | ---: |"]
    for name in here.names:
        title, unit = MEASURES[name]
        value, at = here.value(name), here.at(name)
        below = "–" if value is None else share(found.share_below(here.layer, here.head, name, value))
        own = "–" if value is None else number(value, 3)
        lines.append(
            f"| {plain(title)}{f', {unit}' if unit else ''} | **{own}** | {number(found.mean[at], 3)} "
            f"| {number(found.std[at], 3)} | {below} |"
        )
    st.markdown("\n".join(lines))
    st.caption("Deviation: standard deviation over the sentences. Below: the share of sentences with a lower value.")


def distribution(here: Here) -> None:
    """Show how a measure is distributed, and where this text lies."""
    from attnviz.figures.corpus import distribution as figure

    name = _measure(here)
    value, at, found = here.value(name), here.at(name), here.statistics
    title, unit = MEASURES[name]
    if value is None:
        st.markdown(f"This text has no measure “{plain(title)}”. Median of the sentences: **{_median(here, name)}**.")
    else:
        below = share(found.share_below(here.layer, here.head, name, value))
        st.markdown(
            f"{title.capitalize()}: **{number(value, 3)}**{f' {unit}' if unit else ''} on this text; {below} of the "
            f"sentences have less. Median **{_median(here, name)}**, mean {number(found.mean[at], 3)}."
        )
    spec = figure(
        found.histograms[at].tolist(), found.edges(name).tolist(), palette(), title=axis(name), here=value,
        height=_height(),
    )  # fmt: skip
    plot(spec, f"corpus_distribution_{here.layer}_{here.head}_{name}")


def positions(here: Here) -> None:
    """Show the mean weight at each relative position."""
    from attnviz.figures.corpus import positions as figure

    means = here.statistics.offset_mean[here.layer, here.head]
    best = int(np.nanargmax(means))
    offset = here.statistics.offsets[best]
    where = "on the token itself" if offset == 0 else f"{abs(offset)} {'before' if offset < 0 else 'after'} the query"
    st.markdown(f"The mean weight is largest **{where}**: **{number(float(means[best]), 3)}**.")
    plot(figure(means.tolist(), here.statistics.offsets, palette(), _height()),
         f"corpus_positions_{here.layer}_{here.head}")  # fmt: skip
    st.caption("Between tokens that are not special, over all pairs of tokens so far apart.")


def parts(here: Here) -> None:
    """Show the mean weight from each part of a sentence to each."""
    from attnviz.figures.corpus import by_part

    means = here.statistics.part_mean[here.layer, here.head]
    st.markdown("Where queries of each kind look: a row adds up to **1**.")
    plot(by_part(means, here.statistics.parts, palette(), _height()), f"corpus_parts_{here.layer}_{here.head}")
    st.caption(r"Special: \[CLS\], \[SEP\]. Rare: pieces of words that the vocabulary has not whole.")


def alike(here: Here) -> None:
    """Show the heads whose rows are most like this head's."""
    found, heads = here.statistics, here.statistics.shape[1]
    own = here.layer * heads + here.head
    groups = clusters(found.divergence, min(CLUSTERS, len(found.divergence)))
    nearest = [other for other in np.argsort(found.divergence[own], kind="stable").tolist() if other != own]
    st.markdown(f"Nearest by the mean **Jensen-Shannon divergence** of their rows, over {found.pair_count:,} queries:")
    lines = ["| Head | Divergence, bits | Its label |", "| --- | ---: | --- |"]
    for other in nearest[:LIKE_IT]:
        layer, head = divmod(other, heads)
        held = [LABELS[name] for name, part in here.labels(layer, head) if part >= 0.5]
        lines.append(f"| layer {layer} · head {head} | {number(found.divergence[own, other], 3)} "
                     f"| {plain(', '.join(held)) or '–'} |")  # fmt: skip
    st.markdown("\n".join(lines))
    same = [f"{other // heads}.{other % heads}" for other in np.flatnonzero(groups == groups[own]).tolist()]
    st.caption(
        f"0: the same rows; 1: no key in common. Put into {groups.max() + 1} groups, it stands with {len(same) - 1} "
        f"others (layer.head): {', '.join(same[:24])}{' …' if len(same) > 24 else ''}."
    )


def examples(here: Here) -> None:
    """Show the sentences on which a measure is highest, as links to this head on each."""
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
            st.page_link(
                PAGES["heads"].script, label=f"{number(value, 3)} · {plain(text)}",
                query_params=write_link(view, PAGES["heads"].keys),
            )  # fmt: skip
    quoted = ", ".join(here.card.quoted)
    st.caption(
        f"Of the sentences that may be quoted here ({plain(quoted)}), of 8 tokens or more. Each opens this head on it."
    )


def heads(here: Here) -> None:
    """Show all heads in a table, with the share of each label, and offer all numbers as CSV."""
    table = all_heads(here)
    st.dataframe(table, hide_index=True, height=HEIGHT, key="corpus_table")
    st.download_button(
        "Download as CSV", lambda: to_csv(table), f"heads_{here.card.model}_corpus.csv", "text/csv", on_click="ignore",
        icon=":material/download:",
    )  # fmt: skip


def all_heads(here: Here) -> pd.DataFrame:
    """Return a row for each head: the mean and deviation of each measure, and the share of each label."""
    found, (layers, count) = here.statistics, here.statistics.shape
    columns: dict[str, object] = {
        "layer": np.repeat(np.arange(layers), count),
        "head": np.tile(np.arange(count), layers),
    }
    columns |= {f"label: {LABELS[name]}": shares.ravel()
                for name, shares in zip(found.labels, found.label_share, strict=True) if shares.any()}  # fmt: skip
    for place, name in enumerate(found.measures):
        if found.count[..., place].any():
            columns[f"{name} mean"] = found.mean[..., place].ravel()
            columns[f"{name} std"] = found.std[..., place].ravel()
    return pd.DataFrame(columns)


def _measure(here: Here) -> str:
    """Show the choice of a measure, and return it."""
    if state.get("lecture"):
        return str(state.keep_within("corpus_measure", "Measure", here.names))
    return str(state.choice(
        "corpus_measure", st.selectbox, "Measure", here.names, format_func=lambda name: MEASURES[name].title,
        label_visibility="collapsed",
    ))  # fmt: skip


def _median(here: Here, name: str) -> str:
    from attnviz.corpus.sums.finished import QUANTILES

    return number(here.statistics.quantiles[(*here.at(name), QUANTILES.index(0.5))], 3)


def _height() -> int:
    from attnviz.figures.corpus import BESIDE, LARGE

    return LARGE[1] if state.get("lecture") else BESIDE

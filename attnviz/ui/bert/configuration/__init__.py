"""Configuration: what shapes the chosen model, in words, and its parameters by part, beside bert-base-uncased."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.configuration import BERT_BASE, PARTS, Configuration, configuration_of
from attnviz.figures.plots import bars
from attnviz.pretrained.names import shown
from attnviz.ui import state
from attnviz.ui.bert.configuration.words import sizes
from attnviz.ui.bert.look import in_torch
from attnviz.ui.bert.models import choose, chosen
from attnviz.ui.bert.part import Part
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.palette import palette
from attnviz.ui.tokens.chips import shorten
from attnviz.ui.widgets import notice, plot

if TYPE_CHECKING:
    import pandas as pd

MAX_TITLE = 18
"""The most characters of a model's name at the head of a column"""
SMALL = (20_000, 32)
"""V and C of a small table, such as one for film reviews of 20,000 different words"""
MILLION = 1e6
BAR, BAR_IN_LECTURE = 11, 15
"""px: the height of a bar"""
STYLE = """<style>
.sizes { width: 100%; border-collapse: collapse; font-size: max(.875rem, var(--least-type, 0) * 1rem);
  line-height: 1.35; }
.sizes :is(th, td) { padding: .28rem .45rem; text-align: left; vertical-align: top; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
.sizes thead th { font-weight: 600; }
.sizes :is(td, thead th).n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.sizes .own { font-weight: 600; }
.sizes code { font-size: .8em; opacity: .8; background: none; padding: 0; color: inherit; }
.sizes.words code { display: var(--chrome, block); } /* a lecture has no room for the names of fields */
.sizes th[scope=row] { font-weight: 600; min-width: 7.5em; }
.sizes .tables { white-space: nowrap; }
@media (max-width: 640px) {
  .sizes.words thead { display: none; }
  .sizes.words tr { display: grid; grid-template-columns: 1fr 1fr; }
  .sizes.words :is(th[scope=row], td.meaning) { grid-column: 1 / -1; border: 0; padding-bottom: 0; }
  .sizes.words td.n { text-align: left; border: 0; }
  .sizes.words td.n::before { content: attr(data-of) ": "; opacity: .75; font-weight: 400; }
  .sizes.words td.meaning { order: 1; padding-bottom: .5rem;
    border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
}
</style>"""
IN_LESSON = "<style>.sizes.words { line-height: 1.22; } .sizes.words :is(th, td) { padding-block: .18rem; }</style>"
"""The bar of a lesson leaves less room for the table."""
CODE = """from torch import nn
from transformers import AutoModel

model = AutoModel.from_pretrained("bert-base-uncased")
print(model.config)
print(sum(weight.numel() for weight in model.parameters()))
print(nn.Embedding(20000, 32).weight.numel())  # 640,000"""


def show() -> None:
    """Show the sizes in words, the parameters as bars, and what a table costs."""
    own = configuration_of(chosen())
    left, right = st.columns([9, 6], gap="small")
    with left:
        st.html(f"{STYLE}{IN_LESSON if lesson_bar.is_open() else ''}{_words(own)}")
    with right:
        _show_parameters(own)
        notice(_notice(own))
    left, right = st.columns(2)
    with left:
        _show_counts(own)
    with right:
        in_torch(CODE)


def _show_counts(own: Configuration) -> None:
    """Offer the parameters by part as a table; a lecture has no place for it."""
    if not state.get("lecture"):
        with st.expander("All numbers of parameters", key="configuration_counts", on_change="rerun") as counts:
            if counts.open:
                st.table(parameters(own).map(lambda count: f"{count:,}" if count else "–"))
                st.caption(
                    "Other embeddings: positions, segments, and the norm of their sum. Norms: those of the layers."
                )


def title_of(own: Configuration) -> str:
    """Return the model's name at the head of a column."""
    return shorten(shown(own.name.strip()), MAX_TITLE)


def _words(own: Configuration) -> str:
    """Return the sizes with their meaning, as a table."""
    title, base = escape(title_of(own)), escape(BERT_BASE.name)
    rows = "".join(
        f'<tr><th scope="row">{one.title} <i>{one.symbol}</i> <code>{one.field.replace("_", "_<wbr>")}</code></th>'
        f'<td class="n own" data-of="{title}">{one.own}</td><td class="n" data-of="{base}">{one.base}</td>'
        f'<td class="meaning">{escape(one.meaning)}</td></tr>'
        for one in sizes(own, BERT_BASE)
    )
    return (
        '<table class="sizes words"><thead><tr><th>Size</th>'
        f'<th class="n">{title}</th><th class="n">{base}</th>'
        f"<th>What it means</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _show_parameters(own: Configuration) -> None:
    """Show the parameters by part as bars, and the arithmetic of an embedding table."""
    columns = _columns(own)
    parts = [part for part in PARTS if any(part in one.parameters for one in columns.values())]
    series = {name: [one.parameters.get(part, 0) / MILLION for part in parts] for name, one in columns.items()}
    bar = BAR_IN_LECTURE if state.get("lecture") else BAR
    figure = bars(series, parts, palette(), title="millions of parameters", bar=bar)
    plot(figure, "bert_parameters")
    st.html(_tables(own))


def _columns(own: Configuration) -> dict[str, Configuration]:
    """Return the models that stand beside each other: bert-base-uncased only once."""
    return {title_of(own): own} | ({} if own.name == BERT_BASE.name else {BERT_BASE.name: BERT_BASE})


def _tables(own: Configuration) -> str:
    """Return the parameters of embedding tables as arithmetic."""
    tables = {
        title_of(own): (own.vocabulary, own.parameters["token embeddings"] // own.vocabulary),
        BERT_BASE.name: (BERT_BASE.vocabulary, BERT_BASE.width),
        "a small one": SMALL,
    }
    rows = "".join(
        f'<tr><td class="tables"><code>Embedding({rows}, {width})</code></td>'
        f'<td class="n">{rows:,} · {width:,} = <b>{rows * width:,}</b></td></tr>'
        for rows, width in dict.fromkeys(tables.values())
    )
    return f'<table class="sizes"><thead><tr><th>Table</th><th class="n">Parameters</th></tr></thead>{rows}</table>'


def _notice(own: Configuration) -> str:
    share = own.parameters["token embeddings"] / own.together
    base = BERT_BASE.parameters["token embeddings"] / BERT_BASE.together
    return (
        f"{title_of(own)} has {own.together:,} parameters, and the table of token embeddings is {share:.0%} of them. "
        f"Of bert-base-uncased's {BERT_BASE.together:,} it is {base:.0%}. Yet a text uses one row of it for each token."
    )


def parameters(own: Configuration) -> pd.DataFrame:
    """Return the numbers of parameters by part: a row for each, a column for each model."""
    import pandas as pd  # late: it takes as long as all the rest of the part

    columns = _columns(own)
    parts = [part for part in PARTS if any(part in one.parameters for one in columns.values())]
    counted = {name: [*(one.parameters.get(part, 0) for part in parts), one.together] for name, one in columns.items()}
    return pd.DataFrame(counted, index=[*parts, "together"])


PART = Part(show, controls=choose)

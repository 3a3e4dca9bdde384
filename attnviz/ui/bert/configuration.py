"""Configuration: the chosen model's sizes in words, and its parameters by part, beside bert-base-uncased."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.configuration import BERT_BASE, PARTS, Configuration, configuration_of
from attnviz.formatting import percent
from attnviz.pretrained.names import shown
from attnviz.trace.model import either
from attnviz.ui import state
from attnviz.ui.bert.bars import beside
from attnviz.ui.bert.parts import Part, choose_model, chosen_model, in_torch, shown_model
from attnviz.ui.sources import DESCRIBED
from attnviz.ui.tokens.chips import shorten
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "–"
MAX_TITLE = 24
"""Maximum characters of a model's name in a column header"""
SMALL = (20_000, 32)
"""V and C of a small table, such as one for film reviews of 20,000 different words"""
MILLION = 1e6
WIDTH = "How many numbers represent a token, before and after every layer: all take and give (T,\u00a0C)."
LINES = """from torch import nn
from transformers import AutoModel

model = AutoModel.from_pretrained("bert-base-uncased")
print(model.config)
print(sum(weight.numel() for weight in model.parameters()))
print(nn.Embedding(20000, 32).weight.numel())  # 640,000"""


@dataclass(frozen=True, slots=True)
class Size:
    """One number of the configuration."""

    title: str
    symbol: str
    field: str
    """Its name in a BERT configuration"""
    number: str
    """The model's value"""
    base: str
    """The value in bert-base-uncased"""
    meaning: str


def sizes(config: Configuration, base: Configuration) -> Iterator[Size]:
    """Yield a model's sizes beside those of another, with what they mean for the first."""
    for title, symbol, field, meaning in (
        ("Vocabulary", "V", "vocab_size", _vocabulary(config)),
        ("Hidden size", "C", "hidden_size", WIDTH),
        ("Intermediate size", "F", "intermediate_size", _feed_forward(config)),
        ("Positions", "", "max_position_embeddings", _positions(config)),
        ("Heads × their width", "H × D", "num_attention_heads", _heads(config)),
        ("Layers", "L", "num_hidden_layers", _layers(config)),
    ):
        yield Size(title, symbol, field, _number(config, field), _number(base, field), meaning)


def _number(config: Configuration, field: str) -> str:
    if field == "num_attention_heads":
        return config.heads_and_sizes
    if field == "intermediate_size":
        return either(config.feed_forward) if config.feed_forward else UNKNOWN
    numbers = {
        "vocab_size": config.vocabulary, "hidden_size": config.width,
        "max_position_embeddings": config.positions, "num_hidden_layers": config.layers,
    }  # fmt: skip
    return UNKNOWN if numbers[field] is None else f"{numbers[field]:,}"


def _vocabulary(config: Configuration) -> str:
    outputs = "" if config.outputs in (None, config.vocabulary) else f"; that of this model has {config.outputs:,}"
    return (
        "The number of tokens that have a row in the embedding table: words, and pieces of which other words are made. "
        f"A layer that names tokens has as many outputs{outputs}."
    )


def _feed_forward(config: Configuration) -> str:
    if not config.feed_forward:
        return "How wide the feed-forward of this model is between its two maps is not known here."
    smallest, largest = min(config.feed_forward), max(config.feed_forward)
    verb = "widens" if smallest > config.width else "narrows" if largest < config.width else "maps"
    changes = f"{verb} each token to F numbers, then returns to C"
    if smallest < largest:
        return f"Layers differ: each number holds for some of them. A feed-forward {changes}."
    times = largest / config.width
    factor = f": F\u00a0=\u00a0{times:g}\u00a0·\u00a0C" if times == int(times) else ""
    is_largest = config.parameters.get("feed-forward", 0) > config.parameters.get("attention", 0)
    follows = ", and so most of a layer's parameters are its own" if is_largest else ""
    return f"The feed-forward {changes}{factor}{follows}."


def _positions(config: Configuration) -> str:
    cut = f"a text has at most {config.most_tokens:,} tokens here, special ones included; the rest is cut"
    if config.adds_positions is None and config.positions is None:
        return f"Whether positions are added to the tokens' rows is not known here. In any case, {cut}."
    if config.positions is None:
        knows = "what is computed before its first" if config.adds_positions else "its"
        return f"This model has no table of positions: {knows} attention tells them apart. Still, {cut}."
    return f"Each place has a row of a table, which is added to the token's. So {cut}."


def _heads(config: Configuration) -> str:
    if config.heads_and_sizes != f"{config.heads} × {config.head_size:,}":
        return "Layers differ: each number holds for some of them. In BERT, all have the same, and D = C / H."
    if config.heads * config.head_size == config.width:
        split = f"The heads of a layer share C, so D\u00a0=\u00a0C\u00a0/\u00a0H\u00a0=\u00a0{config.head_size:,}"
        return f"{split}: more heads are narrower ones, with no more parameters."
    return f"Each head works with D = {config.head_size:,} numbers; in BERT, D = C / H."


def _layers(config: Configuration) -> str:
    if config.not_shown:
        stacks = " and ".join(config.not_shown)
        return (
            "How many layers are applied, one after another, in the encoder and in the decoder; the attention of "
            f"{config.with_attention} of them is shown. The {stacks}'s attention is computed by code of its own, so it "
            "is not shown here. The time of a forward pass grows with L."
        )
    if config.with_attention < config.layers:
        return (
            f"How many layers are applied, one after another; {config.with_attention} of them have attention. The time "
            "of a forward pass grows with L."
        )
    return (
        "How many times attention and feed-forward are applied, one after another: the time of a forward pass grows "
        "with L."
    )


def show() -> None:
    """Show the sizes in words, the parameters as bars, and what a table costs."""
    config = configuration_of(chosen_model(DESCRIBED))
    left, right = st.columns([9, 6], gap="small")
    with left:
        st.html(_words(config))
    with right:
        _show_parameters(config)
        notice(_notice(config))
    left, right = st.columns(2)
    with left:
        if not state.get("lecture"):  # which has no room for it
            with st.expander("All numbers of parameters", key="configuration_counts", on_change="rerun") as counts:
                if counts.open:
                    st.table(parameters(config).map(lambda count: f"{count:,}" if count else "–"))
                    st.caption(
                        "Other embeddings: positions, segments, and the norm of their sum. Norms: those of the layers."
                    )
    with right:
        in_torch(LINES)


def title_of(config: Configuration) -> str:
    """Return the model's name as a column header."""
    return shorten(shown(config.name.strip()), MAX_TITLE)


def _words(config: Configuration) -> str:
    """Return the sizes with their meaning, as a table."""
    title, base = escape(title_of(config)), escape(BERT_BASE.name)
    rows = "".join(
        f'<tr><th scope="row">{size.title} <i>{size.symbol}</i> <code>{size.field.replace("_", "_<wbr>")}</code></th>'
        f'<td class="n own" data-of="{title}">{size.number}</td><td class="n" data-of="{base}">{size.base}</td>'
        f'<td class="meaning">{escape(size.meaning)}</td></tr>'
        for size in sizes(config, BERT_BASE)
    )
    return (
        '<table class="sizes words" data-item="sizes"><thead><tr><th>Size</th>'
        f'<th class="n">{title}</th><th class="n">{base}</th>'
        f"<th>What it means</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _show_parameters(config: Configuration) -> None:
    """Show the parameters by part as bars, and the arithmetic of an embedding table."""
    columns = _columns(config)
    parts = [part for part in PARTS if any(part in model.parameters for model in columns.values())]
    series = {name: [model.parameters.get(part, 0) / MILLION for part in parts] for name, model in columns.items()}
    with st.container(key="parameters"):
        st.html(beside(series, parts, title="parameters", unit="millions", name="parameters by part"))
    st.html(_tables(config))


def _columns(config: Configuration) -> dict[str, Configuration]:
    """Return the models to compare, by column header: bert-base-uncased only once."""
    return {title_of(config): config} | ({} if config.name == BERT_BASE.name else {BERT_BASE.name: BERT_BASE})


def _tables(config: Configuration) -> str:
    """Return the parameter counts of embedding tables, written as products."""
    tables = {
        title_of(config): (config.vocabulary, config.parameters["token embeddings"] // config.vocabulary),
        BERT_BASE.name: (BERT_BASE.vocabulary, BERT_BASE.width),
        "a small one": SMALL,
    }
    rows = "".join(
        f'<tr><td class="tables"><code>Embedding({rows}, {width})</code></td>'
        f'<td class="n">{rows:,} · {width:,} = <b>{rows * width:,}</b></td></tr>'
        for rows, width in dict.fromkeys(tables.values())
    )
    head = '<tr><th>Table</th><th class="n">Parameters</th></tr>'
    return f'<table class="sizes" data-item="tables"><thead>{head}</thead>{rows}</table>'


def _notice(config: Configuration) -> str:
    share = config.parameters["token embeddings"] / config.together
    base = BERT_BASE.parameters["token embeddings"] / BERT_BASE.together
    return (
        f"{title_of(config)} has {config.together:,} parameters, and the table of token embeddings is "
        f"{percent(share)} of them. Of bert-base-uncased's {BERT_BASE.together:,} it is {percent(base)}. Yet a "
        "text uses one row of it for each token."
    )


def parameters(config: Configuration) -> pd.DataFrame:
    """Return the parameter counts: a row for each part, a column for each model."""
    import pandas as pd

    columns = _columns(config)
    parts = [part for part in PARTS if any(part in model.parameters for model in columns.values())]
    counts = {
        name: [*(model.parameters.get(part, 0) for part in parts), model.together] for name, model in columns.items()
    }
    return pd.DataFrame(counts, index=[*parts, "together"])


def tables() -> dict[str, pd.DataFrame]:
    """Return the sizes, and the parameter counts by part."""
    import pandas as pd

    config = configuration_of(shown_model())
    rows = [(size.title, size.field, size.number, size.base, size.meaning) for size in sizes(config, BERT_BASE)]
    columns = ["size", "field", title_of(config), BERT_BASE.name, "meaning"]
    return {"configuration": pd.DataFrame(rows, columns=columns).set_index("size"), "parameters": parameters(config)}


def script() -> str:
    """Return the script that prints the sizes and counts the parameters."""
    from attnviz.export.code.bert.embeddings import configuration_script

    model = shown_model()
    return configuration_script(model.name.strip(), configuration_of(model), model.loader, model.not_run)


PART = Part(show, tables, script, controls=choose_model)

"""The numbers of a model's configuration in words: what each means, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attnviz.bert.configuration import Configuration

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Size:
    """One number of the configuration."""

    title: str
    symbol: str
    field: str
    """Its name in the configuration of a BERT"""
    own: str
    base: str
    """The number of bert-base-uncased"""
    meaning: str


def sizes(own: Configuration, base: Configuration) -> Iterator[Size]:
    """Yield the numbers of a model beside those of another one, with their meaning for the first."""
    for title, symbol, field, meaning in (
        ("Vocabulary", "V", "vocab_size", _vocabulary()),
        ("Hidden size", "C", "hidden_size", _width()),
        ("Intermediate size", "F", "intermediate_size", _feed_forward(own)),
        ("Positions", "", "max_position_embeddings", _positions(own)),
        ("Heads × their width", "H × D", "num_attention_heads", _heads(own)),
        ("Layers", "L", "num_hidden_layers", _layers()),
    ):
        yield Size(title, symbol, field, _number(own, field), _number(base, field), meaning)


def _number(of: Configuration, field: str) -> str:
    if field == "num_attention_heads":
        return of.heads_and_sizes
    numbers = {
        "vocab_size": of.vocabulary, "hidden_size": of.width, "intermediate_size": of.feed_forward,
        "max_position_embeddings": of.positions, "num_hidden_layers": of.layers,
    }  # fmt: skip
    return UNKNOWN if numbers[field] is None else f"{numbers[field]:,}"


def _vocabulary() -> str:
    return (
        "The number of tokens that have a row in the embedding table: words, and pieces of which other words are made. "
        "A layer that names tokens has as many outputs."
    )


def _width() -> str:
    return "How many numbers represent a token, before and after every layer: all take and give (T,\u00a0C)."


def _feed_forward(own: Configuration) -> str:
    if own.feed_forward is None:
        return "How wide the feed-forward of this model is between its two maps is not known here."
    times = own.feed_forward / own.width
    factor = f": F\u00a0=\u00a0{times:g}\u00a0·\u00a0C" if times == int(times) else ""
    most = own.parameters.get("feed-forward", 0) > own.parameters.get("attention", 0)
    follows = ", and so most of a layer's parameters are its own" if most else ""
    return f"The feed-forward widens each token to F numbers, then returns to C{factor}{follows}."


def _positions(own: Configuration) -> str:
    cut = f"a text has at most {own.most_tokens:,} tokens here, special ones included; the rest is cut"
    if own.positions is None:
        return f"This model has no table of positions: its attention knows them in another way. Still, {cut}."
    return f"Each place has a row of a table, which is added to the token's. So {cut}."


def _heads(own: Configuration) -> str:
    if own.heads_and_sizes != f"{own.heads} × {own.head_size}":
        return "Layers differ: each number holds for some of them. In BERT, all have the same, and D = C / H."
    if own.heads * own.head_size == own.width:
        split = f"The heads of a layer share C, so D\u00a0=\u00a0C\u00a0/\u00a0H\u00a0=\u00a0{own.head_size}"
        return f"{split}: more heads are narrower ones, with no more parameters."
    return f"Each head works with D = {own.head_size} numbers; in BERT, D = C / H."


def _layers() -> str:
    return (
        "How many times attention and feed-forward are applied, one after another: the time of a forward pass grows "
        "with L."
    )

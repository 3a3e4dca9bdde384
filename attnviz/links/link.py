"""The keys of a link: each key's default, and how its value is parsed, checked and written.

Independent of Streamlit: a link is a mapping of strings, a view is a mapping of checked values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from attnviz.links.bert import BERT_KEYS
from attnviz.links.train import TRAIN_KEYS
from attnviz.links.values import (
    INDEX,
    BadValueError,
    Key,
    one_of,
    read_dropout,
    read_fraction,
    read_heads,
    read_limit,
    read_matrix,
    read_part,
    read_scale,
    read_source,
    read_switch,
    read_up_to_10,
    short,
    whole,
    write_heads,
    write_switch,
)
from attnviz.measures.mistakes.texts import NAMES as MISTAKES
from attnviz.measures.names import NAMES as MEASURES
from attnviz.settings import settings
from attnviz.sources.compared import B_KEYS
from attnviz.steps import STEPS
from attnviz.steps.averages import WAYS
from attnviz.toy.config import (
    MAX_MODEL_WIDTH,
    MAX_TOKENS,
    MAX_WIDTH,
    MIN_WIDTH,
    WIDTH,
    Embedding,
    MaskValue,
)
from attnviz.toy.transformer.config import (
    ACTIVATIONS,
    ARCHITECTURES,
    MAX_FEED_FORWARD,
    MAX_LAYERS,
    NORM_PLACES,
)

DEFAULT_TEXT = "The animal didn't cross the street because it was too tired."
MAX_OTHER = 40
"""The maximum length in characters of the word that takes the place of another one"""
MAX_DRAW, MAX_PADS = 999, 16
"""The largest seed of a draw of dropout, and number of padding tokens"""

CORPUS_VIEWS = ("measures", "distribution", "positions", "parts", "alike", "examples", "heads")
"""What the page Heads shows of a head over a corpus"""
CHECKS = (
    "overview", "token", "norm", "positions", "change", "padding", "dropout", "lens", "parameters", "cost", "mistake",
)  # fmt: skip
"""What the page Transformer shows beside its walk"""
STRETCH: dict[str, bool | None] = {"0": None, "1": True, "off": False}
"""Whether the colours of weights are darkened: in a long text by themselves, always or never"""


def read_text(raw: str) -> str:
    """Read a view's text. A longer one than the settings allow is cut there."""
    return raw[: settings().largest_text]


KEYS: dict[str, Key] = {
    "text": Key(DEFAULT_TEXT, read_text),
    "pair": Key("", read_text),
    "source": Key("toy", read_source),
    "model": Key("minilm", short(200)),
    "kind": Key("encoder", one_of("encoder", "decoder", "cross")),
    "layer": Key(0, INDEX),
    "head": Key(0, INDEX),
    "step": Key("scores", one_of(*STEPS)),
    "q": Key(None, INDEX),
    "k": Key(None, INDEX),
    "tokenizer": Key("word", one_of("char", "word", "bert")),
    "charset": Key("shakespeare", one_of("shakespeare", "text", "file")),
    "positions": Key("sinusoidal", one_of("none", "sinusoidal", "lab", "random")),
    "qkv": Key("linear", one_of("identity", "linear", "positions")),
    "heads": Key(2, whole(1, 8)),
    "head_size": Key(8, whole(2, 64)),
    "scale": Key("sqrt_d", read_scale),
    "mask": Key("none", one_of("none", "causal")),
    "padding": Key(0, whole(0, MAX_TOKENS)),
    "mask_value": Key("-inf", one_of(*get_args(MaskValue))),
    "model_width": Key(WIDTH, whole(MIN_WIDTH, MAX_MODEL_WIDTH)),
    "embedding": Key("normal", one_of(*get_args(Embedding))),
    **{name: Key(None, read_up_to_10, "{:g}".format) for name in ("std_q", "std_k", "std_v")},
    "projection_bias": Key(False, read_switch, write_switch),
    "projection": Key(True, read_switch, write_switch),
    "seed": Key(0, whole(0, 999_999)),
    "architecture": Key("encoder", one_of(*ARCHITECTURES)),
    "depth": Key(2, whole(1, MAX_LAYERS)),
    "decoder_depth": Key(None, whole(1, MAX_LAYERS)),
    "width": Key(32, whole(MIN_WIDTH, MAX_WIDTH)),
    "feed_forward": Key(None, whole(1, MAX_FEED_FORWARD)),
    "norm": Key("post", one_of(*NORM_PLACES)),
    "activation": Key("relu", one_of(*ACTIVATIONS)),
    "bias": Key(True, read_switch, write_switch),
    "block": Key(0, INDEX),
    "part": Key("embeddings", read_part),
    "stretch": Key("0", one_of(*STRETCH)),
    "limit": Key(None, read_limit, "{:g}".format),
    "drawing": Key("stage", one_of("stage", "chart")),
    "focus": Key("", read_matrix),
    "predict": Key(False, read_switch, write_switch),
    "way": Key("loop", one_of(*WAYS)),
    "block_size": Key(8, whole(1, 64)),
    "chosen": Key((), read_heads, write_heads),
    "rollout": Key(False, read_switch, write_switch),
    "show": Key("both", one_of("both", "lines", "heatmap")),
    "direction": Key("vertical", one_of("vertical", "horizontal")),
    "threshold": Key(0.05, read_fraction, "{:g}".format),
    "strongest": Key(0, whole(0, 1000)),
    "special": Key("keep", one_of("keep", "hide", "renormalise")),
    "between": Key("all", one_of("all", "aa", "ab", "ba", "bb")),
    "values": Key("weights", one_of("weights", "norms")),
    "mean": Key(False, read_switch, write_switch),
    "sort": Key("", one_of(*MEASURES)),
    "label": Key("", short(60)),
    "recompute": Key(None, one_of("loop", "past")),
    "check": Key(None, one_of(*CHECKS)),
    "other": Key("cat", short(MAX_OTHER)),
    "pads": Key(4, whole(1, MAX_PADS)),
    "dropout": Key(0.1, read_dropout, "{:g}".format),
    "draw": Key(0, whole(0, MAX_DRAW)),
    "over_all": Key(False, read_switch, write_switch),
    "mistake": Key(MISTAKES[0], one_of(*MISTAKES)),
    "answer": Key(True, read_switch, write_switch),
    "more": Key(None, one_of("table", "measures", "care")),
    "over": Key("text", one_of("text", "corpus")),
    "corpus": Key("", short(60)),
    "corpus_view": Key("measures", one_of(*CORPUS_VIEWS)),
    "corpus_measure": Key(None, one_of(*MEASURES)),
    "compare": Key("", one_of("same")),
    "quantity": Key("weights", one_of(*(name for name, step in STEPS.items() if step.is_by_cell))),
    **TRAIN_KEYS,
    **BERT_KEYS,
    "lecture": Key(False, read_switch, write_switch),
    "lesson": Key("", short(60)),
    "scene": Key(1, whole(1, 100)),
}
SHARED_KEYS: tuple[str, ...] = ("lecture", "lesson", "scene")
"""Keys that all pages share: they stay in the link when the page changes."""
KEYS |= {f"b_{name}": replace(KEYS[name], default="" if name == "text" else None) for name in B_KEYS}
TEXTS = ("text", "pair", "b_text")


def read_link(query: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Parse a query string into a view, and return it with notes (full sentences) on all rejected values.

    Unknown keys are ignored: Streamlit and hosts use some of their own.
    """
    view = {name: key.default for name, key in KEYS.items()}
    notes = []
    for name, key in KEYS.items():
        if name not in query:
            continue
        try:
            view[name] = key.read(query[name])
        except BadValueError as error:
            used = "nothing" if key.default in (None, "", ()) else key.write(key.default)
            used = "A's" if name.startswith("b_") else used
            notes.append(f"The link's {name}={query[name][:40]} {error}, so {used} is used.")
        if name in TEXTS and len(query[name]) > (limit := settings().largest_text):
            notes.append(f"The link's {name} is longer than {limit:,} characters and was cut there.")
    return view, notes


def write_link(view: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the query of a view: the keys among `names` whose values differ from their defaults."""
    return {
        name: KEYS[name].write(view[name])
        for name in names
        if view[name] is not None and view[name] != KEYS[name].default
    }

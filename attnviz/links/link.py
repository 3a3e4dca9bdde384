"""The keys of a link: each key's default, and how its value is parsed, checked and written.

Independent of Streamlit: a link is a mapping of strings, a view is a mapping of checked values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, get_args

from attnviz.measures.mistakes.texts import NAMES as MISTAKES
from attnviz.measures.names import NAMES as MEASURES
from attnviz.settings import settings
from attnviz.sources import SOURCES
from attnviz.sources.compared import B_KEYS
from attnviz.steps import PARTS, STEPS
from attnviz.steps.averages import WAYS
from attnviz.steps.picture import AXES
from attnviz.toy.config import MAX_HEADS, MAX_TOKENS, MAX_WIDTH, MIN_WIDTH, WIDTH, MaskValue
from attnviz.toy.transformer.config import ACTIVATIONS, ARCHITECTURES, MAX_LAYERS, NORM_PLACES
from attnviz.training.ladder import LADDER
from attnviz.training.settings import MOST_STEPS, Decay, Optimiser

DEFAULT_TEXT = "The animal didn't cross the street because it was too tired."
MAX_TEXT = settings().largest_text
"""The maximum length of a view's text in characters. A longer text is cut, with a note."""
MAX_OTHER = 40
"""The maximum length in characters of the word that takes the place of another one"""
MAX_DROPOUT, MAX_DRAW, MAX_PADS = 0.9, 999, 16
"""The largest dropout, seed of its draw, and number of padding tokens"""
MAX_SAMPLE, MOST_BATCH = 200, 4096
"""The most characters that a model in training is shown, and sequences a step"""
MAX_PROMPT, MAX_LENGTH, MAX_TEMPERATURE = 1000, 300, 2
"""The most characters of a prompt and of the text that is generated from it, and the highest temperature"""
MOST_BLOCK = 128
"""The largest block size of a model that is trained on a text"""
MAX_CHOSEN = 24
"""The most heads that the page Heads combines."""

RECORDED = ("recorded", "control")
"""The trainings that ship with the app, by their names in links: of a task's own model, and of its control"""

Head = tuple[int, int]
"""Layer and head."""
COMPARED = ("a", "b", "difference", "divergence")
"""The matrices of a comparison, by their names in its picture"""
ROLLOUT = -1
"""The head index of the rollout up to a layer."""


class BadValueError(ValueError):
    """A key does not accept a link's value. The message is a clause that completes "The link's layer=x ..."."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the query string: its default, its parser, which raises BadValueError, and its writer."""

    default: Any
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def one_of(*options: str) -> Callable[[str], str]:
    """Return a parser that accepts only these words."""

    def read(raw: str) -> str:
        if raw not in options:
            raise BadValueError(f"is not one of {', '.join(options)}")
        return raw

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of decimal integers from `low` to `high`."""

    def read(raw: str) -> int:
        if not (raw.isascii() and raw.isdigit() and len(raw) <= 10 and low <= int(raw) <= high):
            raise BadValueError(f"is not a whole number from {low} to {high}")
        return int(raw)

    return read


def short(limit: int) -> Callable[[str], str]:
    """Return a parser of text that truncates it to `limit` characters."""
    return lambda raw: raw[:limit]


def read_source(raw: str) -> str:
    """Read `source`: one of those that are registered when the link is read."""
    return one_of(*SOURCES)(raw)


def read_scale(raw: str) -> str:
    """Parse `scale`: a named scale, or a finite number ("0.125")."""
    if raw in ("sqrt_d", "off", "sqrt_c"):
        return raw
    try:
        number = float(raw)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and abs(number) <= 1000):
        raise BadValueError("is neither sqrt_d, off, sqrt_c nor a number up to 1000")
    return f"{number:g}"


def read_matrix(raw: str) -> str:
    """Parse the name of a matrix that a step may show. There are too many for a note to list."""
    if raw not in (*AXES, *COMPARED):
        raise BadValueError("is not the name of a matrix")
    return raw


def read_part(raw: str) -> str:
    """Parse the name of a step of a transformer. There are too many for a note to list."""
    if raw not in PARTS:
        raise BadValueError("is not the name of a step")
    return raw


def read_switch(raw: str) -> bool:
    """Parse a switch, 1 or 0."""
    return one_of("0", "1")(raw) == "1"


def write_switch(value: bool) -> str:
    """Write a switch as 1 or 0."""
    return "1" if value else "0"


def read_fraction(raw: str) -> float:
    """Parse a number from 0 to 1, rounded to 4 decimals."""
    if not (raw.isascii() and re.fullmatch(r"\d?(\.\d{0,8})?", raw) and raw not in ("", ".") and float(raw) <= 1):
        raise BadValueError("is not a number from 0 to 1")
    return round(float(raw), 4)


def read_dropout(raw: str) -> float:
    """Parse a probability of dropout."""
    with suppress(BadValueError):
        if (rate := read_fraction(raw)) <= MAX_DROPOUT:
            return rate
    raise BadValueError(f"is not a number from 0 to {MAX_DROPOUT}")


def read_limit(raw: str) -> float:
    """Parse a number from 0.01 to 1000."""
    if not (re.fullmatch(r"\d{1,4}(\.\d{1,2})?", raw, re.ASCII) and 0.01 <= float(raw) <= 1000):
        raise BadValueError("is not a number from 0.01 to 1000")
    return float(raw)


def read_heads(raw: str) -> tuple[Head, ...]:
    """Parse heads such as 3.5_4.1_2.r: layer and head, or r for the rollout up to a layer."""
    found = re.fullmatch(r"(\d{1,4}\.(\d{1,4}|r)_)*\d{1,4}\.(\d{1,4}|r)", raw, re.ASCII) and raw.split("_")
    if not found or len(set(found)) > MAX_CHOSEN:
        raise BadValueError(f"is not a list of up to {MAX_CHOSEN} heads such as 3.5_4.1")
    pairs = (pair.split(".") for pair in found)
    return tuple(dict.fromkeys((int(layer), ROLLOUT if head == "r" else int(head)) for layer, head in pairs))


def write_heads(heads: Iterable[Head]) -> str:
    """Write heads as `read_heads` reads them."""
    return "_".join(f"{layer}.{'r' if head == ROLLOUT else head}" for layer, head in heads)


def read_name(raw: str) -> str:
    """Parse the name of a task. Which there are, the page knows."""
    if not re.fullmatch(r"[a-z_]{1,30}", raw):
        raise BadValueError("is not the name of a task")
    return raw


def read_rate(raw: str) -> float:
    """Parse a learning rate, from 0 to 10."""
    if not (re.fullmatch(r"\d{0,2}(\.\d{1,10})?(e-\d{1,2})?", raw, re.ASCII) and re.match(r"\.?\d", raw)):
        raise BadValueError("is not a number from 0 to 10")
    if not float(raw) <= 10:
        raise BadValueError("is not a number from 0 to 10")
    return float(f"{float(raw):g}")


def read_watched(raw: str) -> str:
    """Parse a head of a model in training, such as decoder.1.0: its kind of attention, layer and head."""
    if not re.fullmatch(r"(encoder|decoder|cross)\.\d{1,2}\.\d{1,2}", raw, re.ASCII):
        raise BadValueError("is not a head such as decoder.1.0")
    return raw


def read_text_model(raw: str) -> str:
    """Parse the name of a model that generates text. Which there are, the page knows."""
    if not re.fullmatch(r"[a-z0-9-]{1,40}", raw, re.ASCII):
        raise BadValueError("is not the name of a model that generates text")
    return raw


def read_temperature(raw: str) -> float:
    """Parse a temperature, from 0 to 2, rounded to 2 decimals."""
    if not (re.fullmatch(r"\d(\.\d{0,8})?", raw, re.ASCII) and float(raw) <= MAX_TEMPERATURE):
        raise BadValueError(f"is not a number from 0 to {MAX_TEMPERATURE}")
    return round(float(raw), 2)


STRETCH: dict[str, bool | None] = {"0": None, "1": True, "off": False}
"""Whether the colours of weights are darkened: in a long text by themselves, always or never"""

INDEX = whole(0, 100_000)
"""The parser of an index whose range depends on the text or the model: the page clamps it, with a note."""

KEYS: dict[str, Key] = {
    "text": Key(DEFAULT_TEXT, short(MAX_TEXT)),
    "pair": Key("", short(MAX_TEXT)),
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
    "model_width": Key(WIDTH, whole(MIN_WIDTH, MAX_WIDTH)),
    "projection_bias": Key(False, read_switch, write_switch),
    "projection": Key(True, read_switch, write_switch),
    "seed": Key(0, whole(0, 999_999)),
    "architecture": Key("encoder", one_of(*ARCHITECTURES)),
    "depth": Key(2, whole(1, MAX_LAYERS)),
    "width": Key(32, whole(MIN_WIDTH, MAX_WIDTH)),
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
    "check": Key(
        None,
        one_of("token", "norm", "positions", "change", "padding", "dropout", "lens", "parameters", "cost", "mistake"),
    ),
    "other": Key("cat", short(MAX_OTHER)),
    "pads": Key(4, whole(1, MAX_PADS)),
    "dropout": Key(0.1, read_dropout, "{:g}".format),
    "draw": Key(0, whole(0, MAX_DRAW)),
    "over_all": Key(False, read_switch, write_switch),
    "mistake": Key(MISTAKES[0], one_of(*MISTAKES)),
    "answer": Key(True, read_switch, write_switch),
    "more": Key(None, one_of("table", "measures", "care")),
    "compare": Key("", one_of("same")),
    "quantity": Key("weights", one_of(*(name for name, step in STEPS.items() if step.is_by_cell))),
    "train_part": Key("task", one_of("task", "text", "generate")),
    "rung": Key("", one_of(*(rung.name for rung in LADDER))),
    "text_view": Key("ladder", one_of("ladder", "table", "loss", "data")),
    "train_block": Key(None, whole(1, MOST_BLOCK)),
    "task": Key("induction", read_name),
    "sample": Key("", short(MAX_SAMPLE)),
    "steps": Key(None, whole(1, MOST_STEPS)),
    "batch": Key(None, whole(1, MOST_BATCH)),
    "rate": Key(None, read_rate, "{:g}".format),
    "warm_up": Key(None, whole(0, MOST_STEPS)),
    "decay": Key(None, one_of(*get_args(Decay))),
    "optimiser": Key(None, one_of(*get_args(Optimiser))),
    "weight_decay": Key(None, read_fraction, "{:g}".format),
    "train_dropout": Key(None, read_dropout, "{:g}".format),
    "train_layers": Key(None, whole(0, MAX_LAYERS)),
    "train_heads": Key(None, whole(1, MAX_HEADS)),
    "train_width": Key(None, whole(MIN_WIDTH, MAX_WIDTH)),
    "watch": Key("", read_watched),
    "run": Key("", one_of(*RECORDED)),
    "snapshot": Key(None, whole(0, MOST_STEPS)),
    "text_model": Key("chargpt", read_text_model),
    "prompt": Key("", short(MAX_PROMPT)),
    "halves": Key(False, read_switch, write_switch),
    "length": Key(120, whole(1, MAX_LENGTH)),
    "temperature": Key(0.8, read_temperature, "{:g}".format),
    "top_k": Key(0, whole(0, 10_000)),
    "top_p": Key(1.0, read_fraction, "{:g}".format),
    "cache": Key(True, read_switch, write_switch),
    "drawn": Key(None, whole(0, MAX_LENGTH - 1)),
    "panel": Key("draw", one_of("draw", "seeds", "cache", "half")),
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
        if name in TEXTS and len(query[name]) > MAX_TEXT:
            notes.append(f"The link's {name} is longer than {MAX_TEXT:,} characters and was cut there.")
    return view, notes


def write_link(view: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the query of a view: the keys among `names` whose values differ from their defaults."""
    return {
        name: KEYS[name].write(view[name])
        for name in names
        if view[name] is not None and view[name] != KEYS[name].default
    }

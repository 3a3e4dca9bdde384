"""What a link may hold: every key that shapes a view, its default, and how it is read from and written to a URL.

Nothing here touches Streamlit: a link is a mapping of strings, a view is a mapping of checked values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attnviz.settings import settings
from attnviz.sources import SOURCES
from attnviz.steps.vocabulary import MEASURES, STEPS

DEFAULT_TEXT = "The animal didn't cross the street because it was too tired."
MAX_TEXT = settings().largest_text
"""Characters of text that a view takes; what is longer is cut, and said."""
MAX_CHOSEN = 24
"""Heads that the page Heads shows together."""

Head = tuple[int, int]
"""Layer and head."""
ROLLOUT = -1
"""Stands in for a head where the rollout up to a layer is meant."""


class BadValueError(ValueError):
    """A link's value that its key does not take. The message is a clause that finishes "the link's layer=x"."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the query string: its default, and the reader that checks what a link says."""

    default: Any
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def one_of(*options: str) -> Callable[[str], str]:
    """Return a reader that takes these words and no others."""

    def read(raw: str) -> str:
        if raw not in options:
            raise BadValueError(f"is none of {', '.join(options)}")
        return raw

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a reader of plain decimal whole numbers from `low` to `high`."""

    def read(raw: str) -> int:
        if not (raw.isascii() and raw.isdigit() and len(raw) <= 10 and low <= int(raw) <= high):
            raise BadValueError(f"is not a whole number from {low} to {high}")
        return int(raw)

    return read


def short(limit: int) -> Callable[[str], str]:
    """Return a reader of text that cuts at `limit` characters."""
    return lambda raw: raw[:limit]


def read_source(raw: str) -> str:
    """Read `source`: one of those that are registered when the link is read."""
    return one_of(*SOURCES)(raw)


def read_scale(raw: str) -> str:
    """Read `scale`: a named scale, or a finite number written out ("0.125")."""
    if raw in ("sqrt_d", "off", "sqrt_c"):
        return raw
    try:
        number = float(raw)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and abs(number) <= 1000):
        raise BadValueError("is neither sqrt_d, off, sqrt_c nor a number up to 1000")
    return f"{number:g}"


def read_switch(raw: str) -> bool:
    """Read a switch, 1 or 0."""
    return one_of("0", "1")(raw) == "1"


def write_switch(value: bool) -> str:
    """Write a switch as 1 or 0."""
    return "1" if value else "0"


def read_fraction(raw: str) -> float:
    """Read a number from 0 to 1, to 4 digits."""
    if not (raw.isascii() and re.fullmatch(r"\d?(\.\d{0,8})?", raw) and raw not in ("", ".") and float(raw) <= 1):
        raise BadValueError("is not a number from 0 to 1")
    return round(float(raw), 4)


def read_heads(raw: str) -> tuple[Head, ...]:
    """Read heads such as 3.5_4.1_2.r: layer and head, or r for the rollout up to a layer."""
    found = re.fullmatch(r"(\d{1,4}\.(\d{1,4}|r)_)*\d{1,4}\.(\d{1,4}|r)", raw, re.ASCII) and raw.split("_")
    if not found or len(set(found)) > MAX_CHOSEN:
        raise BadValueError(f"is no list of up to {MAX_CHOSEN} heads such as 3.5_4.1")
    pairs = (one.split(".") for one in found)
    return tuple(dict.fromkeys((int(layer), ROLLOUT if head == "r" else int(head)) for layer, head in pairs))


def write_heads(heads: Iterable[Head]) -> str:
    """Write heads as `read_heads` reads them."""
    return "_".join(f"{layer}.{'r' if head == ROLLOUT else head}" for layer, head in heads)


INDEX = whole(0, 100_000)
"""A position that only the text or the model can check: the page clamps it, and says so."""

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
    "positions": Key("sinusoidal", one_of("none", "sinusoidal", "random")),
    "qkv": Key("linear", one_of("identity", "linear", "positions")),
    "heads": Key(2, whole(1, 8)),
    "head_size": Key(8, whole(2, 64)),
    "scale": Key("sqrt_d", read_scale),
    "mask": Key("none", one_of("none", "causal")),
    "projection": Key(True, read_switch, write_switch),
    "seed": Key(0, whole(0, 999_999)),
    "stretch": Key(False, read_switch, write_switch),
    "drawing": Key("stage", one_of("stage", "chart")),
    "predict": Key(False, read_switch, write_switch),
    "way": Key("loop", one_of("loop", "matrix", "softmax", "data")),
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
    "more": Key(None, one_of("table", "measures", "care")),
    "compare": Key("", one_of("same")),
    "quantity": Key("weights", one_of("scores", "scaled", "masked", "weights")),
    "lecture": Key(False, read_switch, write_switch),
    "lesson": Key("", short(60)),
    "scene": Key(1, whole(1, 100)),
}
EVERYWHERE: tuple[str, ...] = ("lecture", "lesson", "scene")
"""What belongs to no page: it stays in the link from page to page."""
OF_B = ("text", "source", "model", "kind", "layer", "head", "scale", "mask")
"""What the second pane of Compare may have of its own, its name with b_ before it; else it takes the first's."""

KEYS |= {f"b_{name}": replace(KEYS[name], default="" if name == "text" else None) for name in OF_B}
TEXTS = ("text", "pair", "b_text")


def read_link(query: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Read a whole query string into a view, and say in plain sentences what was not taken.

    Unknown keys are left alone: Streamlit and hosts use some of their own.
    """
    view = {name: key.default for name, key in KEYS.items()}
    notes = []
    for name, key in KEYS.items():
        if name not in query:
            continue
        try:
            view[name] = key.read(query[name])
        except BadValueError as why:
            shown = "nothing" if key.default in (None, "") else key.write(key.default)
            shown = "A's" if name.startswith("b_") else shown
            notes.append(f"The link's {name}={query[name][:40]} {why}, so {shown} is used.")
        if name in TEXTS and len(query[name]) > MAX_TEXT:
            notes.append(f"The link's {name} is longer than {MAX_TEXT:,} characters and was cut there.")
    return view, notes


def write_link(view: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Write the keys of `names` that differ from their defaults, so that a plain view has a plain link."""
    return {
        name: KEYS[name].write(view[name])
        for name in names
        if view[name] is not None and view[name] != KEYS[name].default
    }

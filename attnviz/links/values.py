"""How a value of a link is parsed, checked and written. Independent of what the keys are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from attnviz.sources import SOURCES
from attnviz.steps import PARTS
from attnviz.steps.picture import AXES

MAX_DROPOUT = 0.9
"""The largest dropout"""
MAX_TEMPERATURE = 2
"""The highest temperature of a draw"""
MAX_CHOSEN = 24
"""The most heads that the page Heads combines."""

MAX_OFF = 1000
"""The most characters of a list of heads that are switched off: more than all of BERT-base take"""

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
    titles: Mapping[Any, str] = field(default_factory=dict)
    """Where it is one of a few values that a page offers: these, in the page's order, with what each is called there"""


def choice(titles: Mapping[Any, str], default: Any = None) -> Key:
    """Return a key that takes these values only, with their titles; without a default, the first is it.

    What is written of a value is `str` of it.
    """
    values = {str(value): value for value in titles}
    read = one_of(*values)
    return Key(next(iter(titles)) if default is None else default, lambda raw: values[read(raw)], titles=titles)


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


def read_off(raw: str) -> tuple[Head, ...]:
    """Parse the heads that are switched off, such as 3.5_4.1: layer and head, each once; empty if there are none."""
    if not re.fullmatch(r"((\d{1,2}\.\d{1,2}_)*\d{1,2}\.\d{1,2})?", raw, re.ASCII) or len(raw) > MAX_OFF:
        raise BadValueError("is not a list of heads such as 3.5_4.1")
    pairs = (pair.split(".") for pair in raw.split("_") if pair)
    return tuple(sorted({(int(layer), int(head)) for layer, head in pairs}))


def write_heads(heads: Iterable[Head]) -> str:
    """Write heads as `read_heads` reads them."""
    return "_".join(f"{layer}.{'r' if head == ROLLOUT else head}" for layer, head in heads)


def read_name(raw: str) -> str:
    """Parse the name of a task. Which there are, the page knows."""
    if not re.fullmatch(r"[a-z_]{1,30}", raw):
        raise BadValueError("is not the name of a task")
    return raw


def read_up_to_10(raw: str) -> float:
    """Parse a number from 0 to 10, such as a learning rate, and keep six digits of it."""
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


INDEX = whole(0, 100_000)
"""The parser of an index whose range depends on the text or the model: the page clamps it, with a note."""

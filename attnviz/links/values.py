"""The values of a link key: how they are parsed, checked, written and described. Independent of the keys.

Each kind of value has `read`, which raises `BadValueError`, `write`, and `takes`, its description in docs/links.md.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.settings import settings

MAX_CHOSEN = 24
"""Maximum heads that the page Heads combines."""
MAX_OFF = 1000
"""Maximum characters of a list of heads to switch off: more than all heads of BERT-base take"""
MAX_NUMBER = 1000
"""The largest factor of the scores"""

Head = tuple[int, int]
"""Layer and head."""
ROLLOUT = -1
"""The head index of the rollout up to a layer."""


class BadValueError(ValueError):
    """A key does not accept a link's value. The message is a clause that completes "The link's layer=x ..."."""


class Values(ABC):
    """The kind of value that a key takes."""

    __slots__ = ()

    @property
    @abstractmethod
    def takes(self) -> str:
        """The description in docs/links.md, in Markdown."""

    @abstractmethod
    def read(self, raw: str) -> Any:
        """Parse a value, or raise BadValueError."""

    def write(self, value: Any) -> str:
        """Write a value as `read` reads it."""
        return str(value)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the query string."""

    default: Any
    values: Values
    about: str
    """What it sets: the description in docs/links.md, in Markdown"""

    @property
    def titles(self) -> Mapping[Any, str]:
        """The app's title for each value of the key, in the order of a page; empty if it does not list them."""
        return self.values.titles if isinstance(self.values, OneOf) else {}

    def read(self, raw: str) -> Any:
        """Parse a value, or raise BadValueError."""
        return self.values.read(raw)

    def write(self, value: Any) -> str:
        """Write a value as `read` reads it."""
        return self.values.write(value)


@dataclass(frozen=True, slots=True)
class OneOf(Values):
    """One of a few values, written as words in a link."""

    offered: Callable[[], Iterable[Any]]
    """Returns them when a link is read, in the order of a page: some are registered late"""
    titles: Mapping[Any, str]
    """The app's title for each of them; empty if it does not list them"""

    @property
    def by_word(self) -> dict[str, Any]:
        """The values, keyed by their words in links."""
        return {str(value): value for value in self.offered()}

    @property
    def takes(self) -> str:
        """The description in docs/links.md."""
        return quoted(self.by_word)

    def read(self, raw: str) -> Any:
        """Parse a word."""
        values = self.by_word
        if raw not in values:
            raise BadValueError(f"is not one of {', '.join(values)}")
        return values[raw]


def one_of(*words: str) -> OneOf:
    """Return values that are one of these words."""
    return OneOf(lambda: words, {})


def titled(titles: Mapping[Any, str] | None = None, /, **by_word: str) -> OneOf:
    """Return values that are one of the keys of `titles`, which has the app's title for each, or of the keywords."""
    named = titles or by_word
    return OneOf(lambda: named, named)


@dataclass(frozen=True, slots=True)
class Switch(Values):
    """A switch: 1 or 0."""

    takes = "`0` `1`"

    def read(self, raw: str) -> bool:
        """Parse 1 or 0."""
        if raw not in ("0", "1"):
            raise BadValueError("is not one of 0, 1")
        return raw == "1"

    def write(self, value: bool) -> str:
        """Write 1 or 0."""
        return "1" if value else "0"


@dataclass(frozen=True, slots=True)
class Integer(Values):
    """A decimal integer from `low` to `high`."""

    low: int
    high: int

    @property
    def takes(self) -> str:
        """The description in docs/links.md."""
        return f"{self.low} to {self.high}"

    def read(self, raw: str) -> int:
        """Parse an integer."""
        if not (raw.isascii() and raw.isdigit() and len(raw) <= 10 and self.low <= int(raw) <= self.high):
            raise BadValueError(f"is not a whole number from {self.low} to {self.high}")
        return int(raw)


@dataclass(frozen=True, slots=True)
class Index(Integer):
    """An index whose range depends on the text or the model: the page limits it, with a note."""

    low: int = 0
    high: int = 100_000

    @property
    def takes(self) -> str:
        """The description in docs/links.md."""
        return "a position"


@dataclass(frozen=True, slots=True)
class Number(Values):
    """A number from `low` to `high`, rounded to `decimals` places, or to six significant digits if that is None."""

    high: float
    low: float = 0
    decimals: int | None = 4

    @property
    def takes(self) -> str:
        """The description in docs/links.md."""
        return f"{self.low:g} to {self.high:g}"

    def read(self, raw: str) -> float:
        """Parse a number; only a small one, such as a learning rate, may have an exponent."""
        exponent = "" if self.decimals is not None else r"(e-\d{1,2})?"
        sign = "-?" if self.low < 0 else ""
        if re.fullmatch(rf"{sign}(\d{{1,4}}\.?|\d{{0,4}}\.\d{{1,10}}){exponent}", raw, re.ASCII):
            number = float(raw)
            if self.low <= number <= self.high:
                return float(f"{number:g}") if self.decimals is None else round(number, self.decimals)
        raise BadValueError(f"is not a number from {self.low:g} to {self.high:g}")

    def write(self, value: float) -> str:
        """Write a number."""
        return f"{value:g}"


@dataclass(frozen=True, slots=True)
class Text(Values):
    """Text that is cut at `limit` characters, or without a limit at the settings' maximum."""

    limit: int | None = None

    @property
    def takes(self) -> str:
        """The description in docs/links.md."""
        return "text" if self.limit is None else f"text, up to {self.limit} characters"

    def read(self, raw: str) -> str:
        """Cut a text."""
        return raw[: settings().largest_text if self.limit is None else self.limit]


@dataclass(frozen=True, slots=True)
class Name(Values):
    """A name that only the page can check, or one of too many for a note to list."""

    what: str
    """Completes "is not ..." """
    takes: str
    pattern: str = ".*"
    among: Callable[[], Iterable[str]] | None = None
    """Returns all of them, if they are known"""

    def read(self, raw: str) -> str:
        """Parse a name."""
        is_known = self.among is None or raw in self.among()
        if not (is_known and re.fullmatch(self.pattern, raw, re.ASCII)):
            raise BadValueError(f"is not {self.what}")
        return raw


@dataclass(frozen=True, slots=True)
class Scale(Values):
    """The factor of the scores: a named scale, or a finite number ("0.125"), kept as text."""

    names = ("sqrt_d", "sqrt_c", "off")
    takes = f"`sqrt_d` `sqrt_c` `off`, or a number up to {MAX_NUMBER}, such as `0.125`"

    def read(self, raw: str) -> str:
        """Parse a scale."""
        if raw in self.names:
            return raw
        try:
            number = float(raw)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and abs(number) <= MAX_NUMBER):
            raise BadValueError(f"is neither sqrt_d, off, sqrt_c nor a number up to {MAX_NUMBER}")
        return f"{number:g}"


@dataclass(frozen=True, slots=True)
class Heads(Values):
    """Heads such as 3.5_4.1_2.r: layer and head, or r for the rollout up to a layer, in the order of the link."""

    takes = "heads, such as `3.5_4.1_2.r`"

    def read(self, raw: str) -> tuple[Head, ...]:
        """Parse at least one head."""
        words = re.fullmatch(r"(\d{1,4}\.(\d{1,4}|r)_)*\d{1,4}\.(\d{1,4}|r)", raw, re.ASCII) and raw.split("_")
        if not words or len(set(words)) > MAX_CHOSEN:
            raise BadValueError(f"is not a list of up to {MAX_CHOSEN} heads such as 3.5_4.1")
        pairs = (pair.split(".") for pair in words)
        return tuple(dict.fromkeys((int(layer), ROLLOUT if head == "r" else int(head)) for layer, head in pairs))

    def write(self, heads: Iterable[Head]) -> str:
        """Write heads."""
        return write_heads(heads)


@dataclass(frozen=True, slots=True)
class HeadsOff(Values):
    """Heads that are switched off, such as 3.5_4.1: layer and head, each once, sorted; empty if there are none."""

    takes = "heads, such as `3.5_4.1`"

    def read(self, raw: str) -> tuple[Head, ...]:
        """Parse any number of heads."""
        if not re.fullmatch(r"((\d{1,2}\.\d{1,2}_)*\d{1,2}\.\d{1,2})?", raw, re.ASCII) or len(raw) > MAX_OFF:
            raise BadValueError("is not a list of heads such as 3.5_4.1")
        pairs = (pair.split(".") for pair in raw.split("_") if pair)
        return tuple(sorted({(int(layer), int(head)) for layer, head in pairs}))

    def write(self, heads: Iterable[Head]) -> str:
        """Write heads."""
        return write_heads(heads)


def write_heads(heads: Iterable[Head]) -> str:
    """Write heads as `Heads` and `HeadsOff` read them."""
    return "_".join(f"{layer}.{'r' if head == ROLLOUT else head}" for layer, head in heads)


def quoted(words: Iterable[str]) -> str:
    """Write words in Markdown, as code."""
    return " ".join(f"`{word}`" for word in words)

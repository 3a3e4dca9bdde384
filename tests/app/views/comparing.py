"""A view as it is recorded, and what differs between two: in plain words, with a tolerance for numbers.

A float32 number may differ a little from machine to machine. So numbers are compared within `RELATIVE` and `ABSOLUTE`,
a decimal number within a text may also differ by one in its last digit, and a difference that is nothing but rounding
may be another one or none.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.app.views.payloads import Seen

RELATIVE, ABSOLUTE = 1e-4, 1e-5
CELLS = 6
"""Cells of an array that are recorded, spread evenly over it from the first to the last"""
LONGEST = 500
"""Characters of a text that are recorded; of a longer one the beginning, and a check sum of its words"""
FIGURES = ("smallest", "largest", "mean", "slope", *(f"cell {number} of {CELLS}" for number in range(1, CELLS + 1)))
DECIMAL = re.compile(r"[-−+]?\d+\.\d+(?:e[-−+]?\d+)?")

ROUNDING = re.compile(
    r"\*\*(?:0|[\d.]+e−\d+)\*\*(?:: (?:every|nothing|the rounding)[^.]*|, in .* there)?(?=\.)", re.DOTALL
)
"""A difference that is nothing but rounding, with what is said of it: on some processors there is none"""

Record = dict[str, Any]


def record(seen: Seen) -> Record:
    """Return what is kept of a view: its texts, sorted, and the figures of each array."""
    return {
        "texts": sorted(shortened(text) for text in seen.texts),
        "arrays": {name: [figures(array) for array in several] for name, several in sorted(seen.arrays.items())},
    }


def shortened(text: str) -> str:
    """Return the text, or of a long one what tells it from others; decimal numbers do not count."""
    if len(text) <= LONGEST:
        return text
    words = DECIMAL.sub("#", text)
    return f"{text[: LONGEST // 4]} … ({len(words)} characters, check sum {zlib.crc32(words.encode(errors='replace'))})"


def figures(array: np.ndarray) -> Record:
    """Return shape, cells that hold no finite number, and `FIGURES` of those that do.

    The slope is the mean of all cells, each times its place from −1 to 1: it changes where cells change places.
    """
    flat = array.astype(np.float64).ravel()
    finite = np.isfinite(flat)
    places = np.linspace(0, flat.size - 1, CELLS).astype(int) if flat.size else np.zeros(CELLS, int)
    there = np.where(finite, flat, 0.0)
    numbers = np.zeros(len(FIGURES))
    if finite.any():
        slope = (there * np.linspace(-1, 1, flat.size)).mean()
        numbers = np.array([flat[finite].min(), flat[finite].max(), flat[finite].mean(), slope, *there[places]])
    return {
        "shape": list(array.shape),
        "not_finite": int((~finite).sum()),
        "figures": [float(f"{number:.6g}") for number in numbers],
    }


def differences(then: Record, now: Record) -> Iterator[str]:
    """Yield a sentence for each difference between a recorded view and the same view now."""
    yield from text_differences(then["texts"], now["texts"])
    for name in sorted({*then["arrays"], *now["arrays"]}):
        before, after = then["arrays"].get(name, []), now["arrays"].get(name, [])
        if len(before) != len(after):
            yield f"{name}: there were {len(before)} arrays of this name, now there are {len(after)}"
            continue
        for one, other in zip(before, after, strict=True):
            yield from (f"{name}: {difference}" for difference in array_differences(one, other))


def text_differences(then: list[str], now: list[str]) -> Iterator[str]:
    """Yield a sentence for each text that is gone, new, or another in one of its numbers."""
    before, after = (Counter(ROUNDING.sub("**rounding**", text) for text in texts) for texts in (then, now))
    gone, new = list((before - after).elements()), list((after - before).elements())
    for text in gone:
        alike = [other for other in new if DECIMAL.sub("#", other) == DECIMAL.sub("#", text)]
        near = next((other for other in alike if close_decimals(text, other)), None)
        if near is not None:
            new.remove(near)
        elif alike:
            new.remove(alike[0])
            yield f"“{text}” is now “{alike[0]}”"
        else:
            yield f"“{text}” is gone"
    yield from (f"“{text}” is new" for text in new)


def close_decimals(one: str, other: str) -> bool:
    """Say whether two texts of the same words have the same decimal numbers but for rounding."""
    pairs = zip(DECIMAL.findall(one), DECIMAL.findall(other), strict=True)
    return all(_close_decimal(left, right) for left, right in pairs)


def _close_decimal(left: str, right: str) -> bool:
    a, b = (float(text.replace("−", "-")) for text in (left, right))
    mantissa, _, exponent = left.replace("−", "-").partition("e")
    last_digit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(a - b) <= RELATIVE * max(abs(a), abs(b)) + ABSOLUTE + 1.001 * last_digit


def array_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each figure of an array that is another now."""
    for name in ("shape", "not_finite"):
        if then[name] != now[name]:
            yield f"{name.replace('_', ' ')} was {then[name]}, is now {now[name]}"
            return
    # What is nearly 0 beside large numbers is only as exact as these are.
    size = max(1.0, *(abs(number) for number in then["figures"]))
    for name, one, other in zip(FIGURES, then["figures"], now["figures"], strict=True):
        if abs(one - other) > RELATIVE * max(abs(one), abs(other)) + ABSOLUTE * size:
            yield f"{name} was {one:g}, is now {other:g}"

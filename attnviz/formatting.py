"""Formats numbers and quoted texts for the screen, for prose and for exported files."""

from __future__ import annotations

LONGEST_SHOWN = 40
"""The most characters of a text that is quoted in a sentence"""
DIGITS = 4
"""Digits after the point of a weight"""
TINY_DIGITS = 2
"""Digits after the point of a number that is written with a power of ten because it is near 0"""
HUGE = 1e6
"""From this magnitude on, a number is written with a power of ten"""


def number(value: float, digits: int = 2) -> str:
    """Return a number with `digits` decimals, a true minus sign (U+2212) and no negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage with `digits` decimals: "12.5 %"."""
    return f"{number(100 * share, digits)} %"


def counted(count: int, thing: str) -> str:
    """Return a count of things, with a plural s unless the count is 1: "1 step", "2,000 steps"."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def quoted(text: str) -> str:
    """Return a text in quotation marks on one line, shortened if it is long."""
    line = " ".join(text.split())
    return f"“{line[:LONGEST_SHOWN]}{'…' if len(line) > LONGEST_SHOWN else ''}”"


def nonzero(value: float, digits: int = 2) -> str:
    """Return a number as `number` does, or as 1.19e−7 where that would read as 0; "0" if it is 0.

    For differences: a 0 then means that two numbers are equal, not that the difference is small.
    """
    if value == 0:
        return "0"
    if float(f"{value:.{digits}f}") != 0:
        return number(value, digits)
    return scientific(value)


def scientific(value: float) -> str:
    """Return a finite number with three digits and a power of ten, with a true minus sign: "−1.19e−7"."""
    factor, _, power = f"{value:.2e}".partition("e")
    return f"{factor}e{int(power)}".replace("-", "−")


def scale_label(scale: float, width: int) -> str:
    """Return the name of a scale for this head width: "1/√32", "off" or a number."""
    if abs(scale - width**-0.5) < 1e-9:
        return f"1/√{width}"
    return "off" if scale == 1 else f"{scale:g}"


def power_of_ten(value: float) -> str:
    """Return a number in three digits, a large one with a power of ten, with a true minus sign: "−1e10", "−∞"."""
    text = f"{value:.3g}".replace("inf", "∞")
    if "e" in text:
        digits, exponent = text.split("e")
        text = f"{digits}e{int(exponent)}"
    return text.replace("-", "−")

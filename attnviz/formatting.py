"""Formats numbers and quoted texts for the screen, for prose and for exported files."""

from __future__ import annotations

import math
from collections.abc import Iterable

LONGEST_SHOWN = 40
"""The most characters of a text that is quoted in a sentence"""
DIGITS = 4
"""Digits after the point of a weight"""
NO_WEIGHT, TINY_WEIGHT = f"{0:.{DIGITS}f}", f"< {10**-DIGITS:.{DIGITS}f}"
"""A weight of 0, and one that is not 0 and would read as 0"""
TINY_DIGITS = 2
"""Digits after the point of a number that is written with a power of ten because it is near 0"""
ROUNDED_PERCENT = 1e-4
"""What the sum of a softmax's float32 shares may lack of 100 %; 100 − 99.9 lacks less of 0.1"""
HUGE = 1e6
"""From this magnitude on, a number is written with a power of ten"""


def number(value: float, digits: int = 2) -> str:
    """Return a number with `digits` decimals, a true minus sign (U+2212) and no negative zero; "∞" and "NaN"."""
    if 0 < value < math.inf:  # most numbers: matrices have hundreds of thousands of them
        return f"{value:.{digits}f}"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def exact(value: float, digits: int = DIGITS) -> str:
    """Return a number that is known to all its digits: as `number` does, but never rounded away to 0.

    What is not 0 and would read as 0, and what has a magnitude of `HUGE` or more, has a power of ten: "1.23e−7".
    """
    if 10**-digits <= abs(value) < HUGE:
        return number(value, digits)
    tiny = value != 0 and math.isfinite(value) and float(f"{value:.{digits}f}") == 0
    if tiny or HUGE <= abs(value) < math.inf:
        return scientific(value, min(digits, TINY_DIGITS) if tiny else digits)
    return number(value, digits)


def weight(value: float) -> str:
    """Return a weight or another share with 4 digits: "0.4312". One above 0 does not read as 0: "< 0.0001"."""
    text = number(value, DIGITS)
    return TINY_WEIGHT if text == NO_WEIGHT and value > 0 else text


def percent(share: float, digits: int = 0, *, exactly: bool = False) -> str:
    """Return a share of 1 as a percentage: "97 %"; "12.5 %" with one decimal. The browser's does so too.

    Only nothing reads as 0 %, and only all, but for what float32 rounds away, as 100 %: what is less than a unit of the
    last digit away from either has two digits of that distance, "0.40 %", "0.031 %", "99.85 %", or is "less than
    0.01 %" or "more than 99.99 %".

    Args:
        share: from 0 to 1.
        digits: decimals, where shares stand below each other or are compared: accuracies and probabilities have one,
            and four where a token's probability is compared with that of all others of a vocabulary.
        exactly: for cells of a table whose shares differ by powers of ten: below 50 % each has at least two significant
            digits, "0.65 %", "1.84e−7 %", and nearly all is "> 99.999 %" with one decimal.
    """
    of_100 = 100 * float(share)
    if exactly and 0 < of_100 < 50:
        places = 1 - math.floor(math.log10(of_100))
        return f"{number(of_100, max(digits, places)) if places < 5 else scientific(of_100)} %"
    rounded = min(ROUNDED_PERCENT, 10**-digits / 2)
    units = min(of_100, 100 - of_100) * 10**digits + ROUNDED_PERCENT
    if not 0 < of_100 <= 100 - rounded or units >= 1:
        return f"{number(of_100, digits)} %"
    if units >= 0.01:
        return f"{number(of_100, digits + (3 if units < 0.1 else 2))} %"
    least = 10 ** -(digits + 2)
    text = number(least if of_100 < 50 else 100 - least, digits + 2)
    return f"{'>' if exactly else 'less than' if of_100 < 50 else 'more than'} {text} %"


def larger(size: int, limit: int) -> str:
    """Return how large a file is that is larger than a limit of whole megabytes: "has 5.3 MB", "has 1 byte more"."""
    megabytes = f"{size / 2**20:.1f}"
    if float(megabytes) > limit / 2**20:
        return f"has {megabytes} MB"
    return f"has {counted(size - limit, 'byte')} more"


def counted(count: int, thing: str) -> str:
    """Return a count of things, in the plural unless the count is 1: "1 step", "2,000 steps", "2 entries", "2 keys"."""
    things = f"{thing[:-1]}ies" if thing.endswith("y") and thing[-2] not in "aeiou" else f"{thing}s"
    return f"{count:,} {thing if count == 1 else things}"


def were(count: int) -> str:
    """Return the verb for a count of things that something was done to."""
    return "was" if count == 1 else "were"


def joined(words: Iterable[str], conjunction: str = "and") -> str:
    """Return words joined for a sentence: "pictures, videos and sound"; "" if there are none."""
    *others, last = [*words] or [""]
    return f"{', '.join(others)} {conjunction} {last}" if others else last


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


def scientific(value: float, digits: int = TINY_DIGITS) -> str:
    """Return a finite number with a power of ten, with a true minus sign: "−1.19e−7"; `digits` are after the point."""
    factor, _, power = f"{value:.{digits}e}".partition("e")
    return f"{factor}e{int(power)}".replace("-", "−")


def scale_label(scale: float, width: int, products: int = 1) -> str:
    """Return the name of a scale for this head width: "1/√32", "off" or a number.

    It is "1/√(3·32)" if that is the scale of 3 products that are added to each other.
    """
    if abs(scale - (products * width) ** -0.5) < 1e-9:
        return f"1/√{width}" if products == 1 else f"1/√({products}·{width})"
    return "off" if scale == 1 else f"{scale:g}"


def power_of_ten(value: float, digits: int = 3) -> str:
    """Return a number of `digits` digits, with a power of ten if large or near 0: "−1e10", "1.23e−5", "−∞"."""
    text = f"{value:,.{digits}g}".replace("inf", "∞")
    if "e" in text:
        factor, exponent = text.split("e")
        text = f"{factor}e{int(exponent)}"
    return text.replace("-", "−")


def does_not_exist(what: str, last: object, first: object = 0, choices: str = "the choices go from") -> str:
    """Return the note on a choice that a view does not have: "Head 12 does not exist: the choices go from 0 to 11."."""
    return f"{what} does not exist: {choices} {first} to {last}."

"""Bars as HTML: a few with labels and numbers one below the other, or one for each token side by side.

The style sheet `bert` draws them, so that they are there with the page: the browser needs a second for a Plotly figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from attnviz.figures.plots import AROUND, NUMBERS, ROUNDING
from attnviz.formatting import percent, power_of_ten, scientific
from attnviz.ui.tokens.chips import shorten

LONGEST = 12
"""Characters of the longest label below a bar"""
NAMED, LONG_NUMBERS = 20, 8
"""The most labels below bars, if they are words, and if they are numbers of up to three digits"""
TICKS = 4
"""The most numbers beside bars that stand side by side, without 0"""
TOLD = 6
"""Decimals of a percentage that is pointed at"""
SMALLEST = 1e-4
"""Numbers beside bars below this one are written with a power of ten, as f"{x:g}" does, but with our minus sign"""
ROUNDED = 1e-9
"""More than division rounds off: 0.3 / 0.1 is below 3"""


def ranked(shares: Sequence[float], labels: Sequence[str], *, name: str) -> str:
    """Return N bars from 0, the first on top, each with its label and its probability.

    Args:
        shares: (N,), from 0 to 1.
        labels: of the N bars.
        name: of the bars as a picture: what they are of, unlike that of other bars on the page.
    """
    largest = max(shares, default=0) or 1
    rows = "".join(
        f'<li title="{escape(label)}: {percent(share, TOLD)}">'
        f'<span dir="auto">{escape(shorten(label))}</span>'
        f'<div><i style="--part:{share / largest:.4f}"></i><b>{percent(share, 1)}</b></div></li>'
        for label, share in zip(labels, shares, strict=True)
    )
    return (
        f'<div class="bars" data-drawn="{escape(name)}"><ol aria-label="probability">{rows}</ol>'
        "<p>probability</p></div>"
    )


def beside(series: Mapping[str, Sequence[float]], labels: Sequence[str], *, title: str, unit: str, name: str) -> str:
    """Return N groups of bars from 0, the first group on top, with a bar of each series.

    Args:
        series: N numbers from 0 up of each, by its name; a 0 has no bar. The first is the one that is spoken of.
        labels: of the N groups.
        title: of the numbers.
        unit: of the numbers.
        name: of the bars as a picture: what they are of, unlike that of other bars on the page.
    """
    largest = max((number for numbers in series.values() for number in numbers), default=0) or 1
    bars_of_series = (_bars_of(of, numbers, largest) for of, numbers in series.items())
    groups = "".join(
        f"<li><span>{escape(label)}</span><div>{''.join(bars)}</div></li>"
        for label, *bars in zip(labels, *bars_of_series, strict=True)
    )
    names = "".join(f"<span><i></i>{escape(of)}</span>" for of in series)
    return (
        f'<div class="bars beside" data-drawn="{escape(name)}"><p class="names">{names}</p>'
        f'<ol aria-label="{escape(f"{title}, {unit}")}">{groups}</ol><p>{escape(f"{title}, {unit}")}</p></div>'
    )


def _bars_of(of: str, numbers: Sequence[float], largest: float) -> Iterator[str]:
    """Yield the bar of each number of a series."""
    for number in numbers:
        said = power_of_ten(number) if number else "–"
        bar = f'<i style="--part:{number / largest:.4f}"></i>' if number else ""
        yield f'<div role="img" aria-label="{escape(of)}: {said}">{bar}<b>{said}</b></div>'


def side_by_side(
    numbers: Sequence[float], labels: Sequence[str], said: Sequence[str], *, title: str, across: str, name: str
) -> str:
    """Return a bar from 0 upwards for each of T tokens, with labels below and an axis on the left.

    Args:
        numbers: (T,), from 0 up.
        labels: of the T bars: words or numbers; of many, only some are written.
        said: of each bar, what is said of it when it is pointed at.
        title: of the numbers.
        across: what there is a bar of.
        name: of the bars as a picture: what they are of, unlike that of other bars on the page.
    """
    largest = max(numbers, default=0)
    top = AROUND if largest < ROUNDING else largest
    is_numbered = all(label.isdigit() for label in labels)
    most = NAMED if not is_numbered else NUMBERS if len(labels) <= 100 else LONG_NUMBERS
    step = 2 ** math.ceil(math.log2(max(1, len(labels) / most)))
    names = [shorten(label, LONGEST) if place % step == 0 else "" for place, label in enumerate(labels)]
    items = "".join(
        f'<li data-said="{escape(words)}"><i role="img" aria-label="{escape(words)}" '
        f'style="--part:{number / top:.6f}"></i>{_label(name)}</li>'
        for number, words, name in zip(numbers, said, names, strict=True)
    )
    lines = "".join(
        f'<span style="--part:{tick / top:.4f}"><small>{_number(tick)}</small></span>' for tick in _ticks(top)
    )
    room = max(map(len, names), default=0)
    return (
        f'<div class="columns{" numbered" if is_numbered else ""}" style="--letters:{room}" '
        f'data-drawn="{escape(name)}">'
        f'<p>{escape(title)}</p><div class="axes">{lines}<ol aria-label="{escape(title)}">{items}</ol></div>'
        f"<p>{escape(across)}</p></div>"
    )


def _label(name: str) -> str:
    return f'<small dir="auto"><span>{escape(name)}</span></small>' if name else ""


def _number(tick: float) -> str:
    return scientific(tick, 0) if 0 < tick < SMALLEST else f"{tick:g}"


def _ticks(top: float) -> list[float]:
    """Return round numbers from 0 to `top`: at most `TICKS` besides 0, a power of ten times 1, 2 or 5 apart."""
    power = 10.0 ** math.floor(math.log10(top / TICKS))
    step = next(step for factor in (1, 2, 5, 10) if top / (step := factor * power) <= TICKS)
    return [round(place * step, 12) for place in range(int(top / step + ROUNDED) + 1)]

"""Reads the bars on a page that are HTML: what is written at each, what is said of it, and how long it is."""

from __future__ import annotations

import re
from html import unescape

from streamlit.testing.v1 import AppTest

Bars = list[tuple[str, float]]
"""Of each bar a text, and a number"""


def ranked(at: AppTest) -> list[Bars]:
    """Return the bars one below the other, in all places: the label, and the number to six digits."""
    item = r'<li title="([^"]*): (\S+) %">'
    return [
        [(unescape(label), float(number.replace("−", "-"))) for label, number in re.findall(item, body)]
        for body in _of(at, "bars")
    ]


def side_by_side(at: AppTest) -> list[Bars]:
    """Return the bars side by side, in all places: what is said, and the height as a share of the axis."""
    item = r'<li data-said="([^"]*)"><i [^>]*style="--part:([^"]+)">'
    return [[(unescape(said), float(share)) for said, share in re.findall(item, body)] for body in _of(at, "columns")]


def _of(at: AppTest, name: str) -> list[str]:
    return [one.proto.body for one in at.get("html") if re.match(f'<div class="{name}\\b', one.proto.body)]

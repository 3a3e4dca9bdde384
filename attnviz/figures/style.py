"""What colours mean, in figures, formulas and prose alike. Chosen to stay apart for colour-blind readers."""

from __future__ import annotations

from urllib.parse import quote

QUERY, KEY, VALUE, ATTENTION = "#0072B2", "#D55E00", "#009E73", "#5E3C99"

ROLE = {"query": QUERY, "key": KEY, "value": VALUE, "scores": ATTENTION, "scaled": ATTENTION, "masked": ATTENTION,
        "weights": ATTENTION, "head_outputs": VALUE, "concat": VALUE,
        "W_query": QUERY, "W_key": KEY, "W_value": VALUE, "U_query": QUERY, "U_key": KEY, "U_value": VALUE}  # fmt: skip
"""The colour of a quantity's name; quantities without a role take the text colour."""

SIGNED = [[0, "#B35806"], [0.25, "#FDB863"], [0.5, "#FFFFFF"], [0.75, "#B2ABD2"], [1, "#5E3C99"]]
"""Brown is negative, white is 0, purple is positive."""
WEIGHTS = [[0, "#FFFFFF"], [1, ATTENTION]]

AXIS_TITLE = {"query": "query (from)", "key": "key (to)", "model": "model width C", "dim": "head width D",
              "concat": "heads side by side, H·D", "token": "token"}  # fmt: skip
AXIS_COLOUR = {"query": QUERY, "key": KEY}

_HATCH = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='240' height='240'>"
    "<defs><pattern id='h' width='6' height='6' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
    "<rect width='6' height='6' fill='#D4D4DC'/><rect width='2' height='6' fill='#AFAFBB'/></pattern></defs>"
    "<rect width='240' height='240' fill='url(#h)'/></svg>"
)
HATCH_URI = "data:image/svg+xml," + quote(_HATCH, safe="=/:'")
"""Grey hatching that shows through where a matrix has no number."""


def number(value: float, digits: int = 2) -> str:
    """Write a number as it stands on a figure: a true minus sign, no negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def escape(token: str) -> str:
    """Make a token safe in Plotly's labels, which read some HTML."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shorten(token: str, limit: int = 12) -> str:
    """Shorten a long token in the middle: its end often tells more than its middle."""
    if len(token) <= limit:
        return token
    keep = limit - 1
    return f"{token[: keep - keep // 2]}…{token[len(token) - keep // 2 :]}"

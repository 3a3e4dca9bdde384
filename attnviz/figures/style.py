"""How figures look: which colour stands for what, and how labels are written."""

from __future__ import annotations

from urllib.parse import quote

from attnviz.vocabulary import ATTENTION, KEY, QUERY, VALUE

ROLE = {
    **dict.fromkeys(("query", "W_query", "U_query"), QUERY),
    **dict.fromkeys(("key", "key_t", "W_key", "U_key"), KEY),
    **dict.fromkeys(("value", "W_value", "U_value", "head_outputs", "concat"), VALUE),
    **dict.fromkeys(("scores", "scaled", "masked", "weights"), ATTENTION),
}
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


def escape(token: str) -> str:
    """Make a token safe in Plotly's labels, which read some HTML."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shorten(token: str, limit: int = 12) -> str:
    """Shorten a long token in the middle: its end often tells more than its middle."""
    if len(token) <= limit:
        return token
    keep = limit - 1
    return f"{token[: keep - keep // 2]}…{token[len(token) - keep // 2 :]}"

"""A round trip (text -> ids -> text) as HTML for `st.html`: the verdict, the first difference, and the reasons.

The style sheet is `tokens`.
"""

from __future__ import annotations

from html import escape

from attnviz.tokens import RoundTrip, printable

AROUND = 16
"""The number of characters shown on each side of the first difference."""


def round_trip_view(trip: RoundTrip, what: str = "text") -> str:
    """Return the verdict on a round trip; if the texts differ, also both texts at the first difference and reasons."""
    if trip.position is None:
        return f'<div class="rt"><span class="rt-verdict">✓ ids → {escape(what)}: the same</span></div>'
    reasons = "".join(f"<li>{escape(printable_line(reason))}</li>" for reason in trip.reasons)
    return (
        f'<div class="rt"><span class="rt-verdict">≠ ids → {escape(what)}: not the same</span>,'
        f" first at position {trip.position:,}"
        f'<div class="rt-lines"><span>typed</span>{_excerpt(trip.original, trip.position)}'
        f"<span>came back</span>{_excerpt(trip.decoded, trip.position)}</div>"
        f"<ul>{reasons}</ul></div>"
    )


def printable_line(sentence: str) -> str:
    """Spell out invisible characters in a sentence, except its spaces."""
    return " ".join(printable(word) for word in sentence.split(" "))


def _excerpt(text: str, position: int) -> str:
    """Return the text around `position`, with visible white space and the character at `position` highlighted."""
    before, at, after = text[max(0, position - AROUND) : position], text[position : position + 1], text[position + 1 :]
    dots_before = "…" if position > AROUND else ""
    dots_after = "…" if len(after) > AROUND else ""
    marked = escape(printable(at)) if at else "end"
    return (
        f"<code>{dots_before}{escape(printable(before))}<mark>{marked}</mark>"
        f"{escape(printable(after[:AROUND]))}{dots_after}</code>"
    )

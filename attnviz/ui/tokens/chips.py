"""Tokens as escaped HTML for `st.html`, with the style sheet `tokens`.

They are a strip of chips, the pairs of next-token training, and a round trip (text -> ids -> text): the verdict, the
first difference, and the reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape

from attnviz.tokens import RoundTrip, Tokens, code_point, context_pairs, printable

MAX_CHIPS = 600
"""The most chips in a strip; a longer one ends with the number of hidden chips. 20,000 chips would take seconds."""

MAX_LABEL = 28
"""The most characters of a chip's label; longer labels are shortened, and the tooltip shows the whole label."""

MAX_NAMED = 5
"""The most unknown characters that a sentence lists."""


def token_strip(tokens: Tokens, name: str, *, limit: int = MAX_CHIPS) -> str:
    """Return a strip of at most `limit` chips, each a piece above its id, and the number of hidden tokens.

    `name` is the name of the picture in Export.
    """
    labels = tokens.labels[:limit]
    chips = "".join(_chip(tokens, index, label) for index, label in enumerate(labels))
    hidden = len(tokens) - len(labels)
    more = f'<span class="tv-more">… and {hidden:,} more, not shown</span>' if hidden else ""
    return f'<div class="tv-strip tv-scroll" data-tokens="{escape(name)}">{chips}{more}</div>'


def pair_rows(tokens: Tokens, block_size: int) -> str:
    """Return one row per training pair of the first block: the context's chips, an arrow, and the target's chip."""
    labels = tokens.labels[: block_size + 1]
    rows = []
    for context, target in context_pairs(range(len(labels)), block_size):
        chips = "".join(_chip(tokens, index, labels[index]) for index in context)
        rows.append(
            f'<div class="tv-strip tv-row"><span class="tv-count">{len(context)}</span>'
            f'{chips}<span class="tv-arrow" title="is followed by">→</span>'
            f"{_chip(tokens, target, labels[target], 'tv-target')}</div>"
        )
    return f'<div class="tv-pairs">{"".join(rows)}</div>'


def unknown_sentence(tokens: Tokens) -> str:
    """Return a clause that lists the unknown characters, each once, in plain text (not escaped), or "".

    Positions are 0-based characters of the text.
    """
    lost = [index for index, unknown in enumerate(tokens.unknown) if unknown]
    counts = Counter(tokens.source(index) for index in lost)
    first = {tokens.source(index): index for index in reversed(lost)}
    named = [_where(tokens, first[source], count) for source, count in list(counts.items())[:MAX_NAMED]]
    if len(counts) > MAX_NAMED:
        named.append(f"and {len(counts) - MAX_NAMED:,} more")
    return f"not in the vocabulary: {', '.join(named)}" if named else ""


def _where(tokens: Tokens, index: int, count: int) -> str:
    """Return the source of an unknown token and the position of the first of `count` occurrences."""
    source, place = tokens.source(index), f"position {tokens.offsets[index][0]:,}"
    code = f" ({code_point(source)})" if len(source) == 1 else ""
    sentence = " of the second sentence" if tokens.segments[index] else ""
    times = f" and {count - 1:,} more time{'s' * (count > 2)}" if count > 1 else ""
    return f"'{shorten(printable(source))}'{code} at {place}{sentence}{times}"


def unknown_note(tokens: Tokens) -> str:
    """Return `unknown_sentence` as an HTML line, or ""."""
    sentence = unknown_sentence(tokens)
    return f'<div class="tv-lost">{escape(sentence)}</div>' if sentence else ""


def shorten(label: str, limit: int = MAX_LABEL) -> str:
    """Shorten a label in the middle to `limit` characters."""
    if len(label) <= limit:
        return label
    tail = limit // 3
    return f"{label[: limit - tail - 1]}…{label[-tail:]}"


def numbered(labels: Iterable[str]) -> list[str]:
    """Return unique labels: tokens may repeat, so each gets its position."""
    return [f"{place} {label}" for place, label in enumerate(labels)]


def _chip(tokens: Tokens, index: int, label: str, kind: str = "") -> str:
    unknown, id_ = tokens.unknown[index], tokens.ids[index]
    classes = ["tv-chip", kind or ("tv-special" if tokens.special[index] else "tv-a" if index % 2 == 0 else "tv-b")]
    classes += ["tv-unknown"] * unknown + ["tv-second"] * (tokens.segments[index] == 1)
    mark = '<span class="tv-mark" aria-label="unknown">?</span>' if unknown else ""
    shown = "no id" if id_ < 0 else str(id_)
    return (
        f'<span class="{" ".join(classes)}" title="{escape(_title(tokens, index))}">'
        f'<span class="tv-piece" dir="auto">{escape(shorten(label))}{mark}</span>'
        f'<span class="tv-id">{shown}</span></span>'
    )


def _title(tokens: Tokens, index: int) -> str:
    """Return a chip's tooltip: position, piece, id, and the characters that it covers."""
    parts = [f"token {index}", f"piece {printable(tokens.pieces[index])}"]
    parts.append(f"id {tokens.ids[index]}" if tokens.ids[index] >= 0 else "no id")
    if tokens.unknown[index]:
        parts.append("unknown: not in the vocabulary")
    start, end = tokens.offsets[index]
    if tokens.special[index]:
        parts.append("added by the tokenizer")
    else:
        place = f"character {start}" if end - start == 1 else f"characters {start} to {end - 1}"
        source = tokens.source(index)
        parts.append(place if source == tokens.pieces[index] else f"{place} ({printable(source)})")
    if tokens.segments[index] == 1:
        parts.append("second sentence")
    return " · ".join(parts)


AROUND = 16
"""The number of characters shown on each side of the first difference."""


def round_trip_view(trip: RoundTrip, what: str = "text") -> str:
    """Return the verdict on a round trip; if the texts differ, also both texts at the first difference and reasons."""
    if trip.position is None:
        return f'<div class="rt"><span class="rt-verdict">✓ ids → {escape(what)}: the same</span></div>'
    lines = (" ".join(printable(word) for word in reason.split(" ")) for reason in trip.reasons)  # spaces stay spaces
    reasons = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f'<div class="rt"><span class="rt-verdict">≠ ids → {escape(what)}: not the same</span>,'
        f" first at position {trip.position:,}"
        f'<div class="rt-lines"><span>typed</span>{_excerpt(trip.original, trip.position)}'
        f"<span>came back</span>{_excerpt(trip.decoded, trip.position)}</div>"
        f"<ul>{reasons}</ul></div>"
    )


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

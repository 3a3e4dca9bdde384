"""Tokens as escaped HTML for `st.html`: a strip of chips, and the pairs of next-token training.

Colours are translucent or inherited, so they work in both themes. The two alternating tints have no meaning and differ
from the colours of queries, keys, values and weights.
"""

from __future__ import annotations

from collections import Counter
from html import escape

from attnviz.tokens import Tokens, code_point, context_pairs, printable

MAX_CHIPS = 600
"""The most chips in a strip, which then ends with the number of the rest. 20,000 would take the browser seconds."""

MAX_LABEL = 28
"""The most characters of a chip's label; longer labels are shortened, and the tooltip shows the whole."""

MAX_NAMED = 5
"""The most unknown characters that a sentence lists."""

STYLE = """<style>
.tv-strip{display:flex;flex-wrap:wrap;gap:4px 3px;align-items:stretch;direction:ltr;margin:2px 0}
.tv-chip{display:inline-flex;flex-direction:column;align-items:center;min-width:1.6em;max-width:100%;
 padding:2px 5px;border:1px solid transparent;border-radius:5px;overflow:hidden;unicode-bidi:isolate;
 line-height:1.3;box-sizing:border-box}
.tv-piece{max-width:100%;font-size:.95rem;unicode-bidi:isolate;white-space:pre-wrap;overflow-wrap:anywhere}
.tv-id{font-family:var(--st-code-font,monospace);font-size:.7rem;opacity:.75}
.tv-a{background:rgba(230,159,0,.17)}
.tv-b{background:rgba(204,121,167,.20)}
.tv-special{background:rgba(128,128,128,.18)}
.tv-special .tv-piece{opacity:.75}
.tv-second{border-bottom:2px solid currentColor}
.tv-unknown{border:2px dashed #D55E00;background:rgba(213,94,0,.10)}
.tv-mark{font-weight:700;margin-left:2px}
.tv-target{background:rgba(94,60,153,.22);border-color:rgba(128,96,190,.9);font-weight:600}
.tv-lost{font-size:.875rem;line-height:1.45;border-left:3px dashed #D55E00;padding-left:8px;overflow-wrap:anywhere}
.tv-more{align-self:center;font-size:.85rem;opacity:.8;padding:0 4px}
.tv-scroll{max-height:21rem;overflow-y:auto}
.tv-pairs{max-height:36rem;overflow-y:auto;display:flex;flex-direction:column;gap:4px}
.tv-row{display:flex;align-items:flex-start;gap:8px}
.tv-row>.tv-count{flex:0 0 1.8em;text-align:right;font-size:.75rem;opacity:.75;padding-top:6px;
 font-family:var(--st-code-font,monospace)}
.tv-row>.tv-strip{flex:0 1 auto;min-width:0}
.tv-arrow{flex:none;padding-top:6px}
.tv-row>.tv-chip{flex:none;max-width:45%}
</style>"""


def token_strip(tokens: Tokens, name: str, *, limit: int = MAX_CHIPS) -> str:
    """Return a strip of at most `limit` chips, each a piece above its id, and the number of tokens not shown.

    `name` is its name as a picture, for Export.
    """
    labels = tokens.labels[:limit]
    chips = "".join(_chip(tokens, index, label) for index, label in enumerate(labels))
    hidden = len(tokens) - len(labels)
    more = f'<span class="tv-more">… and {hidden:,} more, not shown</span>' if hidden else ""
    return f'{STYLE}<div class="tv-strip tv-scroll" data-tokens="{escape(name)}">{chips}{more}</div>'


def pair_rows(tokens: Tokens, block_size: int) -> str:
    """Return one row per training pair of the first block: the context's chips, an arrow, the target's chip."""
    labels = tokens.labels[: block_size + 1]
    rows = []
    for context, target in context_pairs(range(len(labels)), block_size):
        chips = "".join(_chip(tokens, index, labels[index]) for index in context)
        rows.append(
            f'<div class="tv-row"><span class="tv-count">{len(context)}</span>'
            f'<div class="tv-strip">{chips}</div><span class="tv-arrow" title="is followed by">→</span>'
            f"{_chip(tokens, target, labels[target], 'tv-target')}</div>"
        )
    return f'{STYLE}<div class="tv-pairs">{"".join(rows)}</div>'


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
    return f'{STYLE}<div class="tv-lost">{escape(sentence)}</div>' if sentence else ""


def shorten(label: str, limit: int = MAX_LABEL) -> str:
    """Shorten a label in the middle to `limit` characters."""
    if len(label) <= limit:
        return label
    tail = limit // 3
    return f"{label[: limit - tail - 1]}…{label[-tail:]}"


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

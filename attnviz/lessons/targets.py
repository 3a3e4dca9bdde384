"""The marks in a scene's texts, which say what words name: checked against page and tokens, and written as HTML."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache, partial
from html import escape
from urllib.parse import parse_qsl

from attnviz.annotated_text import AnnotatedText, MarkError, Target, annotated, position
from attnviz.formatting import joined
from attnviz.links.link import read_link
from attnviz.links.pages import PAGES
from attnviz.sources import PRETRAINED, TRAINED
from attnviz.sources.models import wordpiece
from attnviz.steps.picture import AXES
from attnviz.tokens import CharVocab, WordTokenizer


@dataclass(frozen=True, slots=True)
class _Names:
    """What words can name on a page."""

    fields: tuple[str, ...]
    matrices: Collection[str] = ()


FEW = 8
"""A sentence lists up to this many matrices"""
PICTURES: Mapping[str, _Names] = {
    "step_by_step": _Names(("row", "column", "matrix", "part", "head", "item"), AXES),
    "heads": _Names(("row", "column", "layer", "head", "item")),
    "averages": _Names(("row", "column", "matrix", "part", "item"), AXES),
    "transformer": _Names(("row", "column", "matrix", "part", "head", "item"), AXES),
    "compare": _Names(("row", "column", "matrix", "part", "item"), ("a", "b", "difference")),
    "train": _Names(
        ("row", "column", "matrix", "part", "layer", "head", "item", "step"),
        ("weights", "counted", "learned", "logits"),
    ),
    "bert": _Names(("row", "column", "part", "layer", "head", "item")),
}
"""The pages that highlight the part that a word names"""


@lru_cache(256)
def marked_text(page: str, query: str, source: str) -> AnnotatedText:
    """Read a text of a scene.

    Args:
        page: the name of its page.
        query: the query of its link.
        source: the text as the author writes it, see `attnviz.annotated_text.annotated`. If the scene shows the toy or
            the built-in model, a token that occurs once may replace its position.

    Raises:
        MarkError: a mark names what the scene's picture does not have. The message is one sentence.
    """
    if "](" not in source:
        return AnnotatedText(source)
    labels = _labels(page, query)
    text = annotated(source, partial(_place, labels))
    for mark in text.marks:
        _check(mark.target, page, labels)
    return text


def _labels(page: str, query: str) -> tuple[str, ...] | None:
    """Return the tokens of a scene; None if only its model can tell, or two texts are compared."""
    if page not in PICTURES or page == "train":
        return None
    link = PAGES[page].opened(dict(parse_qsl(query, keep_blank_values=True)))
    view, _ = read_link(link)
    if page == "compare" and any(name in link for name in ("b_text", "b_model", "b_source")):
        return None
    if (PAGES[page].source or view["source"]) == PRETRAINED.key:
        is_built_in = view["model"] == "minilm"
        return wordpiece().tokenize(view["text"], view["pair"].strip() or None).labels if is_built_in else None
    if (PAGES[page].source or view["source"]) == TRAINED.key:
        return None
    if view["tokenizer"] == "char":
        return CharVocab.shakespeare().tokenize(view["text"]).labels if view["charset"] == "shakespeare" else None
    return (wordpiece() if view["tokenizer"] == "bert" else WordTokenizer()).tokenize(view["text"]).labels


def _place(labels: tuple[str, ...] | None, kind: str, raw: str) -> int:
    """Return the position in a mark, or that of the token in it."""
    if raw.isdecimal() or labels is None:
        return position(kind, raw)
    positions = [at for at, label in enumerate(labels) if label == raw]
    positions = positions or [at for at, label in enumerate(labels) if label.casefold() == raw.casefold()]
    if not positions:
        raise MarkError(f"there is no token “{raw[:40]}” in this scene's text.")
    if len(positions) > 1:
        places = ", ".join(map(str, positions[:8]))
        raise MarkError(f"“{raw[:40]}” occurs more than once, so give its position ({places}).")
    return positions[0]


def _check(target: Target, page: str, labels: tuple[str, ...] | None) -> None:
    if page not in PICTURES:
        pages = joined(PAGES[name].title for name in PICTURES)
        raise MarkError(f"Words can name parts of {pages} only.")
    names = PICTURES[page]
    used = [field.name for field in fields(target) if getattr(target, field.name) not in (None, "")]
    for name in used:
        if name not in names.fields:
            raise MarkError(f"A word can't name a {name} on this page; it can name {', '.join(names.fields)}.")
    if target.matrix and target.matrix not in names.matrices:
        few = len(names.matrices) <= FEW
        which = f"one of the matrices {', '.join(names.matrices)}" if few else "the name of a matrix"
        raise MarkError(f"“{target.matrix[:40]}” is not {which}.")
    for place in (target.row, target.column):
        if labels is not None and place is not None and place >= len(labels):
            raise MarkError(f"Position {place} does not exist: this scene has {len(labels):,} tokens.")


def html(text: AnnotatedText) -> str:
    """Return a text as HTML: all of it escaped, its marked words as `frontend/marks/text.ts` writes them."""
    return "".join(escape(piece) if target is None else _button(piece, target) for piece, target in text.pieces())


def _button(text: str, target: Target) -> str:
    fields = {name: value for name, value in asdict(target).items() if value not in (None, "")}
    data = "".join(f' data-{name}="{escape(str(value))}"' for name, value in fields.items())
    return f'<span class="marked" role="button" tabindex="0" aria-pressed="false"{data}>{escape(text)}</span>'

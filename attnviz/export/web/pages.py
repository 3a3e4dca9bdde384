"""Views as standalone HTML: the content for each page of the app, and how it is written as one file.

Scripts, style sheet, font and numbers are in the file, and it requests nothing else. Text from users, models and
lessons is in it as escaped text or as base64, never as markup or code, and the page's Content Security Policy allows
only its own script to run.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from html import escape
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import numpy as np

from attnviz.components.built import page_script
from attnviz.components.payload import write_payload
from attnviz.components.styles import styles
from attnviz.export import views
from attnviz.export.drawing.fonts import BOLD, FAMILY, REGULAR, subset
from attnviz.export.views import View, on_page
from attnviz.formatting import joined
from attnviz.links.link import KEYS, STRETCH
from attnviz.links.pages import PAGES
from attnviz.sources import Resources
from attnviz.sources.compared import choices, default_of_b, run
from attnviz.sources.shown import KIND_NAMES, ShownHead, shown
from attnviz.toy.config import MAX_TOKENS
from attnviz.trained.shipped import title

if TYPE_CHECKING:
    from attnviz.document import Document

Kind = Literal["walk", "compare", "heads", "picture", "mistake", "training"]
"""What a page shows; the name of its module and of its style sheet in frontend/embed/"""

_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src {images}data: blob:; font-src data:; "
    "connect-src 'none'; form-action 'none'; base-uri 'none'"
)
_HTML = """<!doctype html>
<html lang="en"{lecture}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="attnviz">
<title>{title}</title>
{look}
</head>
<body class="attnviz-standalone">
{body}
{code}
</body>
</html>
"""
_VIEW = """<div id="attnviz-view"><noscript>This page computes what it shows, so it needs JavaScript.</noscript></div>
{notes}<script type="application/json" id="attnviz-settings">{settings}</script>
<script type="application/octet-stream;base64" id="attnviz-numbers">{numbers}</script>"""


@dataclass(frozen=True, slots=True)
class Page:
    """A view with its numbers."""

    kind: Kind
    title: str
    about: str
    """The text and what computed its attention, in a sentence or two"""
    numbers: bytes
    """What the browser side of `kind` reads: a document, or a payload of `components.payload`"""
    words: str
    """All text in `numbers`, for whose characters the page needs a font"""
    view: Mapping[str, str] = field(default_factory=dict)
    """The values chosen in it, by link key and written as in links"""
    notes: tuple[str, ...] = ()
    """The notes below it: what to notice, and what a reader must know about the numbers"""
    missing: str = "this page does not hold it"
    """Why numbers that are not in `numbers` can't be shown, as the end of a sentence"""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """What scores are made of, as `ScoreParts.payload` has it, by the names under which the browser asks for them"""
    lecture: bool = False
    """Whether its type is as large as in lecture mode"""

    @property
    def body(self) -> str:
        """The view in HTML, with its numbers and without the heading."""
        settings: dict[str, Any] = {
            "view": dict(self.view), "lecture": self.lecture, "font": FAMILY, "missing": self.missing,
            "scores": dict(self.scores),
        }  # fmt: skip
        return _VIEW.format(
            notes="".join(f'<p class="attnviz-note">{escape(note)}</p>\n' for note in self.notes),
            settings=json.dumps(settings).replace("<", "\\u003c"),  # ASCII without markup
            numbers=b64encode(self.numbers).decode(),
        )

    @property
    def said(self) -> str:
        """All text that the page may show, apart from its script's."""
        scores = json.dumps(dict(self.scores), ensure_ascii=False)
        return "".join((self.title, self.about, *self.notes, self.words, scores))


def write_page(page: Page) -> bytes:
    """Return a page as one file that needs no other.

    Raises:
        FontError: see `fonts.ttf`.
    """
    code = inline_script(page_script(page.kind))
    look = f"{font_faces((page.said, code))}{styles(f'embed/{page.kind}.css')}"
    heading = f'<h1>{escape(page.title)}</h1>\n<p class="attnviz-about">{escape(page.about)}</p>\n'
    return whole(
        page.title,
        heading + page.body,
        policy=_POLICY.format(script=_hash(code), style=_hash(look), images=""),
        look=f"<style>{look}</style>",
        code=f"<script>{code}</script>",
        lecture=page.lecture,
    )


def write_part(title: str, body: str, kind: Kind, assets: str) -> bytes:
    """Return a page of a site as HTML; its script, style sheets and pictures are files in the folder `assets`."""
    sheets = (f"{assets}/fonts.css", f"{assets}/{kind}.css")
    return whole(
        title,
        body,
        policy=_POLICY.format(script="'self'", style="'self'", images="'self' "),
        look="\n".join(f'<link rel="stylesheet" href="{sheet}">' for sheet in sheets),
        code=f'<script src="{assets}/{kind}.js"></script>',
    )


def whole(title: str, body: str, *, policy: str, look: str, code: str, lecture: bool = False) -> bytes:
    """Return a page made of these parts. All except the title are HTML."""
    attribute = ' class="lecture"' if lecture else ""
    page = _HTML.format(title=escape(title), body=body, policy=policy, look=look, code=code, lecture=attribute)
    return page.encode(errors="replace")  # a lone surrogate can't be encoded


def iframe(file: str, title: str) -> str:
    """Return the HTML that embeds a page in a slide or a course page, as wide as the element around it."""
    style = "width: 100%; height: 44rem; border: 0"
    return f'<iframe src="{escape(quote(file))}" title="{escape(title)}" style="{style}" loading="lazy"></iframe>'


def inline_script(code: str) -> str:
    """Return code in which nothing ends the HTML element around it."""
    # Both occur only in strings, in which a backslash before a slash or an exclamation mark changes nothing.
    return code.replace("</", "<\\/").replace("<!--", "<\\!--")


def font_faces(texts: Iterable[str]) -> str:
    """Return the rules that define the font of pages, with the characters of these texts and those of ASCII."""
    characters = "".join(sorted({*map(chr, range(32, 127)), *"".join(texts)}))
    return "".join(
        f'@font-face {{ font-family: "{FAMILY}"; font-weight: {weight}; '
        f"src: url(data:font/woff2;base64,{b64encode(subset(characters, weight == BOLD)).decode()}); }}\n"
        for weight in (REGULAR, BOLD)
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


WALK_KEYS = ("step", "layer", "head", "q", "k", "predict", "stretch", "limit", "focus", "dim", "why", "play")
"""The link keys of what is chosen in a walk"""
HEADS_KEYS = ("layer", "head", "rollout", "chosen", "q", "k", "show", "direction", "threshold", "strongest", "special",
              "between", "values", "mean", "stretch", "sort", "label")  # fmt: skip
"""The link keys of what is chosen in Heads"""
HEADS_BYTES = 1_900_000
"""The most bytes of weights in a page of Heads: in base64 and with everything else, it is then within 3 MB"""

ROUNDED = (
    "Weights are rounded to 16 bits: each is at most {error} from the one that the model computed. Measures are "
    "computed from its 32-bit numbers. Layers and heads are counted from 0."
)
CAUTION = "A weight says where a head looks, not why the model answers as it does."


class NoPageError(ValueError):
    """A view can't be a standalone page. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Maker:
    """How the views of one page of the app become standalone pages."""

    limit: Callable[[ShownHead], tuple[int, str]]
    """Returns the most tokens of a page that opens quickly everywhere, and the beginning of a sentence about it"""
    shown: Callable[[View, Resources], Iterable[ShownHead]]
    """Resolves a view to the heads that it shows"""
    make: Callable[[View, Resources], Page]


def check_page(name: str, view: View, resources: Resources) -> None:
    """Check that a view can be a page, without running a model; `name` is the name of the app's page.

    Raises:
        NoPageError: this page of the app has no static form, or the text is too long.
        attnviz.pretrained.ModelError: a model can't be loaded.
        attnviz.tokens.NoTokensError: the text has no token for the model.
    """
    if name not in MAKERS:
        can = joined(PAGES[page].title for page in MAKERS)
        raise NoPageError(f"A view of {PAGES[name].title} can't be a web page of its own; one of {can} can.")
    maker = MAKERS[name]
    for selection in maker.shown(on_page(name, view), resources):
        count = selection.longest()
        most, sentence = maker.limit(selection)
        if count > most:
            raise NoPageError(f"{sentence} takes up to {most} tokens, and this view has {count:,}.")


def make_page(name: str, view: View, resources: Resources, *, plays: bool = False) -> Page:
    """Return a view as a page; raises as `check_page` does.

    With `plays` a page with a walk begins with the walk that plays itself, as by `#play=1` in its address.
    """
    check_page(name, view, resources)
    page = MAKERS[name].make(on_page(name, view), resources)
    return replace(page, view={**page.view, "play": "1"}) if plays and page.kind == "walk" else page


def _one(page: str, view: View, resources: Resources) -> Iterable[ShownHead]:
    return [PAGES[page].shows(view.__getitem__, resources)]


def _walk_page(page: str, view: View, resources: Resources) -> Page:
    from attnviz.document import document_of_layer
    from attnviz.document.value import PROJECTIONS

    (selection,) = _one(page, view, resources)
    walk = selection.walk(resources)

    def leave_out(name: str, _nbytes: int) -> str | None:
        """Leave out the projections of other heads, which are far larger than everything else in the page."""
        kind, _, head = name.partition("/")
        return "elsewhere" if kind in PROJECTIONS and head != str(selection.head) else None

    document = document_of_layer(walk, thumbnails=True, refer_to=leave_out)
    layer = f" · layer {selection.layer}" if selection.source.has_layers else ""
    where = f" · {document.header.place}" if document.header.place else layer
    view = {**view, "layer": selection.layer, "head": selection.head}
    keys = {**{name: name for name in WALK_KEYS}, "step": PAGES[page].step_key}
    walk_page = _page_of(document, page, view, keys, f"{title(selection.model.name)}{where}, step by step")
    return replace(
        walk_page,
        missing=f"this page holds the projections of head {selection.head} only",
        scores=_scores(selection, view["q"], view["k"], resources),
    )


def _scores(selection: ShownHead, q: int | None, k: int | None, resources: Resources) -> dict[str, Any]:
    """Return what the pinned score is made of, under the name by which the browser asks for it; {} without a pin."""
    if q is None or k is None or not all(at < len(axis) for at, axis in zip((q, k), selection.axes(), strict=True)):
        return {}
    return {f"~score-{selection.head}-{q}-{k}": selection.score_parts(resources, q, k).payload()}


def _averages_page(view: View, resources: Resources) -> Page:
    from attnviz.document import document_of_layer
    from attnviz.sources.models import averages_of, left_out_of_averages

    document = document_of_layer(averages_of(view.__getitem__, resources))
    chosen = {"step": "way", "q": "q", "k": "k", "focus": "focus"}
    page = _page_of(document, "averages", view, chosen, views.title("averages", view.__getitem__))
    return replace(page, notes=tuple(filter(None, [left_out_of_averages(view.__getitem__)])))


def _page_of(document: Document, page: str, view: View, keys: Mapping[str, str], heading: str) -> Page:
    """Return a page with a walk; `keys` are the link keys of what is chosen in it, by its names in the walk."""
    from attnviz.document import write

    return Page(
        "walk",
        heading,
        views.caption(page, view.__getitem__),
        write(document),
        json.dumps(asdict(document.header), ensure_ascii=False),
        {name: KEYS[key].write(view[key]) for name, key in keys.items() if view[key] is not None},
        lecture=view["lecture"],
    )


def _compared(view: View, resources: Resources) -> Iterable[ShownHead]:
    view = {**view, **default_of_b(view.__getitem__, resources)}
    return [shown(side.get, resources) for side in choices(view.__getitem__, resources)]


def _compare_page(view: View, resources: Resources) -> Page:
    from attnviz.export.comparison import compared

    view = {**view, **default_of_b(view.__getitem__, resources)}
    a, b = choices(view.__getitem__, resources)
    both = compared((a, b), (run(a, resources), run(b, resources)), view["quantity"])
    sizes = {"q": len(both.labels["query"]), "k": len(both.labels["key"])}
    header, matrices = both.payload(stretch=STRETCH[view["stretch"]])
    header |= {
        "acknowledged": 0,
        **{name: view[name] if (view[name] or 0) < size else None for name, size in sizes.items()},
        "focus": view["focus"],
    }
    return Page(
        "compare",
        views.title("compare", view.__getitem__),
        views.caption("compare", view.__getitem__),
        write_payload(header, matrices),
        json.dumps(header, ensure_ascii=False),
        notes=tuple(filter(None, (both.notice(), both.caveats(), _precision(header["ranges"].values())))),
        lecture=view["lecture"],
    )


def _precision(ranges: Iterable[list[float] | None]) -> str:
    """Return the precision of encoded matrices, as a sentence; "" if they are float32."""
    errors = [(levels[1] - levels[0]) / 131068 for levels in ranges if levels]
    return f"The numbers are rounded to 16 bits: an error of at most {max(errors):.1e}." if errors else ""


def _heads_page(view: View, resources: Resources) -> Page:
    from attnviz.heads import view as chosen
    from attnviz.heads.all_heads import ERROR, AllHeads

    (selection,) = _one("heads", view, resources)
    all_heads = AllHeads.of(selection.trace(resources), selection.kind)
    view = {**view, "layer": selection.layer, "head": selection.head}
    header, arrays = all_heads.payload(chosen(view.__getitem__))
    files = {name: np.frombuffer(all_heads.file(name), np.uint8) for name in all_heads.names()}
    kind = f" · {KIND_NAMES[selection.kind]}" if len(selection.model.description.layers) > 1 else ""
    return Page(
        "heads",
        f"{title(selection.model.name)}{kind}, all heads",
        views.caption("heads", view.__getitem__),
        write_payload(header, {**arrays, **files}),
        json.dumps(header, ensure_ascii=False),
        {name: KEYS[name].write(view[name]) for name in HEADS_KEYS if view[name] is not None},
        notes=(ROUNDED.format(error=ERROR), CAUTION),
        lecture=view["lecture"],
    )


def _most_of_heads(selection: ShownHead) -> tuple[int, str]:
    layers, heads = len(selection.numbers), selection.heads
    most = isqrt(HEADS_BYTES // (2 * layers * (heads + 1)))  # with the rollout
    return most, f"A web page of Heads has at most 3 MB: with {layers} x {heads} heads, it"


def _up_to(most: int, title: str) -> Callable[[ShownHead], tuple[int, str]]:
    return lambda _: (most, f"A web page of {title}")


def _walk_maker(page: str) -> Maker:
    return Maker(_up_to(512, PAGES[page].title), partial(_one, page), partial(_walk_page, page))


MAKERS: dict[str, Maker] = {
    "step_by_step": _walk_maker("step_by_step"),
    "heads": Maker(_most_of_heads, partial(_one, "heads"), _heads_page),
    "averages": Maker(_up_to(MAX_TOKENS, "From averages to attention"), partial(_one, "averages"), _averages_page),
    "transformer": _walk_maker("transformer"),
    "compare": Maker(_up_to(512, "Compare"), _compared, _compare_page),
}
"""By the names of the app's pages"""

"""HTML that shows a view anywhere: scripts, style sheet, font and numbers are with it, and it requests nothing else.

What a text, a model or a lesson says stands in it as escaped text or as base64, never as markup or code, and the page's
own policy lets nothing run but its one script.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from typing import Any, Literal
from urllib.parse import quote

from attnviz.components.built import page_script
from attnviz.components.styles import styles
from attnviz.export.drawing.fonts import BOLD, FAMILY, REGULAR, subset

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
    """The text that is shown and what computed it, in a sentence or two"""
    numbers: bytes
    """What the browser side of `kind` reads: a document, or a payload of `components.packing`"""
    words: str
    """All text in `numbers`, for whose characters the page needs a font"""
    view: Mapping[str, str] = field(default_factory=dict)
    """What is chosen in it, by the keys of links and written as in links"""
    notes: tuple[str, ...] = ()
    """What stands under it: what to notice, and what a reader must know of the numbers"""
    missing: str = "this page does not hold it"
    """Why numbers that are not in `numbers` can't be shown, to end a sentence"""
    lecture: bool = False
    """Whether its type is as large as in lecture mode"""

    @property
    def body(self) -> str:
        """The view in HTML, with its numbers and without the heading."""
        settings: dict[str, Any] = {
            "view": dict(self.view), "lecture": self.lecture, "font": FAMILY, "missing": self.missing,
        }  # fmt: skip
        return _VIEW.format(
            notes="".join(f'<p class="attnviz-note">{escape(note)}</p>\n' for note in self.notes),
            settings=json.dumps(settings).replace("<", "\\u003c"),  # ASCII without markup
            numbers=b64encode(self.numbers).decode(),
        )

    @property
    def said(self) -> str:
        """All text that the page may show beside that of its script."""
        return "".join((self.title, self.about, *self.notes, self.words))


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
    """Return a page of these parts. All but the title is HTML."""
    attribute = ' class="lecture"' if lecture else ""
    page = _HTML.format(title=escape(title), body=body, policy=policy, look=look, code=code, lecture=attribute)
    return page.encode(errors="replace")  # a lone surrogate is no text


def iframe(file: str, title: str) -> str:
    """Return the HTML that shows a page in a slide or in a course's page, as wide as the place that it stands in."""
    style = "width: 100%; height: 44rem; border: 0"
    return f'<iframe src="{escape(quote(file))}" title="{escape(title)}" style="{style}" loading="lazy"></iframe>'


def inline_script(code: str) -> str:
    """Return code that HTML does not cut short, where it stands between two tags."""
    # Both are in strings only: a slash and an exclamation mark mean the same with a backslash before them there.
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

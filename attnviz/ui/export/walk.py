"""Export the walk: what the page Step by step shows now, and the files that are made of all its steps on a click."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.sources.shown import Shown, shown
from attnviz.ui import state
from attnviz.ui.export.file import FAILED_LOOK, file_button
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES, AppResources, shown_now
from attnviz.ui.tokens.tokenizers import char_vocab

if TYPE_CHECKING:
    from attnviz.export.code.lines import Cell
    from attnviz.export.drawing.themes import Theme
    from attnviz.export.formats import Format
    from attnviz.tokens import CharVocab
    from attnviz.trace.walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class ShownWalk:
    """The walk that Step by step shows now, by its settings alone.

    Files are made of it when a button is pressed, on a thread without the session. Till then it waits with the button,
    for as long as the popover is open; so it holds the view and not the model, and asks the shared caches.
    """

    view: Mapping[str, Any]
    """With the model, the kind, the layer and the head that are truly shown"""
    site: str
    vocabulary: CharVocab
    """The session's characters, which no other thread can ask for"""

    def shown(self) -> Shown:
        """Return what is shown.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded any more.
        """
        return shown(self.view.__getitem__, AppResources(self.vocabulary))

    def walk(self) -> Walk:
        """Return the walk with its name and its link; cheap while the page's trace is in the caches.

        Raises:
            attnviz.tokens.NoTokensError: the text gives no token.
            attnviz.pretrained.ModelError: the model can't be loaded any more.
        """
        from attnviz.export.views import walk_of

        return walk_of(self.view, self.shown(), RESOURCES, self.site)

    def cells(self) -> tuple[Cell, ...]:
        """Return the walk as code; raises what `walk` does."""
        from attnviz.export.code.recipes import walk_cells

        return walk_cells(self.shown(), self.walk())


def shown_walk() -> ShownWalk:
    """Return what Step by step shows now.

    Raises:
        attnviz.pretrained.ModelError: neither the model nor the built-in one can be loaded.
    """
    view, now = {name: state.get(name) for name in KEYS}, shown_now()
    for name in ("kind", "layer", "head", "model"):
        if name in now.source.keys:
            view[name] = now.model.name if name == "model" else getattr(now, name)
    return ShownWalk(view, _site(), char_vocab(view["text"]))


def walk_to_export() -> tuple[ShownWalk, Walk] | None:
    """Return what Step by step shows now and its walk; where there is none, say why."""
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    try:
        now = shown_walk()
        return now, now.walk()
    except (NoTokensError, ModelError) as why:
        st.caption(plain(str(why)))
        return None


def show_walk_export() -> None:
    """Offer all steps of this head as slides, pages, pictures and TikZ. A file is made when it is asked for."""
    from attnviz.export.drawing.themes import THEMES
    from attnviz.export.formats import FORMATS, TooLongError

    found = walk_to_export()
    if found is None:
        return
    now, walk = found
    refused = []
    colours = st.segmented_control(
        "Colours", list(THEMES), key="export_theme", default="light", format_func=str.title, required=True,
        persist_state="session",
    )  # fmt: skip
    st.html(FAILED_LOOK)
    with st.container(horizontal=True, key="walk_export"):
        for name, kind in FORMATS.items():
            try:
                kind.check(walk)
            except TooLongError as why:
                refused.append(str(why))
                continue
            write = _writer(kind, now, THEMES[colours if kind.themed else "light"])
            file = f"{_file_name(walk.name)}{kind.suffix}"
            file_button(kind.title, file, kind.mime, write, key=f"export_walk_{name}")
    st.caption(
        f"{plain(walk.name)}: one slide or page a step, with formula, what to notice and the link back. Slides stay "
        "editable and carry speaker notes; the TikZ file needs pdflatex only, and is always light."
    )
    for sentence in refused:
        st.caption(sentence)


def _writer(kind: Format, now: ShownWalk, theme: Theme) -> Callable[[], bytes]:
    """Return what makes a file when it is called."""

    def write() -> bytes:
        from attnviz.export.walk import sheets

        return kind.write(sheets(now.walk(), theme=theme))

    return write


def _site() -> str:
    """Return the address of this app without a page; "" where the browser's is not known."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}" if here.netloc else ""


def _file_name(name: str) -> str:
    """Return a name for a file that every system takes: "minilm-layer-3-head-5"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-60:].lower() or "walk"

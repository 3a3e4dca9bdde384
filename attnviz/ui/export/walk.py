"""Export of all steps of the head that a page shows: Step by step, or Transformer with the steps around it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import streamlit as st

from attnviz.export.views import on_page
from attnviz.hosts import is_local
from attnviz.ui import state
from attnviz.ui.export.file import file_button
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES, SavedView, shown_now, view_of
from attnviz.ui.tokens.tokenizers import char_vocab

if TYPE_CHECKING:
    from attnviz.export.code.cells import Cell
    from attnviz.export.drawing.marks import Theme
    from attnviz.export.sheets import Format
    from attnviz.trace.walk import Walk


_LINKED = "export_local_link"
"""Whether files have a link that opens on this machine only."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownWalk(SavedView):
    """The settings of the head that a page shows.

    A click on a button creates a file from it, on a thread without access to the session. It is kept as long as the
    popover is open.
    """

    site: str = ""

    def walk(self) -> Walk:
        """Return the head with its name and link; fast while its trace is cached.

        Raises:
            attnviz.tokens.NoTokensError: the text gives no token.
            attnviz.pretrained.ModelError: the model is no longer cached and can't be loaded.
        """
        from attnviz.export.views import walk_of

        return walk_of(self.view, self.shown(), RESOURCES, self.site, self.page)

    @property
    def no_code_reason(self) -> str:
        """Why there is no code for this view, as a sentence; empty if there is."""
        from attnviz.export.code.recipes import no_code_reason

        return no_code_reason(self.view["source"])

    def cells(self) -> tuple[Cell, ...]:
        """Return the head as code cells. Raises the errors of `walk`."""
        from attnviz.export.code.recipes import walk_cells

        return walk_cells(self.shown(), self.walk(), RESOURCES)


def shown_walk(page: str) -> ShownWalk:
    """Return the head that a page shows.

    Raises:
        attnviz.pretrained.ModelError: neither the model nor the built-in one can be loaded.
    """
    view = shown_view(page)
    site = _site()
    if _is_local(site) and not st.session_state.get(_LINKED):
        site = ""
    return ShownWalk(view, char_vocab(view["text"]), page, site)


def shown_view(page: str) -> dict[str, Any]:
    """Return the view of a page with the actual model, kind, layer and head; raises as `shown_walk` does."""
    asked = on_page(page, state.every())
    return {**on_page(page, view_of(shown_now(asked.__getitem__, page)))}


def walk_to_export(page: str) -> tuple[ShownWalk, Walk] | None:
    """Return the head that a page shows; if there is none, show the reason and return None."""
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    try:
        now = shown_walk(page)
        return now, now.walk()
    except (NoTokensError, ModelError) as error:
        st.caption(plain(str(error)))
        return None


def show_walk_export(page: str) -> None:
    """Show buttons for all steps of this head as slides, PDF, SVG and TikZ. A click creates the file."""
    from attnviz.export.drawing.marks import THEMES
    from attnviz.export.sheets import FORMATS, TooLongError

    if _is_local(_site()):
        st.toggle("Files link to this computer", key=_LINKED, persist_state="session",
                  help="Such a link opens only here, so files have none by default.")  # fmt: skip
    found = walk_to_export(page)
    if found is None:
        return
    now, walk = found
    refused = []
    colours = st.segmented_control(
        "Colours", list(THEMES), key="export_theme", default="light", format_func=str.title, required=True,
        persist_state="session",
    )  # fmt: skip
    with st.container(horizontal=True, key="walk_export"):
        for name, kind in FORMATS.items():
            try:
                kind.check(walk)
            except TooLongError as error:
                refused.append(str(error))
                continue
            write = _writer(kind, now, THEMES[colours if kind.themed and colours else "light"])
            file = f"{_file_name(walk.name)}{kind.suffix}"
            file_button(kind.title, file, kind.mime, write, key=f"export_walk_{name}")
    link = " and a link back" if walk.link else ""
    st.caption(
        f"{plain(walk.name)}: one slide or page per step, with formula, notice{link}. Slides are editable and "
        "have speaker notes; the TikZ file only needs pdflatex and is always light."
    )
    for sentence in refused:
        st.caption(sentence)


def _writer(kind: Format, now: ShownWalk, theme: Theme) -> Callable[[], bytes]:
    """Return a function that creates the file."""

    def write() -> bytes:
        from attnviz.export.sheets import sheets

        return kind.write(sheets(now.walk(), theme=theme))

    return write


def _site() -> str:
    """Return the address of this app without a page, or "" if it is unknown."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}" if here.netloc else ""


def _is_local(site: str) -> bool:
    return is_local(urlsplit(site).hostname or "")


def _file_name(name: str) -> str:
    """Return a file name that is valid on every system, such as "minilm-layer-3-head-5"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-60:].lower() or "walk"

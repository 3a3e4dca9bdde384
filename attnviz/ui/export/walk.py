"""Export the walk: what the page Step by step shows now, and the files that are made of all its steps on a click."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.ui import caches, state
from attnviz.ui.export.file import FAILED_LOOK, file_button
from attnviz.ui.plain import plain
from attnviz.ui.sources import toy_tokens

if TYPE_CHECKING:
    from attnviz.export.code.lines import Cell
    from attnviz.export.drawing.themes import Theme
    from attnviz.export.formats import Format
    from attnviz.export.walk import Subject
    from attnviz.tokens import Tokens


@dataclass(frozen=True, slots=True, eq=False)
class ShownWalk:
    """The walk that Step by step shows now, by its settings alone.

    Files are made of it when a button is pressed, on a thread without the session. Till then it waits with the button,
    for as long as the popover is open; so it holds the view and not the model, and asks the shared caches.
    """

    view: Mapping[str, Any]
    """With the model, the kind, the layer and the head that are truly shown"""
    site: str
    toy_tokens: Tokens | None = None

    def subject(self) -> Subject:
        """Return the walk with its tokens, its name and its link; cheap while the page's trace is in the caches.

        Raises:
            attnviz.tokens.NoTokensError: the text gives no token.
            attnviz.pretrained.ModelError: the model can't be loaded any more.
        """
        from attnviz.export.subjects import pretrained_subject, toy_config, toy_subject

        view, tokens = self.view, self.toy_tokens
        if tokens is not None:
            return toy_subject(view, tokens, caches.toy_trace(tokens, toy_config(view)), site=self.site)
        model = caches.model(view["model"])
        trace = caches.trace(model, view["text"], view["pair"].strip() or None)
        return pretrained_subject(view, model, trace, site=self.site)

    def cells(self) -> tuple[Cell, ...]:
        """Return the walk as code; raises what `subject` does."""
        from attnviz.export.code.recipes import walk_cells

        return walk_cells(self.view, self.subject(), caches.model)


def shown_walk() -> ShownWalk:
    """Return what Step by step shows now.

    Raises:
        attnviz.pretrained.ModelError: neither the model nor the built-in one can be loaded.
    """
    view, site = {name: state.get(name) for name in KEYS}, _site()
    if view["source"] == "toy":
        heads = 1 if view["qkv"] == "identity" else view["heads"]
        return ShownWalk({**view, "head": min(view["head"], heads - 1)}, site, toy_tokens(view["text"]))
    from attnviz.pretrained import BUILT_IN, ModelError

    try:
        model = caches.model(view["model"])
    except ModelError:  # the page has said so, and shows the built-in one
        model = caches.model(BUILT_IN)
    counts = model.layer_counts
    kind = view["kind"] if view["kind"] in counts else next(iter(counts))
    layers, heads = counts[kind]
    layer, head = min(view["layer"], layers - 1), min(view["head"], heads - 1)
    return ShownWalk({**view, "model": model.name, "kind": kind, "layer": layer, "head": head}, site)


def walk_to_export() -> tuple[ShownWalk, Subject] | None:
    """Return what Step by step shows now and its walk; where there is none, say why."""
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    try:
        shown = shown_walk()
        return shown, shown.subject()
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
    shown, subject = found
    refused = []
    colours = st.segmented_control(
        "Colours", list(THEMES), key="export_theme", default="light", format_func=str.title, required=True,
        persist_state="session",
    )  # fmt: skip
    st.html(FAILED_LOOK)
    with st.container(horizontal=True, key="walk_export"):
        for name, kind in FORMATS.items():
            try:
                kind.check(subject)
            except TooLongError as why:
                refused.append(str(why))
                continue
            write = _writer(kind, shown, THEMES[colours if kind.themed else "light"])
            file = f"{_file_name(subject.name)}{kind.suffix}"
            file_button(kind.title, file, kind.mime, write, key=f"export_walk_{name}")
    st.caption(
        f"{plain(subject.name)}: one slide or page a step, with formula, what to notice and the link back. Slides stay "
        "editable and carry speaker notes; the TikZ file needs pdflatex only, and is always light."
    )
    for sentence in refused:
        st.caption(sentence)


def _writer(kind: Format, shown: ShownWalk, theme: Theme) -> Callable[[], bytes]:
    """Return what makes a file when it is called."""

    def write() -> bytes:
        from attnviz.export.walk import sheets

        return kind.write(sheets(shown.subject(), theme=theme))

    return write


def _site() -> str:
    """Return the address of this app without a page; "" where the browser's is not known."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}" if here.netloc else ""


def _file_name(name: str) -> str:
    """Return a name for a file that every system takes: "minilm-layer-3-head-5"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-60:].lower() or "walk"

"""Export the walk: what the page Step by step shows now, and the files that are made of all its steps on a click."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from attnviz.ui import caches, state
from attnviz.ui.link import KEYS
from attnviz.ui.plain import plain
from attnviz.ui.sources import toy_config, toy_tokens

if TYPE_CHECKING:
    from attnviz.export.formats import Format
    from attnviz.export.walk import Subject
    from attnviz.figures.walk import Walk


def current_walk() -> Walk:
    """Return the walk that Step by step shows now; cheap once the page has drawn it.

    Raises:
        attnviz.tokens.NoTokensError: the text gives no token.
        attnviz.pretrained.ModelError: neither the model nor the built-in one can be loaded.
    """
    return current_subject().walk


def current_subject() -> Subject:
    """Return the walk that Step by step shows now, with its tokens, its name and its link.

    Raises:
        attnviz.tokens.NoTokensError: the text gives no token.
        attnviz.pretrained.ModelError: neither the model nor the built-in one can be loaded.
    """
    return _maker()()


def show_walk_export() -> None:
    """Offer all steps of this head as slides, pages, pictures and TikZ. A file is made when it is asked for."""
    from attnviz.export.formats import FORMATS, TooLongError
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    try:
        make = _maker()
        subject = make()
    except (NoTokensError, ModelError) as why:
        st.caption(plain(str(why)))
        return
    refused = []
    with st.container(horizontal=True, key="walk_export"):
        for name, kind in FORMATS.items():
            try:
                kind.check(subject)
            except TooLongError as why:
                refused.append(str(why))
                continue
            st.download_button(
                kind.title, _writer(kind, make), f"{_file_name(subject.name)}{kind.suffix}", kind.mime,
                key=f"export_walk_{name}", on_click="ignore",
            )  # fmt: skip
    st.caption(
        f"{plain(subject.name)}: one slide or page a step, with formula, what to notice and the link back. Slides stay "
        "editable and carry speaker notes; the TikZ file needs pdflatex only. Light colours, for paper and projector."
    )
    for sentence in refused:
        st.caption(sentence)


def _writer(kind: Format, make: Callable[[], Subject]) -> Callable[[], bytes]:
    """Return what makes a file, on a thread without the session; it holds the view and not the model."""

    def write() -> bytes:
        from attnviz.export.walk import sheets

        return kind.write(sheets(make()))

    return write


def _maker() -> Callable[[], Subject]:
    """Return what makes the subject of the view as it is now; it asks the shared caches, and no session."""
    from attnviz.export.subjects import pretrained_subject, toy_subject
    from attnviz.pretrained import BUILT_IN, ModelError

    view, site = {name: state.get(name) for name in KEYS}, _site()
    if view["source"] == "toy":
        tokens, config = toy_tokens(view["text"]), toy_config()
        heads = 1 if view["qkv"] == "identity" else view["heads"]
        view["head"] = min(view["head"], heads - 1)
        return lambda: toy_subject(view, tokens, caches.toy_trace(tokens.ids, config), site=site)
    try:
        model = caches.model(view["model"])
    except ModelError:  # the page has said so, and shows the built-in one
        model = caches.model(BUILT_IN)
    name = model.name
    view["kind"] = view["kind"] if view["kind"] in model.layer_counts else next(iter(model.layer_counts))
    layers, heads = model.layer_counts[view["kind"]]
    view |= {"model": name, "layer": min(view["layer"], layers - 1), "head": min(view["head"], heads - 1)}

    def make() -> Subject:
        found = caches.model(name)
        trace = caches.trace(found, view["text"], view["pair"].strip() or None)
        return pretrained_subject(view, found, trace, site=site)

    return make


def _site() -> str:
    """Return the address of this app without a page; "" where the browser's is not known."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}" if here.netloc else ""


def _file_name(name: str) -> str:
    """Return a name for a file that every system takes: "minilm-layer-3-head-5"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-60:].lower() or "walk"

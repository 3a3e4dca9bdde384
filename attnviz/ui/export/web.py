"""Export of a view as a web page of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from attnviz.export.views import title
from attnviz.export.web import NoPageError, check_page, iframe, make_page, write_page
from attnviz.ui import state
from attnviz.ui.export.file import file_button
from attnviz.ui.export.walk import shown_view
from attnviz.ui.plain import plain
from attnviz.ui.sources import AppResources
from attnviz.ui.tokens.tokenizers import char_vocab

HTML = "text/html"


def show_web_export(page: str) -> None:
    """Show a button for this view as one HTML file, and the lines that embed it elsewhere."""
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    # The button's callback runs on a thread without access to the session.
    resources = AppResources(char_vocab(state.get("text")))
    try:
        view = shown_view(page)
        check_page(page, view, resources)
    except (NoPageError, NoTokensError, ModelError) as error:
        st.caption(plain(str(error)))
        return
    file = f"attnviz-{page.replace('_', '-')}.html"
    with st.container(key="web_export"):
        file_button("Interactive page", file, HTML, _writer(page, view, resources), key="export_page")
    st.caption(
        "One file that anybody's browser opens, from a disk too: with all numbers and scripts inside, it needs neither "
        "this server nor a network. To show it in slides or in a course's page, put the file beside them and add:"
    )
    st.code(iframe(file, title(page, state.get)), language="html", wrap_lines=True)


def _writer(page: str, view: Mapping[str, Any], resources: AppResources) -> Callable[[], bytes]:
    """Return a function that creates the file."""
    return lambda: write_page(make_page(page, view, resources))

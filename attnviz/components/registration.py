"""What the components share: how one is registered, and how what it sends back is read."""

from __future__ import annotations

from functools import cache

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.errors import StreamlitAPIException


class ComponentNotFoundError(RuntimeError):
    """Streamlit doesn't know attnviz's browser files: the package isn't installed."""


@cache
def component(name: str, *, isolated: bool = True) -> ComponentRenderer:
    """Register `attnviz.<name>`, served from `frontend/<name>.js` and `frontend/<name>.css`, and return it.

    An isolated one lives in a shadow root, where the page's styles and other components do not reach it.

    At the first mount, not at import: Streamlit learns of packaged components when its server starts, so where there is
    no server (a notebook, a unit test) registering fails although nothing is wrong.
    """
    try:
        return st.components.v2.component(
            f"attnviz.{name}", css=f"{name}.css", js=f"{name}.js", isolate_styles=isolated
        )
    except StreamlitAPIException as why:
        # Streamlit's own message speaks of pyproject.toml, which is in place: what is missing is the install.
        raise ComponentNotFoundError(
            f"Streamlit can't find the browser component attnviz.{name}. It is served from the installed package: "
            "run `pip install -e .` where attnviz's pyproject.toml lies, then start the app again."
        ) from why


def position(sent: object) -> int | None:
    """Read a position that came from the browser, where anybody can send anything; what is none is None."""
    # JSON has one kind of number: 3 may arrive as 3.0.
    if isinstance(sent, float) and sent.is_integer():
        sent = int(sent)
    return sent if isinstance(sent, int) and not isinstance(sent, bool) and sent >= 0 else None

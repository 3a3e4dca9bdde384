"""Registration of browser components, and what they send."""

from __future__ import annotations

from functools import cache

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.errors import StreamlitAPIException


class ComponentNotFoundError(RuntimeError):
    """Streamlit can't find attnviz's browser files, because the package is not installed."""


@cache
def component(name: str, *, isolated: bool = True) -> ComponentRenderer:
    """Register `attnviz.<name>`, served from `frontend/<name>.js` and `frontend/<name>.css`, and return it.

    An isolated component is mounted in a shadow root, so the page's styles do not apply to it.

    Components are registered at their first mount, not at import: Streamlit discovers packaged components when its
    server starts, so without a server (in a notebook or a unit test) registration fails.

    Raises:
        ComponentNotFoundError: the package is not installed.
    """
    try:
        return st.components.v2.component(
            f"attnviz.{name}", css=f"{name}.css", js=f"{name}.js", isolate_styles=isolated
        )
    except StreamlitAPIException as error:
        # Streamlit's message asks for a pyproject.toml, which exists; the package is not installed.
        raise ComponentNotFoundError(
            f"Streamlit can't find the browser component attnviz.{name}. It is served from the installed package: "
            "run `pip install -e .` in the folder of attnviz's pyproject.toml, then start the app again."
        ) from error


def sent_value(key: str, name: str) -> object:
    """Return what the component with this key has sent under a name; None if nothing.

    In a callback too: a client may send the value of a component that its page no longer shows.
    """
    return getattr(st.session_state.get(key), name, None)


def position(sent: object) -> int | None:
    """Validate a position from the browser: return a non-negative integer, or None for anything else."""
    # JSON does not tell integers from floats: 3 may arrive as 3.0.
    if isinstance(sent, float) and sent.is_integer():
        sent = int(sent)
    return sent if isinstance(sent, int) and not isinstance(sent, bool) and sent >= 0 else None

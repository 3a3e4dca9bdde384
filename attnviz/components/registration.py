"""Registration of browser components, and what they send."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy.typing as npt
import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.errors import StreamlitAPIException

from attnviz.components.built import PAGE_STYLES, folder, needed_by
from attnviz.components.payload import write_payload


class ComponentNotFoundError(RuntimeError):
    """Streamlit can't find attnviz's browser files, because the package is not installed."""


def mount(
    component: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    key: str,
    **callbacks: Any,
) -> None:
    """Mount a component of `built.KINDS` with a header and arrays (see `payload.write_payload`).

    `callbacks` are functions by names such as `on_updates_change`, called before the script reruns.

    Raises:
        ComponentNotFoundError: the package is not installed.
    """
    loaded = {
        "component": component, "modules": folder(), "needed": needed_by(component),
        "page_styles": PAGE_STYLES.get(component, ""),
    }  # fmt: skip
    _browser_side()(data=write_payload({**header, **loaded}, arrays), key=key, **callbacks)


@cache
def _browser_side() -> ComponentRenderer:
    """Register `attnviz.main`, one for all components, which loads the script of each.

    It is registered at the first mount, not at import: Streamlit discovers packaged components when its server starts,
    so without a server (in a notebook or a unit test) registration fails.
    """
    try:
        return st.components.v2.component("attnviz.main", js="main.js", isolate_styles=False)
    except StreamlitAPIException as error:
        # Streamlit's message asks for a pyproject.toml, which exists; the package is not installed.
        raise ComponentNotFoundError(
            "Streamlit can't find the browser component attnviz.main. It is served from the installed package: "
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

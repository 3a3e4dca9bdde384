"""Values of the view that the app sets for the user, and gives back later unless the user has changed them since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attnviz.ui import state


def replace(reason: str, values: Mapping[str, Any]) -> None:
    """Set values by the keys of links, from a callback; `give_back` of the same reason undoes it."""
    st.session_state[_key(reason)] = {name: (state.get(name), value) for name, value in values.items()}
    for name, value in values.items():
        state.put(name, value)


def give_back(reason: str) -> bool:
    """Set what was before the last `replace` for this reason, but what the user has chosen since stays.

    Returns whether there was one.
    """
    replaced: dict[str, tuple[Any, Any]] = st.session_state.pop(_key(reason), {})
    for name, (before, value) in replaced.items():
        if state.get(name) == value:
            state.put(name, before)
    return bool(replaced)


def _key(reason: str) -> str:
    return f"replaced_{reason}"

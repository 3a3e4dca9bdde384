"""Updates from browser components: the values that a user has changed, numbered, and acknowledged by the server.

Each update has a number. What the server sends to a component says which update it has received last, so the browser
(`frontend/core/pending_updates.ts`) knows which of its changes the server's values include, however late they arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
import streamlit as st

from attnviz.components.registration import mount, position, sent_value

_ACKNOWLEDGED, _LATEST = "acknowledged", "latest_names"
_LARGEST = 2**53 - 1
"""The largest integer that JavaScript represents exactly"""
MAX_SENT = 100
"""Maximum names that a component sends at once"""


def acknowledged(key: str) -> int:
    """Return the number of the last update received from the component with this key; 0 before the first."""
    number: int = st.session_state.get(_ACKNOWLEDGED, {}).get(key, 0)
    return number


def update_handler(key: str, on_update: Callable[[Mapping[str, object]], None]) -> Callable[[], None]:
    """Return the callback that Streamlit calls when the component with this key sends an update.

    `on_update(values)` is called with the changed values by name. Only the names are checked, to be strings: a client
    can send anything.
    """

    def handle() -> None:
        message = sent_value(key, "updates")
        if not isinstance(message, Mapping):
            return
        number, values = position(message.get("number")), message.get("values")
        if number is not None and number <= _LARGEST:
            if number <= acknowledged(key):  # a repeated message, which would undo later changes
                return
            st.session_state.setdefault(_ACKNOWLEDGED, {})[key] = number
        if isinstance(values, Mapping):
            on_update({name: value for name, value in values.items() if isinstance(name, str)})

    return handle


def new_ones(key: str, sent: object) -> list[str]:
    """Return the names in `sent` that were not returned before, in order.

    Args:
        key: of the component that sent them.
        sent: pairs of a number and a name, whose numbers increase. A client can send anything: what is no such pair is
            left out, and of a longer list than `MAX_SENT` the beginning.
    """
    latest = st.session_state.setdefault(_LATEST, {})
    names = []
    for pair in sent[-MAX_SENT:] if isinstance(sent, list) else ():
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str)):
            continue
        number = position(pair[0])
        if number is not None and latest.get(key, -1) < number <= _LARGEST:
            latest[key] = number
            names.append(pair[1])
    return names


def mount_with_updates(
    component: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    key: str,
    on_update: Callable[[Mapping[str, object]], None],
    **callbacks: Any,
) -> None:
    """Mount a component as `registration.mount` does; `on_update` gets its updates, its header acknowledges them."""
    full_header = {**header, "acknowledged": acknowledged(key)}
    mount(component, full_header, arrays, key=key, on_updates_change=update_handler(key, on_update), **callbacks)

"""What a browser component tells of the values that its user has changed, and up to which message it has been heard.

Each message has a number, and the header of what a component is sent says the last number that was heard: so the
browser (`frontend/told.js`) knows which of its changes the server's values speak of already, however late they come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from attnviz.components.registration import position

_HEARD = "heard"
_LARGEST = 2**53 - 1
"""The last whole number that JavaScript can count to"""


def heard(key: str) -> int:
    """Return the number of the last message of this component that was heard; 0 before the first."""
    number: int = st.session_state.get(_HEARD, {}).get(key, 0)
    return number


def hearing(key: str, on_told: Callable[[Mapping[str, object]], None]) -> Callable[[], None]:
    """Return what Streamlit is to call when the component with this key tells something.

    `on_told(values)` is called with the changed values by their names. They have been checked to be named by strings,
    no more: anybody can send anything.
    """

    def hear() -> None:
        message = st.session_state[key].told
        if not isinstance(message, Mapping):
            return
        number, values = position(message.get("number")), message.get("values")
        if number is not None and number <= _LARGEST:
            if number <= heard(key):  # said once more: what has been done since would be undone
                return
            st.session_state.setdefault(_HEARD, {})[key] = number
        if isinstance(values, Mapping):
            on_told({name: value for name, value in values.items() if isinstance(name, str)})

    return hear


def hearing_pin(key: str, on_pin: Callable[[int | None, int | None], None]) -> Callable[[], None]:
    """Return what Streamlit is to call when the component with this key tells of its `pin`: {q, k}, each may be None.

    `on_pin(q, k)` is called with the pinned row and column; both are None when it is unpinned.
    """

    def take(values: Mapping[str, object]) -> None:
        pin = values.get("pin")
        if isinstance(pin, Mapping):
            on_pin(position(pin.get("q")), position(pin.get("k")))

    return hearing(key, take)

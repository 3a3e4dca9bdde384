"""What is switched off, and how: the sidebar's settings, and the choice of heads beneath the grid."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from attnviz.links.values import Head
from attnviz.ui import state
from attnviz.ui.widgets import clicked

WAYS = {"zero": "zero", "mean": "mean"}
ABOUT = """**Zero**: the head's slice of `concat` is 0, as if its rows of W_O were (Michel et al. 2019).

**Mean**: its slice is the head's own mean output over all positions of the 180 sentences of the search, so that
what it adds to every text alike stays (Wang et al. 2022)."""


def controls() -> None:
    """Show how heads are switched off."""
    state.choice("off_by", st.segmented_control, "Switched off by", list(WAYS), required=True, help=ABOUT)


def choose(off: Collection[Head], layers: int, heads: int) -> None:
    """Show the choice of heads: one by one, a whole layer, or none."""
    with st.container(horizontal=True, key="off_choice", vertical_alignment="center"):
        with st.popover(f"Off: {named(off, heads)}"):
            every = [(layer, head) for layer in range(layers) for head in range(heads)]
            state.bound("off", st.multiselect, "Heads that are switched off", every, format_func=_name)
            st.caption("A whole layer, off or on again:")
            with st.container(horizontal=True, key="off_layers", gap="xxsmall"):
                for layer in range(layers):
                    st.button(str(layer), key=f"off_layer_{layer}", on_click=_toggle_layer, args=(layer, heads))
        st.button("All on", key="off_none", disabled=not off, on_click=state.put, args=("off", ()))


def named(off: Collection[Head], heads: int) -> str:
    """Say which heads are switched off, shortly."""
    if not off:
        return "no head"
    if len(off) == 1:
        ((layer, head),) = off
        return f"layer {layer} · head {head}"
    (layer, _), *_ = off
    is_layer = len(off) == heads and all(one == layer for one, _ in off)
    return f"all of layer {layer}" if is_layer else f"{len(off)} heads"


def click(key: str) -> None:
    """Switch the head off, or on again, that the plot with this key says was clicked."""
    place = clicked(key)
    if isinstance(place, (list, tuple)) and len(place) == 2 and all(type(one) is int and one >= 0 for one in place):
        state.put("off", tuple(sorted(set(state.get("off")) ^ {(place[0], place[1])})))


def _toggle_layer(layer: int, heads: int) -> None:
    off, own = set(state.get("off")), {(layer, head) for head in range(heads)}
    state.put("off", tuple(sorted(off - own if own <= off else off | own)))


def _name(head: Head) -> str:
    return f"layer {head[0]} · head {head[1]}"

"""The stepper: ten steps to choose from, and the way back and forth with buttons and arrow keys."""

from __future__ import annotations

import streamlit as st

from attnviz.ui import state
from attnviz.vocabulary import STEPS


def stepper(layers: int = 0) -> str:
    """Show the steps, and the choice of layer where there are some; return the chosen step."""
    names = list(STEPS)
    with st.container(
        key="stepper", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"
    ):
        place = names.index(state.get("step"))
        st.button(
            "‹", key="previous", help="Previous step", shortcut="Left", disabled=place == 0, on_click=_go, args=(-1,)
        )
        step: str = state.choice(
            "step", st.segmented_control, "Step", names,
            format_func=STEPS.get, required=True, label_visibility="collapsed",
        )  # fmt: skip
        last = place == len(names) - 1
        st.button("›", key="next", help="Next step", shortcut="Right", disabled=last, on_click=_go, args=(1,))
        if state.get("lecture"):
            _place(layers)
        elif layers:
            state.choice(
                "layer", st.selectbox, "Layer", range(layers),
                format_func=lambda layer: f"layer {layer}", label_visibility="collapsed", width=110,
            )  # fmt: skip
    return step


def _place(layers: int) -> None:
    """Say which head is shown, where nothing else on the screen does."""
    head = f"head {state.get('head')}"
    if layers:
        head = f"layer {state.keep_within('layer', 'Layer', range(layers))} · {head}"
    st.html(f'<span class="place">{head}</span>', width="content")


def _go(by: int) -> None:
    names = list(STEPS)
    state.put("step", names[min(max(names.index(state.get("step")) + by, 0), len(names) - 1)])

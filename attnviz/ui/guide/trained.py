"""What the side bar says of a trained model: what it learned, which heads do it, and texts to try."""

from __future__ import annotations

from functools import partial

import streamlit as st

from attnviz.trace.model import places
from attnviz.trained.model import TrainedModel, about, examples, heads
from attnviz.ui import state
from attnviz.ui.plain import plain


def show_card(model: object, page: str) -> None:
    """Show the card of a model, if it is one that was trained here."""
    if not isinstance(model, TrainedModel):
        return
    with st.container(key="trained_card", gap="xsmall"):
        st.caption(plain(about(model)), help=None if model.task is None else plain(model.task.explanation))
        for at, (says, kind, layer, head) in enumerate(heads(model)):
            go = partial(_choose, model, page, kind, layer, head)
            st.button(plain(says), key=f"trained_head_{at}", type="tertiary", help="Show this head", on_click=go)
        texts = [text for text in examples(model) if text != state.get("text")]
        if texts:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                st.caption("Try", width="content")
                for at, text in enumerate(texts):
                    st.button(
                        plain(text),
                        key=f"trained_text_{at}",
                        type="tertiary",
                        on_click=partial(state.put, "text", text),
                    )


def _choose(model: TrainedModel, page: str, kind: str, layer: int, head: int) -> None:
    """Show a head, from a callback."""
    if page == "transformer":
        there: list[tuple[str, int]] = [(place.kind, place.layer) for place in places(model.description.numbers)]
        state.put("block", there.index((kind, layer)) if (kind, layer) in there else 0)
        state.put("head", head)
        return
    state.choose_head(layer, head)
    state.put("kind", kind)
    if page == "step_by_step":
        state.put("step", "weights")

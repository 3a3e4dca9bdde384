"""The last part of the popover "Export" on Step by step: every matrix as files, and the code that computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.ui import caches, state
from attnviz.ui.plain import plain
from attnviz.ui.sources import toy_config

if TYPE_CHECKING:
    from attnviz.export.code import Cell
    from attnviz.export.walk import Subject

KINDS = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder to encoder"}


def show_numbers_export() -> None:
    """Offer the numbers of the walk that is shown, and the code that gives them elsewhere. Made when asked for."""
    from attnviz.export import numbers
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError
    from attnviz.ui.export_walk import current_subject

    try:
        subject = current_subject()
        cells = _cells(subject)
    except (NoTokensError, ModelError) as why:
        st.caption(plain(str(why)))
        return
    walk = subject.walk
    name = _file_name(walk.head)
    everything = st.toggle("Numbers of all heads", key="export_all_heads", disabled=walk.layer.heads == 1)
    heads = range(walk.layer.heads) if everything else [walk.head]
    too_many = ""
    try:
        numbers.check_csv(walk, heads)
    except numbers.TooManyNumbersError as why:
        too_many = str(why)
    about = _about(subject)
    with st.container(horizontal=True, key="numbers_export"):
        _button("CSV", f"{name}.zip", "application/zip", lambda: numbers.csv_zip(walk, heads, about), too_many)
        _button("npz", f"{name}.npz", "application/octet-stream", lambda: numbers.npz(walk, heads))
        _button("Notebook", f"{name}.ipynb", "application/x-ipynb+json", lambda: _notebook(cells))
        _button("Script", f"{name}.py", "text/x-python", lambda: _script(cells))
    st.caption("Each matrix with its tokens, for a spreadsheet or numpy. The code needs nothing of attnviz.")


def _button(label: str, file: str, mime: str, data: Callable[[], bytes], refused: str = "") -> None:
    st.download_button(
        label, data, file, mime, key=f"export_{label}", on_click="ignore", disabled=bool(refused), help=refused or None
    )


def _cells(subject: Subject) -> tuple[Cell, ...]:
    """Write the walk as cells: from its seed, or from the model's name."""
    from attnviz.export import code
    from attnviz.export.code_toy import ToyRecipe

    walk = subject.walk
    if state.get("source") == "toy":
        recipe = ToyRecipe(subject.tokens.ids, toy_config())
        place = f"the toy block, head {walk.head}"
        return code.cells(walk, recipe, place=place, needs="torch", link=subject.link)
    from attnviz.export.code_model import model_recipe

    kind, layer = state.get("kind"), state.get("layer")
    found = model_recipe(
        caches.model(state.get("model")), state.get("text"), state.get("pair").strip() or None, kind, layer
    )
    place = f"{KINDS[kind]} attention, layer {layer}, head {walk.head}"
    return code.cells(walk, found, place=place, needs="torch and transformers", link=subject.link)


def _script(cells: tuple[Cell, ...]) -> bytes:
    from attnviz.export.code import script

    return script(cells).encode()


def _notebook(cells: tuple[Cell, ...]) -> bytes:
    from attnviz.export.code import notebook

    return notebook(cells).encode()


def _file_name(head: int) -> str:
    return (
        f"attnviz-toy-head{head}" if state.get("source") == "toy" else f"attnviz-layer{state.get('layer')}-head{head}"
    )


def _about(subject: Subject) -> dict[str, Any]:
    """Say what the numbers are of."""
    tokens = subject.tokens
    return {"of": subject.name, "text": tokens.text, "second_text": tokens.pair, "link": subject.link}

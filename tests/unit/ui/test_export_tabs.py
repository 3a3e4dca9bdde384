"""The tabs of Export: what a choice changes of the files, with buttons that note what they would write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st

from attnviz.export.drawing.marks import THEMES
from attnviz.ui import controls, export, state

HERE, CLASS = "http://localhost:8501", "https://class.example.org"


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    """Begin a session that shows a small toy."""
    st.session_state.clear()
    state.begin("step_by_step")
    for name, value in {"source": "toy", "text": "a cat", "heads": 3, "head": 1, "model_width": 12}.items():
        state.put(name, value)
    yield
    st.session_state.clear()


@pytest.mark.parametrize(
    ("site", "linked", "kept"),
    [(HERE, False, ""), (HERE, True, HERE), (CLASS, False, CLASS), (CLASS, True, CLASS), ("", True, "")],
)
def test_a_link_to_this_computer_is_in_files_that_are_to_have_it(
    monkeypatch: pytest.MonkeyPatch, site: str, linked: bool, kept: str
) -> None:
    monkeypatch.setattr(export, "_site", lambda: site)
    st.session_state["export_local_link"] = linked
    assert export._shown_walk("step_by_step").site == kept


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("MiniLM-L6, layer 3, head 5", "minilm-l6-layer-3-head-5"),
        ("注意 (…)", "walk"),
        (f"{'x' * 70} / head 5", f"{'x' * 53}-head-5"),  # the end tells files apart
    ],
)
def test_a_file_is_named_after_its_head(name: str, file: str) -> None:
    assert export._name_of_walk(name) == file


def test_the_dark_colours_are_for_the_formats_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    written: dict[str, object] = {}
    monkeypatch.setattr(export, "_write_walk", lambda kind, _, theme: written.update({kind.title: theme}))
    monkeypatch.setattr(export, "offer_files", lambda _, *files: [file.data() for file in files])
    for chosen in ("dark", "light", None):
        monkeypatch.setattr(st, "segmented_control", lambda *_, chosen=chosen, **__: chosen)
        export.show_walk_export("step_by_step")
        tikz, *others = written.pop("TikZ"), *written.values()
        assert tikz is THEMES["light"]
        assert others
        assert all(theme is THEMES[chosen or "light"] for theme in others)


@pytest.mark.parametrize(("heads", "all_heads", "written"), [(3, True, [0, 1, 2]), (3, False, [1]), (1, False, [0])])
def test_numbers_are_of_the_shown_head_or_of_all(
    monkeypatch: pytest.MonkeyPatch, heads: int, all_heads: bool, written: list[int]
) -> None:
    asked: list[Any] = []

    def toggle(*_: Any, disabled: bool, **__: Any) -> bool:
        asked.append(disabled)
        return all_heads

    monkeypatch.setattr(st, "toggle", toggle)
    monkeypatch.setattr(
        export, "_numbers_buttons", lambda _, heads, name, too_many: asked.append((list(heads), name, too_many))
    )
    state.put("heads", heads)
    state.put("head", written[0] if heads == 1 else 1)
    export.show_numbers_export("step_by_step")
    name = f"attnviz-toy-head{state.get('head')}"
    assert asked == [heads == 1, (written, name, "")]


@pytest.mark.parametrize(
    ("mask", "padding", "other", "asked"),
    [("none", 0, None, False), ("causal", 0, None, True), ("none", 1, None, True), ("none", 0, "causal", True),
     ("none", 0, "none", False)],
)  # fmt: skip
def test_what_hidden_cells_hold_is_asked_where_any_are_hidden(
    monkeypatch: pytest.MonkeyPatch, mask: str, padding: int, other: str | None, asked: bool
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(state, "choice", lambda name, *_, **__: shown.append(name))
    monkeypatch.setattr(state, "bound", lambda *_, **__: None)
    for name, value in (("mask", mask), ("padding", padding), ("b_mask", other)):
        state.put(name, value)
    controls._more()
    assert ("mask_value" in shown) == asked

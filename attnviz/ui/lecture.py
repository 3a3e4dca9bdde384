"""Lecture mode, and the keyboard shortcuts: those of each page, and how they change the view."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.components.lecture import keyboard
from attnviz.links.pages import PAGES
from attnviz.sources import SOURCES
from attnviz.steps import STEPS
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.styles import style

if TYPE_CHECKING:
    from attnviz.sources.shown import ShownHead


WITH_STEPS = ("step_by_step", "averages", "transformer")
"""The pages with a sequence of steps, through which the browser moves by itself"""
COVERED = ("step_by_step", "transformer")
"""The pages on which a row can be covered to guess it"""
SHOW = ("both", "lines", "heatmap")


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One entry of the list of shortcuts."""

    shown: tuple[str, ...]
    """The keys as shown"""
    text: str
    """The description"""
    actions: Mapping[str, str]
    """The pressed key, such as "h" or "Shift+h" → the name of the action"""


IN_LECTURE = (
    Shortcut(("B",), "a black screen, and back", {"b": "black"}),
    Shortcut(("Shift F",), "full screen, and back", {"Shift+f": "fullscreen"}),
    Shortcut(("Shift T",), "a timer of the lecture: show it, hide it", {"Shift+t": "timer"}),
    Shortcut(("X",), "Share and Export, for this picture: show them, hide them", {"x": "tools"}),
    Shortcut(("Esc",), "unpin; then ask whether to leave lecture mode", {}),
)
"""The shortcuts of lecture mode only, which the browser handles"""


_COVERED_STEPS = [step.title for step in STEPS.values() if step.can_be_covered]
OF_PICTURES = (
    (("step_by_step", "heads", "compare", "averages", "transformer"),
     Shortcut(("F",), "pin a cell or point at a token; the arrow keys move it, Esc releases it", {"f": "pin"})),
    (COVERED,
     Shortcut(("P",), f"guess a row: cover it, from {_COVERED_STEPS[0]} to {_COVERED_STEPS[-1]}", {"p": "predict"})),
    (COVERED, Shortcut(("R", "A"), "reveal the covered row, or all", {"r": "reveal_row", "a": "reveal_all"})),
    (WITH_STEPS, Shortcut(("W",), "play the walk: all steps with the numbers of one pair", {"w": "walk"})),
    (WITH_STEPS, Shortcut(("Space",), "while the walk plays: pause, and on; arrows go from step to step", {})),
    (WITH_STEPS, Shortcut(("K",), "play how the step is computed, and pause", {"k": "play"})),
    (WITH_STEPS, Shortcut((".", ","), "one cell on, one cell back", {".": "cell_on", ",": "cell_back"})),
    (WITH_STEPS, Shortcut(("C",), "the same in PyTorch", {"c": "listing"})),
    (("heads",), Shortcut(("M",), "lines, heatmap or both", {"m": "show"})),
    (("heads", *COVERED), Shortcut(("S",), "darken the colours, or let them end at 1", {"s": "stretch"})),
    (WITH_STEPS, Shortcut(("D",), "animated or Plotly", {"d": "drawing"})),
)  # fmt: skip
"""The shortcuts for pictures, each with the pages that have it"""


def shortcuts(page: str) -> list[Shortcut]:
    """Return the shortcuts of a page for the current view, in the order of the list."""
    return [
        *_steps(page),
        *_training(page),
        *_heads(page),
        *(shortcut for pages, shortcut in OF_PICTURES if page in pages),
        Shortcut(("T",), "light or dark", {"t": "theme"}),
        Shortcut(("L",), "lecture mode, and back", {"l": "lecture"}),
        *(IN_LECTURE if state.get("lecture") else ()),
        Shortcut(("?",), "this list", {"?": "help"}),
    ]


def _steps(page: str) -> list[Shortcut]:
    """Return the shortcuts for steps, or for scenes if a lesson is open: the arrow keys and Page Up, Page Down."""
    if lesson_bar.is_open():
        return [_forward_and_back("next (first the answer of a question), back", "scene_on", "scene_back")]
    return [_forward_and_back("next, previous step", "next", "previous")] if page in WITH_STEPS else []


def _training(page: str) -> list[Shortcut]:
    """Return the shortcuts for a training and its snapshots, which the browser handles."""
    if page != "train":
        return []
    if state.get("train_part") == "generate":
        return [
            Shortcut(("→", "←"), "next, previous character", {}),
            Shortcut(("K",), "play the text, and pause", {}),
            Shortcut(("H", "Shift H"), "next, previous head", {}),
        ]
    return [
        Shortcut(("Enter",), "train, stop, continue", {}),
        Shortcut((".",), "one step of training", {}),
        *([] if lesson_bar.is_open() else [Shortcut(("→", "←"), "next, previous snapshot", {})]),
        Shortcut(("K",), "play the whole training, and pause", {}),
        Shortcut(("H", "Shift H"), "next, previous head", {}),
        Shortcut(("P", "R"), "guess a row: cover the pinned one, and reveal it", {}),
    ]


def _forward_and_back(text: str, forward: str, back: str) -> Shortcut:
    sends = {"ArrowRight": forward, "PageDown": forward, "ArrowLeft": back, "PageUp": back}
    return Shortcut(("→", "←", "Page Down", "Page Up"), text, sends)


def _heads(page: str) -> list[Shortcut]:
    if page not in ("step_by_step", "heads", "compare", "transformer"):
        return []
    of = " of A" if page == "compare" else ""
    layer = "attention of the model" if page == "transformer" else f"layer{of}"
    has_layers = page == "transformer" or SOURCES[PAGES[page].source or state.get("source")].has_layers
    entries = [
        Shortcut(("H", "Shift H"), f"next, previous head{of}", {"h": "head_on", "Shift+h": "head_back"}),
        Shortcut(("Y", "Shift Y"), f"next, previous {layer}", {"y": "layer_on", "Shift+y": "layer_back"}),
    ]
    return entries if has_layers else entries[:1]


def act(page: str, name: str) -> None:
    """Run the action of a shortcut; ignore actions that this page does not have."""
    actions = {action for shortcut in shortcuts(page) for action in shortcut.actions.values()}
    if name in actions and name in ACTIONS:
        ACTIONS[name](page)


def _move(name: str, by: int) -> Callable[[str], None]:
    """Return the action that goes to the next or previous head or layer, clamped at the first and last."""

    def go(page: str) -> None:
        shown = _shown(page)
        numbers = (shown.layers or (0,)) if name == "layer" else tuple(range(shown.heads))
        key = "block" if page == "transformer" and name == "layer" else name
        target = {"layer": state.get("layer"), "head": state.get("head"), key: state.get(key)}
        index = bisect_left(numbers, target[key]) + by
        target[key] = numbers[min(max(index, 0), len(numbers) - 1)]
        if page == "heads":
            state.choose_head(**target)
        else:
            state.put(key, target[key])

    return go


def _shown(page: str) -> ShownHead:
    from attnviz.ui.sources import shown_now

    def get(name: str) -> Any:
        fixed = PAGES[page].source if name == "source" else None
        return fixed or state.get(name)

    return shown_now(get, page)


ACTIONS: Mapping[str, Callable[[str], None]] = {
    "head_on": _move("head", 1),
    "head_back": _move("head", -1),
    "layer_on": _move("layer", 1),
    "layer_back": _move("layer", -1),
    "scene_on": lambda _page: lesson_bar.go(1),
    "scene_back": lambda _page: lesson_bar.go(-1),
    "show": lambda _page: state.put("show", SHOW[(SHOW.index(state.get("show")) + 1) % len(SHOW)]),
    "lecture": lambda _page: state.put("lecture", not state.get("lecture")),
}
"""The actions that the server runs. All others run in the browser."""


def begin(page: str) -> None:
    """Mount the keyboard shortcuts of a page, and apply lecture mode if the view has it."""
    if state.get("lecture"):
        st.html(style("lecture"))
    keyboard(
        [{"shown": shortcut.shown, "says": shortcut.text, "sends": shortcut.actions} for shortcut in shortcuts(page)],
        lesson_state.for_browser(), lecture=state.get("lecture"), in_lesson=lesson_bar.is_open(),
        chapter=PAGES[page].chapter(state.get).title, key="keys",
        on_act=partial(act, page), on_lesson=lesson_state.take_back,
    )  # fmt: skip


def switch() -> None:
    """Show the button for lecture mode, which has large type, no side bar and no controls.

    It can be used in a fragment.
    """
    if st.button("Lecture", icon=":material/present_to_all:", key="lecture_switch", help="L; all keys: ?"):
        state.put("lecture", True)
        st.rerun()

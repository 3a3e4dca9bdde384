"""Keyboard shortcuts: which ones a page has, and how they change the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnviz.links.pages import PAGES
from attnviz.sources import SOURCES
from attnviz.steps import STEPS
from attnviz.steps.averages import WAYS
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar

ORDERS: dict[str, tuple[str, Sequence[str]]] = {
    "step_by_step": ("step", list(STEPS)),
    "averages": ("way", list(WAYS)),
}
"""The pages with an order of steps: the key of the view, and its values in order."""
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


def shortcuts(page: str) -> list[Shortcut]:
    """Return the shortcuts of a page for the current view, in the order of the list."""
    return [
        *_steps(page),
        *_heads(page),
        *_pictures(page),
        Shortcut(("T",), "light or dark", {"t": "theme"}),
        Shortcut(("L",), "lecture mode, and back", {"l": "lecture"}),
        Shortcut(("?",), "this list", {"?": "help"}),
    ]


def _steps(page: str) -> list[Shortcut]:
    """Return the shortcuts for steps and scenes. A presenter's Page keys go through an open lesson, else the steps."""
    page_keys: tuple[str, ...] = ("Page Down", "Page Up")
    arrows: tuple[str, ...] = ("→", "←")
    found = []
    sends = {"ArrowRight": "next", "ArrowLeft": "previous"} if page in ORDERS else {}
    if lesson_bar.is_open():
        found.append(Shortcut(page_keys, "next, previous scene", {"PageDown": "scene_on", "PageUp": "scene_back"}))
    else:
        sends, arrows = {**sends, "PageDown": "next", "PageUp": "previous"}, (*arrows, *page_keys)
    if page in ORDERS:
        found.append(Shortcut(arrows, "next, previous step", sends))
    return found


def _heads(page: str) -> list[Shortcut]:
    if page not in ("step_by_step", "heads", "compare"):
        return []
    of = " of A" if page == "compare" else ""
    found = [Shortcut(("H", "Shift H"), f"next, previous head{of}", {"h": "head_on", "Shift+h": "head_back"})]
    if SOURCES[PAGES[page].source or state.get("source")].has_layers:
        found.append(
            Shortcut(("Y", "Shift Y"), f"next, previous layer{of}", {"y": "layer_on", "Shift+y": "layer_back"})
        )
    return found


def _pictures(page: str) -> list[Shortcut]:
    found = []
    if page in ("step_by_step", "heads", "compare"):
        found.append(
            Shortcut(("F",), "pin a cell or point at a token; the arrow keys move it, Esc releases it", {"f": "pin"})
        )
    if page == "step_by_step":
        covered = [step.title for step in STEPS.values() if step.can_be_covered]
        found.append(Shortcut(("P",), f"predict: cover a row, from {covered[0]} to {covered[-1]}", {"p": "predict"}))
        # The stage reveals the row itself; a lesson with a question must advance too.
        reveal = {"r": "lesson_reveal", "a": "lesson_reveal"} if lesson_bar.has_question(page) else {}
        found.append(Shortcut(("R", "A"), "reveal the covered row, or all", reveal))
        found.append(Shortcut(("C",), "the same in PyTorch", {"c": "listing"}))
    if page == "heads":
        found.append(Shortcut(("M",), "lines, heatmap or both", {"m": "show"}))
    if page == "heads" or (page == "step_by_step" and STEPS[state.get("step")].can_be_stretched):
        found.append(Shortcut(("S",), "stretch the colours, or end them at 1", {"s": "stretch"}))
    if page in ORDERS:
        found.append(Shortcut(("D",), "stage or chart", {"d": "drawing"}))
    return found


def act(page: str, name: str) -> None:
    """Run the action of a shortcut; ignore actions that this page does not have."""
    offered = {action for shortcut in shortcuts(page) for action in shortcut.actions.values()}
    if name in offered and name in ACTIONS:
        ACTIONS[name](page)


def _step(by: int) -> Callable[[str], None]:
    def go(page: str) -> None:
        name, order = ORDERS[page]
        place = order.index(state.get(name)) + by
        state.put(name, order[min(max(place, 0), len(order) - 1)])

    return go


def _move(name: str, by: int) -> Callable[[str], None]:
    """Return the action that goes to the next or previous head or layer, clamped at the first and last."""

    def go(page: str) -> None:
        layers, heads = _counts(page)
        count = layers if name == "layer" else heads
        to = {"layer": state.get("layer"), "head": state.get("head")}
        to[name] = min(max(to[name] + by, 0), count - 1)
        if page == "heads":
            state.choose_head(**to)
        else:
            state.put(name, to[name])

    return go


def _counts(page: str) -> tuple[int, int]:
    """Return the number of layers, and of heads per layer."""
    from attnviz.ui.sources import shown_now

    def get(name: str) -> Any:
        fixed = PAGES[page].source if name == "source" else None
        return fixed or state.get(name)

    found = shown_now(get)
    return max(found.layers, 1), found.heads


def _lecture(_page: str) -> None:
    state.put("lecture", not state.get("lecture"))


def _predict(_page: str) -> None:
    if STEPS[state.get("step")].can_be_covered and state.get("drawing") == "stage":
        state.put("predict", not state.get("predict"))


def _show(_page: str) -> None:
    state.put("show", SHOW[(SHOW.index(state.get("show")) + 1) % len(SHOW)])


def _stretch(_page: str) -> None:
    state.put("stretch", not state.get("stretch"))


def _drawing(_page: str) -> None:
    state.put("drawing", "stage" if state.get("drawing") == "chart" else "chart")


ACTIONS: Mapping[str, Callable[[str], None]] = {
    "next": _step(1),
    "previous": _step(-1),
    "head_on": _move("head", 1),
    "head_back": _move("head", -1),
    "layer_on": _move("layer", 1),
    "layer_back": _move("layer", -1),
    "scene_on": lambda _page: lesson_bar.go(1),
    "scene_back": lambda _page: lesson_bar.go(-1),
    "lesson_reveal": lambda _page: lesson_bar.go(1),
    "predict": _predict,
    "show": _show,
    "stretch": _stretch,
    "drawing": _drawing,
    "lecture": _lecture,
}
"""The server's actions. "pin", "listing", "theme" and "help" run in the browser."""

"""What the keys of every page do: which there are on this page, and what happens to the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnviz.sources import SOURCES
from attnviz.steps.averages import WAYS
from attnviz.steps.vocabulary import STEPS
from attnviz.ui import state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.step_by_step.stepper import PREDICTED, STRETCHED

ORDERS: dict[str, tuple[str, Sequence[str]]] = {
    "step_by_step": ("step", list(STEPS)),
    "averages": ("way", list(WAYS)),
}
"""The pages that go from one thing to the next: the key of the view, and its values in order."""
SHOW = ("both", "lines", "heatmap")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the list of keys."""

    shown: tuple[str, ...]
    """The keys as they are written"""
    says: str
    """What they do"""
    sends: Mapping[str, str]
    """What is pressed, such as "h" or "Shift+h" → the name of what it does"""


def lines(page: str) -> list[Line]:
    """Return the keys of a page as it is now, in the order in which they are listed."""
    return [
        *_steps(page),
        *_heads(page),
        *_pictures(page),
        Line(("T",), "light or dark", {"t": "theme"}),
        Line(("L",), "lecture mode, and back", {"l": "lecture"}),
        Line(("?",), "this list", {"?": "help"}),
    ]


def _steps(page: str) -> list[Line]:
    """Return the keys that go on: a clicker's two go through an open lesson, else through the steps."""
    turns: tuple[str, ...] = ("Page Down", "Page Up")
    arrows: tuple[str, ...] = ("→", "←")
    found = []
    sends = {"ArrowRight": "next", "ArrowLeft": "previous"} if page in ORDERS else {}
    if lesson_bar.is_open():
        found.append(Line(turns, "next, previous scene", {"PageDown": "scene_on", "PageUp": "scene_back"}))
    else:
        sends, arrows = {**sends, "PageDown": "next", "PageUp": "previous"}, (*arrows, *turns)
    if page in ORDERS:
        found.append(Line(arrows, "next, previous step", sends))
    return found


def _heads(page: str) -> list[Line]:
    if page not in ("step_by_step", "heads", "compare"):
        return []
    of = " of A" if page == "compare" else ""
    found = [Line(("H", "Shift H"), f"next, previous head{of}", {"h": "head_on", "Shift+h": "head_back"})]
    if page == "heads" or SOURCES[state.get("source")].has_layers:
        found.append(Line(("Y", "Shift Y"), f"next, previous layer{of}", {"y": "layer_on", "Shift+y": "layer_back"}))
    return found


def _pictures(page: str) -> list[Line]:
    found = []
    if page in ("step_by_step", "heads", "compare"):
        found.append(Line(("F",), "pin a cell or point at a token; the arrow keys move it, Esc lets go", {"f": "pin"}))
    if page == "step_by_step":
        found.append(Line(("P",), "predict: cover a row, from Scores to Head outputs", {"p": "predict"}))
        # The stage uncovers by itself; a lesson that asks about the row has to hear of it too.
        reveal = {"r": "lesson_reveal", "a": "lesson_reveal"} if lesson_bar.asks(page) else {}
        found.append(Line(("R", "A"), "reveal the covered row, or all", reveal))
        found.append(Line(("C",), "the same in PyTorch", {"c": "listing"}))
    if page == "heads":
        found.append(Line(("M",), "lines, heatmap or both", {"m": "show"}))
    if page == "heads" or (page == "step_by_step" and state.get("step") in STRETCHED):
        found.append(Line(("S",), "stretch the colours, or end them at 1", {"s": "stretch"}))
    if page in ORDERS:
        found.append(Line(("D",), "stage or chart", {"d": "drawing"}))
    return found


def act(page: str, name: str) -> None:
    """Do what a key asks for; what this page does not have is passed over."""
    offered = {sent for line in lines(page) for sent in line.sends.values()}
    if name in offered and name in ACTS:
        ACTS[name](page)


def _step(by: int) -> Callable[[str], None]:
    def go(page: str) -> None:
        name, order = ORDERS[page]
        place = order.index(state.get(name)) + by
        state.put(name, order[min(max(place, 0), len(order) - 1)])

    return go


def _move(name: str, by: int) -> Callable[[str], None]:
    """Return what goes to the next or previous head or layer, and stays at the first and the last."""

    def go(page: str) -> None:
        layers, heads = _counts(page)
        count = layers if name == "layer" else heads
        to = {"layer": state.get("layer"), "head": state.get("head")}
        to[name] = min(max(to[name] + by, 0), count - 1)
        if page == "heads":
            from attnviz.ui.heads import state as heads_state

            heads_state.choose(**to)
        else:
            state.put(name, to[name])

    return go


def _counts(page: str) -> tuple[int, int]:
    """Return how many layers there are to choose from, and how many heads each has."""
    from attnviz.ui.sources import shown_now

    def get(name: str) -> Any:
        return "pretrained" if page == "heads" and name == "source" else state.get(name)

    found = shown_now(get)
    return max(found.layers, 1), found.heads


def _lecture(_page: str) -> None:
    state.put("lecture", not state.get("lecture"))


def _predict(_page: str) -> None:
    if state.get("step") in PREDICTED and state.get("drawing") == "stage":
        state.put("predict", not state.get("predict"))


def _show(_page: str) -> None:
    state.put("show", SHOW[(SHOW.index(state.get("show")) + 1) % len(SHOW)])


def _stretch(_page: str) -> None:
    state.put("stretch", not state.get("stretch"))


def _drawing(_page: str) -> None:
    state.put("drawing", "stage" if state.get("drawing") == "chart" else "chart")


ACTS: Mapping[str, Callable[[str], None]] = {
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
"""What the server does; "pin", "listing", "theme" and "help" are the browser's, and the stepper does its own."""

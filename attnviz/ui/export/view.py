"""Export of the current picture, with title and caption."""

from __future__ import annotations

from attnviz.components.export_view import export_view
from attnviz.links.link import ROLLOUT
from attnviz.sources import PRETRAINED, SOURCES, Get, Source
from attnviz.steps import STEPS
from attnviz.ui import state

MAX_QUOTED_TEXT = 300
"""The most characters of the text in a caption."""
AXES = "Rows are queries (from), columns are keys (to)."
NO_PICTURE = {
    "tokens": "This page has words and tables but no picture to export.",
    "step_by_step": "This step has no picture to export. Go to another one, such as Scores.",
}


def show_export(page: str) -> None:
    """Show the export of a page's picture; `page` is the page's name."""
    words = {
        # On Step by step the tab's title replaces the heading.
        "heading": "" if page == "step_by_step" else "This view as a picture",
        "title": title(page),
        "caption": caption(page),
        "name": f"attnviz-{page.replace('_', '-')}-{_part(page)}".rstrip("-"),
        "none": NO_PICTURE.get(page, "There is no picture on this page yet. Wait until it is drawn, and try again."),
    }
    export_view(words, key="export_view")


def title(page: str) -> str:
    """Return the title of the picture."""
    if page == "step_by_step":
        return " · ".join(filter(None, (STEPS[state.get("step")].title, _head())))
    if page == "heads":
        chosen = [_named(*head) for head in state.get("chosen") or [(state.get("layer"), state.get("head"))]]
        return ", ".join(chosen) if len(chosen) <= 4 else f"{len(chosen)} heads"
    if page == "compare":
        return f"A, B and their difference: {state.get('quantity')}"
    return "From averages to attention" if page == "averages" else "attnviz"


def caption(page: str) -> str:
    """Return the caption: the text, the model or seed, and the axes."""
    if page == "compare":
        panes = {"A": state.get, "B": state.get_b}
        sides = [f"{name}: {_shown(get, _source(get))}" for name, get in panes.items()]
        return " ".join([*sides, AXES])
    return f"{_shown(state.get, PRETRAINED if page == 'heads' else _source(state.get))} {AXES}"


def _shown(get: Get, source: Source) -> str:
    """Return the text and what computes its attention."""
    return f"{_quoted(get('text'))} {source.about(get)}".rstrip()


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return f"“{text}”" if len(text) <= MAX_QUOTED_TEXT else f"“{text[:MAX_QUOTED_TEXT]} …”"


def _source(get: Get) -> Source:
    return SOURCES[get("source")]


def _head() -> str:
    if not STEPS[state.get("step")].is_of_head:
        return f"layer {state.get('layer')}" if _source(state.get).has_layers else ""
    return _named(state.get("layer") if _source(state.get).has_layers else None, state.get("head"))


def _named(layer: int | None, head: int) -> str:
    own = "rollout" if head == ROLLOUT else f"head {head}"
    return own if layer is None else f"layer {layer} · {own}"


def _part(page: str) -> str:
    """Return the part of the file name for the step or head."""
    if page == "step_by_step":
        return str(state.get("step"))
    if page == "heads":
        return f"layer-{state.get('layer')}-head-{state.get('head')}"
    return str(state.get({"compare": "quantity", "averages": "way"}.get(page, "tokenizer")))

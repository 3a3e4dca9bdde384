"""Export of the current picture, with title and caption."""

from __future__ import annotations

from attnviz.components.export_view import export_view
from attnviz.export.views import caption, title
from attnviz.ui import state
from attnviz.ui.lessons import state as lesson_state

NO_PICTURE = "There is no picture on this page yet. Wait until it is drawn, and try again."


def show_export(page: str) -> None:
    """Show the export of a page's picture; `page` is the page's name."""
    here = lesson_state.here()
    scene = here.scene if here and here.scene.page == page else None
    words = {
        # On Step by step the tab's title replaces the heading.
        "heading": "" if page == "step_by_step" else "This view as a picture",
        "title": scene.title if scene else title(page, state.get),
        "caption": f"{scene.said} {caption(page, state.get)}" if scene else caption(page, state.get),
        "name": f"attnviz-{page.replace('_', '-')}-{_part(page)}".rstrip("-"),
        "none": NO_PICTURE,
    }
    export_view(words, key="export_view")


def _part(page: str) -> str:
    """Return the part of the file name for the step or head."""
    if page == "step_by_step":
        return str(state.get("step"))
    if page == "heads":
        return f"layer-{state.get('layer')}-head-{state.get('head')}"
    if page == "train":
        return str(state.get("task"))
    return str(state.get({"compare": "quantity", "averages": "way", "transformer": "part"}.get(page, "tokenizer")))

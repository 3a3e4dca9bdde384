"""Pictures of views that can't be a web page of their own, as SVG: they show the same numbers, and do not move."""

from __future__ import annotations

from attnviz.export.views import View, on_page
from attnviz.figures.panels import Layout
from attnviz.links.pages import PAGES
from attnviz.sources import Resources
from attnviz.sources.toy import tokenizer
from attnviz.tokens import NoTokensError, Tokens

WIDTH, HEIGHT, MARGIN = 1120.0, 560.0, 8.0
ID_TABLE = "{} tokens with their positions and ids"


def draw_view(page: str, view: View, resources: Resources) -> tuple[dict[str, bytes], str]:
    """Return a view as SVG by the names of the themes, and its text alternative; `page` is the app's page.

    Raises:
        attnviz.pretrained.ModelError: a model can't be loaded.
        attnviz.tokens.NoTokensError: the text has no token.
    """
    from attnviz.export.drawing.marks import Drawing, Mark
    from attnviz.export.drawing.picture import draw_layout
    from attnviz.export.drawing.sheet import draw_tokens
    from attnviz.export.drawing.themes import THEMES
    from attnviz.export.files.svg import write_svg

    room = {"x": MARGIN, "y": MARGIN, "width": WIDTH - 2 * MARGIN, "height": HEIGHT - 2 * MARGIN}
    layout, tokens, alt = _shown(page, on_page(page, view), resources)
    files = {}
    for name, theme in THEMES.items():
        marks: list[Mark] = (
            [*draw_tokens(tokens["query"], theme, **room)]
            if layout is None
            else draw_layout(layout, {axis: own.labels for axis, own in tokens.items()}, **room, theme=theme)
        )
        files[name] = write_svg(Drawing(WIDTH, HEIGHT, tuple(marks), alt, alt, theme)).encode()
    return files, alt


def _shown(page: str, view: View, resources: Resources) -> tuple[Layout | None, dict[str, Tokens], str]:
    """Return the matrices of a view, or None if it shows tokens only; the tokens of the axes; and what it shows."""
    if page == "tokens":
        tokens = tokenizer(view.__getitem__, resources)(view["text"])
        if not len(tokens):
            raise NoTokensError
        return None, {"query": tokens}, ID_TABLE.format(len(tokens))
    from attnviz.figures.steps import describe, lay_out

    if page in ("bert", "train"):
        found, shown = _elsewhere(page, view, resources)
        if found is None:
            return None, shown, ID_TABLE.format(len(shown["query"]))
        return found, shown, describe(found, axes="layer and head" if page == "bert" else "")
    walk = PAGES[page].shows(view.__getitem__, resources).walk(resources)
    layout = lay_out(walk, "weights" if page == "heads" else view[PAGES[page].step_key])
    return layout, {"query": walk.query_tokens, "key": walk.key_tokens}, describe(layout)


def _elsewhere(page: str, view: View, resources: Resources) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return what a page without walks shows: matrices or None, and the tokens."""
    if page == "bert":
        from attnviz.export.web.bert import of_bert

        return of_bert(view, resources)
    from attnviz.export.web.training import of_training

    return of_training(view)

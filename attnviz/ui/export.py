"""The popover "Export": a page's picture, all steps of its head, the numbers and code, and a web page.

The modules that write files are imported when a tab opens or a button is clicked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import streamlit as st

from attnviz import trained
from attnviz.components.export_view import export_view
from attnviz.export.views import caption, title
from attnviz.hosts import is_local
from attnviz.sources import SOURCES, TRAINED
from attnviz.trained.shipped import FOLDER
from attnviz.ui import state
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES, AppResources, SavedView, shown_now, view_of
from attnviz.ui.tokens.choices import char_vocab
from attnviz.ui.widgets import FileOffer, offer_files, reasons_shown

if TYPE_CHECKING:
    from attnviz.export.code.cells import Cell
    from attnviz.export.drawing.marks import Theme
    from attnviz.export.files.formats import Format
    from attnviz.trace.walk import Walk


NO_PICTURE = "There is no picture on this page yet. Wait until it is drawn, and try again."


def show_picture_export(page: str) -> None:
    """Show the export of a page's picture; `page` is the page's name."""
    lesson_place = lesson_state.here()
    scene = lesson_place.scene if lesson_place and lesson_place.scene.page == page else None
    part = f"layer-{state.get('layer')}-head-{state.get('head')}" if page == "heads" else state.get(PICTURE_KEYS[page])
    words = {
        # On Step by step, the tab's title replaces the heading.
        "heading": "" if page == "step_by_step" else "This view as a picture",
        "title": scene.title if scene else title(page, state.get),
        "caption": f"{scene.said} {caption(page, state.get)}" if scene else caption(page, state.get),
        "name": f"attnviz-{page.replace('_', '-')}-{part}".rstrip("-"),
        "none": NO_PICTURE,
    }
    export_view(words, key="export_view")


PICTURE_KEYS = {
    "step_by_step": "step", "train": "task", "compare": "quantity", "averages": "way", "transformer": "part",
    "bert": "bert_part", "tokens": "tokenizer",
}  # fmt: skip
"""The link key whose value is in the name of a picture's file, by page; on Heads, it is named by layer and head"""


_LINKED = "export_local_link"
"""Whether files contain a link even if it opens only on this machine."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownWalk(SavedView):
    """The settings of the head that a page shows.

    A click on a button creates a file from them, on a thread without access to the session. They are kept as long as
    the popover is open.
    """

    site: str = ""

    def walk(self) -> Walk:
        """Return the head with its name and link; fast while its trace is cached.

        Raises:
            attnviz.tokens.NoTokensError: the text has no tokens.
            attnviz.pretrained.ModelError: the model is no longer cached and can't be loaded.
        """
        from attnviz.export.views import walk_of

        return walk_of(self.view, self.shown(), RESOURCES, self.site, self.page)

    @property
    def no_code_reason(self) -> str:
        """Why there is no code for this view, as a sentence; empty if there is."""
        from attnviz.export.code.recipes import no_code_reason

        return no_code_reason(self.view["source"])

    def cells(self) -> tuple[Cell, ...]:
        """Return the head as code cells. Raises the errors of `walk`."""
        from attnviz.export.code.recipes import walk_cells

        return walk_cells(self.shown(), self.walk(), RESOURCES)


def _shown_walk(page: str) -> ShownWalk:
    """Return the head that a page shows.

    Raises:
        attnviz.pretrained.ModelError: neither the model nor the built-in one can be loaded.
    """
    view = _shown_view(page)
    site = _site()
    if _is_local(site) and not st.session_state.get(_LINKED):
        site = ""
    return ShownWalk(view, char_vocab(view["text"]), page, site)


def _shown_view(page: str) -> dict[str, Any]:
    """Return the view of a page with the actual model, kind, layer and head; raises as `_shown_walk` does."""
    from attnviz.export.views import on_page

    requested = on_page(page, state.every())
    return {**on_page(page, view_of(shown_now(requested.__getitem__, page)))}


def _walk_to_export(page: str) -> tuple[ShownWalk, Walk] | None:
    """Return the head that a page shows; if there is none, show the reason and return None."""
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    with reasons_shown(NoTokensError, ModelError):
        shown = _shown_walk(page)
        return shown, shown.walk()
    return None


def show_walk_export(page: str) -> None:
    """Show the buttons that export all steps of this head as slides, PDF, SVG and TikZ. A click creates the file."""
    from attnviz.export.drawing.marks import THEMES
    from attnviz.export.files.formats import FORMATS, TooLongError

    if _is_local(_site()):
        st.toggle("Files link to this computer", key=_LINKED, persist_state="session",
                  help="Such a link opens only here, so files have none by default.")  # fmt: skip
    exported = _walk_to_export(page)
    if exported is None:
        return
    shown, walk = exported
    files, refused = [], []
    colours = st.segmented_control(
        "Colours", list(THEMES), key="export_theme", default="light", format_func=str.title, required=True,
        persist_state="session",
    )  # fmt: skip
    for name, kind in FORMATS.items():
        try:
            kind.check(walk)
        except TooLongError as error:
            refused.append(str(error))
            continue
        write = partial(_write_walk, kind, shown, THEMES[colours if kind.themed and colours else "light"])
        file = f"{_name_of_walk(walk.name)}{kind.suffix}"
        files.append(FileOffer(kind.title, file, write, f"export_walk_{name}"))
    offer_files("walk_export", *files)
    link = " and a link back" if walk.link else ""
    st.caption(
        f"{plain(walk.name)}: one slide or page per step, with formula, notice{link}. Slides are editable and "
        "have speaker notes; the TikZ file only needs pdflatex and is always light."
    )
    for sentence in refused:
        st.caption(sentence)


def _write_walk(kind: Format, now: ShownWalk, theme: Theme) -> bytes:
    from attnviz.export.sheets import sheets

    return kind.write(sheets(now.walk(), theme=theme))


def _site() -> str:
    """Return the address of this app without a page, or "" if it is unknown."""
    url = urlsplit(st.context.url or "")
    return f"{url.scheme}://{url.netloc}" if url.netloc else ""


def _is_local(site: str) -> bool:
    return is_local(urlsplit(site).hostname or "")


def _name_of_walk(name: str) -> str:
    """Return a file name that is valid on every system, such as "minilm-a-small-bert-layer-3-head-5"."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-60:].lower() or "walk"


def show_numbers_export(page: str) -> None:
    """Show the buttons that export the numbers of the current head and the code that computes them."""
    from attnviz.export.code.recipes import about_code
    from attnviz.export.numbers import TooManyNumbersError, check_csv

    exported = _walk_to_export(page)
    if exported is None:
        return
    shown, walk = exported
    count = walk.layer.heads
    all_heads = st.toggle("Numbers of all heads", key="export_all_heads", disabled=count == 1)
    heads = range(count) if all_heads else [walk.head]
    too_many = ""
    try:
        check_csv(walk, heads)
    except TooManyNumbersError as why:
        too_many = str(why)
    view, source = shown.view, SOURCES[shown.view["source"]]
    where = f"layer{view['layer']}" if source.has_layers else source.key
    where = f"transformer-attention{view['block']}" if page == "transformer" else where
    _numbers_buttons(shown, heads, f"attnviz-{where}-head{view['head']}", too_many)
    code = shown.no_code_reason or about_code(shown.view["source"], page)
    st.caption(f"{plain(walk.name)}: each matrix with its tokens, for a spreadsheet or numpy. {code}")


def _numbers_buttons(shown: ShownWalk, heads: Sequence[int], name: str, too_many: str) -> None:
    """Show a button for each file. The callbacks hold no matrices, so they keep no model in memory."""
    from attnviz.export.code.cells import notebook, script
    from attnviz.export.numbers import csv_zip, npz

    file = f"{shown.view['model']}.safetensors"
    files = [
        FileOffer("CSV", f"{name}.zip", lambda: csv_zip(shown.walk(), heads), "export_CSV", too_many),
        FileOffer("npz", f"{name}.npz", lambda: npz(shown.walk(), heads), "export_npz"),
    ]
    if not shown.no_code_reason:
        files += [
            FileOffer("Notebook", f"{name}.ipynb", lambda: notebook(shown.cells()).encode(), "export_Notebook"),
            FileOffer("Script", f"{name}.py", lambda: script(shown.cells()).encode(), "export_Script"),
        ]
    if shown.view["source"] == TRAINED.key and shown.view["model"] in trained.names():
        files.append(FileOffer("Model's file", file, (FOLDER / file).read_bytes, "export_weights"))
    files += _score_file(shown, name)
    offer_files("numbers_export", *files)


def _score_file(shown: ShownWalk, name: str) -> list[FileOffer]:
    """Return the file with what the pinned score is made of; none where no cell is pinned."""
    q, k = shown.view["q"], shown.view["k"]
    if q is None or k is None:
        return []

    def write() -> bytes:
        from attnviz.export.csv_files import score_csv

        return score_csv(shown.shown().score_parts(RESOURCES, q, k))

    return [FileOffer("Pinned score", f"{name}-row{q}-column{k}.csv", write, "export_score")]


def show_web_export(page: str) -> None:
    """Show the button that exports this view as one HTML file, and the lines that embed it in another page."""
    from attnviz.export.web import NoPageError, check_page, iframe
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    # The button's callback runs on a thread without access to the session.
    resources = AppResources(char_vocab(state.get("text")))
    with reasons_shown(NoPageError, NoTokensError, ModelError):
        view = _shown_view(page)
        check_page(page, view, resources)
        file = f"attnviz-{page.replace('_', '-')}.html"
        plays = page == "step_by_step" and st.toggle(
            "Begins with the walk playing", key="export_plays", persist_state="session"
        )
        write = partial(_write_page, page, view, resources, plays=plays)
        offer_files("web_export", FileOffer("Interactive page", file, write, "export_page"))
        st.caption(
            "One file that anybody's browser opens, from a disk too: with all numbers and scripts inside, it needs "
            "neither this server nor a network. To show it in slides or in a course's page, put the file beside them "
            "and add:"
        )
        st.code(iframe(file, title(page, state.get)), language="html", wrap_lines=True)


def _write_page(page: str, view: Mapping[str, Any], resources: AppResources, *, plays: bool) -> bytes:
    from attnviz.export.web import make_page, write_page

    return write_page(make_page(page, view, resources, plays=plays))

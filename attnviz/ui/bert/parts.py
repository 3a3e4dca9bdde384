"""What the parts of the page on BERT share: their interface, model and text, a chosen row, and the tabs of Export.

The model is the built-in one, or the user's choice in parts that take any model.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar, cast

import streamlit as st

from attnviz import trained
from attnviz.components.matrix import ChosenRow
from attnviz.export.csv_files import table_csv
from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import PRETRAINED
from attnviz.sources.models import PRETRAINED_NAMES
from attnviz.sources.shown import of_model
from attnviz.steps.picture import MANY
from attnviz.tokens import Tokens
from attnviz.trained.shipped import title
from attnviz.ui import caches, controls, shell, state
from attnviz.ui.bert import MODULES
from attnviz.ui.bert.bars import ranked
from attnviz.ui.caches import failures_shown
from attnviz.ui.controls import open_model
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain, starting
from attnviz.ui.shell import Tabs
from attnviz.ui.sources import RESOURCES, AppResources, with_model
from attnviz.ui.styles import style
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.widgets import FileOffer, offer_files

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from attnviz.pretrained import PretrainedModel
    from attnviz.pretrained.built_in import BuiltInModel

PICTURES = (
    "Point at a plot, and press the camera at its upper right corner: it is saved as SVG, which slides and papers take "
    "in any size."
)
PICTURES_ONLY, WITH_PICTURES = ("language", "subsets", "blank"), "without"
"""The parts whose matrices and bars are all our own, not Plotly's, and the one that also has a plot of Plotly's"""
NOTHING = "This part has none yet: there is nothing to be saved."
LARGER = 0.99
"""Share of a long text's weights that the colour scale distinguishes"""
POINT = "Point at a cell to read it; a click chooses its row."
LIMITED = "The colours end where 1 weight in 100 is larger."
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page. Its module is imported when it is chosen."""

    show: Callable[[], None]
    """Shows the part, in a fragment"""
    tables: Callable[[], Mapping[str, pd.DataFrame]]
    """Returns the numbers on screen as tables, keyed by file name, for Export; imports pandas only when called"""
    script: Callable[[], str]
    """Returns a script of plain torch that computes the numbers on screen; "" if there are none"""
    controls: Callable[[], None] = lambda: None
    """Shows the part's settings, in the side bar"""
    begin: Callable[[], None] = lambda: None
    """Starts requested work; called before `is_live`, so that the part is redrawn if the work ends while it is drawn"""
    is_live: Callable[[], bool] = lambda: False
    """Whether a computation for it is running, so that the part must be redrawn regularly"""


def open_part() -> Part:
    """Begin the page, and return the view's part."""
    st.html(style("bert"))
    st.html(style("bert_lecture" if state.get("lecture") else "bert_window"))
    with starting(f"bert, {state.get('bert_part')}"):
        return chosen_part()


def chosen_part() -> Part:
    """Return the view's part."""
    part: Part = import_module(MODULES[state.get("bert_part")]).PART
    return part


def in_torch(lines: str | None = None) -> None:
    """Offer torch code for what is on screen, by default the part's script; a lecture has no room for it.

    It is sent when the expander opens: the browser takes as long to show a listing as for all the rest of a part.
    """
    if not state.get("lecture"):
        with st.expander("In torch", key="in_torch", on_change="rerun") as listing:
            if listing.open:
                st.code(chosen_part().script() if lines is None else lines, language="python", wrap_lines=True)


def built_in() -> BuiltInModel:
    """Return the built-in model, which all sessions share. If it is not installed, the page stops and says why."""
    return cast("BuiltInModel", open_model(PRETRAINED, with_model(state.get, BUILT_IN)))


def read_text() -> tuple[BuiltInModel, Tokens]:
    """Return the built-in model and the text as its tokens, with notes on them; without a text the page stops."""
    model, text = built_in(), shell.text()
    tokens = model.tokenize(text)
    text_notes(model, tokens)
    return model, tokens


def text_notes(model: PretrainedModel, tokens: Tokens) -> None:
    """Show notes on the tokens of the view's text, which a model reads whole."""
    shell.token_notes(tokens)
    if PRETRAINED_NAMES.own(state.get("model")) == model.name:  # the position of a hidden word is that in its tokens
        shell.hidden_word_note(of_model(PRETRAINED, model, state.get))


def of_text(make: Callable[[BuiltInModel, Tokens], V], nothing: Callable[[], V]) -> Callable[[], V]:
    """Return what Export calls: `make` of the built-in model and the view's text, or `nothing` without a text."""

    def export() -> V:
        text = state.get("text")
        return make(built_in(), built_in().tokenize(text)) if text.strip() else nothing()

    return export


def choose_model() -> None:
    """Let the user choose a model, in the side bar."""
    if PRETRAINED.names is not None:
        controls.choose_model(PRETRAINED.names)


def chosen_model(resources: AppResources = RESOURCES) -> PretrainedModel:
    """Return the chosen model. If it can't be loaded or is no pretrained one, say so and return the built-in one.

    With the resources `DESCRIBED`, the built-in one may be without its weights.
    """
    name = state.get("model")
    if trained.is_name(name):
        st.error(plain(f"“{name}” was trained here, on tokens of its own. Showing {title(BUILT_IN)}."), icon="⚠️")
        return built_in()
    model: PretrainedModel = open_model(PRETRAINED, resources=resources)  # type: ignore[assignment]  # trained models are excluded above
    return model


def shown_model() -> PretrainedModel:
    """Return the model on screen, for Export, without the messages of `chosen_model`."""
    from attnviz.pretrained import ModelError

    name = state.get("model")
    try:
        return built_in() if trained.is_name(name) or not name.strip() else caches.model(name)
    except ModelError:
        return built_in()


def chosen_row(tokens: Tokens, default: Callable[[], int]) -> int:
    """Return the view's row, or the default."""
    row = state.get("q")
    return default() if row is None or row >= len(tokens) else int(row)


def choose_row(tokens: Tokens, label: str, default: Callable[[], int]) -> int:
    """Let the user choose a row, and return it. For a row beyond the text, show a note and use the default."""
    state.keep_token("q", "Row", tokens.labels, default=default)
    rows, names = list(range(len(tokens))), numbered(tokens.labels)
    if lesson_bar.hides("q"):
        row = chosen_row(tokens, default)
        st.markdown(f"{label} **{plain(names[row])}**")
        return row
    return int(state.choice("q", st.selectbox, label, rows, format_func=names.__getitem__))


def row_by_click(row: int, starts: Sequence[int]) -> ChosenRow:
    """Return the view's row for matrices in which a click chooses another.

    Args:
        row: a position in the text.
        starts: the position at which each row of the matrices begins: several tokens of a long text share one.
    """

    def choose(place: int) -> None:
        if place < len(starts):
            state.put("q", starts[place])

    return ChosenRow(bisect_right(starts, row) - 1, choose)


def words_of(tokens: Tokens) -> list[int]:
    """Return the positions of the text's tokens that have a letter or a digit."""
    places = range(len(tokens))
    return [place for place in places if not tokens.special[place] and re.search(r"\w", tokens.source(place))]


def last_of_text(tokens: Tokens) -> int:
    """Return the position of the last token with a letter or a digit; if none has, of the text's last token, or 0."""
    of_text = [place for place, is_added in enumerate(tokens.special) if not is_added]
    return (words_of(tokens) or of_text or [0])[-1]


def is_limited(tokens: Tokens) -> bool:
    """Whether the colour scale of weights ends below the largest one."""
    return len(tokens) >= MANY


def colour_end(weights: Tensor) -> float:
    """Return the end of the colour scale of (..., T, T) weights: the largest, or for many tokens the 99th percentile.

    The first rows of a masked matrix, and a token's weight on itself, are so large that all others would look like 0.
    The percentile is over weights above 0.
    """
    if weights.shape[-1] < MANY:
        return float(weights.max())
    visible = weights[weights > 0].sort().values
    return float(visible[int(LARGER * (len(visible) - 1))])


def show_likely(names: Sequence[str], probabilities: Tensor, key: str, *, name: str) -> None:
    """Show the likeliest tokens and their (N,) probabilities, the largest first, as bars; `name` is the picture's."""
    with st.container(key=key):
        st.html(ranked(probabilities.tolist(), names, name=name))


def _show_pictures() -> None:
    """Offer the pictures of a part that has some, and say how to save a plot of another."""
    part = state.get("bert_part")
    if part in PICTURES_ONLY or part == WITH_PICTURES:
        from attnviz.ui.export import show_picture_export

        show_picture_export("bert")
    if part not in PICTURES_ONLY and not (part == WITH_PICTURES and state.get("off_view") != "measures"):
        with st.container(key="hint_pictures"):
            st.caption(PICTURES)


def _show_numbers() -> None:
    """Offer each table of the shown part as CSV."""
    with failures_shown():
        files = [
            FileOffer(f"{name}.csv", f"{name}.csv", partial(table_csv, table), f"export_{name}")
            for name, table in chosen_part().tables().items()
        ]
        if files:
            offer_files("bert_numbers_export", *files)
        else:
            st.caption(NOTHING)


def _show_script() -> None:
    """Offer the script of the shown part."""
    with failures_shown():
        script, file = chosen_part().script(), f"bert_{state.get('bert_part')}.py"
        if not script:
            st.caption(NOTHING)
            return
        offer_files("bert_script_export", FileOffer("Script", file, script.encode, "export_script"))
        st.caption("Plain torch and transformers, without attnviz: it prints the numbers that are shown.")


EXPORTS: Tabs = MappingProxyType({"Pictures": _show_pictures, "Numbers": _show_numbers, "Script": _show_script})
"""Keyed by title"""

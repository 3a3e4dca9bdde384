"""The controls of Compare: presets, a row of settings for each pane, and the shared settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, joined_words
from attnviz.links.link import KEYS
from attnviz.settings import settings
from attnviz.sources import SOURCES, Source
from attnviz.sources.compared import Choice, choice
from attnviz.sources.models import TRAINED
from attnviz.sources.shown import of_model
from attnviz.trained.shipped import title
from attnviz.ui import controls, state
from attnviz.ui.compare import most_different
from attnviz.ui.compare.panes import PRESETS, A, B, Pane, apply_preset, current_preset, second_model
from attnviz.ui.compare.trained import open_chosen, trained_model
from attnviz.ui.model_box import open_model
from attnviz.ui.styles import style
from attnviz.ui.trained import own

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from attnviz.sources.shown import Shown
    from attnviz.trace.model import Model

MOST_SHOWN = 400
"""The most characters of a text that is shown above the picture."""
_PAIR, _PRESET = "compare_pair", "compare_preset"


def texts() -> None:
    """Show B's text field and the choice of a pair for both panes. A's text field is the page's."""
    state.bound(
        "b_text", st.text_area, "Text of B",
        height=88, max_chars=settings().largest_text, placeholder="The same as A's",
    )  # fmt: skip
    shown = A.get("text"), B.get("text")
    st.session_state[_PAIR] = next((at for at, pair in enumerate(MINIMAL_PAIRS) if (pair.a, pair.b) == shown), None)
    st.pills("Or take a pair", range(len(MINIMAL_PAIRS)), format_func=_words_of, key=_PAIR, on_change=_take_pair)


def shared() -> DeltaGenerator:
    """Show the settings that both panes share; return the place of one that the picture decides on."""
    state.choice(
        "quantity", st.segmented_control, "Quantity", required=True,
        width="stretch",
    )  # fmt: skip
    darkening = st.container()
    keys = {key for pane in (A, B) for key in SOURCES[pane.get("source")].keys}
    with st.expander("More of both"):
        if "pair" in keys:
            state.bound("pair", st.text_input, "Second sentence (models only)", max_chars=settings().largest_text)
        controls.settings_of(keys - {"scale", "mask", "projection"})  # each pane has its own scale and mask
    return darkening


def presets() -> None:
    """Show the presets, with the current one selected."""
    st.html(style("compare"))
    current = current_preset()
    offered = [preset for preset in PRESETS if preset != "model" or current == "model" or second_model()]
    st.session_state[_PRESET] = current if current in offered else None
    st.pills(
        "Compare", offered, format_func=PRESETS.__getitem__, key=_PRESET, on_change=_take_preset,
        label_visibility="collapsed",
    )  # fmt: skip


def choose(pane: Pane) -> Choice:
    """Show the settings of one pane in a row, and return the choice. Errors appear below the row."""
    key = f"row_{pane.name.lower()}"
    row = st.container(key=key, horizontal=True, vertical_alignment="center", gap="small")
    with row:
        st.html(f'<b class="pane-name">{pane.name}</b>', width="content")
        _source(pane)
    source = SOURCES[pane.get("source")]
    model = open_model(source, pane.get)
    here = _settled(pane, source, model)
    kinds = list(model.description.layers)
    with row:
        if source.has_layers and len(kinds) > 1:
            _select(pane, "kind", kinds, KEYS["kind"].titles.__getitem__)
            here = _settled(pane, source, model)
        if source.has_layers:
            _select(pane, "layer", here.layers, "layer {}".format)
        _select(pane, "head", range(here.heads), "head {}".format)
        _select(pane, "scale", *_named(_scales(pane, source)))
        own = "its own mask" if source.has_own_scale else "no mask"
        _select(pane, "mask", *_named({"none": own, "causal": "causal mask"}))
    return choice(pane.name, pane.get, model)  # of what the menus have made of the view


def _source(pane: Pane) -> None:
    """Show the choice of a model, or a source without names, which sets the link's keys source and model."""
    key = f"compare_source_{pane.name}"
    open_ = pane is B and B.own("source") is None and B.own("model") is None
    shown = SOURCES[pane.get("source")].entry or pane.get("model")
    st.session_state[key] = None if open_ else shown
    options = list(dict.fromkeys([*_entries(), A.get("model"), B.get("model")]))
    label = f"Model of {pane.name}, as A: {title(shown)}" if open_ else f"Model of {pane.name}"
    st.selectbox(
        label, options, index=None if pane is B else 0, key=key, placeholder=f"= A: {title(shown)}",
        format_func=title, accept_new_options=True, label_visibility="collapsed", on_change=_take_source,
        args=(pane, key),
    )  # fmt: skip


def _take_source(pane: Pane, key: str) -> None:
    chosen, before = st.session_state[key], trained_model(pane)
    if chosen is None:
        if pane is B:
            B.put("source", None)
            B.put("model", None)
            open_chosen(B, before)
        return
    named = (one for one in SOURCES.values() if one.has_names)  # of which one may type a name
    source = _entries().get(chosen) or next(named)
    pane.put("source", source.key)
    if source.has_names:
        pane.put("model", chosen[:200])
    open_chosen(pane, before)


def _entries() -> dict[str, Source]:
    """Return the sources by their entries in the list of models: first whole sources, then models by name."""
    whole = {source.entry: source for source in SOURCES.values() if source.entry}
    named = {name: one for one in SOURCES.values() if one.names is not None for name in one.names.offered()}
    return {**whole, **named, **dict.fromkeys(own.names(), TRAINED)}


def _settled(pane: Pane, source: Source, model: Model) -> Shown:
    """Return what a pane shows. Its own settings that the model does not have are reset, with a note.

    An index that B inherits from A and does not have is replaced by B's last, without a note.
    """
    found = of_model(source, model, pane.get, pane=pane.name)
    for name, sentence in found.notes:
        if pane.own(name) is None:
            continue
        if pane is B or state.is_asked(name):
            state.note(sentence)
        pane.put(name, None if pane is B else getattr(found, name))
    return of_model(source, model, pane.get, beyond="last")


def _scales(pane: Pane, source: Source) -> dict[str, str]:
    own = "its own scale" if source.has_own_scale else "scale 1/√D"
    names = {"sqrt_d": own, "off": "no scale", "sqrt_c": "scale 1/√C"}
    return {**{name: f"scale {name}" for name in (A.get("scale"), pane.get("scale"))}, **names}


def _named(names: dict[str, str]) -> tuple[list[str], Callable[[str], str]]:
    return list(names), names.__getitem__


def _select(pane: Pane, name: str, options: Iterable[Any], written: Callable[[Any], str]) -> None:
    """Show the choice of a setting. B's may be empty, which means A's value."""
    options_of_widget: dict[str, Any] = {"format_func": written, "label_visibility": "collapsed"}
    label = f"{name.capitalize()} of {pane.name}"
    if pane is A:
        state.bound(name, st.selectbox, label, list(options), **options_of_widget)
        return
    options = list(options)
    value = A.get(name)
    placeholder = f"= A: {written(value)}" if value in options else f"{written(options[-1])}, the last"
    if pane.own(name) is None:  # the menu is empty, for assistive technology too: its label says what B takes
        label = f"{label}, {placeholder.replace('= A:', 'as A:')}"
    state.bound(pane.key(name), st.selectbox, label, options, index=None, placeholder=placeholder, **options_of_widget)


def sentences() -> None:
    """Show both texts as one line where they differ, with the differing words of A and B in bold."""
    a, b = A.get("text"), B.get("text")
    if a == b or max(len(a), len(b)) > MOST_SHOWN:
        return
    words = [escape(one) if one == other else f"<b>{_either(one, other)}</b>" for one, other in joined_words(a, b)]
    about = next((pair.about for pair in MINIMAL_PAIRS if (pair.a, pair.b) == (a, b)), "")
    about = f'<span class="of">{escape(f"{about[0].upper()}{about[1:]}")}</span>' if about else ""
    st.html(f'<p class="sentences"><span>{" ".join(words)}</span>{about}</p>')


def _either(one: str, other: str) -> str:
    return f"{escape(one) or '–'} / {escape(other) or '–'}"


def _words_of(at: int) -> str:
    """Return the words in which a pair differs: "key is / keys are"."""
    pair = MINIMAL_PAIRS[at]
    differing = [words for words in joined_words(pair.a, pair.b) if words[0] != words[1]]
    return " / ".join(" ".join(side).strip().rstrip(".") or "–" for side in zip(*differing, strict=True))


def _take_preset() -> None:
    chosen = st.session_state[_PRESET] or current_preset()  # None: the chosen one was pressed again
    if chosen is None:
        return
    apply_preset(chosen)
    if chosen in ("head", "layer"):
        most_different.ask("head" if chosen == "head" else "layer")


def _take_pair() -> None:
    at = st.session_state[_PAIR]
    if isinstance(at, int):  # clients may send any value
        state.put("text", MINIMAL_PAIRS[at].a)
        B.put("text", MINIMAL_PAIRS[at].b)

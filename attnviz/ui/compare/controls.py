"""The controls of Compare: presets, a button for each pane with its settings behind it, and the shared settings.

The presets "Two heads" and "Two layers" choose for B the head or layer that differs most from A's on A's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, joined_words
from attnviz.formatting import number
from attnviz.links.link import KEYS
from attnviz.settings import settings
from attnviz.sources import SOURCES, Source
from attnviz.sources.compared import B_KEYS, Choice, choice, run
from attnviz.sources.models import TRAINED
from attnviz.sources.shown import of_model, shown
from attnviz.tokens import NoTokensError
from attnviz.trained.shipped import title
from attnviz.ui import controls, state, trained_models
from attnviz.ui.caches import result
from attnviz.ui.compare.panes import (
    PRESETS,
    A,
    B,
    CompareRecord,
    Pane,
    apply_preset,
    current_preset,
    open_chosen,
    second_model,
    trained_model,
)
from attnviz.ui.controls import open_model
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.styles import style
from attnviz.ui.widgets import TEXT_HEIGHT, settings_popover

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from attnviz.compare.matrices import Divergences
    from attnviz.sources.shown import ShownHead
    from attnviz.trace.model import Model


MOST_SHOWN = 400
"""The most characters of a text shown above the picture."""
_PAIR, _PRESET = "compare_pair", "compare_preset"


def _texts() -> None:
    """Show B's text field and the choice of a pair for both panes. The page itself shows A's text field."""
    state.bound(
        "b_text", st.text_area, "Text of B",
        height=TEXT_HEIGHT, max_chars=settings().largest_text, placeholder="The same as A's",
    )  # fmt: skip
    shown = A.get("text"), B.get("text")
    st.session_state[_PAIR] = next((at for at, pair in enumerate(MINIMAL_PAIRS) if (pair.a, pair.b) == shown), None)
    st.pills("Or take a pair", range(len(MINIMAL_PAIRS)), format_func=_words_of, key=_PAIR, on_change=_take_pair)


def shared() -> DeltaGenerator:
    """Show the settings that both panes share; return a container for the switch that depends on the picture."""
    state.choice("quantity", st.segmented_control, "Quantity", required=True, width="stretch")
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


def choose(pane: Pane, row: DeltaGenerator) -> Choice:
    """Show a button that says what a pane shows, with the pane's settings behind it; return the resulting choice.

    Errors appear below the row.
    """
    for name in B_KEYS:  # the button is created before the widgets behind it
        state.sync_widget(pane.key(name))
    source = SOURCES[pane.get("source")]
    model = open_model(source, pane.get)
    settled = _settled(pane, source, model)
    kinds = list(model.description.layers)
    has_kinds = source.has_layers and len(kinds) > 1
    words = _shown(pane, source, settled, has_kinds=has_kinds)
    with row, settings_popover(words, f"pane_{pane.name}", width="stretch") as control:
        if control.open:
            if pane is B:
                _texts()
            _source(pane)
            if has_kinds:
                _select(pane, "kind", kinds, KEYS["kind"].titles.__getitem__)
            if source.has_layers:
                _select(pane, "layer", settled.layers, "layer {}".format)
            _select(pane, "head", range(settled.heads), "head {}".format)
            _select(pane, "scale", *_named(_scales(pane, source)))
            _select(pane, "mask", *_named(_masks(source)))
    return choice(pane.name, pane.get, model)  # after the menus have updated the view


def _masks(source: Source) -> dict[str, str]:
    return {"none": "its own mask" if source.has_own_scale else "no mask", "causal": "causal mask"}


def _shown(pane: Pane, source: Source, settled: ShownHead, *, has_kinds: bool) -> str:
    """Return in Markdown what a pane shows. What B has of its own is bold."""
    scale, mask = pane.get("scale"), pane.get("mask")
    own = {name for name in ("kind", "layer", "head", "scale", "mask") if pane is B and B.own(name) is not None}
    parts = {
        "model": title(source.entry or pane.get("model")),
        "kind": KEYS["kind"].titles[settled.kind] if has_kinds else "",
        "layer": f"layer {settled.layer}" if source.has_layers else "",
        "head": f"head {settled.head}",
        "scale": "" if scale == KEYS["scale"].default and "scale" not in own else _scales(pane, source)[scale],
        "mask": "" if mask == KEYS["mask"].default and "mask" not in own else _masks(source)[mask],
    }
    if pane is B and (B.own("source") is not None or B.own("model") is not None):
        own.add("model")
    said = [f"**{plain(part)}**" if name in own else plain(part) for name, part in parts.items() if part]
    return f"**{pane.name}**\u2002{' · '.join(said)}"


def _source(pane: Pane) -> None:
    """Show the choice of a model, or of a source without model names; it sets the link keys source and model."""
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
    named = (source for source in SOURCES.values() if source.has_names)  # sources for which a name can be typed
    source = _entries().get(chosen) or next(named)
    pane.put("source", source.key)
    if source.has_names:
        pane.put("model", chosen[:200])
    open_chosen(pane, before)


def _entries() -> dict[str, Source]:
    """Return the sources by entry in the list of models: first sources as a whole, then models by name."""
    whole = {source.entry: source for source in SOURCES.values() if source.entry}
    named = {name: source for source in SOURCES.values() if source.names is not None for name in source.names.offered()}
    return {**whole, **named, **dict.fromkeys(trained_models.own_names(), TRAINED)}


def _settled(pane: Pane, source: Source, model: Model) -> ShownHead:
    """Return what a pane shows. The pane's own settings that do not exist in its model are reset, with a note.

    If B inherits an index from A that B's model does not have, its last one is used, without a note.
    """
    settled = of_model(source, model, pane.get, pane=pane.name)
    for name, sentence in settled.notes:
        if pane.own(name) is None:
            continue
        if pane is B or state.is_asked(name):
            state.note(sentence)
        pane.put(name, None if pane is B else getattr(settled, name))
    return of_model(source, model, pane.get, beyond="last")


def _scales(pane: Pane, source: Source) -> dict[str, str]:
    default = "its own scale" if source.has_own_scale else "scale 1/√D"
    names = {"sqrt_d": default, "off": "no scale", "sqrt_c": "scale 1/√C"}
    return {**{name: f"scale {name}" for name in (A.get("scale"), pane.get("scale"))}, **names}


def _named(names: dict[str, str]) -> tuple[list[str], Callable[[str], str]]:
    return list(names), names.__getitem__


def _select(pane: Pane, name: str, options: Iterable[Any], written: Callable[[Any], str]) -> None:
    """Show the choice of a setting. B's may be empty, which means A's value."""
    widget_settings: dict[str, Any] = {"format_func": written, "label_visibility": "collapsed"}
    label = f"{name.capitalize()} of {pane.name}"
    if pane is A:
        state.bound(name, st.selectbox, label, list(options), **widget_settings)
        return
    options = list(options)
    value = A.get(name)
    placeholder = f"= A: {written(value)}" if value in options else f"{written(options[-1])}, the last"
    if pane.own(name) is None:  # the menu is empty, so its label tells assistive technology the inherited value
        label = f"{label}, {placeholder.replace('= A:', 'as A:')}"
    state.bound(pane.key(name), st.selectbox, label, options, index=None, placeholder=placeholder, **widget_settings)


def sentences() -> None:
    """If the texts differ, show both as one line, with the differing words of A and B in bold."""
    a, b = A.get("text"), B.get("text")
    if a == b or max(len(a), len(b)) > MOST_SHOWN:
        return
    words = [
        escape(of_a) if of_a == of_b else f"<b>{escape(of_a) or '–'} / {escape(of_b) or '–'}</b>"
        for of_a, of_b in joined_words(a, b)
    ]
    about = next((pair.about for pair in MINIMAL_PAIRS if (pair.a, pair.b) == (a, b)), "")
    about = f'<span class="of">{escape(f"{about[0].upper()}{about[1:]}")}</span>' if about else ""
    st.html(f'<p class="sentences"><span>{" ".join(words)}</span>{about}</p>')


def _words_of(at: int) -> str:
    """Return the words in which a pair differs, such as "key is / keys are"."""
    pair = MINIMAL_PAIRS[at]
    differing = [words for words in joined_words(pair.a, pair.b) if words[0] != words[1]]
    return " / ".join(" ".join(side).strip().rstrip(".") or "–" for side in zip(*differing, strict=True))


def _take_preset() -> None:
    chosen = st.session_state[_PRESET] or current_preset()  # None: the selected preset was pressed again
    if chosen is None:
        return
    apply_preset(chosen)
    if chosen in ("head", "layer"):
        state.record(CompareRecord).asked = chosen  # the next run sets the most different one for B


def _take_pair() -> None:
    at = st.session_state[_PAIR]
    if isinstance(at, int):  # clients may send any value
        state.put("text", MINIMAL_PAIRS[at].a)
        B.put("text", MINIMAL_PAIRS[at].b)


_RESULT_BYTES = 2**20
"""Enough for hundreds of models, layers and texts"""


def take_most_different(a: Choice) -> None:
    """Set the head or layer that a preset has requested for B. Call before B's widgets, whose values it changes."""
    kept = state.record(CompareRecord)
    which, kept.asked = kept.asked, None
    divergences = None if which is None else _divergences(a, which)
    if which is not None and divergences is not None and divergences.most is not None:
        B.put(which, divergences.most)


def show_most_different(a: Choice, b: Choice) -> None:
    """If only the head or layer differs, say which one differs most from A's, and by how much."""
    which = current_preset()
    if which not in ("head", "layer"):
        return
    divergences = _divergences(a, which)
    if divergences is not None and divergences.most is not None and not lesson_bar.hides("most_different"):
        with st.container(key="most_different"):
            st.caption(_most_different_sentence(divergences, which, a.get(which), b.get(which)))


def _most_different_sentence(divergences: Divergences, which: str, a: int, b: int) -> str:
    """Return the sentence about the head or layer that differs most from A's, and about B's if it is another one."""
    most = a if divergences.most is None else divergences.most
    by = f"{number(divergences.bits_at(most), 2)} bits of Jensen-Shannon divergence between rows of weights, on average"
    ending = "" if b == most else f" {which.capitalize()} {b}: {number(divergences.bits_at(b), 2)}."
    count = len(divergences.numbers)
    return f"Of {count} {which}s, {which} {most} differs most from {which} {a} on A’s text: {by}.{ending}"


def _divergences(a: Choice, which: str) -> Divergences | None:
    """Return how much all heads of A's layer, or A's head in all layers, differ from A's; None if not available."""
    if which == "layer" and not a.source.has_layers:
        return None
    from attnviz.measures.survey import survey_name

    shown_a = shown(a.get, RESOURCES)
    try:
        trace = shown_a.trace(RESOURCES)
    except NoTokensError:
        return None
    # Run now, because the computing thread has no access to the view.
    numbers = shown_a.layers if which == "layer" else [a.layer]
    walks = {layer: run(replace(a, layer=layer), RESOURCES) for layer in numbers}
    key = survey_name(trace, shown_a.kind), which, a.layer, a.head, a.get("scale"), a.get("mask")

    def compute() -> Divergences:
        from attnviz.compare.matrices import divergences

        if which == "layer":
            return divergences({number: walk.steps.weights.numpy() for number, walk in walks.items()}, a.layer)
        return divergences(dict(enumerate(walks[a.layer].layer.attentions().numpy())), a.head)

    return result("most different", _RESULT_BYTES, key, compute)

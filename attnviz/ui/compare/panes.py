"""The two panes of Compare, A and B, and their controls: presets, a button for each pane, and the shared settings.

A shows the view; B overrides some settings and inherits the others from A. When a trained model is chosen for a pane,
it opens with the model's own example, as on every page. The presets "Two heads" and "Two layers" choose for B the head
or layer that differs most from A's on A's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, counterpart, joined_words
from attnviz.formatting import number
from attnviz.links.link import KEYS
from attnviz.links.pages import PAGES
from attnviz.pretrained.names import is_on_this_machine
from attnviz.settings import settings
from attnviz.sources import PRETRAINED, SOURCES, TOY, Source
from attnviz.sources.compared import B_KEYS, Choice, choice, default_of_b, of_b, overridden, run
from attnviz.sources.models import PRETRAINED_NAMES, TRAINED
from attnviz.sources.shown import of_model, shown
from attnviz.steps import WALK
from attnviz.tokens import NoTokensError
from attnviz.trained.shipped import opening, title
from attnviz.ui import controls, state, trained_models
from attnviz.ui.caches import result
from attnviz.ui.controls import open_model
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.styles import style
from attnviz.ui.trained_models import is_offered
from attnviz.ui.trained_models import open_chosen as open_in_view
from attnviz.ui.widgets import TEXT_HEIGHT, settings_popover

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from attnviz.compare.matrices import Divergences
    from attnviz.sources.shown import ShownHead
    from attnviz.trace.model import Model

PRESETS = {
    "text": "A word changed",
    "head": "Two heads",
    "layer": "Two layers",
    "model": "Two models",
    "source": "Toy beside BERT",
    "scale": "Scale on · off",
    "mask": "Mask on · off",
}
"""The presets: the setting in which A and B differ, and the preset's title."""
_REPLACED_BY_PRESET = "preset"
"""The reason under which settings of A are replaced"""
MOST_SHOWN = 400
"""The most characters of a text shown above the picture."""
OF_SOME = ("capped", "biased")
"""The quantities that only models with a soft cap, or with a position bias, have"""
_PAIR, _PRESET = "compare_pair", "compare_preset"


@dataclass(frozen=True, slots=True)
class Pane:
    """One of the two panes."""

    name: str
    """A or B, as shown"""
    prefix: str
    """The prefix of its keys in a link"""

    def key(self, name: str) -> str:
        """Return the link key of this pane's own value."""
        return f"{self.prefix}{name}"

    def own(self, name: str) -> Any:
        """Return this pane's own value of a setting, or None if B inherits it."""
        value = state.get(self.key(name))
        return None if isinstance(value, str) and not value.strip() else value

    def get(self, name: str) -> Any:
        """Return the value of a setting in this pane."""
        return of_b(state.get)(name) if self.prefix else state.get(name)

    def put(self, name: str, value: Any) -> None:
        """Set this pane's own value; with None, B inherits A's value again."""
        state.put(self.key(name), "" if value is None and name == "text" else value)


A, B = Pane("A", ""), Pane("B", "b_")


@dataclass(slots=True)
class CompareRecord:
    """The session state of Compare."""

    asked: str | None = None
    """ "head" or "layer" if a preset has requested the most different one for the next run"""
    sent: str = ""
    """The digest of the picture sent last"""
    chosen: str = ""
    """The digest of the picture in which the user has chosen something. If both are equal and the picture has not
    changed, the payload contains only the choices."""


def current_preset() -> str | None:
    """Return the preset that matches B's own settings, or None."""
    overrides = set(overridden(state.get))
    if A.get("source") != B.get("source"):
        return "source"
    overrides -= {"source"}
    return overrides.pop() if len(overrides) == 1 and overrides <= PRESETS.keys() else None


def apply_preset(preset: str) -> None:
    """Make A and B differ in exactly one setting. Changes of an earlier preset to A are undone."""
    state.give_back(_REPLACED_BY_PRESET)
    for name in B_KEYS:
        B.put(name, None)
    of_a, of_b = _settings_of(preset)
    state.replace(_REPLACED_BY_PRESET, of_a)
    for name, value in of_b.items():
        B.put(name, value)


def _settings_of(preset: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that a preset changes in A and in B."""
    if preset == "text":
        text, other = _pair_of_model(A.get("text"), PAGES["compare"].trained_model(A.get))
        return {"text": text}, {"text": other}
    if preset == "source":
        model = {} if A.get("model") in PRETRAINED_NAMES.offered() else {"model": PRETRAINED_NAMES.offered()[0]}
        # BERT's pieces, so that both have the same tokens
        return {"source": TOY.key, "tokenizer": "bert"}, {"source": PRETRAINED.key, **model}
    if preset == "model":
        return {"source": PRETRAINED.key}, {"model": second_model()}
    if preset in ("head", "layer"):
        has_layers = preset == "head" or SOURCES[A.get("source")].has_layers
        return {} if has_layers else {"source": PRETRAINED.key}, {preset: 1 if A.get(preset) == 0 else 0}
    if preset == "scale":
        return {}, {"scale": "sqrt_d" if A.get("scale") == "off" else "off"}
    return {}, {"mask": "none" if A.get("mask") == "causal" else "causal"}


def second_model() -> str | None:
    """Return an offered model on this machine other than A's, or None."""
    return next(
        (name for name in PRETRAINED_NAMES.offered() if name != A.get("model") and is_on_this_machine(name)), None
    )


def _pair_of_model(text: str, model: str | None) -> tuple[str, str]:
    """Return two texts to compare: two examples of a trained model, else a minimal pair, the text's or the first."""
    examples = trained_models.examples_of(model)
    if len(examples) < 2:
        other = counterpart(text)
        return (MINIMAL_PAIRS[0].a, MINIMAL_PAIRS[0].b) if other is None else (text, other)
    text = text if text in examples else examples[0]
    return text, next(example for example in examples if example != text)


def choose_default() -> None:
    """Choose a comparison, unless the link sets B or says that A and B are the same."""
    for name, value in default_of_b(state.get, RESOURCES).items():
        state.put(name, value)


_OWN = "own"
"""The value of `compare` where B has settings of its own. It exists only in the session: it keeps `choose_default` from
overriding the user's choice."""


def link_keys() -> list[str]:
    """Return the keys of a link: those of A, those set in B, and `compare` if its value can be in a link."""
    left_out = {B.key(name) for name in B_KEYS if B.own(name) is None}
    if state.get("compare") == _OWN:
        left_out.add("compare")
    return [name for name in PAGES["compare"].keys if name not in left_out]


def end() -> None:
    """Write the view to the address bar, with `compare`, so that a link to two equal panes opens them equal."""
    state.put("compare", _OWN if overridden(state.get) else "same")
    state.end(link_keys())


_TRAINED_IN_B = "trained in B"
"""The reason under which settings of B are replaced"""


def trained_model(pane: Pane) -> str | None:
    """Return the name of a pane's trained model; None if its model comes from another source."""
    return PAGES["compare"].trained_model(pane.get)


def open_chosen(pane: Pane, before: str | None) -> None:
    """Open the model just chosen for a pane, from a callback; `before` is the trained model that the pane had."""
    if pane is A:
        _open_in_a(before)
        return
    after = trained_model(B)
    if after == before:
        return
    state.give_back(_TRAINED_IN_B)
    is_typed = not is_offered(B.get("text"), before)
    if after is not None and after != trained_model(A) and not is_typed:
        values = {name: value for name, value in opening(after).items() if name in B_KEYS}
        state.replace(_TRAINED_IN_B, {B.key(name): value for name, value in values.items()})


def _open_in_a(before: str | None) -> None:
    """Open A's model. If B's own text is an example of A's previous model, B gets another example of the new one."""
    text_of_b = B.own("text")
    is_offered_to_b = text_of_b is not None and is_offered(text_of_b, before)
    open_in_view(before, trained_model(A))
    if not is_offered_to_b or trained_model(B) != trained_model(A):
        return
    _, other = _pair_of_model(A.get("text"), trained_model(A))
    B.put("text", other if other != A.get("text") else None)
    if not overridden(state.get):
        state.put("compare", "")  # so that the page chooses a comparison


def _texts() -> None:
    """Show B's text field and the choice of a pair for both panes. The page itself shows A's text field."""
    state.bound(
        "b_text", st.text_area, "Text of B",
        height=TEXT_HEIGHT, max_chars=settings().largest_text, placeholder="The same as A's",
    )  # fmt: skip
    shown = A.get("text"), B.get("text")
    st.session_state[_PAIR] = next((at for at, pair in enumerate(MINIMAL_PAIRS) if (pair.a, pair.b) == shown), None)
    st.pills("Or take a pair", range(len(MINIMAL_PAIRS)), format_func=_words_of, key=_PAIR, on_change=_take_pair)


def _quantities() -> list[str]:
    """Return the quantities that A or B may have. If neither has the chosen one, replace it, with a note."""
    known = _of_some(A), _of_some(B)
    asked, of_models = state.get("quantity"), {name for names in known for name in names or ()}
    if asked in OF_SOME and asked not in of_models and None not in known:
        nearest = "capped" if asked == "biased" and "capped" in of_models else "scaled"
        missing, shown = (WALK[name].title for name in (asked, nearest))
        state.note(f"Neither A nor B has the step “{missing}”: the nearest before it, “{shown}”, is shown.")
        state.put("quantity", nearest)
    of_models.add(state.get("quantity"))
    return [name for name in KEYS["quantity"].titles if name not in OF_SOME or name in of_models]


def _of_some(pane: Pane) -> tuple[str, ...] | None:
    """Return those of `OF_SOME` that a pane's model has; None if it is not open."""
    names = SOURCES[pane.get("source")].names
    if names is not None and RESOURCES.is_slow(names.own(pane.get("model"))):
        return None
    steps_in = open_model(SOURCES[pane.get("source")], pane.get).description.steps_in
    return tuple(name for name in OF_SOME if any(steps_in.get(name, {}).values()))


def shared() -> DeltaGenerator:
    """Show the settings that both panes share; return a container for the switch that depends on the picture."""
    state.choice("quantity", st.segmented_control, "Quantity", _quantities(), required=True, width="stretch")
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
                marks = model.description.layer_marks(settled.kind)
                _select(pane, "layer", settled.layers, partial(_layer_name, marks))
            _select(pane, "head", range(settled.heads), "head {}".format)
            for name, titles in (("scale", _scales(pane, source)), ("mask", _masks(source))):
                _select(pane, name, titles, titles.__getitem__)
    return choice(pane.name, pane.get, model)  # after the menus have updated the view


def _layer_name(marks: Mapping[int, str], layer: int) -> str:
    return f"layer {layer} · {marks[layer]}" if layer in marks else f"layer {layer}"


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

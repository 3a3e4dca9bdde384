"""What if this head were gone? A grid of all heads, where a click switches one off, and beside it what changes.

Results are computed in the worker pool and cached for all sessions.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import streamlit as st
import torch
from torch import Tensor

from attnviz.bert.ablation import (
    MEASURES,
    Effects,
    Head,
    HeadMeasures,
    cosine,
    effects_in_steps,
    head_means,
    head_measures,
    hidden_without,
    sentence_embedding,
    spearman,
)
from attnviz.bert.search import built_in as reference
from attnviz.components.matrix import ClickEffects, heads_matrix
from attnviz.export.code.bert.uses import BY_MEAN_LINES, WITHOUT_LINES, without_script
from attnviz.formatting import DIGITS, number, power_of_ten
from attnviz.measures.survey import survey_name
from attnviz.runtime.long_work import Work
from attnviz.tokens import NoTokensError
from attnviz.ui import shell, state
from attnviz.ui.bert.ablated_answer import guesses, show_answer
from attnviz.ui.bert.ablated_uses import probabilities, ranking, show_classifier, show_search
from attnviz.ui.bert.bars import side_by_side
from attnviz.ui.bert.parts import Part, built_in, in_torch, text_notes
from attnviz.ui.caches import named_cache, result, wait_for
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.widgets import clicked, notice, palette, plot, settings_popover

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.trace.trace import Trace

HIDDEN_BYTES = 12 * 2**20
"""Output embeddings of 15 texts of 512 tokens, or of some 500 sentences"""
EFFECT_BYTES = 2**20
"""Effects and measures of some thousand texts"""
AT_ONCE_UP_TO = 128
"""Tokens: the effects of all heads on longer texts take seconds, and are computed on request only"""
FAILED = "The heads could not be measured: there may be too little memory for it just now. Choose a shorter text."
OFF_BY_HELP = """**Zero**: the head's slice of `concat` is 0, as if its rows of W_O were (Michel et al. 2019).

**Mean**: its slice is the head's own mean output over all positions of the 180 sentences of the search, so that
what it adds to every text alike stays (Wang et al. 2022)."""
TITLE = "Effect of each head alone on the sentence embedding: 1 − cosine, in thousandths. A click switches a head off."
AXES = {
    "largest": "largest weight of a word on a word, mean over words",
    "words": "weight of words on words, mean over words",
    "entropy": "entropy of a row of weights, bits, mean over tokens",
    "distance": "distance of a query to its keys, tokens, mean over tokens",
    "norm": "norm of what the head adds, mean over tokens",
}
CLICK_EFFECTS = ClickEffects(
    "a click switches it off", "a click switches it on again", "switched off", "switched on again"
)
HINT = "Point at a head to read its effect."
NO_EFFECTS = "The effects of the heads are not measured yet."
THOUSAND = 1000
NOT_YET = "The effects of all heads on this text are not measured yet: the button beside it does that."
TABLE_HEIGHT, ROWS_IN_LECTURE = 390, 8
"""px; rows"""
COLUMNS = {
    "sentence": "1 − cosine, sentence", "tokens": "1 − cosine, tokens", "answer": "1st guess, change",
    "largest": "largest weight", "words": "weight on words", "entropy": "entropy (bits)",
    "distance": "distance (tokens)", "norm": "norm",
}  # fmt: skip
"""Keyed by name; those of the measures are their names in links"""


@dataclass(slots=True)
class _EffectsRecord:
    """What a session keeps of the effects of all heads."""

    requested: tuple[str, str] | None = None
    """The key of the last ablation of a long text whose effects were requested"""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A text's pass through the whole model, and through the model without some heads."""

    model: BuiltInModel
    trace: Trace
    off: tuple[Head, ...]
    by: str
    """"zero" or "mean\""""
    after: Tensor
    """(T, C): the output embeddings without the heads"""

    @property
    def size(self) -> tuple[int, int]:
        """The number of layers, and of heads in a layer."""
        layers, heads = self.model.description.layers["encoder"]
        return layers, heads

    @property
    def off_text(self) -> str:
        """A short name for the heads that are switched off."""
        if not self.off:
            return "no head"
        (layer, head), *others = self.off
        if not others:
            return f"layer {layer} · head {head}"
        is_layer = len(self.off) == self.size[1] and all(other == layer for other, _ in others)
        return f"all of layer {layer}" if is_layer else f"{len(self.off)} heads"

    @property
    def key(self) -> tuple[str, str]:
        """What the effects of all heads depend on."""
        return survey_name(self.trace, "encoder"), self.by

    @property
    def digest(self) -> str:
        """A name for a plot of this text and these heads: a new name clears the plot's selection."""
        return blake2b(repr((self.key, self.off)).encode(), digest_size=6).hexdigest()

    @property
    def means(self) -> Tensor | None:
        """What replaces the heads' outputs, (L, H, D); None means 0."""
        return means_of(self.model) if self.by == "mean" else None


def ablate(text: str) -> Ablation:
    """Run a text through the whole model, and through the model without the heads that the view switches off.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token.
    """
    model = built_in()
    trace, off, by = RESOURCES.trace(model, text, None), off_in(model), state.get("off_by")
    if not off:
        return Ablation(model, trace, off, by, trace.last_hidden_state)
    key = survey_name(trace, "encoder"), off, by

    def compute() -> Tensor:
        return hidden_without(model, trace.tokens, off, means_of(model) if by == "mean" else None)

    return Ablation(model, trace, off, by, result("heads off", HIDDEN_BYTES, key, compute))


def off_in(model: BuiltInModel) -> tuple[Head, ...]:
    """Return the heads that the view switches off; those that the model does not have are left out, with a note."""
    layers, heads = model.description.layers["encoder"]
    chosen: Collection[Head] = state.get("off")
    missing = [head for head in chosen if head[0] >= layers or head[1] >= heads]
    if missing:
        state.note(f"Layer {missing[0][0]} · head {missing[0][1]} does not exist: there are {layers} x {heads} heads.")
        state.put("off", tuple(head for head in chosen if head not in missing))
    return tuple(state.get("off"))


def means_of(model: BuiltInModel) -> Tensor:
    """Return each head's mean output over the reference sentences, (L, H, D)."""
    return result("head means", EFFECT_BYTES, model.name, partial(head_means, model, reference().sentences))


def measures_of(ablation: Ablation) -> HeadMeasures:
    """Return the measures of the attention of all heads."""
    return result("head measures", EFFECT_BYTES, ablation.key[0], partial(head_measures, ablation.trace))


def effects_of(ablation: Ablation) -> Effects | None:
    """Return the effects of all heads; None for a long text until this session requests them."""
    is_requested = state.record(_EffectsRecord).requested == ablation.key
    if len(ablation.trace.tokens) > AT_ONCE_UP_TO and not is_requested:
        return None
    layers, heads = ablation.size
    effects: Work[Effects] = Work(
        named_cache("head effects", EFFECT_BYTES),
        ablation.key,
        lambda: effects_in_steps(ablation.trace, ablation.means),
        FAILED,
    )
    return wait_for(effects, layers * heads, "heads are measured")


def request_effects(ablation: Ablation) -> None:
    """Request the effects of all heads on a long text, from a callback."""
    state.record(_EffectsRecord).requested = ablation.key


def controls() -> None:
    """Let the user choose how heads are switched off."""
    state.choice("off_by", st.segmented_control, "Switched off by", required=True, help=OFF_BY_HELP)


def choose_heads(ablation: Ablation) -> None:
    """Let the user choose heads: one by one, a whole layer, or none."""
    layers, heads = ablation.size
    with st.container(horizontal=True, key="off_choice", vertical_alignment="center"):
        # A click outside this fragment closes the button, too: Streamlit would run only the fragment.
        with settings_popover(f"Off: {ablation.off_text}", "off_heads", on_change=state.run_page) as control:
            if control.open:
                all_heads = [(layer, head) for layer in range(layers) for head in range(heads)]
                state.bound("off", st.multiselect, "Heads that are switched off", all_heads, format_func=_head_label)
                st.caption("A whole layer, off or on again:")
                with st.container(horizontal=True, key="off_layers", gap="xxsmall"):
                    for layer in range(layers):
                        st.button(str(layer), key=f"off_layer_{layer}", on_click=_toggle_layer, args=(layer, heads))
        st.button("All on", key="off_none", disabled=not ablation.off, on_click=state.put, args=("off", ()))


def toggle_clicked(key: str) -> None:
    """Toggle the head that was clicked in the plot with this key."""
    place = clicked(key)
    if (
        isinstance(place, (list, tuple))
        and len(place) == 2
        and all(type(number) is int and number >= 0 for number in place)
    ):
        state.put("off", tuple(sorted(set(state.get("off")) ^ {(place[0], place[1])})))


def _toggle_layer(layer: int, heads: int) -> None:
    off, of_layer = set(state.get("off")), {(layer, head) for head in range(heads)}
    state.put("off", tuple(sorted(off - of_layer if of_layer <= off else off | of_layer)))


def _head_label(head: Head) -> str:
    return f"layer {head[0]} · head {head[1]}"


def show() -> None:
    """Show the grid, and what changes."""
    state.sync_widget("off")  # the grid shows it, before its widget below the grid is drawn
    try:
        ablation = ablate(shell.text())
    except NoTokensError as error:
        st.info(str(error))
        return
    text_notes(ablation.model, ablation.trace.tokens)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        _show_grid(ablation)
    with right, st.container(key="off_right"):
        if not state.get("lecture"):
            state.choice("off_view", st.segmented_control, "What changes", required=True, label_visibility="collapsed")
        VIEWS[state.get("off_view")](ablation)
    notice(
        "A large weight need not matter: what a head adds to the output is its weights times its values, through W_O, "
        "and later layers may add it again or undo it."
    )
    in_torch(BY_MEAN_LINES if ablation.by == "mean" else WITHOUT_LINES)


def _show_grid(ablation: Ablation) -> None:
    layers, heads = ablation.size
    st.html(f'<div class="notice">{TITLE}</div>')
    effects = effects_of(ablation)
    if effects is None:
        st.button(
            f"Measure all {layers * heads} heads", on_click=request_effects, args=(ablation,), key="off_measure_all"
        )
        st.caption(
            f"{len(ablation.trace.tokens)} tokens: that takes some seconds. A head can be switched off without it."
        )
    thousandths = torch.full((layers, heads), torch.nan) if effects is None else THOUSAND * effects.sentence
    with st.container(key="off_grid"):
        heads_matrix(
            thousandths.numpy(), ablation.off, title="effect, in thousandths", click_effects=CLICK_EFFECTS,
            hint=NO_EFFECTS if effects is None else HINT,
            readings=_readings(effects, layers, heads), key="off_matrix", on_choice=_take_choice,
        )  # fmt: skip
    if not state.get("lecture"):
        choose_heads(ablation)


def _readings(effects: Effects | None, layers: int, heads: int) -> list[str]:
    """Return what is said of each head, layer by layer: its name, and its effect if it is computed."""
    names = [_head_label(divmod(place, heads)) for place in range(layers * heads)]
    if effects is None:
        return names
    return [
        f"{name}: 1 − cosine {power_of_ten(effect)}"
        for name, effect in zip(names, effects.sentence.flatten().tolist(), strict=True)
    ]


def _take_choice(chosen: object) -> None:
    if isinstance(chosen, str):
        state.apply_from_browser({"off": chosen}, ("off",))


def show_output(ablation: Ablation) -> None:
    """Show each token's change as a bar, and the numbers in words."""
    before, labels = ablation.trace.last_hidden_state, ablation.trace.tokens.labels
    of_tokens = cosine(before, ablation.after)
    whole = number(float(cosine(sentence_embedding(before), sentence_embedding(ablation.after))), 4)
    most = int(of_tokens.argmin())
    if ablation.off:
        st.markdown(
            f"Without **{ablation.off_text}** the sentence embedding has a cosine of **{whole}** to that of the "
            f"whole model. “{plain(labels[most])}” changes most: **{number(float(of_tokens[most]), 4)}**."
        )
    else:
        with st.container(key="hint_output"):
            st.markdown("Nothing is switched off: every cosine is **1**. Click a head in the grid.")
    changes, names = (1 - of_tokens).clamp_min(0).tolist(), numbered(labels)
    said = [f"{name}: cosine {number(1 - change, DIGITS)}" for name, change in zip(names, changes, strict=True)]
    name = f"tokens without {ablation.off_text}" if ablation.off else "tokens with all heads"
    with st.container(key="off_tokens"):
        st.html(side_by_side(changes, labels, said, title="1 − cosine", across="token", name=name))


def show_measures(ablation: Ablation) -> None:
    """Show all heads as points, with the rank correlation."""
    from attnviz.figures.ablation import BESIDE, LARGE, against

    effects = effects_of(ablation)
    if effects is None:
        st.info(NOT_YET)
        return
    if not state.get("lecture"):
        state.choice("off_measure", st.segmented_control, "Measure", required=True, label_visibility="collapsed")
    name = state.get("off_measure")
    measure, effect = getattr(measures_of(ablation), name), effects.sentence
    rank = spearman(measure, effect)
    if math.isnan(rank):
        st.info("There is nothing to be ranked: this measure is the same for all heads, or the text has no word.")
        return
    title, _, _ = COLUMNS[name].partition(" (")
    st.markdown(
        f"Spearman’s rank correlation of **{title}** and effect over all {effect.numel()} heads: "
        f"**{number(rank)}** (1: the same order, 0: no relation, −1: the reverse order)."
    )
    figure = against(
        measure.flatten().tolist(), effect.flatten().tolist(), ablation.off, palette(), title=AXES[name],
        heads=effect.shape[1], height=LARGE if state.get("lecture") else BESIDE,
    )  # fmt: skip
    key = f"off_against_{name}_{ablation.digest}"
    plot(figure, key, on_select=partial(toggle_clicked, key), selection_mode="points")


def show_table(ablation: Ablation) -> None:
    """Show all heads, the one with the largest effect first."""
    import pandas as pd

    effects = effects_of(ablation)
    if effects is None:
        st.info(NOT_YET)
        return
    table = heads_table(effects, measures_of(ablation))
    if state.get("lecture"):
        shown = {COLUMNS[name]: digits for name, digits in (("sentence", 4), ("largest", 2), ("norm", 2))}
        few = table.head(ROWS_IN_LECTURE).set_index(["layer", "head"])
        st.table(pd.DataFrame({name: few[name].map(partial(number, digits=digits)) for name, digits in shown.items()}))
        return
    cells = st.column_config.NumberColumn
    columns = {name: cells(width="small", pinned=True) for name in ("layer", "head")}
    formats = {name: cells(format="%.4f" if name.startswith("1") else "%.3f") for name in COLUMNS.values()}
    st.dataframe(table, height=TABLE_HEIGHT, hide_index=True, column_config={**columns, **formats})


def heads_table(effects: Effects, measures: HeadMeasures) -> pd.DataFrame:
    """Return a row for each head: layer, head, its effects, and the measures; the largest effect first."""
    import pandas as pd

    layers, heads = effects.sentence.shape
    numbers = {"sentence": effects.sentence, "tokens": effects.tokens}
    if effects.answer is not None:
        numbers["answer"] = effects.answer
    numbers |= {name: getattr(measures, name) for name in MEASURES}
    places = [divmod(place, heads) for place in range(layers * heads)]
    table = pd.DataFrame(places, columns=["layer", "head"])
    table = table.assign(**{COLUMNS[name]: values.flatten().numpy() for name, values in numbers.items()})
    return table.sort_values(COLUMNS["sentence"], ascending=False, kind="stable", ignore_index=True)


def _ablation() -> Ablation | None:
    """Return the view's ablation; None if its text has no token."""
    try:
        return ablate(state.get("text")) if state.get("text").strip() else None
    except NoTokensError:
        return None


def tables() -> dict[str, pd.DataFrame]:
    """Return the cosine of each token, the effects of all heads if measured, the classifier and the ranking."""
    import pandas as pd

    ablation = _ablation()
    if ablation is None:
        return {}
    before, labels = ablation.trace.last_hidden_state, ablation.trace.tokens.labels
    whole = cosine(sentence_embedding(before), sentence_embedding(ablation.after))
    rows = {"token": [*labels, "sentence"], "cosine": [*cosine(before, ablation.after).tolist(), float(whole)]}
    tables_ = {"output": pd.DataFrame(rows)}
    effects = effects_of(ablation)
    if effects is not None:
        tables_["heads"] = heads_table(effects, measures_of(ablation))
    answer = guesses(ablation)
    if answer is not None:
        tables_["answer"] = answer.rename_axis("token").reset_index()
    return {**tables_, "classifier": probabilities(ablation), "search": ranking(ablation)}


def script() -> str:
    """Return the script of the view."""
    return without_script(state.get("text"), off_in(built_in()), by_mean=state.get("off_by") == "mean")


VIEWS = {
    "tokens": show_output,
    "answer": lambda ablation: show_answer(ablation, effects_of(ablation)),
    "measures": show_measures,
    "classifier": show_classifier,
    "search": show_search,
    "table": show_table,
}
"""What is shown beside the grid, keyed by name in links"""

PART = Part(show, tables, script, controls=controls)

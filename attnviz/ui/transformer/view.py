"""The page Transformer: the settings of the toy, and the walk through all steps of a whole model.

The browser shows the walk from documents. The diagram of the model is known before the model runs.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.links.pages import PAGES
from attnviz.settings import settings
from attnviz.sources import Source
from attnviz.sources.shown import ShownPart
from attnviz.steps import PARTS, names_at
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.config import (
    EXAMPLE_TARGET,
    MAX_FEED_FORWARD,
    MAX_HEADS,
    MAX_LAYERS,
    MAX_WIDTH,
    MIN_WIDTH,
    NOT_ADDED,
    default_hidden_width,
    fitting_heads,
    why_fewer_heads,
)
from attnviz.trace.model import Description, ModelSizes, Place, places
from attnviz.ui import controls, shell, state
from attnviz.ui.messages import plain
from attnviz.ui.sources import DESCRIBED, SavedView, view_of
from attnviz.ui.tokens.choices import char_vocab
from attnviz.ui.walk import Checks, check_step, mount_walk, offer_documents
from attnviz.ui.widgets import settings_popover

CHECKS = Checks(
    "transformer",
    "check",
    {
        **dict.fromkeys(("overview", "parameters", "cost"), "attnviz.ui.transformer.overview"),
        **dict.fromkeys(
            ("token", "norm", "lens", "change", "padding", "dropout", "mistake"), "attnviz.ui.transformer.checks"
        ),
        "positions": "attnviz.ui.transformer.positions",
    },
)
"""The checks of the page; some of their modules import pandas"""


PURPOSES = {
    "encoder": "An encoder alone reads: every token looks at all others, for classification and search (BERT).",
    "decoder": "A decoder alone writes: each token looks back only, to predict the next one (GPT).",
    "both": "Both translate: an encoder reads one text, a decoder writes another and looks at the first (the paper).",
}
"""The purpose of each architecture"""
IN_WINDOW = " Here a token sees no further than its window in its own text."
NORMS_HELP = (
    """*post*: after each sum, as in the paper and BERT. *pre*: before attention and feed-forward, as in GPT-2."""
)
POSITIONS = {
    "sinusoidal": "sin, cos", "lab": "sin, cos of a lab", "random": "learned (random)", "rotary": "rotary",
    "alibi": "ALiBi", "buckets": "T5’s buckets", "none": "none",
}  # fmt: skip
STEP = 8
"""The step of the width in its slider"""
HIDDEN_HELP = "Numbers of a token between the two maps of a feed-forward. It is 4 · C until you choose another."
_DECODER, _HIDDEN = "decoder_blocks", "hidden_width"


def toy_controls() -> DeltaGenerator:
    """Show the settings of the toy transformer. Returns the place of what `show_purpose` says."""
    chosen = state.choice("architecture", st.segmented_control, "Architecture", required=True, width="stretch")
    state.sync_widget("window")
    purpose = st.empty()
    has_both = chosen == "both"
    if has_both:
        state.bound(
            "pair", st.text_input, "What the decoder reads",
            max_chars=settings().largest_text, placeholder=EXAMPLE_TARGET,
            help="What it has written so far. Empty stands for the example.",
        )  # fmt: skip
    left, right = st.columns(2)
    with left:
        state.bound("depth", st.slider, "Encoder blocks" if has_both else "Blocks L", 1, MAX_LAYERS)
        if has_both:
            state.sync_widget("depth")
            # As many as the encoder's until another is chosen.
            decoder_depth = "decoder_depth", _DECODER, state.get("depth")
            _put_own(*decoder_depth)
            st.slider("Decoder blocks", 1, MAX_LAYERS, key=_DECODER, on_change=_take_own, args=decoder_depth)
        _heads()
    with right:
        state.bound("width", st.slider, "Width C", MIN_WIDTH, MAX_WIDTH, step=STEP)
        hidden = "feed_forward", _HIDDEN, default_hidden_width(state.get("width"))
        _put_own(*hidden)
        st.number_input(
            "Hidden F", 1, MAX_FEED_FORWARD, key=_HIDDEN, help=HIDDEN_HELP, on_change=_take_own, args=hidden
        )
    left, right = st.columns(2)
    with left:
        state.choice("norm", st.selectbox, "Norm", help=NORMS_HELP)
    with right:
        state.choice("activation", st.selectbox, "Activation")
    controls.token_controls(POSITIONS)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        controls.seed()
    with right, settings_popover("More", "more_settings", width="stretch") as control:
        if control.open:
            state.bound("bias", st.toggle, "Biases")
            controls.norms_of_keys()
            controls.score_controls()
            controls.heads_of_keys()
    return purpose


def show_purpose(place: DeltaGenerator, here: ShownPart | None) -> None:
    """Say in its place what the chosen architecture is for, and whether a window hides something of the text.

    `here` is None where there is no text.
    """
    try:
        is_narrow = here is not None and here.has_narrow_window()
    except NoTokensError:
        is_narrow = False
    place.caption(PURPOSES[state.get("architecture")] + (IN_WINDOW if is_narrow else ""))


def model_controls(source: Source, name: str | None) -> None:
    """Show the settings of the model `name`, and which of its parts can't be shown."""
    described = None if name is None else DESCRIBED.load(name).description
    has_both = described is not None and "cross" in described.layers
    if source.takes_pairs or has_both:
        label = "Second text (optional)" if source.takes_pairs else "What the decoder reads"
        state.bound("pair", st.text_input, label, max_chars=settings().largest_text)
    if described is not None:
        reasons = described.unavailable
        for what in ("attention_residual", "logits"):
            if what in reasons and not (what == "attention_residual" and _is_known_here(described)):
                st.caption(plain(reasons[what]))


def _is_known_here(described: Description) -> bool:
    """Whether what follows attention is known of the shown block, though not of all."""
    everywhere, number = places(described.numbers), state.get("block")
    place = everywhere[number if number < len(everywhere) else 0]
    return described.norm_first is not None and place.layer not in described.attention_alone.get(place.kind, ())


def _put_own(name: str, key: str, default: int) -> None:
    """Set the widget with this key to the view's number, or to the default if the view has None."""
    chosen = state.get(name)
    st.session_state[key] = default if chosen is None else chosen


def _take_own(name: str, key: str, default: int) -> None:
    """Apply a widget's number if a link could contain it: clients may send any value. The default is stored as None."""
    chosen = st.session_state[key]
    state.apply_from_browser({name: None if chosen == default else chosen}, [name])


def _heads() -> None:
    """Show the numbers of heads that divide the width; a value that does not is replaced, with a note."""
    state.sync_widget("width")
    heads, width = state.get("heads"), state.get("width")
    fitting = fitting_heads(heads, width)
    if fitting != heads:
        state.note(f"{why_fewer_heads(heads, width).capitalize()}.")
        state.put("heads", fitting)
    options = [count for count in range(1, MAX_HEADS + 1) if width % count == 0]
    state.bound("heads", st.select_slider, "Heads H", options, among=options)
    controls.fit_heads_of_keys(heads)


PAGE = PAGES["transformer"]
KEYS = {
    "step": "part", "layer": "block",
    **{name: name for name in ("head", "q", "k", "drawing", "predict", "stretch", "limit", "focus", "dim", "why",
                               "play")},
}  # fmt: skip
"""The user's choices in the walk, with their link keys"""


def show_transformer(here: ShownPart) -> None:
    """Show the walk of a text through a model.

    Raises:
        NoTokensError: the text or the decoder's text has no tokens.
    """
    state.check_run()
    queries, keys = here.axes()
    model_tokens = here.model.read(here.text, here.pair)
    for tokens in model_tokens:
        if tokens is not None:
            shell.token_notes(tokens)
    shell.hidden_word_note(here)
    state.keep_pin(queries.labels, keys.labels)
    name = here.place.name
    check_step("part", names_at(here.model.description, here.place), f"{name[0].upper()}{name[1:]}", here.place.kind)
    view = SavedView(view_of(here), char_vocab(here.text), PAGE.name)
    mount_walk(
        PAGE,
        offer_documents(here, view, model_tokens),
        KEYS,
        source=here.source.key,
        values={name: state.get(key) for name, key in KEYS.items()} | {"layer": here.layer, "head": here.head},
        layers=here.layers,
        model=diagram(here, model_tokens, "" if here.source.has_names else _added_positions()),
    )


def _added_positions() -> str:
    """Return the kind of positions that the toy adds to its embeddings; "" if they are in its attention instead."""
    positions: str = state.get("positions")
    return "" if positions != "none" and positions in NOT_ADDED else positions


def diagram(here: ShownPart, tokens: tuple[Tokens, Tokens | None], positions: str) -> dict[str, Any]:
    """Return the model for the component's header: `ModelDiagram` in frontend/types/walk.d.ts.

    Args:
        here: what the page shows.
        tokens: the tokens of the text, and those of the decoder in a model with encoder and decoder.
        positions: the kind of position embeddings; "" if unknown.
    """
    description = here.model.description
    sizes = description.sizes
    read, target = tokens
    alone = "encoder" if here.places[0].stack == "encoder" else "decoder"
    labels: dict[str, list[str] | None] = {"encoder": None, "decoder": None, alone: list(read.labels)}
    if target is not None:
        labels["decoder"] = list(target.labels)
    ids = {*read.ids, *(() if target is None else target.ids)}
    return {
        "attentions": [
            {
                "stack": place.stack,
                "block": place.layer,
                "kind": place.kind,
                "heads": description.layers[place.kind][1],
                "head_size": description.head_size_at(place),
                "key_heads": _key_heads(description, number),
                "mark": description.layer_marks(place.kind).get(place.layer, ""),
                "feed_forward": _feed_forward(sizes, here.places, place),
                "steps": [
                    [name, PARTS[name].title_of(place.kind, place.layer)] for name in names_at(description, place)
                ],
            }
            for number, place in enumerate(here.places)
        ],
        "norm_first": bool(description.norm_first),
        "width": description.width,
        "vocabulary": (description.outputs or description.vocabulary or len(ids)) if description.shows_logits else None,
        "tokens": labels,
        "positions": positions,
        "final_norm": description.final_norm,
        "head": description.shows_logits,
    }


def _key_heads(description: Description, number: int) -> int | None:
    """Return how many heads of keys the attention with this number has; None if that is not known."""
    return None if description.sizes is None else description.sizes.attentions[number].key_heads


def _feed_forward(sizes: ModelSizes | None, places: tuple[Place, ...], place: Place) -> list[list[int]] | None:
    """Return the input and output widths of a block's feed-forward maps; None if they are unknown."""
    blocks = list(dict.fromkeys((other.stack, other.layer) for other in places))
    if sizes is None or len(sizes.feed_forwards) != len(blocks):
        return None
    maps = sizes.feed_forwards[blocks.index((place.stack, place.layer))]
    return [[linear.inputs, linear.outputs] for linear in maps]

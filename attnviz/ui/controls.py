"""The controls in the side bar: the source of attention, its model, and their settings.

A spinner is shown while the chosen model loads; if it can't be loaded, an error message and the source's fallback are
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

import streamlit as st

from attnviz import trained
from attnviz.formatting import counted
from attnviz.links.link import KEYS, STRETCH
from attnviz.settings import settings
from attnviz.sources import SOURCES, Get, Names, Source
from attnviz.sources.models import source_of
from attnviz.sources.shown import of_model
from attnviz.steps.picture import darkens
from attnviz.toy.config import (
    MAX_CAP,
    MAX_MODEL_WIDTH,
    MAX_SINK,
    MAX_STD,
    MAX_TOKENS,
    MIN_CAP,
    MIN_WIDTH,
    NOT_ADDED,
    fitting_kv_heads,
    shared_counts,
)
from attnviz.trained.shipped import is_kept, title
from attnviz.ui import state, trained_models
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES, AppResources, settle, with_model
from attnviz.ui.tokens.chips import shorten
from attnviz.ui.tokens.choices import choose_charset
from attnviz.ui.widgets import settings_popover

if TYPE_CHECKING:
    from attnviz.trace.model import Model


QKV_HELP = """*Projections (X·W)*: as in a transformer, each row of X times a matrix W (C × D), one for Q, one for K,
one for V. A trained model has learned them; here they are drawn from the seed.

*X itself*: no weights; query, key and value are all X.

*Mix positions (U·X)*: a matrix U (T × T) mixes the rows of X, so each position gets a fixed mixture of all of them."""
MAX_TITLE = 20
"""The most characters of a model's name in the choice of a source."""
POSITIONS = {
    "sinusoidal": "sin, cos", "random": "random", "rotary": "rotary", "alibi": "ALiBi", "buckets": "T5’s buckets",
    "none": "none",
}  # fmt: skip
ADDED_POSITIONS = {name: title for name, title in POSITIONS.items() if name not in NOT_ADDED or name == "none"}
"""Those that are part of the embeddings"""
POSITIONS_HELP = """*sin, cos*: the paper's, added to the embeddings. *random*: a table as it is before training, added
too. *rotary*: nothing is added; queries and keys are turned by their position, as in Llama. *ALiBi*: scores fall with
the distance, by a slope for each head, as in BLOOM. *T5’s buckets*: a number for each range of distances is added."""
EMBEDDINGS_HELP = """How the numbers of a token's vector are drawn. *Normal*: with mean 0 and standard deviation 1.
*Uniform*: from 0 to 1, as `torch.rand` draws. Positions are added to it, if there are any."""
STDS = {"std_q": "Std of W_Q", "std_k": "Std of W_K", "std_v": "Std of W_V"}
STD_HELP = "The weights are normal with mean 0 and this standard deviation; with 1/√C if the field is empty."
SCALES = {"sqrt_d": "1/√D", "off": "off", "sqrt_c": "1/√C", "number": "a number"}
MASK_VALUE_HELP = """−∞ is the same before and after the scaling. A finite number makes a row uniform whose keys are all
hidden; with a sink, such a row is all 0."""
CAP_HELP = """As in Gemma 2: a scaled score s becomes c · tanh(s/c), which stays between −c and c."""
SINK_HELP = """As in gpt-oss: one more column of the softmax, with this score for every query. It takes a share and
gives nothing. There each head learns its own; here all heads have this one."""
WINDOW_HELP = """With the causal mask a query sees only the last keys, as many as this, itself among them (Mistral);
without it, half as many on each side of itself (ModernBERT)."""
QK_NORM_HELP = "As in Qwen3: queries and keys are divided by their root mean square. A learned γ follows there; 1 here."
KV_HEADS_HELP = "Heads of queries share them: grouped-query attention, or multi-query with 1."
PADDING_HELP = "No query looks at them. With a causal mask their own rows see no key."


def turn_darkening(keys: int) -> None:
    """Toggle darkening, from a callback: darken the colours for weights over `keys` keys, or end them at 1 again."""
    is_on, by_itself = darkens(STRETCH[state.get("stretch")], keys), darkens(None, keys)
    state.put("stretch", "0" if is_on != by_itself else "off" if is_on else "1")


def choose_source(sources: Mapping[str, Source] = SOURCES) -> str:
    """Show the choice of a source, and return its name."""
    before = state.get("source")
    source: str = state.choice(
        "source",
        st.segmented_control,
        "Attention from",
        list(sources),
        format_func={key: _source_title(source) for key, source in sources.items()}.get,
        required=True,
        width="stretch",
        help="  \n".join(f"*{source.title}*: {source.help}" for source in sources.values() if source.help),
        on_change=trained_models.take_choice,
    )
    names = sources[source].names
    if source != before and names is not None and state.get("model") not in names.offered():
        state.put("model", names.fallback)  # the previous model belongs to another source
    caution = sources[source].caution(state.get)
    if caution:
        st.caption(caution)
    return source


def _source_title(source: Source) -> str:
    """Return the title of a source; if the current model is not the one that the title names, the model's name."""
    if source.names is None:
        return source.title
    name = source.names.own(state.get("model"))
    is_named = name != source.names.fallback and state.get("source") == source.key and not is_kept(name)
    return shorten(name, MAX_TITLE) if is_named else source.title


def settings_of(keys: Collection[str], more: Callable[[], None] | None = None) -> None:
    """Show the settings of a block whose link keys are in `keys`: all of a source's, or some of them.

    `more` shows additional controls of a page.
    """
    if "tokenizer" in keys:
        token_controls()
    if "qkv" in keys:
        _block_controls()
    if "scale" in keys:
        left, right = st.columns(2)
        with left:
            _scale()
        with right:
            state.choice("mask", st.selectbox, "Mask")
    if "projection" in keys:
        state.bound("projection", st.toggle, "Output projection W_O", help="Mixes what the heads found.")
    if "seed" in keys:
        left, right = st.columns(2, vertical_alignment="bottom")
        with left:
            seed()
        # What is rarely changed, so that the rest fits on a laptop screen.
        with right, settings_popover("More", "more_settings", width="stretch") as control:
            if control.open:
                _more()
                if more is not None:
                    more()


def _more() -> None:
    """Show the width, how embeddings and weights are drawn, biases, cap, sink, window, padding, and hidden cells."""
    left, right = st.columns(2)
    with left:
        state.bound("model_width", st.number_input, "Width C", MIN_WIDTH, MAX_MODEL_WIDTH)
    with right:
        state.choice("embedding", st.selectbox, "Token embeddings", help=EMBEDDINGS_HELP)
    if state.get("qkv") == "linear":
        for (name, label), place in zip(STDS.items(), st.columns(len(STDS)), strict=True):
            with place:
                state.bound(
                    name, st.number_input, label, 0.0, float(MAX_STD), value=None, step=0.1, format="%g",
                    placeholder="1/√C", help=STD_HELP,
                )  # fmt: skip
    left, right = st.columns(2)
    with left:
        state.bound("projection_bias", st.toggle, "Projection biases")
    with right:
        norms_of_keys()
    score_controls()
    left, right = st.columns(2)
    if state.get("qkv") == "linear":
        with right:
            heads_of_keys()
    with left:
        state.bound("padding", st.number_input, "Padding: first tokens", 0, MAX_TOKENS, help=PADDING_HELP)
    if any(state.get(name) not in (None, "none", 0) for name in ("mask", "b_mask", "padding", "window")):
        with right:
            state.choice("mask_value", st.selectbox, "Hidden cells hold", help=MASK_VALUE_HELP)


def score_controls() -> None:
    """Show the settings of a toy's scores: the soft cap, the sink and the window."""
    places = st.columns(3)
    with places[0]:
        state.bound(
            "cap", st.number_input, "Soft cap c", float(MIN_CAP), float(MAX_CAP), value=None, step=1.0, format="%g",
            placeholder="none", help=CAP_HELP,
        )  # fmt: skip
    with places[1]:
        state.bound(
            "sink", st.number_input, "Sink’s score", -float(MAX_SINK), float(MAX_SINK), value=None, step=0.5,
            format="%g", placeholder="none", help=SINK_HELP,
        )  # fmt: skip
    with places[2]:
        state.bound(
            "window", st.number_input, "Window", 1, MAX_TOKENS, value=None, placeholder="none", help=WINDOW_HELP
        )  # fmt: skip


def norms_of_keys() -> None:
    """Show the setting of a toy's norms of queries and keys."""
    state.bound("qk_norm", st.toggle, "Norms of Q and K", help=QK_NORM_HELP)


def heads_of_keys() -> None:
    """Show the numbers of heads of keys that a toy's heads can share; `fit_heads_of_keys` has fitted the view's."""
    options = shared_counts(state.get("heads"))
    state.bound(
        "kv_heads", st.selectbox, "Heads of keys", options, among=options, index=None, placeholder="as many",
        help=KV_HEADS_HELP, disabled=not options,
    )  # fmt: skip


def fit_heads_of_keys(asked: int | None = None) -> None:
    """Go back to as many heads of keys as heads if these can't share the view's number, with a note.

    The number of heads itself also means as many, which needs no note, nor does the number that was `asked` for before
    the heads were fitted.
    """
    state.sync_widget("kv_heads")
    heads, chosen = state.get("heads"), state.get("kv_heads")
    if chosen is None or fitting_kv_heads(chosen, heads) == chosen:
        return
    if heads < chosen != asked:
        can_share = counted(heads, "head")
        state.note(f"{chosen} heads of keys are more than {can_share} can share, so none are shared.")
    elif chosen < heads:
        state.note(f"{heads} heads can't share {chosen} heads of keys evenly, so each has its own.")
    state.put("kv_heads", None)


def _block_controls() -> None:
    """Show the settings of the toy's queries, keys and values."""
    state.choice("qkv", st.selectbox, "Q, K, V are", help=QKV_HELP)
    linear = state.get("qkv") == "linear"
    if state.get("qkv") == "identity":
        state.sync_widget("model_width")
        st.caption(f"X itself is one head, as wide as X: 1 head of {state.get('model_width')}.")
    left, right = st.columns(2)
    with left:
        state.bound("heads", st.slider, "Heads H", 1, 8, disabled=state.get("qkv") == "identity")
    with right:
        state.bound("head_size", st.slider, "Head size D", 2, 64, disabled=not linear)
    if linear:
        fit_heads_of_keys()


def token_controls(positions: Mapping[str, str] = POSITIONS) -> None:
    """Show the settings of the toy's tokenizer and positions."""
    left, right = st.columns(2)
    with left:
        state.choice("tokenizer", st.selectbox, "Tokens")
    with right:
        about = POSITIONS_HELP if "rotary" in positions else None
        state.choice("positions", st.selectbox, "Positions", positions, format_func=positions.get, help=about)
    if state.get("tokenizer") == "char":
        choose_charset()


def seed() -> None:
    """Show the seed of the toy's weights."""
    state.bound("seed", st.number_input, "Seed", 0, 999_999, help="All weights are drawn from this number.")


def choose_model(names: Names) -> str:
    """Show the choice of a model and return its name."""
    if (name := names.own(state.get("model"))) != state.get("model"):
        state.put("model", name)
    options = list(
        dict.fromkeys([*names.offered(), *(trained_models.own_names() if names.takes_trained else ()), name])
    )
    name = state.bound(
        "model", st.selectbox, "Model", options, format_func=title, accept_new_options=names.takes_others(),
        help=names.help(), on_change=trained_models.take_choice,
    )  # fmt: skip
    return name or names.fallback


def _layer_controls(source: Source, model: Model, where: str) -> None:
    """Show the settings of a model with layers.

    Args:
        source: the source of the model.
        model: the open model.
        where: the place on the page where the user selects layer and head.
    """
    counts = model.description.layers
    if "pair" in source.keys and (source_of(model.name).takes_pairs or "cross" in counts):
        label = "What the decoder reads" if "cross" in counts else "Second sentence (optional)"
        state.bound("pair", st.text_input, label, max_chars=settings().largest_text)
    settle(of_model(source, model, state.get), ("kind",))
    if len(counts) > 1:
        state.choice("kind", st.selectbox, "Attention", [kind for kind in KEYS["kind"].titles if kind in counts])
    st.caption(f"Choose layer and head {where}. They are counted from 0, here and in links.")


def _scale() -> None:
    """Show the choice of the scale; "a number" adds a number field."""
    named = state.get("scale") in SCALES
    st.session_state["scale_choice"] = state.get("scale") if named else "number"
    choice = st.selectbox(
        "Scale", list(SCALES), format_func=SCALES.__getitem__, key="scale_choice", on_change=_take_scale
    )
    if choice == "number":
        st.session_state["scale_number"] = float(state.get("scale"))
        st.number_input("× scores", -1000.0, 1000.0, step=0.025, format="%g", key="scale_number", on_change=_take_scale)


def _take_scale() -> None:
    choice = st.session_state["scale_choice"]
    if choice in SCALES:  # clients may send any value
        state.put("scale", f"{st.session_state.get('scale_number', 0.125):g}" if choice == "number" else choice)


ABOVE_PICTURE = "above the picture"
MAX_NAME = 80
"""The most characters of a model's name in the spinner."""


def open_model(source: Source, get: Get = state.get, resources: AppResources = RESOURCES) -> Model:
    """Return the model that a view selects. If it can't be loaded, show the reason and return the source's fallback.

    If the fallback can't be loaded either, the page stops with the reason.
    """
    names = source.names
    if names is None:
        return source.open(get, resources)
    name = names.own(get("model"))
    loading = f"Loading {plain(shorten(title(name), MAX_NAME))} …"
    with st.spinner(loading) if resources.is_slow(name) else nullcontext():
        from attnviz.pretrained import ModelError

        try:
            return source.open(with_model(get, name), resources)
        except ModelError as error:
            reason = str(error)
    if name.strip() == names.fallback:
        st.error(plain(reason), icon="⚠️")
        st.stop()
    st.error(plain(f"{reason} Showing {title(names.fallback)}."), icon="⚠️")
    return open_model(source, with_model(get, names.fallback), resources)


def is_slow(source: Source, resources: AppResources = RESOURCES) -> bool:
    """Whether `source_settings` has to load a model first, which takes seconds."""
    state.sync_widget("model")
    return source.names is not None and resources.is_slow(source.names.own(state.get("model")))


def source_settings(
    source: Source,
    where: str = ABOVE_PICTURE,
    resources: AppResources = RESOURCES,
    more: Callable[[], None] | None = None,
) -> str | None:
    """Show the settings of a source; return the name of the model in use if its models have names.

    `where` names the place on the page where the user selects layer and head, `resources` open the model, `more` shows
    additional controls of the page.

    It returns a name, because a page's global variables live as long as a session and would keep a model in memory.
    """
    get: Get = state.get
    if source.names is not None:
        get = with_model(get, choose_model(source.names))
    settings_of(source.keys, more)
    if not source.has_layers and source.names is None:
        return None
    model = open_model(source, get, resources)
    if source.has_layers:
        _layer_controls(source, model, where)
    if trained.is_name(model.name):
        trained_models.show_card(model, state.page())
    _show_more(source, model, more)
    return model.name if source.names is not None else None


def _show_more(source: Source, model: Model, more: Callable[[], None] | None) -> None:
    """Show the page's additional controls, and the upload field for a trained model's file."""
    takes_file = trained.is_name(model.name) and settings().uploads
    has_more = more is not None and "seed" not in source.keys
    if takes_file or has_more:
        with settings_popover("More" if has_more else "Open a model's file", "more_of_model") as control:
            if control.open and more is not None and has_more:
                more()
            if control.open and takes_file:
                trained_models.show_upload()
        trained_models.show_refusal()

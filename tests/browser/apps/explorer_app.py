"""A page of its own for the explorer: a payload made of seeded weights, all that varies in the link."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from attnviz.components.packing import pack
from attnviz.components.registration import component
from attnviz.components.updates import acknowledged, update_handler
from attnviz.measures.thumbnails import thumbnails
from tests.browser.apps.attention import MEASURES, Model

st.set_page_config(layout="wide")
st.html("<style>.stMainBlockContainer { padding: 4.25rem 1.5rem 1.5rem; }</style>")
link = st.query_params
state = st.session_state


@st.cache_resource(max_entries=4)
def made(layers: int, heads: int, tokens: int, keys: int, causal: bool, pair: bool) -> Model:
    """Draw the model once."""
    return Model(layers, heads, tokens, causal, pair, keys)


model = made(
    int(link.get("layers", 6)),
    int(link.get("heads", 12)),
    int(link.get("tokens", 16)),
    int(link.get("keys", 0)),
    "causal" in link,
    "pair" in link,
)
FRESH: dict[str, Any] = {
    "layer": 0, "head": 0, "chosen": [[0, 0]], "q": None, "k": None, "show": "both", "direction": "vertical",
    "threshold": 0.05, "strongest": 0, "special": "keep", "between": "all", "values": "weights", "mean": False,
    "sort": "", "label": "",
}  # fmt: skip
state.setdefault("view", FRESH)
state.setdefault("want", None)
state.setdefault("log", [])


def header(sent: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What the explorer must know beside the weights."""
    labels = [[["previous token"] if (layer, head) == (0, 0) else [] for head in range(model.heads)]
              for layer in range(model.layers)]  # fmt: skip
    if model.layers > 1 < model.heads:
        labels[1][1] = ["[SEP]", "<b>bold</b>"]
    return {
        "trace": repr(model), "model": "seeded", "kind": model.kind,
        "layers": model.layers, "heads": model.heads, "rows": model.tokens, "cols": model.cols,
        "causal": model.causal, "query_labels": model.labels, "key_labels": model.key_labels,
        "query_groups": model.groups, "key_groups": [1] * model.keys or model.groups,
        "sent": [list(one) for one in sent],
        "view": state["view"], "acknowledged": acknowledged("explorer"), "measures": MEASURES, "labels": labels,
        "rollout": "plain" not in link, "norms": "plain" not in link,
    }  # fmt: skip


def payload() -> bytes:
    """Send all heads where the link does not say `few`: then the chosen ones, and what is asked for."""
    every = [(layer, head) for layer in range(model.layers) for head in range(model.heads)]
    few = "few" in link
    first = [(0, 0)] if "deaf" in link else [tuple(one) for one in state["view"]["chosen"]]
    sent = (state["want"] or first) if few else every + (state["want"] or [])
    codes = np.stack([np.rint(model.head(*one).numpy() * 65535).astype(np.uint16) for one in sent])
    arrays = {"weights": codes, "measures": model.measures}
    if few:
        small = thumbnails(model.weights.flatten(0, 1).numpy())
        arrays["overview"] = small.reshape(model.layers, model.heads, *small.shape[1:])
    if "plain" not in link:
        arrays["key_norms"] = model.key_norms.numpy()
    return pack(header(sent), arrays)


def take_want() -> None:
    """Answer with what was asked for; with `deaf` in the link nobody does."""
    state["log"].append(("want", state["explorer"].want))
    state["want"] = None if "deaf" in link else [tuple(one) for one in state["explorer"].want]


def take_view(values: Mapping[str, object]) -> None:
    """Keep the view."""
    state["log"].append(("view", values))
    state["view"] = {**state["view"], **values}


on_updates = update_handler("explorer", take_view)


@st.fragment
def explore() -> None:
    """Mount it. A fragment: nothing else runs again."""
    component("explorer")(data=payload(), key="explorer", on_want_change=take_want, on_updates_change=on_updates)
    state["want"] = None
    if "log" in link:
        st.text(f"log {state['log']}")


explore()

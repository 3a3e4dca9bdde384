"""A page of its own for the explorer: a payload made of seeded weights, all that varies in the link."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
import torch
from safetensors.numpy import save

from attnviz.components.registration import mount
from attnviz.components.updates import acknowledged, update_handler
from attnviz.measures.thumbnails import thumbnails
from attnviz.runtime.arrays import array_store
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
if "away" in link:
    state.clear()
state.setdefault("view", FRESH)
state.setdefault("log", [])
if "away" in link:  # the explorer that was here may still ask for something
    st.stop()


def header() -> dict[str, Any]:
    """What the explorer must know beside the weights."""
    labels = [[["previous token"] if (layer, head) == (0, 0) else [] for head in range(model.heads)]
              for layer in range(model.layers)]  # fmt: skip
    if model.layers > 1 < model.heads:
        labels[1][1] = ["[SEP]", "<b>bold</b>"]
    return {
        "trace": repr(model), "model": "seeded", "kind": model.kind,
        "layers": list(range(model.layers)), "heads": model.heads, "rows": model.tokens, "cols": model.cols,
        "causal": model.causal, "query_labels": model.labels, "key_labels": model.key_labels,
        "query_groups": model.groups, "key_groups": [1] * model.keys or model.groups, "files": files(),
        "view": state["view"], "acknowledged": acknowledged("explorer"), "measures": MEASURES, "labels": labels,
        "rollout": True, "norms": True,
    }  # fmt: skip


def files() -> dict[str, Any]:
    """Offer one file with all heads, or where the link says `few`, one for each of them."""
    count = model.layers * model.heads
    shared = offered("shared", count)
    parts = [[offered(n), n, 1] for n in range(count)] if "few" in link else [[shared, 0, count]]
    return {"shared": shared, "weights": parts, "rollout": [offered(layer, -1) for layer in range(model.layers)]}


def offered(*what: object) -> str:
    """Return a digest; where the link says `deaf`, only of what all heads share and of the first."""
    few = "few" in link
    digest = array_store().offer((repr(model), few, *what), partial(file_of, model, what, few=few))
    return digest if "deaf" not in link or what[0] in ("shared", 0) else "x" * len(digest)


def file_of(of: Model, what: tuple[Any, ...], *, few: bool) -> bytes:
    """Return the file of what all heads share, of a rollout, or of a head."""
    every = of.weights.flatten(0, 1)
    if what[0] != "shared":
        n, *rolled = what
        return save({"weights": codes(of.head(n, -1) if rolled else every[n])[None]})
    small = thumbnails(every.numpy())
    shared = {"overview": small.reshape(of.layers, of.heads, *small.shape[1:])} if few else {"weights": codes(every)}
    return save({**shared, "key_norms": of.key_norms.numpy()})


def codes(weights: torch.Tensor) -> np.ndarray:
    """Return weights as they are sent."""
    return np.rint(weights.numpy() * 65535).astype(np.uint16)


def take_view(values: Mapping[str, object]) -> None:
    """Keep the view."""
    state["log"].append(("view", values))
    state["view"] = {**state["view"], **values}


on_updates = update_handler("explorer", take_view)


@st.fragment
def explore() -> None:
    """Mount it. A fragment: nothing else runs again."""
    mount("explorer", header(), {"measures": model.measures}, key="explorer", on_updates_change=on_updates)
    if "log" in link:
        st.text(f"log {state['log']}")


explore()

"""A page of its own for the inspector and the stepper: one figure, seeded operands, all that varies in the link."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from attnviz.components.inspector import inspector
from attnviz.components.packing import pack
from attnviz.components.stepper import CHOICES, stepper
from attnviz.components.updates import acknowledged
from attnviz.measures.thumbnails import hidden_thumbnail, thumbnails
from attnviz.steps import STEPS
from tests.browser.apps.operands import Operands, labels

st.set_page_config(layout="wide")
link = st.query_params
step = link.get("step", "scores")
mask = link.get("mask", "none")
heads = int(link.get("heads", 4))
state = st.session_state
state.setdefault("pin", (None, None))
state.setdefault("calls", 0)
state.setdefault("head", 0)
given = Operands(tokens=int(link.get("tokens", 12)), mask=mask, size=int(link.get("size", 8)), seed=state["head"])
names = labels(given.tokens)


def panel(number: int, name: str, z: np.ndarray, rows: str, cols: str, domain: tuple[float, float]) -> None:
    """Add one heatmap with axes of its own."""
    suffix = "" if number == 1 else str(number)
    z = np.where(np.isneginf(z), np.nan, z).astype(np.float32)
    shade = "Purples" if name == "weights" else "RdBu"
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "meta": {"rows": rows, "cols": cols}}
    figure.add_trace(go.Heatmap(z=z, name=name, showscale=False, colorscale=shade, hoverinfo="none", **axes))
    across = {"domain": domain, "anchor": f"y{suffix}", "range": [-0.5, z.shape[1] - 0.5], "title": name}
    down = {"domain": (0, 1), "anchor": f"x{suffix}", "range": [z.shape[0] - 0.5, -0.5]}
    figure.update_layout({f"xaxis{suffix}": across, f"yaxis{suffix}": down})


PANELS = {
    "qkv": [("embeddings", "query", "model"), ("W_query", "model", "dim"), ("query", "query", "dim")],
    "scores": [("query", "query", "dim"), ("key_t", "dim", "key"), ("scores", "query", "key")],
    "scaled": [("scores", "query", "key"), ("scaled", "query", "key")],
    "masked": [("scaled", "query", "key"), ("masked", "query", "key")],
    "weights": [("masked", "query", "key"), ("weights", "query", "key")],
    "head_outputs": [("weights", "query", "key"), ("value", "key", "dim"), ("head_outputs", "query", "dim")],
}
PRODUCTS = {
    "qkv": {"query": {"left": "embeddings", "right": "W_query", "bias": given.bias.tolist()}},
    "scores": {"scores": {"left": "query", "right": "key_t", "bias": None}},
    "head_outputs": {"head_outputs": {"left": "weights", "right": "value", "bias": None}},
}
figure = go.Figure()
for n, (name, rows, cols) in enumerate(PANELS[step]):
    share = 1 / len(PANELS[step])
    panel(n + 1, name, given.matrix(name), rows, cols, (n * share, (n + 1) * share - 0.06))
figure.update_layout(height=420, margin={"l": 30, "r": 8, "t": 20, "b": 40}, meta={"products": PRODUCTS.get(step, {})})


def take_pin(q: int | None, k: int | None) -> None:
    """Keep the pin, and count how often one came."""
    state["pin"] = (q, k)
    state["calls"] += 1


if link.get("place") == "first":
    st.text("the chart comes late")
picture, beside = st.columns([0.7, 0.3])
header = {
    "step": step, "steps": list(STEPS), "by_cell": [name for name, one in STEPS.items() if one.is_by_cell],
    "q": state["pin"][0], "k": state["pin"][1], "mask": mask,
    "scale": given.scale, "scale_label": f"1/√{given.size}", "query_labels": names, "key_labels": names,
    "acknowledged": acknowledged("inspector"),
}  # fmt: skip
arrays = {"query": given.query, "key": given.key, "value": given.value}
if mask == "array":
    arrays["mask"] = given.added
with beside:
    inspector(pack(header, arrays), key="inspector", on_pin=take_pin)
    st.text(f"pin {state['pin']} calls {state['calls']}")
with picture:
    layer = np.stack([Operands(tokens=given.tokens, mask=mask, size=8, seed=h).matrix("weights") for h in range(heads)])
    small = {"weights": thumbnails(layer)}
    if mask != "none":
        small["hidden"] = hidden_thumbnail(np.isneginf(given.added))
    offered = {
        "steps": [(name, name) for name in PANELS], "drawings": [], "layers": 0, "heads": heads, "place": "",
        "layer_label": "layer 3", "switches": [], "acknowledged": acknowledged("stepper"),
        "chosen": dict.fromkeys(CHOICES, "") | {"head": str(state["head"]), "step": step},
    }  # fmt: skip
    stepper(pack(offered, small), key="stepper", on_choice=lambda values: state.update(head=int(values["head"])))
    with st.container(key="picture"):
        st.plotly_chart(figure, key="figure", theme=None if link.get("plain") else "streamlit")
    st.text(f"head {state['head']}")

"""The chart component: a Plotly figure that is updated in place.

Streamlit's chart element is removed and created again, twice, whenever its figure changes. This component keeps the
graph and lets plotly.js compute the difference, which is several times faster.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from attnviz.components.packing import pack
from attnviz.components.registration import component

PLOTLY_PATH = f"/attnviz/plotly-{version('plotly')}.min.js"
"""Where the server offers plotly.js, which the Python package contains."""

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["toImage", "select2d", "lasso2d", "autoScale2d"],
}
"""The mode bar. The browser adds downloads as SVG and PNG, which do not need the server."""


def chart(figure: dict[str, Any], *, key: str, alt: str) -> None:
    """Mount a figure of heatmaps that fills its container.

    Args:
        figure: "data" and "layout" for plotly.js; each trace's `z` is float32 and is sent as binary data.
        key: the Streamlit key.
        alt: the text alternative.
    """
    traces = [{name: value for name, value in trace.items() if name != "z"} for trace in figure["data"]]
    header = {"alt": alt, "plotly": PLOTLY_PATH, "config": CONFIG, "data": traces, "layout": figure["layout"]}
    arrays = {str(index): trace["z"] for index, trace in enumerate(figure["data"])}
    component("chart", isolated=False)(data=pack(header, arrays), key=key)

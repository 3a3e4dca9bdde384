"""The chart: a Plotly figure that stays on the page and is redrawn in place.

Streamlit's own chart element is taken down and built anew, twice, whenever its figure changes. This one keeps the graph
and lets plotly.js work out what differs, which is several times faster.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from attnviz.components.packing import pack
from attnviz.components.registration import component

PLOTLY_PATH = f"/attnviz/plotly-{version('plotly')}.min.js"
"""Where the server offers plotly.js, which the Python package carries."""

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["toImage", "select2d", "lasso2d", "autoScale2d"],
}
"""The mode bar; the browser's side adds downloads as SVG and as PNG, which need no server."""


def chart(figure: dict[str, Any], *, key: str, alt: str) -> None:
    """Mount a figure of heatmaps, as large as the container that it stands in.

    Args:
        figure: "data" and "layout", as plotly.js takes them; each trace's `z` is float32, and goes to the browser as it
            lies in memory.
        key: the Streamlit key.
        alt: what it shows, for those who do not see it.
    """
    traces = [{name: value for name, value in trace.items() if name != "z"} for trace in figure["data"]]
    header = {"alt": alt, "plotly": PLOTLY_PATH, "config": CONFIG, "data": traces, "layout": figure["layout"]}
    arrays = {str(index): trace["z"] for index, trace in enumerate(figure["data"])}
    component("chart", isolated=False)(data=pack(header, arrays), key=key)

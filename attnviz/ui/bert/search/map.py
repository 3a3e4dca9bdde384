"""All sentences in the plane in which they differ most, and the query among them."""

from __future__ import annotations

from functools import partial

import streamlit as st
import torch

from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.look import in_torch
from attnviz.ui.bert.search.found import Found
from attnviz.ui.bert.search.hits import by_meaning
from attnviz.ui.palette import palette
from attnviz.ui.widgets import clicked, notice, plot

CODE = """centred = E[1:] - E[1:].mean(0)  # the sentences' embeddings, (N, C)
U, S, V = torch.linalg.svd(centred, full_matrices=False)
places = centred @ V[:2].T  # (N, 2)
kept = S[:2] ** 2 / (S**2).sum()  # of the variance
of_query = (E[0] - E[1:].mean(0)) @ V[:2].T"""


def show(here: Found) -> None:
    """Show the map; a click on a point chooses the sentence that is looked at."""
    from attnviz.figures.search import plane_map

    plane = here.index.plane
    key = f"search_map_{here.index.text.digest}"
    figure = plane_map(
        [*here.index.text.sentences, here.query], torch.cat([plane.places, plane.place(here.embedding)[None]]),
        plane.kept, here.ranking.by_meaning[: state.get("hits")].tolist(), here.hit, palette(),
        is_large=state.get("lecture"),
    )  # fmt: skip
    left, right = st.columns([3, 2], gap="medium")
    with left:
        plot(figure, key, on_select=partial(_click, key), selection_mode="points")
    with right, st.container(key="hits_meaning"):
        by_meaning(here)
    kept = number(100 * sum(plane.kept), 1)
    notice(
        f"The plane keeps {kept} % of the variance of {plane.mean.numel()} dimensions (PCA). So sentences that lie "
        "beside each other here may be far apart: the ranking measures in all dimensions."
    )
    in_torch(CODE)


def _click(key: str) -> None:
    """Look at the sentence whose point was clicked."""
    place = clicked(key)
    place = place[0] if isinstance(place, (list, tuple)) and place else place
    if type(place) is int and place >= 0:
        state.put("hit", place)

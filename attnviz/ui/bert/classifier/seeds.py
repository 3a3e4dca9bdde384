"""Five seeds: whether it beats both baselines, or was only lucky with one split."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.bert.classification.baselines import NAMES, SEEDS, SeedResult, Spread, spreads, verdict
from attnviz.formatting import number
from attnviz.ui import state
from attnviz.ui.bert.classifier import commands
from attnviz.ui.bert.classifier.results import Shown, seed_results
from attnviz.ui.bert.classifier.view import origin, percent, show_plot
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice

TITLES = {"classifier": "linear layer", "bag_of_words": "bag of words", "majority": "most frequent class"}


def show(here: Shown) -> None:
    """Show the accuracies of five seeds beside the baselines."""
    from attnviz.figures.classification import seeds

    results = seed_results(here)
    if len(results) == SEEDS:
        st.markdown(f"**{verdict(results, here.what.name)}**")
    else:
        st.markdown(
            f"{len(results)} of {SEEDS} seeds are trained with these settings. Each splits the texts anew, and draws "
            "other first weights and another order."
        )
    if results:
        names = [f"seed {one.seed}" for one in results]
        shares = {TITLES[name]: [one.share(name).value for one in results] for name in NAMES}
        left, right = st.columns(2, gap="medium")
        with left:
            show_plot(seeds(shares, names, palette()), "class_seeds")
        with right:
            st.table(table(results))
    if not (state.get("lecture") or commands.is_live()):
        first = state.get("seed")
        st.button(
            f"Train with seeds {first} to {first + SEEDS - 1}", key="class_five", on_click=commands.train_five,
            args=(here.what,),
        )  # fmt: skip
    if not state.get("lecture"):
        st.caption(plain(origin(here)))
    notice("One split may be lucky: what holds for five is worth more than the best of them.")


def table(results: list[SeedResult]) -> pd.DataFrame:
    """Return the accuracies in %: a row for each seed, then their mean and range."""
    found = spreads(results) if results else {}
    rows = {str(one.seed): {TITLES[name]: percent(one.share(name).value) for name in NAMES} for one in results}
    if found:
        rows["mean"] = {TITLES[name]: percent(found[name].mean) for name in NAMES}
        rows["range"] = {TITLES[name]: _range(found[name]) for name in NAMES}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("seed")


def _range(spread: Spread) -> str:
    return f"{number(100 * spread.low, 0)} to {percent(spread.high, 0)}"

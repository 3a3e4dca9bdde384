"""Parameters of each part, and multiplications and memory as the text grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from attnviz.measures.cost import BERT_BASE, PAPER_BASE, cost, equal_at, maps_in_words, parameters
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.sources.shown import ShownPart


PART_NAMES = {"feed_forward": "feed-forward"}
LENGTHS = tuple(2**power for power in range(3, 18))
UNITS = {"multiplications": "multiplications", "nbytes": "bytes"}


def show_parameters(here: ShownPart) -> None:
    """Show the numbers of parameters as a table."""
    own = {PART_NAMES.get(name, name): count for name, count in here.model.description.parameters.items()}
    columns = {
        here.model.name: own,
        "BERT-base": parameters(BERT_BASE),
        "the paper's base": parameters(PAPER_BASE),
    }
    parts = list(dict.fromkeys(part for counts in columns.values() for part in counts))
    table = pd.DataFrame(
        {name: [counts.get(part, 0) for part in parts] + [sum(counts.values())] for name, counts in columns.items()},
        index=[*parts, "together"],
    )
    st.table(table.map(lambda count: f"{count:,}" if count else "–"))
    sizes = here.model.description.sizes
    st.caption(
        plain(
            "In BERT and in the paper, an attention has 4 · (C² + C) and a feed-forward 2 · C · F + F + C. The number "
            "of heads changes nothing: the same matrices are split among them. "
            + ("" if sizes is None else f"{here.model.name}: {maps_in_words(sizes)}")
        )
    )


def show_cost(here: ShownPart) -> None:
    """Show what a forward pass costs at lengths from 8 to 131,072 tokens."""
    sizes = here.model.description.sizes
    if sizes is None:
        st.info(
            "This model multiplies in a way that is not known here, such as by experts, so its cost is not counted."
        )
        return
    from attnviz.figures.plots import lines

    tokens = len(here.tokens())
    by_length = [cost(sizes, length) for length in LENGTHS]
    st.markdown(
        f"Scores and weighted values grow with T², all else with T. At **{equal_at(sizes):,.0f} tokens** both cost the "
        f"same number of multiplications; in a longer text, scores and values cost more. Here T = {tokens}."
    )
    for place, (field, unit) in zip(st.columns(2), UNITS.items(), strict=True):
        named = {part.name: [getattr(one[n], field) for one in by_length] for n, part in enumerate(by_length[0])}
        series = _together(named)
        with place:
            plot(
                lines(
                    series, LENGTHS, palette(), title=unit, across="tokens T", is_logarithmic=True,
                    marked=tokens,
                ),
                f"check_{field}",
            )  # fmt: skip
    st.caption(f"{maps_in_words(sizes)} One pass in float32; logits, norms, activations and softmax are left out.")


def _together(series: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Give equal lines one name, so that none is hidden by another, and mark those that grow with T²."""
    found: dict[str, Sequence[int]] = {}
    for numbers in dict.fromkeys(map(tuple, series.values())):
        names = [name for name, own in series.items() if tuple(own) == numbers]
        each = ", each" if len(names) > 1 else ""
        power = " (T²)" if numbers[-1] == numbers[-2] * (LENGTHS[-1] // LENGTHS[-2]) ** 2 else ""
        found[f"{' and '.join(names)}{each}{power}"] = numbers
    return found

"""Cost: multiplications and memory of each part as the text grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.measures.transformer.cost import Sizes, cost, equal_at
from attnviz.ui.palette import palette
from attnviz.ui.walk.checks import plot

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart

LENGTHS = tuple(2**power for power in range(3, 18))
UNITS = {"multiplications": "multiplications", "nbytes": "bytes"}


def show(here: ShownPart) -> None:
    """Show what a forward pass costs at lengths from 8 to 131,072 tokens."""
    description = here.model.description
    if description.feed_forward is None:
        st.info("The width of its feed-forward is not known.")
        return
    from attnviz.figures.plots import lines

    counts, tokens = description.layers, len(here.tokens())
    crosses = counts["cross"][0] if "cross" in counts else 0
    layers = sum(count for count, _ in counts.values()) - crosses
    sizes = Sizes(description.width, next(iter(counts.values()))[1], description.feed_forward, layers, crosses)
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
    st.caption("One forward pass of the blocks in float32. Logits, norms, activations and softmax are left out.")


def _together(series: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Give equal lines one name, so that none is hidden by another, and mark those that grow with T²."""
    found: dict[str, Sequence[int]] = {}
    for numbers in dict.fromkeys(map(tuple, series.values())):
        names = [name for name, own in series.items() if tuple(own) == numbers]
        each = ", each" if len(names) > 1 else ""
        power = " (T²)" if numbers[-1] == numbers[-2] * (LENGTHS[-1] // LENGTHS[-2]) ** 2 else ""
        found[f"{' and '.join(names)}{each}{power}"] = numbers
    return found

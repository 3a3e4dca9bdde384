"""What the browser's board is sent of a layout: the step's own numbers, and a range that holds them."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures.steps import lay_out
from tests.pictures import board_picture
from tests.unit.figures.test_steps import LABELS, walk
from tests.unit.steps.test_attention import COMPUTED

SIGNED = {"embeddings", "query", "key", "key_t", "value", "scores", "scaled", "masked", "head_outputs", "output"}


@pytest.mark.parametrize("step", COMPUTED)
def test_the_range_of_a_matrix_holds_its_numbers_and_signed_ones_have_zero_in_the_middle(step: str) -> None:
    header, arrays = board_picture(lay_out(walk(causal=True), step), {"query": LABELS, "key": LABELS})
    assert header["labels"] == {"query": list(LABELS), "key": list(LABELS)}
    placed = [number for row in header["grid"] for number in row if number is not None]
    assert sorted(placed) == list(range(len(header["panels"])))
    for number, panel in enumerate(header["panels"]):
        seen = arrays[str(number)]
        seen = seen[np.isfinite(seen)]
        assert panel["low"] <= seen.min() <= seen.max() <= panel["high"] + 1e-6, panel["name"]
        if panel["name"] in SIGNED:
            assert panel["low"] == -panel["high"] < 0, panel["name"]
        if panel["name"] == "weights":
            assert (panel["low"], panel["high"]) == (0, 1)

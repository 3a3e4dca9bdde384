"""Numbers and places of layers, and what is said of a model, as a user reads it."""

from __future__ import annotations

import pytest

from attnviz.trace.model import (
    Description,
    Place,
    by_kind,
    either,
    layers_in_words,
    no_layer,
    numbered,
    places,
)

BOTH = Description(
    "tiny", {"encoder": (2, 4), "decoder": (1, 3), "cross": (1, 3)}, 32, 8,
    numbers={"decoder": (5,), "cross": (3,)}, head_sizes={"encoder": (8, 512)},
    depths={"decoder": 6},
)  # fmt: skip


def test_layers_without_numbers_are_counted_from_0() -> None:
    assert BOTH.numbers == {"encoder": (0, 1), "decoder": (5,), "cross": (3,)}
    assert numbered({"decoder": 2}, {"decoder": (0, 7)}) == {"decoder": (0, 7)}
    assert BOTH.depths == {"encoder": 2, "decoder": 6, "cross": 1}
    for wrong in ((1,), (1, 2, 3), (2, 2), (3, 2), (-1, 0)):
        with pytest.raises(ValueError, match="2 decoder layers can't have the numbers"):
            numbered({"decoder": 2}, {"decoder": wrong})


def test_places_are_in_the_order_of_computation() -> None:
    found = places({"cross": (1, 3), "decoder": (0, 1, 3), "encoder": (0, 2)})
    assert [one.name for one in found] == [
        "encoder block 0", "encoder block 2",
        "decoder block 0",
        "decoder block 1", "decoder block 1, attention to the encoder",
        "decoder block 3", "decoder block 3, attention to the encoder",
    ]  # fmt: skip
    assert [one.stack for one in found] == ["encoder"] * 2 + ["decoder"] * 5


def test_a_layer_that_is_not_there_is_named_with_those_that_are() -> None:
    assert no_layer(6, (0, 1, 2)) == "layer 6 does not exist: layers go from 0 to 2"
    assert no_layer(2, (3, 7)) == "layer 2 has no attention: this model has it in layers 3 and 7"
    words = [layers_in_words(numbers) for numbers in ((3,), (1, 3), (3, 7, 11))]
    assert words == ["layer 3", "layers 1 and 3", "layers 3, 7 and 11"]


def test_sizes_in_words() -> None:
    assert [either(numbers) for numbers in ((8, 8), (512, 8), (1536, 4, 8, 4))] == ["8", "8 or 512", "4, 8 or 1,536"]
    assert by_kind({"encoder": "4", "decoder": "4"}) == "4"
    assert by_kind({"encoder": "4", "decoder": "2", "cross": "2"}) == "encoder 4, decoder and cross 2"
    assert BOTH.heads_and_sizes == "encoder 4 × 8 or 512, decoder and cross 3 × 8"
    assert Description("one", {"encoder": (3, 4)}, 32, 8).heads_and_sizes == "4 × 8"
    assert repr(BOTH) == (
        "Description(tiny, encoder 2 layers x 4 heads, decoder 1 layers x 3 heads, cross 1 layers x 3 heads, "
        "width 32, head_size encoder 8 or 512, decoder and cross 8)"
    )
    at = [BOTH.head_size_at(Place(*one)) for one in (("encoder", 0), ("encoder", 1), ("decoder", 5), ("cross", 3))]
    assert at == [8, 512, 8, 8]
    assert BOTH.is_checked

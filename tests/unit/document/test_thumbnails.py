"""The thumbnails of a layer in its document."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnviz.document import document_of_layer, read, write
from attnviz.measures.thumbnails import hidden_thumbnail, thumbnails
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.toy import run_block


def walk(**config: Any) -> Walk:
    return run_block((4, 8, 15, 16, 23), ToyConfig(heads=3, **config)).walk(0, 1)


@pytest.mark.parametrize("causal", [False, True])
def test_thumbnails_are_held_as_they_are_given_with_the_cells_that_the_mask_hides(causal: bool) -> None:
    one = walk(causal=causal)
    small = thumbnails(one.layer.attentions().numpy())
    arrays = read(write(document_of_layer(one, thumbnails=small))).arrays
    np.testing.assert_array_equal(arrays["thumbnails"], small)
    assert ("hidden_thumbnail" in arrays) == causal
    if causal:
        np.testing.assert_array_equal(arrays["hidden_thumbnail"], hidden_thumbnail(one.layer.hidden(0).numpy()))
    assert "thumbnails" not in document_of_layer(one).arrays

"""What kind of mask is recorded in tiny random models of transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnviz.pretrained import load
from tests.unit.families import save

WANTED = {
    "bert": {"encoder": "none"},
    "gpt2": {"decoder": "causal"},
    "llama": {"decoder": "causal"},
    "bart": {"encoder": "none", "decoder": "causal", "cross": "none"},
    "t5": {"encoder": "other", "decoder": "other", "cross": "none"},
}
"""T5 adds relative positions to the scores of both of its self-attentions."""


@pytest.mark.parametrize("family", WANTED)
def test_models_masks_are_known_for_what_they_are(family: str, tmp_path: Path) -> None:
    trace = load(str(save(family, tmp_path))).trace("the cat sat on the mat", "and the dog")
    found = {kind: {layer.mask.kind for layer in layers} for kind, layers in trace.layers.items()}
    assert found == {kind: {mask} for kind, mask in WANTED[family].items()}
    for kind, layers in trace.layers.items():
        assert len({id(layer.mask) for layer in layers}) == 1 or WANTED[family][kind] == "other"


def test_one_token_has_no_future_to_hide(tmp_path: Path) -> None:
    assert load(str(save("gpt2", tmp_path))).trace("a").layer(0).mask.kind == "none"

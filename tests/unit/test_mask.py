"""What kind of mask a mask is: from its cells, and as recorded in tiny random models of transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attnviz.attention import Mask, attend, causal_mask
from attnviz.pretrained import load
from attnviz.trace.layer import LayerTrace
from tests.unit.families import save

HIDES = -torch.inf
PADDED = torch.tensor([[True, True, False]] * 3)
BIAS = torch.tensor([[0.0, 0.5, 0.0]] * 3)


def as_float(seen: torch.Tensor) -> torch.Tensor:
    return torch.zeros(seen.shape).masked_fill(~seen, HIDES)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (None, "none"),
        (torch.ones(3, 3).bool(), "none"),
        (torch.zeros(1, 3, 3), "none"),
        (causal_mask(3), "causal"),
        (as_float(causal_mask(3))[None], "causal"),
        (causal_mask(3).expand(2, 3, 3), "causal"),
        (causal_mask(3).T, "other"),
        (torch.stack([causal_mask(3), PADDED]), "other"),
        (PADDED, "padding"),
        (as_float(PADDED)[None], "padding"),
        (PADDED[:1], "padding"),
        (causal_mask(3) & PADDED, "other"),
        (BIAS, "other"),
        (as_float(causal_mask(3)) + BIAS.T, "other"),
    ],
)
def test_cells_say_what_kind_they_are(cells: torch.Tensor | None, kind: str) -> None:
    assert Mask.recognise(cells).kind == kind


def test_what_hides_keys_of_another_text_is_a_mask_of_cross_attention() -> None:
    assert Mask.recognise(causal_mask(3), crosses=True).kind == "cross"
    assert Mask.recognise(BIAS, crosses=True).kind == "other"
    assert Mask.recognise(torch.zeros(3, 3), crosses=True).kind == "none"


def test_a_kind_without_its_cells_is_refused() -> None:
    with pytest.raises(ValueError, match="causal"):
        Mask("causal")
    with pytest.raises(ValueError, match="none"):
        Mask("none", causal_mask(2))


def test_only_what_moves_visible_cells_adds() -> None:
    assert Mask.recognise(BIAS).adds
    assert not Mask.recognise(as_float(causal_mask(3))).adds
    assert not Mask.recognise(causal_mask(3)).adds
    assert not Mask().adds


def test_attend_takes_a_mask_as_it_takes_its_cells() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(attend(x, x, x, mask=Mask.causal(3)).weights, attend(x, x, x, mask=causal_mask(3)).weights)
    assert torch.equal(attend(x, x, x, mask=Mask()).weights, attend(x, x, x).weights)


@pytest.mark.parametrize("cells", [causal_mask(3), as_float(causal_mask(3)), as_float(causal_mask(3))[None]])
def test_hidden_is_what_can_not_be_seen(cells: torch.Tensor) -> None:
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, x, 1.0, Mask.recognise(cells))
    assert layer.hidden(1).tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert torch.equal(layer.hidden(0), layer.head(0).masked.isneginf())


def test_heads_may_have_masks_of_their_own() -> None:
    mask = Mask.recognise(torch.stack([causal_mask(3), PADDED]))
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, x, 1.0, mask)
    assert torch.equal(layer.hidden(0), ~causal_mask(3))
    assert torch.equal(layer.hidden(1), ~PADDED)


@pytest.mark.parametrize("start", [Mask(), Mask.causal(3), Mask.recognise(PADDED), Mask.recognise(BIAS)])
def test_a_causal_mask_on_top_hides_the_future_and_nothing_else(start: Mask) -> None:
    both = start.and_causal(3)
    assert torch.equal(both.hidden((3, 3)), start.hidden((3, 3)) | ~causal_mask(3))
    assert both.adds == start.adds


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

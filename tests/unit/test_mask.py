"""What kind of mask a mask is, from its cells."""

from __future__ import annotations

import pytest
import torch

from attnviz.attention import Mask, attend, causal_mask

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


@pytest.mark.parametrize("start", [Mask(), Mask.causal(3), Mask.recognise(PADDED), Mask.recognise(BIAS)])
def test_a_causal_mask_on_top_hides_the_future_and_nothing_else(start: Mask) -> None:
    both = start.and_causal(3)
    assert torch.equal(both.hidden((3, 3)), start.hidden((3, 3)) | ~causal_mask(3))
    assert both.adds == start.adds

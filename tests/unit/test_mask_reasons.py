"""Why a mask hides its cells: of every mask that is made of the future, padding and a window, and of no other."""

from __future__ import annotations

import pytest
import torch

from attnviz.compare.matrices import what_if
from attnviz.mask_reasons import REASONS, MaskReasons
from attnviz.steps import WALK
from attnviz.toy.config import ToyConfig
from tests.toy import run_block


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [None, 1, 2, 3, 4, 5, 7, 40])
@pytest.mark.parametrize("padding", [0, 1, 2, 3, 20])
def test_the_parts_of_a_mask_hide_its_cells_each_for_its_reason(
    n: int, causal: bool, window: int | None, padding: int
) -> None:
    layer = run_block(range(n), ToyConfig(causal=causal, window=window, padding=padding)).layer(0)
    hidden = layer.hidden(0)
    reasons, told = layer.mask_reasons or MaskReasons(), MaskReasons.of(hidden)
    codes = reasons.codes(n, n)
    assert (codes > 0).tolist() == hidden.tolist()
    for q in range(n):
        for k in range(n):
            why = "padding" if k < padding else "future" if k > q and causal else "window"
            assert not hidden[q, k] or REASONS[codes[q, k] - 1] == why
    by_loop = {reason: int((codes == 1 + place).sum()) for place, reason in enumerate(REASONS)}
    assert reasons.counts(n, n) == {reason: count for reason, count in by_loop.items() if count}
    assert told is not None and told.codes(n, n).astype(bool).tolist() == hidden.tolist()
    if causal or window != 1:  # a window of 1 looks like a causal one
        assert (told.codes(n, n) == codes).all()


def test_a_window_of_one_key_has_no_future() -> None:
    walk = run_block(range(4), ToyConfig(window=1)).walk(0, 0)
    assert walk.layer.mask_reasons == MaskReasons(window=(0, 0))
    assert what_if(walk.layer, None, causal=True).mask_reasons == MaskReasons(True, (0, 0))
    assert "12 of 16 cells are hidden." in str(WALK["masked"].fact(walk))


def test_padding_of_another_text_has_its_reason_and_a_shape_of_its_own() -> None:
    hidden = torch.zeros(2, 3, 5, dtype=torch.bool)
    hidden[..., 3:] = True
    assert MaskReasons.of(hidden) == MaskReasons(padding=(3, 4))
    assert MaskReasons(padding=(3, 4)).codes(3, 5).tolist() == [[0, 0, 0, 3, 3]] * 3


HOLE = torch.ones(5, 5, dtype=torch.bool).triu(1)
HOLE[4, 2] = True
UNEVEN = torch.ones(6, 6, dtype=torch.bool).triu(2) | torch.ones(6, 6, dtype=torch.bool).tril(-3)
LATER_ONLY = torch.ones(4, 4, dtype=torch.bool).tril()
LATER_ONLY[3, 3] = False
BY_HEAD = torch.stack([torch.ones(4, 4, dtype=torch.bool).triu(1), torch.zeros(4, 4, dtype=torch.bool)])


@pytest.mark.parametrize("hidden", [HOLE, UNEVEN, LATER_ONLY, BY_HEAD, HOLE[:4]])
def test_of_another_mask_no_reason_is_given(hidden: torch.Tensor) -> None:
    assert MaskReasons.of(hidden) is None

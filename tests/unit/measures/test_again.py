"""A head's numbers computed again: scores in a loop, and rows from their past, against torch and shorter texts."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from attnviz.measures.recomputed import LOOP, MOST_LOOPED, PRODUCT, NoPastError, rows_from_past, scores_by_loop
from attnviz.toy.config import ToyConfig
from attnviz.trace.layer import LayerTrace
from tests.loaded import built_in_model
from tests.toy import run_block

IDS = (4, 8, 15, 16, 23, 42)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("width", [1, 8, 64])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (5, 7), (MOST_LOOPED, MOST_LOOPED)])
def test_the_loop_gives_the_scores_of_torch(queries: int, keys: int, width: int) -> None:
    query, key = drawn(queries, width), drawn(keys, width) * 3
    found = scores_by_loop(query, key)
    assert found.are_equal
    torch.testing.assert_close(found.by_loop, torch.einsum("id,jd->ij", query, key))
    exact = query.double() @ key.double().T
    for one in (found.by_loop, found.by_product):
        assert ((one - exact).abs() <= found.rounding / 2).all()
    q, k = found.at
    assert found.gaps[q, k] == found.largest == (found.by_loop - query @ key.T).abs().max()


def test_the_lines_that_are_shown_give_these_scores() -> None:
    space = {"torch": torch, "query": drawn(4, 8), "key": drawn(3, 8)}
    found = scores_by_loop(space["query"], space["key"])
    for lines, scores in ((LOOP, found.by_loop), (PRODUCT, found.by_product)):
        exec(lines, space)
        assert torch.equal(space["scores"], scores)


def test_other_numbers_are_not_equal() -> None:
    found = scores_by_loop(drawn(4, 8), drawn(3, 8))
    found.by_loop[2, 1] += 1e-3
    assert not found.are_equal
    assert found.at == (2, 1)


@pytest.mark.parametrize(("queries", "keys"), [(0, 3), (3, 0), (MOST_LOOPED + 1, 3), (3, MOST_LOOPED + 1)])
def test_a_loop_of_too_many_is_refused(queries: int, keys: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {MOST_LOOPED}"):
        scores_by_loop(drawn(queries, 8), drawn(keys, 8))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("qkv", ["linear", "identity", "positions"])
def test_a_row_from_its_past_is_the_last_row_of_a_shorter_text(qkv: str, causal: bool) -> None:
    config = ToyConfig(qkv=qkv, causal=causal, heads=3, bias=True)  # type: ignore[arg-type]
    head = 0 if qkv == "identity" else 2
    layer = run_block(IDS, config).layer(0)
    found = rows_from_past(layer, head)
    for row in range(len(IDS)):
        shorter = run_block(IDS[: row + 1], config).layer(0).head(head).head_outputs[-1]
        torch.testing.assert_close(found.alone[row], shorter)
    torch.testing.assert_close(found.whole, layer.head(head).head_outputs)
    is_causal = causal and qkv != "positions"
    assert found.differing == ([] if is_causal else list(range(len(IDS) - 1)))
    assert (float(found.gaps.max()) < 1e-5) == is_causal


def test_rows_are_those_of_torch_without_a_mask() -> None:
    layer = run_block(IDS, ToyConfig(scale="0.5", seed=3)).layer(0)
    found, x = rows_from_past(layer, 1), layer.query_input
    assert x is not None
    assert layer.projections is not None
    for end in range(1, len(IDS) + 1):
        maps = [layer.projections[name].weight for name in ("query", "key", "value")]
        query, key, value = ((x[:end] @ one[1])[None] for one in maps if one is not None)
        row = F.scaled_dot_product_attention(query, key, value, scale=0.5)[0, -1]
        torch.testing.assert_close(found.alone[end - 1], row)
    torch.testing.assert_close(found.gaps, (found.whole - found.alone).abs().amax(1))


def test_a_finite_mask_leaks_into_rows_that_see_nothing() -> None:
    padded = {"causal": True, "padding": 2}
    finite = rows_from_past(run_block(IDS, ToyConfig(**padded, mask_value="-1e10")).layer(0), 0)  # type: ignore[arg-type]
    assert finite.differing == [0, 1]
    infinite = rows_from_past(run_block(IDS, ToyConfig(**padded)).layer(0), 0)  # type: ignore[arg-type]
    assert infinite.differing == []


def test_a_head_of_a_model_that_looks_both_ways_has_no_causal_rows_but_the_last() -> None:
    layer = built_in_model().trace("The animal was too tired.").layer(3)
    found = rows_from_past(layer, 5)
    assert found.is_projected
    assert found.differing == list(range(layer.query.shape[1] - 1))


def test_where_projections_are_not_known_queries_and_keys_are_those_of_the_text() -> None:
    given = run_block(IDS, ToyConfig(causal=True)).layer(0)
    found = rows_from_past(LayerTrace(given.query, given.key, given.value, given.scale, given.mask), 0)
    assert not found.is_projected
    assert found.differing == []


def test_rows_of_another_text_have_no_past() -> None:
    given = run_block(IDS, ToyConfig()).layer(0)
    other = LayerTrace(given.query, given.key[:, :4], given.value[:, :4], math.sqrt(1 / 8))
    with pytest.raises(NoPastError, match="another text"):
        rows_from_past(other, 0)

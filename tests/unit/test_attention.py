"""`attend` against torch's own attention, a second implementation in numpy, and cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnviz.attention import Mask, Masked, attend, causal_mask, padding_mask


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def qkv(*lead: int, tq: int = 5, tk: int = 7, d: int = 4, seed: int = 0) -> tuple[torch.Tensor, ...]:
    return random(*lead, tq, d, seed=seed), random(*lead, tk, d, seed=seed + 1), random(*lead, tk, d, seed=seed + 2)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=["one head", "heads", "batch and heads"])
@pytest.mark.parametrize("kind", ["none", "causal", "bool", "float"])
@pytest.mark.parametrize("scale", [None, 1.0, 0.125], ids=["1/√D", "off", "1/8"])
def test_equals_torchs_own(lead: tuple[int, ...], kind: str, scale: float | None) -> None:
    query, key, value = qkv(*lead, tq=6, tk=6)
    mask = {
        "none": None,
        "causal": causal_mask(6),
        "bool": random(6, 6, seed=9) > -1,
        "float": random(6, 6, seed=9),
    }[kind]
    steps = attend(query, key, value, mask=mask, scale=scale)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    torch.testing.assert_close(steps.head_outputs, expected, rtol=1e-5, atol=1e-6)


def test_cross_attention_shapes() -> None:
    query, key, value = qkv(2, tq=3, tk=8)
    steps = attend(query, key, value)
    assert steps.scores.shape == steps.weights.shape == (2, 3, 8)
    assert steps.head_outputs.shape == (2, 3, 4)
    assert steps.concat.shape == (3, 8)
    torch.testing.assert_close(steps.head_outputs, F.scaled_dot_product_attention(query, key, value))


def test_every_step_equals_numpy() -> None:
    query, key, value = qkv(2, tq=4, tk=4)
    steps = attend(query, key, value, mask=causal_mask(4))
    q, k, v = (t.numpy().astype(np.float64) for t in (query, key, value))
    scores = np.einsum("hid,hjd->hij", q, k)
    scaled = scores / np.sqrt(4)
    masked = np.where(np.arange(4)[None, :] <= np.arange(4)[:, None], scaled, -np.inf)
    exps = np.exp(masked - masked.max(-1, keepdims=True))
    weights = exps / exps.sum(-1, keepdims=True)
    outputs = np.einsum("hij,hjd->hid", weights, v)
    for name, expected in (
        ("scores", scores), ("scaled", scaled), ("masked", masked), ("weights", weights), ("head_outputs", outputs),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(steps, name).numpy(), expected, rtol=1e-5, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(steps.concat.numpy(), np.concatenate(list(outputs), axis=1), rtol=1e-5, atol=1e-6)


def test_two_by_two_by_hand() -> None:
    """q·k = [[1, 0], [0, 2]]; off-diagonal e^0 = 1, so the rows are [e, 1]/(e + 1) and [1, e²]/(1 + e²)."""
    query = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    key = torch.eye(2)
    value = torch.tensor([[10.0, 0.0], [0.0, 20.0]])
    steps = attend(query, key, value, scale=1.0)
    e = math.e
    assert steps.scores.tolist() == [[1, 0], [0, 2]]
    rows = [[e / (e + 1), 1 / (e + 1)], [1 / (1 + e**2), e**2 / (1 + e**2)]]
    torch.testing.assert_close(steps.weights, torch.tensor(rows))
    torch.testing.assert_close(
        steps.head_outputs, torch.tensor([[10 * e / (e + 1), 20 / (e + 1)], [10 / (1 + e**2), 20 * e**2 / (1 + e**2)]])
    )


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=["one head", "heads", "batch and heads"])
@pytest.mark.parametrize("kind", ["none", "causal", "float", "rows without keys"])
def test_a_soft_cap_and_a_sink_equal_numpy(lead: tuple[int, ...], kind: str) -> None:
    query, key, value = qkv(*lead, tq=6, tk=6)
    hides = causal_mask(6) & (torch.arange(6) > 1)
    mask = {"none": None, "causal": causal_mask(6), "float": random(6, 6, seed=9), "rows without keys": hides}[kind]
    sinks = random(*lead[-1:], 1, 1, seed=5)
    steps = attend(query, key, value, mask=mask, scale=2.0, cap=1.5, sinks=sinks)
    scaled = 2 * np.einsum("...id,...jd->...ij", query.double().numpy(), key.double().numpy())
    capped = 1.5 * np.tanh(scaled / 1.5)
    added = 0 if mask is None else mask.numpy() if mask.is_floating_point() else np.where(mask.numpy(), 0, -np.inf)
    exps, ofsink = np.exp(capped + added), np.exp(sinks.double().numpy())
    sums = exps.sum(-1, keepdims=True) + ofsink
    weights = exps / sums
    for name, expected in (
        ("scaled", scaled), ("capped", capped), ("masked", capped + added), ("weights", weights),
        ("sink", ofsink / sums), ("head_outputs", weights @ value.double().numpy()),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(steps, name).numpy(), expected, rtol=1e-5, atol=1e-6, err_msg=name)
    assert steps.sink is not None and steps.sink.shape == (*lead, 6, 1)
    torch.testing.assert_close(steps.weights.sum(-1) + steps.sink[..., 0], torch.ones(*lead, 6))
    if kind == "rows without keys":
        assert bool((steps.sink[..., :2, 0] == 1).all()), "the sink takes all of a row that sees no key"


@pytest.mark.parametrize("kind", ["none", "causal", "float", "rows without keys"])
@pytest.mark.parametrize("shape", [(6, 6), (1, 6), (3, 6, 6), (3, 1, 6)])
def test_a_position_bias_is_added_after_the_cap_and_before_the_mask(shape: tuple[int, ...], kind: str) -> None:
    query, key, value = qkv(3, tq=6, tk=6)
    hides = causal_mask(6) & (torch.arange(6) > 1)
    mask = {"none": None, "causal": causal_mask(6), "float": random(6, 6, seed=9), "rows without keys": hides}[kind]
    bias = random(*shape, seed=7)
    steps = attend(query, key, value, mask=mask, scale=2.0, cap=1.5, position_bias=bias)
    capped = 1.5 * np.tanh(2 * np.einsum("hid,hjd->hij", query.double().numpy(), key.double().numpy()) / 1.5)
    biased = capped + bias.double().numpy()
    added = 0 if mask is None else mask.numpy() if mask.is_floating_point() else np.where(mask.numpy(), 0, -np.inf)
    exps = np.exp(biased + added)
    sums = exps.sum(-1, keepdims=True)
    weights = np.divide(exps, sums, out=np.zeros_like(exps), where=sums > 0)
    for name, expected in (
        ("capped", capped), ("biased", biased), ("masked", biased + added), ("weights", weights),
        ("head_outputs", weights @ value.double().numpy()),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(steps, name).numpy(), expected, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_number_that_fills_hidden_cells_gets_no_position_bias() -> None:
    query, key, value = qkv(tq=4, tk=4)
    bias, visible = random(4, 4, seed=7), causal_mask(4)
    for cap, fills, expected in ((None, "scaled", -1e10), (None, "scores", -5e9), (2.0, "scores", -2.0)):
        mask = Mask("causal", visible, -1e10, fills)  # type: ignore[arg-type]
        steps = attend(query, key, value, mask=mask, scale=0.5, cap=cap, position_bias=bias)
        assert bool((steps.masked[~visible] == expected).all())
        torch.testing.assert_close(steps.masked[visible], steps.biased[visible])


def test_a_position_bias_that_does_not_fit_is_refused_and_none_changes_nothing() -> None:
    query, key, value = qkv(2, tq=4, tk=4)
    with pytest.raises(ValueError, match=r"position bias \(3, 4, 4\) does not broadcast to scores \(2, 4, 4\)"):
        attend(query, key, value, position_bias=torch.zeros(3, 4, 4))
    steps = attend(query, key, value)
    assert steps.position_bias is None and steps.biased is steps.capped


def test_a_sink_is_torchs_own_attention_with_one_more_key_that_gives_nothing() -> None:
    query, key, value = qkv(2, tq=5, tk=5)
    sinks = random(2, 5, 1, seed=8)  # of each query
    added = torch.cat([torch.zeros(2, 5, 5), sinks], -1)
    expected = F.scaled_dot_product_attention(
        query[None], F.pad(key, (0, 0, 0, 1))[None], F.pad(value, (0, 0, 0, 1))[None], attn_mask=added[None]
    )[0]
    torch.testing.assert_close(attend(query, key, value, sinks=sinks).head_outputs, expected, rtol=1e-5, atol=1e-6)


def test_a_finite_number_before_the_scaling_is_capped_too() -> None:
    query, key, value = qkv(tq=4, tk=4)
    steps = attend(query, key, value, mask=Mask("causal", causal_mask(4), -1e10, "scores"), cap=2.0)
    assert bool((steps.masked[~causal_mask(4)] == -2).all())
    later = attend(query, key, value, mask=Mask("causal", causal_mask(4), -1e10), cap=2.0)
    assert bool((later.masked[~causal_mask(4)] == -1e10).all())
    assert torch.equal(steps.masked[causal_mask(4)], later.masked[causal_mask(4)])


def test_without_a_cap_and_a_sink_nothing_changes() -> None:
    query, key, value = qkv(2, tq=4, tk=4)
    steps = attend(query, key, value, mask=causal_mask(4))
    assert (steps.cap, steps.sinks, steps.sink) == (None, None, None)
    assert steps.capped is steps.scaled


def test_caps_and_sinks_that_do_not_fit_are_refused() -> None:
    query, key, value = qkv(2, tq=4, tk=4)
    for cap in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="is not above 0"):
            attend(query, key, value, cap=cap)
    with pytest.raises(ValueError, match=r"sinks \(3, 1, 1\) do not broadcast to \(2, 4, 1\)"):
        attend(query, key, value, sinks=torch.zeros(3, 1, 1))


def test_causal_two_by_two_by_hand() -> None:
    steps = attend(torch.ones(2, 1), torch.ones(2, 1), torch.tensor([[4.0], [8.0]]), mask=causal_mask(2))
    assert steps.weights.tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert steps.head_outputs.tolist() == [[4.0], [6.0]]
    assert steps.masked[0, 1] == -math.inf


@pytest.mark.parametrize("causal", [False, True])
def test_equals_multihead_attention_with_copied_weights(causal: bool) -> None:
    """Per-head weights and the output, from projections cut the way `nn.MultiheadAttention` cuts them."""
    t, c, h = 6, 12, 3
    module = nn.MultiheadAttention(c, h, batch_first=True).eval()
    with torch.no_grad():
        module.in_proj_bias.copy_(random(3 * c))
        x = random(1, t, c, seed=3)
        blocked = ~causal_mask(t) if causal else None
        expected, wanted_weights = module(x, x, x, attn_mask=blocked, average_attn_weights=False)
        maps = zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3), strict=True)
        heads = [(x @ w.T + b).unflatten(-1, (h, c // h)).transpose(1, 2) for w, b in maps]  # 3 x (B, H, T, D)
        steps = attend(*heads, mask=causal_mask(t) if causal else None)
        output = steps.concat @ module.out_proj.weight.T + module.out_proj.bias
    torch.testing.assert_close(steps.weights, wanted_weights)
    torch.testing.assert_close(output, expected)


def test_padding_mask_equals_key_padding_in_multihead_attention() -> None:
    lengths = torch.tensor([5, 2])
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = random(2, 5, 8)
    with torch.no_grad():
        _, expected = module(x, x, x, key_padding_mask=torch.arange(5) >= lengths[:, None], average_attn_weights=False)
        maps = zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3), strict=True)
        heads = [(x @ w.T + b).unflatten(-1, (2, 4)).transpose(1, 2) for w, b in maps]
        steps = attend(*heads, mask=padding_mask(lengths, 5))
    torch.testing.assert_close(steps.weights, expected)
    assert steps.weights[1, :, :, 2:].eq(0).all()


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_a_wholly_hidden_row_gives_zeros(dtype: torch.dtype) -> None:
    seen = torch.tensor([[True, True], [False, False]])
    mask = seen if dtype == torch.bool else torch.zeros(2, 2).masked_fill(~seen, -math.inf)
    steps = attend(*qkv(tq=2, tk=2), mask=mask)
    assert steps.weights[1].tolist() == [0.0, 0.0]
    assert steps.head_outputs[1].eq(0).all()
    assert steps.weights[0].sum() == pytest.approx(1)


def test_a_sequence_that_is_all_padding_gives_zeros() -> None:
    steps = attend(*qkv(2, 1, tq=3, tk=3), mask=padding_mask(torch.tensor([0, 3]), 3))
    assert steps.weights[0].eq(0).all()
    assert not steps.head_outputs.isnan().any()


@pytest.mark.parametrize(("tq", "tk"), [(1, 1), (0, 0), (0, 3), (3, 0)])
def test_one_token_and_none(tq: int, tk: int) -> None:
    steps = attend(*qkv(2, tq=tq, tk=tk))
    assert steps.weights.shape == (2, tq, tk)
    assert not steps.head_outputs.isnan().any()
    if tk == 1:
        assert steps.weights.eq(1).all()


@pytest.mark.parametrize(
    ("shapes", "both"),
    [
        (((3, 4), (3, 5), (3, 5)), ["(3, 4)", "(3, 5)"]),
        (((3, 4), (3, 4), (2, 4)), ["(3, 4)", "(2, 4)"]),
        (((2, 3, 4), (1, 3, 4), (1, 3, 4)), ["(2, 3, 4)", "(1, 3, 4)"]),
        (((2, 3, 4), (2, 3, 4), (1, 3, 4)), ["(2, 3, 4)", "(1, 3, 4)"]),
        (((3, 0), (3, 0), (3, 0)), ["(3, 0)"]),
        (((3,), (3, 4), (3, 4)), ["(3,)"]),
    ],
    ids=["head width", "keys and values", "heads", "heads of values", "no width", "too few axes"],
)
def test_wrong_shapes_name_both(shapes: tuple[tuple[int, ...], ...], both: list[str]) -> None:
    with pytest.raises(ValueError) as error:
        attend(*(torch.zeros(shape) for shape in shapes))
    for shape in both:
        assert shape in str(error.value)


@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (2, 1), (2, 3, 3), (3, 3, 3, 3), (1, 1, 3, 3), (2,)])
def test_a_mask_that_does_not_fit_names_both_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"mask .* does not broadcast to scores \(1, 3, 3\)"):
        attend(*qkv(1, tq=3, tk=3), mask=torch.zeros(shape))


def test_integers_are_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        attend(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2), torch.ones(2, 2))


@pytest.mark.parametrize("length", [-1, 4])
def test_padding_lengths_out_of_range(length: int) -> None:
    with pytest.raises(ValueError, match=rf"\[{length}\] do not lie between 0 and 3"):
        padding_mask(torch.tensor([length]), 3)


def test_steps_are_frozen() -> None:
    steps = attend(*qkv())
    with pytest.raises(AttributeError):
        steps.scaled = torch.zeros(1)  # type: ignore[misc]


sizes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 6), st.integers(0, 10_000))


@given(sizes)
def test_rows_sum_to_one(size: tuple[int, int, int, int]) -> None:
    tq, tk, d, seed = size
    steps = attend(*qkv(tq=tq, tk=tk, d=d, seed=seed))
    torch.testing.assert_close(steps.weights.sum(-1), torch.ones(tq))
    assert (steps.weights >= 0).all()


@given(st.integers(2, 9), st.integers(0, 10_000), st.data())
def test_a_later_token_never_changes_an_earlier_row(n: int, seed: int, data: st.DataObject) -> None:
    query, key, value = qkv(tq=n, tk=n, seed=seed)
    changed = data.draw(st.integers(1, n - 1))
    before = attend(query, key, value, mask=causal_mask(n))
    for tensor in (query, key, value):
        tensor[changed] += 3
    after = attend(query, key, value, mask=causal_mask(n))
    assert torch.equal(before.head_outputs[:changed], after.head_outputs[:changed])
    assert not torch.equal(before.head_outputs[changed:], after.head_outputs[changed:])


@given(st.permutations(range(6)), st.integers(0, 10_000))
def test_without_a_mask_order_does_not_matter(order: list[int], seed: int) -> None:
    """Permuting the tokens permutes the outputs, and permuting only keys and values changes nothing."""
    query, key, value = qkv(tq=6, tk=6, seed=seed)
    plain = attend(query, key, value).head_outputs
    torch.testing.assert_close(attend(query[order], key[order], value[order]).head_outputs, plain[order])
    torch.testing.assert_close(attend(query, key[order], value[order]).head_outputs, plain)


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


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_what_hides_nothing_is_no_value(value: float) -> None:
    with pytest.raises(ValueError, match="can't fill"):
        Mask("causal", causal_mask(2), value)


def test_a_finite_value_needs_cells_that_are_hidden_or_not() -> None:
    with pytest.raises(ValueError, match="bool"):
        Mask("causal", as_float(causal_mask(2)), -1e10)


@pytest.mark.parametrize("fills", ["scaled", "scores"])
@pytest.mark.parametrize("scale", [None, 0.125, -0.5, 0.0, 1e-10])
@pytest.mark.parametrize("seen", [causal_mask(5), causal_mask(5) & (torch.arange(5) > 1)], ids=["causal", "padded"])
def test_a_finite_value_gives_the_weights_of_masked_fill(
    seen: torch.Tensor, scale: float | None, fills: Masked
) -> None:
    query, key, value = torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(0)).unbind()
    steps = attend(query, key, value, mask=Mask("other", seen, -1e10, fills), scale=scale)
    factor = 0.5 if scale is None else scale
    scores = query @ key.mT
    if fills == "scaled":
        masked = (scores * factor).masked_fill(~seen, -1e10)
    else:
        masked = scores.masked_fill(~seen, -1e10) * factor
    assert torch.equal(steps.masked, masked)
    assert torch.equal(steps.weights, torch.softmax(masked, dim=-1))
    assert torch.equal(steps.hidden, (~seen).expand(2, 5, 5))
    held = Mask("other", seen, -1e10, fills).hidden_value(factor)
    assert masked[:, ~seen].unique().tolist() == pytest.approx([held] if (~seen).any() else [], rel=1e-6)


def test_rows_that_see_nothing_are_uniform_with_a_finite_value_and_empty_with_an_infinite_one() -> None:
    query, key, value = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)).unbind()
    seen = causal_mask(5) & (torch.arange(5) > 1)
    finite = attend(query, key, value, mask=Mask("other", seen, -1e10))
    infinite = attend(query, key, value, mask=Mask("other", seen))
    assert Mask("other", seen).hides_rows
    assert torch.equal(finite.weights[:2], torch.full((2, 5), 0.2))
    torch.testing.assert_close(finite.head_outputs[:2], value.mean(0).expand(2, 4))
    assert infinite.weights[:2].count_nonzero() == 0
    assert torch.softmax(infinite.masked, -1)[:2].isnan().all()
    assert torch.equal(finite.weights[2:], infinite.weights[2:])


def test_a_kind_without_its_cells_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a mask of kind causal with no cells$"):
        Mask("causal")
    with pytest.raises(ValueError, match=r"^a mask of kind none with its cells$"):
        Mask("none", causal_mask(2))


def test_a_mask_of_some_heads_has_their_cells_and_a_shared_one_is_that_of_each() -> None:
    cells = torch.stack([causal_mask(3), PADDED, causal_mask(3).T])
    three = Mask("other", cells, -5.0, "scores")
    one, two = three.of_heads(1), three.of_heads([2, 0])
    assert one.cells is not None
    assert two.cells is not None
    assert torch.equal(one.cells, PADDED)
    assert torch.equal(two.cells, cells[[2, 0]])
    assert (one.kind, one.value, one.fills) == ("other", -5, "scores")
    for shared in (Mask.recognise(PADDED), Mask.recognise(PADDED[None])):
        for heads in (2, [2, 0]):
            found = shared.of_heads(heads).cells
            assert found is not None
            assert torch.equal(found, PADDED)
    assert Mask().of_heads(2).cells is None


def test_hidden_cells_have_the_weights_of_what_fills_them() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    for value, held in ((-5.0, False), (-1e10, True), (-torch.inf, True)):
        steps = attend(x, x, x, mask=Mask("causal", causal_mask(3), value))
        assert torch.equal(steps.hidden_weights, ~causal_mask(3) & held)
    ends = Mask("causal", causal_mask(2), fills="scores")
    assert [ends.hidden_value(scale) for scale in (0.0, -0.5)] == [-torch.inf] * 2  # not 0 × −∞, and not +∞


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


@pytest.mark.parametrize("value", [-torch.inf, -2.0])
def test_in_training_weights_and_gradients_are_those_of_masked_fill(value: float) -> None:
    generator = torch.Generator().manual_seed(0)
    found = []
    for fills in (False, True):
        generator.manual_seed(0)
        query, key, values = (torch.randn(2, 3, 5, 4, generator=generator, requires_grad=True) for _ in range(3))
        if fills:
            scaled = query @ key.transpose(-2, -1) * 0.5
            outputs = scaled.masked_fill(~causal_mask(5), value).softmax(-1) @ values
        else:
            outputs = attend(query, key, values, mask=Mask("causal", causal_mask(5), value)).head_outputs
        outputs.square().sum().backward()
        found.append([outputs.detach(), *(one.grad for one in (query, key, values))])
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


def band(n: int, before: int, after: int) -> torch.Tensor:
    return torch.tensor([[-after <= q - k <= before for k in range(n)] for q in range(n)])


@pytest.mark.parametrize("as_cells", [lambda seen: seen, as_float, lambda seen: as_float(seen)[None].expand(3, -1, -1)])
@pytest.mark.parametrize(("n", "before", "after"), [(5, 2, 0), (5, 3, 0), (2, 0, 0), (6, 2, 2), (6, 1, 1), (3, 1, 1)])
def test_a_window_is_known_with_how_far_it_reaches(n: int, before: int, after: int, as_cells: object) -> None:
    mask = Mask.recognise(as_cells(band(n, before, after)))  # type: ignore[operator]
    assert (mask.kind, mask.window) == ("window", (before, after))
    assert mask.hides_later == (after == 0)
    assert mask.of_heads(0).window == (before, after)


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (band(5, 4, 0), "causal"),  # as long as the text: nothing of the past is hidden
        (band(5, 4, 4), "none"),
        (band(5, 2, 1), "other"),
        (band(5, 0, 4), "other"),  # sees what comes after it only
        (band(5, 2, 0)[:, 1:], "other"),  # rows are not columns
        (band(5, 2, 0).logical_xor(torch.eye(5).bool()), "other"),  # not itself
        (torch.zeros(3, 3).bool(), "padding"),
        (torch.stack([band(5, 1, 0), band(5, 2, 0)]), "other"),
    ],
)
def test_what_is_no_window_is_called_something_else(seen: torch.Tensor, kind: str) -> None:
    mask = Mask.recognise(seen)
    assert (mask.kind, mask.window) == (kind, None)


def test_only_what_hides_every_later_key_hides_the_later_ones() -> None:
    hides = {"causal": causal_mask(4), "window": band(4, 1, 0), "with padding": causal_mask(4) & (torch.arange(4) < 3)}
    assert all(Mask.recognise(cells).hides_later for cells in hides.values())
    one = causal_mask(4)
    one[0, 1] = True
    shows = (None, band(4, 1, 1), one, torch.stack([causal_mask(4), torch.ones(4, 4).bool()]), torch.ones(1, 1).bool())
    assert not any(Mask.recognise(cells).hides_later for cells in shows)
    assert Mask.recognise(as_float(causal_mask(3)) + BIAS).hides_later  # relative positions beside the mask


def test_a_window_with_the_causal_mask_is_the_window_up_to_the_query() -> None:
    assert Mask.recognise(band(5, 2, 2)).and_causal(5).window == (2, 0)
    assert Mask.recognise(band(5, 2, 0)).and_causal(5).window == (2, 0)
    assert Mask.recognise(PADDED).and_causal(3).kind == "other"

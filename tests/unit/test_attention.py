"""`attend` against torch's own attention, a second implementation in numpy, and cases worked out by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnviz.attention import attend, causal_mask, padding_mask


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

"""The toy block against `nn.MultiheadAttention`, and its promise that a control moves only what depends on it."""

import dataclasses
import hashlib
import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnviz.attention import attend
from attnviz.links.link import read_link
from attnviz.tokens import NoTokensError, WordTokenizer
from attnviz.toy.block import SeededAttention, Toy, ToyBlock, average_past, mask_of, walk_to_attention
from attnviz.toy.config import MAX_MODEL_WIDTH, MAX_TOKENS, MAX_WIDTH, WIDTH, Embedding, MaskValue, Positions, ToyConfig
from attnviz.toy.weights import SeededWeights, embed_positions, embed_tokens
from tests.toy import run_block

IDS = (5, 9, 5, 1, 77)
SEED_3 = {"token": "d55845552fccada4", "query": "30a068a37b430527", "output": "da1b745b4c57d091",
          "position": "b03670a977fa1e55", "others": "db7b4dab1e3a463c"}  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("heads", "width"),
    [(1, WIDTH), (2, WIDTH), (4, WIDTH), (1, 8), (3, 45), (8, MAX_WIDTH), (5, 130), (8, MAX_MODEL_WIDTH)],
)
def test_equals_multihead_attention(heads: int, width: int, bias: bool, causal: bool) -> None:
    """With H·D = C the block is exactly torch's module with the block's weights copied in."""
    trace = run_block(IDS, ToyConfig(width=width, heads=heads, head_size=width // heads, causal=causal, bias=bias))
    layer = trace.layer(0)
    module = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True).eval()
    assert layer.projections is not None
    assert layer.output_projection is not None
    maps = [layer.projections[name].weight for name in ("query", "key", "value")]  # each (H, C, D)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([w.transpose(1, 2).flatten(0, 1) for w in maps if w is not None]))
        module.out_proj.weight.copy_(layer.output_projection.weight.T)
        if bias:
            biases = [layer.projections[name].bias for name in ("query", "key", "value")]  # each (H, D)
            module.in_proj_bias.copy_(torch.cat([b.flatten() for b in biases if b is not None]))
            assert layer.output_projection.bias is not None
            module.out_proj.bias.copy_(layer.output_projection.bias)
        x = layer.query_input
        assert x is not None
        blocked = torch.ones(5, 5).triu(1).bool() if causal else None
        output, weights = module(x[None], x[None], x[None], attn_mask=blocked, average_attn_weights=False)
    torch.testing.assert_close(layer.attentions(), weights[0])
    torch.testing.assert_close(layer.output(), output[0])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_a_batch_is_torchs_and_has_the_numbers_of_each_text(bias: bool, causal: bool) -> None:
    """Module and attention alone, of texts with a batch axis."""
    module = SeededAttention(ToyConfig(width=24, heads=3, head_size=8, causal=causal, bias=bias), 5)
    theirs = nn.MultiheadAttention(24, 3, bias=bias, batch_first=True).eval()
    maps = tuple(module.projections.values())
    blocked = torch.ones(5, 5).triu(1).bool() if causal else None
    x = torch.randn(4, 5, 24, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([one.weight.transpose(1, 2).flatten(0, 1) for one in maps]))
        theirs.out_proj.weight.copy_(module.output.weight.T)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([one.bias.flatten() for one in maps]))
            theirs.out_proj.bias.copy_(module.output.bias)
        output = module(x)
        torch.testing.assert_close(output, theirs(x, x, x, attn_mask=blocked)[0])
        query, key, value = (one.apply(x) for one in maps)  # (B, H, T, D)
        expected = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    steps = attend(query, key, value, mask=module.mask)
    torch.testing.assert_close(steps.head_outputs, expected)
    torch.testing.assert_close(module.output.apply(steps.concat), output)
    for text, one in enumerate(x):
        torch.testing.assert_close(output[text], module(one))


@pytest.mark.parametrize("qkv", ["linear", "identity", "positions"])
@pytest.mark.parametrize("change", [{}, {"positions": "none", "projection": False}, {"padding": 2, "causal": True}])
def test_a_block_takes_a_batch_of_ids(qkv: str, change: dict[str, Any]) -> None:
    texts = [IDS, (1, 2, 3, 4, 5), (0, 0, 0, 0, 9)]
    block = ToyBlock(ToyConfig(qkv=qkv, **change), 5)  # type: ignore[arg-type]
    parts, output = block(texts)
    assert parts["token"].shape == (3, 5, WIDTH)
    for text, ids in enumerate(texts):
        one, own = block(ids)
        torch.testing.assert_close(parts["token"][text], one["token"])
        torch.testing.assert_close(output[text], own)


def test_averages_of_a_batch_are_those_of_each_text() -> None:
    x = torch.randn(3, 7, 5, generator=torch.Generator().manual_seed(0))
    found = average_past(x)
    expected = x.cumsum(1) / torch.arange(1, 8)[:, None]
    for name in ("by_loop", "by_matrix", "by_softmax"):
        torch.testing.assert_close(found[name], expected)
        for text, one in enumerate(x):
            torch.testing.assert_close(found[name][text], average_past(one)[name])


def test_what_fits_no_weights_is_named() -> None:
    with pytest.raises(ValueError, match=r"^x \(3, 4, 16\) is neither \(5, 16\) nor \(B, 5, 16\)$"):
        SeededAttention(ToyConfig(), 5)(torch.zeros(3, 4, 16))
    with pytest.raises(ValueError, match=r"^texts of a batch have 2 to 3 tokens; they need as many each$"):
        embed_tokens([(1, 2, 3), (1, 2)], 0)


def quantities(config: ToyConfig) -> dict[str, torch.Tensor]:
    trace = run_block(IDS, config)
    layer = trace.layer(0)
    assert layer.query_input is not None
    found = {
        "tokens": trace.embedding_parts["token"], "x": layer.query_input, "query": layer.query[0], "key": layer.key[0],
        "value": layer.value[0], "scores": layer.head(0).scores, "weights": layer.head(0).weights,
    }  # fmt: skip
    if layer.output_projection is not None:
        found["W_output"] = layer.output_projection.weight[: layer.head_size]
    return found


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        ({"heads": 5}, set()),
        ({"projection": False}, {"W_output"}),
        ({"causal": True}, {"weights"}),
        ({"scale": "off"}, {"weights"}),
        ({"positions": "random"}, {"x", "query", "key", "value", "scores", "weights"}),
        ({"bias": True}, {"query", "key", "value", "scores", "weights"}),
        ({"std_q": 0.5}, {"query", "scores", "weights"}),
        ({"std_k": 0.1}, {"key", "scores", "weights"}),
        ({"std_v": 0.2}, {"value"}),
        ({"embedding": "uniform"}, {"tokens", "x", "query", "key", "value", "scores", "weights"}),
        ({"padding": 1}, {"weights"}),
        ({"mask_value": "-1e10"}, set()),
        ({"seed": 1}, {"tokens", "x", "query", "key", "value", "scores", "weights", "W_output"}),
    ],
    ids=[
        "heads",
        "projection",
        "mask",
        "scale",
        "positions",
        "bias",
        "std of Q",
        "std of K",
        "std of V",
        "embedding",
        "padding",
        "value",
        "seed",
    ],
)
def test_a_control_moves_only_its_own(change: dict[str, object], moves: set[str]) -> None:
    config = ToyConfig()
    before, after = quantities(config), quantities(dataclasses.replace(config, **change))
    moved = {name for name in before if name not in after or not torch.equal(before[name], after[name])}
    assert moved == moves


def test_a_wider_head_keeps_the_columns_it_had() -> None:
    narrow, wide = (run_block(IDS, ToyConfig(head_size=size)).layer(0) for size in (4, 32))
    torch.testing.assert_close(wide.query[:, :, :4], narrow.query)


@pytest.mark.parametrize("positions", ["random", "none"])
@pytest.mark.parametrize("embedding", get_args(Embedding))
def test_a_wider_model_keeps_the_numbers_that_a_token_had(positions: Positions, embedding: Embedding) -> None:
    widths = (8, 16, 100, 128, 129, 300, MAX_MODEL_WIDTH)
    found = [
        run_block(IDS, ToyConfig(width=width, positions=positions, embedding=embedding)).embeddings for width in widths
    ]
    for narrow, wide in pairwise(found):
        assert narrow is not None
        assert wide is not None
        assert torch.equal(wide[:, : narrow.shape[1]], narrow)


@pytest.mark.parametrize("qkv", ["linear", "identity", "positions"])
def test_a_wider_model_keeps_the_weights_that_it_had(qkv: Any) -> None:
    """Apart from their standard deviation, which is 1/√C."""
    found = {}
    for width in (100, 128, 300, MAX_MODEL_WIDTH):
        layer = run_block(IDS, ToyConfig(width=width, qkv=qkv)).layer(0)
        assert layer.output_projection is not None
        rows = layer.output_projection.weight.unflatten(0, (layer.heads, -1))
        found[width] = [rows * width**0.5]
        if qkv == "linear":
            assert layer.projections is not None
            weight = layer.projections["query"].weight
            assert weight is not None
            found[width].append(weight.transpose(1, 2) * width**0.5)
    for (_, narrow), (_, wide) in pairwise(found.items()):
        for few, many in zip(narrow, wide, strict=True):
            torch.testing.assert_close(many[:, : few.shape[1], : few.shape[2]], few)


def test_weights_have_the_standard_deviations_that_are_given() -> None:
    """Those of a known exercise: 0.5, 0.1 and 0.2. The numbers are the usual ones, only their size is another."""
    config = ToyConfig(width=MAX_MODEL_WIDTH, heads=8, head_size=64)
    usual = run_block(IDS, config).layer(0).projections
    own = run_block(IDS, replace(config, std_q=0.5, std_k=0.1, std_v=0.2)).layer(0).projections
    assert usual is not None
    assert own is not None
    for name, std in {"query": 0.5, "key": 0.1, "value": 0.2}.items():
        weight, before = own[name].weight, usual[name].weight
        assert weight is not None
        assert before is not None
        assert float(weight.std()) == pytest.approx(std, rel=0.01)
        assert float(weight.mean()) == pytest.approx(0, abs=0.01 * std)
        fourth = (weight / std) ** 4
        assert float(fourth.mean()) == pytest.approx(3, rel=0.03), "as of normal numbers; of uniform ones it is 1.8"
        torch.testing.assert_close(weight, before * MAX_MODEL_WIDTH**0.5 * std)


def test_biases_and_other_projections_keep_their_standard_deviation() -> None:
    own = ToyConfig(heads=8, head_size=64, bias=True, std_q=5.0)
    layer, usual = (run_block(IDS, config).layer(0) for config in (own, replace(own, std_q=None)))
    assert layer.projections is not None
    assert usual.projections is not None
    for name in ("query", "key", "value"):
        biases = layer.projections[name].bias, usual.projections[name].bias
        assert all(bias is not None for bias in biases)
        assert torch.equal(*biases)  # type: ignore[arg-type]
    for qkv in ("identity", "positions"):
        one, other = (run_block(IDS, replace(config, qkv=qkv)).attentions(0) for config in (own, ToyConfig(bias=True)))
        assert torch.equal(one[:1], other[:1]), "only linear weights have it"


@pytest.mark.parametrize("width", [WIDTH, 100, MAX_MODEL_WIDTH])
def test_uniform_embeddings_are_those_of_torch_rand(width: int) -> None:
    x = embed_tokens(range(400), 3, width, "uniform")
    assert x.shape == (400, width)
    assert 0 <= float(x.min()) < 0.01
    assert 0.99 < float(x.max()) < 1
    assert float(x.mean()) == pytest.approx(0.5, abs=0.01)
    assert float(x.var()) == pytest.approx(1 / 12, rel=0.05)
    deciles = torch.histc(x, 10, 0, 1) / x.numel()
    torch.testing.assert_close(deciles, torch.full((10,), 0.1), atol=0.01, rtol=0)


@pytest.mark.parametrize("scale", ["sqrt_d", "off"])
def test_the_cell_of_a_lab_is_torchs(scale: str) -> None:
    """X of torch.rand(5, 512), and W_q, W_k, W_v of 512 to 7, normal with 0.5, 0.1 and 0.2."""
    config = ToyConfig(
        width=512, heads=1, head_size=7, std_q=0.5, std_k=0.1, std_v=0.2, embedding="uniform", positions="none",
        scale=scale, projection=False,
    )  # fmt: skip
    layer = run_block(IDS, config).layer(0)
    x, maps = layer.query_input, layer.projections
    assert x is not None
    assert maps is not None
    linear = {name: nn.Linear(512, 7, bias=False) for name in maps}
    with torch.no_grad():
        for name, module in linear.items():
            module.weight.copy_(maps[name].weight[0].T)  # type: ignore[index]
        query, key, value = (linear[name](x) for name in ("query", "key", "value"))
        expected = F.scaled_dot_product_attention(
            query[None], key[None], value[None], scale=None if scale == "sqrt_d" else 1.0
        )
    assert x.shape == (5, 512)
    assert 0 <= float(x.min()) <= float(x.max()) < 1
    for found, theirs in ((layer.query[0], query), (layer.key[0], key), (layer.value[0], value)):
        torch.testing.assert_close(found, theirs)
    torch.testing.assert_close(layer.head(0).head_outputs, expected[0], rtol=1e-4, atol=1e-5)


def test_a_standard_deviation_of_0_makes_all_scores_0_and_all_weights_equal() -> None:
    layer = run_block(IDS, ToyConfig(std_q=0.0)).layer(0)
    assert torch.equal(layer.head(0).scores, torch.zeros(5, 5))
    torch.testing.assert_close(layer.attentions(), torch.full((2, 5, 5), 0.2))


@pytest.mark.parametrize("std", [-0.1, 10.1, math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("name", ["std_q", "std_k", "std_v"])
def test_a_standard_deviation_out_of_range_is_refused(name: str, std: float) -> None:
    matrix = {"std_q": "W_query", "std_k": "W_key", "std_v": "W_value"}[name]
    said = f"a standard deviation of {std} of {matrix}: the toy has 0 to 10"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        ToyConfig(**{name: std})  # type: ignore[arg-type]


def test_the_largest_numbers_are_finite() -> None:
    config = ToyConfig(width=MAX_MODEL_WIDTH, heads=8, head_size=64, std_q=10, std_k=10, std_v=10, scale="1000")
    layer = run_block(range(40), config).layer(0)
    steps = layer.all_heads()
    assert float(steps.scaled.abs().max()) > 1e7
    for matrix in (steps.scaled, steps.weights, steps.head_outputs, layer.output()):
        assert matrix is not None
        assert bool(matrix.isfinite().all())
    torch.testing.assert_close(steps.weights.sum(-1), torch.ones(8, 40))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 7}, "7 numbers a token"),
        ({"width": 513}, "8 to 512"),
        ({"padding": 513}, "513 tokens of padding"),
        ({"heads": 9}, "9 heads"),
        ({"head_size": 1}, "1 numbers a head"),
    ],
)
def test_what_is_out_of_range_is_refused(change: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ToyConfig(**change)  # type: ignore[arg-type]


@pytest.mark.parametrize("padding", [0, 2, 5, 9])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("value", get_args(MaskValue))
def test_weights_are_those_of_masked_fill(value: MaskValue, causal: bool, padding: int) -> None:
    layer = run_block(IDS, ToyConfig(causal=causal, padding=padding, mask_value=value)).layer(0)
    seen = torch.ones(5, 5).tril().bool() if causal else torch.ones(5, 5).bool()
    seen[:, :padding] = False
    scores, number = layer.query @ layer.key.mT, float(value.partition("_")[0])
    before = value.endswith("before")
    masked = (
        scores.masked_fill(~seen, number) * layer.scale if before else (scores * layer.scale).masked_fill(~seen, number)
    )
    expected = torch.softmax(masked, dim=-1)
    assert bool(expected.isnan().any()) == (value == "-inf" and not bool(seen.any(1).all()))
    assert torch.equal(layer.attentions(), expected.nan_to_num(0.0))
    torch.testing.assert_close(layer.head(1).masked, masked[1])


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=12), st.lists(st.integers(0, 20_000), max_size=6))
def test_text_after_never_changes_the_embeddings_before(ids: list[int], more: list[int]) -> None:
    assert torch.equal(embed_tokens(ids + more, 0)[: len(ids)], embed_tokens(ids, 0))


def test_equal_tokens_have_equal_embeddings_and_positions_tell_them_apart() -> None:
    trace = run_block(IDS, ToyConfig())
    assert torch.equal(trace.embedding_parts["token"][0], trace.embedding_parts["token"][2])
    assert trace.layer(0).query_input is not None
    assert not torch.equal(trace.layer(0).query_input[0], trace.layer(0).query_input[2])


def test_sinusoidal_positions_equal_the_formula() -> None:
    """PE(pos, 2i) = sin(pos / 10000^(2i/C)), PE(pos, 2i+1) = cos of the same."""
    table = embed_positions(40, "sinusoidal", 0)
    assert table is not None
    for position in (0, 1, 39):
        for i in range(WIDTH // 2):
            angle = position / 10000 ** (2 * i / WIDTH)
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-5)


@pytest.mark.parametrize(
    ("scale", "expected"), [("sqrt_d", 8**-0.5), ("sqrt_c", WIDTH**-0.5), ("off", 1.0), ("0.125", 0.125)]
)
def test_scale(scale: str, expected: float) -> None:
    layer = run_block(IDS, ToyConfig(scale=scale)).layer(0)
    torch.testing.assert_close(layer.head(1).scaled, layer.head(1).scores * expected)


def test_identity_uses_x_for_all_three() -> None:
    layer = run_block(IDS, ToyConfig(qkv="identity", heads=4)).layer(0)
    assert layer.query_input is not None
    assert layer.heads == 1
    for tensor in (layer.query, layer.key, layer.value):
        assert torch.equal(tensor[0], layer.query_input)


def test_position_mixing_is_u_times_x() -> None:
    layer = run_block(IDS, ToyConfig(qkv="positions")).layer(0)
    assert layer.projections is not None
    assert layer.query_input is not None
    u = layer.projections["query"].weight
    assert u is not None
    assert u.shape == (2, 5, 5)
    for h in range(2):
        torch.testing.assert_close(layer.query[h], u[h] @ layer.query_input)


def test_without_projection_there_is_no_output() -> None:
    layer = run_block(IDS, ToyConfig(projection=False)).layer(0)
    assert layer.output() is None
    assert layer.concat().shape == (5, 16)


@pytest.mark.parametrize("config", [{"heads": 0}, {"heads": 9}, {"head_size": 1}, {"head_size": 65}])
def test_sizes_out_of_range(config: dict[str, int]) -> None:
    ((name, size),) = config.items()
    said = {"heads": "heads: the toy has 1 to 8", "head_size": "numbers a head: the toy has 2 to 64"}[name]
    with pytest.raises(ValueError, match=f"^{size} {said}$"):
        ToyConfig(**config)


def test_too_many_tokens() -> None:
    with pytest.raises(ValueError, match=f"at most {MAX_TOKENS}"):
        run_block(range(MAX_TOKENS + 1), ToyConfig())


def test_one_token_attends_to_itself() -> None:
    layer = run_block((3,), ToyConfig(causal=True)).layer(0)
    assert layer.attentions().tolist() == [[[1.0]], [[1.0]]]


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_three_averages_are_one(n: int) -> None:
    x = embed_tokens(range(n), 0)
    averages = average_past(x)
    expected = x.double().cumsum(0) / torch.arange(1, n + 1)[:, None]
    for found in (averages["by_loop"], averages["by_matrix"], averages["by_softmax"]):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(averages["softmax_weights"], averages["triangle"])


@pytest.mark.parametrize(
    ("config", "digests"),
    [
        (ToyConfig(), {"token": "322b24a1908b9bb8", "query": "c2849de4d1965d28", "output": "b92994ec7a973320",
                       "others": "ddb29d97f75ff909"}),
        (ToyConfig(qkv="positions", positions="random", head_size=16, causal=True, seed=3), SEED_3),
        (
            ToyConfig(width=MAX_WIDTH, positions="random", bias=True, seed=11),
            {"token": "949d0291bc4639ab", "query": "560348e70bd69a5d", "output": "a385768323084d2a",
             "position": "2057e2ed5257407f", "others": "a5a0eea6deba0ab3"},
        ),
    ],
    ids=["default", "position mixing", "wide"],
)  # fmt: skip
def test_a_seeds_weights_are_those_of_earlier_versions(config: ToyConfig, digests: dict[str, str]) -> None:
    trace = run_block((5, 9, 5, 1, 77, 20000, 3), replace(config, heads=5 if config.seed == 3 else 2))
    layer = trace.layer(0)
    assert layer.projections is not None
    assert layer.output_projection is not None
    others = [layer.projections[name].weight for name in ("key", "value")]
    others += [*(one.bias for one in layer.projections.values()), layer.output_projection.bias]
    found = {
        "token": trace.embedding_parts["token"],
        "position": trace.embedding_parts.get("position") if config.positions == "random" else None,
        "query": layer.projections["query"].weight,
        "output": layer.output_projection.weight,
        "others": torch.cat([one.flatten() for one in others if one is not None]),
    }
    assert {
        name: hashlib.sha256(w.contiguous().numpy().tobytes()).hexdigest()[:16]
        for name, w in found.items()
        if w is not None
    } == digests


def test_the_toy_is_a_model_that_says_what_it_is() -> None:
    toy = Toy(ToyConfig(heads=3, head_size=4), WordTokenizer().tokenize)
    trace, is_ = toy.trace("the cat sat"), toy.description
    weights = {id(p): p.numel() for p in trace.weights}
    assert is_.layers == {"encoder": (1, trace.layer(0).heads)}
    assert (is_.width, is_.head_size) == (trace.embeddings.shape[1], trace.layer(0).head_size)
    assert sum(is_.parameters.values()) == sum(weights.values()) == 3 * (3 * 16 * 4) + 3 * 4 * 16
    assert trace.block(0).steps() is None
    assert "no residual" in trace.block(0).unavailable_reason
    x, heads = 3 * 16, 3 * 3 * 4  # (T, C) and (H, T, D)
    # X is the input of all three projections; its two summands, the output and the weights are held too.
    assert trace.nbytes == 4 * (x + 3 * heads + 2 * x + x + sum(weights.values()))
    with pytest.raises(NoTokensError):
        toy.trace(" ")


@pytest.mark.parametrize("bias", [False, True])
def test_the_parameters_are_those_of_torchs_attention(bias: bool) -> None:
    toy = Toy(ToyConfig(heads=4, head_size=4, width=16, bias=bias), WordTokenizer().tokenize)
    theirs = nn.MultiheadAttention(16, 4, bias=bias)
    output = sum(one.numel() for one in theirs.out_proj.parameters())
    counted = toy.description.parameters
    assert counted == {"projections": sum(one.numel() for one in theirs.parameters()) - output, "output": output}


@pytest.mark.parametrize(
    ("config", "kind", "window"),
    [
        (ToyConfig(window=3, causal=True), "window", (2, 0)), (ToyConfig(window=1, causal=True), "window", (0, 0)),
        (ToyConfig(window=3), "window", (1, 1)), (ToyConfig(window=4), "window", (2, 2)),
        (ToyConfig(window=6, causal=True), "causal", None), (ToyConfig(window=5, causal=True), "window", (4, 0)),
        (ToyConfig(window=10), "none", None), (ToyConfig(window=3, padding=1), "other", None),
        (ToyConfig(window=10, padding=1), "padding", None),
        (ToyConfig(window=9, causal=True, padding=1), "other", None),
    ],
)  # fmt: skip
def test_a_window_hides_what_is_far_away(config: ToyConfig, kind: str, window: tuple[int, int] | None) -> None:
    mask = mask_of(config, 6)
    assert (mask.kind, mask.window) == (kind, window)
    before, after = config.reach
    hidden = torch.tensor([[k < config.padding or k - q > after or q - k > before for k in range(6)] for q in range(6)])
    assert torch.equal(mask.hidden((6, 6)), hidden)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_heads_that_share_keys_have_those_of_the_first_of_them(kv_heads: int, bias: bool) -> None:
    """Queries and W_O stay; attention is torch's own with grouped queries."""
    config = ToyConfig(heads=4, bias=bias, causal=True)
    own, layer = (run_block(IDS, each).layer(0) for each in (config, replace(config, kv_heads=kv_heads)))
    each = 4 // kv_heads
    first = [head // each * each for head in range(4)]
    assert torch.equal(layer.query, own.query)
    assert torch.equal(layer.key, own.key[first])
    assert torch.equal(layer.value, own.value[first])
    assert layer.shared_by == each
    key, value = layer.key[::each], layer.value[::each]
    theirs = F.scaled_dot_product_attention(layer.query, key, value, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(layer.all_heads().head_outputs, theirs)


@pytest.mark.parametrize("config", [ToyConfig(positions="rotary", bias=True), ToyConfig(qkv="identity", heads=3)])
def test_norms_of_queries_and_keys_are_torchs_rms_norm_before_the_rotation(config: ToyConfig) -> None:
    plain, layer = (run_block(IDS, each).layer(0) for each in (config, replace(config, qk_norm=True)))
    size = config.width_per_head
    for name in ("query", "key"):
        torch.testing.assert_close(layer.projected(name), plain.projected(name))
        expected = F.rms_norm(plain.projected(name), (size,), eps=1e-6)
        torch.testing.assert_close(layer.normed(name), expected)
        torch.testing.assert_close(getattr(layer, name), layer.turned(expected))
    assert torch.equal(layer.value, plain.value)
    assert layer.query.norm(dim=-1).max() == pytest.approx(math.sqrt(size), rel=1e-4)


def test_fewer_heads_of_keys_have_fewer_parameters() -> None:
    counts = {
        kv_heads: Toy(ToyConfig(heads=4, kv_heads=kv_heads), WordTokenizer().tokenize).description.parameters
        for kv_heads in (None, 4, 2, 1)
    }
    assert [count["projections"] for count in counts.values()] == [maps * 16 * 8 for maps in (12, 12, 8, 6)]
    assert len({count["output"] for count in counts.values()}) == 1


def test_a_number_of_heads_of_keys_divides_that_of_the_heads() -> None:
    for kv_heads in (0, 3, 8):
        with pytest.raises(ValueError, match=f"^4 heads can't share {kv_heads} heads of keys and values$"):
            ToyConfig(heads=4, kv_heads=kv_heads)
    assert ToyConfig(heads=4, kv_heads=2, qkv="positions").shared_by == 1
    for heads, linked, expected in (("6", "4", None), ("6", "3", 3), ("4", "4", None), ("1", "1", None)):
        view, _ = read_link({"text": "a", "heads": heads, "kv_heads": linked})
        assert ToyConfig.of(view.__getitem__).kv_heads == expected


def test_a_links_settings_are_the_toys() -> None:
    link = {
        "heads": "3", "head_size": "12", "qkv": "linear", "std_q": "0.5", "std_k": "0.25", "std_v": "2",
        "embedding": "uniform", "positions": "lab", "scale": "sqrt_c", "padding": "1", "mask_value": "-1e10_before",
        "projection": "0", "seed": "7", "mask": "causal", "model_width": "24", "projection_bias": "1", "cap": "2.5",
        "sink": "-0.5", "window": "4", "kv_heads": "1", "qk_norm": "1",
    }  # fmt: skip
    view, notes = read_link({"text": "a b c", **link})
    assert not notes
    config = ToyConfig(24, 3, 12, "linear", 0.5, 0.25, 2.0, "uniform", "lab", "sqrt_c", True, 1, "-1e10_before", False,
                       True, 7, 2.5, -0.5, 4, 1, True)  # fmt: skip
    assert ToyConfig.of(view.__getitem__) == config
    usual, _ = read_link({"text": "a b c"})
    assert ToyConfig.of(usual.__getitem__) == ToyConfig()
    assert (config.kind, ToyConfig().kind) == ("decoder", "encoder")


def test_all_that_is_in_range_is_taken() -> None:
    for width, heads, size, padding, std in ((8, 1, 2, 0, 0.0), (512, 8, 64, 512, 10.0)):
        config = ToyConfig(width=width, heads=heads, head_size=size, padding=padding, std_q=std, std_k=std, std_v=std)
        assert run_block((3, 1), config).layer(0).query.shape == (heads, 2, size)
    for low in ({"heads": 0}, {"padding": -1}, {"head_size": 65}):
        with pytest.raises(ValueError, match="the toy has"):
            ToyConfig(**low)
    assert run_block(range(MAX_TOKENS), ToyConfig(heads=1, head_size=2)).layer(0).attentions().shape[1] == MAX_TOKENS
    with pytest.raises(ValueError, match=r"^513 tokens: the toy takes at most 512$"):
        run_block(range(MAX_TOKENS + 1), ToyConfig())


@pytest.mark.parametrize(("qkv", "heads", "size"), [("linear", 3, 12), ("identity", 1, 16), ("positions", 3, 16)])
@pytest.mark.parametrize("scale", ["sqrt_d", "sqrt_c"])
def test_other_projections_have_heads_as_wide_as_the_model(qkv: Any, heads: int, size: int, scale: str) -> None:
    config = ToyConfig(heads=3, head_size=12, qkv=qkv, scale=scale)
    layer, is_ = run_block(IDS, config).layer(0), Toy(config, WordTokenizer().tokenize).description
    assert layer.query.shape == (heads, 5, size)
    assert layer.scale == pytest.approx((size if scale == "sqrt_d" else 16) ** -0.5)
    assert (is_.layers, is_.head_size) == ({"encoder": (1, heads)}, size)
    assert is_.parameters["output"] == heads * size * 16
    assert ("projections" in is_.parameters) == (qkv == "linear")
    without = Toy(replace(config, projection=False, causal=True), WordTokenizer().tokenize).description
    assert ("output" in without.parameters, list(without.layers)) == (False, ["decoder"])


def test_biases_have_the_variance_1_over_the_width_and_mixing_weights_1_over_16() -> None:
    layer = run_block(IDS, ToyConfig(width=400, heads=8, head_size=64, bias=True)).layer(0)
    assert layer.projections is not None and layer.output_projection is not None
    biases = [layer.projections[name].bias for name in ("query", "key", "value")] + [layer.output_projection.bias]
    for bias in biases:
        assert bias is not None
        assert float(bias.std()) == pytest.approx(400**-0.5, rel=0.15)
    assert not torch.equal(biases[0], biases[1])  # type: ignore[arg-type]
    mixing = run_block(range(200), ToyConfig(qkv="positions")).layer(0).projections
    assert mixing is not None and mixing["value"].weight is not None
    assert float(mixing["value"].weight.std()) == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize("causal", [False, True])
def test_the_mask_of_the_toy_is_named_by_what_hides_cells(causal: bool) -> None:
    kinds = [run_block(IDS, ToyConfig(causal=causal, padding=padding)).layer(0).mask.kind for padding in (0, 1)]
    assert kinds == (["causal", "other"] if causal else ["none", "padding"])


def test_the_averages_take_64_tokens_and_the_attention_beside_them_has_x_as_values() -> None:
    tokens = WordTokenizer().tokenize("a b c " * 21 + "d")
    walk = walk_to_attention(tokens, ToyConfig(heads=3, seed=2))
    layer = walk.layer
    own = run_block(tokens.ids, ToyConfig(heads=3, seed=2)).layer(0)
    expected = F.scaled_dot_product_attention(own.query[0], own.key[0], own.query_input, is_causal=True)
    torch.testing.assert_close(layer.head(0).head_outputs, expected)
    means = own.query_input.cumsum(0) / torch.arange(1, 65)[:, None]  # type: ignore[union-attr]
    assert walk.averages is not None
    torch.testing.assert_close(torch.as_tensor(walk.averages["by_loop"]), means)
    assert walk.name == "toy, seed 2 · from averages to attention"
    for settings, said in (
        ({"positions": "alibi"}, "position bias"), ({"positions": "buckets", "sink": 0.0}, "position bias or sink"),
        ({"cap": 1.0, "window": 2, "padding": 1}, "soft cap, window or padding"),
    ):  # fmt: skip
        message = f"^from averages to attention, no {said} is shown: its scores would lack it$"
        with pytest.raises(ValueError, match=message):
            walk_to_attention(tokens, ToyConfig(**settings))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^65 tokens: the loop takes at most 64$"):
        walk_to_attention(WordTokenizer().tokenize("a " * 65), ToyConfig())


def test_seeded_modules_have_the_weights_of_torchs_own_seed() -> None:
    def make() -> list[torch.Tensor]:
        made = nn.Linear(5, 3), nn.Embedding(4, 2), nn.MultiheadAttention(8, 2), nn.GRU(3, 2)
        return [parameter for module in made for parameter in module.parameters()]

    torch.manual_seed(9)
    expected = make()
    torch.manual_seed(1)
    with SeededWeights(9):
        found = make()
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_the_trace_of_a_toy_is_kept_by_its_tokens_and_settings() -> None:
    first, same, other, words = (
        Toy(ToyConfig(seed=seed), tokenize).trace_key(text)
        for seed, text, tokenize in ((0, "a b", WordTokenizer().tokenize), (0, "a b", WordTokenizer().tokenize),
                                     (1, "a b", WordTokenizer().tokenize), (0, "a c", WordTokenizer().tokenize))
    )  # fmt: skip
    assert first == same
    assert len({first, other, words}) == 3

"""Each mistake is what its line of code computes, run by torch; so is what is right, and the numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, inf, nn
from torch.nn import functional

from attnviz.attention import Mask, causal_mask
from attnviz.links.link import DEFAULT_TEXT
from attnviz.measures.mistakes import NAMES, TEXTS
from attnviz.measures.mistakes.computed import COMPUTED, Case, MistakeEffect, NotKnownError, find
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.layers import DecoderLayer, EncoderLayer
from attnviz.toy.stacks import Seq2Seq
from attnviz.toy.transformer import draw_stack, trace_transformer
from attnviz.trace.layer import Block, LayerTrace
from attnviz.trace.position_bias import alibi
from attnviz.trace.trace import Trace
from tests.loaded import built_in_model
from tests.unit.toy.transformers import copy_attention

H = TransformerConfig().heads
TEXT, TARGET = DEFAULT_TEXT, "das Tier war zu müde"
SETTINGS = [
    TransformerConfig("encoder"),
    TransformerConfig("decoder", norm="pre", activation="gelu", bias=False),
    TransformerConfig("both", depth=1, heads=4, width=48, positions="none", seed=7),
]
Run = Callable[[str], dict[str, Any]]


def trace(config: TransformerConfig, text: str = TEXT, target: str = TARGET) -> Trace:
    tokenize = WordTokenizer().tokenize
    return trace_transformer(tokenize(text), tokenize(target) if config.architecture == "both" else None, config)


@pytest.fixture(params=SETTINGS, ids=lambda config: config.architecture)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(trace(request.param), seed=3)


def run(code: str, **names: Any) -> dict[str, Any]:
    """Run the lines of a mistake as the page shows them; returns all names that they know."""
    torchs = {"softmax": torch.softmax, "cat": torch.cat, "relu": functional.relu, "layer_norm": functional.layer_norm}
    known = {**torchs, "inf": inf, **names}
    with torch.inference_mode():
        exec(code, known)
    return known


def both(name: str, **names: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return run(TEXTS[name].wrong, **names), run(TEXTS[name].right, **names)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


def effect(found: MistakeEffect, part: str) -> tuple[Any, Any]:
    (one,) = [each for each in found.effects if part in each.what]
    return one.wrong, one.right


def layer_of(case: Case) -> LayerTrace:
    return case.trace.layer(0, case.kind)


def weight(layer: LayerTrace, name: str, x: Tensor) -> Tensor:
    """Return head 0's query, key or value by torch's linear layer."""
    assert layer.projections is not None
    projection = layer.projections[name]
    assert projection.weight is not None
    bias = None if projection.bias is None else projection.bias[0]
    return functional.linear(x, projection.weight[0].T, bias)


def test_every_mistake_has_words_and_a_computation_and_its_lines_are_short() -> None:
    assert tuple(COMPUTED) == NAMES
    assert len(NAMES) == 9
    for text in TEXTS.values():
        assert max(map(len, [*text.wrong.splitlines(), *text.right.splitlines()])) <= 46
        assert len(text.wrong.splitlines()) == len(text.right.splitlines()) <= 2


def test_a_map_of_positions_is_no_linear_layer(case: Case) -> None:
    found, x = find("maps", case), case.inputs
    wrong, right = (
        run(TEXTS["maps"].wrong, W=found.wrong.values, x=x),
        run(TEXTS["maps"].right, W=found.right.values, x=x),
    )
    t, c = x.shape
    assert found.wrong.values.shape == (t, t)
    drawn = torch.randn(t, t, generator=torch.Generator().manual_seed(3))
    close(found.wrong.values, drawn / t**0.5)
    assert layer_of(case).projections is not None
    close(right["q"], weight(layer_of(case), "query", x) - weight(layer_of(case), "query", torch.zeros(1, c)))
    changed = x.clone()
    changed[-1, ::2] += 1
    moved = (run(TEXTS["maps"].wrong, W=found.wrong.values, x=changed)["q"] - wrong["q"])[:-1].abs().max().item()
    assert effect(found, "last token changes") == (pytest.approx(moved, rel=1e-4), 0)
    assert moved > 0
    assert effect(found, "a text of")[0].startswith("an error")
    assert effect(found, "a text of")[1] == f"works: {t + 1} × {layer_of(case).head_size}"
    assert effect(found, "numbers") == (f"T · T = {t * t}", f"C · D = {c * layer_of(case).head_size:,}")


def test_a_large_number_does_not_hide_a_whole_row(case: Case) -> None:
    found, layer = find("fill", case), layer_of(case)
    t = layer.query.shape[1]
    hidden = ~causal_mask(t)
    hidden[:, 0] = True
    s = layer.query[0] @ layer.key[0].T
    wrong, right = both("fill", s=s, hidden=hidden, D=layer.head_size)
    close(found.wrong.values, wrong["weights"])
    assert bool(right["weights"][0].isnan().all())
    assert effect(found, "NaN") == (0, int(right["weights"].isnan().sum()))
    close(found.right.values, right["weights"].masked_fill(hidden, torch.nan))
    assert effect(found, "sums to") == (pytest.approx(1), 0)
    assert effect(found, "after it") == (pytest.approx((t - 1) / t), 0)
    assert effect(found, "other rows")[0] == pytest.approx((wrong["weights"] - right["weights"])[1:].abs().max().item())
    assert effect(found, "hidden cell") == (pytest.approx(-1e10 / layer.head_size**0.5), "−∞")


def with_extras(**extras: Any) -> tuple[Case, LayerTrace]:
    """The toy decoder's first layer with a soft cap, or with sinks."""
    whole = trace(SETTINGS[1])
    block, *others = whole.blocks["decoder"]
    layer = replace(block.attention, **extras)
    return Case(replace(whole, blocks={"decoder": (replace(block, attention=layer), *others)})), layer


@pytest.mark.parametrize("sink", [None, 0.5])
@pytest.mark.parametrize("cap", [None, 1.0])
def test_a_soft_cap_and_a_sink_are_in_the_wrong_numbers_and_in_the_right_ones(
    cap: float | None, sink: float | None
) -> None:
    case, layer = with_extras(cap=cap, sinks=None if sink is None else torch.full((H, 1, 1), sink))
    found, t = find("fill", case), layer.query.shape[1]
    hidden = ~causal_mask(t)
    hidden[:, 0] = True

    def weights(scaled: Tensor, mask: Tensor | None = None) -> Tensor:
        capped = scaled if cap is None else cap * torch.tanh(scaled / cap)
        exponentials = (capped if mask is None else capped.masked_fill(mask, -inf)).exp()
        shares: Tensor = exponentials / (exponentials.sum(-1, keepdim=True) + (0 if sink is None else math.exp(sink)))
        return shares

    s = layer.query[0] @ layer.key[0].T
    right = weights(s * layer.scale, mask=hidden)
    # exp(−1e10 · scale) is 0, so without a cap a row that is wholly hidden is uniform, or the sink's
    close(found.wrong.values, weights(s.masked_fill(hidden, -1e10) * layer.scale).nan_to_num(1 / t))
    close(found.right.values, right.masked_fill(hidden, torch.nan))
    assert effect(found, "NaN") == (0, t if sink is None else 0)
    assert ("soft cap" in found.note, "sink" in found.note) == (cap is not None, sink is not None)
    width = find("width", case)
    heads = next(count for count in range(2, 48) if width.wrong.title.startswith(f"{count} heads"))
    query, key, value = (
        getattr(layer, name).transpose(0, 1).flatten(1).unfold(1, c // heads, c // heads)[:, :heads].transpose(0, 1)
        for name in ("query", "key", "value")
        for c in [layer.heads * layer.head_size]
    )
    size = query.shape[-1]
    expected = weights(query @ key.transpose(1, 2) / size**0.5, ~causal_mask(t)) @ value
    close(width.wrong.values[:, : heads * size], expected.transpose(0, 1).flatten(1))


def test_a_position_bias_is_in_the_wrong_numbers_and_in_the_right_ones() -> None:
    t = len(WordTokenizer().tokenize(TEXT))
    case, layer = with_extras(position_bias=alibi(H, t))
    biased = layer.query[0] @ layer.key[0].T * layer.scale + alibi(H, t).cells[0]
    found = find("mask", case)
    close(found.wrong.values, biased.softmax(-1))
    hidden = ~causal_mask(t)
    close(found.right.values, biased.masked_fill(hidden, -inf).softmax(-1).masked_fill(hidden, torch.nan))
    hidden[:, 0] = True
    filled = biased.masked_fill(hidden, -1e10 * layer.scale)
    close(find("fill", case).wrong.values, filled.softmax(-1))
    with pytest.raises(NotKnownError, match="a position bias of its own"):
        find("width", case)


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_with_the_causal_mask_a_model_keeps_its_window_its_cap_and_its_sink(architecture: Any) -> None:
    case = Case(trace(TransformerConfig(architecture, cap=0.5, sink=0.5, window=3)))
    found, layer = find("mask", case), case.attention
    seen = causal_mask(len(case.tokens)) & ~layer.hidden(0)
    if case.kind == "decoder":  # an encoder has no causal mask of its own
        close(found.right.values, layer.head(0).weights.masked_fill(~seen, torch.nan))
    assert torch.equal(found.right.values.isnan(), ~seen)
    bare = replace(layer, mask=Mask()).head(0).weights
    close(found.wrong.values, bare)


def test_sinks_that_other_queries_or_heads_would_not_have_are_named() -> None:
    case, layer = with_extras(sinks=torch.arange(float(H))[:, None, None])
    with pytest.raises(NotKnownError, match="a sink of its own"):
        find("width", case)
    assert find("mask", case).effects
    case, _ = with_extras(sinks=torch.zeros(H, layer.query.shape[1], 1))
    with pytest.raises(NotKnownError, match="depend on the query"):
        find("mask", case)
    assert find("fill", case).effects


def test_cross_attention_with_its_arguments_swapped_is_torchs_so_called() -> None:
    config = SETTINGS[2]
    case, stack = Case(trace(config)), draw_stack(config)
    found, layer = find("cross", case), case.trace.layer(0, "cross")
    assert isinstance(stack, Seq2Seq)
    block = stack.decoder.layers[0]
    assert isinstance(block, DecoderLayer)
    theirs = nn.MultiheadAttention(config.width, config.heads, batch_first=True)
    copy_attention(block.cross_attention, theirs)
    seen: list[Tensor] = []

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        output, weights = theirs(query, key, value, average_attn_weights=False)
        seen.append(weights[0])
        return output

    wrong, right = both("cross", attention=attention, y=layer.query_input, encoded=layer.key_input)
    close(found.wrong.values, seen[0])
    close(found.right.values, seen[1])
    assert effect(found, "rows × columns") == ("11 × 5", "5 × 11")
    assert (len(wrong["y"]), len(right["y"])) == (11, 5)
    assert effect(found, "can be added") == ("no: an error", "yes")
    assert effect(found, "rows that change") == ("11 of 11", "1 of 5")
    alike = find("cross", Case(trace(config, TARGET, TARGET)))
    assert effect(alike, "can be added") == ("yes: no error", "yes")


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_only_a_model_with_both_has_cross_attention(name: Any) -> None:
    with pytest.raises(NotKnownError, match="no cross-attention"):
        find("cross", Case(trace(TransformerConfig(name))))


def test_the_activation_after_the_second_map_is_what_torchs_modules_give(case: Case) -> None:
    found, steps, weights = find("relu", case), case.block.steps(), case.block.weights
    assert steps is not None
    assert weights is not None
    stack = draw_stack(case_config(case))
    block = (stack.decoder if isinstance(stack, Seq2Seq) else stack).layers[0]
    assert isinstance(block, EncoderLayer | DecoderLayer)
    activation = functional.gelu if weights.activation == "gelu" else functional.relu
    first, second = block.feed_forward.first, block.feed_forward.second
    reads = steps.attention_norm if steps.cross_attention_norm is None else steps.cross_attention_norm
    x = reads if steps.feed_forward_norm is None else steps.feed_forward_norm
    with torch.no_grad():
        wrong, right = both("relu", first=first, second=second, relu=activation, x=x)
        linear = second(first(x))  # without an activation between them
    close(found.wrong.values, wrong["y"])
    close(found.right.values, right["y"])
    close(found.right.values, steps.feed_forward_output)
    assert effect(found, "smallest")[0] == pytest.approx(wrong["y"].min().item(), abs=1e-6)
    assert effect(found, "smallest")[0] >= (-0.17 if weights.activation == "gelu" else 0)
    assert effect(found, "one linear map")[0] < 1e-5
    assert effect(found, "one linear map")[1] > 0.1
    assert effect(found, "mean") == tuple(pytest.approx(one["y"].mean().item(), abs=1e-5) for one in (wrong, right))
    below = 100 * (right["y"] < 0).float().mean().item()
    assert effect(found, "below 0")[1] == f"{below:.1f} %"
    assert effect(found, "smallest")[1] == pytest.approx(right["y"].min().item(), abs=1e-5)
    assert effect(found, "one linear map")[1] == pytest.approx((right["y"] - linear).abs().max().item(), rel=1e-3)


def case_config(case: Case) -> TransformerConfig:
    return next(
        config for config in SETTINGS if config.architecture == ("both" if "cross" in case.trace.blocks else case.kind)
    )


def test_a_norm_over_all_tokens_is_torchs_over_both_axes(case: Case) -> None:
    found, steps = find("norm", case), case.block.steps()
    assert steps is not None
    x = steps.attention_residual
    wrong, right = both("norm", x=x)
    close(found.wrong.values, wrong["y"])
    close(found.right.values, right["y"])
    assert effect(found, "largest mean") == tuple(
        pytest.approx(one["y"].mean(-1).abs().max().item(), abs=1e-6) for one in (wrong, right)
    )
    changed = x.clone()
    changed[-1, ::2] += 1
    after = run(TEXTS["norm"].wrong, x=changed)["y"]
    moved = (after - wrong["y"])[:-1].abs().max().item()
    assert effect(found, "last token changes") == (pytest.approx(moved, rel=1e-3), 0)
    spread = wrong["y"].numpy().var(-1)
    assert effect(found, "variance") == (f"{spread.min():.3f} to {spread.max():.3f}", "1.000")


def test_a_width_that_heads_do_not_divide_leaves_numbers_over(case: Case) -> None:
    found, layer = find("width", case), layer_of(case)
    joined = layer.query.transpose(0, 1).flatten(1)
    t, c = joined.shape
    heads = next(count for count in range(layer.heads + 1, c) if c % count)
    made = run(TEXTS["width"].wrong, q=joined, C=c, H=heads, T=t)
    close(run(TEXTS["width"].right, q=joined, C=c, H=layer.heads, T=t)["heads"], layer.query.transpose(0, 1))
    with pytest.raises(AssertionError):
        run(TEXTS["width"].right, q=joined, C=c, H=heads, T=t)
    size = made["D"]
    split = {
        name: getattr(layer, name).transpose(0, 1).flatten(1)[:, : heads * size].view(t, heads, size).transpose(0, 1)
        for name in ("query", "key", "value")
    }
    close(split["query"], made["heads"].transpose(0, 1))
    is_causal = case.kind == "decoder"
    output = functional.scaled_dot_product_attention(*split.values(), is_causal=is_causal)
    close(found.wrong.values[:, : heads * size], output.transpose(0, 1).flatten(1))
    assert bool(found.wrong.values[:, heads * size :].isnan().all())
    assert found.wrong.values.shape == found.right.values.shape == (t, c)
    assert effect(found, "as in the paper") == ("6 · 85 = 510, 2 left over", "8 · 64 = 512, 0 left over")
    assert effect(found, "view") == ("refuses", "works")


def test_a_decoder_without_its_mask_reads_the_future(case: Case) -> None:
    found, layer = find("mask", case), layer_of(case)
    q, k, v = (weight(layer, name, case.inputs) for name in ("query", "key", "value"))
    t = len(q)
    mask = torch.zeros(t, t).masked_fill(~causal_mask(t), -inf)
    wrong, right = both("mask", q=q, k=k, D=layer.head_size, mask=mask)
    close(found.wrong.values, wrong["weights"])
    close(found.right.values, right["weights"].masked_fill(~causal_mask(t), torch.nan))
    assert effect(found, "look ahead") == (t * (t - 1) // 2, 0)
    later = wrong["weights"].triu(1).sum(-1).mean().item()
    assert effect(found, "later tokens") == (pytest.approx(later, rel=1e-4), 0)
    changed = case.inputs.clone()
    changed[-1, ::2] += 1
    q2, k2, v2 = (weight(layer, name, changed) for name in ("query", "key", "value"))
    moved = (
        functional.scaled_dot_product_attention(q2[None], k2[None], v2[None])
        - functional.scaled_dot_product_attention(q[None], k[None], v[None])
    )[0, :-1].abs().max().item()  # fmt: skip
    assert effect(found, "last token changes") == (pytest.approx(moved, rel=1e-3), 0)
    assert ("encoder" in found.note) == (case.kind == "encoder")


def test_summed_heads_can_change_places(case: Case) -> None:
    found, layer = find("sum", case), layer_of(case)
    assert layer.output_projection is not None
    w, bias = layer.output_projection.weight, layer.output_projection.bias
    given = {"W_O": w, "b_O": 0 if bias is None else bias, "D": layer.head_size}
    heads = list(layer.all_heads().head_outputs)
    wrong, right = both("sum", heads=heads, **given)
    close(found.wrong.values, wrong["y"])
    close(found.right.values, right["y"])
    swapped = both("sum", heads=heads[-1:] + heads[:-1], **given)
    close(swapped[0]["y"], wrong["y"])
    moved = (swapped[1]["y"] - right["y"]).abs().max().item()
    assert effect(found, "change places") == (pytest.approx(0, abs=1e-5), pytest.approx(moved, rel=1e-3))
    apart = (wrong["y"] - right["y"]).abs().max().item()
    assert effect(found, "between the two") == (pytest.approx(apart, rel=1e-4), "–")


def test_random_vectors_attend_to_themselves_alone(case: Case) -> None:
    found = find("same", case)
    generator = torch.Generator().manual_seed(3)
    ids = list(dict.fromkeys(case.tokens.ids))
    drawn = torch.randn(len(ids), 768, generator=generator)[[ids.index(one) for one in case.tokens.ids]]
    w_q, w_k = (torch.randn(768, 768, generator=generator) for _ in range(2))
    for c in (768, 128, 32):
        x = drawn[:, :c]
        given = {"W_Q": w_q[:c, :c] / c**0.5, "W_K": w_k[:c, :c] / c**0.5, "W_V": torch.eye(c)}
        wrong, right = both("same", x=x, C=c, **given)
        expected = tuple(pytest.approx(one["weights"].diagonal().mean().item(), rel=1e-4) for one in (wrong, right))
        assert effect(found, f"C = {c}") == expected
        if c == 768:
            close(found.wrong.values, wrong["weights"])
            close(found.right.values, right["weights"])
            assert effect(found, "C = 768")[0] > 0.9995


def test_a_word_that_occurs_twice_counts_as_itself_in_both_places() -> None:
    found = find("same", Case(trace(TransformerConfig(), "a rose is a rose is a rose")))
    assert effect(found, "C = 768")[0] == pytest.approx(1, abs=1e-3)
    assert found.wrong.values[0, 0] == pytest.approx(1 / 3, abs=1e-3)
    assert "occurs twice" in found.note
    assert find("same", Case(trace(TransformerConfig(), "a rose is red"))).note == ""


@pytest.mark.parametrize("name", NAMES)
def test_each_is_found_in_the_smallest_and_the_largest_toy_and_in_minilm(name: str) -> None:
    small = TransformerConfig("both", depth=1, heads=8, width=8)
    large = TransformerConfig("both", depth=1, heads=8, width=128, norm="pre")
    long = " ".join(f"w{number}" for number in range(128))
    traces = [
        trace(small, "one", "two"),
        trace(large, long, long),
        built_in_model().trace("one"),
        built_in_model().trace(TEXT),
    ]
    for one in traces:
        if name == "cross" and "cross" not in one.blocks:
            continue
        found = find(name, Case(one))
        assert found.effects
        for picture in (found.wrong, found.right):
            assert not picture.values.isinf().any()


def test_what_is_written_beside_the_numbers() -> None:
    """5 tokens of the decoder and 11 of the encoder, 4 heads of 12 numbers, C = 48, as a user reads it."""
    case = Case(trace(SETTINGS[2]), seed=3)
    found = {name: find(name, case) for name in NAMES}
    block = "decoder block 0"
    assert {name: one.where for name, one in found.items()} == {
        **dict.fromkeys(("maps", "fill", "mask"), f"{block} · head 0"),
        **dict.fromkeys(("relu", "width", "sum"), block),
        "norm": f"{block}, after attention is added",
        "cross": f"{block}, attention to the encoder · head 0",
        "same": "random vectors, seed 3",
    }
    assert {name: one.note for name, one in found.items() if one.note} == {
        "maps": "Here T = 5, C = 48, D = 12; W is drawn with seed 3.",
        "width": "The hatched columns are left over.",
    }
    assert {name for name, one in found.items() if not one.signed} == {"fill", "cross", "mask", "same"}
    titles = {name: (one.wrong.title, one.right.title) for name, one in found.items()}
    assert titles["width"] == ("5 heads side by side", "4 heads side by side")
    assert titles["same"] == ("weights, C = 768", "weights, C = 768")
    assert titles["sum"] == ("output", "output")
    target, text = tuple(TARGET.split()), tuple(TEXT.split())
    cross = [one.tokens for one in (found["cross"].wrong, found["cross"].right)]
    assert cross == [{"query": text, "key": target}, {"query": target, "key": text}]
    assert found["sum"].wrong.tokens == {"query": target, "key": target}
    lines = [(one.what, one.wrong, one.right) for each in found.values() for one in each.effects]
    assert {
        ("numbers in the matrix", "T · T = 25", "C · D = 576"),
        ("a text of 6 tokens", "an error: 5 × 5 · 6 × 48", "works: 6 × 12"),
        ("heads · width of a head, C = 48", "5 · 9 = 45, 3 left over", "4 · 12 = 48, 0 left over"),
        ("numbers a token that reach W_O", "D = 12", "H · D = 48"),
        ("numbers in W_O", 576, 2304),
        ("can be added to the decoder's 5 rows", "no: an error", "yes"),
    } <= set(lines)
    assert [what for what, *_ in lines if "C = " in what and "itself" in what] == [
        f"mean weight on itself, C = {width}" for width in (32, 128, 768)
    ]
    gelu = find("relu", Case(trace(SETTINGS[1])))
    assert gelu.note == "This model's activation is GELU, in place of ReLU."


def test_of_one_token_there_is_no_row_before_it() -> None:
    case = Case(trace(TransformerConfig("decoder"), "one"))
    assert effect(find("norm", case), "last token") == ("no row before it", "no row before it")
    assert effect(find("fill", case), "other rows") == ("no such row", 0)
    assert effect(find("fill", case), "after it") == (0, 0)
    two = Case(trace(TransformerConfig("decoder"), "one two"))
    assert effect(find("norm", two), "last token")[0] > 0
    assert effect(find("fill", two), "other rows")[0] == pytest.approx(0, abs=1e-6)


def test_a_width_that_only_fewer_heads_do_not_divide() -> None:
    """8 heads of a width of 8: none above 8 is left, and 3 is the first below that does not divide it."""
    found = find("width", Case(trace(TransformerConfig("encoder", heads=8, width=8))))
    assert effect(found, "C = 8") == ("3 · 2 = 6, 2 left over", "8 · 1 = 8, 0 left over")
    with pytest.raises(NotKnownError, match=r"^Every number of heads divides a width of 2\.$"):
        find("width", Case(narrow(2)))


def narrow(width: int) -> Trace:
    """Return a trace of one head with so small a width."""
    q = torch.ones(1, 3, width)
    return Trace(WordTokenizer().tokenize("a b c"), None, {"encoder": (Block(LayerTrace(q, q, q, 1.0)),)}, q[0])


def test_a_case_is_the_first_block_of_the_last_stack() -> None:
    """A model that has attention in layers 2 and 5 alone; its numbers are its own."""
    q = torch.arange(6.0).reshape(1, 3, 2)
    first, second = (Block(LayerTrace(one, one, one, 1.0)) for one in (q, -q))
    tokens = WordTokenizer().tokenize("a b c")
    case = Case(Trace(tokens, None, {"encoder": (first, second)}, q[0], numbers={"encoder": (2, 5)}))
    assert case.where == "encoder block 2"
    assert case.block is first
    assert case.kind == "encoder"


def test_with_one_head_a_sum_is_the_same() -> None:
    found = find("sum", Case(trace(TransformerConfig(heads=1))))
    torch.testing.assert_close(found.wrong.values, found.right.values)
    assert "one head" in found.note
    assert find("sum", Case(trace(TransformerConfig(heads=2)))).note == ""


def test_what_a_model_does_not_tell_is_named_in_a_sentence() -> None:
    whole = trace(TransformerConfig())
    bare = LayerTrace(whole.layer(0).query, whole.layer(0).key, whole.layer(0).value, whole.layer(0).scale)
    case = Case(Trace(whole.tokens, None, {"encoder": (type(whole.block(0))(bare),)}, whole.last_hidden_state))
    lacks = {"relu": "what follows its attention", "norm": "what follows its attention", "sum": "its W_O"}
    for name in ("maps", "mask", "relu", "norm", "sum"):
        what = lacks.get(name, "the input of its attention")
        with pytest.raises(NotKnownError, match=rf"^This can't be shown with this model: {what} is not known\.$"):
            find(name, case)
    assert find("fill", case).effects
    assert find("width", case).effects

"""The toys with position biases: against ALiBi's authors' code, T5's attention and torch's, and what they promise."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers as tf
from torch.nn import functional as F
from transformers.models.falcon.modeling_falcon import build_alibi_tensor

from attnviz.export.code.cells import script
from attnviz.export.code.transformer import transformer_cells
from attnviz.export.numbers import collect
from attnviz.measures.recomputed import rows_from_past
from attnviz.steps import PARTS, WALK, names_at, steps_of
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import ToyBlock
from attnviz.toy.config import Positions, ToyConfig, TransformerConfig
from attnviz.toy.layers import MultiHeadAttention, Past
from attnviz.toy.transformer import ToyTransformer, shared_stack, trace_transformer
from attnviz.toy.weights import draw_position_bias
from attnviz.trace.matrices import matrix
from attnviz.trace.model import Place
from attnviz.trace.position_bias import PositionBias, alibi, alibi_slopes
from tests.toy import run_block

IDS = (4, 8, 15, 16, 23, 42, 8)
KINDS: tuple[Positions, ...] = ("alibi", "buckets")


def slopes_of_the_authors(n: int) -> list[float]:
    """The function `get_slopes` of https://github.com/ofirpress/attention_with_linear_biases, in our words."""

    def of_power_of_two(count: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(count) - 3)))
        return [start * start**i for i in range(count)]

    if math.log2(n).is_integer():
        return of_power_of_two(n)
    closest = 2 ** math.floor(math.log2(n))
    return of_power_of_two(closest) + slopes_of_the_authors(2 * closest)[0::2][: n - closest]


@pytest.mark.parametrize("heads", range(1, 34))
def test_slopes_are_those_of_the_authors(heads: int) -> None:
    torch.testing.assert_close(alibi_slopes(heads), torch.tensor(slopes_of_the_authors(heads)))
    bias = PositionBias(alibi(heads, 5).cells)
    assert bias.slopes is not None
    torch.testing.assert_close(bias.slopes, alibi_slopes(heads))
    assert bias.kind == "slopes" and bias.is_by_distance
    assert bool((bias.cells.diagonal(dim1=1, dim2=2) == 0).all())


def test_what_is_no_alibi_is_not_called_so() -> None:
    cells = alibi(4, 6).cells
    moved = PositionBias(cells[:, -1:] + 7)  # slope × position of the key, as BLOOM adds it
    assert moved.slopes is not None and not moved.is_by_distance
    torch.testing.assert_close(moved.slopes, alibi_slopes(4))
    for other in (-cells, cells.square(), cells * torch.arange(6.0), torch.zeros(4, 6, 6), cells[:, :1, :1]):
        assert PositionBias(other).kind == "other"
    wrong = cells.clone()
    wrong[2, 5, 1] += 0.2
    assert PositionBias(wrong).slopes is None


@pytest.mark.parametrize("heads", [8, 12, 16, 71])
def test_an_alibi_in_bfloat16_is_known_at_every_length(heads: int) -> None:
    for count in (*range(2, 301), 2000):
        theirs = build_alibi_tensor(torch.ones(1, count, dtype=torch.long), heads, torch.float32)
        slopes = PositionBias(theirs / 8).slopes
        assert slopes is not None, count
        torch.testing.assert_close(slopes, alibi_slopes(heads).bfloat16().float() / 8, rtol=1e-6, atol=0)


@pytest.mark.parametrize("ids", [IDS[:1], IDS])
def test_a_toys_alibi_is_known_of_a_single_token_too(ids: Sequence[int]) -> None:
    model = ToyTransformer(TransformerConfig(positions="alibi", heads=4), WordTokenizer().tokenize)
    layers = run_block(ids, ToyConfig(positions="alibi", heads=4)).layer(0), model.trace("cat").layer(1)
    for layer in layers:
        bias = layer.position_bias
        assert bias is not None and bias.kind == "slopes" and bias.is_by_distance
        assert bias.slopes is not None and torch.equal(bias.slopes, alibi_slopes(4))
    assert "(ALiBi)" in said(ToyConfig(positions="alibi"), ids)[0]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_scores_change_and_a_diagonal_has_one_number(kind: Positions, causal: bool) -> None:
    biased, none = (run_block(IDS, ToyConfig(positions=p, causal=causal)).layer(0) for p in (kind, "none"))
    for name in ("query", "key", "value", "query_input"):
        torch.testing.assert_close(getattr(biased, name), getattr(none, name), rtol=0, atol=0)
    bias = biased.position_bias
    assert bias is not None and bias.kind == ("slopes" if kind == "alibi" else "buckets") and bias.is_by_distance
    added = bias.cells.masked_fill(biased.mask.hidden((7, 7)), -torch.inf)
    expected = F.scaled_dot_product_attention(biased.query, biased.key, biased.value, added, scale=biased.scale)
    torch.testing.assert_close(biased.all_heads().head_outputs, expected)
    shorter = run_block(IDS[:4], ToyConfig(positions=kind, causal=causal)).layer(0).position_bias
    assert shorter is not None
    torch.testing.assert_close(shorter.cells, bias.cells[:, :4, :4])


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_give_what_t5s_own_function_gives(causal: bool) -> None:
    config = tf.T5Config(d_model=16, num_heads=3, is_decoder=causal)
    attention = tf.models.t5.modeling_t5.T5Attention(config, has_relative_attention_bias=True)
    bias = draw_position_bias("buckets", 3, 200, 0, causal=causal)
    assert bias is not None and bias.buckets is not None
    table = torch.zeros(32, 3)
    table[bias.buckets.of(200, 200)] = bias.cells.permute(1, 2, 0)
    with torch.no_grad():
        attention.relative_attention_bias.weight.copy_(table)
        torch.testing.assert_close(attention.compute_bias(200, 200)[0], bias.cells, rtol=0, atol=0)


def test_other_settings_do_not_change_the_drawn_numbers() -> None:
    first = draw_position_bias("buckets", 2, 9, 0, causal=False)
    more = draw_position_bias("buckets", 5, 30, 0, causal=False)
    assert first is not None and more is not None
    assert torch.equal(first.cells, more.cells[:2, :9, :9])
    assert draw_position_bias("rotary", 2, 9, 0, causal=False) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_and_a_row_of_its_past_alone_give_the_same(kind: Positions) -> None:
    config = ToyConfig(positions=kind, causal=True)
    block = ToyBlock(config, len(IDS))
    with torch.no_grad():
        _, single = block(IDS)
        _, both = block((IDS, IDS[::-1]))
    torch.testing.assert_close(both[0], single)
    layer = run_block(IDS, config).layer(0)
    assert rows_from_past(layer, 1).differing == []
    later = run_block(IDS, replace(config, causal=False)).layer(0)
    assert rows_from_past(later, 1).differing == list(range(len(IDS) - 1)), "later keys change them"


@pytest.mark.parametrize("kind", KINDS)
def test_attention_that_keeps_its_past_adds_the_same(kind: Positions) -> None:
    attention, x, past = MultiHeadAttention(12, 3), torch.randn(6, 12), Past()
    attention.position_bias = lambda n: draw_position_bias(kind, 3, n, 0, causal=True)  # type: ignore[assignment, return-value]
    with torch.no_grad():
        whole = attention(x, mask=torch.ones(6, 6).tril().bool())
        attention(x[:4], mask=torch.ones(4, 4).tril().bool(), past=past)
        last = attention(x[4:], mask=torch.ones(6, 6).tril().bool()[4:], past=past)
    torch.testing.assert_close(last, whole[4:])


def test_only_models_with_a_bias_say_that_they_add_one() -> None:
    for kind in KINDS:
        config = TransformerConfig("both", positions=kind, decoder_depth=1)
        description = ToyTransformer(config, WordTokenizer().tokenize).description
        assert description.steps_in["biased"] == {"encoder": (0, 1), "decoder": (0,)}
        assert "biased" not in names_at(description, Place("cross", 0))
        assert "biased" in names_at(description, Place("decoder", 0))
    assert not ToyTransformer(TransformerConfig(), WordTokenizer().tokenize).description.steps_in["biased"]


def tokens(text: str = "the cat saw a dog and a cat") -> Any:
    return WordTokenizer().tokenize(text)


@pytest.mark.parametrize(
    "config",
    [TransformerConfig(positions="alibi"), TransformerConfig("decoder", positions="buckets", width=45, heads=5),
     TransformerConfig("both", positions="buckets", norm="pre", bias=False),
     TransformerConfig("both", positions="alibi", decoder_depth=1), TransformerConfig(positions="rotary"),
     TransformerConfig("decoder", positions="rotary", width=45, heads=5),
     TransformerConfig("both", positions="rotary", norm="pre", bias=False)],
)  # fmt: skip
def test_the_transformers_script_computes_the_same(config: TransformerConfig) -> None:
    trace = trace_transformer(tokens(), tokens("a dog the") if config.architecture == "both" else None, config)
    namespace: dict[str, Any] = {}
    try:
        with redirect_stdout(io.StringIO()) as printed:
            exec(script(transformer_cells(trace, config, 1)), namespace)
    finally:
        torch.set_grad_enabled(True)
    assert "The head outputs are those of torch's own attention." in printed.getvalue()
    assert "matrices are those that the page showed." in printed.getvalue()
    torch.testing.assert_close(namespace["hidden"], trace.last_hidden_state, rtol=1e-5, atol=1e-5)
    names = {name for step in PARTS.values() for name in step.matrices}
    for number, place in enumerate(trace.places):
        walk = trace.walk_at(number, 1)
        shown = collect(walk, [1])
        assert namespace["COMPUTED"][place.name].keys() == shown.keys() & names
        assert (
            ("biased" in steps_of(walk))
            == ("position_bias" in shown)
            == (place.layer in config.biased.get(place.kind, ()))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_words_matters_with_a_bias(kind: Positions) -> None:
    stack = shared_stack(TransformerConfig(positions=kind))
    plain = shared_stack(replace(TransformerConfig(), positions="none"))
    x = torch.randn(5, 32)
    with torch.no_grad():
        order = [1, 0, 2, 3, 4]
        assert not torch.allclose(stack(x[order]), stack(x)[order], atol=1e-3)
        is_same = torch.allclose(stack(x.flip(0)).flip(0), stack(x), atol=1e-5)
        assert is_same == (kind == "alibi"), "in the opposite order all distances are the same"
        torch.testing.assert_close(plain(x.flip(0)).flip(0), plain(x))


def said(config: ToyConfig, ids: Sequence[int] = IDS, head: int = 0) -> tuple[str, str, str]:
    step, walk = WALK["biased"], run_block(ids, config).walk(0, head)
    return step.notice(walk), step.fact(walk), step.code(walk)


def test_what_is_said_of_a_bias() -> None:
    notice, fact, code = said(ToyConfig(positions="alibi", heads=4, causal=True), head=1)
    assert "falls by the same slope with each position that a key is further away" in notice and "(ALiBi)" in notice
    assert fact == "Here the slope is 0.0625 a position."
    assert "position_bias = -slope * (at[:, None] - at).abs()" in code
    assert WALK["biased"].picture(run_block(IDS, ToyConfig(positions="alibi", heads=4)).walk(0, 1)).panels[1].title == (  # type: ignore[union-attr]
        "+ bias, slope 0.0625"
    )
    walk = run_block(IDS, ToyConfig(positions="buckets", causal=True)).walk(0, 0)
    notice, fact, code = said(ToyConfig(positions="buckets", causal=True))
    bias = matrix(walk, "position_bias")
    visible = bias.masked_fill(walk.layer.hidden(0), -torch.inf)
    q, k = divmod(int(visible.argmax()), len(IDS))
    where = f"of bucket {q - k} ({q - k} positions before)"
    assert fact == f"Here it adds most to row {q}, column {k}: {float(bias[q, k]):.2f}, {where}."
    assert "(T5)" in notice and "table: a number for each of 32 buckets" in code
    assert said(ToyConfig(positions="alibi"), IDS[:1])[1] == ""


def test_a_number_before_the_scaling_replaces_the_biased_score() -> None:
    config = ToyConfig(positions="alibi", mask_value="-1e10_before", causal=True, cap=1.5)
    for each in (config, replace(config, cap=None)):
        walk = run_block(IDS, each).walk(0, 0)
        assert ", which replaces the biased score" in str(WALK["masked"].notice(walk))
        hidden = walk.steps.masked[walk.layer.hidden(0)]
        assert torch.equal(hidden, torch.full_like(hidden, walk.layer.mask.hidden_value(walk.layer.scale, each.cap)))
    without = replace(config, positions="none")
    assert "replaces" not in str(WALK["masked"].notice(run_block(IDS, without).walk(0, 0)))

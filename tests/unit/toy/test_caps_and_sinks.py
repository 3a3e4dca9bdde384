"""The toy transformer with soft caps, sinks and windows: against Gemma 2's and gpt-oss's own attention, and torch's."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.masking_utils import sliding_window_bidirectional_overlay, sliding_window_causal_mask_function
from transformers.models.gemma2 import modeling_gemma2 as gemma2
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss

from attnviz.export.code.cells import script
from attnviz.export.code.transformer import transformer_cells
from attnviz.export.numbers import collect
from attnviz.mask_reasons import MaskReasons
from attnviz.measures.cost import cost
from attnviz.steps import PARTS, names_at
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import MAX_SINK, MAX_TOKENS, TransformerConfig
from attnviz.toy.layers import EncoderLayer, MultiHeadAttention, Past
from attnviz.toy.transformer import ToyTransformer, shared_stack, trace_transformer
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

CAP, SINK = 0.5, -0.75
SOURCE, TARGET = (WordTokenizer().tokenize(text) for text in ("the cat saw a dog and a cat", "a dog the cat saw"))
ARCHITECTURES = ("encoder", "decoder", "both")


def run(config: TransformerConfig) -> Trace:
    return trace_transformer(SOURCE, TARGET if config.architecture == "both" else None, config)


def described(config: TransformerConfig) -> Any:
    return ToyTransformer(config, WordTokenizer().tokenize).description


def places(trace: Trace) -> list[tuple[Kind, LayerTrace]]:
    return [(place.kind, trace.layer(place.layer, place.kind)) for place in trace.places]


def operands(layer: LayerTrace) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return queries, keys, values and an additive mask, with a batch axis, as transformers' functions take them."""
    hidden = layer.mask.hidden((layer.heads, layer.query.shape[1], layer.key.shape[1]))
    added = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
    return layer.query[None], layer.key[None], layer.value[None], added[None]


def check(layer: LayerTrace, output: Tensor, weights: Tensor) -> None:
    """Compare the head outputs, (1, T, H, D), and the weights, (1, H, T, T), of another implementation."""
    steps = layer.all_heads()
    torch.testing.assert_close(steps.head_outputs, output[0].transpose(0, 1), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(steps.weights, weights[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_soft_cap_is_gemma_2s(architecture: Any, window: int | None) -> None:
    trace = run(TransformerConfig(architecture, cap=CAP, window=window))
    module = SimpleNamespace(num_key_value_groups=1, training=False)
    for _, layer in places(trace):
        query, key, value, added = operands(layer)
        found = gemma2.eager_attention_forward(module, query, key, value, added, scaling=layer.scale, softcap=CAP)  # type: ignore[arg-type]
        check(layer, *found)
        assert float(layer.all_heads().scaled.abs().max()) > CAP, "the cap changes something"


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_sink_is_gpt_oss_s(architecture: Any, window: int | None) -> None:
    trace = run(TransformerConfig(architecture, heads=4, sink=SINK, window=window))
    module = SimpleNamespace(num_key_value_groups=1, training=False, sinks=torch.full((4,), SINK))
    for _, layer in places(trace):
        query, key, value, added = operands(layer)
        check(layer, *gpt_oss.eager_attention_forward(module, query, key, value, added, scaling=layer.scale))  # type: ignore[arg-type]
        share = layer.all_heads().sink
        assert share is not None and float(share.min()) > 0


def test_a_cap_keeps_the_scores_small_and_leaves_the_sink() -> None:
    """With one more key whose numbers are 0, Gemma 2's attention has a sink too: its mask is added after the cap."""
    trace = run(TransformerConfig("decoder", cap=CAP, sink=SINK, positions="alibi"))
    module = SimpleNamespace(num_key_value_groups=1, training=False)
    for _, layer in places(trace):
        query, key, value, added = operands(layer)
        bias = layer.position_bias
        assert bias is not None
        added = F.pad(added + bias.cells, (0, 1), value=SINK)
        key, value = (F.pad(rows, (0, 0, 0, 1)) for rows in (key, value))
        output, weights = gemma2.eager_attention_forward(
            module, query, key, value, added, scaling=layer.scale, softcap=CAP  # type: ignore[arg-type]
        )  # fmt: skip
        check(layer, output, weights[..., :-1])
        torch.testing.assert_close(layer.all_heads().sink, weights[0, ..., -1:])


@pytest.mark.parametrize("window", [1, 2, 3, 4, 7, 8, 16, MAX_TOKENS])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_windows_are_those_of_transformers_and_only_within_a_text(architecture: Any, window: int) -> None:
    trace = run(TransformerConfig(architecture, window=window))
    for kind, layer in places(trace):
        rows, columns = layer.query.shape[1], layer.key.shape[1]
        hidden = layer.mask.hidden((rows, columns))
        sees = (
            sliding_window_causal_mask_function(window)
            if kind == "decoder"
            else sliding_window_bidirectional_overlay(window // 2)
        )
        expected = [[kind != "cross" and not bool(sees(0, 0, q, k)) for k in range(columns)]
                    for q in torch.arange(rows)]  # fmt: skip
        assert hidden.tolist() == expected
        wanted = None if kind == "cross" else (window if kind == "decoder" else window // 2 + 1)
        assert layer.window == wanted
        if kind != "cross" and hidden.any():
            reach = (window - 1, 0) if kind == "decoder" else (window // 2, window // 2)
            assert layer.mask_reasons == MaskReasons(kind == "decoder", reach).occurring(rows, columns)


def test_what_is_switched_on_is_said_of_the_model() -> None:
    is_ = described(TransformerConfig("both", cap=CAP, sink=SINK, window=3, decoder_depth=1))
    assert is_.steps_in["capped"] == {"encoder": (0, 1), "decoder": (0,), "cross": (0,)}
    assert is_.has_sinks
    assert is_.windows == {"encoder": (2, 2), "decoder": (3,)}
    assert is_.layer_marks("encoder") == {0: "window of 3", 1: "window of 3"}
    assert (is_.layer_marks("decoder"), is_.layer_marks("cross")) == ({0: "window of 3"}, {})
    plain = described(TransformerConfig("both", decoder_depth=1))
    assert (plain.steps_in["capped"], plain.has_sinks, plain.windows) == ({}, False, {})
    for config in (TransformerConfig("decoder", cap=CAP), TransformerConfig("decoder")):
        assert all(("capped" in names_at(described(config), place)) == bool(config.cap) for place in run(config).places)


def test_nothing_is_drawn_for_them() -> None:
    """The sink's score is set, not learned: it is no parameter. What a pass multiplies stays too."""
    plain, config = TransformerConfig("both"), TransformerConfig("both", cap=CAP, sink=SINK, window=3)
    assert described(config).parameters == described(plain).parameters
    assert cost(described(config).sizes, 50) == cost(described(plain).sizes, 50)
    for (name, weight), (other, same) in zip(
        shared_stack(config).named_parameters(), shared_stack(plain).named_parameters(), strict=True
    ):
        assert name == other
        assert torch.equal(weight, same)


def test_only_the_scores_change() -> None:
    plain = run(TransformerConfig("decoder")).layer(0, "decoder")
    changed = run(TransformerConfig("decoder", cap=CAP, sink=SINK, window=3)).layer(0, "decoder")
    for name in ("query", "key", "value", "query_input"):
        assert torch.equal(getattr(plain, name), getattr(changed, name))
    assert not torch.allclose(plain.attentions(), changed.attentions(), atol=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_layer_with_a_window_is_torchs_with_that_mask(norm: Any) -> None:
    """Padding is hidden too; a row whose window holds padding alone gets nothing."""
    ours = shared_stack(TransformerConfig("encoder", depth=1, window=3, norm=norm)).layers[0]  # type: ignore[index]
    assert isinstance(ours, EncoderLayer)
    theirs = nn.TransformerEncoderLayer(32, 2, 128, 0.0, batch_first=True, norm_first=norm == "pre").eval()
    copy = EncoderLayer.from_torch(theirs)
    copy.attention.reach = ours.attention.reach
    x, seen = torch.randn(2, 7, 32), torch.arange(7) < 6
    hidden = ~torch.tensor([[abs(q - k) <= 1 and k < 6 for k in range(7)] for q in range(7)])
    with torch.no_grad():
        torch.testing.assert_close(copy(x, mask=seen.expand(7, 7)), theirs(x, src_mask=hidden), rtol=1e-5, atol=1e-5)


def test_attention_that_keeps_its_past_sees_the_same_window() -> None:
    attention, x, past = MultiHeadAttention(12, 3), torch.randn(8, 12), Past()
    attention.cap, attention.sink, attention.reach = CAP, SINK, (2, 0)
    with torch.no_grad():
        whole = attention(x)
        attention(x[:4], past=past)
        later = attention(x[4:], past=past)
    torch.testing.assert_close(later, whole[4:])


def test_a_batch_has_the_numbers_of_each_text() -> None:
    attention, x = MultiHeadAttention(12, 3), torch.randn(2, 8, 12)
    attention.cap, attention.sink, attention.reach = CAP, SINK, (1, 1)
    with torch.no_grad():
        torch.testing.assert_close(attention(x)[1], attention(x[1]))


@pytest.mark.parametrize(
    ("config", "peer"),
    [
        (TransformerConfig("decoder", window=3), "layers"),
        (TransformerConfig("both", window=4, norm="pre", bias=False), "layers"),
        (TransformerConfig("both", window=1), "layers"),
        (TransformerConfig(cap=CAP), "attention"), (TransformerConfig(sink=SINK), "attention"),
        (TransformerConfig("both", cap=0.1, sink=MAX_SINK, window=4, positions="buckets", depth=1), "attention"),
        (TransformerConfig("decoder", cap=50.0, sink=0.0, window=2, positions="rotary"), "attention"),
        (TransformerConfig("encoder", cap=2.0, window=2, positions="buckets"), "attention"),
    ],
)  # fmt: skip
def test_the_script_computes_the_same(config: TransformerConfig, peer: str) -> None:
    trace = run(config)
    code = script(transformer_cells(trace, config, 1))
    namespace: dict[str, Any] = {}
    try:
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
    finally:
        torch.set_grad_enabled(True)
    assert f"torch's own {peer}." in printed.getvalue()
    assert ("in its window" in code or "tokens of its window" in code) == (config.window is not None)
    torch.testing.assert_close(namespace["hidden"], trace.last_hidden_state, rtol=1e-5, atol=1e-5)
    names = {name for step in PARTS.values() for name in step.matrices}
    for number, place in enumerate(trace.places):
        shown = collect(trace.walk_at(number, 1), [1])
        kept = namespace["COMPUTED"][place.name]
        assert kept.keys() == shown.keys() & names
        assert ("capped" in kept, "sink" in kept) == (config.cap is not None, config.sink is not None)
        for name, matrix in kept.items():
            torch.testing.assert_close(matrix, torch.tensor(shown[name]).reshape(matrix.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cap": 0.0}, "a soft cap of 0.0: the toy transformer has 0.1 to 1000"),
        ({"cap": float("nan")}, "a soft cap of nan: the toy transformer has 0.1 to 1000"),
        ({"sink": 101.0}, "a sink of 101.0: the toy transformer has −100 to 100"),
        ({"window": 0}, "0 keys in a window: the toy transformer has 1 to 512"),
        ({"window": 513}, "513 keys in a window: the toy transformer has 1 to 512"),
    ],
)
def test_what_is_out_of_range_is_refused(fields: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        replace(TransformerConfig(), **fields)

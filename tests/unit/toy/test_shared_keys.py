"""The toy transformer with shared keys and norms of queries and keys: against Qwen3's and Mllama's own attention.

They stand in transformers' StarCoder 2, and in torch's layers in place of torch's attention.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.mllama.modeling_mllama import MllamaTextCrossAttention
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

from attnviz.export.code.cells import script
from attnviz.export.code.transformer import transformer_cells
from attnviz.export.numbers import collect
from attnviz.links.link import read_link
from attnviz.measures.cost import cost
from attnviz.steps import PARTS, WALK, names_at
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.layers import MultiHeadAttention, Past
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.toy.transformer import ToyTransformer, blocks_of, draw_stack, shared_stack, trace_transformer
from attnviz.toy.weights import rotary_positions
from attnviz.trace.model import AttentionSize, MapSize
from attnviz.trace.recorder import recording
from attnviz.trace.trace import Trace
from tests.unit.toy.transformers import torchs_stack

SOURCE, TARGET = (WordTokenizer().tokenize(text) for text in ("the cat saw a dog and a cat", "a dog the cat saw"))
ARCHITECTURES = ("encoder", "decoder", "both")
NEAR = {"rtol": 1e-5, "atol": 1e-5}
WEIGHTS_NEAR = {"rtol": 1e-5, "atol": 1e-6}


def run(config: TransformerConfig) -> Trace:
    return trace_transformer(SOURCE, TARGET if config.architecture == "both" else None, config)


def described(config: TransformerConfig) -> Any:
    return ToyTransformer(config, WordTokenizer().tokenize).description


def drawn(config: TransformerConfig) -> Encoder | Seq2Seq:
    """Return the blocks; the γ of queries and keys are not 1, as after training."""
    stack = draw_stack(config).eval().requires_grad_(False)
    for name, parameter in stack.named_parameters():
        if name.endswith(("query_norm.weight", "key_norm.weight")):
            parameter.copy_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(len(name))) + 0.5)
    return stack


def copied(ours: MultiHeadAttention, theirs: nn.Module, *, turned: bool = False) -> nn.Module:
    """Give an attention of transformers our weights. It turns halves of a head, where ours turns neighbours."""
    size = ours.query.out_features // ours.heads
    order = torch.arange(size).view(-1, 2).T.flatten() if turned else torch.arange(size)
    with torch.no_grad():
        for name, map_ in (("q_proj", ours.query), ("k_proj", ours.key), ("v_proj", ours.value)):
            rows = torch.arange(map_.out_features).view(-1, size)
            rows = (rows if name == "v_proj" else rows[:, order]).flatten()
            for kind, parameter in theirs.get_submodule(name).named_parameters():
                parameter.copy_(map_.get_parameter(kind)[rows])
        for kind, parameter in theirs.get_submodule("o_proj").named_parameters():
            parameter.copy_(ours.output.get_parameter(kind))
        for name, norm in (("q_norm", ours.query_norm), ("k_norm", ours.key_norm)):
            if norm is not None:
                theirs.get_parameter(f"{name}.weight").copy_(norm.weight[order])
    return theirs.eval()


def sizes(config: TransformerConfig) -> dict[str, Any]:
    return {
        "hidden_size": config.width, "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads or config.heads, "attn_implementation": "eager", "rms_norm_eps": 1e-6,
    }  # fmt: skip


def qwen3(config: TransformerConfig) -> Qwen3Attention:
    of_heads = {"head_dim": config.width // config.heads, "attention_bias": config.bias}
    attention = Qwen3Attention(tf.Qwen3Config(**sizes(config), **of_heads), 0)
    if not config.qk_norm:
        attention.q_norm = attention.k_norm = nn.Identity()
    attention.batch_first = True  # which torch's stacks ask for
    return attention


def starcoder(config: TransformerConfig, ours: Encoder) -> tf.Starcoder2Model:
    """Return StarCoder 2 with our weights and Qwen3's attention: it has LayerNorms, GELU by tanh, shared keys."""
    theirs = tf.Starcoder2Model(
        tf.Starcoder2Config(
            **{**sizes(config), "rms_norm_eps": None}, intermediate_size=config.hidden_width, vocab_size=3,
            num_hidden_layers=config.depth, sliding_window=None, norm_epsilon=1e-5,
        )
    ).eval()  # fmt: skip
    for mine, its in zip(ours.layers, theirs.layers, strict=True):
        assert isinstance(mine.attention, MultiHeadAttention)
        if config.qk_norm:
            its.self_attn = qwen3(config)
        copied(mine.attention, its.self_attn, turned=True)
        for name, part in (
            ("input_layernorm", "attention_norm"), ("post_attention_layernorm", "feed_forward_norm"),
            ("mlp.c_fc", "feed_forward.first"), ("mlp.c_proj", "feed_forward.second"),
        ):  # fmt: skip
            its.get_submodule(name).load_state_dict(mine.get_submodule(part).state_dict())
    theirs.norm.load_state_dict(ours.norm.state_dict())
    return theirs


@pytest.mark.parametrize("qk_norm", [False, True])
@pytest.mark.parametrize("kv_heads", [None, 4, 2, 1])
@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_a_whole_model_is_transformers(architecture: Any, kv_heads: int | None, qk_norm: bool) -> None:
    config = TransformerConfig(
        architecture, 3, 4, 32, "gelu_tanh", "pre", "rotary", kv_heads=kv_heads, qk_norm=qk_norm, seed=3
    )
    ours, x = drawn(config), torch.randn(7, 32, generator=torch.Generator().manual_seed(0))
    assert isinstance(ours, Encoder)
    theirs = starcoder(config, ours)
    all_weights: list[Tensor] = []
    for layer in theirs.layers:
        layer.self_attn.register_forward_hook(lambda _, __, output: all_weights.append(output[1]))
    seen = torch.zeros(1, 1, 7, 7) if architecture == "encoder" else None  # else transformers' own causal mask
    with torch.no_grad(), recording() as recorder:
        hidden = ours(x)
        expected = theirs(inputs_embeds=x[None], attention_mask=seen, use_cache=False).last_hidden_state[0]
    torch.testing.assert_close(hidden, expected, **NEAR)
    blocks = blocks_of(ours, recorder.calls)[architecture]
    for layer, block, weights in zip(ours.layers, blocks, all_weights, strict=True):
        torch.testing.assert_close(block.attention.attentions(), weights[0], rtol=0, atol=1e-6)
        assert block.attention.shared_by == 4 // (kv_heads or 4)
        for name in ("query", "key") if qk_norm else ():
            gamma = layer.attention.get_parameter(f"{name}_norm.weight")  # type: ignore[operator, union-attr]
            expected = F.rms_norm(block.attention.projected(name), (8,), gamma, eps=1e-6)  # type: ignore[arg-type]
            torch.testing.assert_close(block.attention.normed(name), expected)  # type: ignore[arg-type]


def own_attention(attention: nn.Module, _: Any, x: Tensor, *given: Any, **__: Any) -> Tensor:
    """Compute a sublayer of torch with an attention of transformers; without rotation all cosines are 1."""
    if isinstance(attention, MllamaTextCrossAttention):
        output: Tensor = attention(x, cross_attention_states=given[0])[0]
    else:
        tables = torch.ones(1, x.shape[1], attention.head_dim), torch.zeros(1, x.shape[1], attention.head_dim)
        output = attention(x, position_embeddings=tables, attention_mask=given[0])[0]
    return output


def torchs_with_own_attention(config: TransformerConfig, ours: Encoder | Seq2Seq) -> Any:
    """Return torch's stack, in whose layers transformers' attentions with our weights compute."""
    theirs = torchs_stack(config, ours)
    stacks = [(ours, theirs)] if isinstance(ours, Encoder) else [
        (ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)
    ]  # fmt: skip
    for stack, its in stacks:
        for layer, its_layer in zip(stack.layers, its.layers, strict=True):
            own: nn.Module = copied(layer.attention, qwen3(config))  # type: ignore[arg-type]
            its_layer.self_attn = own
            its_layer._sa_block = MethodType(partial(own_attention, own), its_layer)
            if hasattr(its_layer, "multihead_attn"):
                cross = tf.MllamaConfig().text_config.__class__(**sizes(config), dropout=0.0)
                own = copied(layer.cross_attention, MllamaTextCrossAttention(cross, 0))  # type: ignore[arg-type]
                its_layer.multihead_attn = own
                its_layer._mha_block = MethodType(partial(own_attention, own), its_layer)
    return theirs


def its_states(theirs: Any, x: Tensor, y: Tensor, architecture: str) -> Tensor:
    """Return the last hidden state of torch's stack for x, (1, Tk, C), and y, (1, Tq, C)."""
    causal = nn.Transformer.generate_square_subsequent_mask
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        if architecture == "both":
            states: Tensor = theirs(x, y, tgt_mask=causal(y.shape[1]))
        else:
            states = theirs(x, mask=causal(x.shape[1]) if architecture == "decoder" else None)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return states


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("kv_heads", [None, 2, 1])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_norms_and_shared_keys_are_those_of_qwen3_and_mllama(
    architecture: Any, kv_heads: int | None, norm: Any
) -> None:
    """In cross-attention too, whose keys are the encoder's. Mllama's maps there have no biases."""
    config = TransformerConfig(
        architecture, 2, 4, 24, "gelu", norm, "none", False, 5, kv_heads=kv_heads, qk_norm=True, decoder_depth=1
    )
    ours = drawn(config)
    x, y = (torch.randn(1, n, 24, generator=torch.Generator().manual_seed(n)) for n in (7, 5))
    theirs = torchs_with_own_attention(config, ours)
    with torch.no_grad():
        hidden = ours(x, y) if isinstance(ours, Seq2Seq) else ours(x)
        torch.testing.assert_close(hidden, its_states(theirs, x, y, architecture), **NEAR)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shared_keys_are_those_of_torchs_layers_with_a_copy_for_each_head(
    architecture: Any, kv_heads: int, norm: Any
) -> None:
    config = TransformerConfig(architecture, heads=4, norm=norm, kv_heads=kv_heads)
    trace, theirs = run(config), torchs_stack(config, draw_stack(config))
    x, y = (
        sum(parts.values(), start=torch.zeros(())) for parts in (trace.embedding_parts, trace.decoder_embedding_parts)
    )
    with torch.no_grad():
        expected = its_states(theirs, x[None], y[None] if y.ndim else y, architecture)[0]
    torch.testing.assert_close(trace.last_hidden_state, expected, **NEAR)


@pytest.mark.parametrize("positions", ["rotary", "alibi", "sinusoidal"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_attention_is_torchs_with_grouped_queries(architecture: Any, positions: Any) -> None:
    config = TransformerConfig(architecture, heads=4, positions=positions, kv_heads=2, qk_norm=True)
    trace = run(config)
    for place in trace.places:
        layer = trace.layer(place.layer, place.kind)
        for name in ("query", "key"):
            expected = F.rms_norm(layer.projected(name), (8,), eps=1e-6)  # type: ignore[arg-type]
            torch.testing.assert_close(layer.normed(name), expected)  # type: ignore[arg-type]
            torch.testing.assert_close(getattr(layer, name), layer.turned(expected), **WEIGHTS_NEAR)
        hidden = layer.mask.hidden((layer.heads, layer.query.shape[1], layer.key.shape[1]))
        added = torch.zeros(hidden.shape) if layer.position_bias is None else layer.position_bias.cells
        theirs = F.scaled_dot_product_attention(
            layer.query[None], layer.key[None, ::2], layer.value[None, ::2],
            added.masked_fill(hidden, -torch.inf)[None], enable_gqa=True,
        )  # fmt: skip
        torch.testing.assert_close(layer.all_heads().head_outputs, theirs[0], **WEIGHTS_NEAR)
        assert layer.shared_by == 2


def test_rotary_positions_turn_what_is_normed() -> None:
    layer = run(TransformerConfig("decoder", positions="rotary", qk_norm=True)).layer(0, "decoder")
    rotation = rotary_positions(8, 16)
    assert rotation is not None
    expected = rotation.apply(F.rms_norm(layer.projected("query"), (16,), eps=1e-6))
    torch.testing.assert_close(layer.query, expected)
    torch.testing.assert_close(layer.query.norm(dim=-1), torch.full((2, 8), 4.0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_only_keys_and_values_change_and_are_those_of_the_first_of_the_heads(kv_heads: int) -> None:
    plain, config = (TransformerConfig("both", heads=4, kv_heads=count, seed=2) for count in (None, kv_heads))
    first = [head // (4 // kv_heads) * (4 // kv_heads) for head in range(4)]
    own, shared = (run(each).layer(0, "encoder") for each in (plain, config))
    assert torch.equal(shared.query, own.query)
    assert torch.equal(shared.key, own.key[first])
    assert torch.equal(shared.value, own.value[first])
    rows = dict(shared_stack(plain).named_parameters())
    for name, weight in shared_stack(config).named_parameters():
        if ".key." not in name and ".value." not in name:
            assert torch.equal(weight, rows[name]), name
        else:
            assert len(weight) == kv_heads * 8


def test_norms_of_queries_and_keys_draw_nothing() -> None:
    plain, config = TransformerConfig("both"), TransformerConfig("both", qk_norm=True)
    weights = dict(shared_stack(config).named_parameters())
    for name, weight in shared_stack(plain).named_parameters():
        assert torch.equal(weights.pop(name), weight)
    assert len(weights) == 2 * 6 and all(torch.equal(weight, torch.ones(16)) for weight in weights.values())


def test_what_is_switched_on_is_said_of_the_model() -> None:
    config = TransformerConfig("both", heads=4, kv_heads=2, qk_norm=True, decoder_depth=1)
    everywhere = {"encoder": (0, 1), "decoder": (0,), "cross": (0,)}
    assert described(config).steps_in["normed"] == everywhere
    assert described(replace(config, qk_norm=False)).steps_in["normed"] == {}
    for each in (config, replace(config, qk_norm=False)):
        assert all(("normed" in names_at(described(each), place)) == each.qk_norm for place in run(each).places)
    square, narrow = MapSize(32, 32), MapSize(32, 16)
    sizes_ = (AttentionSize(4, 8, 8, (square, narrow, narrow), (square,)),) * 4
    assert described(config).sizes.attentions == sizes_
    walk = run(config).walk_at(3, 1)
    assert walk.layer.shared_by == 2
    assert "4 heads of queries share 2 heads of keys and values" in WALK["qkv"].fact(walk)
    assert "The γ by which a model would multiply each dimension is 1 here." in WALK["normed"].notice(walk)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kv_heads", [None, 2, 1])
def test_parameters_and_cost_are_those_of_transformers_modules(architecture: Any, kv_heads: int | None) -> None:
    config = TransformerConfig(architecture, 2, 4, 24, bias=False, kv_heads=kv_heads, qk_norm=True)
    theirs = torchs_with_own_attention(config, draw_stack(config))
    counts = {"attention": 0, "feed_forward": 0, "norms": 0}
    for name, parameter in theirs.named_parameters():
        part = "norms" if "norm" in name else "attention" if "attn" in name else "feed_forward"
        counts[part] += parameter.numel()
    assert described(config).parameters == counts
    x = torch.randn(1, 9, 24)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        its_states(theirs, x, x, architecture)
    total = sum(part.multiplications for part in cost(described(config).sizes, 9))
    assert total == counter.get_total_flops() // 2


@pytest.mark.parametrize("rotary", [False, True])
def test_a_cache_has_the_shared_keys_once(rotary: bool) -> None:
    torch.manual_seed(0)
    attention, x, past = MultiHeadAttention(16, 4, kv_heads=2, qk_norm=True, rotary=rotary), torch.randn(6, 16), Past()
    with torch.no_grad():
        whole = attention(x, mask=torch.ones(6, 6).tril().bool())
        parts = [attention(x[:3], mask=torch.ones(3, 3).tril().bool(), past=past)]
        parts += [attention(x[place : place + 1], past=past) for place in range(3, 6)]
    torch.testing.assert_close(torch.cat(parts), whole)
    assert past.key is not None and past.value is not None
    assert past.key.shape == past.value.shape == (2, 6, 4)


def test_a_batch_has_the_numbers_of_each_text() -> None:
    attention, x = MultiHeadAttention(16, 4, kv_heads=1, qk_norm=True), torch.randn(2, 8, 16)
    with torch.no_grad():
        torch.testing.assert_close(attention(x)[1], attention(x[1]))


@pytest.mark.parametrize(
    ("config", "peer"),
    [
        (TransformerConfig("decoder", heads=4, kv_heads=2), "layers"),
        (TransformerConfig("both", heads=4, kv_heads=1, norm="pre", bias=False, window=3), "layers"),
        (TransformerConfig(heads=4, kv_heads=4), "layers"),
        (TransformerConfig(qk_norm=True), "attention"),
        (TransformerConfig("both", heads=8, kv_heads=2, qk_norm=True, bias=False, decoder_depth=1), "attention"),
        (TransformerConfig("decoder", heads=4, kv_heads=2, qk_norm=True, positions="rotary", sink=0.5), "attention"),
        (TransformerConfig("both", heads=4, kv_heads=1, qk_norm=True, positions="buckets", cap=2.0), "attention"),
        (TransformerConfig("encoder", heads=4, kv_heads=2, positions="rotary", window=2), "attention"),
    ],
)
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
    torch.testing.assert_close(namespace["hidden"], trace.last_hidden_state, **NEAR)
    assert ("G = " in code, "rms_norm" in code) == (config.shared_by > 1, config.qk_norm)
    names = {name for step in PARTS.values() for name in step.matrices}
    for number, place in enumerate(trace.places):
        shown = collect(trace.walk_at(number, 1), [1])
        kept = namespace["COMPUTED"][place.name]
        assert kept.keys() == shown.keys() & names
        assert ("normed_query" in kept) == config.qk_norm
        for name, matrix in kept.items():
            torch.testing.assert_close(matrix, torch.tensor(shown[name]).reshape(matrix.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kv_heads", [0, 3, 8])
def test_a_number_of_heads_of_keys_divides_that_of_the_heads(kv_heads: int) -> None:
    said = f"^4 heads can't share {kv_heads} heads of keys and values$"
    with pytest.raises(ValueError, match=said):
        TransformerConfig(heads=4, kv_heads=kv_heads)
    with pytest.raises(ValueError, match=said):
        MultiHeadAttention(16, 4, kv_heads=kv_heads)


def test_a_link_is_fitted_to_the_width_and_then_to_the_heads() -> None:
    for link, heads, fitting in (
        ({"width": "48", "heads": "6", "kv_heads": "4"}, 6, None), ({"heads": "1", "kv_heads": "8"}, 1, None),
        ({"width": "32", "heads": "6", "kv_heads": "2"}, 4, 2), ({"heads": "6", "kv_heads": "3"}, 4, None),
        ({"heads": "4", "kv_heads": "2"}, 4, 2), ({"heads": "4", "kv_heads": "4"}, 4, None), ({"heads": "4"}, 4, None),
    ):  # fmt: skip
        view, notes = read_link({"text": "a", **link})
        assert not notes
        config = TransformerConfig.of(view.__getitem__)
        assert (config.heads, config.kv_heads) == (heads, fitting)
    view, _ = read_link({"text": "a", "qkv": "identity", "heads": "4", "kv_heads": "2", "qk_norm": "1"})
    config = TransformerConfig.of(view.__getitem__)
    assert (config.kv_heads, config.qk_norm) == (2, True), "its projections are always linear"

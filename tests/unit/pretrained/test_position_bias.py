"""Models with position biases, and those with attention code of their own: against what they compute themselves."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from torch import Tensor, nn
from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position

from attnviz.compare.alignment import align
from attnviz.compare.matrices import compare, what_if
from attnviz.document import document_of_layer, read, write
from attnviz.export.code.cells import cells, script
from attnviz.export.code.pretrained import pretrained_inputs, unknown_of
from attnviz.export.numbers import collect
from attnviz.figures.steps import lay_out
from attnviz.measures.score_parts import score_parts
from attnviz.pretrained import Kind, load
from attnviz.pretrained.transformers_model import NO_AFTER, TransformersModel
from attnviz.steps import WALK, names_at, picture, steps_of
from attnviz.trace.buckets import Buckets
from attnviz.trace.matrices import find_matrix, matrix
from attnviz.trace.model import Place
from attnviz.trace.position_bias import BiasKind, PositionBias, PositionTerms
from attnviz.trace.recorder import Replacement, replaced
from attnviz.trace.trace import Trace
from tests.unit.pretrained.architectures import tokenizer

TEXT, PAIR = "the cat sat on the mat the cat saw the dog", "the dog sat on the mat"
H = 6
"""Heads: no power of two, so that slopes of ALiBi come from two lists"""
SIZES: dict[str, Any] = {"vocab_size": 64, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": H}
T5: dict[str, Any] = {
    "vocab_size": 64, "d_model": 48, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": H,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 10, "decoder_start_token_id": 0,
    "pad_token_id": 0, "eos_token_id": 1, "dropout_rate": 0.0,
}  # fmt: skip


def falcon(**settings: Any) -> Any:
    return tf.FalconModel(tf.FalconConfig(**SIZES, alibi=True, **settings))


DEBERTA: dict[str, Any] = {
    **SIZES, "intermediate_size": 48, "relative_attention": True, "position_biased_input": False
}  # fmt: skip


def deberta(**settings: Any) -> Any:
    return tf.DebertaModel(tf.DebertaConfig(**DEBERTA | settings))


def deberta_v2(**settings: Any) -> Any:
    return tf.DebertaV2Model(tf.DebertaV2Config(**DEBERTA | settings))


XLM: dict[str, Any] = {
    "vocab_size": 64, "emb_dim": 48, "n_layers": 2, "n_heads": H, "max_position_embeddings": 64, "pad_index": 0,
    "eos_index": 1, "unk_index": 3, "mask_index": 5, "pad_token_id": 0, "use_lang_emb": False,
}  # fmt: skip
BOTH_TERMS = ["c2p", "p2c"]


@dataclass(frozen=True)
class Family:
    """A family with position biases, or with attention code of its own."""

    make: Callable[[], Any]
    bias: BiasKind | None
    rotates: bool = False
    shared_by: int = 1
    has_projections: bool = True
    reads_weights: bool = True
    """Whether eager attention gives weights that are right: Falcon's adds an ALiBi twice"""

    @property
    def steps(self) -> set[str]:
        return {*(("biased",) if self.bias else ()), *(("rotated",) if self.rotates else ())}


FAMILIES = {
    "t5": Family(lambda: tf.T5Model(tf.T5Config(**T5)), "buckets"),
    "mt5": Family(lambda: tf.MT5Model(tf.MT5Config(**T5)), "buckets"),
    "umt5": Family(lambda: tf.UMT5Model(tf.UMT5Config(**T5)), "buckets"),
    "longt5": Family(lambda: tf.LongT5Model(tf.LongT5Config(**T5, local_radius=3)), "buckets"),
    "bloom": Family(
        lambda: tf.BloomModel(tf.BloomConfig(vocab_size=64, hidden_size=48, n_layer=2, n_head=H)), "slopes"
    ),
    "mpt": Family(
        lambda: tf.MptModel(tf.MptConfig(vocab_size=64, d_model=48, n_layers=2, n_heads=H, max_seq_len=20)), "slopes"
    ),
    "mpt, clipped": Family(
        lambda: tf.MptModel(tf.MptConfig(
            vocab_size=64, d_model=48, n_layers=2, n_heads=H, max_seq_len=20, attn_config={"clip_qkv": 0.5},
        )), "slopes", has_projections=False,
    ),
    "falcon, ALiBi": Family(lambda: falcon(multi_query=False), "slopes", reads_weights=False),
    "falcon, ALiBi and one key": Family(falcon, "slopes", shared_by=6, reads_weights=False),
    "falcon, rotary and one key": Family(
        lambda: tf.FalconModel(tf.FalconConfig(**SIZES)), None, rotates=True, shared_by=6
    ),
    "falcon, rotary and groups": Family(
        lambda: tf.FalconModel(tf.FalconConfig(**SIZES, new_decoder_architecture=True, num_kv_heads=2)), None,
        rotates=True, shared_by=3,
    ),
    "mpnet": Family(
        lambda: tf.MPNetModel(tf.MPNetConfig(**SIZES, intermediate_size=48)), "buckets"
    ),
    "deberta": Family(lambda: deberta(pos_att_type=BOTH_TERMS), "terms"),
    "deberta, few positions": Family(
        lambda: deberta(pos_att_type=["p2c"], max_relative_positions=4, position_biased_input=True), "terms"
    ),
    "deberta, a third kind that adds nothing": Family(lambda: deberta(pos_att_type=[*BOTH_TERMS, "p2p"]), "terms"),
    "deberta_v2": Family(lambda: deberta_v2(pos_att_type=BOTH_TERMS), "terms"),
    "deberta_v2, shared maps and buckets": Family(
        lambda: deberta_v2(
            pos_att_type=BOTH_TERMS, share_att_key=True, position_buckets=4, max_relative_positions=9,
            norm_rel_ebd="layer_norm",
        ), "terms",
    ),
    "deberta_v2, few positions and a convolution": Family(
        lambda: deberta_v2(pos_att_type=["c2p"], max_relative_positions=4, conv_kernel_size=3), "terms"
    ),
    "deberta_v2, no term": Family(lambda: deberta_v2(pos_att_type=[]), None),
    "gpt_neo": Family(
        lambda: tf.GPTNeoModel(tf.GPTNeoConfig(
            vocab_size=64, hidden_size=48, num_layers=2, num_heads=H, attention_types=[[["global", "local"], 1]],
            window_size=4, max_position_embeddings=64,
        )), None,
    ),
    "megatron_bert": Family(
        lambda: tf.MegatronBertModel(tf.MegatronBertConfig(**SIZES, intermediate_size=48)), None
    ),
    "rembert": Family(lambda: tf.RemBertModel(tf.RemBertConfig(**SIZES, intermediate_size=48)), None),
    "tapas": Family(lambda: tf.TapasModel(tf.TapasConfig(**SIZES, intermediate_size=48)), None),
    "xglm": Family(
        lambda: tf.XGLMModel(tf.XGLMConfig(
            vocab_size=64, d_model=48, ffn_dim=48, num_layers=2, attention_heads=H, max_position_embeddings=64,
        )), None,
    ),
    "mvp": Family(
        lambda: tf.MvpModel(tf.MvpConfig(
            vocab_size=64, d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=H,
            decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64,
            pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2,
        )), None,
    ),
    "gpt_neox_japanese": Family(
        lambda: tf.GPTNeoXJapaneseModel(tf.GPTNeoXJapaneseConfig(**SIZES, max_position_embeddings=64)), None,
        rotates=True,
    ),
    "openai-gpt": Family(
        lambda: tf.OpenAIGPTModel(tf.OpenAIGPTConfig(vocab_size=64, n_positions=64, n_embd=48, n_layer=2, n_head=H)),
        None,
    ),
    "xlm": Family(lambda: tf.XLMModel(tf.XLMConfig(**XLM)), None),
    "xlm, causal": Family(lambda: tf.XLMModel(tf.XLMConfig(**XLM, causal=True)), None),
    "flaubert": Family(lambda: tf.FlaubertModel(tf.FlaubertConfig(**XLM)), None),
    "gptj": Family(
        lambda: tf.GPTJModel(tf.GPTJConfig(vocab_size=64, n_embd=48, n_layer=2, n_head=H, rotary_dim=4)), None,
        rotates=True,
    ),
    "gptj, whole heads": Family(
        lambda: tf.GPTJModel(tf.GPTJConfig(vocab_size=64, n_embd=48, n_layer=2, n_head=H, rotary_dim=8)), None,
        rotates=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Opened:
    """An opened model, its trace, and what transformers computes."""

    name: str
    own: Family
    model: TransformersModel
    trace: Trace
    peer: Any
    hidden: Tensor
    """(T, C): the last hidden state of transformers' default attention"""
    weights: Mapping[Kind, tuple[Tensor, ...]]
    """By kind and layer, (H, Tq, Tk), of transformers' eager attention"""


def whole_weights(weights: Tensor, n: int) -> Tensor:
    """Return weights, (B, H, Tq, Tk), of LongT5's blocks too, cell by cell."""
    if weights.ndim == 4:
        return weights
    whole = torch.zeros(len(weights), weights.shape[2], n, n)
    length = weights.shape[3]
    for q in range(n):
        for k in range(n):
            if abs(q - k) < length:
                whole[:, :, q, k] = weights[:, q // length, :, q % length, k - (q // length - 1) * length]
    return whole


@pytest.fixture(params=FAMILIES, scope="module")
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    own, folder = FAMILIES[request.param], tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    peer: Any = own.make().eval()
    for name, parameter in peer.named_parameters():
        nn.init.normal_(parameter, std=1.0 if "relative" in name else 0.2)
    peer.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = load(str(folder))
    assert isinstance(model, TransformersModel)
    is_pair = bool(peer.config.is_encoder_decoder)
    trace = model.trace(TEXT, PAIR if is_pair else None)
    inputs = {"input_ids": torch.tensor([trace.tokens.ids])}
    if trace.decoder_tokens is not None:
        inputs["decoder_input_ids"] = torch.tensor([trace.decoder_tokens.ids])
    with torch.inference_mode():
        hidden = peer(**inputs, use_cache=False).last_hidden_state[0]
        peer.set_attn_implementation("eager")
        peer.config._attn_implementation = "eager"
        done = peer(**inputs, output_attentions=True, use_cache=False)
    fields = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    weights = {
        kind: tuple(
            whole_weights(layer, len(trace.tokens))[0]
            for layer in getattr(done, fields[kind] if is_pair else "attentions")
        )
        for kind in trace.kinds
    }
    return Opened(request.param, own, model, trace, peer, hidden, weights)


def is_biased(opened: Opened, kind: Kind) -> bool:
    return opened.own.bias is not None and kind != "cross"


def test_weights_and_hidden_states_are_those_of_transformers(opened: Opened) -> None:
    for kind, layers in opened.weights.items():
        for number, theirs in enumerate(layers if opened.own.reads_weights else ()):
            torch.testing.assert_close(opened.trace.layer(number, kind).attentions(), theirs, rtol=0, atol=1e-6)
    torch.testing.assert_close(opened.trace.last_hidden_state, opened.hidden, rtol=1e-5, atol=1e-5)


def test_biases_matter_and_are_known_for_what_they_are(opened: Opened) -> None:
    for kind in opened.trace.kinds:
        for number in (0, 1):
            layer = opened.trace.layer(number, kind)
            bias = layer.position_bias
            assert (bias is not None) == is_biased(opened, kind)
            assert not layer.mask.adds, "a bias is no part of the mask"
            if bias is None:
                continue
            assert bias.kind == opened.own.bias
            steps = layer.all_heads()
            torch.testing.assert_close(steps.biased - steps.capped, bias.cells.expand_as(steps.scaled))
            if opened.name in ("t5", "mt5", "umt5"):
                assert bias.buckets == Buckets(8, 10, kind == "encoder")


WITH_TERMS = [name for name, family in FAMILIES.items() if family.bias == "terms"]
WITH_SLOPES = [name for name, family in FAMILIES.items() if family.bias == "slopes"]
SCALED = [name for name in WITH_SLOPES if "falcon" in name]
"""Whose ALiBi is multiplied by the scale"""
OPERANDS_OF_TERMS = ("query", "key", "relative_positions", "position_key", "position_query")
SLOPES = 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8
"""Press et al. 2022: those of 4 heads, then every second one of 8"""


@pytest.mark.parametrize("opened", ["longt5"], indirect=True)
def test_outside_of_the_window_at_which_its_bias_ends_no_number_stands(opened: Opened) -> None:
    """Against transformers' own biases of LongT5's blocks."""
    first = opened.peer.encoder.block[0].layer[0].LocalSelfAttention
    blocks, at = first.compute_bias(first.block_len)[0, 0].detach(), torch.arange(len(opened.trace.tokens))
    apart = at - at[:, None]
    theirs = blocks[
        :, 0, first.block_len + apart.clamp(-first.block_len, first.block_len)
    ]  # of the block's first query
    expected = theirs.masked_fill(apart.abs() >= first.block_len, -torch.inf)
    for number in (0, 1):
        walk = opened.trace.walk(number, 2, "encoder")
        assert walk.layer.position_bias is not None
        torch.testing.assert_close(walk.layer.position_bias.cells, expected, rtol=0, atol=1e-6)
        panels = {panel.name: panel for row in lay_out(walk, "biased").grid for panel in row if panel is not None}
        hidden = walk.steps.hidden.numpy()
        assert hidden.any() and not hidden.all()
        for name in ("position_bias", "biased"):
            np.testing.assert_array_equal(np.isnan(panels[name].values), hidden)
            reasons = panels[name].reasons
            assert reasons is not None
            np.testing.assert_array_equal(reasons > 0, hidden)
        assert not np.isnan(panels["scaled"].values).any()
        sent = read(write(document_of_layer(walk))).arrays["position_bias/2"]
        np.testing.assert_array_equal(np.isnan(sent), hidden)
        np.testing.assert_array_equal(sent[~hidden], expected[2].numpy()[~hidden])
        steps = compare(walk.steps, walk.steps, "biased", *[align(range(len(at)), range(len(at)))] * 2)
        np.testing.assert_array_equal(np.isnan(steps.a), hidden)
        assert "Keys outside of the window are not looked at: no bias is shown for them" in WALK["biased"].notice(walk)


@pytest.mark.parametrize("opened", WITH_SLOPES, indirect=True)
def test_slopes_are_those_of_the_paper(opened: Opened) -> None:
    layer = opened.trace.layer(0)
    bias = layer.position_bias
    assert bias is not None and bias.slopes is not None
    scale = layer.scale if "falcon" in opened.name else 1.0  # Falcon multiplies its ALiBi by the scale too
    torch.testing.assert_close(bias.slopes, scale * torch.tensor(SLOPES))
    assert not bias.is_by_distance, "they add slope × position of the key"
    by_distance = torch.arange(len(TEXT.split())) - torch.arange(len(TEXT.split()))[:, None]
    moved = layer.all_heads().capped + bias.slopes[:, None, None] * by_distance
    same = moved.masked_fill(layer.mask.hidden(tuple(moved.shape)), -torch.inf).softmax(-1)
    torch.testing.assert_close(layer.attentions(), same, msg="a row's softmax does not change")


def test_projections_and_shared_keys_are_known(opened: Opened) -> None:
    layer = opened.trace.layer(1, opened.trace.kinds[-1])
    assert ("projections" not in layer.unavailable) == opened.own.has_projections
    assert layer.shared_by == opened.own.shared_by
    assert layer.output() is not None
    assert (layer.rotation is not None) == opened.own.rotates


def test_a_convolution_beside_the_first_block_leaves_the_steps_of_the_others_known(tmp_path: Path) -> None:
    torch.manual_seed(0)
    deberta_v2(pos_att_type=["c2p"], conv_kernel_size=3, num_hidden_layers=3).eval().save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    model = load(str(tmp_path))
    trace = model.trace(TEXT)
    assert model.description.unavailable["attention_residual"].startswith("How layer 0 adds")
    for layer in range(3):
        names = names_at(model.description, Place("encoder", layer))
        assert names == tuple(steps_of(trace.walk_at(layer, 0)))
        assert ("block_output" in names) == (layer > 0)


def test_its_steps_are_said_before_it_is_run(opened: Opened) -> None:
    for kind in opened.trace.kinds:
        walk = opened.trace.walk(1, 2, kind)
        names = set(steps_of(walk))
        assert names & {"biased", "rotated"} == (opened.own.steps if kind != "cross" else set())
        assert names <= set(names_at(opened.model.description, Place(kind, 1)))
        if is_biased(opened, kind):
            step = WALK["biased"]
            assert {"slopes": "ALiBi", "buckets": "T5", "terms": "DeBERTa"}[str(opened.own.bias)] in step.notice(walk)
            space = {name: find_matrix(walk, name) for name in ("scaled", "position_bias")}
            lines: dict[str, Any] = {"torch": torch, **space}
            bias = walk.layer.position_bias
            assert bias is not None
            lines["slope"] = None if bias.slopes is None else bias.slopes[2]
            if opened.own.bias == "slopes":
                del lines["position_bias"]  # which the lines compute
                exec(step.code(walk), lines)
                torch.testing.assert_close(
                    lines["position_bias"].expand_as(matrix(walk, "scaled")), matrix(walk, "position_bias")
                )
                torch.testing.assert_close(lines["biased"], matrix(walk, "biased"))
            if opened.own.bias == "terms":
                lines |= {name: find_matrix(walk, name) for name in OPERANDS_OF_TERMS}
                exec(step.code(walk), lines)
                for name in (*walk.layer.position_terms, "position_bias", "biased"):
                    torch.testing.assert_close(lines[name], matrix(walk, name))


def test_documents_and_numbers_have_the_bias(opened: Opened) -> None:
    kind = opened.trace.kinds[0]
    walk = opened.trace.walk(1, 2, kind)
    document, numbers = read(write(document_of_layer(walk))), collect(walk, [2])
    assert ("position_bias/2" in document.arrays) == is_biased(opened, kind) == ("biased" in numbers)
    assert ("buckets" in repr(document.header.buckets).lower()) == (opened.own.bias == "buckets")
    if is_biased(opened, kind):
        sent = torch.tensor(document.arrays["position_bias/2"]).nan_to_num(nan=-torch.inf)
        torch.testing.assert_close(sent, matrix(walk, "position_bias"))
        torch.testing.assert_close(torch.tensor(numbers["biased"][0]), matrix(walk, "biased"))
    for name in walk.layer.position_terms:
        torch.testing.assert_close(torch.tensor(document.arrays[f"{name}/2"]), matrix(walk, name))
        torch.testing.assert_close(torch.tensor(numbers[name][0]), matrix(walk, name))


def test_the_script_computes_the_same(opened: Opened) -> None:
    text, pair = TEXT, PAIR if opened.trace.decoder_tokens is not None else None
    for kind in opened.trace.kinds:
        walk = opened.trace.walk(1, 2, kind)
        inputs = pretrained_inputs(opened.model, text, pair, Place(kind, 1), walk)
        unknown = unknown_of(walk, opened.model.module_names(1, kind))
        namespace: dict[str, Any] = {}
        code = script(cells(walk, inputs, place="a test", needs="torch", unknown=unknown))
        assert ("# no bias is shown outside of the window\n" in code) == (opened.name == "longt5" and kind == "encoder")
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        assert "matrices are those that the page showed" in printed.getvalue()
        assert ({"position_bias", "biased"} <= set(namespace["SHOWN"])) == is_biased(opened, kind)
        assert set(walk.layer.position_terms) == set(namespace["SHOWN"]) & {
            "content_to_position",
            "position_to_content",
        }
        torch.testing.assert_close(namespace["weights"], walk.layer.attentions(), rtol=1e-4, atol=1e-5)


def test_why_a_score_is_high_is_said_or_why_it_is_not_known(opened: Opened) -> None:
    for place in opened.trace.places:
        parts = score_parts(opened.trace, place, 1, (4, 0))
        score = float(opened.trace.head(place.layer, 1, place.kind).scores[4, 0])
        assert parts.score == pytest.approx(score, rel=1e-4, abs=1e-4)
        assert (parts.pairs is None) == parts.reason.endswith(".")
    if opened.name in ("t5", "mpnet"):
        assert score_parts(opened.trace, Place(opened.trace.kinds[0], 1), 1, (4, 0)).reason == NO_AFTER


def test_a_head_can_be_switched_off(opened: Opened) -> None:
    if opened.trace.decoder_tokens is not None:
        pytest.skip("T5 calls the project's function like most families")
    ids, segments = opened.trace.tokens.ids, opened.trace.tokens.segments
    with torch.inference_mode():
        names = opened.model.module_names(0, opened.trace.kinds[0])
        module = opened.model.body.get_submodule(names.attention)
        before = opened.model.forward(ids, segments, None)
        with replaced({module: Replacement.by_zero(range(H), heads=H)}):
            without = opened.model.forward(ids, segments, None)
        again = opened.model.forward(ids, segments, None)
    torch.testing.assert_close(before, again)
    assert float((before - without).abs().max()) > 0.01


def with_terms(opened: Opened) -> PositionBias:
    bias = opened.trace.layer(1, opened.trace.kinds[0]).position_bias
    assert bias is not None and bias.terms is not None
    return bias


@pytest.mark.parametrize("opened", WITH_TERMS, indirect=True)
def test_terms_are_computed_again_for_other_queries_and_keys(opened: Opened) -> None:
    bias, layer = with_terms(opened), opened.trace.layer(1)
    query, key = layer.query[2, :5], layer.key[2, :4]
    same = bias.of_operands(2, query, key)
    torch.testing.assert_close(same, bias.of_heads(2)[:5, :4])
    torch.testing.assert_close(bias.of_operands(2, 3 * query, 3 * key), 3 * same)
    torch.testing.assert_close(bias.of_queries([4, 1]).cells, bias.cells[:, [4, 1]])
    longer = bias.of_operands(2, layer.query[2].repeat(2, 1), layer.key[2].repeat(2, 1))
    assert len(longer) < 2 * len(layer.query[2]), "the positions of the text alone are known"


@pytest.mark.parametrize("opened", WITH_TERMS, indirect=True)
def test_a_trace_keeps_the_vectors_of_terms_and_no_cells_of_each_head(opened: Opened) -> None:
    bias, layer = with_terms(opened), opened.trace.layer(1)
    assert all(len(tensor) <= 2 * layer.query.shape[1] - 1 or len(tensor) == layer.heads for tensor in bias.tensors())
    assert tuple(layer.query.shape[:2]) + tuple(layer.key.shape[1:2]) not in {tuple(t.shape) for t in layer.tensors()}
    places = {tensor.data_ptr() for tensor in bias.tensors()}
    first = opened.trace.layer(0).position_bias
    assert first is not None
    shared = [tensor.data_ptr() for tensor in first.tensors() if tensor.data_ptr() in places]
    assert len(shared) == 1, "layers share the relative positions"


@pytest.mark.parametrize("buckets", [-1, 4])
def test_what_a_vector_stands_for_is_said_in_words(buckets: int) -> None:
    """All distances of a row, as transformers numbers them, are in its label, as far as the text has them.

    With 4 buckets and 9 positions, distances −3 to −8 have the row −3, and from 3 on all have the last row, 3.
    """
    span = 4 if buckets > 0 else 9
    for tokens in (6, 8, 10, 12, 24, 60):
        relative, whole = (
            build_relative_position(torch.zeros(n, 1), torch.zeros(n, 1), buckets, 9)[0] for n in (tokens, 200)
        )
        lowest, highest = max(int(relative.min()), -span), min(int(relative.max()), span - 1)
        content, table = torch.zeros(1, tokens, 2), torch.zeros(1, highest - lowest + 1, 2)
        terms = PositionTerms(content, content, 1.0, relative, lowest, position_key=table)
        at = torch.arange(200)
        distances = at[:, None] - at
        labels = terms.labels()
        assert len(labels) == len(table[0])
        for row, label in enumerate(labels, lowest):
            ever = set(distances[whole.clamp(-span, span - 1) == row].tolist())
            here = sorted((d for d in ever if abs(d) < tokens), key=abs)
            near, far = abs(here[0]), abs(here[-1])
            side = "after" if here[-1] < 0 else "before"  # the position of the query minus that of the key
            several = f"{near} to {far}" if len(here) > 1 else str(far)
            unit = "position" if far == 1 else "positions"
            assert label == (f"δ = {row} ({several} {unit} {side})" if far else "δ = 0 (the same position)")


def test_a_long_texts_labels_take_one_pass_over_its_distances() -> None:
    relative, content = torch.arange(4096)[:, None] - torch.arange(4096), torch.zeros(1, 4096, 2)
    table = torch.zeros(1, 8191, 2)
    terms = PositionTerms(content, content, 1.0, relative, -4095, position_key=table)
    began = time.process_time()
    labels = terms.labels()
    assert time.process_time() - began < 2, "a look at all cells for each row would take minutes"
    assert labels[4093:] == [
        "δ = -2 (2 positions after)", "δ = -1 (1 position after)", "δ = 0 (the same position)",
        *(f"δ = {distance} ({distance} position{'s' * (distance > 1)} before)" for distance in range(1, 4096)),
    ]  # fmt: skip


def test_tables_of_terms_that_no_picture_shows_are_in_no_link() -> None:
    assert not {"relative_positions", "position_key", "position_query"} & set(picture.AXES)


@pytest.mark.parametrize("scale", [1.0, 0.125, 0.0, -0.5])
@pytest.mark.parametrize("opened", WITH_TERMS, indirect=True)
def test_with_another_scale_the_terms_are_multiplied_by_it_too(
    opened: Opened, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare's what-if, against transformers' first layer with this scale."""
    theirs = import_module(type(opened.peer).__module__)
    monkeypatch.setattr(theirs, "scaled_size_sqrt", lambda *_: torch.tensor(1.0) / scale)
    with torch.inference_mode():
        done = opened.peer(torch.tensor([opened.trace.tokens.ids]), output_attentions=True)
    layer = opened.trace.layer(0)
    found = what_if(layer, scale, causal=False)
    torch.testing.assert_close(found.attentions(), done.attentions[0][0], rtol=1e-4, atol=1e-6)
    assert not torch.allclose(layer.attentions(), done.attentions[0][0], rtol=1e-4, atol=1e-3)
    kept = what_if(layer, None, causal=False)
    torch.testing.assert_close(kept.attentions(), layer.attentions(), rtol=0, atol=0)


@pytest.mark.parametrize("scale", [1.0, 0.125, 0.0, -0.5])
@pytest.mark.parametrize("opened", SCALED, indirect=True)
def test_with_another_scale_falcons_alibi_is_multiplied_by_it_too(opened: Opened, scale: float) -> None:
    """Compare's what-if, against transformers' first module with this factor, which it multiplies scores + ALiBi by."""
    module = opened.peer.h[0].self_attention
    given: dict[str, Any] = {}
    hook = module.register_forward_pre_hook(
        lambda _, args, others: given.update(others, hidden_states=args[0]), with_kwargs=True
    )
    at = len(opened.trace.tokens)
    with torch.inference_mode():
        opened.peer(torch.tensor([opened.trace.tokens.ids]))
        hook.remove()
        own, module.inv_norm_factor = module.inv_norm_factor, scale
        causal = torch.full((at, at), torch.finfo(torch.float).min).triu(1)[None, None]
        changed = {"attention_mask": causal, "output_attentions": True, "layer_past": None, "use_cache": False}
        expected = module(**given | changed)[1][0]
        module.inv_norm_factor = own
    layer = opened.trace.layer(0)
    found = what_if(layer, scale, causal=False)
    torch.testing.assert_close(found.attentions(), expected, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(layer.attentions(), expected, rtol=1e-4, atol=1e-3)
    assert found.position_bias is not None and layer.position_bias is not None
    ratio = found.position_bias.of_heads(0)[0, 1:] / layer.position_bias.of_heads(0)[0, 1:]
    torch.testing.assert_close(ratio, torch.full_like(ratio, scale / layer.scale))


@pytest.mark.parametrize("opened", ["bloom", "mpt", "t5", "mpnet"], indirect=True)
def test_with_another_scale_a_bias_that_is_added_unscaled_stays(opened: Opened) -> None:
    layer = opened.trace.layer(0, opened.trace.kinds[0])
    found = what_if(layer, 0.125, causal=False)
    bias = layer.position_bias
    assert bias is not None and found.position_bias is not None
    assert torch.equal(found.position_bias.cells, bias.cells)


@pytest.mark.parametrize("opened", [*WITH_TERMS, *SCALED], indirect=True)
def test_texts_of_a_batch_have_the_bias_that_they_have_alone(opened: Opened) -> None:
    texts = [opened.model.tokenize(text) for text in (TEXT, PAIR, "the cat")]
    (kind,) = opened.trace.kinds
    for number, (weights, _) in enumerate(opened.model.batch_weights(texts, kind)):
        for text, padded in zip(texts, weights, strict=True):
            n = len(text)
            alone = opened.model.trace(text.text).layer(number, kind).attentions()
            torch.testing.assert_close(padded[:, :n, :n], alone, rtol=1e-5, atol=1e-6)


def test_longer_texts_than_mpt_has_biases_for_are_cut(tmp_path: Path) -> None:
    FAMILIES["mpt"].make().save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    model = load(str(tmp_path))
    assert model.max_tokens == 20
    assert len(model.trace("the cat sat " * 9).tokens) == 20


@pytest.mark.parametrize(("name", "attention"), [("t5", "T5Attention"), ("mpnet", "MPNetEncoder")])
@pytest.mark.parametrize("both_sides", [True, False])
def test_buckets_are_those_of_transformers(name: str, attention: str, both_sides: bool) -> None:
    own: Any = getattr(import_module(f"transformers.models.{name}.modeling_{name}"), attention)
    offsets = torch.arange(300) - torch.arange(300)[:, None]
    if name == "mpnet" and not both_sides:
        pytest.skip("MPNet has no decoder")
    expected = (
        own._relative_position_bucket(offsets, both_sides, 32, 128)
        if name == "t5"
        else own.relative_position_bucket(offsets, 32, 128)
    )
    assert torch.equal(Buckets(32, 128, both_sides).of(300, 300), expected)
    assert math.isclose(len(expected.unique()), 32 if not both_sides else 31, abs_tol=1)

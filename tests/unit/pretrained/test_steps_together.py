"""Models whose attention has several of the later steps at once: norms, rotary positions, soft caps, sinks, windows."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from attnviz.document import document_of_layer, read, write
from attnviz.export.code.cells import cells, script
from attnviz.export.code.pretrained import pretrained_inputs, unknown_of
from attnviz.export.numbers import collect
from attnviz.measures.mistakes.computed import attended
from attnviz.measures.recomputed import rows_from_past
from attnviz.pretrained import load
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.steps import WALK, names_at, steps_of, walk_names_at
from attnviz.trace.matrices import find_matrix, matrix
from attnviz.trace.model import Place
from attnviz.trace.walk import Walk
from tests.unit.families import BERT
from tests.unit.pretrained.architectures import tokenizer

TEXT = "the cat sat on the mat and the dog sat"
SIZES: dict[str, Any] = {
    **BERT,
    "vocab_size": 128,
    "pad_token_id": 0,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "sliding_window": 3,
}
LAYERS = ["sliding_attention", "full_attention"]


@dataclass(frozen=True)
class Family:
    """A tiny model of two layers: a window in the first, none in the second."""

    make: Callable[[], nn.Module]
    more_steps: tuple[str, ...]
    """The steps that not every attention has"""
    has_sink: bool = False
    unknown: tuple[str, ...] = ()
    """The matrices that the exported script does not compute"""


FAMILIES = {
    "gemma2": Family(
        lambda: tf.Gemma2Model(tf.Gemma2Config(**SIZES, layer_types=LAYERS, attn_logit_softcapping=2.0)),
        ("rotated", "capped"),
    ),
    "gpt_oss": Family(
        lambda: tf.GptOssModel(
            tf.GptOssConfig(**SIZES, layer_types=LAYERS, num_local_experts=2, num_experts_per_tok=1)
        ),
        ("rotated",), has_sink=True, unknown=("query", "key", "normed_query", "normed_key"),
    ),
    "gemma3": Family(
        lambda: tf.Gemma3TextModel(tf.Gemma3TextConfig(**SIZES, layer_types=LAYERS)), ("normed", "rotated")
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Opened:
    """A model with large scores, and what its own eager attention computes."""

    own: Family
    model: TransformersModel
    walks: list[Walk]
    """Head 1 of each layer"""
    projected: list[dict[str, Tensor]]
    """By layer: what its maps `q_proj` and `k_proj` give, (T, G·D)"""
    weights: list[Tensor]
    """By layer, (H, T, T)"""


@pytest.fixture(params=FAMILIES, scope="module")
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    own, folder = FAMILIES[request.param], tmp_path_factory.mktemp(request.param)
    torch.manual_seed(0)
    eager: Any = own.make().eval()
    for name, parameter in eager.named_parameters():
        nn.init.normal_(parameter, std=1.0 if "sinks" in name or "q_proj" in name else 0.3)
    eager.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = load(str(folder))
    assert isinstance(model, TransformersModel)
    trace = model.trace(TEXT)
    projected: list[dict[str, Tensor]] = [{} for _ in eager.layers]

    def keep(into: dict[str, Tensor], name: str, _: nn.Module, __: Any, output: Tensor) -> None:
        into[name] = output[0]

    for into, layer in zip(projected, eager.layers, strict=True):
        for name, module in (("query", layer.self_attn.q_proj), ("key", layer.self_attn.k_proj)):
            module.register_forward_hook(partial(keep, into, name))
    eager.set_attn_implementation("eager")
    with torch.inference_mode():
        result = eager(torch.tensor([trace.tokens.ids]), output_attentions=True, use_cache=False)
    walks = [trace.walk(number, 1) for number in (0, 1)]
    return Opened(own, model, walks, projected, [weights[0] for weights in result.attentions])


def test_weights_are_those_of_the_models_own_eager_attention(opened: Opened) -> None:
    for walk, theirs in zip(opened.walks, opened.weights, strict=True):
        layer = walk.layer
        assert not layer.unavailable
        torch.testing.assert_close(layer.attentions(), theirs, rtol=0, atol=1e-6)
        assert (layer.sinks is not None) == opened.own.has_sink
        assert (layer.cap is not None) == ("capped" in opened.own.more_steps)
        if layer.cap is not None:
            assert float((walk.steps.scaled - walk.steps.capped).abs().max()) > 0.5, "the cap has to matter"
        if layer.sinks is not None:
            assert float(layer.attentions().sum(-1).mean()) < 0.98, "the sinks have to matter"
    assert [walk.layer.mask.kind for walk in opened.walks] == ["window", "causal"]


def test_queries_and_keys_are_known_from_the_projection_to_the_scores(opened: Opened) -> None:
    for walk, theirs in zip(opened.walks, opened.projected, strict=True):
        layer = walk.layer
        assert layer.rotation is not None and bool(layer.norms) == ("normed" in opened.own.more_steps)
        for name in ("query", "key"):
            by_head = theirs[name].unflatten(-1, (-1, 8)).transpose(0, 1)
            by_head = by_head.repeat_interleave(4 // len(by_head), 0)
            torch.testing.assert_close(layer.projected(name), by_head, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(layer.turned(layer.normed(name)), getattr(layer, name), rtol=1e-5, atol=1e-5)
            assert (find_matrix(walk, f"normed_{name}") is not None) == bool(layer.norms)
            torch.testing.assert_close(matrix(walk, f"rotated_{name}"), getattr(walk.steps, name))


def test_the_steps_are_in_the_order_of_computation(opened: Opened) -> None:
    some = ("normed", "rotated", "capped", "biased")
    names = tuple(name for name in WALK if name not in some or name in opened.own.more_steps)
    assert set(opened.model.description.steps_in) == set(opened.own.more_steps)
    for number, walk in enumerate(opened.walks):
        place = Place("decoder", number)
        assert tuple(steps_of(walk)) == walk_names_at(opened.model.description, place) == names
        assert set(names) <= set(names_at(opened.model.description, place))


def test_the_lines_of_pytorch_give_its_numbers(opened: Opened) -> None:
    for walk in opened.walks:
        layer = walk.layer
        assert layer.rotation is not None and layer.projections is not None
        space: dict[str, Any] = {
            "torch": torch,
            "math": math,
            "embeddings": layer.query_input,
        }
        space |= {"cos": layer.rotation.cos, "sin": layer.rotation.sin, "sinks": find_matrix(walk, "sinks")}
        space["mask"] = layer.mask_of(1).cells
        for name, projection in layer.projections.items():
            space |= {f"W_{name}": projection.weight[1]}  # type: ignore[index]
            space |= {} if projection.bias is None else {f"b_{name}": projection.bias[1]}
            space |= {f"gamma_{name}": norm.weight[1] for of, norm in layer.norms.items() if of == name}
        names = [
            name for name, step in steps_of(walk).items() if name == "embeddings" or (step.is_of_head and step.matrices)
        ]
        for name in names:
            exec(WALK[name].code(walk), space)
        computed = {name for step in names for name in WALK[step].matrices if name in space}
        assert {"query", "rotated_key", "scores", "scaled", "masked", "weights", "head_outputs"} <= computed
        assert ("capped" in computed, "sink" in computed) == (layer.cap is not None, layer.sinks is not None)
        for name in computed:
            if space[name] is not None:
                torch.testing.assert_close(space[name], matrix(walk, name), rtol=1e-4, atol=1e-5)


def test_the_script_computes_the_same(opened: Opened) -> None:
    for number, walk in enumerate(opened.walks):
        inputs = pretrained_inputs(opened.model, TEXT, None, Place("decoder", number), walk)
        unknown = unknown_of(walk, opened.model.module_names(number, "decoder"))
        window = walk.layer.mask.kind == "window"
        namespace: dict[str, Any] = {}
        with redirect_stdout(io.StringIO()) as printed:
            exec(script(cells(walk, inputs, place="a test", needs="torch", unknown=unknown)), namespace)
        assert "matrices are those that the page showed" in printed.getvalue()
        if not window:
            assert unknown == opened.own.unknown
        last = {"rotated_query", "rotated_key", *(("capped",) if walk.layer.cap else ())}
        last |= {"sink", "sinks"} if opened.own.has_sink else set()
        assert last <= set(namespace["SHOWN"])
        torch.testing.assert_close(namespace["weights"], walk.layer.attentions(), rtol=1e-4, atol=1e-5)


def test_documents_and_numbers_have_all_of_them(opened: Opened) -> None:
    own = opened.own
    for walk in opened.walks:
        document = read(write(document_of_layer(walk)))
        assert document.header.cap == walk.layer.cap
        assert [step.name for step in document.header.steps] == list(steps_of(walk))
        numbers = collect(walk, [1, 3])
        before = ("query", "rotated_query", *(("normed_query", "gamma_key") if "normed" in own.more_steps else ()))
        for name in (*before, *(("sinks",) if own.has_sink else ())):
            torch.testing.assert_close(torch.tensor(document.arrays[f"{name}/1"]), matrix(walk, name))
            shown = torch.tensor(numbers[name][0])
            torch.testing.assert_close(shown if matrix(walk, name).ndim > 1 else shown[0], matrix(walk, name))
        for name in ("capped", "sink"):
            has = find_matrix(walk, name) is not None
            assert (name in numbers) == has
            if has:
                torch.testing.assert_close(torch.tensor(numbers[name][0]), matrix(walk, name))


def test_rows_from_their_past_and_mistakes_have_all_of_them(opened: Opened) -> None:
    layer = opened.walks[1].layer
    assert rows_from_past(layer, 2).differing == []
    assert layer.query_input is not None
    again = attended(layer, layer.query_input, layer.query_input, layer.mask_of(0).cells)
    torch.testing.assert_close(again.weights, layer.head(0).weights, rtol=1e-4, atol=1e-5)

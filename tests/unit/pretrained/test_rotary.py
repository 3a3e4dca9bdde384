"""Rotary positions of models of transformers: X · W before the turning, what attention gets, and its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from attnviz.export.code import cells as code
from attnviz.export.code.pretrained import pretrained_inputs, unknown_of
from attnviz.measures.cost import cost
from attnviz.pretrained import load, open_model
from attnviz.pretrained.attention_interface import with_eager_attention
from attnviz.pretrained.operands import NOT_LINEAR
from attnviz.pretrained.rotary import LAYOUTS, RotaryLayout, find_rotary
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.steps import WALK, names_at, steps_of, walk_names_at
from attnviz.steps.inputs import shared_keys, shared_keys_in
from attnviz.trace.matrices import find_matrix, matrix
from attnviz.trace.model import Place
from tests.unit.families import BERT
from tests.unit.pretrained.architectures import tokenizer

TEXT = "the cat sat on the mat and the dog sat"
SIZES = {**BERT, "vocab_size": 128, "pad_token_id": 0}
SHARED = {**SIZES, "num_key_value_heads": 2}


@dataclass(frozen=True)
class Family:
    """A tiny model whose queries and keys are turned."""

    make: Callable[[], nn.Module]
    module: str
    """The module of transformers with its `apply_rotary_pos_emb`"""
    layout: RotaryLayout
    width: int = 8
    """R"""
    rotated: tuple[int, ...] = (0, 1)
    """The layers that turn"""
    projections: tuple[str, ...] = ("q_proj", "k_proj")


HALVES = RotaryLayout("halves", "halves")
FAMILIES = {
    "llama": Family(lambda: tf.LlamaModel(tf.LlamaConfig(**SHARED)), "llama", HALVES),
    "gpt_neox": Family(
        lambda: tf.GPTNeoXModel(tf.GPTNeoXConfig(**SIZES, rope_parameters={
            "rope_type": "default", "rope_theta": 10_000, "partial_rotary_factor": 0.5,
        })), "gpt_neox", HALVES, 4, projections=("query_key_value",),
    ),
    "phi": Family(lambda: tf.PhiModel(tf.PhiConfig(**SIZES)), "phi", HALVES, 4),
    "phi3": Family(lambda: tf.Phi3Model(tf.Phi3Config(**SHARED)), "phi3", HALVES, projections=("qkv_proj",)),
    "glm": Family(
        lambda: tf.GlmModel(tf.GlmConfig(**SHARED, head_dim=8)), "glm", RotaryLayout("neighbours", "halves"), 4
    ),
    "cohere": Family(
        lambda: tf.CohereModel(tf.CohereConfig(**SHARED)), "cohere", RotaryLayout("neighbours", "neighbours")
    ),
    "smollm3": Family(
        lambda: tf.SmolLM3Model(tf.SmolLM3Config(**SHARED | {"num_hidden_layers": 4}, no_rope_layer_interval=2)),
        "smollm3", HALVES, rotated=(0, 2),
    ),
    "yarn": Family(
        lambda: tf.LlamaModel(tf.LlamaConfig(**SHARED, rope_parameters={
            "rope_type": "yarn", "rope_theta": 10_000, "factor": 4.0, "original_max_position_embeddings": 64,
        })), "llama", HALVES,
    ),
}  # fmt: skip
"""Yarn's cosines and sines are longer than 1 together"""


def drawn(name: str) -> nn.Module:
    torch.manual_seed(0)
    model = FAMILIES[name].make().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    return model


def opened(name: str) -> TransformersModel:
    return open_model(drawn(name), tokenizer())


def saved(name: str, folder: Path) -> TransformersModel:
    """Save a model as a folder, which a script loads, and open it."""
    drawn(name).save_pretrained(folder)  # type: ignore[operator]
    tokenizer().save_pretrained(folder)
    model = load(str(folder))
    assert isinstance(model, TransformersModel)
    return model


@pytest.fixture(params=FAMILIES, scope="module")
def family(request: pytest.FixtureRequest) -> tuple[Family, TransformersModel]:
    return FAMILIES[request.param], opened(request.param)


def split(projected: Tensor, heads: int, width: int) -> Tensor:
    by_head = projected.unflatten(-1, (-1, width)).transpose(0, 1)
    return by_head.repeat_interleave(heads // len(by_head), 0)


def recorded(model: TransformersModel, ids: tuple[int, ...]) -> tuple[list[dict[str, Any]], list[Tensor]]:
    """Run the model with its own eager attention: what each attention module's projections give, and its weights."""
    eager = with_eager_attention(model.body)
    seen: list[dict[str, Any]] = []

    def watch(into: dict[str, Any], module: nn.Module) -> None:
        def keep(name: str, _: nn.Module, __: Any, output: Tensor) -> None:
            into[name] = output[0]

        def tables(_: nn.Module, __: Any, kwargs: dict[str, Any]) -> None:
            into["tables"] = kwargs["position_embeddings"]

        module.register_forward_pre_hook(tables, with_kwargs=True)
        for name, child in module.named_children():
            child.register_forward_hook(partial(keep, name))

    for number in model.description.numbers["decoder"]:
        seen.append({})
        watch(seen[-1], eager.get_submodule(model.module_names(number, "decoder").attention))
    with torch.inference_mode():
        result = eager(input_ids=torch.tensor([ids]), output_attentions=True, use_cache=False)
    return seen, [weights[0] for weights in result.attentions]


def test_it_is_x_times_w_before_the_turning_and_what_transformers_turns_after_it(
    family: tuple[Family, TransformersModel],
) -> None:
    own, model = family
    trace = model.trace(TEXT)
    turn = import_module(f"transformers.models.{own.module}.modeling_{own.module}").apply_rotary_pos_emb
    seen, weights = recorded(model, trace.tokens.ids)
    for number, (theirs, expected) in enumerate(zip(seen, weights, strict=True)):
        layer = trace.layer(number)
        assert not layer.unavailable
        heads, width = layer.heads, layer.head_size
        if len(own.projections) > 1:
            query, key = (split(theirs[name], heads, width) for name in own.projections)
        elif own.projections == ("query_key_value",):
            query, key, _ = theirs["query_key_value"].unflatten(-1, (heads, 3, width)).permute(2, 1, 0, 3)
        else:
            query, key, _ = theirs["qkv_proj"].split([heads * width, 2 * width, 2 * width], -1)
            query, key = split(query, heads, width), split(key, heads, width)
        torch.testing.assert_close(layer.projected("query"), query, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(layer.projected("key"), key, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(layer.projected("key", [1, 3]), key[[1, 3]], rtol=1e-5, atol=1e-5)
        if number in own.rotated:
            assert layer.rotation is not None
            assert (layer.rotation.width, layer.rotation.pairing) == (own.width, own.layout.pairing)
            torch.testing.assert_close(layer.turned(query), layer.query, rtol=1e-5, atol=1e-5)
            if own.module != "phi":  # whose function gets the turned dimensions alone
                query, key = (one[0] for one in turn(query[None], key[None], *theirs["tables"]))
                torch.testing.assert_close(layer.query, query, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(layer.key, key, rtol=1e-5, atol=1e-5)
        else:
            assert layer.rotation is None
            torch.testing.assert_close(layer.query, query, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(layer.attentions(), expected, rtol=0, atol=1e-6)


def test_layers_that_turn_have_the_step_and_others_do_not(family: tuple[Family, TransformersModel]) -> None:
    own, model = family
    assert model.description.steps_in == {"rotated": {"decoder": own.rotated}}
    trace = model.trace("the cat")
    for number in trace.numbers_of():
        walk, place = trace.walk(number, 1), Place("decoder", number)
        assert tuple(steps_of(walk)) == walk_names_at(model.description, place)
        assert (
            ("rotated" in steps_of(walk))
            == (number in own.rotated)
            == ("rotated" in names_at(model.description, place))
        )
        assert (find_matrix(walk, "rotated_query") is not None) == (number in own.rotated)


def test_a_text_of_one_token_is_turned_as_the_model_does(family: tuple[Family, TransformersModel]) -> None:
    """Its tables alone do not say which columns belong together: cos 0 = 1 everywhere."""
    own, model = family
    layer = model.trace("the").layer(0)
    assert layer.rotation is not None and layer.rotation.width == own.width
    torch.testing.assert_close(layer.turned(layer.projected("query")), layer.query, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(layer.rotation.angles, torch.zeros(1, own.width // 2))


def test_the_lines_of_pytorch_give_its_numbers(family: tuple[Family, TransformersModel]) -> None:
    own, model = family
    walk = model.trace(TEXT).walk(own.rotated[-1], 2)
    assert walk.layer.rotation is not None
    space: dict[str, Any] = {"torch": torch, "cos": walk.layer.rotation.cos, "sin": walk.layer.rotation.sin}
    space |= {name: matrix(walk, name) for name in ("query", "key")}
    for step in ("rotated", "scores"):
        exec(WALK[step].code(walk), space)
    for name in ("rotated_query", "rotated_key", "scores"):
        torch.testing.assert_close(space[name], matrix(walk, name), rtol=1e-5, atol=1e-5)
    share = "all 8" if own.width == 8 else f"{own.width} of 8"
    first = f"dimensions 0 and {own.width // 2 if own.layout.pairing == 'halves' else 1} are the first"
    assert f"Here {share} dimensions turn, in {own.width // 2} pairs: {first}." in WALK["rotated"].fact(walk)


@pytest.mark.parametrize("name", ["llama", "gpt_neox", "phi3", "glm", "cohere", "smollm3"])
def test_the_script_computes_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = FAMILIES[name]
    model = saved(name, tmp_path)
    layer = own.rotated[-1]
    walk = model.trace("the cat sat on").walk(layer, 1)
    parts = pretrained_inputs(model, "the cat sat on", None, Place("decoder", layer), walk)
    exec(
        code.script(
            code.cells(
                walk,
                parts,
                place="a test",
                needs="torch",
                unknown=unknown_of(walk, model.module_names(layer, "decoder")),
            )
        ),
        {},
    )
    printed = capsys.readouterr().out
    assert "These weights equal those of transformers' eager attention." in printed
    assert "All 13 matrices are those that the page showed." in printed


def test_a_mask_that_is_added_leaves_the_recorded_operands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the script records what attention gets, and says nothing of X · W."""
    model = saved("llama", tmp_path)
    walk = model.trace("the cat sat on").walk(1, 1)
    other = replace(walk, layer=replace(walk.layer, mask=replace(walk.layer.mask, kind="other")))
    unknown, names = ("query", "key", "normed_query", "normed_key"), model.module_names(1, "decoder")
    assert unknown_of(walk, names) == () and unknown_of(other, names) == unknown
    parts = pretrained_inputs(model, "the cat sat on", None, Place("decoder", 1), other)
    exec(code.script(code.cells(other, parts, place="a test", needs="torch", unknown=unknown)), {})
    assert "All 11 matrices are those that the page showed." in capsys.readouterr().out


def test_what_is_changed_in_another_way_is_shown_as_attention_received_it() -> None:
    """Here the keys are turned and the queries are not."""
    torch.manual_seed(0)
    model = drawn("llama")
    layer = model.layers[0].self_attn  # type: ignore[union-attr]
    plain = layer.q_proj.forward
    layer.q_proj.forward = lambda x: 2 * plain(x)
    trace = open_model(model, tokenizer()).trace(TEXT)
    assert trace.layer(0).rotation is None and trace.layer(0).projections is None
    assert trace.layer(0).unavailable == {"projections": NOT_LINEAR}
    assert trace.layer(1).rotation is not None


def test_tables_that_fit_no_layout_are_not_used() -> None:
    angle = torch.arange(5)[:, None] * torch.tensor([1.0, 0.1])
    tables = torch.cat((angle, angle), -1).cos(), torch.cat((angle, angle), -1).sin()
    tried: list[RotaryLayout] = []
    assert find_rotary(tables, 4, lambda one: bool(tried.append(one))) is None  # type: ignore[func-returns-value, arg-type]
    assert [(one.pairing, one.width) for one in tried] == [("halves", 4), ("neighbours", 4)]  # type: ignore[attr-defined]
    assert find_rotary(None, 4, lambda _: True) is None
    assert find_rotary((tables[0][None], tables[1][None]), 4, lambda _: True) is None
    assert find_rotary(tables, 2, lambda _: True) is None, "more dimensions than a head has"
    once = find_rotary((angle.cos(), angle.sin()), 4, lambda one: one.width == 4)
    assert once == RotaryLayout("halves", "once") and once in LAYOUTS
    odd = torch.ones(5, 3), torch.zeros(5, 3)
    assert find_rotary(odd, 4, lambda _: True) is None


def sharing(heads: int, keys: int) -> TransformersModel:
    """Open a tiny Llama with this many heads of queries, and of keys."""
    torch.manual_seed(0)
    config = tf.LlamaConfig(
        **{**SIZES, "hidden_size": 8 * heads, "num_attention_heads": heads}, num_key_value_heads=keys
    )
    return open_model(tf.LlamaModel(config), tokenizer())


def test_layers_that_share_keys_differently_are_told_apart() -> None:
    plain, grouped = (sharing(4, keys).trace(TEXT).layer(1) for keys in (4, 2))
    assert shared_keys_in({0: plain, 1: plain}) == ""
    assert shared_keys_in({0: grouped, 1: grouped}) == shared_keys(grouped)
    said = f"Layers 0 and 3: each head has keys and values of its own. Layer 2: {shared_keys(grouped)}"
    assert shared_keys_in({0: plain, 2: grouped, 3: plain}) == said


@pytest.mark.parametrize(
    ("heads", "keys", "said"),
    [
        (4, 4, ""),
        (4, 1, "All 4 heads of queries share one head of keys and values (multi-query attention)."),
        (4, 2, "0 and 1; 2 and 3"),
        (12, 2, "0 to 5; 6 to 11"),
        (10, 5, "0 and 1; 2 and 3; 4 and 5; 6 and 7 and so on"),
    ],
)
def test_which_heads_share_keys_and_values_is_said(heads: int, keys: int, said: str) -> None:
    if 1 < keys < heads:
        counts = f"{heads} heads of queries share {keys} heads of keys and values, each used by {heads // keys} of them"
        said = f"{counts} (grouped-query attention): heads {said}."
    trace = sharing(heads, keys).trace(TEXT)
    layer = trace.layer(1)
    assert shared_keys(layer) == said
    assert layer.shared_by == heads // keys
    for head in range(heads):  # it is so
        first = head // layer.shared_by * layer.shared_by
        assert torch.equal(layer.key[head], layer.key[first]) and torch.equal(layer.value[head], layer.value[first])
        assert first == 0 or not torch.equal(layer.key[head], layer.key[first - 1])
    fact = WALK["qkv"].fact(trace.walk(1, heads - 1))
    assert fact.endswith(said) and bool(fact) == (keys < heads)
    if (heads, keys) == (4, 2):
        assert fact.startswith("Here head 3 has the keys and values of head 2 too. 4 heads")
    if (heads, keys) == (4, 1):
        assert fact.startswith("Here head 3 has the keys and values of heads 0, 1 and 2 too. All 4")


def test_the_cost_counts_shared_maps_once() -> None:
    """Keys and values have a quarter of the columns of the queries; the scores need as many multiplications."""
    parts = {keys: {part.name: part.multiplications for part in cost(sharing(4, keys).description.sizes, 10)}  # type: ignore[arg-type]
             for keys in (4, 1)}  # fmt: skip
    maps = 2 * 10 * 32 * 32  # layers, tokens, C, H · D
    assert parts[4]["Q, K, V"] == 3 * maps and parts[1]["Q, K, V"] == maps + 2 * maps // 4
    assert parts[4]["scores"] == parts[1]["scores"]

"""Norms of queries and keys: X · W before them, what transformers' own norms give, and the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from attnviz.document import document_of_layer, read, write
from attnviz.export.code import cells as code
from attnviz.export.code.pretrained import pretrained_inputs, unknown_of
from attnviz.export.files.formats import FORMATS
from attnviz.export.numbers import collect
from attnviz.export.sheets import sheets
from attnviz.formulas import mathml
from attnviz.measures.mistakes.computed import attended
from attnviz.measures.recomputed import rows_from_past
from attnviz.pretrained import load, open_model
from attnviz.pretrained.attention_interface import with_eager_attention
from attnviz.pretrained.families import find_head_norms
from attnviz.pretrained.operands import NOT_LINEAR
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.steps import WALK, names_at, steps_of
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.matrices import heads_matrix, matrix
from attnviz.trace.model import Place
from tests.unit.families import BERT
from tests.unit.pretrained.architectures import tokenizer

TEXT = "the cat sat on the mat and the dog sat"
SHARED = {**BERT, "vocab_size": 128, "pad_token_id": 0, "num_key_value_heads": 2}


@dataclass(frozen=True)
class Family:
    """A tiny model whose queries and keys are normed."""

    make: Callable[[], nn.Module]
    kind: str = "rms"
    is_joint: bool = False
    norms: tuple[str, str] = ("q_norm", "k_norm")


FAMILIES = {
    "qwen3": Family(lambda: tf.Qwen3Model(tf.Qwen3Config(**SHARED, head_dim=8))),
    "gemma3": Family(lambda: tf.Gemma3TextModel(tf.Gemma3TextConfig(**SHARED, head_dim=8))),
    "olmo2": Family(lambda: tf.Olmo2Model(tf.Olmo2Config(**SHARED)), is_joint=True),
    "cohere": Family(lambda: tf.CohereModel(tf.CohereConfig(**SHARED, use_qk_norm=True)), "layer"),
    "lfm2": Family(
        lambda: tf.Lfm2Model(tf.Lfm2Config(**SHARED, layer_types=["full_attention"] * 2)),
        norms=("q_layernorm", "k_layernorm"),
    ),
}
"""RMSNorm of each head; the same with 1 + weight; of all heads together; LayerNorm of each head; other names"""


def drawn(name: str) -> nn.Module:
    torch.manual_seed(0)
    model = FAMILIES[name].make().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    return model


@pytest.fixture(params=FAMILIES, scope="module")
def family(request: pytest.FixtureRequest) -> tuple[Family, TransformersModel]:
    return FAMILIES[request.param], open_model(drawn(request.param), tokenizer())


def recorded(
    model: TransformersModel, own: Family, ids: tuple[int, ...]
) -> tuple[list[dict[str, Tensor]], list[Tensor]]:
    """What the norms of each layer take and give in transformers' own eager pass, and its weights."""
    eager = with_eager_attention(model.body)
    seen: list[dict[str, Tensor]] = []
    for number in model.description.numbers["decoder"]:
        into: dict[str, Tensor] = {}
        seen.append(into)
        module = eager.get_submodule(model.module_names(number, "decoder").attention)

        def keep(name: str, into: dict[str, Tensor], _: nn.Module, args: Any, output: Tensor) -> None:
            into[f"{name} takes"], into[f"{name} gives"] = args[0][0], output[0]

        for name, norm in zip(("query", "key"), own.norms, strict=True):
            module.get_submodule(norm).register_forward_hook(partial(keep, name, into))
    with torch.inference_mode():
        result = eager(input_ids=torch.tensor([ids]), output_attentions=True, use_cache=False)
    return seen, [weights[0] for weights in result.attentions]


def by_head(x: Tensor, heads: int) -> Tensor:
    """(T, G·D), (T, G, D) or (G, T, D) to (H, T, D)."""
    if x.ndim == 2:
        x = x.unflatten(-1, (-1, 8))
    if x.shape[1] != len(TEXT.split()):
        x = x.transpose(0, 1)
    return x.repeat_interleave(heads // len(x), 0)


def test_queries_and_keys_are_x_times_w_before_the_norm_and_transformers_own_after_it(
    family: tuple[Family, TransformersModel],
) -> None:
    own, model = family
    trace = model.trace(TEXT)
    seen, weights = recorded(model, own, trace.tokens.ids)
    for number, (theirs, expected) in enumerate(zip(seen, weights, strict=True)):
        layer = trace.layer(number)
        assert not layer.unavailable and layer.rotation is not None
        for name, norm in layer.norms.items():
            assert (norm.kind, norm.is_joint) == (own.kind, own.is_joint)
            for found, what in ((layer.projected(name), "takes"), (layer.normed(name), "gives")):
                torch.testing.assert_close(found, by_head(theirs[f"{name} {what}"], 4), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(layer.normed(name, [3, 1]), layer.normed(name)[[3, 1]])
            torch.testing.assert_close(layer.turned(layer.normed(name)), getattr(layer, name), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(layer.attentions(), expected, rtol=0, atol=1e-6)


def test_the_steps_are_in_the_order_of_computation(family: tuple[Family, TransformersModel]) -> None:
    own, model = family
    walk = model.trace("the cat").walk(1, 1)
    assert list(steps_of(walk)) == [name for name in WALK if name not in ("capped", "biased")]
    assert {"normed", "rotated"} <= set(names_at(model.description, Place("decoder", 1)))
    shown = {name: WALK[name].picture(walk) for name in ("normed", "rotated", "scores")}
    names = {name: [panel.name for panel in one.panels] for name, one in shown.items() if one is not None}
    assert names["normed"] == ["query", "normed_query", "key", "normed_key"]
    assert names["rotated"][::2] == ["normed_query", "rotated_query", "key_angles"]
    assert names["scores"] == ["key_t", "rotated_query", "scores"]
    norm = "RMSNorm" if own.kind == "rms" else "LayerNorm"
    assert norm in mathml(WALK["normed"].formula(walk))
    assert ("in all heads" in WALK["normed"].notice(walk)) == own.is_joint
    assert ("lose their mean" in WALK["normed"].notice(walk)) == (own.kind == "layer")


def test_the_lines_of_pytorch_give_its_numbers(family: tuple[Family, TransformersModel]) -> None:
    _, model = family
    walk = model.trace(TEXT).walk(1, 2)
    layer = walk.layer
    assert layer.rotation is not None
    space: dict[str, Any] = {"torch": torch, "cos": layer.rotation.cos, "sin": layer.rotation.sin}
    for name in ("query", "key"):
        space |= {name: matrix(walk, name), f"{name}_of_all_heads": list(layer.projected(name))}
        space |= {f"gamma_{name}": layer.norms[name].weight[2]}  # type: ignore[index]
    for step in ("normed", "rotated", "scores"):
        exec(WALK[step].code(walk), space)
    for name in ("normed_query", "normed_key", "rotated_query", "rotated_key", "scores"):
        torch.testing.assert_close(space[name], matrix(walk, name), rtol=1e-5, atol=1e-5)
    low, high = (f"{float(x):.2f}" for x in (matrix(walk, "normed_query").norm(dim=-1).aminmax()))
    said = "" if layer.norms["query"].is_joint else f"after the norm from {low} to {high}."
    fact = WALK["normed"].fact(walk)
    assert fact.endswith(said) and bool(fact) == bool(said)


@pytest.mark.parametrize("name", ["qwen3", "gemma3", "olmo2", "lfm2"])
def test_the_script_computes_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn(name).save_pretrained(tmp_path)  # type: ignore[operator]
    tokenizer().save_pretrained(tmp_path)
    model = load(str(tmp_path))
    walk = model.trace("the cat sat on").walk(1, 1)
    parts = pretrained_inputs(model, "the cat sat on", None, Place("decoder", 1), walk)
    unknown = unknown_of(walk, model.module_names(1, "decoder"))
    exec(code.script(code.cells(walk, parts, place="a test", needs="torch", unknown=unknown)), {})
    printed = capsys.readouterr().out
    assert "These weights equal those of transformers' eager attention." in printed
    assert "All 15 matrices are those that the page showed." in printed


def test_documents_and_numbers_have_the_norms(family: tuple[Family, TransformersModel]) -> None:
    own, model = family
    walk = model.trace(TEXT).walk(1, 2)
    document = read(write(document_of_layer(walk)))
    for name in ("query", "key"):
        for array in (f"normed_{name}", f"gamma_{name}"):
            expected = heads_matrix(walk.layer, array)
            assert expected is not None
            torch.testing.assert_close(torch.tensor(document.arrays[f"{array}/2"]), expected[2])
        assert (f"root_{name}" in document.arrays) == own.is_joint
    numbers = collect(walk, [2, 0])
    assert numbers["normed_key"].shape == (2, len(walk.key_labels), 8) and numbers["gamma_key"].shape == (2, 1, 8)


def test_rows_from_their_past_and_mistakes_have_the_norms(family: tuple[Family, TransformersModel]) -> None:
    _, model = family
    layer = model.trace(TEXT).layer(1)
    assert rows_from_past(layer, 2).differing == []
    assert layer.query_input is not None
    torch.testing.assert_close(
        attended(layer, layer.query_input, layer.query_input).scores, layer.head(0).scores, rtol=1e-4, atol=1e-5
    )


def test_norms_are_torchs() -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(3, 5, 8), torch.randn(3, 8), torch.randn(3, 8)
    rms = HeadNorm("rms", weight, None, 1e-6)
    layer = HeadNorm("layer", weight, bias, 1e-5)
    joint = HeadNorm("rms", weight, None, 1e-6, is_joint=True)
    for head in range(3):
        torch.testing.assert_close(rms.apply(x)[head], nn.functional.rms_norm(x[head], [8], weight[head], 1e-6))
        expected = nn.functional.layer_norm(x[head], [8], weight[head], bias[head], 1e-5)
        torch.testing.assert_close(layer.at([head]).apply(x[[head]])[0], expected)
    whole = nn.functional.rms_norm(x.transpose(0, 1).flatten(1), [24], weight.flatten(), 1e-6)
    torch.testing.assert_close(joint.apply(x), whole.unflatten(-1, (3, 8)).transpose(0, 1))
    assert repr(joint) == "HeadNorm(rms, 3 heads, over all heads)"


def test_a_layer_norm_over_all_heads_is_not_taken_for_one_of_each_head() -> None:
    module = nn.Module()
    module.q_norm, module.k_norm = nn.LayerNorm(24), nn.LayerNorm(24)
    assert find_head_norms(module, 3, 8) == []
    module.q_norm, module.k_norm = nn.LayerNorm(8), nn.LayerNorm(8)
    assert find_head_norms(module, 3, 8)
    with pytest.raises(ValueError, match="LayerNorm"):
        HeadNorm("layer", torch.ones(3, 8), None, 1e-5, is_joint=True)


def test_the_operands_of_one_head_are_those_of_all() -> None:
    for name in ("qwen3", "olmo2"):
        layer = open_model(drawn(name), tokenizer()).trace(TEXT).layer(0)
        x = layer.query_input
        assert x is not None
        of_all = layer.operands_of(x[:3], x[:3])
        for operand, of_two in layer.operands_of(x[:3], x[:3], [2, 0]).items():
            torch.testing.assert_close(of_two, of_all[operand][[2, 0]])


def test_norms_that_do_not_give_what_attention_received_are_not_shown() -> None:
    model = drawn("qwen3")
    norm = model.layers[0].self_attn.q_norm  # type: ignore[union-attr, index]
    plain = norm.forward
    norm.forward = lambda x: 2 * plain(x)
    trace = open_model(model, tokenizer()).trace(TEXT)
    assert not trace.layer(0).norms and trace.layer(0).unavailable == {"projections": NOT_LINEAR}
    assert trace.layer(1).norms


def test_every_slide_can_be_written_in_every_format() -> None:
    """Also in TikZ, which is ASCII: θ and γ have commands of LaTeX."""
    walk = open_model(drawn("qwen3"), tokenizer()).trace(TEXT).walk(1, 2)
    pages = sheets(walk)
    assert [page.step for page in pages] == [name for name in WALK if name not in ("capped", "biased")]
    for name, kind in FORMATS.items():
        assert kind.write(pages), name
    written = FORMATS["tikz"].write(pages).decode("ascii")
    assert written.count(r"\theta") > 10 and r"\operatorname{RMSNorm}" in written

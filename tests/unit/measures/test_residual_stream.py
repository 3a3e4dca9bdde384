"""The stream of MiniLM and the logit lens against transformers' hidden states, norms and heads, and plain loops."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attnviz.measures.residual_stream import Lens, lens_by_position, lens_of, logit_lens, residual_stream, states
from attnviz.pretrained import load
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.layer import Block
from attnviz.trace.trace import Trace
from tests.loaded import built_in_model
from tests.unit.families import opened, save_model
from tests.unit.pretrained.test_blocks import WITH_HEADS
from tests.unit.pretrained.test_language_heads import TEXT, theirs
from tests.unit.toy.test_transformer import run

SENTENCE = "The animal didn't cross the street."


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    dot = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(float(x) ** 2 for x in a) * sum(float(y) ** 2 for y in b))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return built_in_model().trace(SENTENCE)


def test_the_stream_passes_through_the_inputs_of_all_blocks(trace: Trace) -> None:
    stream = residual_stream(trace.blocks["encoder"])
    assert stream is not None
    assert len(stream.parts) == 1 + 4 * 6
    assert stream.parts[:5] == ("X", "block 0 + attention", "block 0 norm", "block 0 + feed-forward", "block 0 norm")
    for layer, block in enumerate(trace.blocks["encoder"]):
        torch.testing.assert_close(stream.vectors[4 * layer], block.input, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(stream.vectors[-1], trace.last_hidden_state, rtol=1e-5, atol=1e-5)


def test_norms_and_similarities_are_those_of_plain_loops(trace: Trace) -> None:
    stream = residual_stream(trace.blocks["encoder"])
    assert stream is not None
    part, token, other = 7, 3, 5
    vector = stream.vectors[part, token]
    assert stream.norms[part, token].item() == pytest.approx(math.sqrt(sum(float(x) ** 2 for x in vector)), rel=1e-5)
    found = stream.similarity_to_start()[part, token].item()
    assert found == pytest.approx(cosine(vector, stream.vectors[0, token]), abs=1e-5)
    found = stream.similarity_to_others(token)[part, other].item()
    assert found == pytest.approx(cosine(vector, stream.vectors[part, other]), abs=1e-5)


CROSS = ("+ attention", "norm", "+ cross-attention", "norm", "+ feed-forward", "norm")


@pytest.mark.parametrize(
    ("architecture", "norm", "parts"),
    [
        ("encoder", "post", ("+ attention", "norm", "+ feed-forward", "norm")),
        ("decoder", "pre", ("+ attention", "+ feed-forward")),
        ("both", "post", CROSS),
        ("both", "pre", CROSS[::2]),
    ],
)
def test_norms_are_in_the_stream_of_a_post_norm_block_alone(architecture: Any, norm: Any, parts: Any) -> None:
    tokens = WordTokenizer().tokenize("one two three")
    trace = trace_transformer(tokens, tokens if architecture == "both" else None,
                              TransformerConfig(architecture, norm=norm, depth=2))  # fmt: skip
    blocks = trace.blocks[trace.places[-1].stack]
    stream = residual_stream(blocks, (3, 7))
    assert stream is not None
    assert stream.parts == ("X", *(f"block {number} {part}" for number in (3, 7) for part in parts))
    for block, at in zip(blocks, (len(parts), 2 * len(parts)), strict=True):
        steps = block.steps()
        assert steps is not None
        torch.testing.assert_close(stream.vectors[at], steps.block_output)
    found = states(blocks)
    assert found is not None
    torch.testing.assert_close(torch.stack(found), stream.vectors[:: len(parts)])


def test_a_stream_is_not_known_if_one_blocks_input_or_steps_are_not(trace: Trace) -> None:
    first, second, *_ = trace.blocks["encoder"]
    no_input = Block(replace(first.attention, query_input=None), first.after_attention)
    for blocks in ([no_input, second], [first, Block(second.attention)]):
        assert residual_stream(blocks) is None
        assert states(blocks) is None


def test_the_lens_by_hand() -> None:
    logits = torch.tensor([[0.1, 0.7, 0.2], [0.3, 0.2, 0.5], [0.6, 0.3, 0.1]]).log()

    def close(lens: Lens, count: int) -> None:
        assert lens.tokens.tolist() == [row[:count] for row in ([1, 2, 0], [2, 0, 1], [0, 1, 2])]
        torch.testing.assert_close(lens.probabilities[1], torch.tensor([0.5, 0.3, 0.2])[:count])
        torch.testing.assert_close(lens.of_last, torch.tensor([0.1, 0.3, 0.6]))
        assert lens.ranks.tolist() == [2, 1, 0]

    close(lens_of(logits, 2, (4, 9)), 2)
    close(lens_of(logits), 3)
    assert lens_of(logits, 2, (4, 9)).parts == ("X", "after block 4", "after block 9")
    assert lens_of(logits).parts == ("X", "after block 0", "after block 1")
    assert lens_of(torch.zeros(2, 9)).tokens.shape == (2, 5)


HEADS: dict[str, Any] = {
    "gpt2": lambda model, state: model.lm_head(model.transformer.ln_f(state)),
    "bert": lambda model, state: model.cls(state),
    "roberta": lambda model, state: model.lm_head(state),
}


@pytest.mark.parametrize("family", HEADS)
def test_each_state_goes_through_the_models_own_norm_and_head(family: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    made = WITH_HEADS[family]()
    trace = load(str(save_model(made, tmp_path, family))).trace(TEXT)
    states = theirs(family, tmp_path, trace).hidden_states
    for row in (0, 3):
        lens = logit_lens(trace, row, 7)
        assert lens is not None
        assert lens.parts == ("X", *(f"after block {number}" for number in range(len(states) - 1)))
        with torch.inference_mode():
            before = [HEADS[family](made.eval(), state[:, row]) for state in states[:-1]]
            last = theirs(family, tmp_path, trace).logits[:, row]
        wanted = torch.cat([*before, last]).softmax(-1)
        torch.testing.assert_close(lens.probabilities, wanted.topk(7).values, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(wanted.gather(1, lens.tokens), lens.probabilities, rtol=1e-4, atol=1e-6)
        likeliest = wanted[:, wanted[-1].argmax()]
        torch.testing.assert_close(lens.of_last, likeliest, rtol=1e-4, atol=1e-6)
        assert lens.ranks[-1] == 0
        assert lens.ranks.tolist() == (wanted > likeliest[:, None]).sum(-1).tolist()
        by_position = lens_by_position(trace, (row,))
        assert by_position is not None
        assert by_position.tokens.tolist() == [wanted.argmax(-1).tolist()]
        torch.testing.assert_close(by_position.probabilities[0], wanted.amax(-1), rtol=1e-4, atol=1e-6)


def test_it_is_not_known_without_a_head_or_with_a_norm_of_another_kind(tmp_path: Path) -> None:
    assert logit_lens(opened("gpt2").trace(TEXT), 0) is None
    llama = save_model(WITH_HEADS["llama"](), tmp_path / "llama", "llama")
    assert logit_lens(load(str(llama)).trace(TEXT), 0) is None
    assert lens_by_position(load(str(llama)).trace(TEXT), (0,)) is None


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_toys_last_state_gives_its_logits(norm: Any) -> None:
    for architecture in ("decoder", "both"):
        trace = run(TransformerConfig(architecture, norm=norm))  # type: ignore[arg-type]
        lens = logit_lens(trace, 1, 2)
        assert lens is not None
        assert trace.logits is not None
        torch.testing.assert_close(lens.probabilities[-1], trace.logits[1].softmax(-1).topk(2).values)
    assert logit_lens(run(TransformerConfig("encoder", norm=norm)), 1) is None

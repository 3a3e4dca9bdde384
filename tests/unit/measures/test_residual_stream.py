"""The stream of MiniLM against transformers' hidden states, and its similarities against plain loops."""

from __future__ import annotations

import math

import pytest
import torch

from attnviz.measures.residual_stream import residual_stream
from attnviz.pretrained import load
from attnviz.trace.trace import Trace

TEXT = "The animal didn't cross the street."


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    dot = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(float(x) ** 2 for x in a) * sum(float(y) ** 2 for y in b))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return load("minilm").trace(TEXT)


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

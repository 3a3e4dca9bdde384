"""Models whose passes are sent."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attnviz.pretrained import PretrainedModel, load
from attnviz.trace.recorder import Pass
from tests.unit.families import save


@pytest.fixture(scope="package")
def minilm() -> PretrainedModel:
    return load("minilm")


@pytest.fixture(scope="package")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> PretrainedModel:
    folder: Path = tmp_path_factory.mktemp("models") / "gpt2"
    return load(str(save("gpt2", folder)))


def ids_of(tokens: int) -> list[int]:
    """Return so many token ids, between [CLS] and [SEP]."""
    return [101, *(1996 + 37 * number % 20_000 for number in range(tokens - 2)), 102][-tokens:]


def same(one: Pass, other: Pass) -> bool:
    """Whether two passes are equal bit for bit, and lie in memory in the same order."""
    assert len(one.calls) == len(other.calls)
    pairs = [(one.hidden, other.hidden)]
    for ours, theirs in zip(one.calls, other.calls, strict=True):
        for name in ("query", "key", "value", "query_input", "key_input", "block_input"):
            pair = getattr(ours, name), getattr(theirs, name)
            assert (pair[0] is None) == (pair[1] is None), name
            if pair[0] is not None:
                pairs.append(pair)
        if ours.scale != theirs.scale:
            return False
    return all(
        a.dtype == b.dtype
        and order(a) == order(b)
        and torch.equal(a.contiguous().view(torch.int32), b.contiguous().view(torch.int32))
        for a, b in pairs
    )


def order(tensor: torch.Tensor) -> list[int]:
    """Return the axes from the fastest to the slowest, without those of length 1."""
    return sorted((axis for axis in range(tensor.ndim) if tensor.shape[axis] > 1), key=tensor.stride)

"""The figures of the lesson "What changed since 2017", worked out from the toy's queries and keys by plain formulas."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.links.link import DEFAULT_TEXT
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.toy import run_block
from tests.unit.lessons.trainings import written

CATS = "the cat saw the cat saw the cat saw"


def operands(text: str = DEFAULT_TEXT, *, head: int = 0, **config: object) -> tuple[Tensor, Tensor]:
    """Return query and key of a head, (T, D) each, before any rotation."""
    layer = run_block(WordTokenizer().tokenize(text).ids, ToyConfig(**config)).layer(0)  # type: ignore[arg-type]
    return layer.query[head].double(), layer.key[head].double()


def turned(vectors: Tensor) -> np.ndarray:
    """Turn (T, D): numbers 2n and 2n + 1 are one complex number, which is multiplied by exp(i · t · 10000^(−2n/D))."""
    count = vectors.shape[1] // 2
    pairs = vectors[:, 0::2].numpy() + 1j * vectors[:, 1::2].numpy()
    pairs = pairs * np.exp(1j * np.arange(len(vectors))[:, None] / 10000 ** (np.arange(count) / count))
    return np.stack([pairs.real, pairs.imag], axis=2).reshape(len(vectors), -1)


def signless(number: float) -> str:
    """Write a number without its sign, which a sentence writes as "−"."""
    return written(abs(float(number)))


def today() -> dict[int, Sequence[str]]:
    query, key = operands(CATS)
    added = query @ key.T
    query, key = operands(CATS, positions="none")  # the same weights, and nothing is added
    rotary = turned(query) @ turned(key).T
    for far in range(-6, 7):  # only the distance counts: “the” and “cat”, wherever they stand
        of_distance = [rotary[i, i + far] for i in range(0, 9, 3) if 0 <= i + far < 9]
        np.testing.assert_allclose(of_distance, of_distance[0], rtol=1e-5, atol=1e-5)
    first, _ = operands(positions="none")
    assert turned(first)[0].tolist() == first[0].tolist()
    assert (turned(first)[3, :2] * first[3, :2].numpy() < 0).all()

    query, key = operands("cat saw cat saw cat saw", positions="none", heads=8)
    alike = (query @ key.T).numpy() / sqrt(query.shape[1])
    falling = -(2.0**-1) * np.arange(5, -1, -1)  # Press et al. 2022: the first of 8 slopes, times the distance to row 5
    exponentials = np.exp(alike[5] + falling)
    shares = exponentials / exponentials.sum()
    for cat in (0, 2, 4):
        assert signless(alike[5, cat]) == signless(alike[5, 0])
    np.testing.assert_allclose((shares[4] / shares[2], shares[2] / shares[0]), np.exp(1), rtol=1e-6)
    assert 2 < shares[4] / shares[2] < 3

    query, key = operands()
    scaled = query @ key.T / sqrt(query.shape[1])
    seen = torch.ones(11, 11, dtype=torch.bool).tril() & ~torch.ones(11, 11, dtype=torch.bool).tril(-3)
    window = scaled.masked_fill(~seen, -torch.inf).softmax(-1)
    assert (int((~seen).sum()), int(seen[5].sum())) == (91, 3)

    wide_query, wide_key = operands(head_size=16)
    wide = wide_query @ wide_key.T / 4
    capped = 5 * torch.tanh(wide / 5)

    query, key = operands("the cat saw the dog run")
    narrow = query @ key.T / sqrt(query.shape[1])

    def shares_beside(score: float) -> Tensor:
        """Return the shares of the words and, last, of a further score, (T, T + 1)."""
        return torch.cat([narrow, torch.full((6, 1), score, dtype=torch.float64)], dim=1).softmax(-1)

    def sink(score: float) -> Tensor:
        return shares_beside(score)[:, -1]

    before, now = shares_beside(2)[4, :6], shares_beside(3)[4, :6]
    assert int(before.argmax()) == int(now.argmax()) == 5  # “run”
    np.testing.assert_allclose(now / before, (now / before)[0], rtol=1e-9)  # all lose the same proportion
    assert float(now[5] / before[5]) == pytest.approx(0.5, abs=0.03)  # about half

    assert sink(3).argmin() == 2
    assert sink(3).min() > 0.5
    shared = [operands(heads=8, kv_heads=2, head=head) for head in (0, 1)]
    (query, key), (other_query, other_key) = shared
    assert torch.equal(key, other_key)  # heads 0 and 1 are two of the four that use the first
    assert not torch.equal(key, operands(heads=8, kv_heads=2, head=4)[1])
    weights = [(each @ key.T / sqrt(8)).softmax(-1) for each in (query, other_query)]
    assert [int(each[7].argmax()) for each in weights] == [10, 6]  # “tired.”, “because”
    kept = [2 * heads * 8 for heads in (8, 2)]

    return {
        1: [signless(added[i, i + 1]) for i in (0, 3, 6)],
        3: [signless(rotary[i, i + 1]) for i in (0, 3, 6)],
        4: [signless(rotary[1, 0])],
        5: [signless(alike[5, 0]), *(signless(falling[k]) for k in (0, 2, 4))],
        6: [signless(window[7, k]) for k in (5, 6, 7)],
        7: ["91"],
        8: [signless(other_query[7, 0]), signless(key[7, 0])],
        9: [signless(weights[1][7, 6]), *map(str, kept)],
        10: [signless(number) for number in (wide.max(), capped.max(), wide.min(), capped.min())],
        11: [signless(sink(2)[4])],
        12: [signless(now[5]), signless(sink(3)[4]), signless(sink(3)[2])],
    }

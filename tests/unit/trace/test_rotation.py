"""Rotary positions against transformers' own functions, complex numbers, and what they promise: distances alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers.models.cohere import modeling_cohere
from transformers.models.glm import modeling_glm
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.llama import modeling_llama

from attnviz.toy.weights import rotary_positions, sinusoidal_positions
from attnviz.trace.model import Pairing
from attnviz.trace.rotation import Rotation

T, D = 7, 8
PAIRINGS: tuple[Pairing, ...] = ("halves", "neighbours")


def vectors(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def angles(positions: Tensor, width: int = D) -> Tensor:
    return positions[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)


def rotation(pairing: Pairing, positions: Tensor | None = None, width: int = D) -> Rotation:
    angle = angles(torch.arange(T) if positions is None else positions, width)
    return Rotation(angle.cos(), angle.sin(), pairing)


@pytest.mark.parametrize(
    ("module", "pairing", "width", "repeat"),
    [
        (modeling_llama, "halves", D, "cat"),
        (modeling_gpt_neox, "halves", 4, "cat"),
        (modeling_glm, "neighbours", 4, "cat"),
        (modeling_cohere, "neighbours", D, "interleave"),
    ],
)
def test_it_turns_as_each_family_of_transformers_does(module: Any, pairing: Pairing, width: int, repeat: str) -> None:
    own = rotation(pairing, width=width)
    tables = (torch.cat((t, t), -1) if repeat == "cat" else t.repeat_interleave(2, -1) for t in (own.cos, own.sin))
    query, key = vectors(2, 3, T, D)
    turned = module.apply_rotary_pos_emb(query[None], key[None], *(table[None] for table in tables))
    torch.testing.assert_close(own.apply(query), turned[0][0])
    torch.testing.assert_close(own.apply(key), turned[1][0])
    torch.testing.assert_close(own.apply(query)[..., width:], query[..., width:], rtol=0, atol=0)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_a_pair_is_a_complex_number_times_a_point_on_the_circle(pairing: Pairing) -> None:
    own, x = rotation(pairing), vectors(T, D)
    turned = own.apply(x)
    for number in range(D // 2):
        a, b = own.pair(number)
        expected = (x[:, a] + 1j * x[:, b]).numpy() * np.exp(1j * angles(torch.arange(T))[:, number].numpy())
        np.testing.assert_allclose(turned[:, a] + 1j * turned[:, b], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_a_score_depends_on_the_distance_alone(pairing: Pairing) -> None:
    """The same query and key, at any positions that are equally far apart, have the same score."""
    query, key = vectors(2, 1, D)
    scores = {
        (q, k): float(
            rotation(pairing, torch.tensor([q])).apply(query) @ rotation(pairing, torch.tensor([k])).apply(key).T
        )
        for q in range(9)
        for k in range(9)
    }
    by_distance = {distance: [s for (q, k), s in scores.items() if q - k == distance] for distance in range(-8, 9)}
    for found in by_distance.values():
        assert max(found) - min(found) < 1e-5
    assert len({round(found[0], 4) for found in by_distance.values()}) == 17, "and at other distances another one"


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_lengths_stay_and_the_first_position_turns_nothing(pairing: Pairing) -> None:
    own, x = rotation(pairing), vectors(3, T, D)
    torch.testing.assert_close(own.apply(x).norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(own.apply(x)[:, 0], x[:, 0])


def test_angles_are_within_half_a_turn_and_frequencies_are_those_of_the_formula() -> None:
    own = rotation("halves", torch.arange(100))
    whole_turns = (angles(torch.arange(100)) - own.angles) / (2 * torch.pi)
    torch.testing.assert_close(whole_turns, whole_turns.round(), rtol=0, atol=1e-4)
    assert float(own.angles.abs().max()) <= torch.pi
    assert own.frequencies is not None
    torch.testing.assert_close(own.frequencies, 10_000 ** -(torch.arange(0, D, 2) / D))
    later = rotation("halves", torch.arange(3, 9)).frequencies  # between them the first pair passes half a turn
    assert later is not None
    torch.testing.assert_close(later, own.frequencies)
    assert rotation("halves", torch.tensor([0])).frequencies is None


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.25])
def test_the_factor_is_what_vectors_get_longer_by(factor: float) -> None:
    own = rotation("neighbours")
    stretched, x = Rotation(factor * own.cos, factor * own.sin, "neighbours"), vectors(T, D)
    assert stretched.factor == pytest.approx(factor, abs=1e-6)
    torch.testing.assert_close(stretched.apply(x).norm(dim=-1), stretched.factor * x.norm(dim=-1))


def test_the_first_positions_turn_as_in_the_whole_text() -> None:
    own, x = rotation("neighbours"), vectors(T, D)
    torch.testing.assert_close(own.of_first(4).apply(x[:4]), own.apply(x)[:4])


@pytest.mark.parametrize("width", [2, 7, 8, 33])
def test_the_toys_angles_are_those_of_the_papers_positions(width: int) -> None:
    own = rotary_positions(T, width)
    assert own is not None
    even = width - width % 2
    assert (own.width, own.pairing, own.pair(0)) == (even, "neighbours", (0, 1))
    table = sinusoidal_positions(T, even)
    torch.testing.assert_close(own.sin, table[:, 0::2])
    torch.testing.assert_close(own.cos, table[:, 1::2])
    x = vectors(T, width)
    torch.testing.assert_close(own.apply(x)[:, even:], x[:, even:])
    assert repr(own) == f"Rotation({T} positions, {even} dimensions, neighbours)"
    with pytest.raises(ValueError, match="neither can be negative"):
        rotary_positions(-1, width)
    assert rotary_positions(T, 1) is None

"""How the next token is chosen: logits / T, softmax over what top-k and top-p leave, and a draw.

Shapes: V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen."""

    temperature: float = 1.0
    """Divides the logits; 0 takes the likeliest token always (greedy)"""
    top_k: int = 0
    """Only so many of the likeliest tokens can be drawn (Fan et al. 2018); 0 is no limit"""
    top_p: float = 1.0
    """Only the fewest likeliest tokens that have this probability together (Holtzman et al. 2020); 1 is no limit"""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (("temperature", 0, 100), ("top_k", 0, 2**31), ("top_p", 0, 1)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}; it can be {low} to {high}")


def choose(logits: Tensor, sampling: Sampling, generator: torch.Generator) -> dict[str, Any]:
    """Choose a token by its logits, (V,): returns the fields of `Drawn` that this determines."""
    greedy = sampling.temperature == 0
    scaled = logits if greedy else logits / sampling.temperature
    order = scaled.argsort(descending=True, stable=True)
    sorted_ = scaled[order]
    count = 1 if greedy else min(sampling.top_k or len(order), len(order))
    if sampling.top_p < 1:
        likely = sorted_[:count].softmax(-1)
        before = likely.cumsum(-1) - likely  # what likelier tokens have together
        count = max(1, int((before < sampling.top_p).sum()))
    # Not from `likely`: in every case the same operation makes the probabilities.
    probabilities = torch.zeros_like(scaled)
    probabilities[order[:count]] = sorted_[:count].softmax(-1)
    kept = torch.zeros_like(scaled, dtype=torch.bool)
    kept[order[:count]] = True
    found = {"scaled": scaled, "order": order, "kept": kept, "probabilities": probabilities}
    if greedy:
        return {"id": int(order[0]), "number": None, **found}
    number = float(torch.rand((), generator=generator))
    sums = probabilities[order[:count]].double().cumsum(-1)
    place = int((sums <= number * sums[-1]).sum())
    return {"id": int(order[place]), "number": number, **found}

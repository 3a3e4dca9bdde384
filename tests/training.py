"""A training in this process, by torch's own optimiser alone, to compare a job's snapshots with."""

from __future__ import annotations

import copy
from collections.abc import Collection

import torch
from torch.nn import functional

from attnviz.toy.language.model import TokenModel
from attnviz.training.plan import build
from attnviz.training.tasks import TASKS

TASK = TASKS["induction"]


def model_after(
    steps_of_interest: Collection[int], *, rate: float, steps: int, batch: int = 64, warm_up: int = 20, seed: int = 0
) -> dict[int, TokenModel]:
    """Train the task's model with a plain loop, and return it as it is after each of these numbers of steps."""
    model = build(TASK.model, seed)
    assert isinstance(model, TokenModel)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    generator, found = torch.Generator().manual_seed(seed), {}
    for step in range(steps + 1):
        if step in steps_of_interest:
            found[step] = copy.deepcopy(model).eval().requires_grad_(requires_grad=False)
        drawn = TASK.batch(batch, generator)
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / warm_up)
        loss = functional.cross_entropy(model(drawn.ids).flatten(0, 1), drawn.targets.flatten())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return found

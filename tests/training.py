"""Trainings in this process, by torch's own optimisers alone, to compare ours with."""

from __future__ import annotations

import copy
from collections.abc import Collection

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.toy.language.model import TokenModel
from attnviz.toy.layers import MultiHeadAttention
from attnviz.training.plan import build
from attnviz.training.tasks import TASKS

TASK = TASKS["induction"]
BATCH, WARM_UP, SEED = 64, 20, 0


def train_step(model: nn.Module, optimiser: torch.optim.Optimizer, x: Tensor, targets: Tensor) -> float:
    """Make one step of a training, with gradients of a norm of at most 1, and return the loss before it."""
    loss = functional.cross_entropy(model(x).flatten(0, -2), targets.flatten())
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def model_after(steps_of_interest: Collection[int], *, rate: float, steps: int) -> dict[int, TokenModel]:
    """Train the task's model with a plain loop, and return it as it is after each of these numbers of steps."""
    model = build(TASK.model, SEED)
    assert isinstance(model, TokenModel)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    generator, found = torch.Generator().manual_seed(SEED), {}
    for step in range(steps + 1):
        if step in steps_of_interest:
            found[step] = copy.deepcopy(model).eval().requires_grad_(requires_grad=False)
        drawn = TASK.batch(BATCH, generator)
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / WARM_UP)
        train_step(model, optimiser, drawn.ids, drawn.targets)
    return found


def torchs_attention(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """Return torch's own module with the weights of a model's attention."""
    theirs = nn.MultiheadAttention(attention.query.in_features, attention.heads, batch_first=True)
    maps = (attention.query, attention.key, attention.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([one.weight for one in maps]))
        theirs.in_proj_bias.copy_(torch.cat([one.bias for one in maps]))
        theirs.out_proj.load_state_dict(attention.output.state_dict())
    return theirs

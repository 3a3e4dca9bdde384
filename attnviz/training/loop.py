"""The training loop: one step at a time, so that it can be watched, stopped and resumed; interrupted, it is a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.files import replacing
from attnviz.toy.language.model import TokenModel
from attnviz.training.plan import Plan
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import IGNORED, Batch

Draw = Callable[[int, torch.Generator], Batch]
"""Draws sequences to train on, from a generator"""

MUON_RATE = 10
"""Muon's learning rate as a multiple of AdamW's: its updates have a norm of their own (Jordan et al. 2024)"""


class DivergedError(ArithmeticError):
    """The loss is no longer a finite number."""


def inputs_of(model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
    """Return what a model reads of a batch: the ids, and the source if it has an encoder and a decoder.

    A decoder can so be trained without an encoder on sequences that have a source.
    """
    reads_source = isinstance(model, TokenModel) and model.config.architecture == "both"
    return (batch.ids, batch.source) if reads_source and batch.source is not None else (batch.ids,)


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean cross-entropy over all positions that count, in nats."""
    return loss_from(model(*inputs_of(model, batch)), batch)


def loss_from(logits: Tensor, batch: Batch) -> Tensor:
    """Return the mean cross-entropy of logits, (B, T, V), over all positions that count, in nats."""
    return functional.cross_entropy(logits.float().flatten(0, -2), batch.targets.flatten(), ignore_index=IGNORED)


class Trainer:
    """Trains one model. Equal seeds and settings give equal losses on the same machine."""

    def __init__(self, model: nn.Module, draw: Draw, settings: TrainingSettings) -> None:
        """Begin at step 0.

        Args:
            model: is changed in place.
            draw: is given a generator with the settings' seed.
            settings: the seed is also that of torch's own generator, from which dropout draws.
        """
        self.model, self.settings, self._draw = model.train(), settings, draw
        self.step = 0
        """How many steps have been made"""
        self._generator = torch.Generator().manual_seed(settings.seed)
        torch.manual_seed(settings.seed)
        self._optimisers = _optimisers(model, settings)
        self._rates = [[group["lr"] for group in one.param_groups] for one in self._optimisers]

    def advance(self) -> float:
        """Make one step and return its loss, in nats, on the batch before the step.

        Raises:
            DivergedError: the loss is not finite; the model is as it was before the step.
        """
        batch = self._draw(self.settings.batch, self._generator)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.precision == "bfloat16"):
            loss = loss_of(self.model, batch)
        value = loss.item()
        if not torch.isfinite(loss):
            raise DivergedError(f"the loss at step {self.step} is {value}")
        self._set_rates()
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        if self.settings.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        for optimiser in self._optimisers:
            optimiser.step()
        self.step += 1
        return value

    def state(self) -> dict[str, Any]:
        """Return all that a later `resume` needs, as tensors and plain values; the model's weights are among it."""
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimisers": [one.state_dict() for one in self._optimisers],
            "batches": self._generator.get_state(),
            "dropout": torch.random.get_rng_state(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a state: what follows equals a training that was never interrupted."""
        self.model.load_state_dict(state["model"])
        for optimiser, one in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(one)
        self._generator.set_state(state["batches"])
        torch.random.set_rng_state(state["dropout"])
        self.step = state["step"]

    def _set_rates(self) -> None:
        share = self.settings.rate_at(self.step) / (self.settings.learning_rate or 1)
        for optimiser, rates in zip(self._optimisers, self._rates, strict=True):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share


def _optimisers(model: nn.Module, settings: TrainingSettings) -> list[torch.optim.Optimizer]:
    """Return the optimisers: matrices inside the blocks decay, and Muon is for them alone.

    AdamW is torch's fused one: a third of the time, and weights that differ by the last bit of float32.
    """
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and name.startswith("blocks.") else others).append(parameter)
    rate, decay = settings.learning_rate, settings.weight_decay
    both = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    groups = [one for one in both if one["params"]]
    if settings.optimiser == "sgd":
        return [torch.optim.SGD(groups, lr=rate)]
    betas = (0.9, settings.beta2)
    if settings.optimiser == "muon" and matrices:
        muon = torch.optim.Muon(matrices, lr=MUON_RATE * rate, weight_decay=decay)
        return [muon, torch.optim.AdamW(others, lr=rate, betas=betas, weight_decay=0.0, fused=True)]
    return [torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True)]


class CheckpointError(ValueError):
    """A file is no checkpoint of this training. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All that is needed to go on."""

    name: str
    plan: Plan
    corpus: str
    """The sha256 of the text; empty for a task"""
    state: dict[str, Any]
    """As `Trainer.state` returns it"""
    losses: tuple[float, ...]
    """Of the last steps, in nats"""

    def write(self, path: Path) -> None:
        """Write it to a file: either all of it, or the file stays as it was.

        Raises:
            OSError: it can't be written.
        """
        said = json.dumps(
            {"name": self.name, "plan": self.plan.to_json(), "corpus": self.corpus, "losses": self.losses}
        )
        with replacing(path) as file:
            torch.save({"said": said, "state": self.state}, file)

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Read a file. What it holds is tensors and plain values: nothing in it is run.

        Raises:
            CheckpointError: it is no checkpoint.
            OSError: it can't be read.
        """
        try:
            found = torch.load(path, weights_only=True)
            said = json.loads(found["said"])
            losses = tuple(map(float, said["losses"]))
            return cls(said["name"], Plan.from_json(said["plan"]), said["corpus"], found["state"], losses)
        except OSError:
            raise
        except Exception as error:  # of a damaged file, the reader raises almost every type
            raise CheckpointError(f"{path.name} is not a checkpoint of a training, or it is damaged.") from error

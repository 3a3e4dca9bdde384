"""The training loop, one step at a time, so that a training can be watched, stopped, saved to a file and resumed."""

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
"""Muon's learning rate as a multiple of AdamW's, since its updates are scaled differently (Jordan et al. 2024)"""


class DivergedError(ArithmeticError):
    """The loss is no longer a finite number."""


def inputs_of(model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
    """Return a model's inputs from a batch: the ids, and also the source if the model has an encoder and a decoder.

    A decoder alone ignores the source, so it can be trained on the same sequences.
    """
    reads_source = isinstance(model, TokenModel) and model.config.architecture == "both"
    return (batch.ids, batch.source) if reads_source and batch.source is not None else (batch.ids,)


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean cross-entropy over all positions whose target is not ignored, in nats."""
    return loss_from(model(*inputs_of(model, batch)), batch)


def loss_from(logits: Tensor, batch: Batch) -> Tensor:
    """Return the mean cross-entropy of logits, (B, T, V), over all positions not ignored, in nats."""
    return functional.cross_entropy(logits.float().flatten(0, -2), batch.targets.flatten(), ignore_index=IGNORED)


class Trainer:
    """Trains one model. Equal seeds and settings give equal losses on the same machine."""

    def __init__(self, model: nn.Module, draw: Draw, settings: TrainingSettings) -> None:
        """Begin at step 0.

        Args:
            model: changed in place.
            draw: called with a generator that has the settings' seed.
            settings: the seed also seeds torch's global generator, from which dropout draws.
        """
        self.model, self.settings, self._draw = model.train(), settings, draw
        self.step = 0
        """How many steps have been made"""
        self._generator = torch.Generator().manual_seed(settings.seed)
        torch.manual_seed(settings.seed)
        self._optimisers = _optimisers(model, settings)
        self._rates = [[group["lr"] for group in optimiser.param_groups] for optimiser in self._optimisers]

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
        """Return all that `resume` needs, including the model's weights, as tensors and plain values."""
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "batches": self._generator.get_state(),
            "dropout": torch.random.get_rng_state(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from a state; the result is the same as that of an uninterrupted training."""
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self._generator.set_state(state["batches"])
        torch.random.set_rng_state(state["dropout"])
        self.step = state["step"]

    def _set_rates(self) -> None:
        share = self.settings.rate_at(self.step) / (self.settings.learning_rate or 1)
        for optimiser, rates in zip(self._optimisers, self._rates, strict=True):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share


def _optimisers(model: nn.Module, settings: TrainingSettings) -> list[torch.optim.Optimizer]:
    """Return the optimisers: only matrices inside the blocks have weight decay, and Muon trains only those.

    AdamW is torch's fused version: it takes a third of the time, and its weights differ in the last bit of float32.
    """
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and name.startswith("blocks.") else others).append(parameter)
    rate, decay = settings.learning_rate, settings.weight_decay
    both = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    groups = [group for group in both if group["params"]]
    if settings.optimiser == "sgd":
        return [torch.optim.SGD(groups, lr=rate)]
    betas = (0.9, settings.beta2)
    if settings.optimiser == "muon" and matrices:
        muon = torch.optim.Muon(matrices, lr=MUON_RATE * rate, weight_decay=decay)
        return [muon, torch.optim.AdamW(others, lr=rate, betas=betas, weight_decay=0.0, fused=True)]
    return [torch.optim.AdamW(groups, lr=rate, betas=betas, fused=True)]


class CheckpointError(ValueError):
    """A file is not a checkpoint of a training. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All that is needed to continue a training."""

    name: str
    plan: Plan
    corpus: str
    """The sha256 of the text; empty for a task"""
    state: dict[str, Any]
    """The result of `Trainer.state`"""
    losses: tuple[float, ...]
    """The losses of the last steps, in nats"""

    def write(self, path: Path) -> None:
        """Write it to a file atomically: on an error, the file stays as it was.

        Raises:
            OSError: the file can't be written.
        """
        header = json.dumps(
            {"name": self.name, "plan": self.plan.to_json(), "corpus": self.corpus, "losses": self.losses}
        )
        with replacing(path) as file:
            torch.save({"said": header, "state": self.state}, file)

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Read a file. Only tensors and plain values are loaded: no code in it is run.

        Raises:
            CheckpointError: the file is not a checkpoint.
            OSError: the file can't be read.
        """
        try:
            saved = torch.load(path, weights_only=True)
            header = json.loads(saved["said"])
            losses = tuple(map(float, header["losses"]))
            return cls(header["name"], Plan.from_json(header["plan"]), header["corpus"], saved["state"], losses)
        except OSError:
            raise
        except Exception as error:  # for a damaged file, the reader raises almost any type
            raise CheckpointError(f"{path.name} is not a checkpoint of a training, or it is damaged.") from error

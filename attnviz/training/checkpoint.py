"""A training that was interrupted, as a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attnviz.files import replacing
from attnviz.training.plan import Plan


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

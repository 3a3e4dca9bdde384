"""What a run over a corpus is asked for: all that decides its result, beside the files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from attnviz.corpus.blocks import LINES
from attnviz.corpus.sentences import PAIRS_EVERY, Reader


@dataclass(frozen=True, slots=True)
class Job:
    """The model and how it reads. Small, so that it can be sent to any process."""

    model: str
    """A name as `attnviz.pretrained.load` takes it"""
    batch: int = 32
    """The most sentences that are computed at once"""
    pairs_every: int = PAIRS_EVERY
    lines: int = LINES
    """Lines of a block"""

    def __post_init__(self) -> None:
        for name in ("batch", "pairs_every", "lines"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name.replace('_', ' ')} is {getattr(self, name)}; it must be at least 1")

    def reader(self, device: str = "cpu") -> Reader:
        """Load the model, and return what reads with it; torch computes in one thread, so results repeat bit for bit.

        Args:
            device: where the built-in model computes, as torch names it.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded.
        """
        import torch

        from attnviz.pretrained import load
        from attnviz.pretrained.built_in import BuiltInModel

        torch.set_num_threads(1)
        model = load(self.model)
        if isinstance(model, BuiltInModel):
            model.bert.to(device)
        return Reader(model, batch=self.batch, pairs_every=self.pairs_every)

    def to_json(self) -> dict[str, Any]:
        """Return its settings."""
        return asdict(self)

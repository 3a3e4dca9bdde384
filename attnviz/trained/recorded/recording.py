"""A recorded training as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.reprs import ShortRepr
from attnviz.trained.card import Card
from attnviz.training.jobs.view import View
from attnviz.training.plan import Plan
from attnviz.training.text.corpus import built_in


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording(ShortRepr):
    """One training from its first step to its last."""

    plan: Plan
    card: Card
    """What it was trained on, how good it became, and the command that records it again"""
    view: View
    """Its losses, evaluations and snapshots, as of a training that is done; there are fewer snapshots"""

    @property
    def text(self) -> str | None:
        """What it was trained on; None if that is a task."""
        return None if self.card.corpus is None else built_in()

    @property
    def data(self) -> str | None:
        """What it was given beside its plan, as a job has it."""
        return self.text

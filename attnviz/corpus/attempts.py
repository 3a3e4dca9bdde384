"""How often each block of a run on a Ray cluster was begun.

A process of its own counts this. It loads no more than this module, and so starts in a third of the time that one with
torch takes.
"""

from __future__ import annotations

from collections import Counter


class Attempts:
    """Counts how often each block was started: Ray itself would retry forever a block that kills its actors."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, number: int) -> int:
        """Count a start of a block, and return the number of its starts so far."""
        self._begun[number] += 1
        return self._begun[number]

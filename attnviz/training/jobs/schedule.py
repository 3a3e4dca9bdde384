"""When a training is looked at: often in the beginning, then ever more seldom."""

from __future__ import annotations

SNAPSHOT_EVERY, EVALUATE_EVERY = 5, 10
"""Steps between two of them in the beginning"""
SNAPSHOT_PART, EVALUATE_PART = 40, 20
"""Later, the steps between two are the step's own number over this, rounded down to a multiple of the first distance"""


def snapshot_steps(total: int) -> tuple[int, ...]:
    """Return the steps of a training after which its weights are kept: 0, every 5th up to 400, then sparser, the last.

    800 steps have some 110 snapshots, 5,000 steps some 190.
    """
    return _steps(total, SNAPSHOT_EVERY, SNAPSHOT_PART)


def evaluation_steps(total: int) -> tuple[int, ...]:
    """Return the steps after which it is evaluated: 0, every 10th up to 400, then sparser, and the last."""
    return _steps(total, EVALUATE_EVERY, EVALUATE_PART)


def _steps(total: int, every: int, part: int) -> tuple[int, ...]:
    found, step = [], 0
    while step < total:
        found.append(step)
        step += max(1, step // part // every) * every
    return (*found, total)

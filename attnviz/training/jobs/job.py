"""A training job on the server's side: what its process has told so far."""

from __future__ import annotations

import sys
import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from attnviz.training.jobs.process import Message
from attnviz.training.jobs.view import Evaluation, Snapshot, Status, View
from attnviz.training.plan import Data, Plan

SNAPSHOT_BYTES, SNAPSHOTS = 24 * 2**20, 400
"""The most of a job; when there are more, every second one is dropped, but not the first and the last"""

_numbers = count(1)


class Job:
    """One training of one visitor: queued, running, or ended. All its properties return at once, from any thread."""

    def __init__(self, visitor: str, plan: Plan, data: Data | None = None, then: Sequence[Plan] = ()) -> None:
        self.number = next(_numbers)
        """Another one for each job of this process"""
        self.visitor, self.plan, self.data, self.then = visitor, plan, data, tuple(then)
        self.speed_limit = 0.0
        """Steps a second; 0 is as fast as possible"""
        self.wants_step = False
        """Whether it makes one step only when it starts"""
        self.yields = False
        """Whether it was paused because others wait, and goes on after them"""
        self._lock = threading.Lock()
        self._state: tuple[int, bytes] | None = None
        """The step at which it was paused last, and all that is needed to go on from there"""
        self._losses = array("f")
        self._view: View = View("queued", plan.training.steps, can_continue=False)
        self._version = 0

    @property
    def text(self) -> str | None:
        """What it is trained on, if that is a text."""
        return self.data if isinstance(self.data, str) else None

    @property
    def view(self) -> View:
        """What is known now."""
        return self._view

    @property
    def version(self) -> int:
        """A number that grows with each change of `view`."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes in memory, without those of its data, which several jobs may share."""
        with self._lock:
            state = len(self._state[1]) if self._state else 0
            return _size(self._view.snapshots) + state + 8 * len(self._losses)

    def set(self, status: Status, *, place: int = 0, message: str = "") -> None:
        """Change the status."""
        with self._lock:
            can_continue = status == "stopped" or (status == "failed" and self._state is not None)
            self._change(status=status, place=place, message=message, can_continue=can_continue)

    def close(self) -> None:
        """End it for good: it can't go on, and what it has learned so far stays."""
        with self._lock:
            self._state = None
            if self._view.has_ended:
                self._change(place=0, can_continue=False)
            else:
                self._change(status="stopped", place=0, can_continue=False, speed=0.0)

    def start_command(self) -> tuple[dict[str, Any], bytes]:
        """Return the header and the bytes of the command with which a process starts it, or goes on with it."""
        given = self.data
        data = (given or "").encode(errors="replace") if isinstance(given, str | None) else given.to_bytes()
        with self._lock:
            step, state = self._state or (0, b"")
            self._go_back(step)
            header = {
                "job": self.number, "plan": self.plan.to_json(), "speed": self.speed_limit, "paused": self.wants_step,
                **({} if given is None else {"data": len(data)}),
            }  # fmt: skip
            return header, data + state

    def receive(self, event: Message) -> None:
        """Note an event of its process.

        Raises:
            ValueError, KeyError, TypeError: the event is not one that a process sends.
        """
        handlers: dict[str, Callable[[Message], None]] = {
            "progress": self._progress, "evaluation": self._evaluation, "snapshot": self._snapshot,
            "paused": self._paused, "going": self._going, "end": self._end,
        }  # fmt: skip
        with self._lock:
            handlers[event.kind](event)

    def _change(self, **values: Any) -> None:
        self._view = replace(self._view, **values)
        self._version += 1

    def _progress(self, event: Message) -> None:
        self._losses.frombytes(event.body)
        step = int(event.header["step"])
        if len(self._losses) != step:
            raise ValueError(f"{len(self._losses)} losses of {step} steps")
        losses = np.frombuffer(self._losses.tobytes(), np.float32)
        rate = self.plan.training.rate_at(step - 1) if step else 0.0
        self._change(step=step, losses=losses, learning_rate=rate, speed=float(event.header["speed"]))

    def _evaluation(self, event: Message) -> None:
        one = Evaluation.of(event.header["step"], event.header)
        before = [each for each in self._view.evaluations if each.step < one.step]
        self._change(evaluations=(*before, one))

    def _snapshot(self, event: Message) -> None:
        one = Snapshot(event.header["step"], event.body)
        kept = [*(each for each in self._view.snapshots if each.step < one.step), one]
        while len(kept) > 2 and (_size(kept) > SNAPSHOT_BYTES or len(kept) > SNAPSHOTS):
            kept = [*kept[:-1:2], kept[-1]]
        self._change(snapshots=tuple(kept))

    def _paused(self, event: Message) -> None:
        self._state = (event.header["step"], event.body)
        self._change(status="stopped", can_continue=True, speed=0.0)

    def _going(self, _: Message) -> None:
        self._change(status="running", can_continue=False)

    def _end(self, event: Message) -> None:
        self._state = None
        self._change(status=event.header["status"], message=event.header["message"], can_continue=False)

    def _go_back(self, step: int) -> None:
        """Forget what came after a step, from which it now goes on."""
        del self._losses[step:]
        evaluations, snapshots = self._view.evaluations, self._view.snapshots
        losses = np.frombuffer(self._losses.tobytes(), np.float32)
        self._change(
            step=step, losses=losses, speed=0.0,
            evaluations=evaluations[: bisect_right(evaluations, step, key=lambda one: one.step)],
            snapshots=snapshots[: bisect_right(snapshots, step, key=lambda one: one.step)],
        )  # fmt: skip


def held_by(jobs: Iterable[Job]) -> int:
    """Return the bytes in memory of several jobs, with their data, each counted once."""
    kept = list(jobs)
    data = {id(one.data): _size_of(one.data) for one in kept if one.data is not None}
    return sum(one.nbytes for one in kept) + sum(data.values())


def _size_of(data: Data) -> int:
    return sys.getsizeof(data) if isinstance(data, str) else data.nbytes


def _size(snapshots: list[Snapshot] | tuple[Snapshot, ...]) -> int:
    return sum(len(one.weights) for one in snapshots)

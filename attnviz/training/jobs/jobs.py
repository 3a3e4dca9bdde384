"""All training jobs of a server: their progress, the queue, and the end of jobs whose visitor has left."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from attnviz.training.jobs.process import Message, WorkerProcess
from attnviz.training.jobs.view import Evaluation, Snapshot, Status, View
from attnviz.training.plan import Data, Limits, Plan

SNAPSHOT_BYTES, SNAPSHOTS = 24 * 2**20, 400
"""The most bytes and the most snapshots that a job keeps; beyond that, every second snapshot is dropped, except the
first and the last"""

_numbers = count(1)


class Job:
    """One training of one visitor: queued, running, or ended. All its properties return at once, from any thread."""

    def __init__(self, visitor: str, plan: Plan, data: Data | None = None, then: Sequence[Plan] = ()) -> None:
        self.number = next(_numbers)
        """Unique within this process"""
        self.visitor, self.plan, self.data, self.then = visitor, plan, data, tuple(then)
        self.speed_limit = 0.0
        """Steps a second; 0 is as fast as possible"""
        self.wants_step = False
        """Whether it makes only one step when it starts, then pauses"""
        self.yields = False
        """Whether it was paused because others are waiting, and resumes after them"""
        self._lock = threading.Lock()
        self._state: tuple[int, bytes] | None = None
        """The step at which it was last paused, and the saved state to resume from"""
        self._losses = array("f")
        self._view: View = View("queued", plan.training.steps, can_continue=False)
        self._version = 0

    @property
    def text(self) -> str | None:
        """The text to train on; None if the data are not a text."""
        return self.data if isinstance(self.data, str) else None

    @property
    def view(self) -> View:
        """The current state of the job."""
        return self._view

    @property
    def version(self) -> int:
        """A number that grows with each change of `view`."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes in memory, excluding its data, which several jobs may share."""
        with self._lock:
            state = len(self._state[1]) if self._state else 0
            return _size(self._view.snapshots) + state + 8 * len(self._losses)

    def set(self, status: Status, *, place: int = 0, message: str = "") -> None:
        """Change the status."""
        with self._lock:
            can_continue = status == "stopped" or (status == "failed" and self._state is not None)
            self._change(status=status, place=place, message=message, can_continue=can_continue)

    def close(self) -> None:
        """End it for good: it can't be continued, but its results so far are kept."""
        with self._lock:
            self._state = None
            if self._view.has_ended:
                self._change(place=0, can_continue=False)
            else:
                self._change(status="stopped", place=0, can_continue=False, speed=0.0)

    def start_command(self) -> tuple[dict[str, Any], bytes]:
        """Return the header and the bytes of the command that makes a process start or resume it."""
        data = self.data
        body = (data or "").encode(errors="replace") if isinstance(data, str | None) else data.to_bytes()
        with self._lock:
            step, state = self._state or (0, b"")
            self._go_back(step)
            header = {
                "job": self.number, "plan": self.plan.to_json(), "speed": self.speed_limit, "paused": self.wants_step,
                **({} if data is None else {"data": len(body)}),
            }  # fmt: skip
            return header, body + state

    def receive(self, event: Message) -> None:
        """Record an event from its process.

        Raises:
            ValueError, KeyError, TypeError: the event is invalid.
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
        evaluation = Evaluation.of(event.header["step"], event.header)
        earlier = [previous for previous in self._view.evaluations if previous.step < evaluation.step]
        self._change(evaluations=(*earlier, evaluation))

    def _snapshot(self, event: Message) -> None:
        snapshot = Snapshot(event.header["step"], event.body)
        kept = [*(earlier for earlier in self._view.snapshots if earlier.step < snapshot.step), snapshot]
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
        """Discard everything after a step, from which it now resumes."""
        del self._losses[step:]
        evaluations, snapshots = self._view.evaluations, self._view.snapshots
        losses = np.frombuffer(self._losses.tobytes(), np.float32)
        self._change(
            step=step, losses=losses, speed=0.0,
            evaluations=evaluations[: bisect_right(evaluations, step, key=lambda evaluation: evaluation.step)],
            snapshots=snapshots[: bisect_right(snapshots, step, key=lambda snapshot: snapshot.step)],
        )  # fmt: skip


def held_by(jobs: Iterable[Job]) -> int:
    """Return the bytes in memory of several jobs and their data; shared data are counted once."""
    jobs = list(jobs)
    all_data = {id(job.data): job.data for job in jobs if job.data is not None}.values()
    held_by_data = sum(sys.getsizeof(data) if isinstance(data, str) else data.nbytes for data in all_data)
    return sum(job.nbytes for job in jobs) + held_by_data


def _size(snapshots: list[Snapshot] | tuple[Snapshot, ...]) -> int:
    return sum(len(snapshot.weights) for snapshot in snapshots)


LEASE = 60.0
"""Seconds for which the jobs of a visitor who has left are kept"""
TURN = 120.0
"""Seconds for which a training runs while others wait; then it is queued behind them"""
IDLE = 300.0
"""Seconds for which an idle process is kept for the next training"""
WATCH = 1.0
"""Seconds between two checks of these time limits"""
JOBS, VISITOR_BYTES, ALL_BYTES = 12, 96 * 2**20, 512 * 2**20
"""Limits on the jobs of a visitor (running or ended), on their bytes, and on the bytes of all visitors; beyond them,
the oldest jobs are dropped. The eight stages of the model series take some 70 MB after 2,000 steps each."""

GONE = "The training process ended unexpectedly: it was stopped from outside, or the machine has too little memory."
NO_PROCESS = "This machine can't start another process now. Try again later."


@dataclass(slots=True)
class _Visitor:
    seen: float
    jobs: list[Job] = field(default_factory=list)
    """The newest last; all others have ended"""


@dataclass(slots=True)
class _Slot:
    job: Job | None
    since: float
    """When it got the job, or lost it"""


class Jobs:
    """The training jobs of a server. Each visitor has at most one job that runs or waits, and may have ended ones.

    No method blocks on a training process. A visitor is any string that distinguishes browsers.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        is_here: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a process.

        Args:
            limits: the limits of a training.
            is_here: whether a visitor's browser is connected; while it is, the lease does not expire, even without
                `touch`.
            clock: returns seconds.
        """
        self.limits, self._is_here = limits or Limits(), is_here
        self._clock, self._lock = clock, threading.RLock()
        self._visitors: dict[str, _Visitor] = {}
        self._queue: list[Job] = []
        self._slots: dict[WorkerProcess, _Slot] = {}
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        atexit.register(self.close)

    def start(
        self, visitor: str, plan: Plan, data: Data | None = None, *, speed: float = 0.0, paused: bool = False,
        then: Sequence[Plan] = (),
    ) -> Job:  # fmt: skip
        """Start a training, or queue it. The visitor's previous training is stopped for good.

        Args:
            visitor: who trains.
            plan: what to train, and how.
            data: the data to train on, if the plan's subject is a text, vectors or tagged files.
            speed: the most steps per second, for slow motion; 0 is as fast as possible.
            paused: whether to make one step and stop.
            then: plans to train afterwards on the same data, one after another, unless another training is started.

        Raises:
            TooLargeError: the plan exceeds the server's limits; the message is a sentence for the user.
            ValueError: the subject does not exist, or its data are missing or do not fit.
        """
        for each_plan in (plan, *then):
            self.limits.check(each_plan, data)
        job = Job(visitor, plan, data, then)
        job.speed_limit, job.wants_step = max(0.0, speed), paused
        with self._lock:
            self.touch(visitor)
            self._add(job)
        return job

    def _add(self, job: Job) -> None:
        """Queue a visitor's job and end the previous ones."""
        visitor_jobs = self._visitors[job.visitor].jobs
        for previous in visitor_jobs:
            self._end(previous)
        visitor_jobs.append(job)
        self._queue.append(job)
        self._schedule()
        self._forget_some()

    def job(self, visitor: str) -> Job | None:
        """Return the visitor's latest job; None if the visitor has no job."""
        return next(iter(self.jobs(visitor)), None)

    def jobs(self, visitor: str) -> tuple[Job, ...]:
        """Return the visitor's jobs, the latest first. Don't keep references: dropped jobs must free their memory."""
        with self._lock:
            entry = self._visitors.get(visitor)
            return tuple(reversed(entry.jobs)) if entry else ()

    def stop(self, visitor: str) -> None:
        """Stop the visitor's training after the current step; `go_on` and `one_step` continue it."""
        self._command(visitor, "pause")

    def go_on(self, visitor: str) -> None:
        """Continue a stopped training; if no process is free, it waits for its turn."""
        self._command(visitor, "continue")

    def one_step(self, visitor: str) -> None:
        """Make one step and stop."""
        self._command(visitor, "step")

    def set_speed(self, visitor: str, steps: float) -> None:
        """Limit the steps per second, for slow motion; 0 is as fast as possible."""
        job = self.job(visitor)
        if job is not None and steps >= 0:
            job.speed_limit = steps
            with self._lock:
                if worker := self._worker_of(job):
                    worker.send("speed", steps=steps)

    def touch(self, visitor: str) -> None:
        """Keep a visitor's jobs for another `LEASE` seconds."""
        with self._lock:
            self._watch()
            self._visitors.setdefault(visitor, _Visitor(self._clock())).seen = self._clock()

    def release(self, visitor: str) -> None:
        """End and drop all jobs of a visitor now."""
        with self._lock:
            entry = self._visitors.pop(visitor, None)
            for job in entry.jobs if entry else ():
                self._end(job)
            self._schedule()

    def prepare(self) -> None:
        """Start a process in advance if none is free and the limit allows it: importing torch takes seconds."""
        with self._lock:
            self._watch()
            free = [slot for slot in self._slots.values() if slot.job is None]
            for slot in free:
                slot.since = self._clock()
            if not free and len(self._slots) < self.limits.running:
                self._new_worker()

    def counts(self) -> tuple[int, int, int]:
        """Return the number of trainings that have a process, of those that wait, and of processes."""
        with self._lock:
            return sum(slot.job is not None for slot in self._slots.values()), len(self._queue), len(self._slots)

    def processes(self) -> tuple[int, ...]:
        """Return the ids of the training processes."""
        with self._lock:
            return tuple(worker.pid for worker in self._slots)

    def close(self) -> None:
        """End all trainings and their processes. Nothing can be started afterwards."""
        self._closed.set()
        atexit.unregister(self.close)
        with self._lock:
            workers = list(self._slots)
            for visitor in list(self._visitors):
                self.release(visitor)
            for worker in workers:
                worker.end()
            self._slots.clear()
        for worker in workers:
            worker.wait(5)

    def _command(self, visitor: str, kind: str) -> None:
        with self._lock:
            job = self.job(visitor)
            if job is None:
                return
            worker, status = self._worker_of(job), job.view.status
            if worker is not None and status in ("running", "stopped"):
                job.yields = False
                worker.send(kind)
            elif job in self._queue and kind != "continue":
                if kind == "pause":
                    self._queue.remove(job)
                    job.set("stopped")
                job.wants_step = kind == "step"
                self._schedule()
            elif job.view.can_continue and kind != "pause":
                job.wants_step = kind == "step"
                self._queue.append(job)
                self._schedule()

    def _worker_of(self, job: Job) -> WorkerProcess | None:
        return next((worker for worker, slot in self._slots.items() if slot.job is job), None)

    def _new_worker(self) -> WorkerProcess | None:
        if self._closed.is_set():
            return None
        try:
            worker = WorkerProcess(self._on_event, self._on_exit)
        except OSError:
            return None
        self._slots[worker] = _Slot(None, self._clock())
        return worker

    def _free_worker(self) -> WorkerProcess | None:
        """Return a process for the next job: a free one, a new one, or the process of a stopped training."""
        free = next((worker for worker, slot in self._slots.items() if slot.job is None), None)
        if free is None and len(self._slots) < self.limits.running:
            free = self._new_worker()
        if free is None:
            stopped = (worker for worker, slot in self._slots.items() if slot.job and slot.job.view.status == "stopped")
            free = next(stopped, None)
            if free is not None:
                self._take_from(free)
        return free

    def _take_from(self, worker: WorkerProcess) -> None:
        """Make a process drop its training; the server has the state needed to continue it."""
        slot = self._slots[worker]
        if slot.job is not None:
            worker.send("drop")
            slot.job, slot.since = None, self._clock()

    def _schedule(self) -> None:
        """Start as many queued jobs as possible, and update the queue positions of the others."""
        while self._queue and (worker := self._free_worker()):
            job = self._queue.pop(0)
            self._slots[worker] = _Slot(job, self._clock())
            header, body = job.start_command()
            job.set("running")
            worker.send("start", body, **header)
            job.wants_step = False
        if self._queue and not self._slots:  # no process could be started at all
            self._queue.pop(0).set("failed", message=NO_PROCESS)
            self._schedule()
        for number, job in enumerate(self._queue, 1):
            if job.view.status != "queued" or job.view.place != number:
                job.set("queued", place=number)

    def _end(self, job: Job) -> None:
        """Stop a job for good; the caller schedules."""
        if job in self._queue:
            self._queue.remove(job)
        if worker := self._worker_of(job):
            self._take_from(worker)
        job.close()

    def _on_event(self, worker: WorkerProcess, event: Message) -> None:
        with self._lock:
            slot = self._slots.get(worker)
            job = slot.job if slot else None
            if slot is None or job is None or event.header.get("job") != job.number:
                return
            try:
                job.receive(event)
            except (ValueError, KeyError, TypeError):  # not a valid event: the process can't be trusted
                worker.end()
                return
            if event.kind == "end":
                slot.job, slot.since = None, self._clock()
                if job.view.status == "failed":
                    worker.end()  # it may be out of memory: the next training gets a new process
                    del self._slots[worker]
                if job.then and job.visitor in self._visitors:
                    following = Job(job.visitor, job.then[0], job.data, job.then[1:])
                    following.speed_limit = job.speed_limit
                    self._add(following)
            if event.kind == "paused" and job.yields:
                job.yields = False
                self._take_from(worker)
                self._queue.append(job)
            if event.kind in ("paused", "end"):
                self._schedule()
                self._forget_some()

    def _on_exit(self, worker: WorkerProcess) -> None:
        with self._lock:
            slot = self._slots.pop(worker, None)
            if slot is not None and slot.job is not None:
                slot.job.set("failed", message=GONE)
            if not self._closed.is_set():
                self._schedule()

    def _watch(self) -> None:
        if self._watcher is None and not self._closed.is_set():
            self._watcher = threading.Thread(target=self._look_after, name="training-jobs", daemon=True)
            self._watcher.start()

    def _look_after(self) -> None:
        while not self._closed.wait(WATCH):
            self.look()

    def look(self) -> None:
        """Enforce the time limits on leases, turns and idle processes. A thread calls this every second."""
        now = self._clock()
        with self._lock:
            for name, entry in list(self._visitors.items()):
                if self._is_here(name):
                    entry.seen = now
                elif now - entry.seen > LEASE:
                    self.release(name)
            for worker, slot in list(self._slots.items()):
                overdue = slot.job is not None and slot.job.view.status == "running" and now - slot.since > TURN
                if self._queue and overdue and slot.job is not None and not slot.job.yields:
                    slot.job.yields = True
                    worker.send("pause")
                if slot.job is None and now - slot.since > IDLE:
                    del self._slots[worker]
                    worker.end()

    def _forget_some(self) -> None:
        """Drop the oldest jobs beyond the limits, first those of visitors not seen for long; active jobs are kept."""
        for entry in self._visitors.values():
            while len(entry.jobs) > 1 and (len(entry.jobs) > JOBS or held_by(entry.jobs) > VISITOR_BYTES):
                entry.jobs.pop(0)
        held = sum(held_by(entry.jobs) for entry in self._visitors.values())
        for entry in sorted(self._visitors.values(), key=lambda entry: entry.seen):
            for job in list(entry.jobs):
                if held > ALL_BYTES and job not in self._queue and self._worker_of(job) is None:
                    held -= job.nbytes
                    entry.jobs.remove(job)

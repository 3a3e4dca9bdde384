"""All training jobs of a server: who may train, who waits, and when a training ends because its visitor has gone."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attnviz.training.jobs.job import Job, held_by
from attnviz.training.jobs.limits import Limits
from attnviz.training.jobs.process import Message, WorkerProcess
from attnviz.training.plan import Data, Plan

LEASE = 60.0
"""Seconds for which the jobs of a visitor who has gone are kept"""
TURN = 120.0
"""Seconds for which a training runs while others wait; then it waits itself, and goes on after them"""
IDLE = 300.0
"""Seconds for which a process without a training is kept for the next one"""
WATCH = 1.0
"""Seconds between two looks at all of these"""
JOBS, VISITOR_BYTES, ALL_BYTES = 12, 96 * 2**20, 512 * 2**20
"""The most jobs that a visitor has, running or ended, their bytes, and those of all visitors: the oldest is dropped.
The eight stages of the model series take some 70 MB after 2,000 steps each."""

GONE = "The training process ended unexpectedly: it was stopped from outside, or the machine has too little memory."
NO_PROCESS = "This machine can't start another process now. Try again later."


@dataclass(slots=True)
class _Visitor:
    seen: float
    jobs: list[Job] = field(default_factory=list)
    """The newest last: of all but this one, none runs or waits"""


@dataclass(slots=True)
class _Slot:
    job: Job | None
    since: float
    """When it got the job, or lost it"""


class Jobs:
    """The training jobs of a server. Each visitor has one that runs or waits, and may have some that have ended.

    No method waits for a training process. A visitor is whatever string tells browsers apart.
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
            limits: what a training may ask for.
            is_here: whether a visitor's browser is connected; if so, the lease does not lapse, even without `touch`.
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
        """Start a training, or queue it. What the visitor trained before is stopped for good.

        Args:
            visitor: who trains.
            plan: what and how.
            data: what it is trained on, if the plan's subject is a text, or vectors.
            speed: the most steps a second, for slow motion; 0 is as fast as possible.
            paused: whether to make one step and stop.
            then: what is trained on the same data after it, one after another, unless another training is started.

        Raises:
            TooLargeError: it is above the server's limits; the message is a sentence for the user.
            ValueError: the subject does not exist, or its data are missing or do not fit.
        """
        for one in (plan, *then):
            self.limits.check(one, data)
        job = Job(visitor, plan, data, then)
        job.speed_limit, job.wants_step = max(0.0, speed), paused
        with self._lock:
            self.touch(visitor)
            self._add(job)
        return job

    def _add(self, job: Job) -> None:
        """Queue a visitor's job in place of the one before."""
        there = self._visitors[job.visitor].jobs
        for one in there:
            self._end(one)
        there.append(job)
        self._queue.append(job)
        self._schedule()
        self._forget_some()

    def job(self, visitor: str) -> Job | None:
        """Return the visitor's latest job; None if there is none, or it was dropped."""
        return next(iter(self.jobs(visitor)), None)

    def jobs(self, visitor: str) -> tuple[Job, ...]:
        """Return the visitor's jobs, the latest first. Don't keep them: what is dropped is to be freed."""
        with self._lock:
            found = self._visitors.get(visitor)
            return tuple(reversed(found.jobs)) if found else ()

    def stop(self, visitor: str) -> None:
        """Stop the visitor's training; `go_on` and `one_step` continue it. Its status is "stopped" after the step."""
        self._command(visitor, "pause")

    def go_on(self, visitor: str) -> None:
        """Continue a stopped training; if others train meanwhile, it waits for its turn."""
        self._command(visitor, "continue")

    def one_step(self, visitor: str) -> None:
        """Make one step and stop."""
        self._command(visitor, "step")

    def set_speed(self, visitor: str, steps: float) -> None:
        """Limit the steps a second, for slow motion; 0 is as fast as possible."""
        job = self.job(visitor)
        if job is not None and steps >= 0:
            job.speed_limit = steps
            with self._lock:
                if worker := self._worker_of(job):
                    worker.send("speed", steps=steps)

    def touch(self, visitor: str) -> None:
        """Keep what a visitor has for another `LEASE`."""
        with self._lock:
            self._watch()
            self._visitors.setdefault(visitor, _Visitor(self._clock())).seen = self._clock()

    def release(self, visitor: str) -> None:
        """End and drop all jobs of a visitor now."""
        with self._lock:
            found = self._visitors.pop(visitor, None)
            for job in found.jobs if found else ():
                self._end(job)
            self._schedule()

    def prepare(self) -> None:
        """Start a process ahead of need, if none is free and there may be one more: importing torch takes seconds."""
        with self._lock:
            self._watch()
            free = [slot for slot in self._slots.values() if slot.job is None]
            for slot in free:
                slot.since = self._clock()
            if not free and len(self._slots) < self.limits.running:
                self._new_worker()

    def counts(self) -> tuple[int, int, int]:
        """Return how many trainings hold a process, how many wait, and how many processes there are."""
        with self._lock:
            return sum(slot.job is not None for slot in self._slots.values()), len(self._queue), len(self._slots)

    def processes(self) -> tuple[int, ...]:
        """Return the ids of the training processes."""
        with self._lock:
            return tuple(worker.pid for worker in self._slots)

    def close(self) -> None:
        """End all trainings and their processes. After that, nothing can be started."""
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
        """Return a process for the next job: a free one, a new one, or that of a training that is stopped."""
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
        """Have a process drop its training; what is needed to go on is here."""
        slot = self._slots[worker]
        if slot.job is not None:
            worker.send("drop")
            slot.job, slot.since = None, self._clock()

    def _schedule(self) -> None:
        """Start what can start, and tell the others their places."""
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
            except (ValueError, KeyError, TypeError):  # no event of ours: a process that can't be trusted
                worker.end()
                return
            if event.kind == "end":
                slot.job, slot.since = None, self._clock()
                if job.view.status == "failed":
                    worker.end()  # it may be short of memory: the next training has a new one
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
        """End what has lapsed: leases, turns, and processes that nobody needs. A thread calls this every second."""
        now = self._clock()
        with self._lock:
            for name, one in list(self._visitors.items()):
                if self._is_here(name):
                    one.seen = now
                elif now - one.seen > LEASE:
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
        """Drop the oldest jobs beyond the bounds: first of visitors not seen for long, never one that is not over."""
        for one in self._visitors.values():
            while len(one.jobs) > 1 and (len(one.jobs) > JOBS or held_by(one.jobs) > VISITOR_BYTES):
                one.jobs.pop(0)
        held = sum(held_by(one.jobs) for one in self._visitors.values())
        for one in sorted(self._visitors.values(), key=lambda one: one.seen):
            for job in list(one.jobs):
                if held > ALL_BYTES and job not in self._queue and self._worker_of(job) is None:
                    held -= job.nbytes
                    one.jobs.remove(job)

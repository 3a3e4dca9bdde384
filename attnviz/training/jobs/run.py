"""How a training process handles commands: it trains, evaluates, sends snapshots, pauses and resumes."""

from __future__ import annotations

import io
import queue
import time
from collections import deque
from typing import Any, BinaryIO

import numpy as np
import torch

from attnviz.training.evaluation import Evaluator
from attnviz.training.jobs.process import Message
from attnviz.training.jobs.weights import to_bytes
from attnviz.training.loop import DivergedError, Trainer
from attnviz.training.plan import MEMORY_MB, Data, LabelledVectors, Plan, build, subject_of
from attnviz.training.settings import TAGGED, VECTORS, TrainingSettings
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks import TASKS

SNAPSHOT_EVERY, EVALUATE_EVERY = 5, 10
"""Steps between two snapshots, and between two evaluations, at the beginning"""
SNAPSHOT_PART, EVALUATE_PART = 40, 20
"""Later, the interval is the step number divided by this, rounded down to a multiple of the initial interval"""


def snapshot_steps(total: int) -> tuple[int, ...]:
    """Return the steps after which a training's weights are kept: 0, every 5th up to 400, then fewer, and the last.

    A training of 800 steps has some 110 snapshots, one of 5,000 steps some 190.
    """
    return _spread(total, SNAPSHOT_EVERY, SNAPSHOT_PART)


def evaluation_steps(total: int) -> tuple[int, ...]:
    """Return the steps after which a training is evaluated: 0, every 10th up to 400, then fewer, and the last."""
    return _spread(total, EVALUATE_EVERY, EVALUATE_PART)


def _spread(total: int, every: int, part: int) -> tuple[int, ...]:
    steps, step = [], 0
    while step < total:
        steps.append(step)
        step += max(1, step // part // every) * every
    return (*steps, total)


PROGRESS = 0.1
"""The least seconds between two progress messages"""
LATELY = 2.0
"""Seconds over which the speed is measured"""

Commands = queue.SimpleQueue[Message]


class DroppedError(Exception):
    """The server has dropped this training."""


def warm_up() -> None:
    """Make one step, so that torch's lazy imports are done before a user waits for the first step."""
    torch.set_num_threads(1)
    task = next(iter(TASKS.values()))
    Trainer(build(task.model, 0), task.batch, TrainingSettings(batch=1)).advance()


def serve(commands: Commands, events: BinaryIO) -> None:
    """Serve one training after another, forever.

    Raises:
        OSError: the server has closed the pipe.
    """
    Message({"kind": "ready"}).write(events)
    while True:
        command = commands.get()
        if command.kind == "start":
            _train(command, commands, events)


def _train(start: Message, commands: Commands, events: BinaryIO) -> None:
    job = start.header["job"]
    status, sentence = "done", ""
    try:
        Run(start, commands, events).to_the_end()
    except DroppedError:
        return
    except DivergedError as error:
        status, sentence = "diverged", f"The training diverged: {error}. A lower learning rate may help."
    except OSError:
        raise
    except Exception as error:
        status, sentence = "failed", why(error)
    Message({"kind": "end", "job": job, "status": status, "message": sentence}).write(events)


def why(error: Exception) -> str:
    """Return a sentence for the user that explains an error."""
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "bad_alloc" in str(error):
        return (
            f"The training needs more than {MEMORY_MB} MB of memory: choose a smaller batch, block size or model."
        )  # fmt: skip
    text = " ".join(str(error).split())[:300] or type(error).__name__
    if isinstance(error, ValueError) and text.endswith("."):
        return text
    return f"The training failed: {text.rstrip('.')}."


def read_data(plan: Plan, data: bytes) -> Data:
    """Decode the data that came with a plan."""
    if plan.subject == TAGGED:
        return TaggedFiles.from_bytes(data)
    return LabelledVectors.from_bytes(data) if plan.subject == VECTORS else data.decode()


class Run:
    """One training, from its start or the step at which it was paused, to its end."""

    def __init__(self, start: Message, commands: Commands, events: BinaryIO) -> None:
        """Build the model, and resume from a state if the command has one.

        Raises:
            ValueError: the plan or its data are not valid.
        """
        header = start.header
        self.plan = Plan.from_json(header["plan"])
        self._job, self._commands, self._events = header["job"], commands, events
        self._limit = float(header.get("speed", 0))
        """Steps a second; 0 is as fast as possible"""
        self._paused = self._steps_first = bool(header.get("paused"))
        """`_steps_first`: whether to make one step before reporting the pause, since the user asked for that step"""
        size = header.get("data", 0)
        data, state = start.body[:size], start.body[size:]
        subject = subject_of(self.plan, read_data(self.plan, data) if "data" in header else None)
        torch.manual_seed(self.plan.training.seed)  # dropout draws from torch's own generator
        self.trainer = Trainer(build(self.plan.model, self.plan.training.seed), subject.batch, self.plan.training)
        if state:
            self.trainer.resume(torch.load(io.BytesIO(state), weights_only=True))
        self._evaluator = Evaluator(subject, self.plan.training.batch)
        self._losses: list[float] = []
        self._at: deque[tuple[float, int]] = deque()
        self._told = self._shown = self._next = 0.0
        self._seen = -1
        """The step of the last snapshot"""

    def to_the_end(self) -> None:
        """Train.

        Raises:
            DivergedError: the loss is not finite.
            DroppedError: the server has dropped the training.
        """
        total = self.plan.training.steps
        snapshots, evaluations = set(snapshot_steps(total)), set(evaluation_steps(total))
        self._begin()
        while self.trainer.step < total:
            self._look(snapshot=self.trainer.step in snapshots, evaluation=self.trainer.step in evaluations)
            self._wait()
            try:
                self._losses.append(self.trainer.advance())
            except DivergedError:
                self._look(snapshot=True)
                raise
            if time.monotonic() - self._told > PROGRESS:
                self._tell_progress()
        self._look(snapshot=True)
        self._tell_evaluation(whole=True)

    def _begin(self) -> None:
        """Start measuring the speed; in slow motion, the first step is delayed as well."""
        now = time.monotonic()
        self._at = deque([(now, self.trainer.step)])
        self._next = now + (1 / self._limit if self._limit else 0.0)

    def _wait(self) -> None:
        """Carry out waiting commands; block while paused, or until the next step is due in slow motion."""
        if self._steps_first:
            self._steps_first = False
            return
        if self._paused:
            self._tell_paused()
        while True:
            left = self._next - time.monotonic() if self._limit else 0.0
            try:
                command = self._commands.get(timeout=None if self._paused else max(0.0, left))
            except queue.Empty:
                break
            if self._obey(command):
                break
        self._next = time.monotonic() + (1 / self._limit if self._limit else 0.0)

    def _obey(self, command: Message) -> bool:
        """Carry out a command; return whether to make one step now and pause again."""
        was_paused = self._paused
        if command.kind == "drop":
            raise DroppedError
        if command.kind == "speed":
            self._limit = float(command.header["steps"])
            self._next = 0.0
        elif command.kind in ("pause", "step"):
            self._paused = True
            if command.kind == "step":
                return True
        elif command.kind == "continue":
            self._paused = False
        if self._paused and not was_paused:
            self._tell_paused()
        elif was_paused and not self._paused:
            self._tell("going")
            self._begin()
        return False

    def _look(self, *, snapshot: bool = False, evaluation: bool = False) -> None:
        """Send an evaluation or a snapshot if due; while paused or in slow motion, send a snapshot in any case.

        Up to `1 / PROGRESS` steps a second, slow motion shows every step, also one that was late.
        """
        is_due = self._limit * PROGRESS <= 1 or time.monotonic() - self._shown > PROGRESS
        slow = self._paused or (self._limit and is_due)
        if evaluation:
            self._tell_evaluation()
        if (snapshot or slow) and self._seen != self.trainer.step:
            self._tell_progress()
            self._seen, self._shown = self.trainer.step, time.monotonic()
            weights = to_bytes(self.trainer.model)
            if weights is not None:
                self._tell("snapshot", body=weights)

    def _tell(self, kind: str, body: bytes = b"", **more: Any) -> None:
        Message({"kind": kind, "job": self._job, "step": self.trainer.step, **more}, body).write(self._events)

    def _tell_progress(self) -> None:
        now, step = time.monotonic(), self.trainer.step
        self._at.append((now, step))
        while len(self._at) > 2 and now - self._at[0][0] > LATELY:
            self._at.popleft()
        then, first = self._at[0]
        speed = (step - first) / (now - then) if now > then else 0.0
        self._tell("progress", np.asarray(self._losses, "<f4").tobytes(), speed=speed)
        self._losses.clear()
        self._told = now

    def _tell_evaluation(self, *, whole: bool = False) -> None:
        self._tell_progress()
        self._tell("evaluation", **self._evaluator.evaluate(self.trainer.model, whole=whole))

    def _tell_paused(self) -> None:
        """Send the server everything it needs to continue later, even in another process."""
        self._look(snapshot=True)
        self._tell_evaluation()
        state = io.BytesIO()
        torch.save(self.trainer.state(), state)
        self._tell("paused", state.getvalue())

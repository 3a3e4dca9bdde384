"""What a training process does with its commands: train, evaluate, keep snapshots, pause and go on."""

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
from attnviz.training.labelled import LabelledVectors
from attnviz.training.loop import DivergedError, Trainer
from attnviz.training.plan import MEMORY_MB, Data, Plan, build, subject_of
from attnviz.training.settings import TAGGED, VECTORS, TrainingSettings
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks import TASKS

SNAPSHOT_EVERY, EVALUATE_EVERY = 5, 10
"""Steps between two of them in the beginning"""
SNAPSHOT_PART, EVALUATE_PART = 40, 20
"""Later, the steps between two are the step's own number over this, rounded down to a multiple of the first distance"""


def snapshot_steps(total: int) -> tuple[int, ...]:
    """Return the steps of a training after which its weights are kept: 0, every 5th up to 400, then sparser, the last.

    800 steps have some 110 snapshots, 5,000 steps some 190.
    """
    return _spread(total, SNAPSHOT_EVERY, SNAPSHOT_PART)


def evaluation_steps(total: int) -> tuple[int, ...]:
    """Return the steps after which it is evaluated: 0, every 10th up to 400, then sparser, and the last."""
    return _spread(total, EVALUATE_EVERY, EVALUATE_PART)


def _spread(total: int, every: int, part: int) -> tuple[int, ...]:
    found, step = [], 0
    while step < total:
        found.append(step)
        step += max(1, step // part // every) * every
    return (*found, total)


PROGRESS = 0.1
"""Seconds between two messages about progress, at least"""
LATELY = 2.0
"""Seconds over which the speed is measured"""

Commands = queue.SimpleQueue[Message]


class DroppedError(Exception):
    """The server wants no more of this training."""


def warm_up() -> None:
    """Make one step, so that what torch loads late is loaded before somebody waits."""
    torch.set_num_threads(1)
    task = next(iter(TASKS.values()))
    Trainer(build(task.model, 0), task.batch, TrainingSettings(batch=1)).advance()


def serve(commands: Commands, events: BinaryIO) -> None:
    """Serve one training after another, for ever.

    Raises:
        OSError: the server has gone.
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
    """Return the sentence for the user about an error."""
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "bad_alloc" in str(error):
        return (
            f"The training needs more than {MEMORY_MB} MB of memory: choose a smaller batch, block size or model."
        )  # fmt: skip
    said = " ".join(str(error).split())[:300]
    return said if isinstance(error, ValueError) and said.endswith(".") else f"The training failed: {said}."


def read_data(plan: Plan, data: bytes) -> Data:
    """Return what a training is given, from the bytes that came with its plan."""
    if plan.subject == TAGGED:
        return TaggedFiles.from_bytes(data)
    return LabelledVectors.from_bytes(data) if plan.subject == VECTORS else data.decode()


class Run:
    """One training from its start, or from where it was paused, to its end."""

    def __init__(self, start: Message, commands: Commands, events: BinaryIO) -> None:
        """Build the model, and go on from a state if the command has one.

        Raises:
            ValueError: the plan or its data are not valid.
        """
        header = start.header
        self.plan = Plan.from_json(header["plan"])
        self._job, self._commands, self._events = header["job"], commands, events
        self._limit = float(header.get("speed", 0))
        """Steps a second; 0 is as fast as possible"""
        self._paused = self._steps_first = bool(header.get("paused"))
        """Whether it makes one step before it says that it is paused: who asked for the step waits for it"""
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
            DroppedError: the server asked for it.
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
        """Measure the speed from now on; in slow motion, the first step has to wait too."""
        now = time.monotonic()
        self._at = deque([(now, self.trainer.step)])
        self._next = now + (1 / self._limit if self._limit else 0.0)

    def _wait(self) -> None:
        """Obey the commands that have come, and wait while paused, or until the next step is due."""
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
        """Obey, and return whether to make one step at once and pause again."""
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
        """Tell what is due: in slow motion and while paused, every step is worth a snapshot."""
        slow = self._paused or (self._limit and time.monotonic() - self._shown > PROGRESS)
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
        (then, first), passed = self._at[0], now - self._at[0][0]
        speed = (step - first) / passed if passed > 0 and then < now else 0.0
        self._tell("progress", np.asarray(self._losses, "<f4").tobytes(), speed=speed)
        self._losses.clear()
        self._told = now

    def _tell_evaluation(self, *, whole: bool = False) -> None:
        self._tell_progress()
        self._tell("evaluation", **self._evaluator.evaluate(self.trainer.model, whole=whole))

    def _tell_paused(self) -> None:
        """Tell the server all that it needs to go on later, even without this process."""
        self._look(snapshot=True)
        self._tell_evaluation()
        state = io.BytesIO()
        torch.save(self.trainer.state(), state)
        self._tell("paused", state.getvalue())

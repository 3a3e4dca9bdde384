"""Recorded trainings that ship with the app, so that visitors need not wait. This module imports no torch.

`load("induction").view.snapshots` are the weights of the model after some of its steps. A recording is one safetensors
file, whose `__metadata__` holds, as JSON: `plan` (`attnviz.training.plan.Plan`) and `card`
(`attnviz.trained.card.Card`). The arrays are `losses` (one a step), `evaluated` (E,) with `held_out`, `accuracy` (E,)
and `scores.PATTERN.KIND.LAYER` (E, H), for some tasks `trained` (E,), and `snapshot_steps` (S,) with `snapshots`.
https://github.com/safetensors/safetensors#format

Snapshots are packed without loss. Weights change little from one snapshot to the next, so many bits of two successive
float16 numbers are equal. The file stores their exclusive or, with the low bytes of all numbers before the high bytes,
because the high byte is usually 0; zlib (RFC 1950) then makes the data a third smaller.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from attnviz.pretrained.names import ModelError, shown
from attnviz.reprs import ShortRepr
from attnviz.trace.model import Kind, Place
from attnviz.trained.card import Card, shortened
from attnviz.trained.shipped import FOLDER as WEIGHTS
from attnviz.training.jobs.view import Evaluation, Snapshot, View
from attnviz.training.plan import Plan
from attnviz.training.series import SERIES
from attnviz.training.text.corpus import built_in


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording(ShortRepr):
    """One training from its first step to its last."""

    plan: Plan
    card: Card
    """What it was trained on, how well it does, and the command that records it again"""
    view: View
    """Its losses, evaluations and snapshots, as in a finished training but with fewer snapshots"""

    @property
    def text(self) -> str | None:
        """The text that it was trained on; None for a task."""
        return None if self.card.corpus is None else built_in()

    @property
    def data(self) -> str | None:
        """Its training data besides the plan, as a job has them."""
        return self.text


MOST = 64 * 2**20
"""The most bytes of all snapshots together, unpacked"""


def pack(snapshots: Sequence[bytes]) -> NDArray[np.uint8]:
    """Return S snapshots of equal length, each float16 numbers in little-endian order, as one array of bytes."""
    codes = np.stack([np.frombuffer(snapshot, "<u2") for snapshot in snapshots])  # (S, P)
    codes[1:] ^= codes[:-1].copy()
    planes = codes.view(np.uint8).reshape(-1, 2).T  # (2, S · P)
    return np.frombuffer(zlib.compress(planes.tobytes(), 9), np.uint8)


def unpack(packed: NDArray[np.uint8], count: int) -> tuple[bytes, ...]:
    """Undo `pack`: return the `count` snapshots.

    Raises:
        ValueError: the bytes are damaged, more than `MOST`, or not `count` snapshots.
    """
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(packed.tobytes(), MOST)
    except zlib.error as error:
        raise ValueError("its snapshots are damaged") from error
    if not inflate.eof or not raw or count < 1 or len(raw) % (2 * count):
        raise ValueError(f"its snapshots are not {count} of the same model")
    planes = np.frombuffer(raw, np.uint8).reshape(2, -1)
    codes = np.ascontiguousarray(planes.T).view("<u2").reshape(count, -1)
    return tuple(weights.tobytes() for weights in np.bitwise_xor.accumulate(codes, axis=0))


FORMAT = "1"
LARGEST = 4 * 2**20
"""The largest file, in bytes"""
_SCORES = re.compile(r"scores\.([a-z_]{1,30})\.(encoder|decoder|cross)\.(\d{1,2})", re.ASCII)

Arrays = Mapping[str, NDArray[Any]]


def write(recording: Recording) -> bytes:
    """Return a file with the whole recording."""
    view = recording.view
    evaluations, snapshots = view.evaluations, view.snapshots
    arrays: dict[str, NDArray[Any]] = {
        "losses": np.asarray(view.losses, np.float32),
        "evaluated": np.array([evaluation.step for evaluation in evaluations], np.int32),
        "held_out": np.array([evaluation.loss for evaluation in evaluations], np.float64),
        "accuracy": np.array([evaluation.accuracy for evaluation in evaluations], np.float64),
        "snapshot_steps": np.array([snapshot.step for snapshot in snapshots], np.int32),
        "snapshots": pack([snapshot.weights for snapshot in snapshots]),
    }
    if evaluations[-1].trained is not None:
        arrays["trained"] = np.array([evaluation.trained for evaluation in evaluations])
    for name, places in evaluations[-1].scores.items():
        for place in places:
            of_heads = [evaluation.scores[name][place] for evaluation in evaluations]
            arrays[f"scores.{name}.{place.kind}.{place.layer}"] = np.array(of_heads, np.float32)
    metadata = {"plan": json.dumps(recording.plan.to_json()), "card": json.dumps(recording.card.to_json())}
    data: bytes = save(arrays, {"attnviz.recorded": FORMAT, **metadata})
    return data


def is_recording(file: Path) -> bool:
    """Whether a file says that it is a recorded training; False if it is not a safetensors file.

    Raises:
        OSError: it can't be read.
    """
    try:
        with safe_open(file, framework="numpy") as opened:
            return "attnviz.recorded" in (opened.metadata() or {})
    except SafetensorError:
        return False


def read(file: Path) -> Recording:
    """Read a file.

    Raises:
        ModelError: it is missing, too large, damaged or of another kind. The message is one sentence.
    """
    try:
        if file.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST // 2**20} MB")
        with safe_open(file, framework="numpy") as opened:
            metadata, arrays = opened.metadata() or {}, {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        if metadata.get("attnviz.recorded") != FORMAT:
            raise ValueError("it is a file of another kind")
        plan, card = Plan.from_json(json.loads(metadata["plan"])), Card.from_json(json.loads(metadata["card"]))
        return Recording(plan, card, _view(plan, arrays))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ModelError(f"The recorded training {file.name} can't be read: {shortened(error)}.") from error


def _view(plan: Plan, arrays: Arrays) -> View:
    steps = plan.training.steps
    losses = _array(arrays, "losses", np.float32, (steps,))
    return View(
        "done", steps, step=steps, losses=losses, learning_rate=plan.training.rate_at(steps - 1),
        evaluations=_evaluations(arrays, steps), snapshots=_snapshots(arrays, steps),
    )  # fmt: skip


def _evaluations(arrays: Arrays, steps: int) -> tuple[Evaluation, ...]:
    evaluated = _steps(arrays, "evaluated", steps)
    count = len(evaluated)
    loss, accuracy = (_array(arrays, name, np.float64, (count,)).tolist() for name in ("held_out", "accuracy"))
    trained = _array(arrays, "trained", np.float64, (count,)).tolist() if "trained" in arrays else [None] * count
    scores: list[dict[str, dict[Place, tuple[float, ...]]]] = [{} for _ in evaluated]
    for name in arrays:
        if not name.startswith("scores."):
            continue
        match = _SCORES.fullmatch(name)
        if match is None:
            raise ValueError(f"{name[:60]} is not the name of a pattern's scores")
        kinds: dict[str, Kind] = {"encoder": "encoder", "decoder": "decoder", "cross": "cross"}
        place = Place(kinds[match[2]], int(match[3]))
        for by_pattern, heads in zip(scores, _array(arrays, name, np.float32, (count, None)).tolist(), strict=True):
            by_pattern.setdefault(match[1], {})[place] = tuple(heads)
    return tuple(map(Evaluation, evaluated, loss, accuracy, scores, trained))


def _snapshots(arrays: Arrays, steps: int) -> tuple[Snapshot, ...]:
    kept = _steps(arrays, "snapshot_steps", steps)
    weights = unpack(_array(arrays, "snapshots", np.uint8, (None,)), len(kept))
    if not all(np.isfinite(np.frombuffer(numbers, "<f2")).all() for numbers in weights):
        raise ValueError("a weight is not finite")
    return tuple(map(Snapshot, kept, weights))


def _steps(arrays: Arrays, name: str, most: int) -> list[int]:
    numbers: list[int] = _array(arrays, name, np.int32, (None,)).tolist()
    if not numbers or numbers[0] < 0 or numbers[-1] > most or sorted(set(numbers)) != numbers:
        raise ValueError(f"{name} are not ascending steps of a training of {most}")
    return numbers


def _array(arrays: Arrays, name: str, kind: type[np.generic], shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return a read-only array of finite numbers with this type and shape; None in `shape` is any length."""
    array = arrays.get(name)
    fits = (
        array is not None
        and array.dtype == kind
        and array.ndim == len(shape)
        and all(expected in (None, actual) for expected, actual in zip(shape, array.shape, strict=True))
    )
    if array is None or not fits or not np.isfinite(array).all():
        raise ValueError(f"{name} is missing, not finite or of another shape")
    array = array.copy()
    array.setflags(write=False)
    return array


CONTROL, STAGE = "-control", "ladder-"
"""The end of the names of controls, and the beginning of the names of stages of the model series"""
SNAPSHOTS: Mapping[str, int] = MappingProxyType({
    "induction": 40, "induction-control": 12, "reverse": 24, "sort": 14, "numbers": 12, "tagging": 18, "modular": 8,
    "ladder-bigram": 8, "ladder-head": 6, "ladder-heads": 6, "ladder-feed_forward": 5, "ladder-residual": 3,
    "ladder-norm": 3, "ladder-gpt": 2, "ladder-gru": 3,
})  # fmt: skip
"""The most snapshots of each recording: all recordings together must stay small"""
NAMES = tuple(SNAPSHOTS)
"""All recordings that ship"""


def plan_of(name: str) -> tuple[Plan, str | None]:
    """Return the plan of a recording, as the page Train has it by default, and its text if it is trained on one.

    Raises:
        ValueError: there is no recording of this name.
    """
    if name not in NAMES:
        raise ValueError(f"there is no recording {name!r}: {', '.join(NAMES)}")
    if name.startswith(STAGE):
        text = built_in()
        stage = next(candidate for candidate in SERIES if f"{STAGE}{candidate.name}" == name)
        return stage.plan(len(set(text))), text
    from attnviz.training.tasks import TASKS

    task = TASKS[name.removesuffix(CONTROL)]
    return Plan(task.name, task.control_model if name.endswith(CONTROL) else task.model, task.training), None


FOLDER = WEIGHTS / "recorded"


@cache
def names() -> tuple[str, ...]:
    """Return the names of the recordings that ship."""
    return tuple(name for name in NAMES if (FOLDER / f"{name}.safetensors").is_file())


def load(name: str) -> Recording:
    """Return a recording by name.

    Raises:
        ModelError: there is none, or its file is damaged.
    """
    if name not in names():
        raise ModelError(f"There is no recorded training “{shown(name)}”: there are {', '.join(names())}.")
    return _load(name)


@lru_cache(len(NAMES))
def _load(name: str) -> Recording:
    return read(FOLDER / f"{name}.safetensors")


def of_task(task: str) -> tuple[Recording, ...]:
    """Return the recordings of a task that ship: of its own model, then of the control, which can't learn it."""
    return tuple(load(name) for name in (task, f"{task}{CONTROL}") if name in names())


def of_stage(stage: str) -> Recording | None:
    """Return the recorded training of a stage of the model series on the built-in corpus; None if none ships."""
    name = f"{STAGE}{stage}"
    return load(name) if name in names() else None

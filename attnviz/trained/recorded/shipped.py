"""The recordings that ship with the app, read when they are first shown."""

from __future__ import annotations

from functools import cache, lru_cache

from attnviz.pretrained.names import ModelError, shown
from attnviz.trained.recorded.file import read
from attnviz.trained.recorded.recipes import CONTROL, NAMES, STAGE
from attnviz.trained.recorded.recording import Recording
from attnviz.trained.shipped import FOLDER as WEIGHTS

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

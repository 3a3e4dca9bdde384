"""Waiting for trainings, and what the browser requests of one: the files that the page Train offers."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from safetensors.numpy import load
from streamlit.testing.v1 import AppTest

from attnviz.runtime.arrays import array_store
from attnviz.ui.training_jobs import training_jobs
from tests.waiting import until

PATIENCE = 240
"""Seconds; on a busy machine the process of a training takes a minute to start"""
_seen: dict[int, int] = {}
"""The version of each job when `wait_for_news` returned last"""


def wait_for_news() -> None:
    """Wait until a training says more than when this returned last, or for a second: to ask takes less than a page.

    A training says something at each step: to run the page for each takes longer than the training.
    """
    ends = time.monotonic() + 1
    time.sleep(0.3)
    while (now := _versions()) == _seen and time.monotonic() < ends:
        time.sleep(0.02)
    _seen.clear()
    _seen.update(now)


def run_until(at: AppTest, true: Callable[[], bool], why: Callable[[], object] = lambda: "it never came true") -> None:
    """Run the page as the browser does while a training goes on, until it is as wanted; `why` says why it is not."""

    def run() -> None:
        wait_for_news()
        at.run()
        assert not at.exception

    until(true, PATIENCE, meanwhile=run, why=why)


def _versions() -> dict[int, int]:
    jobs = training_jobs()
    return {job.number: job.version for visitor in list(jobs._visitors) for job in jobs.jobs(visitor)}


def moment(digest: str, step: int) -> dict[str, np.ndarray]:
    """Return what the model does at one snapshot, as the browser requests it."""
    found: dict[str, np.ndarray] = load(array_store().request(f"{digest}~s.{step}").result(60).decompressed())
    return found


def generated(digest: str, part: str = "") -> dict[str, np.ndarray]:
    """Return a generated text with the numbers of its draws, or a part of it."""
    found: dict[str, np.ndarray] = load(array_store().request(digest + part).result(60).decompressed())
    return found


def accuracies(digest: str, step: int) -> np.ndarray:
    """Return the accuracy without each head, and last of the whole model."""
    found: np.ndarray = load(array_store().request(f"{digest}~a.{step}").result(60).decompressed())["accuracy"]
    return found

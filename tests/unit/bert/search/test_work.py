"""Texts are embedded in slices, once for all who look at them, and not for those who have left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from attnviz.bert.search import Index, Plane, Sentences, WordIndex, split
from attnviz.runtime.pool import Task, WorkerPool
from attnviz.ui.bert.search import embedder as embedding
from attnviz.ui.bert.search.embedder import Embedder, Job

MODEL: Any = object()
SECONDS = 20


def index_of(text: Sentences) -> Index:
    embeddings = torch.eye(len(text), 4)
    return Index(text, embeddings, WordIndex(text.sentences), Plane.of(embeddings), 0)


class Steps:
    """Stands in for `build`: each slice waits for a step that the test allows."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.allowed = threading.Semaphore(0)
        self.begun: list[str] = []
        self.done: list[str] = []
        self.fails = False
        patch.setattr(embedding, "build", self.build)
        patch.setattr(embedding, "SLICE", 0)

    def build(self, _: object, text: Sentences) -> Iterator[int | Index]:
        self.begun.append(text.sentences[0])
        for number in range(len(text)):
            assert self.allowed.acquire(timeout=SECONDS)
            if self.fails:
                raise MemoryError("too little of it")
            self.done.append(text.sentences[0])
            yield number + 1
        yield index_of(text)

    def allow(self, count: int = 1) -> None:
        for _ in range(count):
            self.allowed.release()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(monkeypatch)


@pytest.fixture
def embedder() -> Embedder:
    return Embedder(WorkerPool(1), lease=SECONDS)


def until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.005)


def job_of(found: Index | Job) -> Job:
    assert isinstance(found, Job)
    return found


def test_a_text_is_embedded_once_for_all_who_ask(steps: Steps, embedder: Embedder) -> None:
    text = split("One.\nTwo.\nThree.")
    job = job_of(embedder.request("a", text, MODEL))
    assert embedder.request("b", text, MODEL) is job
    assert embedder.is_working("a", text) and embedder.is_working("b", text) and not embedder.is_working("c", text)
    steps.allow(2)
    until(lambda: job.done == 2)
    assert embedder.peek(text) is None
    steps.allow()
    index = embedder.request("a", text, MODEL, patience=SECONDS)
    assert isinstance(index, Index) and index.text is text
    assert embedder.request("c", text, MODEL) is index is embedder.peek(text)
    assert not embedder.is_working("a", text) and steps.begun == ["One."]


def test_what_nobody_wants_any_more_ends(steps: Steps, embedder: Embedder) -> None:
    first, second = split("One.\nTwo.\nThree."), split("Other.")
    job = job_of(embedder.request("a", first, MODEL))
    until(lambda: steps.begun == ["One."])
    embedder.request("a", second, MODEL)  # instead of the first
    assert not embedder.is_working("a", first)
    steps.allow()
    assert job.finished.wait(SECONDS) and job.error is None
    assert embedder.peek(first) is None and steps.done == ["One."]
    steps.allow()
    assert isinstance(embedder.request("a", second, MODEL, patience=SECONDS), Index)


def test_what_another_visitor_wants_goes_on(steps: Steps, embedder: Embedder) -> None:
    first, second = split("One.\nTwo."), split("Other.")
    embedder.request("a", first, MODEL)
    embedder.request("b", first, MODEL)
    embedder.request("a", second, MODEL)
    steps.allow(3)
    assert isinstance(embedder.request("b", first, MODEL, patience=SECONDS), Index)


def test_who_asks_no_more_has_left(steps: Steps) -> None:
    embedder, text = Embedder(WorkerPool(1), lease=0.05), split("One.\nTwo.\nThree.")
    job = job_of(embedder.request("a", text, MODEL))
    until(lambda: bool(steps.begun))
    time.sleep(0.1)
    steps.allow()
    assert job.finished.wait(SECONDS) and steps.done == ["One."]
    again = job_of(embedder.request("a", text, MODEL))  # who comes back begins anew
    assert again is not job
    steps.allow(3)
    assert again.finished.wait(SECONDS)


def test_other_work_is_done_between_two_slices(steps: Steps) -> None:
    pool, text = WorkerPool(1), split("One.\nTwo.\nThree.")
    embedder = Embedder(pool, lease=SECONDS)
    job = job_of(embedder.request("a", text, MODEL))
    until(lambda: bool(steps.begun))
    task: Task[int] = Task()
    pool.submit(task, lambda: len(steps.done))
    steps.allow()
    assert task.result.result(SECONDS) == 1  # after the slice that ran, before the next ones
    steps.allow(2)
    assert job.finished.wait(SECONDS) and embedder.peek(text) is not None


def test_who_waits_is_told_what_went_wrong_and_may_try_again(steps: Steps, embedder: Embedder) -> None:
    text = split("One.")
    steps.fails = True
    job = job_of(embedder.request("a", text, MODEL))
    steps.allow()
    assert job.finished.wait(SECONDS) and embedder.is_working("a", text)
    with pytest.raises(MemoryError):
        embedder.request("a", text, MODEL)
    assert not embedder.is_working("a", text)
    steps.fails = False
    steps.allow()
    assert isinstance(embedder.request("a", text, MODEL, patience=SECONDS), Index)


def test_indexes_are_kept_within_bounds(steps: Steps) -> None:
    texts = [split(f"Number {n}.") for n in range(5)]
    embedder = Embedder(WorkerPool(1), capacity=int(2.5 * index_of(texts[0]).nbytes))
    steps.allow(5)
    for text in texts:
        assert isinstance(embedder.request("a", text, MODEL, patience=SECONDS), Index)
    assert [embedder.peek(text) is not None for text in texts] == [False, False, False, True, True]


def test_two_texts_take_turns_and_leave_a_thread_to_others(steps: Steps) -> None:
    pool = WorkerPool(2)
    embedder = Embedder(pool, lease=SECONDS)
    first, second = split("One.\nTwo.\nThree."), split("Other.\nAnother.\nLast.")
    jobs = [job_of(embedder.request(visitor, text, MODEL)) for visitor, text in (("a", first), ("b", second))]
    until(lambda: embedder._turn.waiting() == 1)
    task: Task[int] = Task()
    pool.submit(task, lambda: 7)
    assert task.result.result(SECONDS) == 7  # though both texts wait for their next sentence
    steps.allow(6)
    assert all(job.finished.wait(SECONDS) for job in jobs)
    assert sorted(steps.done) == ["One."] * 3 + ["Other."] * 3 and steps.done[:3] != ["One."] * 3

"""What sessions share: loaded once, freed when it makes room, loaded anew when it changed; failures are not retried."""

from __future__ import annotations

import gc
import shutil
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from cachetools import TTLCache

from attnviz import pretrained
from attnviz.measures.mistakes.computed import NotKnownError
from attnviz.pretrained import ModelError, PretrainedModel, load
from attnviz.runtime.cache import cache_usage
from attnviz.settings import PUBLIC
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import Toy
from attnviz.toy.config import ToyConfig
from attnviz.trace.trace import Trace
from attnviz.ui import caches
from tests.unit.families import save


class Loads:
    """Stands in for `pretrained.load`: counts, and can wait or fail."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.waiting = threading.Event()
        self.wait_for: dict[str, threading.Event] = {}
        self.failing: dict[str, str] = {}

    def __call__(self, name: str) -> PretrainedModel:
        self.names.append(name)
        if name in self.wait_for:
            self.waiting.set()
            assert self.wait_for[name].wait(60)
        if name in self.failing:
            raise ModelError(self.failing[name])
        return load(name)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    counting = Loads()
    monkeypatch.setattr(pretrained, "load", counting)
    caches.clear()
    yield counting
    caches.clear()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return three folders, each with its own copy of one small model."""
    first = save("bert", tmp_path_factory.mktemp("models") / "0")
    return [str(first), *(str(shutil.copytree(first, first.with_name(str(i)))) for i in (1, 2))]


def test_a_name_is_the_same_with_spaces_around_it(loads: Loads, folders: list[str]) -> None:
    assert caches.model(f"  {folders[0]}\n") is caches.model(folders[0])
    assert loads.names == folders[:1]


def test_a_server_loads_no_model_that_it_does_not_offer(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = replace(PUBLIC, models=("minilm", "gpt2", "bert-base-uncased"))
    monkeypatch.setattr(caches, "settings", lambda: offers)
    with pytest.raises(ModelError) as raised:
        caches.model(" some/model ")
    assert str(raised.value) == (
        "“some/model” is not offered on this server, which has MiniLM (a small BERT), gpt2 and bert-base-uncased."
    )
    assert loads.names == []


def test_sessions_that_open_a_model_at_once_load_it_once(loads: Loads, folders: list[str]) -> None:
    with ThreadPoolExecutor(8) as threads:
        models = list(threads.map(caches.model, folders[:1] * 8))
    assert len({id(model) for model in models}) == 1
    assert loads.names == folders[:1]


def test_loading_a_model_does_not_block_another(loads: Loads, folders: list[str]) -> None:
    loaded = caches.model(folders[0])
    loads.wait_for[folders[1]] = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(caches.model, folders[1])
        assert loads.waiting.wait(60)
        assert caches.model(folders[0]) is loaded
        assert caches.trace(loaded, "hello", None).tokens.pieces[1] == "hello"
        assert not second.done()
        loads.wait_for[folders[1]].set()
        assert second.result() is not loaded


def test_an_evicted_model_is_freed_with_its_traces(loads: Loads, folders: list[str]) -> None:
    trace = weakref.ref(caches.trace(caches.model(folders[0]), "hello", None).last_hidden_state)
    model = weakref.ref(caches.model(folders[0]))
    modules = weakref.ref(caches.model(folders[0])._model)
    caches.model(folders[1])
    assert None not in (model(), modules(), trace())
    gc.disable()  # nothing may have to wait for the collector, from which loaded models are hidden
    try:
        caches.model(folders[2])
        assert (model(), modules(), trace()) == (None, None, None)
    finally:
        gc.enable()


def test_a_model_loaded_anew_shows_no_old_trace(loads: Loads, folders: list[str], tmp_path: Path) -> None:
    """The folder has changed since: same name, same text, other numbers."""
    folder = shutil.copytree(folders[0], tmp_path / "model")
    held = caches.model(str(folder))  # some session is still at work with it
    before = caches.trace(held, "hello", None)
    save("bert", folder, seed=1)
    caches.model(folders[1])
    caches.model(folders[2])
    after = caches.trace(caches.model(str(folder)), "hello", None)
    assert not torch.equal(after.last_hidden_state, before.last_hidden_state)
    assert caches.trace(held, "hello", None) is before


def test_a_trace_is_shared_by_sessions_and_bounded(
    loads: Loads, folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = caches.model(folders[0])
    first = caches.trace(model, "hello", None)
    assert caches.trace(model, "hello", None) is first
    assert caches.trace(model, "hello", "there") is not first
    monkeypatch.setattr("attnviz.pretrained.model.TRACE_BYTES", 3 * first.nbytes)
    other = caches.model(folders[1])
    count, size = cache_usage()["traces"]
    for text in ("one", "two", "three", "four", "five"):
        caches.trace(other, text, None)
        assert cache_usage()["traces"][1] - size <= 3 * first.nbytes
    assert cache_usage()["traces"][0] - count == 3
    long = caches.trace(other, "word " * 60, None)  # larger than the whole cache
    assert long.nbytes > 3 * first.nbytes
    assert cache_usage()["traces"][0] - count == 3


def test_all_toys_share_one_cache_of_bounded_size() -> None:
    def toy(seed: int) -> Toy:
        return Toy(ToyConfig(seed=seed), WordTokenizer().tokenize)

    first = caches.trace(toy(1), "one text", None)
    count, _ = cache_usage()["toy"]
    assert caches.trace(toy(1), "one text", None) is first
    assert caches.trace(toy(2), "one text", None) is not first
    assert cache_usage()["toy"][0] == count + 1
    assert toy(1).trace_budget.nbytes == 16 * 2**20


def test_a_mistake_is_drawn_once_for_a_trace_and_its_settings() -> None:
    def traced(text: str) -> Trace:
        return caches.trace(Toy(ToyConfig(), WordTokenizer().tokenize), text, None)

    drawn: list[str] = []

    def draw(text: str) -> str:
        drawn.append(text)
        return text

    count, _ = cache_usage().get("mistakes", (0, 0))
    asked = [("a b", "mask"), ("a b", "mask"), ("a b", "sum"), ("a c", "mask"), ("a b", "mask")]
    got = [caches.mistake(traced(text), way, partial(draw, f"{text} {way}")) for text, way in asked]
    assert got == [f"{text} {way}" for text, way in asked]
    assert drawn == ["a b mask", "a b sum", "a c mask"]
    large = "x" * (caches.MISTAKE_BYTES // 2)
    for number in range(4):
        assert caches.mistake(traced("a b"), number, lambda: large) is large
    assert cache_usage()["mistakes"][1] <= caches.MISTAKE_BYTES
    assert cache_usage()["mistakes"][0] - count <= 4


def test_a_mistake_that_cannot_be_drawn_says_so_each_time() -> None:
    trace = caches.trace(Toy(ToyConfig(), WordTokenizer().tokenize), "a b", None)

    def fail() -> str:
        raise NotKnownError("no")

    for _ in range(2):
        with pytest.raises(NotKnownError, match="no"):
            caches.mistake(trace, "fail", fail)


@pytest.mark.usefixtures("unfreezing")
def test_garbage_that_was_frozen_with_a_model_is_freed_at_the_next_load(loads: Loads, folders: list[str]) -> None:
    class Ring:
        """A cycle, which only the collector frees."""

        def __init__(self) -> None:
            self.own = self

    ring = Ring()
    gone = weakref.ref(ring)
    caches.model(folders[0])
    del ring
    gc.collect()
    assert gone() is not None
    caches.model(folders[1])
    assert gone() is None


def test_a_failure_is_cached_and_its_message_repeated(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(caches, "failures", TTLCache(64, caches.FAILURE_SECONDS, timer=lambda: now[0]))
    loads.failing["some/model"] = "some/model is not on this machine."

    def say() -> str:
        with pytest.raises(ModelError) as error:
            caches.model("some/model ")
        return str(error.value)

    assert [say() for _ in range(3)] == [loads.failing["some/model"]] * 3
    assert loads.names == ["some/model"]
    now[0] = caches.FAILURE_SECONDS + 1
    say()
    assert loads.names == ["some/model"] * 2


def test_sessions_that_wait_for_a_failed_load_do_not_repeat_it(loads: Loads) -> None:
    loads.failing["slow/model"] = "no"
    loads.wait_for["slow/model"] = threading.Event()

    def say(_: int) -> str:
        with pytest.raises(ModelError) as error:
            caches.model("slow/model")
        return str(error.value)

    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(say, i) for i in range(8)]
        assert loads.waiting.wait(60)
        loads.wait_for["slow/model"].set()
        assert [answer.result() for answer in answers] == ["no"] * 8
    assert loads.names == ["slow/model"]


def test_failures_are_bounded(loads: Loads) -> None:
    for i in range(200):
        loads.failing[f"model-{i}"] = "no"
        with pytest.raises(ModelError):
            caches.model(f"model-{i}")
    del loads.names[:]
    for name in ("model-199", "model-0"):
        with pytest.raises(ModelError):
            caches.model(name)
    assert loads.names == ["model-0"], "the oldest failure was dropped, so the load is tried again"

"""Caches of models, traces and page results, shared by all sessions. Values are immutable, sizes are bounded.

A run waits for long work with a progress bar, or the next run looks at it again.
"""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

import streamlit as st
from cachetools import LRUCache, TTLCache, cached
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz import trained
from attnviz.formatting import joined
from attnviz.reprs import ArraysSize
from attnviz.runtime.cache import SingleFlightCache, Sized
from attnviz.runtime.long_work import Job, LongWorkError, Work, long_work
from attnviz.runtime.pool import limit_threads, worker_pool
from attnviz.settings import settings
from attnviz.trained.shipped import title
from attnviz.ui.messages import progress, queue_note

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from attnviz.measures.residual_stream import Lens, LensByPosition
    from attnviz.measures.striking import Ranking
    from attnviz.measures.survey import Survey
    from attnviz.pretrained import Kind, PretrainedModel, Trace
    from attnviz.trace.model import Model, TraceBudget

V = TypeVar("V", bound=Sized)
L = TypeVar("L", bound="Lens | LensByPosition | None")

MODELS = 2
"""The most models in memory; the least recently used one is evicted."""
FAILURE_SECONDS = 30
"""How long a failed model load is cached: without a network, each attempt takes seconds."""
SURVEY_BYTES = 32 * 2**20
"""Thumbnails, measures and norms of some 40 texts with full-size thumbnails."""
RANKING_BYTES = 2 * 2**20
"""The heads that stand out on some hundred texts."""
ROLLOUT_BYTES = 32 * 2**20
"""Two rollouts of 512 tokens and twelve layers, or five of the built-in model's six layers."""
LENS_BYTES = 2**20
"""Some hundred tables of all rows of a text through the lens."""
MISTAKE_BYTES = 16 * 2**20
"""Some 250 mistakes on a sentence, or ten on 512 tokens."""


failures: TTLCache[str, str] = TTLCache(64, FAILURE_SECONDS)
"""The messages of failed loads, by model name"""
_failures_lock = threading.Lock()
_loaded: WeakValueDictionary[str, PretrainedModel] = WeakValueDictionary()


def named(name: str) -> Model:
    """Return a shared model, either trained with attnviz or pretrained; raises as `model` does."""
    if not trained.is_name(name):
        return model(name)
    limit_threads()
    return trained.load(name)


def model(name: str) -> PretrainedModel:
    """Return a pretrained model that all sessions share; load it if necessary.

    Keep the reference only for one run of the page: in a page's global variables it would prevent eviction.

    Raises:
        attnviz.pretrained.ModelError: loading failed, now or some seconds ago, or the settings do not allow the model.
            The message is for the user.
    """
    if not settings().allows(name):
        from attnviz.pretrained import ModelError
        from attnviz.pretrained.names import shown

        raise ModelError(f"“{shown(name.strip())}” is not offered on this server, which has {offered()}.")
    loaded: PretrainedModel = _model(name.strip())
    _loaded[name.strip()] = loaded
    return loaded


def clear() -> None:
    """Drop all models with their traces, and all failures."""
    _model.cache_clear()
    with _failures_lock:
        failures.clear()


def is_loaded(name: str) -> bool:
    """Whether the model is in memory, so that `model` returns immediately."""
    return name.strip() in _loaded or trained.is_name(name)


def failure(name: str) -> str:
    """Return why the model could not be loaded some seconds ago; empty if there was no failed attempt."""
    with _failures_lock:
        return failures.get(name.strip(), "")


def offered() -> str:
    """Return the names of the offered models, joined for a sentence."""
    return joined(map(title, settings().models))


@cached(LRUCache(MODELS), condition=threading.Condition())
def _model(name: str) -> PretrainedModel:
    """Load a model. `cached` admits one thread per name, so threads that waited find a failure in the cache."""
    from attnviz import pretrained

    with _failures_lock:
        failure = failures.get(name)
    if failure is not None:
        raise pretrained.ModelError(failure)
    limit_threads()
    try:
        loaded = pretrained.load(name)
    except pretrained.ModelError as error:
        with _failures_lock:
            failures[name] = str(error)
        raise
    gc.unfreeze()  # objects frozen with an evicted model may be garbage now
    gc.collect()
    gc.freeze()  # exclude the model from later collections
    return loaded


_traces: WeakKeyDictionary[TraceBudget, SingleFlightCache[Trace]] = WeakKeyDictionary()
"""The trace cache of each budget, freed together with the budget."""
_traces_lock = threading.Lock()


def trace(of: Model, text: str, pair: str | None) -> Trace:
    """Trace a text once for all sessions that show it.

    Raises:
        attnviz.tokens.NoTokensError: the model's tokenizer finds no token in the text.
    """
    limit_threads()
    key = of.name, of.trace_key(text, pair)
    budget = of.trace_budget
    with _traces_lock:
        cache = _traces.get(budget)
        if cache is None:
            cache = _traces[budget] = SingleFlightCache(budget.name, budget.nbytes, worker_pool())
    with queue_note() as on_wait:
        return cache.get(key, partial(of.trace, text, pair), on_wait)


def survey(trace: Trace, kind: Kind, name: str) -> Survey:
    """Return the cached survey of all heads, or compute it; `name` is `survey_name(trace, kind)`."""
    from attnviz.measures import survey as heads

    return result("surveys", SURVEY_BYTES, name, partial(heads.survey, trace, kind, name))


def most_striking(trace: Trace, kind: Kind) -> Ranking:
    """Return the cached ranking of the heads that stand out, or compute it."""
    from attnviz.measures import striking
    from attnviz.measures.survey import survey_name

    name = survey_name(trace, kind)
    return result("rankings", RANKING_BYTES, name, partial(striking.most_striking, trace, kind))


def rolled_out(trace: Trace, kind: Kind, name: str) -> NDArray[np.float32]:
    """Return the cached rollout, (L, T, T), or compute it; `name` as for `survey`."""
    from attnviz.measures import survey as heads

    return result("rollouts", ROLLOUT_BYTES, name, partial(heads.rolled_out, trace, kind))


@dataclass(frozen=True, slots=True)
class _Html:
    text: str

    @property
    def nbytes(self) -> int:
        return sys.getsizeof(self.text)


@dataclass(frozen=True, slots=True)
class _Lens(ArraysSize):
    of: Lens | LensByPosition | None


def lens(trace: Trace, row: int) -> Lens | None:
    """Return the cached logit lens of a row, or compute it; raises as `logit_lens` does."""
    from attnviz.measures.residual_stream import logit_lens

    return _lens(trace, row, lambda: logit_lens(trace, row))


def lens_by_position(trace: Trace, rows: range) -> LensByPosition | None:
    """Return the cached logit lens of several rows, or compute it; raises as the function that computes it does."""
    from attnviz.measures import residual_stream

    return _lens(trace, rows, lambda: residual_stream.lens_by_position(trace, rows))


def _lens(trace: Trace, rows: Hashable, make: Callable[[], L]) -> L:
    from attnviz.measures.survey import survey_name

    key = survey_name(trace, trace.places[-1].kind), rows
    return cast("L", result("lenses", LENS_BYTES, key, lambda: _Lens(make())).of)


def mistake(trace: Trace, settings: Hashable, draw: Callable[[], str]) -> str:
    """Return the cached HTML of a mistake on a text, or draw it; it depends only on the trace and `settings`.

    Raises:
        Exception: any exception that `draw` raises.
    """
    from attnviz.measures.survey import survey_name

    key = survey_name(trace, trace.kinds[0]), settings
    return result("mistakes", MISTAKE_BYTES, key, lambda: _Html(draw())).text


def result(name: str, capacity: int, key: Hashable, make: Callable[[], V]) -> V:
    """Return a result for a part of a page from the cache of this name, or compute it in the worker pool.

    Args:
        name: the name of the cache; all calls with this name must give the same capacity.
        capacity: the capacity of the cache in bytes.
        key: the key of the result.
        make: computes the result, which must be immutable and know its size (`Sized`).
    """
    value: V = result_in(named_cache(name, capacity), key, make)
    return value


def result_in(cache: SingleFlightCache[V], key: Hashable, make: Callable[[], V]) -> V:
    """Return a result from a cache, or compute it in the worker pool; `make` is as in `result`."""
    limit_threads()
    with queue_note() as on_wait:
        return cache.get(key, make, on_wait)


@cache
def named_cache(name: str, capacity: int) -> SingleFlightCache[Any]:
    """Return the cache of this name; all calls with a name must give the same capacity."""
    return SingleFlightCache(name, capacity, worker_pool())


def wait_for(work: Work[V], total: int, what: str) -> V:
    """Return the result of long work, and show meanwhile how much of it is done.

    Another action of the visitor ends the run, and so the waiting; the work goes on when the next run waits for it.

    Args:
        work: computes the result.
        total: how much there is to do.
        what: what is done, as in "texts are read".

    Raises:
        LongWorkError: there was too little memory; the message is for the user.
    """
    limit_threads()
    with queue_note() as in_queue, progress(total, what) as show:

        def on_wait(job: Job[V]) -> None:
            ahead = long_work().ahead_of(job)
            if ahead:
                in_queue(ahead)
            else:
                show(job.done)

        return long_work().get(_session(), work, on_wait)


def request(work: Work[V], *, timeout: float) -> V | Job[V]:
    """Return the result of long work if it is done within `timeout` seconds, else its job.

    Raises:
        LongWorkError: there was too little memory; the message is for the user.
    """
    return long_work().request(_session(), work, timeout=timeout)


def is_waiting(cache: SingleFlightCache[Any], key: Hashable) -> bool:
    """Whether the session waits for this long work, which is in progress."""
    return long_work().is_waiting(_session(), cache, key)


@contextmanager
def failures_shown() -> Iterator[None]:
    """Show why long work failed in place of what needs it."""
    try:
        yield
    except LongWorkError as error:
        st.error(str(error))


def _session() -> str:
    """Return an id of this session, or of the thread if it runs no page."""
    run = get_script_run_ctx(suppress_warning=True)
    return run.session_id if run is not None else f"thread {threading.get_ident()}"

"""What sessions share: models, and traces of texts. All of it immutable, all of it bounded in bytes."""

from __future__ import annotations

import gc
import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from cachetools import LRUCache, TTLCache, cached

from attnviz.serving.work.cache import SingleFlightCache
from attnviz.serving.work.pool import limit_threads, worker_pool
from attnviz.serving.work.worker import pass_process
from attnviz.settings import settings
from attnviz.ui.waiting import queue_note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnviz.pretrained import Kind, PretrainedModel, Trace
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.model import Model
    from attnviz.ui.heads.survey import Survey

MODELS = 2
"""Models in memory at once; the one that was used least recently makes room."""
TRACE_BYTES = 160 * 2**20
"""For each model: two 512-token traces of a bert-base-sized one, or eight of the built-in one."""
FAILURE_SECONDS = 30
"""For this long a model that could not be loaded is not tried again: without a network, each try takes seconds."""
TOY_BYTES = 16 * 2**20
"""Some 600 of sixty tokens; one takes milliseconds to make again."""
SURVEY_BYTES = 32 * 2**20
"""Thumbnails, measures and norms of some 40 texts that are longer than a thumbnail is wide."""
ROLLOUT_BYTES = 32 * 2**20
"""Two of 512 tokens over twelve layers, or five over the built-in model's six."""


_failures: TTLCache[str, str] = TTLCache(64, FAILURE_SECONDS)
_failures_lock = threading.Lock()
_loaded: WeakValueDictionary[str, PretrainedModel] = WeakValueDictionary()


def model(name: str) -> PretrainedModel:
    """Load a model once for all sessions.

    Hold it no longer than a run of the page, not in a page's global variables: it can't be freed before.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded, or could not some seconds ago, or is not offered here; the
            message is for the user.
    """
    if not settings().allows(name):
        from attnviz.pretrained import ModelError
        from attnviz.pretrained.names import shown

        raise ModelError(f"“{shown(name.strip())}” is not offered on this server, which has {offered()}.")
    found: PretrainedModel = _model(name.strip())
    _loaded[name.strip()] = found
    return found


def is_loaded(name: str) -> bool:
    """Say whether `model` will return at once."""
    return name.strip() in _loaded


def offered() -> str:
    """Name the models that the settings offer, as a sentence may."""
    *others, last = settings().models
    return f"{', '.join(others)} and {last}" if others else last


@cached(LRUCache(MODELS), condition=threading.Condition())
def _model(name: str) -> PretrainedModel:
    """Load a model. One thread a name comes in here at a time, so whoever waited for a failure finds it noted."""
    from attnviz import pretrained

    with _failures_lock:
        why = _failures.get(name)
    if why is not None:
        raise pretrained.ModelError(why)
    limit_threads()
    try:
        loaded = pretrained.load(name)
    except pretrained.ModelError as error:
        with _failures_lock:
            _failures[name] = str(error)
        raise
    gc.unfreeze()  # what was frozen with the model before this one may be garbage by now
    gc.collect()
    gc.freeze()  # the model stays: later collections need not walk through it
    return loaded


_traces: WeakKeyDictionary[PretrainedModel, SingleFlightCache[Trace]] = WeakKeyDictionary()
"""Each model's traces. They show its weights, so they go when it goes, and one loaded anew starts with none."""
_traces_lock = threading.Lock()


def trace(of: Model, text: str, pair: str | None) -> Trace:
    """Trace a text once for all sessions that show it.

    Raises:
        attnviz.tokens.NoTokensError: the model's tokenizer makes nothing of the text.
    """
    from attnviz.pretrained import PretrainedModel

    key = of.name, of.trace_key(text, pair)
    with queue_note() as on_wait:
        if isinstance(of, PretrainedModel):
            return _traces_of(of).get(key, partial(of.trace, text, pair, pass_process().run), on_wait)
        limit_threads()
        results: SingleFlightCache[Trace] = _cache_of("toy", TOY_BYTES)
        return results.get(key, partial(of.trace, text, pair), on_wait)


def _traces_of(loaded: PretrainedModel) -> SingleFlightCache[Trace]:
    with _traces_lock:
        found = _traces.get(loaded)
        if found is None:
            found = _traces[loaded] = SingleFlightCache("traces", TRACE_BYTES, worker_pool())
        return found


_overviews: WeakKeyDictionary[LayerTrace, NDArray[np.uint8]] = WeakKeyDictionary()
"""All heads of a layer as small pictures; they go when the layer's trace goes. Two may work out one at a time."""


def overview(layer: LayerTrace) -> NDArray[np.uint8]:
    """Shrink the weights of all heads of a layer, (H, n, m), once for all sessions that show it."""
    from attnviz.figures.thumbnails import thumbnails

    pictures = _overviews.get(layer)
    if pictures is None:
        pictures = thumbnails(layer.attentions().numpy())
        pictures.setflags(write=False)
        _overviews[layer] = pictures
    return pictures


def survey(trace: Trace, kind: Kind, name: str) -> Survey:
    """Survey all heads once for all sessions that show this text; `name` is `heads_survey.survey_name(trace, kind)`."""
    from attnviz.ui.heads import survey as heads_survey

    results: SingleFlightCache[Survey] = _cache_of("surveys", SURVEY_BYTES)
    with queue_note() as on_wait:
        return results.get(name, partial(heads_survey.survey, trace, kind, name), on_wait)


def rolled_out(trace: Trace, kind: Kind, name: str) -> NDArray[np.float32]:
    """Roll attention out once for all sessions that ask for it, (L, T, T); the name is `survey`'s."""
    from attnviz.ui.heads import survey as heads_survey

    results: SingleFlightCache[NDArray[np.float32]] = _cache_of("rollouts", ROLLOUT_BYTES)
    with queue_note() as on_wait:
        return results.get(name, partial(heads_survey.rolled_out, trace, kind), on_wait)


@cache
def _cache_of(name: str, capacity: int) -> SingleFlightCache[Any]:
    return SingleFlightCache(name, capacity, worker_pool())

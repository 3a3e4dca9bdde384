"""What sessions share: models, and traces of texts. All of it immutable, all of it bounded in bytes."""

from __future__ import annotations

import gc
import threading
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import streamlit as st
from cachetools import LRUCache, TTLCache, cached

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnviz.pretrained import Kind, PretrainedModel, Trace
    from attnviz.toy.block import ToyConfig, ToyTrace
    from attnviz.ui.heads_survey import Survey

MODELS = 2
"""Models in memory at once; the one that was used least recently makes room."""
TRACE_BYTES = 200 * 2**20
"""For each model: three 512-token traces of a bert-base-sized one, or ten of the built-in one."""
FAILURE_SECONDS = 30
"""For this long a model that could not be loaded is not tried again: without a network, each try takes seconds."""
TOY_BYTES = 32 * 2**20
SURVEY_BYTES = 32 * 2**20
"""Thumbnails, measures and norms of some 40 texts that are longer than a thumbnail is wide."""
ROLLOUT_BYTES = 48 * 2**20
"""Four of 512 tokens over twelve layers."""


@cache
def limit_threads() -> None:
    """Give a forward pass one thread: with two, sessions that share the cores wait for each other's."""
    import torch

    torch.set_num_threads(1)


def _size(trace: Any) -> int:
    return int(trace.nbytes)


_failures: TTLCache[str, str] = TTLCache(64, FAILURE_SECONDS)
_failures_lock = threading.Lock()


def model(name: str) -> PretrainedModel:
    """Load a model once for all sessions.

    Hold it no longer than a run of the page, not in a page's global variables: it can't be freed before.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded, or could not some seconds ago; the message is for the user.
    """
    return _model(name.strip())


@st.cache_resource(max_entries=MODELS, show_spinner=False)
def _model(name: str) -> PretrainedModel:
    """Load a model. Streamlit lets one thread a name in here, so whoever waited for a failure finds it noted."""
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


_traces: WeakKeyDictionary[PretrainedModel, LRUCache[tuple[str, str | None], Trace]] = WeakKeyDictionary()
"""Each model's traces. They show its weights, so they go when it goes, and one loaded anew starts with none."""
_traces_lock = threading.Lock()


def trace(loaded: PretrainedModel, text: str, pair: str | None) -> Trace:
    """Trace a text once for all sessions that show it.

    Raises:
        attnviz.tokens.NoTokensError: the model's tokenizer makes nothing of the text.
    """
    with _traces_lock:
        of_model = _traces.setdefault(loaded, LRUCache(TRACE_BYTES, getsizeof=_size))
        found = of_model.get((text, pair))
    if found is None:
        found = loaded.trace(text, pair)
        with _traces_lock:
            if found.nbytes <= TRACE_BYTES:
                of_model[text, pair] = found
    return found


@cached(LRUCache(TOY_BYTES, getsizeof=_size), lock=threading.Lock())
def toy_trace(ids: tuple[int, ...], config: ToyConfig) -> ToyTrace:
    """Run the toy block once for all sessions that show it."""
    from attnviz.toy.block import run_block

    limit_threads()
    return run_block(ids, config)


@cached(LRUCache(SURVEY_BYTES, getsizeof=_size), key=lambda _trace, _kind, name: name, lock=threading.Lock())
def survey(trace: Trace, kind: Kind, name: str) -> Survey:
    """Survey all heads once for all sessions that show this text; `name` is `heads_survey.survey_name(trace, kind)`."""
    from attnviz.ui import heads_survey

    return heads_survey.survey(trace, kind, name)


@cached(LRUCache(ROLLOUT_BYTES, getsizeof=_size), key=lambda _trace, _kind, name: name, lock=threading.Lock())
def rolled_out(trace: Trace, kind: Kind, _name: str) -> NDArray[np.float32]:
    """Roll attention out once for all sessions that ask for it, (L, T, T); the name is `survey`'s."""
    from attnviz.ui import heads_survey

    return heads_survey.rolled_out(trace, kind)

"""What sessions share: models, and traces of texts. All of it immutable, all of it bounded in bytes."""

from __future__ import annotations

import gc
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st
from cachetools import LRUCache, cached

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel, Trace
    from attnviz.toy.block import ToyConfig, ToyTrace

TRACE_BYTES = 400 * 2**20
"""Five 512-token traces of a bert-base-sized model, or some twenty of the built-in one."""
TOY_BYTES = 32 * 2**20


@cache
def limit_threads() -> None:
    """Give a forward pass one thread: with two, sessions that share the cores wait for each other's."""
    import torch

    torch.set_num_threads(1)


def _size(trace: Any) -> int:
    return int(trace.nbytes)


@st.cache_resource(max_entries=2, show_spinner=False)
def model(name: str) -> PretrainedModel:
    """Load a model once for all sessions.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded; the message is for the user.
    """
    from attnviz import pretrained

    limit_threads()
    loaded = pretrained.load(name)
    gc.collect()
    gc.freeze()  # the model stays: later collections need not walk through it
    return loaded


@cached(
    LRUCache(TRACE_BYTES, getsizeof=_size),
    lock=threading.Lock(),
    key=lambda loaded, text, pair: (loaded.name, text, pair),
)
def trace(loaded: PretrainedModel, text: str, pair: str | None) -> Trace:
    """Trace a text once for all sessions that show it."""
    return loaded.trace(text, pair)


@cached(LRUCache(TOY_BYTES, getsizeof=_size), lock=threading.Lock())
def toy_trace(ids: tuple[int, ...], config: ToyConfig) -> ToyTrace:
    """Run the toy block once for all sessions that show it."""
    from attnviz.toy.block import run_block

    limit_threads()
    return run_block(ids, config)

"""The app on a slow machine, with three routes more.

It loads a model once one is requested; another occupies a thread of the worker pool, and the last frees it.
"""

from __future__ import annotations

from threading import Event

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from attnviz import pretrained
from attnviz.pretrained import PretrainedModel
from attnviz.runtime.pool import Task, worker_pool
from attnviz.serving.app import ROUTES, middleware, warm_up
from attnviz.ui import FRAME

allowed, freed = Event(), Event()
load = pretrained.load


def load_slowly(name: str) -> PretrainedModel:
    """Load a model once that is allowed."""
    allowed.wait()
    return load(name)


async def allow(_request: Request) -> PlainTextResponse:
    """End the wait for a model."""
    allowed.set()
    return PlainTextResponse("loading")


async def occupy(_request: Request) -> PlainTextResponse:
    """Have a thread of the pool wait until it is freed."""
    freed.clear()
    worker_pool().submit(Task(), freed.wait)
    return PlainTextResponse("occupied")


async def free(_request: Request) -> PlainTextResponse:
    """End the wait."""
    freed.set()
    return PlainTextResponse("free")


pretrained.load = load_slowly
OWN = [Route("/test/load", allow), Route("/test/occupy", occupy), Route("/test/free", free)]
app = st.App(FRAME, lifespan=warm_up, routes=[*OWN, *ROUTES], middleware=middleware())

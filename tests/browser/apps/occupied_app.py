"""The app, with two routes more: one occupies a thread of the worker pool, the other frees it."""

from threading import Event

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from attnviz.runtime.pool import Task, worker_pool
from attnviz.serving.app import ROUTES, middleware, warm_up
from attnviz.ui import FRAME

freed = Event()


async def occupy(_request: Request) -> PlainTextResponse:
    """Have a thread of the pool wait until it is freed."""
    freed.clear()
    worker_pool().submit(Task(), freed.wait)
    return PlainTextResponse("occupied")


async def free(_request: Request) -> PlainTextResponse:
    """End the wait."""
    freed.set()
    return PlainTextResponse("free")


app = st.App(
    FRAME,
    lifespan=warm_up,
    routes=[Route("/test/occupy", occupy), Route("/test/free", free), *ROUTES],
    middleware=middleware(),
)

"""The app on a machine that takes long to load a model: until a route more is requested."""

from __future__ import annotations

from threading import Event

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from attnviz import pretrained
from attnviz.pretrained import PretrainedModel
from attnviz.serving.app import ROUTES, middleware, warm_up
from attnviz.ui import FRAME

allowed = Event()
load = pretrained.load


def load_slowly(name: str) -> PretrainedModel:
    """Load a model once that is allowed."""
    allowed.wait()
    return load(name)


async def allow(_request: Request) -> PlainTextResponse:
    """End the wait."""
    allowed.set()
    return PlainTextResponse("loading")


pretrained.load = load_slowly
app = st.App(FRAME, lifespan=warm_up, routes=[Route("/test/load", allow), *ROUTES], middleware=middleware())

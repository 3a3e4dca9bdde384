"""Serves the arrays that a page has offered to the browser (`runtime/arrays.py`).

`/attnviz/arrays/<digest>` serves one; `/attnviz/queue/<digest>` says meanwhile how many computations are ahead of it.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from attnviz.runtime.arrays import NotOfferedError, UnmakeableError, array_store
from attnviz.runtime.pool import place_in_queue

PATH = "/attnviz/arrays/"
QUEUE_ROUTE = "/attnviz/queue/{digest:path}"
FOREVER = "private, max-age=31536000, immutable"
"""A digest identifies the same bytes for ever."""
UNKEPT = {"Cache-Control": "no-store"}


class Arrays:
    """ASGI middleware that serves arrays before Streamlit's own middleware, which they do not need.

    They are most of the requests, and they are already compressed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and PATH in scope["path"] and scope["method"] in ("GET", "HEAD"):
            address = scope["path"].partition(PATH)[2]
            response = await answer(address, Headers(scope=scope).get("accept-encoding", ""))
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, send)


async def answer(address: str, encodings: str) -> Response:
    """Return the array offered under a digest, or 404, or 422 with the reason why it can't be made.

    The worker pool makes it if it is not ready. `encodings` are the browser's accepted encodings.
    """
    try:
        future = asyncio.wrap_future(array_store().request(address))
        body = await asyncio.shield(future)  # other requests may wait for it too
    except NotOfferedError:
        return Response(status_code=404, headers=UNKEPT)
    except UnmakeableError as error:
        return PlainTextResponse(str(error), 422, headers=UNKEPT)
    accepts_gzip = "gzip" in encodings
    headers = {
        "Cache-Control": FOREVER,
        "Vary": "Accept-Encoding",
        "Content-Encoding": "gzip" if body.compressed and accepts_gzip else "identity",
    }
    data = body.data if accepts_gzip else body.decompressed()
    return Response(data, media_type="application/octet-stream", headers=headers)


async def queue(request: Request) -> Response:
    """Say in a sentence how many texts are ahead of a requested digest; "" if there are none."""
    ahead = array_store().ahead_of(request.path_params["digest"])
    return PlainTextResponse(place_in_queue(ahead) if ahead else "", headers=UNKEPT)

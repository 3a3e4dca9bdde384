"""The routes for what a page has offered to the browser (`serving/work/arrays.py`).

`/attnviz/arrays/<digest>` serves it; `/attnviz/queue/<digest>` says meanwhile what it waits for.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from attnviz.serving.work.arrays import NotOfferedError, UnmakeableError, array_store
from attnviz.serving.work.pool import place_in_queue

PATH = "/attnviz/arrays/"
ROUTE = PATH + "{digest:path}"
QUEUE_ROUTE = "/attnviz/queue/{digest:path}"
FOREVER = "private, max-age=31536000, immutable"
"""A digest stands for the same bytes for ever."""
UNKEPT = {"Cache-Control": "no-store"}


async def arrays(request: Request) -> Response:
    """Serve what is offered under a digest, or 404, or 422 with the reason why it can't be made.

    The worker pool makes it if it is not ready.
    """
    try:
        made = asyncio.wrap_future(array_store().request(request.path_params["digest"]))
        body = await asyncio.shield(made)  # others may wait for it too
    except NotOfferedError:
        return Response(status_code=404, headers=UNKEPT)
    except UnmakeableError as error:
        return PlainTextResponse(str(error), 422, headers=UNKEPT)
    headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
    accepts_gzip = "gzip" in request.headers.get("accept-encoding", "")
    # Named in any case: without a name Streamlit would compress the body, again for each request.
    headers["Content-Encoding"] = "gzip" if body.compressed and accepts_gzip else "identity"
    data = body.data if accepts_gzip else body.decompressed()
    return Response(data, media_type="application/octet-stream", headers=headers)


async def queue(request: Request) -> Response:
    """Say in a sentence how many texts are ahead of what is requested under a digest; nothing if none is."""
    ahead = array_store().ahead_of(request.path_params["digest"])
    return PlainTextResponse(place_in_queue(ahead) if ahead else "", headers=UNKEPT)

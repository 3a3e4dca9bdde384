"""The route `/attnviz/modules/<version>/<component>.js` and `.css`: the browser side (`components/bundle/kinds.py`)."""

from __future__ import annotations

import gzip
from functools import cache
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response

from attnviz.components.bundle.kinds import KINDS, PATH, folder, read

ROUTE = PATH + "{path:path}"
FOREVER = "public, max-age=31536000, immutable"
"""The address changes with the content."""
_making = Lock()


def modules(request: Request) -> Response:
    """Serve a component's script or style sheet, or 404. Not a coroutine, because making it takes some time."""
    path: str = request.path_params["path"]
    file = _made(PATH + path)
    if file is None:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    text, packed = file
    accepts_gzip = "gzip" in request.headers.get("accept-encoding", "")
    # Named in any case: without a name Streamlit would compress the body, again for each request.
    headers = {
        "Cache-Control": FOREVER,
        "Vary": "Accept-Encoding",
        "Content-Encoding": "gzip" if accepts_gzip else "identity",
    }
    kind = "text/css" if path.endswith(".css") else "text/javascript"
    return Response(packed if accepts_gzip else text, media_type=kind, headers=headers)


def make_all() -> None:
    """Make all files, so that nobody who opens another page waits for them: a quarter of a second."""
    for name in KINDS:
        for suffix in ("css", "js"):
            _made(f"{folder()}{name}.{suffix}")


def _made(address: str) -> tuple[str, bytes] | None:
    """Return the text at an address, and the same compressed; None if there is nothing."""
    with _making:  # the first visitors may come at the same time; one of them makes it for all
        text = read(address)
        return None if text is None else (text, _packed(text))


@cache
def _packed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)

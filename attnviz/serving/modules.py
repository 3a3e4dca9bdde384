"""The route `/attnviz/modules/<version>/<component>.js` and `.css`: the browser side (`components/built.py`)."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Mapping
from functools import cache
from threading import Lock

import brotli
from starlette.requests import Request
from starlette.responses import Response

from attnviz.components.built import PATH, addresses, read

ROUTE = PATH + "{path:path}"
FOREVER = "public, max-age=31536000, immutable"
"""The address changes with the content."""
QUALITY = 7
"""Brotli's quality: as fast as gzip, and 7 % smaller; browsers accept it over `https:` and from their own machine"""
_making = Lock()


def modules(request: Request) -> Response:
    """Serve a component's script or style sheet, or 404. Not a coroutine, because making it takes some time."""
    path: str = request.path_params["path"]
    file = _made(PATH + path)
    if file is None:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    encoding = _preferred(request.headers.get("accept-encoding", ""), file)
    # Always set: without an encoding, Streamlit would compress the body anew for each request.
    headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding", "Content-Encoding": encoding}
    kind = "text/css" if path.endswith(".css") else "text/javascript"
    return Response(file[encoding], media_type=kind, headers=headers)


def _preferred(accepted: str, encodings: Collection[str]) -> str:
    """Return the first encoding that a request's header accepts; "identity" if there is none."""
    shares = {name.strip(): share.strip() for name, _, share in (item.partition(";q=") for item in accepted.split(","))}
    return next((name for name in encodings if name in shares and shares[name] not in ("0", "0.0")), "identity")


def make_all() -> None:
    """Compress all files, so that no visitor who opens another page waits for them."""
    for address in addresses():
        _made(address)


def _made(address: str) -> Mapping[str, bytes] | None:
    """Return the file at an address, keyed by encoding, the smallest first; None if there is none."""
    with _making:  # the first visitors may come at the same time: one request makes it for all
        text = read(address)
        return None if text is None else _encoded(text)


@cache
def _encoded(text: str) -> Mapping[str, bytes]:
    plain = text.encode()
    return {"br": brotli.compress(plain, quality=QUALITY), "gzip": gzip.compress(plain, mtime=0), "identity": plain}

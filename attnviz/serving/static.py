"""The files of the pages: Streamlit's index.html under each page's address, and the browser side's scripts and styles.

The index has a script that tells Streamlit's frontend where the server is. Without it, the frontend takes `/heads`
for the address of a server, and requests `/heads/_stcore/health`: 404. Streamlit's maintainers name this remedy in
https://github.com/streamlit/streamlit/pull/11537. Scripts and style sheets (`components/built.py`) have the route
`/attnviz/modules/<version>/<component>.js` and `.css`.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from threading import Lock

import brotli
import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from attnviz.components.built import PATH, addresses, read

BASE = "window.__streamlit ??= { BACKEND_BASE_URL: new URL('.', location.href).href }"
"""An inline script. If a proxy removes a prefix of the address, the browser knows it, but the server does not."""
NO_CACHE = {"Cache-Control": "no-cache"}
"""As Streamlit sets it for its index.html, which names the current files"""


def page(request: Request) -> Response:
    """Serve the HTML file of a page with its own address; 404 outside the app's base path."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    if request.path_params.get("base", "") != base:
        return PlainTextResponse("Not Found", 404)
    return HTMLResponse(index_of_page(), headers=NO_CACHE)


@cache
def index_of_page() -> str:
    """Return Streamlit's index.html with the script before all others."""
    html = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return html.replace("<head>", f"<head><script>{BASE}</script>", 1)


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

"""The routes `/heads`, `/compare` …: Streamlit's index.html, with a script that tells its frontend where the server is.

Without it, the frontend first takes `/heads` for the address of a server, and requests `/heads/_stcore/health`: 404.
Streamlit's maintainers name this remedy in https://github.com/streamlit/streamlit/pull/11537.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

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

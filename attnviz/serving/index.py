"""The routes `/heads`, `/compare` …: Streamlit's index.html, with a script that tells its frontend where the server is.

Without it the frontend first takes `/heads` for the address of a server, and asks `/heads/_stcore/health`, a 404.
Streamlit's maintainers name this remedy in https://github.com/streamlit/streamlit/pull/11537.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

BASE = "window.__streamlit ??= { BACKEND_BASE_URL: new URL('.', location.href).href }"
"""An inline script. The browser knows the prefix of an address that a proxy removes, as the server does not."""
NO_CACHE = {"Cache-Control": "no-cache"}
"""As Streamlit says of its index.html: it names the current files"""


def page(request: Request) -> Response:
    """Serve the HTML file of a page that has an address of its own. Outside the app's base path there is none."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    if request.path_params.get("base", "") != base:
        return PlainTextResponse("Not Found", 404)
    return HTMLResponse(index_of_page(), headers=NO_CACHE)


@cache
def index_of_page() -> str:
    """Return Streamlit's index.html with the script, before all others."""
    own = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return own.replace("<head>", f"<head><script>{BASE}</script>", 1)

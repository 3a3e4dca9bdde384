"""The modules of the browser side as they are written, for tests of single modules and of pages made of them."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Page
from playwright.sync_api import Route as PlaywrightRoute
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from attnviz.components.styles import SOURCES

PREFIX = "/frontend"
"""Where the servers of tests offer them"""
TYPES = {".js": "text/javascript", ".css": "text/css"}


def source(path: str) -> tuple[str, bytes] | None:
    """Return the type and the content of a file by its path in `frontend/`; None if there is none."""
    file = SOURCES / path
    return (TYPES[file.suffix], file.read_bytes()) if file.suffix in TYPES and file.is_file() else None


async def _serve(request: Request) -> Response:
    file = source(request.path_params["path"])
    return PlainTextResponse("", 404) if file is None else Response(file[1], media_type=file[0])


def offer_sources(page: Page) -> None:
    """Offer them to a page of another server."""

    def answer(route: PlaywrightRoute) -> None:
        file = source(urlsplit(route.request.url).path.removeprefix(f"{PREFIX}/"))
        kind, body = file or ("text/plain", b"")
        route.fulfill(status=200 if file else 404, content_type=kind, body=body)

    page.route(f"**{PREFIX}/**", answer)


ROUTE = Route(PREFIX + "/{path:path}", _serve)

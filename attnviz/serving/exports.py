"""The requests of the export dialog: the font's characters, the font with only some of them, PDFs and slides."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from functools import partial

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from attnviz.components.export_view import PATHS
from attnviz.runtime.pool import Task, worker_pool
from attnviz.runtime.traffic import content_length

AT_ONCE = 16
"""Maximum requests that are being read, waiting or in progress."""
SECONDS = 30.0
"""Maximum time for a request to arrive."""
MAX_BYTES = 4 * 2**20
MAX_LETTERS = 20_000
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


class RefusedError(ValueError):
    """A request is refused; the message is a sentence for the user."""


class Exports:
    """Makes files from what browsers send, one at a time, so that models can run meanwhile."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.under_way = 0
        self._turn = asyncio.Lock()

    def routes(self) -> list[Route]:
        """Return the routes of `components.export_view`."""
        return [
            Route(PATHS["letters"], letters),
            *(
                Route(PATHS[name], partial(self.make_file, make=make, media_type=media_type), methods=["POST"])
                for name, (make, media_type) in FILES.items()
            ),
        ]

    async def make_file(self, request: Request, make: Callable[[bytes], bytes], media_type: str) -> Response:
        """Serve the file that is made of a request's body."""
        refusal = _refusal(request)
        if refusal:
            return refusal
        if self.under_way >= AT_ONCE:
            return PlainTextResponse("The server is making many files just now. Try again in a minute.", 503)
        self.under_way += 1
        try:
            async with asyncio.timeout(self.seconds):
                body = await request.body()
            async with self._turn:
                task: Task[bytes] = Task()
                worker_pool().submit(task, lambda: make(body))
                file = await asyncio.wrap_future(task.result)
        except TimeoutError:
            return PlainTextResponse("The picture took too long to arrive.", 408, headers={"Connection": "close"})
        except (RefusedError, ClientDisconnect) as why:
            return PlainTextResponse(str(why), 400)
        finally:
            self.under_way -= 1
        return Response(file, media_type=media_type, headers={"Cache-Control": "no-store"})


def _refusal(request: Request) -> Response | None:
    """Return the response to a request that is refused before its body is read; None if it is accepted."""
    # A page of another site can't send this type without a CORS preflight, which always fails.
    if request.headers.get("content-type") != "application/json":
        return PlainTextResponse("This is not JSON.", 415)
    size = content_length(request.headers)
    if size is None:
        return PlainTextResponse("The length of the request is missing.", 411)
    if size > MAX_BYTES:
        why = f"The picture is too large: {MAX_BYTES // 2**20} MB are allowed. Take SVG, or fewer pictures."
        return PlainTextResponse(why, 413, headers={"Connection": "close"})  # the rest is not read
    return None


def letters(_: Request) -> Response:
    """Serve the characters of the font. Not a coroutine, because creating the font takes a second."""
    from attnviz.export.drawing.fonts import characters

    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return PlainTextResponse(characters(), headers=headers)


def font_files(body: bytes) -> bytes:
    """Return the font with some characters, as JSON: for each weight a WOFF2 file in base64, or "" without any.

    The body is JSON too: the characters in "regular" and in "bold".

    Raises:
        RefusedError: the body is something else.
    """
    from attnviz.export.drawing import fonts

    try:
        fields = json.loads(body)
        texts = {name: fields[name] for name in ("regular", "bold")}
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise RefusedError("This does not say which characters are needed.") from error
    if not all(isinstance(text, str) and len(text) <= MAX_LETTERS for text in texts.values()):
        raise RefusedError("This does not say which characters are needed, or names too many.")
    files = {name: fonts.subset(text, name == "bold") if text else b"" for name, text in texts.items()}
    return json.dumps({name: b64encode(file).decode() for name, file in files.items()}).encode()


def picture_file(kind: str, body: bytes) -> bytes:
    """Return a recording as PDF, or a list of recordings as a deck of slides if the kind is "pptx".

    Raises:
        RefusedError: the body is something else, or too large.
    """
    from attnviz.export.recording import RecordingError, read_recording, read_recordings

    try:
        if kind == "pptx":
            from attnviz.export.files.picture_slide import write_picture_slides

            return write_picture_slides(read_recordings(body))
        from attnviz.export.files.pdf import write_recording

        return write_recording(read_recording(body))
    except RecordingError as error:
        raise RefusedError(str(error)) from error


FILES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "fonts": (font_files, "application/json"),
    "pdf": (partial(picture_file, "pdf"), "application/pdf"),
    "pptx": (partial(picture_file, "pptx"), SLIDES),
}
"""By the names of their paths: the function that makes a file of a request's body, and the file's media type"""

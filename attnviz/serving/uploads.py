"""ASGI middleware that limits uploads: files per session, bytes of all sessions, and the duration of an upload.

Streamlit checks the size of each file, that the session exists, and that the request comes from its own page. But it
keeps every uploaded file until the session ends, requested or not, and waits without limit for a slow upload.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/_stcore/upload_file/"
FILES = 4
"""Maximum files per session; a further one replaces the oldest."""
BYTES = 100 * 2**20
"""Maximum bytes of all sessions together."""
AT_ONCE = 16
"""Maximum simultaneous uploads."""
SECONDS = 30.0
"""Maximum duration of an upload."""


class Uploads:
    """Refuses uploads above the limits, and ends those that take too long."""

    def __init__(self, app: ASGIApp, *, seconds: float = SECONDS) -> None:
        self.app = app
        self.seconds = seconds
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; if it is an upload, within the limits."""
        if scope["type"] != "http" or scope["method"] != "PUT" or PATH not in scope["path"]:
            await self.app(scope, receive, send)
        elif self.under_way >= AT_ONCE or not make_room(scope["path"].rpartition(PATH)[2].partition("/")[0]):
            await _answer(503, "Too many files are being uploaded; try again in a minute.", scope, receive, send)
        else:
            self.under_way += 1
            try:
                await self._within_time(scope, receive, send)
            finally:
                self.under_way -= 1

    async def _within_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def watched(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            async with asyncio.timeout(self.seconds):
                await self.app(scope, receive, watched)
        except TimeoutError:
            if not has_started:
                await _answer(408, "The file took too long to arrive.", scope, receive, send)


def make_room(session: str) -> bool:
    """Drop the oldest files of a session that has too many; return whether one more file is within the limits."""
    from streamlit import runtime

    if not runtime.exists():
        return True
    # Internals of the Streamlit version that pyproject.toml allows: its public interface can't remove a file.
    manager: Any = runtime.get_instance().uploaded_file_mgr
    held = manager.file_storage
    for file in list(held.get(session, ()))[: 1 - FILES]:
        manager.remove_file(session, file)
    return sum(len(file.data) for files in list(held.values()) for file in list(files.values())) < BYTES


async def _answer(status: int, why: str, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Connection": "close"}  # the rest of the file is not read
    await PlainTextResponse(why, status, headers=headers)(scope, receive, send)

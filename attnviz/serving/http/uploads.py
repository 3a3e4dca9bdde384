"""ASGI middleware that bounds what is uploaded: how many files a session holds, how much all hold, how long one takes.

Streamlit checks the size of each file, whether the session is known and whether the request comes from its own page.
But it keeps every file that a session sends until the session ends, whether a page asked for it or not, and waits for a
slow one for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/_stcore/upload_file/"
FILES = 4
"""Files that a session holds at most; the oldest makes room."""
BYTES = 100 * 2**20
"""Bytes that all sessions hold at most."""
AT_ONCE = 16
"""Uploads under way at most."""
SECONDS = 30.0
"""For this long an upload may take."""


class Uploads:
    """Lets uploads through while there is room for them, and ends those that take too long."""

    def __init__(self, app: ASGIApp, *, seconds: float = SECONDS) -> None:
        self.app = app
        self.seconds = seconds
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; where it is an upload, within bounds."""
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
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(self.seconds):
                await self.app(scope, receive, watched)
        except TimeoutError:
            if not begun:
                await _answer(408, "The file took too long to arrive.", scope, receive, send)


def make_room(session: str) -> bool:
    """Drop the oldest files of a session that has too many, and say whether there is room for one more."""
    from streamlit import runtime

    if not runtime.exists():
        return True
    manager: Any = runtime.get_instance().uploaded_file_mgr
    held = manager.file_storage
    for file in list(held.get(session, ()))[: 1 - FILES]:
        manager.remove_file(session, file)
    return sum(len(file.data) for files in list(held.values()) for file in list(files.values())) < BYTES


async def _answer(status: int, why: str, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Connection": "close"}  # what is still to come of the file is not read
    await PlainTextResponse(why, status, headers=headers)(scope, receive, send)

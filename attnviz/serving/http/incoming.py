"""ASGI middleware that checks every message of a browser before Streamlit sees it."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnviz.serving.http.messages import Checked, RefusedMessageError, check
from attnviz.serving.http.traffic import Traffic
from attnviz.serving.http.widgets import Widgets

STREAM = "/_stcore/stream"
"""Where Streamlit's websockets end."""
MOST_REFUSED = 20
"""Messages of one connection that are refused; at the next one it is closed."""
TOO_LARGE = 1009
POLICY_VIOLATION = 1008
"""Codes with which a websocket is closed (RFC 6455, section 7.4.1)."""

_logger = logging.getLogger(__name__)


class CheckedMessages:
    """Drops messages that no browser sends, and closes connections that send them."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic
        self.widgets = Widgets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; where it is a browser's connection, check what comes over it."""
        if scope["type"] == "websocket" and scope["path"].endswith(STREAM):
            connection = _Connection(self.widgets, self.traffic, receive, send)
            await self.app(scope, connection.receive, connection.send)
        else:
            await self.app(scope, receive, send)


class _Connection:
    """One browser's connection."""

    def __init__(self, widgets: Widgets, traffic: Traffic, receive: Receive, send: Send) -> None:
        self._widgets = widgets
        self._traffic = traffic
        self._receive = receive
        self._send = send
        self._refused = 0
        self._is_closed = False

    async def receive(self) -> Message:
        """Return the next message that is taken."""
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect" and message.get("code") == TOO_LARGE:
                self._count("size")  # uvicorn has closed the connection
            if message["type"] != "websocket.receive":
                return message
            try:
                checked = self._check(message)
            except RefusedMessageError as refused:
                self._count(refused.why)
                if refused.is_breach or self._refused > MOST_REFUSED:
                    return await self._close()
            else:
                return {"type": "websocket.receive", "bytes": checked.frame}

    async def send(self, message: Message) -> None:
        """Send a message, and note the widgets that it declares.

        Raises:
            OSError: the connection was closed here; to the app it is as if the browser had gone.
        """
        if self._is_closed:
            raise OSError("the connection is closed")
        if message["type"] == "websocket.send" and message.get("bytes"):
            self._widgets.note(message["bytes"])
        await self._send(message)

    def _check(self, message: Message) -> Checked:
        checked = check(message.get("bytes"), self._widgets.kind, uploads=self._traffic.limits.uploads)
        if checked.left_out:
            self._traffic.refused["unknown_widget"] += checked.left_out
        return checked

    def _count(self, why: str) -> None:
        """Count a message that was refused. The log has the first one of a connection, and no word of what it said."""
        self._traffic.refused[f"message_{why}"] += 1
        if not self._refused:
            _logger.warning(f"A browser sent a message that is not taken: {why}")
        self._refused += 1

    async def _close(self) -> Message:
        self._is_closed = True
        await self._send({"type": "websocket.close", "code": POLICY_VIOLATION})
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}

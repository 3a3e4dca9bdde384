"""ASGI middleware that checks every message from a browser before Streamlit reads it."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnviz.serving.http.messages import Checked, RefusedMessageError, check
from attnviz.serving.http.traffic import Traffic
from attnviz.serving.http.widgets import Widgets

STREAM = "/_stcore/stream"
"""The path of Streamlit's websocket, or its end if the app is not at the root."""
MOST_REFUSED = 20
"""The number of refused messages after which the next one closes the connection."""
TOO_LARGE = 1009
POLICY_VIOLATION = 1008
"""Close codes of websockets (RFC 6455, section 7.4.1)."""

_logger = logging.getLogger(__name__)


class CheckedMessages:
    """Drops messages that no browser sends, and closes connections that send them."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic
        self.widgets = Widgets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; if it is a browser's websocket, check its messages."""
        if scope["type"] == "websocket" and scope["path"].endswith(STREAM):
            connection = _Connection(self.widgets, self.traffic, receive, send)
            await self.app(scope, connection.receive, connection.send)
        else:
            await self.app(scope, receive, send)


class _Connection:
    """One browser's websocket connection."""

    def __init__(self, widgets: Widgets, traffic: Traffic, receive: Receive, send: Send) -> None:
        self._widgets = widgets
        self._traffic = traffic
        self._receive = receive
        self._send = send
        self._refused = 0
        self._is_closed = False

    async def receive(self) -> Message:
        """Return the next message that is accepted."""
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
                if refused.must_close or self._refused > MOST_REFUSED:
                    return await self._close()
            else:
                return {"type": "websocket.receive", "bytes": checked.frame}

    async def send(self, message: Message) -> None:
        """Send a message, and record the widgets that it declares.

        Raises:
            OSError: this middleware has closed the connection. Streamlit handles it like a disconnected browser.
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
        """Count a refused message. The first one of each connection is logged, without its content."""
        self._traffic.refused[f"message_{why}"] += 1
        if not self._refused:
            _logger.warning(f"A browser sent a message that is not taken: {why}")
        self._refused += 1

    async def _close(self) -> Message:
        self._is_closed = True
        await self._send({"type": "websocket.close", "code": POLICY_VIOLATION})
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}

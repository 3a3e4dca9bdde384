"""ASGI middleware that checks every message from a browser before Streamlit reads it.

Streamlit trusts its clients: any of them can clear the caches of all sessions. This module refuses only messages that a
browser with the app's pages never sends. It doesn't check the values of widgets: a wrong value harms only its own
session.
"""

from __future__ import annotations

import logging

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as Protobuf
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from attnviz.runtime.traffic import Traffic

STREAM = "/_stcore/stream"
"""The path of Streamlit's websocket, or the end of its path if the app is not at the root."""
MESSAGE = 2**20
"""The largest message in bytes. It contains the link twice and the widgets' values, but no files."""
WIDGET_BYTE = b"\n"
MOST_WIDGET_BYTES = 25_000
"""How often this byte may occur in a message: it precedes every widget, and every line of a text may end with it.
Parsing 500,000 empty widgets would take 130 ms; any other message of this size takes less than 40 ms."""
LENGTH = 300
"""The longest id, hash or name in characters; Streamlit's have up to 100."""
LENGTHS = {"query_string": 2**19, "url": 2**19 + 2**10, "name": 2_000}
"""Fields with another limit: a link, which uvicorn limits to the same length, and the name of a file."""
VALUES = {"string_value", "json_value", "json_trigger_value", "data"}
"""Fields with a widget's value, which only the size of the message limits."""
COUNT = 100
"""Maximum entries of a repeated field."""
COUNTS = {"widgets": 500, "cached_message_hashes": 1_000, "file_names": 4, "uploaded_file_info": 4}
"""Repeated fields with another limit: the page with the most widgets has some 150."""
ACCEPTED = {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request"}
"""The types of messages that are accepted. Others clear the caches of all visitors, read the git repository, or stop
the server; the app's pages send none of them."""
MOST_REFUSED = 20
"""The number of refused messages after which the next one closes the connection."""
TOO_LARGE = 1009
POLICY_VIOLATION = 1008
"""Close codes of websockets (RFC 6455, section 7.4.1)."""

_logger = logging.getLogger(__name__)


class RefusedMessageError(ValueError):
    """A message is refused. `why` is one word, for the log and the metrics.

    `must_close`: whether the connection must be closed, because no browser sends such a message.
    """

    def __init__(self, why: str, *, must_close: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.must_close = must_close


class CheckedMessages:
    """Drops messages that no browser sends, and closes connections that send them."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; if it is a browser's websocket, check its messages."""
        if scope["type"] == "websocket" and scope["path"].endswith(STREAM):
            connection = _Connection(self.traffic, receive, send)
            await self.app(scope, connection.receive, connection.send)
        else:
            await self.app(scope, receive, send)


class _Connection:
    """One browser's websocket connection."""

    def __init__(self, traffic: Traffic, receive: Receive, send: Send) -> None:
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
                check(message.get("bytes"), uploads=self._traffic.limits.uploads)
            except RefusedMessageError as refused:
                self._count(refused.why)
                if refused.must_close or self._refused > MOST_REFUSED:
                    return await self._close()
            else:
                return message

    async def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            OSError: this middleware has closed the connection. Streamlit handles it like a disconnected browser.
        """
        if self._is_closed:
            raise OSError("the connection is closed")
        await self._send(message)

    def _count(self, why: str) -> None:
        """Count a refused message. The first one of each connection is logged, without its content."""
        self._traffic.refused[f"message_{why}"] += 1
        if not self._refused:
            _logger.warning(f"A browser sent a message that is not accepted: {why}")
        self._refused += 1

    async def _close(self) -> Message:
        self._is_closed = True
        await self._send({"type": "websocket.close", "code": POLICY_VIOLATION})
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}


def check(frame: bytes | None, *, uploads: bool) -> None:
    """Check a message for its size and its purpose.

    Args:
        frame: the bytes of a websocket message; None for a text message.
        uploads: whether files may be uploaded.

    Raises:
        RefusedMessageError: `size`, `format`, `count` or `length`, and the connection must be closed; or `purpose`.
    """
    if frame is None:
        raise RefusedMessageError("format", must_close=True)
    if len(frame) > MESSAGE:
        raise RefusedMessageError("size", must_close=True)
    if frame.count(WIDGET_BYTE) > MOST_WIDGET_BYTES:
        raise RefusedMessageError("count", must_close=True)
    message = BackMsg()
    try:
        message.ParseFromString(frame)
    except DecodeError:
        raise RefusedMessageError("format", must_close=True) from None
    _check_sizes(message)
    _check_purpose(message, uploads=uploads)


def _check_sizes(message: Protobuf) -> None:
    """Check the number of entries and the length of the text in every field, recursively."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        if len(values) > COUNTS.get(field.name, COUNT):
            raise RefusedMessageError("count", must_close=True)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in values:
                _check_sizes(inner)
        elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES) and field.name not in VALUES:
            longest = LENGTHS.get(field.name, LENGTH)
            if any(len(text) > longest for text in values):
                raise RefusedMessageError("length", must_close=True)


def _check_purpose(message: BackMsg, *, uploads: bool) -> None:
    """Check that the message is of a type that the app's pages need."""
    purpose = message.WhichOneof("type")
    if purpose not in ACCEPTED:
        raise RefusedMessageError("purpose")
    if purpose == "file_urls_request" and not uploads:
        raise RefusedMessageError("purpose")
    # The only backend operation of attnviz is a file that is created on download.
    if purpose == "backend_operation_request" and not message.backend_operation_request.HasField("deferred_file"):
        raise RefusedMessageError("purpose")

"""Validates one message from a browser before Streamlit reads it.

Streamlit trusts its clients: a value of the wrong type raises an exception, and any client can clear the caches of all
sessions. This module refuses only messages that a browser with our pages never sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from streamlit.proto.BackMsg_pb2 import BackMsg

from attnviz.serving.http.widgets import Kind

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
"""The most entries of a repeated field."""
COUNTS = {"widgets": 500, "cached_message_hashes": 1_000, "file_names": 4, "uploaded_file_info": 4}
"""Repeated fields with another limit: our page with the most widgets has some 150."""
ACCEPTED = {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request"}
"""The types of messages that are accepted. Others clear the caches of all visitors, read the git repository, or stop
the server; our pages send none of them."""

KindOf = Callable[[str], Kind | None]


class RefusedMessageError(ValueError):
    """A message is refused. `why` is one word, for the log and the metrics.

    `must_close`: whether the connection must be closed, because no browser sends such a message.
    """

    def __init__(self, why: str, *, must_close: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.must_close = must_close


@dataclass(frozen=True, slots=True)
class Checked:
    """A message that is accepted."""

    frame: bytes
    """The bytes for Streamlit"""
    left_out: int
    """The number of widgets that were removed because this server has not shown them"""


def check(frame: bytes | None, kind_of: KindOf, *, uploads: bool) -> Checked:
    """Validate a message, and remove the widgets that this server has not shown.

    Args:
        frame: the bytes of a websocket message; None for a text message.
        kind_of: returns the kind of the widget with an id, or None if no such widget was shown.
        uploads: whether files may be uploaded.

    Raises:
        RefusedMessageError: `size`, `format`, `count` or `length`, and the connection must be closed; or `purpose` or
            `type`.
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
    left_out = _check_widgets(message.rerun_script.widget_states.widgets, kind_of)
    return Checked(message.SerializeToString() if left_out else frame, left_out)


def _check_sizes(message: Message) -> None:
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
    """Check that the message is of a type that our pages need."""
    purpose = message.WhichOneof("type")
    if purpose not in ACCEPTED:
        raise RefusedMessageError("purpose")
    if purpose == "file_urls_request" and not uploads:
        raise RefusedMessageError("purpose")
    # The only backend operation of attnviz is a file that is created on download.
    if purpose == "backend_operation_request" and not message.backend_operation_request.HasField("deferred_file"):
        raise RefusedMessageError("purpose")


def _check_widgets(widgets: Any, kind_of: KindOf) -> int:
    """Check each widget's value by its kind, remove unknown widgets, and return their number.

    A browser sends unknown widgets if it was connected to another server that has ended.
    """
    known = []
    for widget in widgets:
        kind = kind_of(widget.id)
        if kind is None:
            continue
        field = widget.WhichOneof("value")  # None if it was cleared
        if field is not None and (field not in kind.fields or not kind.valid(getattr(widget, field))):
            raise RefusedMessageError("type")
        known.append(widget)
    left_out = len(widgets) - len(known)
    if left_out:
        kept = [type(widget).FromString(widget.SerializeToString()) for widget in known]
        del widgets[:]
        widgets.extend(kept)
    return left_out

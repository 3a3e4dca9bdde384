"""The check of one message from a browser, before Streamlit sees it.

Streamlit believes what it is sent: a number where its widget sends a text ends in a traceback, and anybody may clear
the caches of all. What is checked here is only what no browser sends that shows our pages.
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
"""Bytes of a message, at most. It holds the link twice, and what the widgets hold; files come another way."""
WIDGET_BYTE = b"\n"
MOST_WIDGET_BYTES = 25_000
"""How often this byte may be in a message: each widget begins with it, and so may each line of a text. To read 500,000
empty widgets would take 130 ms; any other message of this size takes less than 40."""
LENGTH = 300
"""Characters of an id, a hash, a name, at most; Streamlit's have up to 100."""
LENGTHS = {"query_string": 2**19, "url": 2**19 + 2**10, "name": 2_000}
"""Characters of what may be longer: a link, as long as uvicorn takes one, and the name of a file."""
VALUES = {"string_value", "json_value", "json_trigger_value", "data"}
"""What widgets hold, as long as the message may be."""
COUNT = 100
"""Things of a kind in one message, at most."""
COUNTS = {"widgets": 500, "cached_message_hashes": 1_000, "file_names": 4, "uploaded_file_info": 4}
"""The same, where it is another number: our fullest page has some 150 widgets."""
TAKEN = {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request"}
"""The types of messages that are taken. Others clear the caches of all visitors, look into the repository, or stop the
server; a browser that shows our pages needs none of them."""

KindOf = Callable[[str], Kind | None]


class RefusedMessageError(ValueError):
    """A message that is not taken. `why` is one of a few words, for the log and the metrics.

    `is_breach`: whether it is none that any browser sends, so that the connection is closed.
    """

    def __init__(self, why: str, *, is_breach: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_breach = is_breach


@dataclass(frozen=True, slots=True)
class Checked:
    """A message that is taken."""

    frame: bytes
    """What Streamlit may read"""
    left_out: int
    """Widgets that were left out because this server has not shown them"""


def check(frame: bytes | None, kind_of: KindOf, *, uploads: bool) -> Checked:
    """Return a message as Streamlit may read it.

    Args:
        frame: the bytes of a websocket message; None for one of text.
        kind_of: returns what the widget with an id sends, None where no such widget was shown.
        uploads: whether files may be uploaded.

    Raises:
        RefusedMessageError: `size`, `format`, `count` or `length`, each a breach; `purpose` or `type`.
    """
    if frame is None:
        raise RefusedMessageError("format", is_breach=True)
    if len(frame) > MESSAGE:
        raise RefusedMessageError("size", is_breach=True)
    if frame.count(WIDGET_BYTE) > MOST_WIDGET_BYTES:
        raise RefusedMessageError("count", is_breach=True)
    message = BackMsg()
    try:
        message.ParseFromString(frame)
    except DecodeError:
        raise RefusedMessageError("format", is_breach=True) from None
    _check_sizes(message)
    _check_purpose(message, uploads=uploads)
    left_out = _check_widgets(message.rerun_script.widget_states.widgets, kind_of)
    return Checked(message.SerializeToString() if left_out else frame, left_out)


def _check_sizes(message: Message) -> None:
    """Check how many things there are, and how long they are, down to the last field."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        if len(values) > COUNTS.get(field.name, COUNT):
            raise RefusedMessageError("count", is_breach=True)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in values:
                _check_sizes(inner)
        elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES) and field.name not in VALUES:
            longest = LENGTHS.get(field.name, LENGTH)
            if any(len(text) > longest for text in values):
                raise RefusedMessageError("length", is_breach=True)


def _check_purpose(message: BackMsg, *, uploads: bool) -> None:
    """Check that the message is of a type that our pages need."""
    purpose = message.WhichOneof("type")
    if purpose not in TAKEN:
        raise RefusedMessageError("purpose")
    if purpose == "file_urls_request" and not uploads:
        raise RefusedMessageError("purpose")
    # Of these, attnviz has files that are made when they are downloaded.
    if purpose == "backend_operation_request" and not message.backend_operation_request.HasField("deferred_file"):
        raise RefusedMessageError("purpose")


def _check_widgets(widgets: Any, kind_of: KindOf) -> int:
    """Check each widget's value by its kind, leave out the unknown ones, and return how many those were.

    A browser sends widgets that are unknown here when it comes from a server that has ended.
    """
    known = []
    for widget in widgets:
        kind = kind_of(widget.id)
        if kind is None:
            continue
        field = widget.WhichOneof("value")  # None where it was cleared
        if field is not None and (field not in kind.fields or not kind.valid(getattr(widget, field))):
            raise RefusedMessageError("type")
        known.append(widget)
    left_out = len(widgets) - len(known)
    if left_out:
        kept = [type(widget).FromString(widget.SerializeToString()) for widget in known]
        del widgets[:]
        widgets.extend(kept)
    return left_out

"""A browser without a window: it speaks Streamlit's websocket protocol, and keeps what a page would show."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

OVER = {
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
    ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
}


@dataclass
class Shown:
    """What one run of a page showed."""

    kinds: list[str] = field(default_factory=list)
    """Every element, by its kind"""
    messages: list[str] = field(default_factory=list)
    """Messages, without the backslashes that keep Markdown out, and exceptions"""
    widgets: dict[str, str] = field(default_factory=dict)
    """The id of each widget, by its key"""
    finished: int = -1

    @property
    def broke(self) -> bool:
        """Whether an error that nobody caught was shown."""
        return "exception" in self.kinds or self.finished not in OVER

    @property
    def text(self) -> str:
        """All messages."""
        return " ".join(self.messages)

    def take(self, message: ForwardMsg) -> bool:
        """Note a message, and say whether it was the last one of the run."""
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._note(message.delta.new_element)
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.finished = message.script_finished
            return True
        return False

    def _note(self, element: Any) -> None:
        kind = element.WhichOneof("type") or ""
        self.kinds.append(kind)
        inner = getattr(element, kind, None)
        if kind in ("alert", "exception"):
            body = inner.body if kind == "alert" else f"{inner.type}: {inner.message}"
            self.messages.append(re.sub(r"\\(.)", r"\1", body))
        name = re.fullmatch(r"\$\$ID-[0-9a-f]+-(.+)", getattr(inner, "id", ""))
        if name:
            self.widgets[name[1]] = inner.id


class Visitor:
    """One session with a server, as long as the `with` block lasts."""

    def __init__(
        self, url: str, *, cookies: str = "", origin: str = "", timeout: float = 180,
        note: Callable[[bytes], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.note = note
        """Called with every message of the server"""
        parts = urlsplit(url)
        self.timeout = timeout
        self.page_hash = ""
        self.session_id = ""
        self.cookies: list[str] = []
        """What the server set when the connection opened"""
        self._connection = connect(
            f"ws://{parts.netloc}/_stcore/stream",
            origin=origin or f"http://{parts.netloc}",  # type: ignore[arg-type]
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers={"Cookie": cookies} if cookies else {},
            max_size=None,
            max_queue=None,  # else what was not received keeps it from reading that the connection is closed
            open_timeout=timeout,
            proxy=None,
        )

    def __enter__(self) -> Visitor:
        self._socket = self._connection.__enter__()
        assert self._socket.response
        self.cookies = self._socket.response.headers.get_all("Set-Cookie")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.__exit__(kind, error, trace)

    def open(self, page: str = "", query: str = "", values: dict[str, str] | None = None) -> Shown:
        """Run a page with a query string and the texts of some widgets, by their id."""
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_name = query, page
        if values:  # a change on the page that is open, and not another link
            asked.page_script_hash = self.page_hash
        for widget, value in (values or {}).items():
            asked.widget_states.widgets.add(id=widget, string_value=value)
        asked.context_info.timezone = "UTC"
        self._socket.send(message.SerializeToString())
        shown = Shown()
        while not shown.take(answer := self.receive()):
            if answer.WhichOneof("type") == "new_session":
                self.session_id = answer.new_session.initialize.session_id
                self.page_hash = answer.new_session.page_script_hash
        return shown

    def send_raw(self, data: bytes | str) -> None:
        """Send what no browser would."""
        self._socket.send(data)

    def receive(self) -> ForwardMsg:
        """Return the next message."""
        message = ForwardMsg()
        raw = self._socket.recv(self.timeout)
        assert isinstance(raw, bytes)
        self.note(raw)
        message.ParseFromString(raw)
        return message

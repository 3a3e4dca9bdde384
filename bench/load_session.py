"""One visitor without a browser: a websocket client that speaks Streamlit's protocol, as its frontend does."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

TIMEOUT = 180.0
"""Seconds after which a run counts as failed"""
REMEMBERED = 50
"""Messages that a browser keeps, so that the server need not send them again"""
FINE = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}
INTERNAL = "$$STREAMLIT_INTERNAL_KEY"


@dataclass(frozen=True)
class Widget:
    """A widget that the server has put on the page."""

    id: str
    kind: str
    fragment: str
    options: tuple[str, ...]


@dataclass
class Visitor:
    """A session: what it was shown, what it has set, and what went wrong."""

    url: str
    widgets: dict[str, Widget] = field(default_factory=dict)
    """By their key; where they have none, by their label"""
    values: dict[str, WidgetState] = field(default_factory=dict)
    shown: Counter[str] = field(default_factory=Counter)
    """Kinds of elements that came in the last run"""
    wrong: Counter[str] = field(default_factory=Counter)
    received: int = 0
    sent: dict[str, bytes] = field(default_factory=dict)
    """What each browser component was sent last, by its key"""
    unsent: dict[str, Any] = field(default_factory=dict)
    """What it has chosen in the walk, by link key, that the server does not know yet"""
    fetched: set[str] = field(default_factory=set)
    """The digests that it has requested: a browser keeps what it has"""
    _page: str = ""
    _query: str = ""
    _known: OrderedDict[str, ForwardMsg] = field(default_factory=OrderedDict)

    async def connect(self) -> None:
        """Open the page's websocket."""
        at = urlsplit(self.url)
        self._query = at.query
        self._http = httpx2.AsyncClient(base_url=f"http://{at.netloc}", timeout=TIMEOUT)
        self._socket = await websockets.connect(
            f"ws://{at.netloc}/_stcore/stream", subprotocols=[websockets.Subprotocol("streamlit")],
            origin=websockets.Origin(f"http://{at.netloc}"), max_size=None, compression=None, ping_interval=None,
            open_timeout=TIMEOUT, proxy=None,
        )  # fmt: skip

    async def close(self) -> None:
        """Leave."""
        await self._http.aclose()
        await self._socket.close()

    async def fetch(self, digest: str) -> float:
        """Request what is offered under a digest, unless it is here, and return the ms that it took."""
        if digest in self.fetched:
            return 0.0
        begun = time.perf_counter()
        answer = await self._http.get(f"/attnviz/arrays/{digest}")
        if answer.status_code != 200:
            self.wrong[f"arrays: status {answer.status_code}"] += 1
        self.fetched.add(digest)
        return (time.perf_counter() - begun) * 1e3

    async def load(self) -> float:
        """Have the whole page run, and return the ms that it took."""
        return await self._run(BackMsg())

    async def choose(self, name: str, number: int) -> float:
        """Choose an option of a select box or of a row of buttons, by its number."""
        widget = self.widgets[name]
        option = widget.options[number % len(widget.options)]
        state = WidgetState(id=widget.id)
        if widget.kind == "button_group":
            state.string_array_value.data.append(option)
        else:
            state.string_value = option
        return await self._change(widget, state)

    async def write(self, name: str, text: str, *, also: WidgetState | None = None) -> float:
        """Type into a text area; `also` is an event that the browser sends in the same message."""
        widget = self.widgets[name]
        return await self._change(widget, WidgetState(id=widget.id, string_value=text), also)

    def event(self, name: str, event: str, value: Any) -> WidgetState:
        """Return an event of a browser component, as setTriggerValue sends it."""
        news = json.dumps([{"event": event, "value": value}])
        return WidgetState(id=f"{INTERNAL}_{self.widgets[name].id}__events", json_trigger_value=news)

    async def _change(self, widget: Widget, state: WidgetState, also: WidgetState | None = None) -> float:
        message = BackMsg()
        message.rerun_script.fragment_id = widget.fragment
        self.values[widget.id] = state
        if also is not None:
            message.rerun_script.widget_states.widgets.append(also)
        return await self._run(message)

    async def _run(self, message: BackMsg) -> float:
        """Ask for a run, and return the ms until it has ended."""
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = self._query, self._page
        if not self._page:
            asked.page_name = urlsplit(self.url).path.strip("/")
        asked.widget_states.MergeFrom(WidgetStates(widgets=self.values.values()))
        asked.cached_message_hashes.extend(self._known)
        self.shown.clear()
        begun = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while not self._take(await asyncio.wait_for(self._socket.recv(), TIMEOUT)):
            pass
        return (time.perf_counter() - begun) * 1e3

    def _take(self, raw: bytes | str) -> bool:
        """Take a message, and say whether it is the run's last."""
        assert isinstance(raw, bytes)
        self.received += len(raw)
        message = ForwardMsg.FromString(raw)
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            if message.ref_hash not in self._known:
                self.wrong["a reference to a message that never came"] += 1
                return False
            self._known.move_to_end(message.ref_hash)
            self._see(self._known[message.ref_hash])
        elif kind == "new_session":
            self._page = self._page or message.new_session.page_script_hash
        elif kind == "navigation":
            self._page = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta":
            self._see(message)
            if message.metadata.cacheable and message.hash:
                self._known[message.hash] = message
                if len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return False
            if message.script_finished not in FINE:
                self.wrong[ForwardMsg.ScriptFinishedStatus.Name(message.script_finished)] += 1
            return True
        return False

    def _see(self, message: ForwardMsg) -> None:
        """Note what a message puts on the page."""
        if message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        kind = element.WhichOneof("type") or ""
        self.shown[kind] += 1
        inner = getattr(element, kind, None)
        if kind == "exception":
            self.wrong[f"{inner.type}: {inner.message[:80]}"] += 1
        identity = getattr(inner, "id", "")
        if identity:
            options = tuple(str(getattr(option, "content", option)) for option in getattr(inner, "options", ()))
            name = _key(identity) or getattr(inner, "label", "")
            if kind == "bidi_component":
                self.sent[name] = inner.bytes
            self.widgets[name] = Widget(identity, kind, message.delta.fragment_id, options)
            if getattr(inner, "set_value", False):
                self.values.pop(identity, None)


def _key(identity: str) -> str:
    """Return the key that the app gave a widget, from its identity `$$ID-<digest>-<key or None>`."""
    parts = identity.split("-", 2)
    return parts[2] if identity.startswith("$$ID") and len(parts) == 3 and parts[2] != "None" else ""

"""Messages that no browser sends, and visitors who send them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLsRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from tests.safety.server import SECRET

NUMBERS = (0.0, -1.0, 0.5, 1e308, -1e308, 5e-324, 2.0**53, 2.0**64, float("nan"), float("inf"), float("-inf"))
TEXTS = (
    SECRET, f"{SECRET} 12", "", "\0", "\u202e", f"{SECRET}\n" * 50, f"<script>{SECRET}</script>", "[]", "{}", "null",
    "NaN", f'"{SECRET}"', "[" * 5_000, '{"a":' * 900 + "1" + "}" * 900, "1" * 5_000, f'{{"{SECRET}', "x" * 100_000, "1",
)  # fmt: skip
THINGS: tuple[Any, ...] = (
    None, True, 0, -1, 7, 10**30, 0.5, 1e300, "", SECRET, [], [SECRET], [[0, 0]], [[1, SECRET], [10**20, -5]], {},
    {"q": 1, "k": 1}, {"q": SECRET, "k": []}, {"number": 1, "values": {"step": SECRET}},
    {"number": 10**40, "values": 5},
    {"number": 10**9, "values": {"acts": [[1, SECRET], [2, "lecture"], [10**30, "head_on"], SECRET, [None, None]]}},
    {"number": None, "values": {"layer": 10**25, "head": [], "chosen": [[0, {}]], "pin": {"q": 1e300, "k": -1}}},
    {"number": -1, "values": [SECRET]}, [[[[[[[]]]]]]], "\ud800", {"\ud800": "\udfff"}, "x" * 50_000, [[0, 10**9]],
    {"selection": {"rows": [10**6]}}, {"rows": SECRET}, {"rows": [-1, None], "columns": {}, "cells": [[1]]},
)  # fmt: skip
"""What stands in JSON where something else is expected."""
NAMES = ("updates", "want", "act", "lesson", "code", "moved", "pin", "keys", "value", "selection", "__class__", SECRET)
"""Names of what our components send, and others."""
RECORDS = [{"file_id": SECRET, "name": SECRET, "size": 2**62}]
FIELDS: dict[str, Callable[[Random], Any]] = {
    "trigger_value": lambda random: random.random() < 0.9,
    "bool_value": lambda random: random.random() < 0.5,
    "double_value": lambda random: random.choice(NUMBERS),
    "int_value": lambda random: random.choice((0, -1, 2**63 - 1, -(2**63))),
    "string_value": lambda random: _json(random) if random.random() < 0.3 else random.choice(TEXTS),
    "double_array_value": lambda random: {"data": [random.choice(NUMBERS)] * random.randint(0, 3)},
    "int_array_value": lambda random: {"data": [2**63 - 1] * random.randint(0, 3)},
    "string_array_value": lambda random: {"data": [random.choice(TEXTS)] * random.randint(0, 3)},
    "json_value": lambda random: _json(random) if random.random() < 0.8 else random.choice(TEXTS),
    "json_trigger_value": lambda random: _events(random) if random.random() < 0.8 else random.choice(TEXTS),
    "arrow_value": lambda random: {"data": random.randbytes(50)},
    "bytes_value": lambda random: random.randbytes(50),
    "file_uploader_state_value": lambda random: {"uploaded_file_info": RECORDS * random.randint(0, 2)},
    "string_trigger_value": lambda random: {"data": random.choice(TEXTS)},
    "chat_input_value": lambda random: {"data": random.choice(TEXTS)},
}
"""Values for each field of WidgetState"""
WELL_FORMED: dict[str, Callable[[Random], Any]] = {
    "double_value": lambda random: random.choice(NUMBERS[:8]),
    "double_array_value": lambda random: {"data": [random.choice(NUMBERS[:8])] * random.randint(1, 2)},
    "string_value": lambda random: (
        json.dumps({"selection": _sent(random)}) if random.random() < 0.3 else random.choice(TEXTS)
    ),
    "json_value": lambda random: json.dumps(_sent(random)),
    "json_trigger_value": lambda random: json.dumps(
        [{"event": name, "value": value} for name, value in _sent(random).items()]
    ),
}
"""Fields whose value Streamlit itself reads: values that it can read"""


EVENTS_ID = "$$STREAMLIT_INTERNAL_KEY_{}__events"
"""The second id of a component of API version 2, for its events"""
USUAL = {
    "bidi_component": "json_value", "button": "trigger_value", "button_group": "string_array_value",
    "checkbox": "bool_value", "dataframe": "string_value", "dialog": "trigger_value",
    "download_button": "trigger_value", "expandable": "bool_value", "file_uploader": "file_uploader_state_value",
    "menu_button": "string_trigger_value", "multiselect": "string_array_value", "number_input": "double_value",
    "plotly_chart": "string_value", "popover": "bool_value", "radio": "string_value", "selectbox": "string_value",
    "slider": "double_array_value", "tab_container": "string_value", "text_area": "string_value",
    "text_input": "string_value",
}  # fmt: skip
"""The field of `WidgetState` that a browser sends, by the type of the element or block"""


@dataclass
class Shown:
    """What pages have shown: what somebody who has looked at them can send back."""

    fields: dict[str, str] = field(default_factory=dict)
    """For each widget the field that its value has"""
    fragments: set[str] = field(default_factory=set)
    hashes: set[str] = field(default_factory=set)

    def note(self, sent: bytes) -> None:
        """Note what is in a message of the server."""
        message = ForwardMsg.FromString(sent)
        self.fields |= _declared(message)
        if message.delta.fragment_id:
            self.fragments.add(message.delta.fragment_id)
        if message.new_session.page_script_hash:
            self.hashes.add(message.new_session.page_script_hash)


def _declared(message: ForwardMsg) -> dict[str, str]:
    """Return the ids of the widgets that a message to a browser shows, and the field that the value of each has."""
    which = message.delta.WhichOneof("type")
    if which not in ("new_element", "add_block"):
        return {}
    part = getattr(message.delta, which)
    name = part.WhichOneof("type")
    usual = USUAL.get(name or "")
    if not usual or not (inner := getattr(part, name)).id:
        return {}
    if name == "bidi_component":
        return {inner.id: usual, EVENTS_ID.format(inner.id): "json_trigger_value"}
    is_of_texts = name == "slider" and inner.type == Slider.SELECT_SLIDER
    return {inner.id: "string_array_value" if is_of_texts else usual}


def breaches(count: int, seed: int, shown: Shown) -> list[bytes | str]:
    """Return messages that the server is to refuse, those of several megabytes among them."""
    random = Random(seed)
    return [_breach(random, shown) for _ in range(count)]


def wrongly_typed(count: int, seed: int, shown: Shown, page_hash: str) -> list[bytes]:
    """Return changes of widgets by values of another type than theirs.

    The types take turns, and go on where those of the seed before ended.
    """
    random, types = Random(seed), list(FIELDS)
    turns = (types[(seed * count + number) % len(types)] for number in range(count))
    return [_wrong_change(random, shown, page_hash, wrong) for wrong in turns]


def well_typed(count: int, seed: int, shown: Shown, page_hash: str) -> list[bytes]:
    """Return changes of widgets by values of the right type that no browser would send."""
    random = Random(seed)
    messages = []
    for _ in range(count):
        message = BackMsg()
        asked = message.rerun_script
        asked.page_script_hash = page_hash
        if random.random() < 0.3:
            asked.fragment_id = random.choice(sorted(shown.fragments))
        for _ in range(random.randint(1, 3)):
            name, usual = random.choice(sorted(shown.fields.items()))
            value = (WELL_FORMED.get(usual) or FIELDS[usual])(random)
            asked.widget_states.widgets.append(WidgetState(id=name, **{usual: value}))
        messages.append(_bytes(message))
    return messages


def _breach(random: Random, shown: Shown) -> bytes | str:
    kind = random.random()
    if kind < 0.03:
        return random.choice((_widgets, _empty_widgets, _query, _addresses))()
    if kind < 0.12:
        return random.choice((random.randbytes(random.randint(0, 500)), SECRET, "\0" * 100))
    if kind < 0.6:
        return _other(random)
    message = BackMsg.FromString(_wrong_change(random, shown, random.choice(sorted(shown.hashes))))
    if kind < 0.8:
        return _bytes(message)[: -random.randint(1, 3)]
    setattr(message.rerun_script, random.choice(("page_script_hash", "page_name", "fragment_id")), SECRET * 100)
    return _bytes(message)


def _wrong_change(random: Random, shown: Shown, page_hash: str, wrong: str = "") -> bytes:
    """A change of widgets by a value of another type: of this field, or of a random one."""
    message = BackMsg()
    asked = message.rerun_script
    asked.query_string = random.choice(["", f"text={SECRET}", "step=weights&layer=%ff"])
    asked.page_script_hash = random.choice([page_hash, page_hash, *sorted(shown.hashes), SECRET])
    asked.page_name = random.choice(["", "tokens", "heads", SECRET])
    asked.fragment_id = random.choice(["", *sorted(shown.fragments), SECRET, "0" * 32])
    asked.widget_states.widgets.add(id=f"$$ID-{random.randbytes(16).hex()}-{SECRET}", string_value=SECRET)
    name, usual = random.choice(sorted(shown.fields.items()))
    wrong = wrong or random.choice(list(FIELDS))
    field = "bytes_value" if wrong == usual or {wrong, usual} <= {"double_value", "int_value"} else wrong
    asked.widget_states.widgets.append(WidgetState(id=name, **{field: FIELDS[field](random)}))
    return _bytes(message)


def _bytes(message: BackMsg) -> bytes:
    written: bytes = message.SerializeToString()
    return written


def _sent(random: Random) -> dict[str, Any]:
    return {random.choice(NAMES): random.choice(THINGS) for _ in range(random.randint(0, 3))}


def _json(random: Random) -> str:
    sent = _sent(random)
    return json.dumps(random.choice((sent, sent, {"value": sent}, random.choice(THINGS))))


def _events(random: Random) -> str:
    sent = _sent(random)
    events = [{"event": name, "value": value} for name, value in sent.items()]
    return json.dumps(random.choice((events, events, events, sent, [sent], random.choice(THINGS), {"event": sent})))


def _other(random: Random) -> bytes:
    """What a browser may ask for, but not of a server for the public."""
    switches = ("clear_cache", "set_run_on_save", "stop_script", "load_git_info", "debug_disconnect_websocket",
                "debug_shutdown_runtime", "app_heartbeat")  # fmt: skip
    asked: Any = random.choice(
        [{}, *({name: True} for name in switches),
         {"file_urls_request": {"request_id": SECRET, "file_names": [SECRET] * random.choice((1, 5, 1_000))}},
         {"backend_operation_request": {"install_skills": {}}},
         {"backend_operation_request": {"deferred_file": {"file_id": SECRET}}},
         {"backend_operation_request": {"dataframe_chunk": {"source_id": SECRET}}}]
    )  # fmt: skip
    return _bytes(BackMsg(**asked))


def _of_widgets(widgets: Iterable[WidgetState]) -> bytes:
    return _bytes(BackMsg(rerun_script=ClientState(widget_states=WidgetStates(widgets=widgets))))


@cache
def _widgets() -> bytes:
    return _of_widgets(WidgetState(id=f"$$ID-{number}", string_value=SECRET) for number in range(200_000))


@cache
def _empty_widgets() -> bytes:
    return _of_widgets(WidgetState() for _ in range(200_000))


@cache
def _query() -> bytes:
    return _bytes(BackMsg(rerun_script=ClientState(query_string=f"text={SECRET}" * 2**18)))


@cache
def _addresses() -> bytes:
    return _bytes(BackMsg(file_urls_request=FileURLsRequest(file_names=[""] * 1_000_000)))


async def visit(url: str, address: str, messages: list[bytes | str], pause: float) -> int:
    """Send messages as one visitor, from an address of this machine; return how many were sent.

    Where the server closes the connection, the next message comes over a new one.
    """
    netloc = urlsplit(url).netloc
    left = list(messages)
    refused = 0
    while left and refused < 20:
        try:
            async with connect(
                f"ws://{netloc}/_stcore/stream", origin=f"http://{netloc}", subprotocols=["streamlit"],  # type: ignore[arg-type, list-item]
                local_addr=(address, 0), max_size=None, proxy=None, open_timeout=30, close_timeout=1,
            ) as socket:  # fmt: skip
                reader = asyncio.create_task(_read(socket))
                while left and not reader.done():
                    await socket.send(left.pop())
                    await asyncio.wait([reader], timeout=pause)
                reader.cancel()
        except (WebSocketException, OSError):
            refused += 1
            await asyncio.sleep(pause)
    return len(messages) - len(left)


async def _read(socket: Any) -> None:
    with suppress(WebSocketException):
        async for _ in socket:
            pass


async def visit_nobody(messages: list[bytes | str], visitors: int, seconds: float) -> int:
    """Send messages to a server in this process that reads one of a connection and closes it, as a refusal does."""

    async def refuse(connection: ServerConnection) -> None:
        with suppress(WebSocketException):
            await connection.recv()

    subprotocols = [Subprotocol("streamlit")]
    async with serve(refuse, "127.0.0.1", 0, subprotocols=subprotocols, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        return await visit_all(f"http://127.0.0.1:{port}", messages, visitors, seconds)


async def visit_all(url: str, messages: list[bytes | str], visitors: int, seconds: float) -> int:
    """Send messages as `visitors` visitors, spread over `seconds`; return how many were sent."""
    each = [messages[start::visitors] for start in range(visitors)]
    pause = seconds / max(map(len, each))
    visits = []
    for number, own in enumerate(each):
        visits.append(asyncio.create_task(visit(url, f"127.0.1.{1 + number % 200}", own, pause)))
        await asyncio.sleep(pause / visitors)
    return sum(await asyncio.gather(*visits))

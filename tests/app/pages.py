"""Opening a page of `app.py` by a link, without a browser, and reading what it says."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import numpy as np
import pytest
from streamlit.runtime.scriptrunner import ScriptRunContext
from streamlit.runtime.state.session_state_proxy import SessionStateProxy
from streamlit.testing.v1 import AppTest

from attnviz.ui import FRAME
from tests.payloads import Payload, read_payload

_numbers = count(1)
SETTINGS = ("pane_A", "pane_B", "more_settings", "more_of_model", "text_part", "off_heads")
"""The buttons with settings behind them, which a visitor finds closed"""
SETTINGS_OPEN: Mapping[str, object] = dict.fromkeys(SETTINGS, True)

APP = FRAME
"""What `app.py` serves"""
BAD_SELECTIONS: tuple[object, ...] = (
    {}, {"selection": {}}, {"selection": []}, {"selection": {"points": None}}, {"selection": {"points": []}},
    {"selection": {"points": [5]}}, {"selection": {"points": [None]}}, {"selection": {"points": {"a": 1}}},
    {"selection": {"points": "ab"}}, {"selection": {"points": [{}]}}, {"selection": {"points": [{"customdata": {}}]}},
    {"selection": {"points": [{"customdata": [-1, True]}]}}, {"selection": {"points": [{"customdata": ["a", None]}]}},
)  # fmt: skip
"""Messages about a plot that no page sends"""


def open_page(name: str = "", opened: Mapping[str, object] | None = None, /, **query: str) -> AppTest:
    """Open a page of pages/ with a link's query; without a name, the one at the app's own address.

    `opened` holds the values of tabs, expanders and popovers, by their keys, that no link says; without them all are as
    a visitor finds them. `SETTINGS_OPEN` are the popovers with settings.
    """
    at = AppTest.from_file(str(APP), default_timeout=120)
    if name:
        return go_to_page(at, name, query, opened)
    at.query_params.update(query)
    return open_parts(at, **(opened or {}))


def go_to_page(at: AppTest, name: str, query: Mapping[str, str], opened: Mapping[str, object] | None = None) -> AppTest:
    """Open a link on a page of pages/ in a running session; `opened` as in `open_page`."""
    for key in list(at.query_params):  # what the page before has put there
        del at.query_params[key]
    at.switch_page(f"../../pages/{name}.py")
    at.query_params.update(query)
    return open_parts(at, **(opened or {}))


def open_parts(at: AppTest, **values: object) -> AppTest:
    """Open tabs, expanders and popovers by their keys, and run the page."""
    for key, value in values.items():
        at.session_state[key] = value
    at.run()
    assert not at.exception
    return at


def page_links(at: AppTest) -> list[Any]:
    """Return the messages of the page's links to views, without those of the bar with the places."""
    in_bar = {id(child) for block in blocks(at._tree) if in_places(block) for child in block.children.values()}
    return [one.proto for one in at.get("page_link") if id(one) not in in_bar]


def in_places(block: Any) -> bool:
    """Whether a block is a row of the bar with the places."""
    return str(getattr(block.proto, "id", "")).endswith(("place_list", "chapter_list"))


def blocks(block: Any) -> Iterator[Any]:
    """Yield the blocks in a block, at any depth."""
    for child in block.children.values():
        if hasattr(child, "children"):
            yield child
            yield from blocks(child)


def lines_of_torch(at: AppTest) -> str:
    """Open "In torch" of a part of BERT, and return its lines, which are not sent before."""
    assert not at.code
    open_parts(at, in_torch=True)
    (code,) = at.code
    return code.value


def choose(at: AppTest, name: str, value: object) -> AppTest:
    """Choose something in the walk, as the browser sends it."""
    return send_update(at, "walk", {"number": next(_numbers), "values": {name: value}})


def send_update(at: AppTest, component: str, message: object, first_of: int = 1) -> AppTest:
    """Send a message of a browser component about values that its user has changed, and run the page."""
    return send(at, component, "updates", message, first_of)


def send(at: AppTest, component: str, event: str, value: object, first_of: int = 1) -> AppTest:
    """Send what the first of the components of this name sends under the name of an event, and run the page."""
    shown, *others = [one.proto for one in at.get("bidi_component") if _name(one.proto.bytes) == component]
    assert 1 + len(others) == first_of
    states = at._tree.get_widget_states()
    states.widgets.add(
        id=f"$$STREAMLIT_INTERNAL_KEY_{shown.id}__events",
        json_trigger_value=json.dumps([{"event": event, "value": value}]),
    )
    return at._run(states)


def select(at: AppTest, message: object) -> AppTest:
    """Send what a browser sends when something is selected in the first plot of the page, and run the page."""
    states = at._tree.get_widget_states()
    states.widgets.add(id=at.get("plotly_chart")[0].proto.id, string_value=json.dumps(message))
    return at._run(states)


def boxes(at: AppTest, kind: str) -> list[str]:
    """Read the page's messages of a kind as they are shown, without the backslashes that keep Markdown out."""
    return [re.sub(r"\\(.)", r"\1", box.value) for box in at.get(kind)]


def messages(at: AppTest) -> str:
    """Read all of the page's messages as they are shown."""
    return " ".join(box for kind in ("warning", "error", "info") for box in boxes(at, kind))


def captions(at: AppTest) -> str:
    return " ".join(one.value for one in at.caption)


def html(at: AppTest, part: str = "") -> str:
    """Return the page's blocks of HTML in which this part stands."""
    return " ".join(one.proto.body for one in at.get("html") if part in one.proto.body)


def sent(at: AppTest, component: str) -> list[bytes]:
    """Return what each browser component of this name is sent."""
    shown = [one.proto for one in at.get("bidi_component")]
    return [proto.bytes for proto in shown if _name(proto.bytes) == component]


def _name(data: bytes) -> str:
    name: str = read_payload(data)[0]["component"]
    return "walk" if name == "transformer" else name  # the same walk, with a diagram in place of a row of steps


def payloads(at: AppTest) -> list[tuple[str, Payload]]:
    """Return the name of each browser component on the page, and the header and the arrays that it is sent."""
    shown = [one.proto for one in at.get("bidi_component")]
    return [(_name(proto.bytes), read_payload(proto.bytes)) for proto in shown]


def payload(at: AppTest, component: str) -> Payload:
    """Read the header and the arrays that the one component of this name is sent."""
    (found,) = sent(at, component)
    return read_payload(found)


def go_through_history(patch: pytest.MonkeyPatch) -> None:
    """From here on each run is one that the browser's back or forward button begins."""
    reset = ScriptRunContext.reset

    def went_back(self: ScriptRunContext, *args: Any, **kwargs: Any) -> None:
        reset(self, *args, **{**kwargs, "is_history_navigation": True})

    patch.setattr(ScriptRunContext, "reset", went_back)


@contextmanager
def ended_after(writes: int) -> Iterator[None]:
    """End the block after `writes` writes to the session's state, as Streamlit ends a run for another message."""
    left, write = writes, SessionStateProxy.__setitem__

    def write_or_end(self: SessionStateProxy, key: str, value: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise InterruptedError
        write(self, key, value)

    with suppress(InterruptedError), pytest.MonkeyPatch.context() as patch:
        patch.setattr(SessionStateProxy, "__setitem__", write_or_end)
        yield


def figures(at: AppTest) -> list[dict[str, Any]]:
    """Return the Plotly figures of the page, in order."""
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


def numbers(value: Any) -> np.ndarray:
    """Return the numbers of a figure, which are written as bytes where there are many."""
    if isinstance(value, dict):
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        return flat.reshape([int(size) for size in value["shape"].split(", ")]) if "shape" in value else flat
    return np.array(value, dtype=float)

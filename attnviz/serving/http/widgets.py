"""The widgets that this server has shown, and the kind of value that a browser may send for each.

The server declares a widget by sending the element with its id. An id is a hash of the widget's definition, so it has
the same kind in every session.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider

REMEMBERED = 20_000
"""The most ids in memory; the least recently used one is dropped. A page has some 50, most of them in all sessions."""
ID = b"$$ID-"
"""The prefix of Streamlit's ids. A message without it declares no widget and is not parsed."""
EVENTS_ID = "$$STREAMLIT_INTERNAL_KEY_{}__events"
"""The second id of a component of API version 2, for its events."""
JSON = 200_000
"""The longest JSON of one widget in characters; a lesson has up to 100,000 bytes."""
DEPTH = 32
"""The deepest nesting in one widget's JSON."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a widget sends: one of these fields of `WidgetState`, with a valid value."""

    fields: tuple[str, ...]
    valid: Callable[[Any], bool] = lambda _: True


def _is_finite(value: float) -> bool:
    return math.isfinite(value)


def _are_finite(values: Any) -> bool:
    return all(map(math.isfinite, values.data))


def _is_state(text: str) -> bool:
    """Whether this is the state of a component: a JSON object."""
    return isinstance(read_json(text), dict)


def _is_events(text: str) -> bool:
    """Whether these are events of a component: {"event": name, "value": anything}, or a list of such objects."""
    sent = read_json(text)
    events = sent if isinstance(sent, list) else [sent]
    return all(isinstance(event, dict) and isinstance(event.get("event"), str) for event in events)


def _is_selection(text: str) -> bool:
    """Whether this is a selection in a chart."""
    sent = read_json(text)
    return isinstance(sent, dict) and isinstance(sent.get("selection"), dict)


def _is_table_selection(text: str) -> bool:
    """Whether this is a selection in a table: row numbers, column names, and cells, (row, column) each."""
    sent = read_json(text)
    selection = sent.get("selection") if isinstance(sent, dict) else None
    if not isinstance(selection, dict):
        return False
    rows, columns, cells = (selection.get(name, []) for name in ("rows", "columns", "cells"))
    if not all(isinstance(part, list) for part in (rows, columns, cells)):
        return False
    return (
        all(map(_is_row, rows))
        and all(isinstance(name, str) for name in columns)
        and all(isinstance(cell, list) and len(cell) == 2 and _is_row(cell[0]) for cell in cells)
    )


def _is_row(sent: object) -> bool:
    return isinstance(sent, int) and not isinstance(sent, bool) and 0 <= sent < 2**31


TEXT = Kind(("string_value",))
SWITCH = Kind(("bool_value",))
CLICK = Kind(("trigger_value",))
NUMBER = Kind(("double_value", "int_value"), _is_finite)
NUMBERS = Kind(("double_array_value",), _are_finite)
TEXTS = Kind(("string_array_value",))
FILES = Kind(("file_uploader_state_value",))
SELECTION = Kind(("string_value",), _is_selection)
STATE = Kind(("json_value",), _is_state)
EVENTS = Kind(("json_trigger_value",), _is_events)

KINDS = {
    "bidi_component": STATE,
    "button": CLICK,
    "button_group": TEXTS,
    "camera_input": FILES,
    "audio_input": FILES,
    "chat_input": Kind(("chat_input_value",)),
    "checkbox": SWITCH,
    "color_picker": TEXT,
    "dataframe": Kind(("string_value",), _is_table_selection),
    "date_input": TEXTS,
    "date_time_input": TEXTS,
    "deck_gl_json_chart": SELECTION,
    "dialog": CLICK,
    "download_button": CLICK,
    "echarts_chart": SELECTION,
    "expandable": SWITCH,
    "feedback": TEXT,
    "file_uploader": FILES,
    "link_button": CLICK,
    "menu_button": Kind(("string_trigger_value",)),
    "multiselect": TEXTS,
    "number_input": NUMBER,
    "pagination": Kind(("int_value",)),
    "plotly_chart": SELECTION,
    "popover": SWITCH,
    "radio": TEXT,
    "selectbox": TEXT,
    "slider": NUMBERS,
    "tab_container": TEXT,
    "text_area": TEXT,
    "text_input": TEXT,
    "time_input": TEXT,
    "vega_lite_chart": SELECTION,
}
"""What each type of element or block sends, in the Streamlit version that pyproject.toml allows. Editable tables and
components of API version 1 are missing, because attnviz has none: their messages are refused."""


class Widgets:
    """The kinds of the widgets that this server has shown, by id."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._kinds: OrderedDict[str, Kind] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kinds)

    def note(self, sent: bytes) -> None:
        """Record the widgets that a message to a browser declares. `sent` is a serialised ForwardMsg."""
        for name, kind in declared(sent):
            self._kinds[name] = kind
            self._kinds.move_to_end(name)
            if len(self._kinds) > self._remembered:
                self._kinds.popitem(last=False)

    def kind(self, name: str) -> Kind | None:
        """Return the kind of the widget with this id; None if no such widget was shown."""
        found = self._kinds.get(name)
        if found is not None:
            self._kinds.move_to_end(name)
        return found


def declared(sent: bytes) -> Iterator[tuple[str, Kind]]:
    """Yield the id and the kind of each widget that a serialised ForwardMsg declares."""
    if ID not in sent:
        return
    message = ForwardMsg.FromString(sent)
    for part in _parts(message.delta):
        name = part.WhichOneof("type")
        kind = KINDS.get(name)
        if kind is None:
            continue
        inner = getattr(part, name)
        if not inner.id:
            continue
        if name == "slider" and inner.type == Slider.SELECT_SLIDER:
            kind = TEXTS
        yield inner.id, kind
        if kind is STATE:
            yield EVENTS_ID.format(inner.id), EVENTS


def _parts(delta: Delta) -> Iterator[Any]:
    """Yield the elements and blocks of a delta."""
    which = delta.WhichOneof("type")
    if which == "new_transient":
        yield from delta.new_transient.elements
    elif which:
        yield getattr(delta, which)


def read_json(text: str) -> Any:
    """Parse JSON from a browser; return None if it is invalid.

    It is also invalid if it is longer than `JSON`, nested deeper than `DEPTH`, or contains NaN, an infinity, or a lone
    surrogate, which Python can parse but not encode.
    """
    if len(text) > JSON:
        return None
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value) else None


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False

"""What a page shows, read off Streamlit's elements: texts, widgets with their values, tables and payloads."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.app.pages import payloads
from tests.app.views.payloads import Seen, seen_in

WAITS = 120
"""Seconds"""
MARKDOWN = {"markdown", "caption", "title", "header", "subheader", "info", "warning", "error", "success"}
LABELLED = {"popover", "expander", "tab", "status", "dialog"}
WRAPPING = {
    "main", "sidebar", "event", "bottom", "flex_container", "column", "tab_container", "empty", "divider",
    "transparent",  # what a fragment puts into a container outside of it
}  # fmt: skip


def look(at: AppTest, query: Mapping[str, str]) -> Seen:
    """Return all that the page shows, opened by a link with this query; where it changes the address, that too.

    What is computed meanwhile is waited for.
    """
    end, values = time.monotonic() + WAITS, _values_of(at)
    while at.get("progress") and time.monotonic() < end:
        time.sleep(0.1)
        at.run()
        values |= _values_of(at)
        _fill_in(at, values)
    address = dict(at.query_params)
    seen = Seen([f"address: {'as the link' if address == query else sorted(address.items())}", *texts(at._tree)])
    for component, (header, arrays) in payloads(at):
        more = seen_in(component, header, arrays)
        seen.texts += more.texts
        for name, several in more.arrays.items():
            seen.arrays[name] += several
    return seen


def _elements(block: Any) -> Iterator[Any]:
    """Yield the elements of a block and of the blocks in it."""
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from _elements(child)
        else:
            yield child


def _values_of(at: AppTest) -> dict[str, Any]:
    """Return the widgets whose values the server has sent, by their ids."""
    return {one.proto.id: one.proto for one in _elements(at._tree) if getattr(one.proto, "set_value", False)}


def _fill_in(at: AppTest, values: Mapping[str, Any]) -> None:
    """Set what a browser remembers: the server sends a widget's value once, not again with each run that follows."""
    for element in _elements(at._tree):
        proto = element.proto
        if not getattr(proto, "set_value", True) and proto.id in values:
            for name in {"raw_values", "raw_value", "value"} & set(proto.DESCRIPTOR.fields_by_name):
                proto.ClearField(name)
                sent = getattr(values[proto.id], name)
                if isinstance(sent, int | float | str):
                    setattr(proto, name, sent)
                else:
                    getattr(proto, name).extend(sent)


def texts(block: Any) -> Iterator[str]:
    """Yield what is to be read in a block, in order."""
    for child in block.children.values():
        if hasattr(child, "children"):
            if child.type in LABELLED:
                yield f"{child.type}: {getattr(child.proto, child.type, child.proto).label}"
            elif child.type not in WRAPPING:
                raise ValueError(f"a recording does not know blocks of the kind {child.type}")
            yield from texts(child)
        elif child.type not in WRAPPING and child.type != "bidi_component":
            yield from filter(None, _texts(child))


def _texts(element: Any) -> list[str]:
    proto = element.proto
    read = {
        **dict.fromkeys(
            MARKDOWN, lambda: f"{element.type}: " + re.sub(r"\\(.)", r"\1", proto.body)
        ),  # \\ keeps Markdown out
        "latex": lambda: f"formula: {proto.body}",
        "html": lambda: Page(proto.body).text,
        "code": lambda: f"code: {proto.code_text}",
        "metric": lambda: f"metric {proto.label}: {proto.body}",
        "dataframe": lambda: f"table: {element.value.to_csv(index=False, float_format='%.4f')}",
        "table": lambda: f"table: {element.value.to_csv()}",
        "plotly_chart": lambda: f"plot of {_plotted(json.loads(proto.spec))}",
        "page_link": lambda: f"link {proto.label}: {proto.page}?{proto.query_string}",
    }
    return [read[element.type]()] if element.type in read else _widget(element.type, proto)


def _plotted(figure: dict[str, Any]) -> str:
    """Return the titles of a figure's axes, and the names of its lines."""
    axes = [figure["layout"].get(axis, {}).get("title", {}).get("text", "") for axis in ("yaxis", "xaxis")]
    return " over ".join(filter(None, axes)) + "".join(f", {one['name']}" for one in figure["data"] if "name" in one)


def _widget(kind: str, proto: Any) -> list[str]:
    fields = proto.DESCRIPTOR.fields_by_name
    if "label" not in fields:
        raise ValueError(f"a recording does not know elements of the kind {kind}")
    options = [getattr(option, "content", option) for option in getattr(proto, "options", ())]
    about = [getattr(proto, name) for name in ("help", "placeholder") if name in fields and getattr(proto, name)]
    name = f"{kind} {proto.label}"
    return [
        f"{name}: {_value(proto)}",
        f"{name} offers: {' | '.join(options)}" if options else "",
        *(f"{name} says: {hint}" for hint in about),
    ]


def _value(proto: Any) -> str:
    """Return what a widget is set to, as it is shown; nothing where it is set to nothing or holds no value."""
    values = (getattr(proto, name, None) for name in ("raw_values", "raw_value", "value"))
    value = next((one for one in values if one or isinstance(one, bool | float)), "")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str | bool):
        return str(value)
    return ", ".join(f"{one:g}" if isinstance(one, float) else one for one in value)


class Page(HTMLParser):
    """The text of an HTML fragment and of its hints, without its styles."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self._said: list[str] = []
        self._silent = False
        self._is_marked = False
        """Inside of words that light the picture, which stand in their sentence without a space of their own"""
        self._goes_on = False
        self.feed(body)
        self.close()

    @property
    def text(self) -> str:
        """The words, with one space wherever there are several or a tag stands."""
        return " ".join(" ".join(self._said).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag == "style"
        self._is_marked = self._goes_on = ("class", "marked") in attrs
        self._said += [f"[{value}]" for name, value in attrs if name in ("title", "alt", "aria-label") and value]

    def handle_endtag(self, _tag: str) -> None:
        self._silent = False
        self._goes_on, self._is_marked = self._is_marked, False

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._goes_on and self._said:
            data = self._said.pop() + data
        self._said.append(data)
        self._goes_on = False

"""Trainings on a running server: whatever a browser sends, it neither sees nor ends another visitor's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attnviz.links.pages import PAGES
from attnviz.serving.arrays import PATH
from tests.browser.server import Server
from tests.payloads import read_payload
from tests.safety.client import Shown, Visitor
from tests.safety.hostile import EVENTS_ID
from tests.safety.links import HOSTILE
from tests.safety.test_arrays import get

SLOW = "steps=6000&batch=4"
NAME = "x" * 22
"""Of the length that names of visitors have"""


class Trainee:
    """A visitor of the page Train."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._number, self._widget, self._page = visitor, 0, "", ""
        self.header: dict[str, Any] = {}
        """What the component was told last"""
        visitor.note = self._note

    def open(self, query: str = SLOW) -> Shown:
        """Open the page by a link."""
        return self._visitor.open("train", query)

    def send(self, **values: object) -> Shown:
        """Send what the component would send, and return what the page then shows."""
        self._number += 1
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = SLOW, self._page
        event = {"event": "updates", "value": {"number": self._number, "values": values}}
        asked.widget_states.widgets.add(id=EVENTS_ID.format(self._widget), json_trigger_value=json.dumps([event]))
        self._visitor.send_raw(message.SerializeToString())
        shown = Shown()
        while not shown.take(self._visitor.receive()):
            pass
        return shown

    @property
    def newest(self) -> dict[str, Any]:
        """The newest training, or the model before the first."""
        found: dict[str, Any] = self.header["runs"][-1]
        return found

    def _note(self, raw: bytes) -> None:
        message = ForwardMsg.FromString(raw)
        element = message.delta.new_element
        if message.WhichOneof("type") == "navigation":
            self._page = message.navigation.page_script_hash
        if element.WhichOneof("type") == "bidi_component":
            header = read_payload(element.bidi_component.bytes)[0]
            if header["component"] == "training":
                self._widget, self.header = element.bidi_component.id, header


@contextmanager
def trainee(server: Server) -> Iterator[Trainee]:
    with Visitor(server.url) as visitor:
        yield Trainee(visitor)


@pytest.mark.parametrize("part", ["task", "text", "generate"])
def test_a_link_with_nonsense_in_every_key_breaks_nothing_and_starts_nothing(served: Server, part: str) -> None:
    keys = [key for key in PAGES["train"].link_keys(None) if key != "train_part"]
    with Visitor(served.url) as visitor:
        for value in HOSTILE[::3] if part != "task" else HOSTILE:
            shown = visitor.open("train", f"train_part={part}&" + "&".join(f"{key}={quote(value)}" for key in keys))
            assert not shown.broke, (value, shown.text)


def test_nobody_sees_or_ends_the_training_of_another(served: Server) -> None:
    logged = len(served.log_text())
    with trainee(served) as first, trainee(served) as second:
        assert not first.open().broke
        assert not second.open().broke
        assert not first.send(commands=[[1, "train"]], slow=200).broke
        _see_a_step(first, after=0)
        name, run = first.header["values"]["visitor"], first.newest["id"]
        guesses = [NAME, name[:-1] + ("a" if name[-1] != "a" else "b"), name.swapcase(), f"{name} ", name[:21]]
        for number, hostile in enumerate([
            *({"visitor": guess, "run": run, "commands": [[9, "stop"]]} for guess in guesses),
            {"run": run, "snapshot": 0, "commands": [[10, "stop"]]}, {"run": run, "commands": [[11, "continue"]]},
            {"commands": [[-1, "train"]]}, {"commands": [[12, "train" * 9000]]}, {"commands": {"train": 1}},
            {"slow": 1e308}, {"slow": [10**9]}, {"visitor": {"visitor": name}}, {"watch": ["decoder.0.0"], "pin": "q"},
            {"commands": [[13, "open ../../x"]]}, {"commands": [[14, "open train"]]},
        ]):  # fmt: skip
            assert not second.send(**hostile).broke, number
            assert [one["state"] for one in second.header["runs"]] == ["new"], hostile
            assert second.header["values"]["visitor"] != name
        before = first.newest["step"]
        _see_a_step(first, after=before)
        assert first.newest["state"] == "running"
        _check_arrays(served, first.newest["digest"], second.newest["digest"])
        first.send(commands=[[2, "stop"]])
    assert "Traceback" not in served.log_text()[logged:]


def _see_a_step(trainee: Trainee, after: int) -> None:
    """Send messages until a training has made a step after this one."""
    end = time.monotonic() + 20
    while trainee.newest["step"] <= after:
        assert time.monotonic() < end, trainee.newest
        trainee.send()


def _check_arrays(server: Server, digest: str, other: str) -> None:
    """Attention is there at the snapshots of a training, and nothing is at others."""
    assert get(server, f"{PATH}{digest}~s.0")[0] == 200
    assert digest != other
    for part in (
        "s.77777",
        "a.77777",
        "s",
        "s.",
        "s.-1",
        "s" + ".0" * 17,
        "s.0.77777",
        "a",
        "a.0.0",
        "x.0",
        "s.٣",
        "~",
    ):
        code, _, body = get(server, f"{PATH}{digest}~{quote(part)}")
        assert code in (400, 404), part
        assert len(body) < 100
    assert get(server, f"{PATH}{digest[:-1]}~s.0")[0] == 404

"""What becomes of a connection whose messages are not taken, and of one that a foreign page opens."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

import pytest
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attnviz.serving.http.incoming import MOST_REFUSED, CheckedMessages
from attnviz.serving.http.origins import SameOrigin, is_foreign
from attnviz.serving.http.traffic import Traffic
from attnviz.settings import PUBLIC
from tests.threads import run_in_thread

STREAM = {"type": "websocket", "path": "/_stcore/stream", "headers": []}
FIELD = "$$ID-1-text"
SECRET = "Rumpelstilz"


class Streamlit:
    """Shows a text field, and then reads until the browser is gone; at last it says something."""

    def __init__(self) -> None:
        self.read: list[Message] = []
        self.could_say = True

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        element = Element()
        element.text_input.id = FIELD
        shown = ForwardMsg(delta=Delta(new_element=element)).SerializeToString()
        await send({"type": "websocket.send", "bytes": shown})
        while not self.read or self.read[-1]["type"] != "websocket.disconnect":
            self.read.append(await receive())
        try:
            await send({"type": "websocket.send", "bytes": b""})
        except OSError:
            self.could_say = False


def visit(*sent: bytes | str) -> tuple[Streamlit, list[Message], Counter[str]]:
    """Send messages over a connection; return the app, what the browser was sent, and the counts."""
    app, traffic, answers = Streamlit(), Traffic(PUBLIC), []
    messages = iter([*({"type": "websocket.receive", "text" if isinstance(one, str) else "bytes": one} for one in sent),
                     {"type": "websocket.disconnect", "code": 1001}])  # fmt: skip

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        answers.append(message)

    run_in_thread(CheckedMessages(app, traffic)(dict(STREAM), receive, send))
    return app, answers, traffic.refused


def typed(*values: str | int, name: str = FIELD) -> bytes:
    message = BackMsg()
    for value in values:
        widget = message.rerun_script.widget_states.widgets.add(id=name)
        if isinstance(value, str):
            widget.string_value = value
        else:
            widget.int_value = value
    frame: bytes = message.SerializeToString()
    return frame


def kinds(messages: Iterable[Message]) -> list[str]:
    return [message["type"].removeprefix("websocket.") for message in messages]


def test_valid_messages_are_passed_on_unchanged() -> None:
    app, answers, refused = visit(typed("a text"), typed("another"))
    assert [message.get("bytes") for message in app.read] == [typed("a text"), typed("another"), None]
    assert kinds(answers) == ["send", "send"]
    assert not refused


def test_a_value_of_the_wrong_type_is_dropped_and_the_connection_goes_on() -> None:
    app, answers, refused = visit(typed(3), typed("a text"))
    assert [message.get("bytes") for message in app.read] == [typed("a text"), None]
    assert kinds(answers) == ["send", "send"]
    assert refused == {"message_type": 1}


def test_a_widget_that_was_not_shown_is_left_out() -> None:
    app, _, refused = visit(typed("a text", "another", name="$$ID-2-other"))
    assert not BackMsg.FromString(app.read[0]["bytes"]).rerun_script.widget_states.widgets
    assert refused == {"unknown_widget": 2}


@pytest.mark.parametrize("sent", ["text", b"\xff" * 50, typed(*["a"] * 501)])
def test_what_no_browser_sends_closes_the_connection(sent: bytes | str) -> None:
    app, answers, refused = visit(sent, typed("a text"))
    assert kinds(app.read) == ["disconnect"]
    assert answers[-1] == {"type": "websocket.close", "code": 1008}
    assert refused.total() == 1
    assert not app.could_say


def test_a_message_that_uvicorn_found_too_large_is_counted() -> None:
    app, traffic = Streamlit(), Traffic(PUBLIC)

    async def receive() -> Message:
        return {"type": "websocket.disconnect", "code": 1009}

    async def send(_: Message) -> None:
        pass

    run_in_thread(CheckedMessages(app, traffic)(dict(STREAM), receive, send))
    assert kinds(app.read) == ["disconnect"]
    assert traffic.refused == {"message_size": 1}


def test_repeated_wrong_types_close_the_connection() -> None:
    app, answers, refused = visit(*[typed(3)] * 100)
    assert kinds(app.read) == ["disconnect"]
    assert answers[-1]["type"] == "websocket.close"
    assert refused == {"message_type": MOST_REFUSED + 1}


def test_the_log_has_one_line_per_connection_and_no_values(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        visit(*[typed(SECRET, 3)] * 10, SECRET)
    (record,) = caplog.records
    assert record.getMessage() == "A browser sent a message that is not taken: type"
    assert record.exc_info is None


@pytest.mark.parametrize(("origin", "host", "foreign"), [
    (None, "a.example", False),
    ("https://a.example", "a.example", False),
    ("http://A.example:8501", "a.example:8501", False),
    ("http://[::1]:8501", "[::1]:8501", False),
    ("https://evil.example", "a.example", True),
    ("https://a.example@evil.example", "a.example", True),
    ("http://localhost:3000", "localhost:8501", True),
    ("http://a.example:8501", "a.example", True),
    ("https://a.example", None, True),
    ("http://[", "[", True),
    ("null", "a.example", True),
    ("", "a.example", True),
])  # fmt: skip
def test_which_pages_are_foreign(origin: str | None, host: str | None, foreign: bool) -> None:
    headers = {name: value for name, value in (("origin", origin), ("host", host)) if value is not None}
    assert is_foreign(Headers(headers)) is foreign


def test_a_foreign_pages_websocket_is_refused_before_it_opens() -> None:
    traffic, answers, asked = Traffic(PUBLIC), [], []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope)

    async def send(message: Message) -> None:
        answers.append(message)

    app = SameOrigin(inner, traffic)
    headers = [(b"host", b"a.example"), (b"origin", b"https://evil.example")]
    run_in_thread(app({**STREAM, "headers": headers}, None, send))
    assert answers == [{"type": "websocket.close", "code": 1008}]
    assert traffic.refused == {"origin": 1}
    assert not asked
    run_in_thread(app({**STREAM, "headers": headers[:1]}, None, send))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("method", "origin", "is_served"),
    [("POST", "https://evil.example", False), ("POST", "null", False), ("POST", "https://a.example", True),
     ("POST", None, True), ("GET", "https://evil.example", True)],
)  # fmt: skip
def test_only_our_own_pages_can_make_the_server_write_a_file(method: str, origin: str | None, is_served: bool) -> None:
    served: list[Scope] = []
    answers: list[Message] = []
    traffic = Traffic(PUBLIC)

    async def inner(scope: Scope, _receive: Receive, _send: Send) -> None:
        served.append(scope)

    async def send(message: Message) -> None:
        answers.append(message)

    headers = [(b"host", b"a.example"), *([(b"origin", origin.encode())] if origin else [])]
    scope = {"type": "http", "method": method, "path": "/attnviz/pdf", "headers": headers}
    run_in_thread(SameOrigin(inner, traffic)(scope, None, send))
    assert len(served) == is_served
    assert [message.get("status") for message in answers] == ([] if is_served else [403, None])
    assert traffic.refused == ({} if is_served else {"origin": 1})

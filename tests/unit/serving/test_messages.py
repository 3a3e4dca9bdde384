"""The check of messages from a browser: what Streamlit's own widgets send is accepted, what no browser sends is not."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from attnviz.runtime.traffic import Traffic
from attnviz.serving.messages import (
    MESSAGE,
    MOST_REFUSED,
    MOST_WIDGET_BYTES,
    CheckedMessages,
    RefusedMessageError,
    check,
)
from attnviz.settings import PUBLIC
from tests.threads import run_in_thread

STREAM = {"type": "websocket", "path": "/_stcore/stream", "headers": []}
SECRET = "Rumpelstilz"
CLEAR = BackMsg(clear_cache=True).SerializeToString()


def refusal(asked: Callable[[], object]) -> tuple[str, bool]:
    with pytest.raises(RefusedMessageError) as refused:
        asked()
    return refused.value.why, refused.value.must_close


def all_widgets() -> None:
    import streamlit as st

    st.text_input("a")
    st.text_area("b")
    st.number_input("c")
    st.number_input("whole", 0, 5)
    st.slider("d", 0.0, 1.0)
    st.select_slider("e", ["x", "y"])
    st.selectbox("f", ["x", "y"])
    st.multiselect("g", ["x", "y"])
    st.radio("h", ["x", "y"])
    st.pills("i", ["x", "y"])
    st.segmented_control("j", ["x", "y"], selection_mode="multi")
    st.checkbox("k")
    st.toggle("l")
    st.color_picker("m")
    st.date_input("n")
    st.time_input("o")
    st.button("p")
    st.feedback("thumbs")


def test_messages_of_streamlits_own_widgets_are_accepted() -> None:
    """AppTest plays the browser: it makes the values that it would send back."""
    at = AppTest.from_function(all_widgets).run()
    message = BackMsg()
    message.rerun_script.widget_states.CopyFrom(at._tree.get_widget_states())
    assert len(message.rerun_script.widget_states.widgets) >= 17
    check(message.SerializeToString(), uploads=False)


LIMITS: list[tuple[Callable[[int], BackMsg], int, str]] = [
    (lambda n: BackMsg(rerun_script={"widget_states": {"widgets": [WidgetState()] * n}}), 500, "count"),
    (lambda n: BackMsg(rerun_script={"cached_message_hashes": ["a"] * n}), 1_000, "count"),
    (lambda n: BackMsg(file_urls_request={"file_names": ["a"] * n}), 4, "count"),
    (lambda n: BackMsg(rerun_script={"query_string": "a" * n}), 2**19, "length"),
    (lambda n: BackMsg(rerun_script={"page_script_hash": "a" * n}), 300, "length"),
    (lambda n: BackMsg(rerun_script={"fragment_id": "a" * n}), 300, "length"),
    (lambda n: BackMsg(rerun_script={"page_name": "a" * n}), 300, "length"),
    (lambda n: BackMsg(rerun_script={"cached_message_hashes": ["a" * n]}), 300, "length"),
    (lambda n: BackMsg(rerun_script={"context_info": {"timezone": "a" * n}}), 300, "length"),
    (lambda n: BackMsg(rerun_script={"context_info": {"url": "a" * n}}), 2**19 + 2**10, "length"),
    (lambda n: BackMsg(rerun_script={"widget_states": {"widgets": [{"id": "a" * n}]}}), 300, "length"),
]


@pytest.mark.parametrize(("message", "most", "why"), LIMITS)
def test_sizes_and_counts_are_limited(message: Callable[[int], BackMsg], most: int, why: str) -> None:
    check(message(most).SerializeToString(), uploads=True)
    more = message(most + 1).SerializeToString()
    assert refusal(lambda: check(more, uploads=True)) == (why, True)


VALUES: list[tuple[Callable[[int], WidgetState], int, str]] = [
    (lambda n: WidgetState(string_array_value={"data": ["a"] * n}), 100, "count"),
    (lambda n: WidgetState(double_array_value={"data": [0.5] * n}), 100, "count"),
    (lambda n: WidgetState(file_uploader_state_value={"uploaded_file_info": [{}] * n}), 4, "count"),
    (lambda n: WidgetState(file_uploader_state_value={"uploaded_file_info": [{"name": "a" * n}]}), 2_000, "length"),
]


@pytest.mark.parametrize(("value", "most", "why"), VALUES)
def test_values_of_several_parts_are_limited(value: Callable[[int], WidgetState], most: int, why: str) -> None:
    def message(n: int) -> bytes:
        asked = BackMsg()
        asked.rerun_script.widget_states.widgets.append(value(n))
        frame: bytes = asked.SerializeToString()
        return frame

    check(message(most), uploads=True)
    assert refusal(lambda: check(message(most + 1), uploads=True)) == (why, True)


def test_malformed_and_oversized_messages_are_refused() -> None:
    full = BackMsg(rerun_script={"query_string": "a" * 100}).SerializeToString()
    for frame, why in (
        (None, "format"), (b"\xff" * 100, "format"), (full[:-1], "format"), (b"\0" * (MESSAGE + 1), "size"),
        (b"\n\0" * (MOST_WIDGET_BYTES + 1), "count"),
    ):  # fmt: skip
        assert refusal(lambda frame=frame: check(frame, uploads=True)) == (why, True)


def test_only_the_accepted_types_of_messages_pass() -> None:
    operation = {"backend_operation_request": {"deferred_file": {"file_id": "a"}}}
    taken = ({"rerun_script": {}}, {"stop_script": True}, {"app_heartbeat": True}, operation,
             {"file_urls_request": {"file_names": ["a"]}})  # fmt: skip
    refused = ({}, {"clear_cache": True}, {"load_git_info": True}, {"set_run_on_save": True},
               {"debug_shutdown_runtime": True}, {"debug_disconnect_websocket": True},
               {"backend_operation_request": {"install_skills": {}}}, {"backend_operation_request": {}})  # fmt: skip
    for asked in taken:
        check(BackMsg(**asked).SerializeToString(), uploads=True)
    for asked in refused:
        frame = BackMsg(**asked).SerializeToString()
        assert refusal(lambda frame=frame: check(frame, uploads=True)) == ("purpose", False)
    frame = BackMsg(**taken[-1]).SerializeToString()
    assert refusal(lambda: check(frame, uploads=False)) == ("purpose", False)


class Streamlit:
    """Sends something, reads until the browser is gone, and sends again."""

    def __init__(self) -> None:
        self.read: list[Message] = []
        self.could_say = True

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.send", "bytes": b"shown"})
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


def sending(*values: str) -> bytes:
    message = BackMsg()
    for value in values:
        message.rerun_script.widget_states.widgets.add(id="$$ID-1-text", string_value=value)
    frame: bytes = message.SerializeToString()
    return frame


def kinds(messages: Iterable[Message]) -> list[str]:
    return [message["type"].removeprefix("websocket.") for message in messages]


def test_valid_messages_are_passed_on_unchanged() -> None:
    app, answers, refused = visit(sending("a text"), sending("another"))
    assert [message.get("bytes") for message in app.read] == [sending("a text"), sending("another"), None]
    assert kinds(answers) == ["send", "send"]
    assert not refused


@pytest.mark.parametrize("sent", ["text", b"\xff" * 50, sending(*["a"] * 501)])
def test_what_no_browser_sends_closes_the_connection(sent: bytes | str) -> None:
    app, answers, refused = visit(sent, sending("a text"))
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


def test_repeated_refusals_close_the_connection() -> None:
    app, answers, refused = visit(*[CLEAR] * 100)
    assert kinds(app.read) == ["disconnect"]
    assert answers[-1]["type"] == "websocket.close"
    assert refused == {"message_purpose": MOST_REFUSED + 1}


def test_the_log_has_one_line_per_connection_and_no_values(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        visit(*[CLEAR] * 10, SECRET)
    (record,) = caplog.records
    assert record.getMessage() == "A browser sent a message that is not accepted: purpose"
    assert record.exc_info is None

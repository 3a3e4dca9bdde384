"""The check of a message from a browser: what Streamlit's own widgets send is taken, what no browser sends is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Block_pb2 import Block
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from attnviz.serving.http.messages import MESSAGE, MOST_WIDGET_BYTES, Checked, RefusedMessageError, check
from attnviz.serving.http.widgets import DEPTH, JSON, KINDS, Kind, Widgets, declared, read_json

FIELDS = [field.name for field in WidgetState.DESCRIPTOR.oneofs_by_name["value"].fields]
NO_WIDGETS = {"audio", "video", "component_instance", "form"}
"""What has an id and sends nothing, or nothing that attnviz has."""


def example(field: str) -> WidgetState:
    """Return a widget's value with nothing unusual in it."""
    texts = {
        "string_value": json.dumps({"selection": {}}), "json_value": "{}", "json_trigger_value": "[]",
        "string_trigger_value": {"data": "a"}, "chat_input_value": {"data": "a"}, "bytes_value": b"a",
        "arrow_value": {"data": b"a"}, "file_uploader_state_value": {}, "double_array_value": {"data": [0.5]},
        "int_array_value": {"data": [1]}, "string_array_value": {"data": ["a"]},
    }  # fmt: skip
    values: dict[str, Any] = dict.fromkeys(FIELDS, 1) | texts
    return WidgetState(id="w", **{field: values[field]})


def checked(kind: Kind | None, *widgets: WidgetState, uploads: bool = True, **asked: Any) -> Checked:
    """Check a change of widgets that are all of a kind."""
    message = BackMsg(rerun_script=asked)
    message.rerun_script.widget_states.widgets.extend(widgets)
    return check(message.SerializeToString(), lambda _: kind, uploads=uploads)


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
    """AppTest plays the browser: it has the elements that Streamlit sent, and makes the values that it sends back."""
    at = AppTest.from_function(all_widgets).run()
    widgets = Widgets()
    names = {field.message_type: field.name for field in Element.DESCRIPTOR.fields if field.message_type}
    for node in at.main.children.values():
        element = Element(**{names[node.proto.DESCRIPTOR]: node.proto})
        widgets.note(ForwardMsg(delta=Delta(new_element=element)).SerializeToString())
    message = BackMsg()
    message.rerun_script.widget_states.CopyFrom(at._tree.get_widget_states())
    frame = message.SerializeToString()
    assert len(message.rerun_script.widget_states.widgets) >= 17
    assert check(frame, widgets.kind, uploads=False) == Checked(frame, left_out=0)


def test_every_kind_of_widget_is_known() -> None:
    """Which a new version of Streamlit may change."""
    known = set()
    for part in (Element, Block):
        for field in part.DESCRIPTOR.oneofs_by_name["type"].fields:
            if "id" in field.message_type.fields_by_name:
                known.add(field.name)
    assert known - NO_WIDGETS == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_takes_its_own_type_and_no_other(name: str) -> None:
    kind = KINDS[name]
    for field in FIELDS:
        widget = example(field)
        if field in kind.fields:
            assert checked(kind, widget).left_out == 0
        else:
            assert refusal(lambda widget=widget: checked(kind, widget)) == ("type", False)
    assert checked(kind, WidgetState(id="w")).left_out == 0  # one that was cleared


def test_nan_and_infinities_are_refused() -> None:
    for number in (float("nan"), float("inf"), -float("inf")):
        alone, several = WidgetState(double_value=number), WidgetState()
        several.double_array_value.data.extend([0.5, number])
        assert refusal(lambda alone=alone: checked(KINDS["number_input"], alone)) == ("type", False)
        assert refusal(lambda several=several: checked(KINDS["slider"], several)) == ("type", False)


@pytest.mark.parametrize("sent", ["", "null", "[]", "1", '"a"', "{", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}',
                                  '{"a":' * DEPTH + "1" + "}" * DEPTH, '{"a":' * 9_000, '{"a": ' + "1" * 5_000 + "}",
                                  json.dumps({"a": "x" * JSON})], ids=lambda sent: sent[:12])  # fmt: skip
def test_an_invalid_component_state_is_refused(sent: str) -> None:
    assert refusal(lambda: checked(KINDS["bidi_component"], WidgetState(json_value=sent))) == ("type", False)


def test_json_is_read_as_it_was_written() -> None:
    sent = {"updates": {"number": 3, "values": {"chosen": [[1, 2], [3, -1]], "q": None, "text": "é👩‍👩‍👧 \0"}}}
    assert read_json(json.dumps(sent)) == sent
    assert read_json(json.dumps(sent, ensure_ascii=False)) == sent


@pytest.mark.parametrize(("sent", "taken"), [
    ([{"event": "updates", "value": {}}], True), ({"event": "updates", "value": None}, True), ([], True),
    ({"updates": 1}, False), ([{"event": 1}], False), ([["updates", 1]], False), ("updates", False), (None, False),
    ([None], False),
])  # fmt: skip
def test_events_of_a_component(sent: object, taken: bool) -> None:
    component = Element()
    component.bidi_component.id = "$$ID-1-a"
    kinds = dict(declared(ForwardMsg(delta=Delta(new_element=component)).SerializeToString()))
    events = kinds["$$STREAMLIT_INTERNAL_KEY_$$ID-1-a__events"]
    assert kinds["$$ID-1-a"].fields == ("json_value",)
    widget = WidgetState(json_trigger_value=json.dumps(sent))
    if taken:
        assert checked(events, widget).left_out == 0
    else:
        assert refusal(lambda: checked(events, widget)) == ("type", False)


@pytest.mark.parametrize(("selection", "taken"), [
    ({}, True), ({"rows": [3], "columns": ["a"], "cells": [[0, "a"]]}, True), ({"rows": [-1]}, False),
    ({"rows": ["a"]}, False), ({"rows": [True]}, False), ({"rows": 1}, False), ({"rows": [10**20]}, False),
    ({"rows": [2**31 - 1]}, True), ({"rows": [2**31]}, False),
    ({"columns": [1]}, False), ({"cells": [[1]]}, False), ({"cells": ["ab"]}, False), ([], False), (None, False),
])  # fmt: skip
def test_rows_that_are_selected_in_a_table(selection: object, taken: bool) -> None:
    widget = WidgetState(string_value=json.dumps({"selection": selection}))
    if taken:
        assert checked(KINDS["dataframe"], widget).left_out == 0
    else:
        assert refusal(lambda: checked(KINDS["dataframe"], widget)) == ("type", False)


def test_widgets_that_are_shown_for_a_moment_are_known_too() -> None:
    delta = Delta()
    for number in range(2):
        delta.new_transient.elements.add().text_input.id = f"$$ID-{number}"
    found = dict(declared(ForwardMsg(delta=delta).SerializeToString()))
    assert found == {"$$ID-0": KINDS["text_input"], "$$ID-1": KINDS["text_input"]}


def test_widgets_that_were_not_shown_are_left_out_and_the_rest_is_taken() -> None:
    message = BackMsg()
    message.rerun_script.query_string = "text=a"
    for name in ("shown", "unknown", "shown too"):
        message.rerun_script.widget_states.widgets.add(id=name, string_value=name)
    found = check(
        message.SerializeToString(), lambda name: None if name == "unknown" else KINDS["text_input"], uploads=True
    )
    assert found.left_out == 1
    left = BackMsg.FromString(found.frame).rerun_script
    assert left.query_string == "text=a"
    assert [(one.id, one.string_value) for one in left.widget_states.widgets] == [
        (n, n) for n in ("shown", "shown too")
    ]


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
    assert check(message(most).SerializeToString(), lambda _: KINDS["text_input"], uploads=True).left_out == 0
    more = message(most + 1).SerializeToString()
    assert refusal(lambda: check(more, lambda _: KINDS["text_input"], uploads=True)) == (why, True)


VALUES: list[tuple[str, Callable[[int], WidgetState], int, str]] = [
    ("multiselect", lambda n: WidgetState(string_array_value={"data": ["a"] * n}), 100, "count"),
    ("slider", lambda n: WidgetState(double_array_value={"data": [0.5] * n}), 100, "count"),
    ("file_uploader", lambda n: WidgetState(file_uploader_state_value={"uploaded_file_info": [{}] * n}), 4, "count"),
    ("file_uploader", lambda n: WidgetState(file_uploader_state_value={"uploaded_file_info": [{"name": "a" * n}]}),
     2_000, "length"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "most", "why"), VALUES)
def test_values_of_several_parts_are_limited(
    kind: str, value: Callable[[int], WidgetState], most: int, why: str
) -> None:
    assert checked(KINDS[kind], value(most)).left_out == 0
    assert refusal(lambda: checked(KINDS[kind], value(most + 1))) == (why, True)


def test_malformed_and_oversized_messages_are_refused() -> None:
    full = BackMsg(rerun_script={"query_string": "a" * 100}).SerializeToString()
    for frame, why in (
        (None, "format"), (b"\xff" * 100, "format"), (full[:-1], "format"), (b"\0" * (MESSAGE + 1), "size"),
        (b"\n\0" * (MOST_WIDGET_BYTES + 1), "count"),
    ):  # fmt: skip
        assert refusal(lambda frame=frame: check(frame, lambda _: None, uploads=True)) == (why, True)


def test_only_the_accepted_types_of_messages_pass() -> None:
    operation = {"backend_operation_request": {"deferred_file": {"file_id": "a"}}}
    taken = ({"rerun_script": {}}, {"stop_script": True}, {"app_heartbeat": True}, operation,
             {"file_urls_request": {"file_names": ["a"]}})  # fmt: skip
    refused = ({}, {"clear_cache": True}, {"load_git_info": True}, {"set_run_on_save": True},
               {"debug_shutdown_runtime": True}, {"debug_disconnect_websocket": True},
               {"backend_operation_request": {"install_skills": {}}}, {"backend_operation_request": {}})  # fmt: skip
    for asked in taken:
        check(BackMsg(**asked).SerializeToString(), lambda _: None, uploads=True)
    for asked in refused:
        frame = BackMsg(**asked).SerializeToString()
        assert refusal(lambda frame=frame: check(frame, lambda _: None, uploads=True)) == ("purpose", False)
    frame = BackMsg(**taken[-1]).SerializeToString()
    assert refusal(lambda: check(frame, lambda _: None, uploads=False)) == ("purpose", False)


def test_the_most_recently_used_ids_are_kept() -> None:
    widgets = Widgets(remembered=3)
    for number in range(3):
        widgets.note(showing(number))
    assert widgets.kind("$$ID-0") is KINDS["text_input"]
    widgets.note(showing(3))
    assert len(widgets) == 3
    assert [bool(widgets.kind(f"$$ID-{n}")) for n in range(4)] == [True, False, True, True]


def showing(number: int) -> bytes:
    element = Element()
    element.text_input.id = f"$$ID-{number}"
    shown: bytes = ForwardMsg(delta=Delta(new_element=element)).SerializeToString()
    return shown

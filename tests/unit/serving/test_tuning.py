"""What replaces something of Streamlit's does the same, for all that attnviz asks of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.components.v2 import presentation
from streamlit.components.v2.bidi_component import main as bidi_component
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.scriptrunner import ScriptRunner

from attnviz.serving.patches.tuning import read_components_plainly, remember_theme, start_runs_aside

EVENTS = "$$component-events"


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (app_session, "_populate_theme_msg"), (bidi_component, "make_bidi_component_presenter"),
            (ScriptRunner, "start"),
        ):  # fmt: skip
            patch.setattr(module, name, getattr(module, name))
        yield


class Widgets(dict[str, Any]):
    """The part of a session's state that a presenter looks at."""

    def __init__(self, value_type: str | None, **values: Any) -> None:
        super().__init__(values)
        known = {EVENTS: SimpleNamespace(value_type=value_type)} if value_type else {}
        self.widget_metadata = known


@pytest.mark.parametrize(
    ("held", "value_type", "events"),
    [
        ({"pin": 1}, "json_trigger_value", [{"event": "head", "value": 3}, {"event": "act", "value": {"a": [1]}}]),
        ({"pin": 1}, "json_trigger_value", {"event": "head", "value": None}),
        ({"head": 2}, "json_trigger_value", [{"event": "head", "value": 3}]),
        ({"pin": 1}, "json_trigger_value", []),
        ({"pin": 1}, "json_trigger_value", None),
        ({"pin": 1}, "json_trigger_value", "absent"),
        ({"pin": 1}, "json_value", [{"event": "head", "value": 3}]),
        ({"pin": 1}, None, "absent"),
        (None, "json_trigger_value", [{"event": "head", "value": 3}]),
    ],
)
def test_a_component_says_what_streamlit_would_say(held: Any, value_type: str | None, events: Any) -> None:
    widgets = Widgets(value_type, **({} if events == "absent" else {EVENTS: events}))
    session: Any = SimpleNamespace(_new_widget_state=widgets)
    theirs = presentation.make_bidi_component_presenter(EVENTS, "component", {"pin"})(held, session)
    read_components_plainly()
    ours = bidi_component.make_bidi_component_presenter(EVENTS, "component", {"pin"})(held, session)  # type: ignore[attr-defined]
    assert ours == theirs
    for name in ("head", "act", "pin", "other"):
        if isinstance(theirs, dict) and value_type == "json_trigger_value":
            assert getattr(ours, name) == getattr(theirs, name)


def test_the_theme_is_the_same_the_second_time() -> None:
    def theme(section: str) -> CustomThemeConfig:
        message = CustomThemeConfig()
        app_session._populate_theme_msg(message, section)
        return message

    sections = ("theme", "theme.sidebar", "theme.dark")
    before = [theme(section) for section in sections]
    remember_theme()
    assert [theme(section) for _ in range(2) for section in sections] == before * 2


def test_nothing_is_replaced_twice() -> None:
    def replaced() -> tuple[Any, ...]:
        remember_theme()
        read_components_plainly()
        start_runs_aside()
        maker = bidi_component.make_bidi_component_presenter  # type: ignore[attr-defined]
        return app_session._populate_theme_msg, maker, ScriptRunner.start

    assert replaced() == replaced()


def test_who_starts_a_run_does_not_wait_for_it_and_one_that_fails_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    may_start, started = threading.Event(), SimpleQueue[str]()

    def start(self: Any) -> None:
        assert may_start.wait(30)
        if self == "fails":
            raise RuntimeError("can't start new thread")
        started.put(self)

    monkeypatch.setattr(ScriptRunner, "start", start)
    start_runs_aside()
    for runner in ("first", "fails", "last"):
        ScriptRunner.start(runner)  # type: ignore[arg-type]
    assert started.empty()
    may_start.set()
    assert [started.get(timeout=30) for _ in range(2)] == ["first", "last"]
    assert "can't start new thread" in caplog.text

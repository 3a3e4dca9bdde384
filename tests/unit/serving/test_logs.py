"""What a public server's log keeps of a record: fixed words, numbers, and where an exception was raised."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from attnviz.serving import logs

SECRET = "a visitor's text"
Logs = pytest.LogCaptureFixture


@pytest.fixture(autouse=True)
def without_texts() -> Iterator[None]:
    """Make records as a public server does."""
    make = logging.getLogRecordFactory()
    logging.setLogRecordFactory(logs._without_texts)
    yield
    logging.setLogRecordFactory(make)


def test_a_public_server_s_log_has_warnings_and_ends_of_threads_without_texts(
    caplog: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # put back after the test
    levels: list[str] = []
    monkeypatch.setattr(logs, "set_log_level", levels.append)
    logging.setLogRecordFactory(logs._make)
    logs.keep_texts_out()
    for work in (fail, sys.exit):  # an exit is no failure
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(30)
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("ERROR", "A thread ended by an exception")
    assert record.exc_text is not None and record.exc_text.endswith("in fail\n    raise ValueError(SECRET)\nValueError")
    assert levels == ["warning"]


def fail() -> None:
    raise ValueError(SECRET)


def failing(name: str, level: int = logging.ERROR, message: object = "It broke") -> None:
    try:
        fail()
    except ValueError as error:
        logging.getLogger(name).log(level, error if message is None else message, exc_info=True)


def test_numbers_stay_and_all_other_values_go(caplog: Logs) -> None:
    log = logging.getLogger("any")
    log.warning("%s of %d at %.1f for %r", SECRET, 3, 0.5, [SECRET])
    log.warning("%(name)s has %(count)d", {"name": SECRET, "count": 4})
    log.warning("One line\nand %s" % SECRET)  # noqa: UP031
    log.warning(ValueError(SECRET))
    assert [record.getMessage() for record in caplog.records] == [
        "… of 3 at 0.5 for …", "… has 4", "One line", "ValueError"
    ]  # fmt: skip


def test_of_an_exception_the_type_and_the_lines_of_code_stay(caplog: Logs) -> None:
    failing("attnviz")
    (record,) = caplog.records
    assert record.exc_text is not None
    assert record.exc_text.startswith("Traceback (most recent call last), without its message:\n")
    assert record.exc_text.endswith("ValueError")
    assert "in failing" in record.exc_text
    assert "in fail\n" in record.exc_text
    assert SECRET not in caplog.text
    assert record.exc_info is None


def test_streamlit_names_the_innermost_line_alone(caplog: Logs) -> None:
    failing("streamlit.runtime")
    line = fail.__code__.co_firstlineno + 1
    assert [record.getMessage() for record in caplog.records] == [f"It broke: ValueError in {__file__}, line {line}"]
    assert caplog.records[0].exc_text is None
    assert logs._place(None, None) == "None"


def test_a_warning_and_a_clients_invalid_bytes_have_no_traceback(caplog: Logs) -> None:
    failing("attnviz", logging.WARNING)
    try:
        b"\xff".decode()
    except UnicodeDecodeError:
        for name in ("uvicorn.error", "uvicorn.access"):
            logging.getLogger(name).exception("Bad input")
    warning, bad, other = caplog.records
    assert warning.exc_text is bad.exc_text is None
    assert other.exc_text is not None
    assert other.exc_text.endswith("UnicodeDecodeError")

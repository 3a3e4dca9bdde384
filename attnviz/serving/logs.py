"""What a public server's log may hold: which code said what kind of thing, and nothing that a visitor typed.

Streamlit, uvicorn and this app never mean to log a text. But an address holds the text that is looked at, a path can
hold anything, and an exception's message often quotes the value that it is about.
"""

from __future__ import annotations

import logging
import threading
import traceback
from types import TracebackType
from typing import Any

from streamlit.logger import set_log_level

SENT_WRONG = {("uvicorn.error", UnicodeDecodeError)}
"""Errors of a logger that say no more than that a browser has sent what can't be read: their first line is enough"""

_make = logging.getLogRecordFactory()


def keep_texts_out() -> None:
    """From now on, let every record that is logged in this process name its place and its numbers only.

    The words of a message stay as its author wrote them; what was filled in is left out, except numbers. Of an
    exception, its type and the lines of code that it came through are kept. Where the message is only a warning, the
    exception is left out: what a stranger sends is no reason to fill the log. What is no warning is not logged.
    """
    logging.setLogRecordFactory(_without_texts)
    set_log_level("warning")
    threading.excepthook = _log_end_of_thread


def _log_end_of_thread(end: threading.ExceptHookArgs) -> None:
    """Log an exception that ends a thread. Python would print it, past every logger."""
    if end.exc_value is not None:
        found = (end.exc_type, end.exc_value, end.exc_traceback)
        logging.getLogger(__name__).error("A thread ended by an exception", exc_info=found)


def _without_texts(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = _make(*args, **kwargs)
    if isinstance(record.args, tuple):
        record.args = tuple(_safe(value) for value in record.args)
    elif record.args:
        record.args = {name: _safe(value) for name, value in record.args.items()}
    if isinstance(record.msg, BaseException):
        record.msg = type(record.msg).__name__
    if not record.args:
        record.msg = str(record.msg).split("\n", 1)[
            0
        ]  # asyncio writes what failed, with its values, below the first line
    if record.exc_info and record.levelno >= logging.ERROR:
        kind, _, trace = record.exc_info
        if (record.name, kind) not in SENT_WRONG:
            record.exc_text = _told(kind, trace)
    record.exc_info = None
    return record


def _safe(value: object) -> object:
    return value if isinstance(value, int | float) else _Left()


class _Left:
    """Stands where a value was left out, whatever way it is formatted in."""

    def __str__(self) -> str:
        return "…"

    __repr__ = __str__


def _told(kind: type[BaseException] | None, trace: TracebackType | None) -> str:
    places = "".join(traceback.format_tb(trace))
    return f"Traceback (most recent call last), without its message:\n{places}{kind.__name__ if kind else 'None'}"

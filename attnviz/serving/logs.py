"""Keeps visitors' texts out of a public server's log.

Streamlit, uvicorn and this app do not log texts on purpose. But addresses contain the text of the view, a path can
contain anything, and the message of an exception often quotes the value that caused it.
"""

from __future__ import annotations

import logging
import threading
import traceback
from types import TracebackType
from typing import Any

from streamlit.logger import set_log_level

BAD_INPUT = {("uvicorn.error", UnicodeDecodeError)}
"""A logger and an exception that only means that a client sent invalid bytes: it is logged without a traceback"""

_make = logging.getLogRecordFactory()


def keep_texts_out() -> None:
    """Remove all values except numbers from every later log record of this process.

    The fixed words of a message are kept. Of an exception, the type and the traceback's code lines are kept; in a
    record of Streamlit's, which any client can cause with each message, only the type and the innermost line of code.
    A warning loses its exception, so that invalid input can't fill the log. Records below a warning are dropped.
    """
    logging.setLogRecordFactory(_without_texts)
    set_log_level("warning")
    threading.excepthook = _log_end_of_thread


def _log_end_of_thread(end: threading.ExceptHookArgs) -> None:
    """Log an exception that ends a thread. Python would print it without using a logger."""
    if not isinstance(end.exc_value, SystemExit | None):  # as Python's own hook, which says nothing of an exit
        exc_info = (end.exc_type, end.exc_value, end.exc_traceback)
        logging.getLogger(__name__).error("A thread ended by an exception", exc_info=exc_info)


def _without_texts(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = _make(*args, **kwargs)
    if isinstance(record.args, tuple):
        record.args = tuple(_safe(value) for value in record.args)
    elif record.args:
        record.args = {name: _safe(value) for name, value in record.args.items()}
    if isinstance(record.msg, BaseException):
        record.msg = type(record.msg).__name__
    if not record.args:
        # asyncio describes the failure, with its values, below the first line.
        record.msg = str(record.msg).split("\n", 1)[0]
    if record.exc_info and record.levelno >= logging.ERROR:
        kind, _, trace = record.exc_info
        if record.name.split(".")[0] == "streamlit":
            record.msg = f"{record.msg}: {_place(kind, trace)}"
        elif (record.name, kind) not in BAD_INPUT:
            record.exc_text = _format(kind, trace)
    record.exc_info = None
    return record


def _safe(value: object) -> object:
    return value if isinstance(value, int | float) else _Removed()


class _Removed:
    """Replaces a removed value; every format writes it as "…"."""

    def __str__(self) -> str:
        return "…"

    __repr__ = __str__


def _format(kind: type[BaseException] | None, trace: TracebackType | None) -> str:
    lines = "".join(traceback.format_tb(trace))
    return f"Traceback (most recent call last), without its message:\n{lines}{kind.__name__ if kind else 'None'}"


def _place(kind: type[BaseException] | None, trace: TracebackType | None) -> str:
    """Return an exception's type and where it was raised, in one line and without values."""
    frames = traceback.extract_tb(trace)
    where = f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    return f"{kind.__name__ if kind else 'None'}{where}"

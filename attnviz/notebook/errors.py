"""Errors that a notebook shows as their one sentence."""

from __future__ import annotations

from traceback import format_exception_only


class OneSentenceError(Exception):
    """An error whose message says all: IPython shows it without the lines of code that led there."""

    def _render_traceback_(self) -> list[str]:
        return [line.rstrip() for line in format_exception_only(self)]


class NotebookError(OneSentenceError, ValueError):
    """A widget can't be made. The message is one sentence for the user, which says what to do."""

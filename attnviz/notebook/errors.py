"""Errors that notebooks show as one sentence. This module does not import anywidget: one says that it is missing."""

from __future__ import annotations

from traceback import format_exception_only


class OneSentenceError(Exception):
    """An error whose message is all that users need: IPython shows it without the traceback."""

    def _render_traceback_(self) -> list[str]:
        return [line.rstrip() for line in format_exception_only(self)]


class NotebookError(OneSentenceError, ValueError):
    """A widget can't be made. The message is one sentence for the user, which says what to do."""

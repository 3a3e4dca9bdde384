"""`Resources` without the app's caches, for the command line: keeps each loaded model and the last trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from attnviz.sources.source import Get
from attnviz.tokens import CharVocab
from attnviz.trace.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnviz.trace.trace import Trace


@cache
def _load(name: str) -> Model:
    from attnviz.sources.trained import open_by_name

    return open_by_name(name)


@dataclass(slots=True)
class Direct:
    """Loads and runs models in this process."""

    load: Callable[[str], Model] = _load
    _last: tuple[tuple[object, ...], Trace] | None = field(default=None, init=False)

    def characters(self, get: Get) -> CharVocab:
        """Return the vocabulary of the text, or Shakespeare's, which also replaces an uploaded vocabulary."""
        return CharVocab.from_text(get("text")) if get("charset") == "text" else CharVocab.shakespeare()

    def trace(self, model: Model, text: str, pair: str | None) -> Trace:
        """Run a model on a text. Consecutive calls with the same text return the same trace."""
        key = (model.trace_key(text, pair), model.name)
        if self._last is None or self._last[0] != key:
            self._last = key, model.trace(text, pair)
        return self._last[1]

"""What a view shows, with the app's shared caches, and with the built-in model where another can't be loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnviz.sources import Get
from attnviz.sources.shown import Shown, shown
from attnviz.sources.toy import tokenizer
from attnviz.tokens import CharVocab, Tokens
from attnviz.ui import caches, state
from attnviz.ui.tokens.tokenizers import char_vocab

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel
    from attnviz.trace.model import Model
    from attnviz.trace.whole import Trace


@dataclass(frozen=True, slots=True)
class AppResources:
    """The app's models and traces, shared by all sessions."""

    vocabulary: CharVocab | None = None
    """The characters of the view, where there is no session to ask, as on another thread"""

    def load(self, name: str) -> PretrainedModel:
        """Load a model once for all sessions; raises attnviz.pretrained.ModelError."""
        return caches.model(name)

    def characters(self, get: Get) -> CharVocab:
        """Return the session's own vocabulary, the text's or Shakespeare's."""
        return self.vocabulary or char_vocab(get("text"))

    def trace(self, model: Model, text: str, pair: str | None) -> Trace:
        """Run a model on a text once for all sessions that show it."""
        return caches.trace(model, text, pair)


RESOURCES = AppResources()


def shown_now(get: Get = state.get) -> Shown:
    """Return what a view shows; of a model that can't be loaded, as the page has said, the built-in one.

    Raises:
        attnviz.pretrained.ModelError: neither can be loaded.
    """
    from attnviz.pretrained import BUILT_IN, ModelError

    try:
        return shown(get, RESOURCES)
    except ModelError:
        return shown(with_model(get, BUILT_IN), RESOURCES)


def shown_with(model_name: str | None, get: Get = state.get) -> Shown:
    """Return what a view shows, with another model than it names; a note in the view says what is not there.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded.
    """
    found = shown(get if model_name is None else with_model(get, model_name), RESOURCES)
    for name, sentence in found.notes:
        state.note(sentence)
        state.put(name, getattr(found, name))
    return found


def with_model(get: Get, model_name: str) -> Get:
    """Return the same settings with a model of this name."""

    def read(name: str) -> Any:
        return model_name if name == "model" else get(name)

    return read


def view_tokens(limit: int, get: Get = state.get) -> Tokens:
    """Cut the view's text into at most `limit` of the toy's tokens."""
    return tokenizer(get, RESOURCES, limit=limit)(get("text"))

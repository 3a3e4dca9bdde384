"""Resolves views with the app's shared caches, falling back to the built-in model if another one can't be loaded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnviz.links.pages import PAGES
from attnviz.pretrained import BUILT_IN
from attnviz.pretrained.described import described
from attnviz.sources import SOURCES, Get
from attnviz.sources.shown import ShownHead
from attnviz.tokens import CharVocab
from attnviz.ui import caches, state
from attnviz.ui.tokens.choices import char_vocab

if TYPE_CHECKING:
    from attnviz.trace.model import Model
    from attnviz.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class AppResources:
    """The app's models and traces, shared by all sessions."""

    vocabulary: CharVocab | None = None
    """The character vocabulary; required on threads without access to the session"""

    def load(self, name: str) -> Model:
        """Return a model that all sessions share. Raises attnviz.pretrained.ModelError."""
        return caches.named(name)

    def is_slow(self, name: str) -> bool:
        """Whether `load` takes seconds."""
        return not caches.is_loaded(name)

    def characters(self, get: Get) -> CharVocab:
        """Return the view's character vocabulary."""
        return self.vocabulary or char_vocab(get("text"))

    def trace(self, model: Model, text: str, pair: str | None) -> Trace:
        """Return the cached trace of a text, or compute it."""
        return caches.trace(model, text, pair)


@dataclass(frozen=True, slots=True)
class DescribedResources(AppResources):
    """For pages whose numbers the browser requests later: they don't need the weights of the built-in model."""

    def load(self, name: str) -> Model:
        """Return a model that may not be loaded yet. Raises attnviz.pretrained.ModelError."""
        return described() if self._is_described(name) else caches.named(name)

    def is_slow(self, name: str) -> bool:
        """Whether `load` takes seconds."""
        return not (self._is_described(name) or caches.is_loaded(name))

    @staticmethod
    def _is_described(name: str) -> bool:
        return name.strip() == BUILT_IN and not caches.is_loaded(name) and not caches.failure(name)


START = "step_by_step"
RESOURCES = AppResources()
DESCRIBED = DescribedResources()


@dataclass(frozen=True, slots=True, eq=False)
class SavedView:
    """A view's settings, with which a thread without access to the session can open what the view shows.

    It may be kept for long, so it does not contain a model or a trace, which are in the shared caches.
    """

    view: Mapping[str, Any]
    """The view with the actual model, kind, layer and head"""
    vocabulary: CharVocab
    page: str = START
    """The page that shows the view"""

    def shown(self) -> ShownHead:
        """Return what the view shows.

        Raises:
            attnviz.pretrained.ModelError: the model is no longer cached and can't be loaded.
        """
        return PAGES[self.page].shows(self.view.__getitem__, AppResources(self.vocabulary))


def view_of(shown: ShownHead) -> dict[str, Any]:
    """Return the session's view with the choices that are actually shown."""
    return state.every() | shown.choices


def shown_now(get: Get = state.get, page: str = START) -> ShownHead:
    """Return what a view of a page shows, with the source's fallback if the view's model can't be loaded.

    Raises:
        attnviz.pretrained.ModelError: neither model can be loaded.
    """
    from attnviz.pretrained import ModelError

    try:
        return PAGES[page].shows(get, RESOURCES)
    except ModelError:
        names = SOURCES[get("source")].names
        if names is None:
            raise
        return PAGES[page].shows(with_model(get, names.fallback), RESOURCES)


def shown_with(model_name: str | None, resources: AppResources = RESOURCES, page: str = START) -> ShownHead:
    """Return what the view of a page shows, with the given model. Values that do not exist are reset, with a note.

    Raises:
        attnviz.pretrained.ModelError: the model can't be loaded.
    """
    shown = PAGES[page].shows(with_model(state.get, model_name), resources)
    settle(shown)
    return shown


def settle(shown: ShownHead, names: Collection[str] = ("kind", "layer", "block", "head", "blank_at")) -> None:
    """Reset those of the settings `names` that do not exist in the model, with a note if the value was chosen."""
    for name, sentence in shown.notes:
        if name in names:
            if state.is_asked(name):
                state.note(sentence)
            state.put(name, shown.choices.get(name))


def with_model(get: Get, model_name: str | None) -> Get:
    """Return the same settings with a model of this name; with None, the same settings."""
    if model_name is None:
        return get

    def read(name: str) -> Any:
        return model_name if name == "model" else get(name)

    return read

"""The sources "pretrained" and "trained": models that are opened by name; and `Resources` without the app's caches."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from attnviz import trained
from attnviz.pretrained.names import BUILT_IN, BUILT_IN_TITLE
from attnviz.settings import settings
from attnviz.sources.source import Get, Names, Resources, Source
from attnviz.tokens import CharVocab, NoTokensError
from attnviz.trace.model import Model
from attnviz.trained.shipped import title

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnviz.trace.trace import Trace


_OTHERS = {
    (True, True): " Or type a name on the Hugging Face hub, or a folder on this machine.",
    (True, False): " Or type a name on the Hugging Face hub.",
    (False, True): " Or type a folder on this machine.",
    (False, False): "",
}
"""The help on other models, by whether the hub and folders are allowed"""


def _others() -> str:
    # Not at import: a server reads its settings after its command has imported the sources.
    return _OTHERS[settings().hub, settings().folders]


PRETRAINED_NAMES = Names(
    offered=lambda: settings().models,
    fallback=BUILT_IN,
    takes_others=lambda: bool(_others()),
    help=lambda: f"{BUILT_IN_TITLE} needs no network.{_others()}",
)


def open_pretrained(get: Get, resources: Resources) -> Model:
    """Load the model that the view names, and check that it can be shown on the view's text.

    If no test checks the model, its trace is compared with the model's own attention. The trace is computed here, where
    a page can show a refusal and fall back to another model, and not only when a browser requests numbers.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded, or its own attention on this text differs from the trace.
    """
    model = resources.load(get("model"))
    if not model.description.is_checked:
        with suppress(NoTokensError):  # a page reports it in place of the picture
            resources.trace(model, get("text"), get("pair").strip() or None)
    return model


PRETRAINED = Source(
    "pretrained",
    "Real BERT",
    ("pair", "model", "kind", "layer", "head"),
    open_pretrained,
    names=PRETRAINED_NAMES,
    help=f"{BUILT_IN_TITLE}, trained on text, or another trained model that you choose.",
    about=lambda get: f"Model: {title(get('model'))}.",
)


FALLBACK = "induction"


def _is_pretrained(name: str) -> bool:
    """Whether the source "pretrained" offers a model of this name; then the view names no trained model."""
    return name.strip() in ("", BUILT_IN, *settings().models)


TRAINED_NAMES = Names(
    offered=trained.names,
    fallback=FALLBACK,
    foreign=_is_pretrained,
    takes_trained=True,
    help=lambda: "Each is small, and was trained with one command: see what is said of it below.",
)


def open_trained(get: Get, resources: Resources) -> Model:
    """Open the model that the view names; raises attnviz.pretrained.ModelError if that fails."""
    name = TRAINED_NAMES.own(get("model"))
    return resources.load(name) if trained.is_name(name) else trained.load(name)


TRAINED = Source(
    "trained",
    "Trained",
    ("pair", "model", "kind", "layer", "head"),
    open_trained,
    names=TRAINED_NAMES,
    help="a small model that learned one task, or to write text, so that you know what its heads are for.",
    about=lambda get: f"Model: {title(TRAINED_NAMES.own(get('model')))}, trained here.",
    takes_pairs=False,
)


def source_of(name: str) -> Source:
    """Return the source of a model by its name: `TRAINED` for a model that was trained here, else `PRETRAINED`."""
    return TRAINED if trained.is_name(name) else PRETRAINED


EVERY_MODEL = replace(
    PRETRAINED,
    names=replace(
        PRETRAINED_NAMES, offered=lambda: (*PRETRAINED_NAMES.offered(), *trained.names()), takes_trained=True
    ),
)
"""For a page that shows models of both sources in one menu"""


def open_by_name(name: str) -> Model:
    """Open a trained model, or a pretrained one, by its name alone.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded.
    """
    from attnviz import pretrained

    return trained.load(name) if trained.is_name(name) else pretrained.load(name)


@cache
def _load(name: str) -> Model:
    return open_by_name(name)


@dataclass(slots=True)
class DirectResources:
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

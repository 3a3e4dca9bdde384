"""The source "trained": the models that this project trained, and those that a visitor trains or opens."""

from __future__ import annotations

from dataclasses import replace

from attnviz import trained
from attnviz.settings import settings
from attnviz.sources.pretrained import NAMES as PRETRAINED_NAMES
from attnviz.sources.pretrained import PRETRAINED
from attnviz.sources.source import Get, Names, Resources, Source
from attnviz.trace.model import Model

FALLBACK = "induction"


def _is_pretrained(name: str) -> bool:
    """Whether another source offers a model of this name, so that a view with it names none of these."""
    return name.strip() in ("", "minilm", *settings().models)


NAMES = Names(
    offered=trained.names,
    fallback=FALLBACK,
    foreign=_is_pretrained,
    takes_trained=True,
    help=lambda: "Each is small, and was trained with one command: see what is said of it below.",
)


def open_model(get: Get, resources: Resources) -> Model:
    """Open the model that the view names; raises attnviz.pretrained.ModelError if that fails."""
    name = NAMES.own(get("model"))
    return resources.load(name) if trained.is_name(name) else trained.load(name)


TRAINED = Source(
    "trained",
    "Trained",
    ("pair", "model", "kind", "layer", "head"),
    open_model,
    names=NAMES,
    help="a small model that learned one task, or to write text, so that you know what its heads are for.",
    about=lambda get: f"Model: {NAMES.own(get('model'))}, trained here.",
    takes_pairs=False,
)


def source_of(name: str) -> Source:
    """Return the source of a model with a name: this one, or that of pretrained models."""
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

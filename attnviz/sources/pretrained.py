"""The source "pretrained": the built-in model, and all that the settings allow."""

from __future__ import annotations

from attnviz.settings import settings
from attnviz.sources.source import Get, Names, Resources, Source
from attnviz.trace.model import Model

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


NAMES = Names(
    offered=lambda: settings().models,
    fallback="minilm",
    takes_others=lambda: bool(_others()),
    help=lambda: f"minilm needs no network.{_others()}",
)


def open_model(get: Get, resources: Resources) -> Model:
    """Load the model that the view names; raises attnviz.pretrained.ModelError if that fails."""
    return resources.load(get("model"))


PRETRAINED = Source(
    "pretrained",
    "Real BERT",
    ("pair", "model", "kind", "layer", "head"),
    open_model,
    names=NAMES,
    help="MiniLM, a small BERT that was trained on text, or another trained model that you choose.",
    about=lambda get: f"Model: {get('model')}.",
)

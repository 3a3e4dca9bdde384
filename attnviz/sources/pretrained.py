"""The source "pretrained": the built-in model, and all that the settings allow."""

from __future__ import annotations

from contextlib import suppress

from attnviz.settings import settings
from attnviz.sources.source import Get, Names, Resources, Source
from attnviz.tokens import NoTokensError
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
    """Load the model that the view names, and see whether it can be shown on the view's text.

    A trace compares a model that no test checks with the model's own attention. So it is made here, where a page shows
    a refusal and takes another model, and not only when a browser asks for numbers.

    Raises:
        attnviz.pretrained.ModelError: it can't be loaded, or it attends in another way on this text than is shown.
    """
    model = resources.load(get("model"))
    if not model.description.is_checked:
        with suppress(NoTokensError):  # a page says so where the picture would be
            resources.trace(model, get("text"), get("pair").strip() or None)
    return model


PRETRAINED = Source(
    "pretrained",
    "Real BERT",
    ("pair", "model", "kind", "layer", "head"),
    open_model,
    names=NAMES,
    help="MiniLM, a small BERT that was trained on text, or another trained model that you choose.",
    about=lambda get: f"Model: {get('model')}.",
)

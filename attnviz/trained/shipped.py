"""The models that ship with the app and those that visitors bring: their names, and the view with which each opens.

Importing this imports no torch.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from attnviz import files
from attnviz.pretrained.names import BUILT_IN, BUILT_IN_TITLE, ModelError, shown
from attnviz.training.series import CHARACTERS, SHIPPED, STORIES

if TYPE_CHECKING:
    from attnviz.trained.model import TrainedModel


FOLDER = files.FOLDER / "assets" / "weights"
OWN = "trained-"
"""The beginning of the names of visitors' models; the first digits of the file's sha256 follow"""
KEPT_BYTES = 64 * 2**20
"""The most bytes of all visitors' files that are kept"""
LONGEST_TITLE = 60
TITLES = {BUILT_IN: BUILT_IN_TITLE, CHARACTERS: "Character GPT", STORIES: "Story GPT"}
"""The names on the screen of models that ship, by name; one that learned a task goes by the task's name"""

_kept: OrderedDict[str, TrainedModel] = OrderedDict()
_sizes: dict[str, int] = {}
_lock = threading.Lock()


@cache
def names() -> tuple[str, ...]:
    """Return the names of the models that ship, in the order in which the app offers them."""
    return tuple(name for name in SHIPPED if (FOLDER / f"{name}.safetensors").is_file())


def is_name(name: str) -> bool:
    """Whether a name is that of a model that ships, or of a visitor's model."""
    return name.strip() in names() or name.strip().startswith(OWN)


def load(name: str) -> TrainedModel:
    """Return a model by name: one that ships, or a visitor's model that is still kept.

    Raises:
        ModelError: there is none, or its file is damaged.
    """
    name = name.strip()
    if name.startswith(OWN):
        with _lock:
            model = _kept.get(name)
            if model is not None:
                _kept.move_to_end(name)
                return model
        raise ModelError("This trained model is no longer on this server: train it again, or open its file.")
    if name not in names():
        raise ModelError(f"There is no trained model “{shown(name)}”: there are {', '.join(names())}.")
    return _load(name)


@lru_cache(len(SHIPPED))
def _load(name: str) -> TrainedModel:
    from attnviz.trained.files import read
    from attnviz.trained.model import TrainedModel

    data = (FOLDER / f"{name}.safetensors").read_bytes()
    return TrainedModel(name, read(data), hashlib.sha256(data).hexdigest())


def keep(data: bytes) -> TrainedModel:
    """Read a visitor's file and keep its model, so that `load` finds it by its name in any session.

    The name can't be guessed, because it comes from the file's digest. When the files exceed `KEPT_BYTES`, the models
    that were used least recently are dropped.

    Raises:
        ModelError: the file can't be read (`attnviz.trained.files.read`), or its model has no attention.
    """
    from attnviz.trained.files import read
    from attnviz.trained.model import NO_ATTENTION, TrainedModel

    digest = hashlib.sha256(data).hexdigest()
    model = TrainedModel(f"{OWN}{digest[:12]}", read(data), digest)
    if not model.has_attention:
        raise ModelError(NO_ATTENTION)
    with _lock:
        _kept[model.name], _sizes[model.name] = model, len(data)
        _kept.move_to_end(model.name)
        while sum(_sizes.values()) > KEPT_BYTES:
            oldest, _ = _kept.popitem(last=False)
            del _sizes[oldest]
    return model


def is_kept(name: str) -> bool:
    """Whether a visitor's model of this name is still here."""
    with _lock:
        return name in _kept


def title(name: str) -> str:
    """Return the name of a model on the screen: its own; for a visitor's model, that on its card."""
    if name.strip() in TITLES:
        return TITLES[name.strip()]
    with _lock:
        model = _kept.get(name.strip())
    if model is None:
        return name
    card_name = " ".join(model.card.name.split())
    return f"{card_name[:LONGEST_TITLE]} · {name.removeprefix(OWN)[:4]}" if card_name else name


OPENING_KEYS = ("text", "pair", "kind", "layer", "head", "block")
"""A link with any of these keys does not open a model's own example."""


def opening(name: str) -> dict[str, Any]:
    """Return the text and the head with which a model opens, by link key; empty if there is no such model.

    The text is the first example of its task. The head is the one that its card names for the task's last pattern,
    which is what the task is about; if the card names none, the first head.
    """
    from attnviz.trace.model import places
    from attnviz.trained.model import examples, heads

    try:
        model = load(name)
        numbers = model.description.numbers
    except ModelError:  # the page reports it
        return {}
    attentions = [(place.kind, place.layer) for place in places(numbers)]
    _, kind, layer, head = (heads(model) or (("", *attentions[0], 0),))[-1]
    block = next(number for number, place in enumerate(attentions) if place == (kind, layer))
    return {"text": examples(model)[0], "kind": kind, "layer": layer, "head": head, "block": block}

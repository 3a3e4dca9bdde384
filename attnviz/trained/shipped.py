"""The models that ship with the app and those that visitors bring: their names, and the view with which each opens.

Importing this imports no torch.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from attnviz import files
from attnviz.pretrained.names import ModelError, shown
from attnviz.trained.card import Card
from attnviz.training.plan import Plan
from attnviz.training.series import SHIPPED

if TYPE_CHECKING:
    from attnviz.trained.model import TrainedModel


FOLDER = files.FOLDER / "assets" / "weights"
OWN = "trained-"
"""How the names of models that visitors bring begin; the beginning of the file's sha256 follows"""
KEPT_BYTES = 64 * 2**20
"""The most bytes of visitors' files together"""
LONGEST_TITLE = 60

_kept: OrderedDict[str, TrainedModel] = OrderedDict()
_sizes: dict[str, int] = {}
_lock = threading.Lock()


@cache
def names() -> tuple[str, ...]:
    """Return the names of the models that ship, in the order in which the app offers them."""
    return tuple(name for name in SHIPPED if (FOLDER / f"{name}.safetensors").is_file())


def is_name(name: str) -> bool:
    """Whether a name is that of a model that ships, or of one that a visitor has brought."""
    return name.strip() in names() or name.strip().startswith(OWN)


def load(name: str) -> TrainedModel:
    """Return a model by name: one that ships, or one that a visitor has brought and that is still kept.

    Raises:
        ModelError: there is none, or its file is damaged.
    """
    name = name.strip()
    if name.startswith(OWN):
        with _lock:
            found = _kept.get(name)
            if found is not None:
                _kept.move_to_end(name)
                return found
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

    The name can't be guessed: it is made from the file. When there are too many, the one that was not used for
    longest goes.

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
    """Return what a model is called on the screen: its name, and of one that a visitor has brought, its card's."""
    with _lock:
        found = _kept.get(name.strip())
    if found is None:
        return name
    said = " ".join(found.card.name.split())
    return f"{said[:LONGEST_TITLE]} · {name.removeprefix(OWN)[:4]}" if said else name


@cache
def card(name: str) -> tuple[Card, Plan]:
    """Return the card and the plan of a model that ships, without its weights.

    Raises:
        ModelError: there is none.
    """
    if name not in names():
        raise ModelError(f"There is no trained model “{shown(name)}”: there are {', '.join(names())}.")
    said: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    plan = Plan.from_json(said.pop("plan"))
    return Card.from_json(said), plan


OPENING_KEYS = ("text", "pair", "kind", "layer", "head", "block")
"""A link with any of these keys does not open a model's own example."""


def opening(name: str) -> dict[str, Any]:
    """Return the text and the head with which a model opens, by keys of links; nothing if there is no such model.

    The text is the first example of its task. Of the heads that its card names, it is the one that shows what the task
    is about: its last pattern. A card that names none leaves the first head.
    """
    from attnviz.trace.model import places
    from attnviz.trained.model import examples, heads

    try:
        model = load(name)
        numbers = model.description.numbers
    except ModelError:  # the page says so
        return {}
    there = [(place.kind, place.layer) for place in places(numbers)]
    _, kind, layer, head = (heads(model) or (("", *there[0], 0),))[-1]
    block = next(at for at, place in enumerate(there) if place == (kind, layer))
    return {"text": examples(model)[0], "kind": kind, "layer": layer, "head": head, "block": block}

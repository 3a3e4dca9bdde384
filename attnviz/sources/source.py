"""What a source of attention is: a name, the keys of a link that shape it, and how its model is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel
    from attnviz.tokens import CharVocab
    from attnviz.trace.model import Model
    from attnviz.trace.whole import Trace

Get = Callable[[str], Any]
"""How a setting is read by its key in links: from a view, or from one pane of a page that shows two"""


class Resources(Protocol):
    """What opening and running a model needs: the app's shared caches, or the plain functions behind them."""

    def load(self, name: str) -> PretrainedModel:
        """Load a pretrained model.

        Raises:
            attnviz.pretrained.ModelError: it can't be loaded.
        """

    def characters(self, get: Get) -> CharVocab:
        """Return the character vocabulary that a view asks for."""

    def trace(self, model: Model, text: str, pair: str | None) -> Trace:
        """Run a model on a text; raises as `Model.trace` does."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source. A further one is a file beside this and a line in the registry."""

    key: str
    """As a link calls it"""
    title: str
    """As the screen calls it"""
    keys: tuple[str, ...]
    """The keys of a link that shape what it shows, in the order in which a link writes them"""
    open: Callable[[Get, Resources], Model]
    """Opens the model that a view asks for; raises attnviz.pretrained.ModelError where that can't be"""

    @property
    def has_layers(self) -> bool:
        """Whether a view chooses a layer and a kind of attention."""
        return "layer" in self.keys

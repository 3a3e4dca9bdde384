"""The interface of a source: its name, its link keys, and the function that opens its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from attnviz.tokens import CharVocab
    from attnviz.trace.model import Model
    from attnviz.trace.trace import Trace

Get = Callable[[str], Any]
"""Returns a setting by its link key, from a view or from one side of a comparison"""


class Resources(Protocol):
    """Loads and runs models: through the app's shared caches, or directly."""

    def load(self, name: str) -> Model:
        """Load a pretrained or a trained model.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded.
        """

    def characters(self, get: Get) -> CharVocab:
        """Return the character vocabulary that a view selects."""

    def trace(self, model: Model, text: str, pair: str | None) -> Trace:
        """Run a model on a text; raises as `Model.trace` does."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names by which a view chooses one of a source's models, with the link key `model`."""

    offered: Callable[[], Sequence[str]]
    """The names in the menu"""
    fallback: str
    """The model that is shown if a view names none, or one that can't be loaded"""
    takes_trained: bool = False
    """Whether the menu also has the models that the visitor has trained or opened"""
    takes_others: Callable[[], bool] = lambda: False
    """Whether a visitor may type another name"""
    help: Callable[[], str] = lambda: ""
    """The help beside the menu"""
    foreign: Callable[[str], bool] = lambda _: False
    """Whether a name is that of another source's model: then the view names no model of this source"""

    def own(self, name: str) -> str:
        """Return the name of the model to show for a view with this name."""
        return self.fallback if not name.strip() or self.foreign(name) else name


@dataclass(frozen=True, slots=True)
class Source:
    """One source. To add one, write a module in this folder and add it to the registry."""

    key: str
    """Its name in links"""
    title: str
    """Its name on the screen"""
    keys: tuple[str, ...]
    """The link keys of its settings, in the order in which a link writes them"""
    open: Callable[[Get, Resources], Model]
    """Opens the model that a view selects; raises attnviz.pretrained.ModelError if that fails"""
    names: Names | None = None
    """The names of its models; None if its settings shape a single model"""
    entry: str = ""
    """How a list of models names it, such as "the toy"; empty if its models are listed by their own names"""
    only_layer: str = "the block"
    """What its only layer is called, if views have no choice of a layer"""
    help: str = ""
    """What it is, for the help beside the choice of a source"""
    takes_pairs: bool = True
    """Whether models without a decoder beside their encoder read a second text too"""
    about: Callable[[Get], str] = lambda _: ""
    """What computes the attention, as a sentence for captions, or nothing"""
    caution: Callable[[Get], str] = lambda _: ""
    """What to keep in mind in a comparison with another source, as a sentence, or nothing"""

    @property
    def has_layers(self) -> bool:
        """Whether a view has a choice of layer and kind of attention."""
        return "layer" in self.keys

    @property
    def has_names(self) -> bool:
        """Whether a view chooses one of its models by name, which may take seconds to load."""
        return self.names is not None

    @property
    def has_own_scale(self) -> bool:
        """Whether scale and mask belong to its models, and are not settings of a view."""
        return "scale" not in self.keys

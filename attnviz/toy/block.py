"""The toy model: one block of multi-head self-attention with adjustable settings, and its trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import torch
from torch import Tensor, nn

from attnviz.reprs import ShortRepr
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.attention import SeededAttention, SeededOutput
from attnviz.toy.config import MAX_TOKENS, ToyConfig
from attnviz.toy.embeddings import Ids, SeededEmbeddings, sum_of
from attnviz.trace.block import Block
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Description, Kind, TraceBudget, layers_and_heads
from attnviz.trace.recorder import recording
from attnviz.trace.trace import Trace

ATTENTION_ALONE = "The toy is attention alone: it has no residual, no norm and no feed-forward."
NO_HEAD = "The toy has no language head."
TRACE_BUDGET = TraceBudget("toy", 16 * 2**20)
"""Of all toys: of the usual width some 600 traces of sixty tokens, each of which takes milliseconds to compute again"""


class ToyBlock(nn.Module):
    """Embeddings, then attention, with weights drawn from a seed. A setting changes only what depends on it."""

    def __init__(self, config: ToyConfig, n: int) -> None:
        """Draw the weights for texts of n tokens.

        Raises:
            ValueError: n is greater than MAX_TOKENS.
        """
        if n > MAX_TOKENS:
            raise ValueError(f"{n} tokens: the toy takes at most {MAX_TOKENS}")
        super().__init__()
        self.embeddings = SeededEmbeddings(config.seed, config.positions, config.width, config.embedding)
        self.attention = SeededAttention(config, n)

    def forward(self, ids: Ids) -> tuple[dict[str, Tensor], Tensor]:
        """Return the summands of the embeddings, (T, C) each, and the attention's output, (T, C).

        Of a batch of texts with T ids each, tokens and output are (B, T, C).
        """
        parts = self.embeddings(ids)
        return parts, self.attention(sum_of(parts))


class Toy(ShortRepr):
    """The toy as a `Model`."""

    trace_budget = TRACE_BUDGET

    def __init__(self, config: ToyConfig, tokenize: Callable[[str], Tokens]) -> None:
        """Create a toy with these settings and this tokenizer."""
        self.config, self._tokenize = config, tokenize
        self.name = _name(config)

    def _summary(self) -> Iterator[str]:
        yield from (self.name, layers_and_heads(self.description.layers))

    @property
    def description(self) -> Description:
        """The toy's architecture. Embeddings are drawn on demand for any id, so they are not counted as parameters."""
        heads, width, model_width = self.config.head_count, self.config.width_per_head, self.config.width
        biases = int(self.config.bias)
        parameters = {}
        if self.config.qkv == "linear":
            parameters["projections"] = 3 * heads * (model_width + biases) * width
        if self.config.projection:
            parameters["output"] = (heads * width + biases) * model_width
        return Description(
            name=self.name,
            layers={self.config.kind: (1, heads)},
            width=model_width,
            head_size=width,
            parameters=parameters,
            unavailable={"attention_residual": ATTENTION_ALONE, "logits": NO_HEAD},
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, None]:
        """Return the tokens of a text; `pair` is ignored."""
        del pair
        return self._tokenize(text), None

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return the tokens and the settings, which determine the trace."""
        return self.read(text, pair)[0], self.config

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the toy on a text.

        Raises:
            NoTokensError: the text has no tokens.
            ValueError: there are more than MAX_TOKENS tokens.
        """
        tokens, _ = self.read(text, pair)
        return trace_toy(tokens, self.config)


def trace_toy(tokens: Tokens, config: ToyConfig) -> Trace:
    """Run the toy block on tokens.

    Raises:
        NoTokensError: `tokens` is empty.
        ValueError: there are more than MAX_TOKENS tokens.
    """
    if not len(tokens):
        raise NoTokensError
    block = ToyBlock(config, len(tokens))
    with torch.no_grad(), recording() as recorder:
        parts, output = block(tokens.ids)
    (call,) = recorder.calls
    attention = block.attention
    layer = LayerTrace(
        query=call.query,
        key=call.key,
        value=call.value,
        scale=call.scale,
        mask=attention.mask,
        query_input=call.query_input,
        key_input=call.key_input,
        projections={"query": attention.query.map, "key": attention.key.map, "value": attention.value.map},
        output_projection=attention.output.map if isinstance(attention.output, SeededOutput) else None,
    )
    blocks: dict[Kind, tuple[Block, ...]] = {config.kind: (Block(layer, unavailable_reason=ATTENTION_ALONE),)}
    weights = tuple(block.parameters())
    return Trace(tokens, None, blocks, output, embedding_parts=parts, weights=weights, model=_name(config))


def _name(config: ToyConfig) -> str:
    return f"toy, seed {config.seed}"

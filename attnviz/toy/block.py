"""The toy: one block of multi-head self-attention whose every knob can be turned, and its trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor, nn

from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.attention import SeededAttention, SeededOutput
from attnviz.toy.config import MAX_TOKENS, WIDTH, ToyConfig
from attnviz.toy.embeddings import SeededEmbeddings
from attnviz.trace.block import Block
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Description, Kind
from attnviz.trace.recorder import recording
from attnviz.trace.whole import Trace

ATTENTION_ALONE = "The toy is attention alone: it has no residual, no norm and no feed-forward."
NO_HEAD = "The toy has no language head."


class ToyBlock(nn.Module):
    """Embeddings, then attention, with weights drawn from a seed. Every setting moves only what depends on it."""

    def __init__(self, config: ToyConfig, n: int) -> None:
        """Draw the weights for texts of n tokens.

        Raises:
            ValueError: more tokens than MAX_TOKENS.
        """
        if n > MAX_TOKENS:
            raise ValueError(f"{n} tokens: the toy takes at most {MAX_TOKENS}")
        super().__init__()
        self.embeddings = SeededEmbeddings(config.seed, config.positions)
        self.attention = SeededAttention(config, n)

    def forward(self, ids: Sequence[int]) -> tuple[dict[str, Tensor], Tensor]:
        """Return the parts of the embeddings, (T, C) each, and the attention's output."""
        parts = self.embeddings(ids)
        return parts, self.attention(sum_of(parts))


class Toy:
    """The toy with these settings, as a model."""

    def __init__(self, config: ToyConfig, tokenize: Callable[[str], Tokens]) -> None:
        """Take the settings, and what cuts a text into tokens."""
        self.config, self._tokenize = config, tokenize
        self.name = f"toy, seed {config.seed}"

    @property
    def description(self) -> Description:
        """What the toy is. Its embeddings are drawn as they are read, so they are not counted."""
        heads, width = self.config.head_count, self.config.width_per_head
        parameters = {"projections": 3 * heads * WIDTH * width} if self.config.qkv == "linear" else {}
        if self.config.projection:
            parameters["output"] = heads * width * WIDTH
        return Description(
            name=self.name,
            layers={self.config.kind: (1, heads)},
            width=WIDTH,
            head_size=width,
            parameters=parameters,
            unavailable={"attention_residual": ATTENTION_ALONE, "logits": NO_HEAD},
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, None]:
        """Return the tokens of a text; the toy reads no second one."""
        del pair
        return self._tokenize(text), None

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return what shapes the numbers: the tokens and the settings."""
        return self.read(text, pair)[0], self.config

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the toy on a text.

        Raises:
            NoTokensError: the tokenizer makes no token of the text.
            ValueError: more tokens than MAX_TOKENS.
        """
        tokens, _ = self.read(text, pair)
        return trace_toy(tokens, self.config)


def trace_toy(tokens: Tokens, config: ToyConfig) -> Trace:
    """Run the toy block on tokens.

    Raises:
        NoTokensError: there is none.
        ValueError: more tokens than MAX_TOKENS.
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
    return Trace(tokens, None, blocks, output, embedding_parts=parts, weights=tuple(block.parameters()))


def sum_of(parts: dict[str, Tensor]) -> Tensor:
    """Add up the parts of embeddings, (T, C)."""
    first, *others = parts.values()
    return sum(others, start=first)

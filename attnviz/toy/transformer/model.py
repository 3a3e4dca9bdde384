"""A transformer whose weights are drawn from a seed: embeddings, stacks of layers, and logits.

Shapes: T tokens, C model width, V tokens of the text that differ. With a batch of B texts, (T, C) is (B, T, C).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.toy.config import MAX_WIDTH
from attnviz.toy.embeddings import Ids, lab_positions, sinusoidal_positions, sum_of
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.toy.transformer.config import MAX_TOKENS, TransformerConfig
from attnviz.toy.weights import draw, generator

STACKS = 4
"""The most stacks of blocks whose weights are kept; the largest takes 21 MB"""


class Transformer(nn.Module):
    """Embeddings of the tokens that occur, positions, and the blocks of the settings' architecture.

    The matrix of embeddings also gives the logits, and its rows are multiplied by √C where they are embeddings, as in
    the paper (section 3.4).
    """

    def __init__(self, config: TransformerConfig, ids: Sequence[int], stack: Encoder | Seq2Seq | None = None) -> None:
        """Draw the weights for the tokens with these ids, each once; `stack` are the blocks, drawn too if None."""
        super().__init__()
        self.config, width = config, config.width
        rows = [draw(config.seed, "embedding", one, 1, MAX_WIDTH)[:, :width] for one in ids]
        self.embedding = nn.Parameter(torch.cat(rows) / math.sqrt(width))
        """(V, C)"""
        drawn = draw(config.seed, "position", 0, MAX_TOKENS, MAX_WIDTH)[:, :width]
        self.position = nn.Parameter(drawn) if config.positions == "random" else None
        self.stack = draw_stack(config) if stack is None else stack

    def embed(self, indices: Ids) -> dict[str, Tensor]:
        """Return the summands of the input, (T, C) each, by name; `indices` are rows of the embedding.

        Of a batch of texts with T indices each, tokens are (B, T, C).
        """
        rows = torch.tensor(indices, dtype=torch.long)
        n, width = rows.shape[-1], self.config.width
        parts = {"token": self.embedding[rows] * math.sqrt(width)}
        if self.position is not None:
            return {**parts, "position": self.position[:n]}
        made = {"sinusoidal": sinusoidal_positions, "lab": lab_positions}.get(self.config.positions)
        return parts if made is None else {**parts, "position": made(n, width)}

    def forward(self, indices: Ids, target: Ids | None = None) -> Tensor:
        """Return the last hidden state, (T, C); `target` is what the decoder reads beside an encoder."""
        x = sum_of(self.embed(indices))
        if target is None or isinstance(self.stack, Encoder):
            hidden: Tensor = self.stack(x)
        else:
            hidden = self.stack(x, sum_of(self.embed(target)))
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits of the next token, (T, V)."""
        return hidden @ self.embedding.T


def draw_stack(config: TransformerConfig) -> Encoder | Seq2Seq:
    """Return the blocks with weights drawn from the seed.

    Each matrix has a seed of its own, from its name: a deeper stack has the same first blocks. Matrices are uniform
    with variance 2 / (in + out) (Glorot and Bengio 2010). So are those of torch's nn.Transformer, but for queries, keys
    and values, which it draws as one matrix of 3 C rows, with the variance 2 / (C + 3 C), half of that here. Biases are
    uniform in ±1/√in, as in nn.Linear (nn.Transformer's attention begins with 0); norms begin as 1 and 0.
    """
    settings: dict[str, Any] = {
        "layers": config.depth, "heads": config.heads, "feed_forward": config.hidden_width,
        "activation": config.activation, "norm_first": config.norm == "pre", "bias": config.bias,
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        stack = (
            Seq2Seq(config.width, decoder_layers=config.decoder_blocks, **settings)
            if config.architecture == "both"
            else Encoder(config.width, causal=config.architecture == "decoder", **settings)
        )
    with torch.no_grad():
        for name, module in stack.named_modules():
            if isinstance(module, nn.Linear):
                inputs, outputs = module.in_features, module.out_features
                bounds = {"weight": math.sqrt(6 / (inputs + outputs)), "bias": 1 / math.sqrt(inputs)}
                for kind, parameter in module.named_parameters():
                    drawn = generator(config.seed, f"{name}.{kind}", 0)
                    parameter.uniform_(-bounds[kind], bounds[kind], generator=drawn)
    return stack


@lru_cache(STACKS)
def shared_stack(config: TransformerConfig) -> Encoder | Seq2Seq:
    """Return the blocks of these settings, which all texts share; nothing changes them."""
    return draw_stack(config).eval().requires_grad_(False)

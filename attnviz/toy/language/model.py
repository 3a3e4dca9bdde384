"""Models from token ids to logits: a transformer with learned positions, and a bigram table and a GRU to compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.toy.language.config import TokenConfig
from attnviz.toy.layers import FeedForward, MultiHeadAttention, Past, block_weights
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.trace.layer import BlockSteps, BlockWeights
from attnviz.trace.recorder import watch_norm

NO_RESIDUAL = "This model adds nothing to its stream: without residual sums, what follows an attention is not shown."


class ReducedLayer(nn.Module):
    """A pre-norm block without some of its parts: the feed-forward, the residual sums or the norms.

    With all parts, it computes the same as `attnviz.toy.EncoderLayer`.
    """

    def __init__(self, config: TokenConfig) -> None:
        """Draw the weights as torch's own layers do."""
        super().__init__()
        width, bias = config.width, config.bias
        self.residual = config.residual
        self.attention = MultiHeadAttention(width, config.heads, bias=bias)
        self.attention_norm = nn.LayerNorm(width, bias=bias) if config.norm else nn.Identity()
        self.feed_forward: nn.Module | None = None
        if config.feed_forward != 0:
            self.feed_forward = FeedForward(width, config.feed_forward, activation=config.activation, bias=bias)
            self.feed_forward_norm = nn.LayerNorm(width, bias=bias) if config.norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        watch_norm(self.attention_norm)

    def forward(self, x: Tensor, *, mask: Tensor | None = None, past: Past | None = None) -> Tensor:
        """Apply the block to (..., T, C); `mask` and `past` are as in `MultiHeadAttention`."""
        x = self._joined(x, self.attention(self.attention_norm(x), mask=mask, past=past))
        if self.feed_forward is not None:
            x = self._joined(x, self.feed_forward(self.feed_forward_norm(x)))
        return x

    def after(self, x: Tensor, output: Tensor) -> BlockSteps:
        """Compute the steps after attention from the input of the block and the output of its attention, (..., T, C).

        Raises:
            ValueError: the block has no residual sums.
        """
        if not self.residual:
            raise ValueError(NO_RESIDUAL)
        has_norm, stream = isinstance(self.attention_norm, nn.LayerNorm), self._joined(x, output)
        before: dict[str, Any] = {
            "attention_residual": stream,
            "attention_norm": self.attention_norm(x) if has_norm else None,
        }
        forward = self.feed_forward
        if not isinstance(forward, FeedForward):
            return BlockSteps(
                **before, feed_forward_hidden=None, feed_forward_output=None, feed_forward_residual=None,
                block_output=stream, is_reduced=True,
            )  # fmt: skip
        normed = self.feed_forward_norm(stream)
        hidden = forward.hidden(normed)
        added = forward.second(hidden)
        summed = self._joined(stream, added)
        return BlockSteps(
            **before, feed_forward_hidden=hidden, feed_forward_output=added, feed_forward_residual=summed,
            block_output=summed, feed_forward_norm=normed if has_norm else None, is_reduced=True,
        )  # fmt: skip

    def weights(self) -> BlockWeights:
        """Return the weights of the norms and the feed-forward."""
        return block_weights(self, self.feed_forward)

    def _joined(self, x: Tensor, output: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(output)
        return x + dropped if self.residual else dropped


class TokenModel(nn.Module):
    """Token embedding + learned position, blocks, and a linear map to the logits."""

    def __init__(self, config: TokenConfig) -> None:
        """Draw the weights as torch's own layers do; seeding torch beforehand makes them reproducible."""
        super().__init__()
        self.config, width = config, config.width
        self.token = nn.Embedding(config.vocabulary, width)
        self.position = nn.Embedding(config.block_size, width)
        self.blocks = _blocks(config)
        self.head = nn.Linear(width, config.logit_count)

    @property
    def block_size(self) -> int:
        """The longest sequence."""
        return self.config.block_size

    def logits(self, ids: Tensor, source: Tensor | None = None, *, past: Sequence[Past] | None = None) -> Tensor:
        """Return the logits at each position.

        Args:
            ids: (B, T) or (T,), integers from 0 to the vocabulary's size - 1.
            source: (B, S) or (S,), the encoder's input, if the model has an encoder and a decoder.
            past: for a decoder alone, each layer's keys and values of the earlier tokens (`new_past`).

        Returns:
            (B, T, V) or (T, V).

        Raises:
            ValueError: a sequence is longer than the block size, or has the wrong number of axes; or there is a source
                without an encoder to read it, or the reverse.
            IndexError: an id is not in the vocabulary.
        """
        logits: Tensor = self.head(self.hidden(ids, source, past=past))
        return logits

    forward = logits

    def hidden(self, ids: Tensor, source: Tensor | None = None, *, past: Sequence[Past] | None = None) -> Tensor:
        """Return the last hidden state, (B, T, C) or (T, C); arguments and errors are those of `logits`."""
        blocks = self.blocks
        if past is not None and self.config.architecture != "decoder":
            raise ValueError("only a decoder alone can continue from a past")
        if isinstance(blocks, Seq2Seq):
            if source is None:
                raise ValueError("the encoder of this model needs a source to read")
            x, y = self.embed(source), self.embed(ids)
            decoded: Tensor = blocks(x, y, x_mask=self._padding_mask(source))
            return decoded
        if source is not None:
            raise ValueError("this model has one stack of blocks, which reads no source")
        mask = self._padding_mask(ids) if self.config.architecture == "encoder" else None
        hidden: Tensor = blocks(self.embed(ids, before=len(past[0]) if past else 0), mask=mask, past=past)
        return hidden

    def new_past(self) -> list[Past]:
        """Return an empty `past` for `logits`; each call extends it."""
        return [Past() for _ in range(self.config.layers)]

    def embed(self, ids: Tensor, *, before: int = 0) -> Tensor:
        """Return the sum of token and position embeddings, (..., T, C); raises as `logits` does.

        `before` is the number of earlier tokens, at which the positions begin.
        """
        length = ids.shape[-1] if ids.ndim in (1, 2) else None
        if length is None:
            raise ValueError(f"ids {tuple(ids.shape)} are neither (T,) nor (B, T)")
        if before + length > self.block_size:
            raise ValueError(f"{before + length} tokens are more than the block size, {self.block_size}")
        summed: Tensor = self.token(ids) + self.position.weight[before : before + length]
        return summed

    def _padding_mask(self, ids: Tensor) -> Tensor | None:
        if self.config.padding is None:
            return None
        return (ids != self.config.padding).unsqueeze(-2).unsqueeze(-2)  # (B, S) -> (B, 1, 1, S)


class ReducedStack(Encoder):
    """A stack of reduced layers, and a final norm if the layers have norms."""

    def __init__(self, config: TokenConfig) -> None:
        """Draw the weights as torch's own layers do."""
        nn.Module.__init__(self)
        self.causal = config.architecture == "decoder"
        self.layers = nn.ModuleList(ReducedLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, bias=config.bias) if config.norm else nn.Identity()


def _blocks(config: TokenConfig) -> Encoder | Seq2Seq:
    if not config.layers or not config.is_complete:
        return ReducedStack(config)
    settings: dict[str, Any] = {
        "layers": config.layers, "heads": config.heads, "feed_forward": config.feed_forward, "norm_first": True,
        "activation": config.activation, "dropout": config.dropout, "bias": config.bias,
    }  # fmt: skip
    if config.architecture == "both":
        return Seq2Seq(config.width, **settings)
    return Encoder(config.width, causal=config.architecture == "decoder", **settings)


class CharGPT(TokenModel):
    """A decoder-only transformer over characters (GPT; Radford et al. 2018, with GPT-2's pre-norm)."""

    def __init__(
        self,
        vocabulary: int,
        *,
        block_size: int = 64,
        layers: int = 4,
        heads: int = 4,
        width: int = 128,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        """Draw the weights as torch's own layers do.

        Args:
            vocabulary: V.
            block_size: the longest context.
            layers: L.
            heads: H.
            width: C.
            dropout: as in `EncoderLayer`.
            bias: whether linear maps and norms inside the blocks add a bias.

        Raises:
            ValueError: a number is out of range, or the width can't be divided by the number of heads.
        """
        super().__init__(
            TokenConfig(
                vocabulary, block_size, layers=layers, heads=heads, width=width, dropout=dropout, bias=bias
            )
        )  # fmt: skip


class BigramModel(nn.Module):
    """A table, (V, V): row i holds the logits of the token after token i."""

    block_size = 1
    """It reads only the last token"""

    def __init__(self, vocabulary: int) -> None:
        """Draw the table as `nn.Embedding` does.

        Raises:
            ValueError: the vocabulary is empty.
        """
        if vocabulary < 1:
            raise ValueError(f"a vocabulary of {vocabulary} tokens has none to predict")
        super().__init__()
        self.table = nn.Embedding(vocabulary, vocabulary)

    @classmethod
    def by_counting(cls, ids: Tensor, vocabulary: int, *, smoothing: float = 0.0) -> BigramModel:
        """Return the model whose table is the log of the counted frequencies.

        Without smoothing, no bigram model fits the text better.

        Args:
            ids: (N,), the whole text.
            vocabulary: V.
            smoothing: added to each count, so that no probability is 0 (add-one smoothing with 1). Without it, a pair
                that does not occur has the logit −inf, and a token without a successor has equal logits.

        Raises:
            ValueError: smoothing is negative, the ids are not one sequence, or one is not in the vocabulary.
        """
        if smoothing < 0:
            raise ValueError(f"smoothing is {smoothing}; it can't be negative")
        counts = count_pairs(ids, vocabulary).double() + smoothing
        counts[counts.sum(dim=1) == 0] = 1
        model = cls(vocabulary)
        with torch.no_grad():
            model.table.weight.copy_((counts / counts.sum(dim=1, keepdim=True)).log())
        return model

    def logits(self, ids: Tensor) -> Tensor:
        """Return the logits of the token after each token: (B, T) -> (B, T, V), (T,) -> (T, V).

        Raises:
            IndexError: an id is not in the vocabulary.
        """
        rows: Tensor = self.table(ids)
        return rows

    forward = logits


def count_pairs(ids: Tensor, vocabulary: int) -> Tensor:
    """Count how often token j follows token i in a text, (N,): returns (V, V) integers.

    Raises:
        ValueError: the ids are not one sequence, or one is not in the vocabulary.
    """
    if ids.ndim != 1:
        raise ValueError(f"ids {tuple(ids.shape)} are not one sequence, (N,)")
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary:
        raise ValueError(f"ids from {int(ids.min())} to {int(ids.max())}: the vocabulary has 0 to {vocabulary - 1}")
    pairs = ids[:-1] * vocabulary + ids[1:]
    return torch.bincount(pairs, minlength=vocabulary**2).view(vocabulary, vocabulary)


class GRUModel(nn.Module):
    """Embedding, a GRU, and a linear map to the logits.

    It has no attention: it knows the past only from its state of C numbers.
    """

    def __init__(self, vocabulary: int, *, width: int = 128, layers: int = 1, block_size: int = 64) -> None:
        """Draw the weights as torch's own layers do.

        Args:
            vocabulary: V.
            width: C, of the embedding and of the state.
            layers: the number of stacked GRUs.
            block_size: the longest sequence in training; the model can also read longer ones.

        Raises:
            ValueError: a number is below 1.
        """
        sizes = {"vocabulary": vocabulary, "width": width, "layers": layers, "block_size": block_size}
        for name, number in sizes.items():
            if number < 1:
                raise ValueError(f"{name} is {number}; it must be at least 1")
        super().__init__()
        self.block_size = block_size
        self.token = nn.Embedding(vocabulary, width)
        self.gru = nn.GRU(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def logits(self, ids: Tensor) -> Tensor:
        """Return the logits of the token after each token: (B, T) -> (B, T, V), (T,) -> (T, V).

        Raises:
            IndexError: an id is not in the vocabulary.
        """
        states, _ = self.gru(self.token(ids))
        logits: Tensor = self.head(states)
        return logits

    forward = logits

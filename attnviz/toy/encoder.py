"""A transformer encoder: embeddings, then layers of attention and feed-forward (Vaswani et al. 2017).

With BERT's weights it is BERT (Devlin et al. 2019): `attnviz.pretrained.built_in` loads those of MiniLM-L6.

Shapes: T tokens, C model width, H heads, D = C / H head width, F feed-forward width; optionally a batch axis before T.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.trace.block import BlockSteps
from attnviz.trace.layer import OutputProjection, Projection
from attnviz.trace.recorder import recorded_attention, watch_inputs


class Embeddings(nn.Module):
    """The normalised sum of token, segment and position embeddings."""

    def __init__(self, vocabulary: int, positions: int, width: int, *, segments: int = 2, eps: float = 1e-5) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.segment = nn.Embedding(segments, width)
        self.position = nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width, eps=eps)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Embed (T,) ids and segments: returns (T, C)."""
        summed: Tensor = self.token(ids) + self.segment(segments) + self.position.weight[: ids.shape[-1]]
        normed: Tensor = self.norm(summed)
        return normed


class MultiHeadAttention(nn.Module):
    """Multi-head self-attention: H heads in parallel, and W_O (section 3.2.2 of the paper)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"a width of {width} can't be divided into {heads} heads")
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        watch_inputs(self)

    def forward(self, x: Tensor) -> Tensor:
        """Apply self-attention to (T, C): returns (T, C)."""
        query, key, value = (self._split(projection(x)) for projection in (self.query, self.key, self.value))
        output: Tensor = self.output(recorded_attention(self, query, key, value).concat)
        return output

    def _split(self, projected: Tensor) -> Tensor:
        heads: Tensor = projected.unflatten(-1, (self.heads, -1)).transpose(-3, -2)  # (T, C) -> (T, H, D) -> (H, T, D)
        return heads

    def projections(self) -> dict[str, Projection]:
        """Return the projections of query, key and value, split by head."""
        maps = {"query": self.query, "key": self.key, "value": self.value}
        width = self.query.out_features // self.heads
        return {
            name: Projection.of_heads(map_.weight.detach().T, map_.bias.detach(), self.heads, width)
            for name, map_ in maps.items()
        }

    def output_projection(self) -> OutputProjection:
        """Return W_O and its bias."""
        return OutputProjection(self.output.weight.detach().T, self.output.bias.detach())


class EncoderLayer(nn.Module):
    """Attention, then feed-forward; each is added to its input and normalised after it (post-norm)."""

    def __init__(self, width: int, heads: int, feed_forward: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=eps)
        self.feed_forward_in = nn.Linear(width, feed_forward)
        self.feed_forward_out = nn.Linear(feed_forward, width)
        self.block_norm = nn.LayerNorm(width, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to (T, C): returns (T, C)."""
        return self.after(x, self.attention(x)).block_output

    def after(self, x: Tensor, output: Tensor) -> BlockSteps:
        """Compute the steps after attention from the block's input and its attention's output, both (T, C)."""
        attention_residual = x + output
        attention_norm = self.attention_norm(attention_residual)
        hidden = F.gelu(self.feed_forward_in(attention_norm))  # (T, F)
        feed_forward_output = self.feed_forward_out(hidden)  # (T, C)
        residual = attention_norm + feed_forward_output
        return BlockSteps(
            attention_residual, attention_norm, hidden, feed_forward_output, residual, self.block_norm(residual)
        )


class Encoder(nn.Module):
    """Embeddings, then a stack of layers."""

    def __init__(self, embeddings: Embeddings, layers: list[EncoderLayer]) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.layers = nn.ModuleList(layers)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Encode (T,) ids and segments: returns the last hidden state, (T, C)."""
        x: Tensor = self.embeddings(ids, segments)
        for layer in self.layers:
            x = layer(x)
        return x

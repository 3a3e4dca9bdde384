"""BERT (Devlin et al. 2019): embeddings, then an encoder. `attnviz.pretrained.built_in` loads MiniLM-L6's weights."""

from __future__ import annotations

from torch import Tensor, nn

from attnviz.toy.stacks import Encoder


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


class Bert(nn.Module):
    """Embeddings, then an encoder."""

    def __init__(self, embeddings: Embeddings, encoder: Encoder) -> None:
        super().__init__()
        self.embeddings, self.encoder = embeddings, encoder

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Encode (T,) ids and segments: returns the last hidden state, (T, C)."""
        hidden: Tensor = self.encoder(self.embeddings(ids, segments))
        return hidden

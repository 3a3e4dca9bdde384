"""Stacks of layers: encoder, decoder, and the sequence-to-sequence transformer of the paper (Vaswani et al. 2017).

They take vectors, not ids: the embeddings are not part of them. Shapes are those of `attnviz.toy.layers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from torch import Tensor, nn

from attnviz.attention import and_causal
from attnviz.toy.layers import EPS, WIDTH, DecoderLayer, EncoderLayer, Past, settings_of_layer

LAYERS = 2


class Encoder(nn.Module):
    """A stack of encoder layers, by default with a final norm if the layers are pre-norm."""

    def __init__(
        self,
        width: int = WIDTH,
        *,
        layers: int = LAYERS,
        causal: bool = False,
        final_norm: bool | None = None,
        eps: float = EPS,
        **settings: Any,
    ) -> None:
        """Draw the weights.

        Args:
            width: C.
            layers: L.
            causal: whether a token attends only to itself and earlier ones, as in a decoder-only model (GPT).
            final_norm: whether a norm follows the last layer; if None, only after pre-norm layers, as in GPT-2.
            eps: added to the variance in the norms.
            settings: the other arguments of `EncoderLayer`.

        Raises:
            ValueError: as in `EncoderLayer`, or `layers` is below 1.
        """
        super().__init__()
        self.causal = causal
        self.layers = nn.ModuleList(EncoderLayer(width, eps=eps, **settings) for _ in range(_checked(layers)))
        self.norm = _final_norm(width, final_norm, eps, settings)

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoder, *, causal: bool = False) -> Encoder:
        """Return the same stack with copies of the weights; torch's is causal only when called with the mask.

        Raises:
            ValueError: as in `EncoderLayer.from_torch`.
        """
        encoder = cls(**_settings_of_stack(module), causal=causal)
        encoder.layers = nn.ModuleList(map(EncoderLayer.from_torch, module.layers))
        _copy_norm(module, encoder)
        return encoder.train(module.training)

    def forward(self, x: Tensor, *, mask: Tensor | None = None, past: Sequence[Past] | None = None) -> Tensor:
        """Apply all layers to (..., T, C); `mask` and `past` are as in `MultiHeadAttention`, with a past per layer."""
        if self.causal:
            mask = and_causal(mask, x.shape[-2], before=len(past[0]) if past else 0)
        for layer, layer_past in zip(self.layers, past or repeat(None), strict=False):
            x = layer(x, mask=mask, past=layer_past)
        normed: Tensor = self.norm(x)
        return normed


class Decoder(nn.Module):
    """A stack of decoder layers, all attending to the same encoder output; their self-attention is always causal."""

    def __init__(
        self,
        width: int = WIDTH,
        *,
        layers: int = LAYERS,
        final_norm: bool | None = None,
        eps: float = EPS,
        **settings: Any,
    ) -> None:
        """Draw the weights; arguments and errors are those of `Encoder`."""
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(width, eps=eps, **settings) for _ in range(_checked(layers)))
        self.norm = _final_norm(width, final_norm, eps, settings)

    @classmethod
    def from_torch(cls, module: nn.TransformerDecoder) -> Decoder:
        """Return the same stack with copies of the weights; torch's is causal only when called with the mask.

        Raises:
            ValueError: as in `DecoderLayer.from_torch`.
        """
        decoder = cls(**_settings_of_stack(module))
        decoder.layers = nn.ModuleList(map(DecoderLayer.from_torch, module.layers))
        _copy_norm(module, decoder)
        return decoder.train(module.training)

    def forward(
        self, y: Tensor, encoded: Tensor, *, mask: Tensor | None = None, encoded_mask: Tensor | None = None
    ) -> Tensor:
        """Apply all layers; the arguments are those of `DecoderLayer.forward`."""
        for layer in self.layers:
            y = layer(y, encoded, mask=mask, encoded_mask=encoded_mask)
        normed: Tensor = self.norm(y)
        return normed


class Seq2Seq(nn.Module):
    """The paper's model without embeddings and output layer: an encoder of x and a decoder of y."""

    def __init__(
        self, width: int = WIDTH, *, layers: int = LAYERS, decoder_layers: int | None = None, **settings: Any
    ) -> None:
        """Draw the weights.

        Args:
            width: C.
            layers: the number of encoder layers.
            decoder_layers: the number of decoder layers; the same as `layers` if None.
            settings: the other arguments of `Encoder`.

        Raises:
            ValueError: as in `Encoder`.
        """
        super().__init__()
        self.encoder = Encoder(width, layers=layers, **settings)
        self.decoder = Decoder(width, layers=layers if decoder_layers is None else decoder_layers, **settings)

    @classmethod
    def from_torch(cls, module: nn.Transformer) -> Seq2Seq:
        """Return the same model with copies of the weights; torch's is causal only when called with the mask.

        Raises:
            ValueError: encoder or decoder are not torch's own classes, or as in `EncoderLayer.from_torch`.
        """
        theirs = module.encoder, module.decoder
        if not isinstance(theirs[0], nn.TransformerEncoder) or not isinstance(theirs[1], nn.TransformerDecoder):
            raise ValueError(f"{type(theirs[0]).__name__} and {type(theirs[1]).__name__} are not torch's own stacks")
        model = cls.__new__(cls)
        nn.Module.__init__(model)
        model.encoder, model.decoder = Encoder.from_torch(theirs[0]), Decoder.from_torch(theirs[1])
        return model.train(module.training)

    def forward(self, x: Tensor, y: Tensor, *, x_mask: Tensor | None = None, y_mask: Tensor | None = None) -> Tensor:
        """Encode x and decode y.

        Args:
            x: (..., Tk, C), the source text.
            y: (..., Tq, C), the target text so far.
            x_mask: hides tokens of x, such as padding, from encoder and decoder.
            y_mask: hides tokens of y in addition to the causal mask.

        Returns:
            (..., Tq, C).

        Raises:
            ValueError: a shape does not fit; the message names both.
        """
        decoded: Tensor = self.decoder(y, self.encoder(x, mask=x_mask), mask=y_mask, encoded_mask=x_mask)
        return decoded


def _checked(layers: int) -> int:
    if layers < 1:
        raise ValueError(f"{layers} layers: a stack has at least 1")
    return layers


def _final_norm(width: int, wanted: bool | None, eps: float, settings: dict[str, Any]) -> nn.Module:
    if settings.get("norm_first", False) if wanted is None else wanted:
        return nn.LayerNorm(width, eps=eps, bias=settings.get("bias", True))
    return nn.Identity()


def _settings_of_stack(module: nn.TransformerEncoder | nn.TransformerDecoder) -> dict[str, Any]:
    settings = settings_of_layer(module.layers[0])
    return {**settings, "layers": len(module.layers), "final_norm": module.norm is not None}


def _copy_norm(theirs: nn.TransformerEncoder | nn.TransformerDecoder, ours: Encoder | Decoder) -> None:
    if theirs.norm is not None:
        ours.norm.load_state_dict(theirs.norm.state_dict())


class BertEmbeddings(nn.Module):
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

    def __init__(self, embeddings: BertEmbeddings, encoder: Encoder) -> None:
        super().__init__()
        self.embeddings, self.encoder = embeddings, encoder

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Encode (T,) ids and segments: returns the last hidden state, (T, C)."""
        hidden: Tensor = self.encoder(self.embeddings(ids, segments))
        return hidden

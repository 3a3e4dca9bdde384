"""The masked-language head of the built-in model, which this project trained: its layers and their file.

The layers are those of BERT's head: a dense layer, GELU, LayerNorm, and a dot product with each row of the model's own
table of token embeddings, plus a bias (Devlin et al. 2019, section 3.1). `attnviz.bert.language_head` trains it.

Shapes: C model width, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from attnviz.pretrained.described import HEAD_FILE
from attnviz.reprs import ShortRepr
from attnviz.trace.layer import LinearMap, Norm
from attnviz.trace.vocabulary import Transform, Vocabulary

EPS = 1e-12
"""The norm's eps, as in BERT"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeadWeights(ShortRepr):
    """The weights of a masked-language head, without the table of token embeddings."""

    dense: Tensor
    """(C, C): x @ dense + dense_bias"""
    dense_bias: Tensor
    """(C,)"""
    norm: Tensor
    """(C,)"""
    norm_bias: Tensor
    """(C,)"""
    bias: Tensor
    """(V,): added to the logits"""

    @property
    def parameters(self) -> int:
        """How many numbers these are."""
        return sum(getattr(self, name).numel() for name in NAMES)

    @classmethod
    def zeros(cls, width: int, vocabulary: int) -> HeadWeights:
        """Return a head that finds all tokens equally likely, for a model whose head is still to be trained."""
        row = torch.zeros(width)
        return cls(torch.zeros(width, width), row, row, row, torch.zeros(vocabulary))

    def to_bytes(self) -> bytes:
        """Return them as a safetensors file, in float16, with the names and layout of transformers' BertForMaskedLM."""
        from safetensors.torch import save

        weights = {**{name: getattr(self, name) for name in NAMES}, "dense": self.dense.T}
        return save({NAMES[name]: weight.half().contiguous() for name, weight in weights.items()})

    @classmethod
    def from_bytes(cls, data: bytes) -> HeadWeights:
        """Read the output of `to_bytes`, as float32."""
        from safetensors.torch import load

        tensors = load(data)
        weights = {name: tensors[theirs].float() for name, theirs in NAMES.items()}
        return cls(**{**weights, "dense": weights["dense"].T.contiguous()})

    def vocabulary(self, table: Tensor, label: Callable[[int], str], masked: int, note: str = "") -> Vocabulary:
        """Return the map from the last hidden state to the logits.

        Args:
            table: the token embeddings, (V, C); it is not copied.
            label: returns the label of a token.
            masked: the id of [MASK].
            note: what is said of the head beside its numbers.
        """
        norm = Norm(self.norm, self.norm_bias, EPS)
        transform = Transform(LinearMap(self.dense, self.dense_bias), functional.gelu, "gelu", norm)
        return Vocabulary(LinearMap(table.T, self.bias), label, transform, masked, note)


NAMES = {
    "dense": "cls.predictions.transform.dense.weight",
    "dense_bias": "cls.predictions.transform.dense.bias",
    "norm": "cls.predictions.transform.LayerNorm.weight",
    "norm_bias": "cls.predictions.transform.LayerNorm.bias",
    "bias": "cls.predictions.bias",
}
"""Each weight -> its name in transformers' BertForMaskedLM, whose dense layer is (out, in)"""


def read_weights(file: Path = HEAD_FILE) -> HeadWeights:
    """Return the weights in a file, by default those that ship with the app."""
    return HeadWeights.from_bytes(file.read_bytes())

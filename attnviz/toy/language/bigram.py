"""The bigram model: the next token depends on the last one alone. It has no attention, and sets the floor.

Shapes: B texts, T tokens, V tokens of the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BigramModel(nn.Module):
    """A table, (V, V): row i holds the logits of what follows token i."""

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
        """Return the model whose table is the log of the counted frequencies: no bigram model fits the text better.

        Args:
            ids: (N,), the whole text.
            vocabulary: V.
            smoothing: is added to each count, so that no probability is 0 (add-one smoothing with 1). Without it, a
                pair that does not occur has the logit −inf, and a token that nothing follows has equal logits.

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
        """Return the logits of what follows each token: (B, T) -> (B, T, V), (T,) -> (T, V).

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

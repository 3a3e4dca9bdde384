"""A recurrent model to compare with: a GRU reads token after token and keeps one vector (Cho et al. 2014).

Shapes: B texts, T tokens, C width, V tokens of the vocabulary.
"""

from __future__ import annotations

from torch import Tensor, nn


class GRUModel(nn.Module):
    """Embedding, a GRU, and a linear map to the logits.

    It has no attention: all that it knows of the past is its state, C numbers.
    """

    def __init__(self, vocabulary: int, *, width: int = 128, layers: int = 1, block_size: int = 64) -> None:
        """Draw the weights as torch's own layers do.

        Args:
            vocabulary: V.
            width: C, of the embedding and of the state.
            layers: the number of GRUs one after another.
            block_size: the longest sequence in training; a longer one can be read.

        Raises:
            ValueError: a number is below 1.
        """
        for name, number in (
            ("vocabulary", vocabulary),
            ("width", width),
            ("layers", layers),
            ("block_size", block_size),
        ):
            if number < 1:
                raise ValueError(f"{name} is {number}; it must be at least 1")
        super().__init__()
        self.block_size = block_size
        self.token = nn.Embedding(vocabulary, width)
        self.gru = nn.GRU(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def logits(self, ids: Tensor) -> Tensor:
        """Return the logits of what follows each token: (B, T) -> (B, T, V), (T,) -> (T, V).

        Raises:
            IndexError: an id is not in the vocabulary.
        """
        states, _ = self.gru(self.token(ids))
        logits: Tensor = self.head(states)
        return logits

    forward = logits

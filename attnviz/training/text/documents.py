"""A text as documents, one a line, cut into sequences of which none goes over the end of its document.

Shapes: M sequences, B of them in a batch, T tokens of the longest, less one.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attnviz.tokens import CharVocab
from attnviz.training.tasks.task import IGNORED, Batch, Result
from attnviz.training.text.cut import Cut, sequences_of
from attnviz.training.text.subject import AT_ONCE, TRAIN_PART, WATCHED, Text, TextError, as_read, result_of


def check_lines(text: str, cut: Cut, most: int) -> None:
    """Check that either part of a text has a sequence.

    Raises:
        TextError: it has not.
    """
    middle = int(TRAIN_PART * len(text))
    for part, of in ((text[:middle], "the part to train on"), (text[middle:], "the last tenth, for validation,")):
        if next(sequences_of(part, cut, most), None) is None:
            raise TextError(
                f"Cut line by line into sequences of at most {most} characters, {of} of this text has none that is "
                "long enough: choose blocks at random places, or a smaller block size."
            )


class Documents(Text):
    """A text whose next characters are to be predicted, in sequences that are parts of its lines.

    The text is split as any other: the line at the end of the training part may go on in the validation part.
    """

    def __init__(self, text: str, block_size: int, cut: Cut, *, vocabulary: CharVocab | None = None) -> None:
        """Encode, split and cut a text.

        Args:
            text: as `Text` takes it.
            block_size: the longest sequence, without the line end.
            cut: "chunks" or "plain".
            vocabulary: as `Text` takes it.

        Raises:
            TextError: as `Text` raises it, or no line of either part is long enough.
        """
        super().__init__(text, block_size, vocabulary=vocabulary)
        text = as_read(text)
        check_lines(text, cut, block_size)
        parts = text[: len(self.train)], text[len(self.train) :]
        self.sequences, self.validation_sequences = (
            torch.tensor(list(sequences_of(part, cut, block_size))) for part in parts
        )
        """(M, 2): where each sequence of a part begins, and the place after its last character"""

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences of the training part."""
        drawn = torch.randint(len(self.sequences), (size,), generator=generator)
        return padded(self.train, self.sequences[drawn])

    def held_out(self) -> Batch:
        """Return up to `WATCHED` sequences of the validation part, evenly spread."""
        count = len(self.validation_sequences)
        rows = torch.linspace(0, count - 1, min(WATCHED, count)).long().unique()
        return padded(self.validation, self.validation_sequences[rows])

    def whole(self, model: nn.Module) -> Result:
        """Return loss and accuracy over all sequences of the validation part, of the characters that are predicted."""
        return result_of(model, self._validation())

    def _validation(self) -> Iterator[Batch]:
        for rows in self.validation_sequences.split(AT_ONCE):
            yield padded(self.validation, rows)


def padded(ids: Tensor, sequences: Tensor) -> Batch:
    """Return sequences of a text, (B, 2), as rows (B, T): tokens[:-1] of each to be read, tokens[1:] to be predicted.

    The rest of a shorter row counts nothing: what it reads is id 0, and a position never sees what comes after it.
    """
    starts, lengths = sequences[:, :1], sequences[:, 1:] - sequences[:, :1]  # (B, 1)
    places = torch.arange(int(lengths.max()))
    rows = ids[(starts + places).clamp(max=len(ids) - 1)]  # (B, T + 1)
    beyond = (places >= lengths)[:, 1:]
    return Batch(rows[:, :-1].masked_fill(beyond, 0), rows[:, 1:].masked_fill(beyond, IGNORED))

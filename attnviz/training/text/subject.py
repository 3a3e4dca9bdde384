"""Character-level text data: the ids as one tensor, split into training and validation, in blocks or line by line.

Shapes: N characters of the text, B sequences of a batch, T tokens of the longest (for blocks, the block size), M
sequences of a text cut line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.tokens import CharVocab, Tokens
from attnviz.tokens.value import repair
from attnviz.training.settings import TEXT
from attnviz.training.tasks.task import IGNORED, Batch, Result, Subject
from attnviz.training.text.cut import Cut, sequences_of

TRAIN_PART = 0.9
"""The fraction of a text, from its beginning, on which a model is trained"""
WATCHED = 64
"""Number of validation blocks evaluated during training"""
AT_ONCE = 64
"""Blocks per forward pass when the whole validation part is evaluated"""


class TextError(ValueError):
    """A text can't be trained on. The message is one sentence for the user, with the reason."""


def check_length(characters: int, block_size: int) -> None:
    """Check that in a text of this length both parts have room for a block and the character after it.

    Raises:
        TextError: the text is too short.
    """
    needed = block_size + 1
    if characters - int(TRAIN_PART * characters) < needed:
        least = next(n for n in range(10 * needed - 10, 10 * needed + 11) if n - int(TRAIN_PART * n) >= needed)
        raise TextError(
            f"This text has {characters:,} characters; with blocks of {block_size} it needs at least {least:,}, "
            "because the last tenth is kept for validation."
        )


def as_read(text: str) -> str:
    """Normalise a text for training: every line ends with "\\n", as when Python reads a text file.

    `repair` replaces lone surrogates.
    """
    return repair(text).replace("\r\n", "\n").replace("\r", "\n")


class Text(Subject):
    """A text whose next characters a model learns to predict."""

    name = TEXT

    def __init__(self, text: str, block_size: int) -> None:
        """Encode and split a text; the vocabulary has its characters in code-point order.

        Args:
            text: the whole text; `as_read` normalises it.
            block_size: T, the length of a training sequence.

        Raises:
            TextError: the text is empty, has only one character, or either part is too short for a block and the
                character after it.
            ValueError: the block size is below 1.
        """
        if block_size < 1:
            raise ValueError(f"block_size is {block_size}; it must be at least 1")
        text = as_read(text)
        if not text.strip():
            raise TextError("There is no text to train on: paste one, or choose the built-in corpus.")
        self.vocabulary = CharVocab.from_text(text)
        if len(set(text)) < 2:
            raise TextError("This text has one character only, over and over, so there is nothing to learn.")
        self.labels, self.block_size = self.vocabulary.characters, block_size
        self.ids = torch.tensor(self.vocabulary.encode(text))
        """(N,): the whole text as one tensor"""
        cut = int(TRAIN_PART * len(self.ids))
        self.train, self.validation = self.ids[:cut], self.ids[cut:]
        check_length(len(text), block_size)

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw blocks from anywhere in the training part; the target of each character is the one after it."""
        starts = torch.randint(len(self.train) - self.block_size, (size, 1), generator=generator)
        return _pairs(self.train, starts, self.block_size)

    def held_out(self) -> Batch:
        """Return up to `WATCHED` evenly spaced blocks of the validation part."""
        last = len(self.validation) - self.block_size - 1
        starts = torch.linspace(0, last, min(WATCHED, last + 1)).long().unique()
        return _pairs(self.validation, starts[:, None], self.block_size)

    def whole(self, model: nn.Module) -> Result:
        """Return the loss, in nats per character, and the accuracy of a model on the whole validation part."""
        return result_of(model, _blocks(self.validation, self.block_size))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the first characters of a text, up to the block size."""
        return self.vocabulary.tokenize(text, max_tokens=self.block_size), None


def validation_loss(model: nn.Module, ids: Tensor, block_size: int) -> float:
    """Return the mean loss over a whole text, (N,), in nats per character.

    The text is cut into blocks without overlap, so each character is predicted once; the first target of a block is
    predicted from only one character.

    Raises:
        ValueError: the text has fewer than two characters.
    """
    if len(ids) < 2:
        raise ValueError("one character has none after it to predict")
    return result_of(model, _blocks(ids, block_size)).loss


def result_of(model: nn.Module, batches: Iterable[Batch]) -> Result:
    """Return a model's loss and accuracy over all positions that count, over several batches together.

    Afterwards the model is in the same mode (training or evaluation) as before.
    """
    total, right, count, was_training = 0.0, 0, 0, model.training
    model.eval()
    with torch.no_grad():
        for batch in batches:
            logits, targets = model(batch.ids).flatten(0, -2), batch.targets.flatten()
            total += functional.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum").item()
            right += int((logits.argmax(-1) == targets).sum())  # an ignored target never equals an output
            count += int((targets != IGNORED).sum())
    model.train(was_training)
    return Result(total / count, right / count)


def _blocks(ids: Tensor, block_size: int) -> Iterator[Batch]:
    """Cut a text into blocks, with the next characters as targets, in batches of up to `AT_ONCE` blocks."""
    x, y = ids[:-1], ids[1:]
    whole = len(x) // block_size * block_size
    if whole:
        rows = (tensor[:whole].view(-1, block_size).split(AT_ONCE) for tensor in (x, y))
        yield from map(Batch, *rows)
    if whole < len(x):
        yield Batch(x[None, whole:], y[None, whole:])


def _pairs(ids: Tensor, starts: Tensor, length: int) -> Batch:
    """Return the blocks that begin at these positions, (B, 1), with the next characters as targets."""
    blocks = ids[starts + torch.arange(length + 1)]
    return Batch(blocks[:, :-1], blocks[:, 1:])


def check_lines(text: str, cut: Cut, most: int) -> None:
    """Check that both parts of a text have at least one sequence.

    Raises:
        TextError: a part has none.
    """
    middle = int(TRAIN_PART * len(text))
    for part, of in ((text[:middle], "the part to train on"), (text[middle:], "the last tenth, for validation,")):
        if next(sequences_of(part, cut, most), None) is None:
            raise TextError(
                f"Cut line by line into sequences of at most {most} characters, {of} of this text has none that is "
                "long enough: choose blocks at random places, or a smaller block size."
            )


class Documents(Text):
    """A text whose next characters a model learns to predict, cut line by line.

    The split into training and validation is that of `Text`, so it may divide a line.
    """

    def __init__(self, text: str, block_size: int, cut: Cut) -> None:
        """Encode, split and cut a text.

        Args:
            text: as `Text` takes it.
            block_size: the longest sequence, without the line end.
            cut: "chunks" or "plain".

        Raises:
            TextError: as in `Text`, or a part has no line that is long enough.
        """
        super().__init__(text, block_size)
        text = as_read(text)
        check_lines(text, cut, block_size)
        parts = text[: len(self.train)], text[len(self.train) :]
        self.sequences, self.validation_sequences = (
            torch.tensor(list(sequences_of(part, cut, block_size))) for part in parts
        )
        """(M, 2) for each part: the start of each sequence, and the position after its last character"""

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences of the training part."""
        drawn = torch.randint(len(self.sequences), (size,), generator=generator)
        return padded(self.train, self.sequences[drawn])

    def held_out(self) -> Batch:
        """Return up to `WATCHED` evenly spaced sequences of the validation part."""
        count = len(self.validation_sequences)
        rows = torch.linspace(0, count - 1, min(WATCHED, count)).long().unique()
        return padded(self.validation, self.validation_sequences[rows])

    def whole(self, model: nn.Module) -> Result:
        """Return loss and accuracy over all predicted characters in the sequences of the validation part."""
        return result_of(model, (padded(self.validation, rows) for rows in self.validation_sequences.split(AT_ONCE)))


def padded(ids: Tensor, sequences: Tensor) -> Batch:
    """Return sequences of a text, (B, 2), as rows (B, T): tokens[:-1] of each as inputs, tokens[1:] as targets.

    Shorter rows are padded: with id 0 as input, which no earlier position sees, and `IGNORED` as target.
    """
    starts, lengths = sequences[:, :1], sequences[:, 1:] - sequences[:, :1]  # (B, 1)
    places = torch.arange(int(lengths.max()))
    rows = ids[(starts + places).clamp(max=len(ids) - 1)]  # (B, T + 1)
    beyond = (places >= lengths)[:, 1:]
    return Batch(rows[:, :-1].masked_fill(beyond, 0), rows[:, 1:].masked_fill(beyond, IGNORED))

"""Tagging with a user's files as a task: its model, its batches, and how it reads typed text.

Shapes: B sentences, T words of the longest, S sentences of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from attnviz.tokens import NO_ID, Tokens, repair
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TAGGED
from attnviz.training.tagged.files import FILL, UNKNOWN, TaggedFiles, TaggedPart
from attnviz.training.tasks.task import IGNORED, Batch, Part, Task, tokens_of

WATCHED = 256
"""Number of test sentences evaluated during training"""
AT_ONCE = 64
"""Test sentences per forward pass when all of them are evaluated"""
DROPPED = 0.5
"""The probability that a word which occurs only once in the training file is replaced by the unknown word in a batch,
so that the model learns to tag unknown words (Lample et al. 2016, "Neural Architectures for Named Entity Recognition",
section 4.2)"""
LONGEST_EXAMPLE = 80
"""The most characters of an example sentence"""
_ENDS = re.compile(r"([^\w\s]*)(.*?)([^\w\s]*)", re.DOTALL)


class TaggedWords(Task):
    """The task of a trained model: its words and tags, without the files."""

    name, title = TAGGED, "Tagging: your files"
    explanation = (
        "The model predicts the tag of each word of a sentence, as your training file has it. Accuracy is the share of "
        "the test file's words whose tag is right; the baseline predicts each word's most frequent tag."
    )
    expected = "Which head looks at what depends on your sentences: no pattern is known in advance."
    patterns = ()
    control = "Without a layer it sees each word alone, so it can do little better than each word's most frequent tag."

    def __init__(self, labels: Sequence[str], tags: Sequence[str], longest: int, examples: Sequence[str] = ()) -> None:
        """Set up the task.

        Args:
            labels: the vocabulary.
            tags: the tag of each logit.
            longest: the most words of a sentence.
            examples: texts to begin with; by default, the first words of the vocabulary.
        """
        self.labels, self.tags, self.longest = tuple(labels), tuple(tags), longest
        self.model = TokenConfig(
            len(self.labels), longest, "encoder", layers=1, heads=4, width=32, outputs=len(self.tags), padding=FILL
        )
        self.control_model = replace(self.model, layers=0)
        self.examples = tuple(examples) or (" ".join(self.labels[UNKNOWN + 1 : UNKNOWN + 7]),)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The tags."""
        return self.tags

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the words of a text; words not in the vocabulary are marked and get the id of the unknown word.

        Words are separated by white space, as in a file. Punctuation at the ends of an unknown word is split off.
        """
        known = set(self.labels)
        parts = [part for match in re.finditer(r"\S+", repair(text)) for part in _cut(match, known)]
        tokens = tokens_of(text, parts, self.labels, most=self.longest)
        return replace(tokens, ids=tuple(UNKNOWN if id_ == NO_ID else id_ for id_ in tokens.ids)), None

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Raise an error, since there are no files.

        Raises:
            ValueError: always.
        """
        del size, generator
        raise ValueError("A model that learned from files can't be trained or measured without them.")

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sentences of the training file only; some may also occur in the test file."""
        return self.draw(size, generator)

    def held_out(self) -> Batch:
        """Return sentences of the test file."""
        return self.draw(0, torch.Generator())


def _cut(match: re.Match[str], known: set[str]) -> list[Part]:
    """Return a word and the punctuation split off its ends, as tokens."""
    start, ends = match.start(), _ENDS.fullmatch(match.group())
    if match.group() in known or ends is None:
        return [(match.group(), *match.span())]
    before, word, after = ends.groups()
    pieces = [*before, *([word] if word else []), *after]
    parts = []
    for piece in pieces:
        parts.append((piece, start, start + len(piece)))
        start += len(piece)
    return parts


class TaggedSentences(TaggedWords):
    """The task with the files, for training and testing."""

    data: TaggedFiles

    def __init__(self, data: TaggedFiles) -> None:
        """Set up the task from both files."""
        super().__init__(data.labels, data.tags, data.longest, [example_of(data)])
        self.data = data

    @cached_property
    def _train(self) -> _Sentences:
        return _Sentences(self.data.train)

    @cached_property
    def _test(self) -> _Sentences:
        return _Sentences(self.data.test)

    @cached_property
    def _once(self) -> Tensor:
        """Which tokens occur exactly once in the training file, (V,) bool."""
        return torch.bincount(self._train.words, minlength=len(self.labels)) == 1

    @property
    def has_rare_words(self) -> bool:
        """Whether any word occurs only once in the training file; such words teach a model to tag unknown ones."""
        return bool(self._once.any())

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sentences of the training file; some words that occur in it only once become unknown words."""
        drawn = self._train.batch(torch.randint(len(self._train), (size,), generator=generator))
        dropped = self._once[drawn.ids] & (torch.rand(drawn.ids.shape, generator=generator) < DROPPED)
        return Batch(drawn.ids.masked_fill(dropped, UNKNOWN), drawn.targets)

    def held_out(self) -> Batch:
        """Return up to `WATCHED` evenly spaced sentences of the test file."""
        count = len(self._test)
        return self._test.batch(torch.linspace(0, count - 1, min(WATCHED, count)).long().unique())

    def tested(self) -> Iterator[Batch]:
        """Yield all sentences of the test file, the shortest first."""
        for rows in self._test.lengths.argsort(stable=True).split(AT_ONCE):
            yield self._test.batch(rows)


class _Sentences:
    """The sentences of a file as tensors."""

    def __init__(self, part: TaggedPart) -> None:
        self.words, self.tags, self.lengths = (
            torch.from_numpy(array.astype("int64")) for array in (part.words, part.tags, part.lengths)
        )
        self.starts = self.lengths.cumsum(0) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: Tensor) -> Batch:
        """Return the sentences with these indices, (B,), padded to the longest, (B, T); padding does not count."""
        starts, lengths = self.starts[rows, None], self.lengths[rows, None]  # (B, 1)
        places = torch.arange(int(lengths.max()))
        beyond = places >= lengths
        cells = (starts + places).clamp(max=len(self.words) - 1)
        return Batch(self.words[cells].masked_fill(beyond, FILL), self.tags[cells].masked_fill(beyond, IGNORED))


def example_of(files: TaggedFiles) -> str:
    """Return the first short sentence of the test file that has 3 words or more and no unknown words.

    If there is none, return the known words of the first sentence that has any, as many as fit.
    """
    first, labels, start = "", files.labels, 0
    for length in files.test.lengths.tolist():
        ids = files.test.words[start : start + length].tolist()
        start += length
        text = " ".join(labels[id_] for id_ in ids if id_ != UNKNOWN)
        if length > 2 and UNKNOWN not in ids and len(text) <= LONGEST_EXAMPLE:
            return text
        cut = text[: LONGEST_EXAMPLE + 1].rpartition(" ")[0]  # a word has at most 60 characters
        first = first or (text if len(text) <= LONGEST_EXAMPLE else cut)
    return first or labels[UNKNOWN + 1]

"""Training data of a masked-language head: what the built-in model computes at hidden tokens of many sentences.

Each sentence is read once, with some of its tokens replaced by [MASK]; the model's last hidden state at each [MASK] is
kept with the id of the token that was there. The model itself stays as it is.

Shapes: N hidden tokens, C model width.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnviz.bert.head_card import Corpus
from attnviz.reprs import ShortRepr
from attnviz.training.loop import CheckpointError

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

HIDDEN_PART = 0.15
"""The part of a sentence's tokens that are hidden at once, as in BERT (Devlin et al. 2019, section 3.1)"""
SHORTEST, LONGEST = 20, 400
"""Characters of a sentence"""
FEWEST, MOST = 6, 100
"""Tokens of a sentence, including [CLS] and [SEP]"""
AT_ONCE, POOL = 16, 1024
"""Sentences in one forward pass; and how many are sorted by length before they are put together"""


def sentences_of(text: str) -> tuple[str, ...]:
    """Return the different sentences of a text, in its order; very short and very long ones are left out.

    Paragraphs are separated by empty lines. A sentence ends at ".", "!" or "?" before white space. The digests of
    corpora in cards of heads are those of these sentences: with the rules of `attnviz.bert.search.split`, the shipped
    head's training could not be repeated.
    """
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))
    sentences = (part for paragraph in paragraphs for part in re.split(r"(?<=[.!?])\s+", paragraph))
    return tuple(dict.fromkeys(part for part in sentences if SHORTEST <= len(part) <= LONGEST))


def read_corpora(files: Sequence[Path]) -> tuple[list[Corpus], list[str]]:
    """Return the description of each text, and the different sentences of all, in their order.

    Raises:
        ValueError: a text is not UTF-8, or has no sentence of a fitting length.
        OSError: a file can't be read.
    """
    corpora, all_sentences = [], dict[str, None]()
    for file in files:
        try:
            sentences = sentences_of(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{file.name} is not a text in UTF-8") from error
        if not sentences:
            raise ValueError(f"{file.name} has no sentence of {SHORTEST} to {LONGEST} characters")
        corpora.append(Corpus.of(file.name, sentences))
        all_sentences.update(dict.fromkeys(sentences))
    return corpora, list(all_sentences)


@dataclass(slots=True, eq=False, repr=False)
class MaskedStates(ShortRepr):
    """The states at hidden tokens. They grow sentence by sentence, so that an interrupted run can go on."""

    digest: str
    """Of the sentences and the seed"""
    read: int = 0
    """How many sentences have been read, in the seeded order"""
    states: list[Tensor] = field(default_factory=list)
    """The last hidden states at [MASK], (n, C) each, float16"""
    tokens: list[Tensor] = field(default_factory=list)
    """The ids of the tokens that were hidden, (n,) each"""
    sentences: list[Tensor] = field(default_factory=list)
    """The sentence of each, (n,), as its place in the seeded order"""

    def arrays(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return states, (N, C), ids and sentences, (N,) each."""
        return torch.cat(self.states), torch.cat(self.tokens), torch.cat(self.sentences)

    def to_bytes(self) -> bytes:
        """Return them as a safetensors file."""
        from safetensors.torch import save

        states, tokens, sentences = self.arrays()
        data = {"states": states, "tokens": tokens.int(), "sentences": sentences.int()}
        return save(data, {"digest": self.digest, "read": str(self.read)})

    @classmethod
    def from_file(cls, path: Path, digest: str) -> MaskedStates:
        """Read the output of `to_bytes` from a file.

        Raises:
            CheckpointError: the file holds something else, or states with another digest.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), "pt") as file:
                metadata = file.metadata() or {}
                states, tokens, sentences = (file.get_tensor(name) for name in ("states", "tokens", "sentences"))
            masked = cls(metadata["digest"], int(metadata["read"]), [states], [tokens.long()], [sentences.long()])
        except (SafetensorError, KeyError, ValueError) as error:
            raise CheckpointError(f"{path.name} holds no states of hidden tokens, or is damaged.") from error
        if masked.digest != digest:
            raise CheckpointError(f"{path.name} is of other texts or another seed.")
        return masked


def digest_of(corpora: Iterable[Corpus], seed: int) -> str:
    """Return what tells apart the states of different texts or seeds."""
    return hashlib.sha256(repr(([corpus.sha256 for corpus in corpora], seed)).encode()).hexdigest()


def shuffled(sentences: Sequence[str], seed: int) -> list[str]:
    """Return sentences in a seeded order."""
    order = torch.randperm(len(sentences), generator=torch.Generator().manual_seed(seed))
    return [sentences[place] for place in order.tolist()]


def extend(
    masked: MaskedStates,
    model: BuiltInModel,
    sentences: Sequence[str],
    seed: int,
    *,
    stops: Callable[[], bool] = lambda: False,
    progress: Callable[[int], object] = lambda _: None,
) -> bool:
    """Read the sentences that `masked` lacks, and return whether all are read.

    Args:
        masked: is changed.
        model: the built-in model.
        sentences: all sentences, from `shuffled`.
        seed: of the hidden tokens; each pool of sentences has a generator of its own, so that a run that was
            interrupted gives the same states.
        stops: called after each pool; returns whether to stop.
        progress: called with the number of sentences read so far.
    """
    while masked.read < len(sentences):
        first = masked.read
        generator = torch.Generator().manual_seed(seed * 1_000_003 + first)
        pool = [(first + number, model.tokenize(text).ids) for number, text in enumerate(sentences[first:][:POOL])]
        fitting = sorted((item for item in pool if FEWEST <= len(item[1]) <= MOST), key=lambda item: len(item[1]))
        for batch in _batches(fitting):
            _read(masked, model, batch, generator)
        masked.read = min(first + POOL, len(sentences))
        progress(masked.read)
        if stops():
            return masked.read == len(sentences)
    return True


Numbered = tuple[int, Sequence[int]]
"""A sentence: its place in the seeded order, and its token ids"""


def _batches(sentences: Sequence[Numbered]) -> Iterator[Sequence[Numbered]]:
    for first in range(0, len(sentences), AT_ONCE):
        yield sentences[first : first + AT_ONCE]


def _read(masked: MaskedStates, model: BuiltInModel, batch: Sequence[Numbered], generator: torch.Generator) -> None:
    _, mask = model.mask
    rows, hidden, tokens, sentences = [], [], [], []
    for row, (number, ids) in enumerate(batch):
        drawn = torch.rand(len(ids) - 2, generator=generator)
        places = [1 + place for place in (drawn < HIDDEN_PART).nonzero()[:, 0].tolist()] or [1 + int(drawn.argmin())]
        rows.append([mask if place in places else token for place, token in enumerate(ids)])
        hidden += [(row, place) for place in places]
        tokens += [ids[place] for place in places]
        sentences += [number] * len(places)
    with torch.inference_mode():
        states = model.padded_forward(rows, [[0] * len(row) for row in rows])
    at_rows, at_places = torch.tensor(hidden).T
    masked.states.append(states[at_rows, at_places].half().clone())
    masked.tokens.append(torch.tensor(tokens))
    masked.sentences.append(torch.tensor(sentences))

"""A run over a corpus: what it is asked for, what has been read, the checkpoint from which it goes on, and its card."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.corpus.blocks import LINES, Block, Problems, Read, Source, blocks
from attnviz.corpus.sentences import PAIRS_EVERY, Reader
from attnviz.corpus.statistics import HeadStatistics, Place
from attnviz.files import write_atomically


@dataclass(frozen=True, slots=True)
class Job:
    """The model and how it reads. Small, so that it can be sent to any process."""

    model: str
    """A name as `attnviz.pretrained.load` takes it"""
    batch: int = 32
    """The most sentences that are computed at once"""
    pairs_every: int = PAIRS_EVERY
    lines: int = LINES
    """Lines of a block"""

    def __post_init__(self) -> None:
        for name in ("batch", "pairs_every", "lines"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name.replace('_', ' ')} is {getattr(self, name)}; it must be at least 1")

    def reader(self, device: str = "cpu") -> Reader:
        """Load the model, and return what reads with it; torch computes in one thread, so results repeat bit for bit.

        Args:
            device: where the built-in model computes, as torch names it.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded.
        """
        import torch

        from attnviz.pretrained import load
        from attnviz.pretrained.built_in import BuiltInModel

        torch.set_num_threads(1)
        model = load(self.model)
        if isinstance(model, BuiltInModel):
            model.bert.to(device)
        return Reader(model, batch=self.batch, pairs_every=self.pairs_every)

    def to_json(self) -> dict[str, Any]:
        """Return its settings."""
        return asdict(self)


FORMAT = 2
"""Of checkpoints; another one can't be read"""


class ResumeError(ValueError):
    """A checkpoint can't be gone on from. The message is one sentence."""


class OtherWeightsError(ResumeError):
    """A part was read with other weights than the rest. The message is one sentence."""


@dataclass(slots=True, eq=False)
class Run:
    """A run over files. Blocks may come in any order; each counts once."""

    job: Job
    sources: Sequence[Source]
    statistics: HeadStatistics | None = None
    """None before the first block"""
    problems: Problems = field(default_factory=Problems)
    first: int = 0
    """All blocks before this one are folded"""
    later: set[int] = field(default_factory=set)
    """The numbers of the others that are"""
    lines: int = 0
    """The lines of all folded blocks"""
    weights: str = ""
    """The digest of the model's weights; "" before the first block"""

    @property
    def total(self) -> int:
        """The lines of all files."""
        return sum(source.lines for source in self.sources)

    def remaining(self) -> Iterator[Block]:
        """Yield the blocks that are not folded yet, in order.

        Raises:
            OSError: a file can't be read.
        """
        done = self.first, frozenset(self.later)  # as of now: folding goes on while this is read
        return (
            block
            for block in blocks(self.sources, self.job.lines)
            if block.number >= done[0] and block.number not in done[1]
        )

    def fold(self, read: Read) -> None:
        """Add a block.

        Raises:
            ValueError: it has been added before.
            OtherWeightsError: it was read with another model of the same name.
        """
        number = read.block.number
        if number < self.first or number in self.later:
            raise ValueError(f"block {number} is counted already")
        if self.weights not in ("", read.weights):
            raise OtherWeightsError(f"{self.job.model} has other weights than when this was begun, or elsewhere.")
        self.weights = read.weights
        if self.statistics is None:
            self.statistics = read.statistics
        else:
            self.statistics.merge(read.statistics)
        self.problems.merge(read.problems)
        self.lines += read.block.lines
        self.later.add(number)
        while self.first in self.later:
            self.later.remove(self.first)
            self.first += 1

    def save(self, path: Path) -> None:
        """Write a checkpoint: either all of it, or the file stays as it was.

        Raises:
            OSError: it can't be written.
        """
        said = {
            "format": FORMAT,
            "job": self.job.to_json(),
            "sources": [asdict(source) for source in self.sources],
            "problems": {"counts": self.problems.counts, "named": self.problems.named},
            "first": self.first,
            "later": sorted(self.later),
            "lines": self.lines,
            "weights": self.weights,
        }
        arrays: dict[str, Any] = {}
        if self.statistics is not None:
            said |= self.statistics.settings()
            arrays = self.statistics.arrays()
        written = io.BytesIO()
        np.savez_compressed(written, said=np.frombuffer(json.dumps(said).encode(), np.uint8), **arrays)
        write_atomically(path, written.getvalue())

    @classmethod
    def resume(cls, path: Path, job: Job, files: Sequence[Source]) -> Run:
        """Go on from a checkpoint. What it holds is arrays and plain values: nothing in it is run.

        Raises:
            ResumeError: it is of another job or of other files, or it is damaged.
            OSError: it can't be read.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                said = json.loads(found["said"].tobytes())
                arrays = {name: found[name] for name in found.files if name != "said"}
            run = cls._of(said, arrays, job, files)
        except (OSError, ResumeError):
            raise
        except Exception as error:  # of a damaged file, the reader raises almost every type
            raise ResumeError(f"{path.name} is not a checkpoint of a corpus, or it is damaged.") from error
        return run

    @classmethod
    def _of(cls, said: dict[str, Any], arrays: dict[str, Any], job: Job, files: Sequence[Source]) -> Run:
        if said["format"] != FORMAT:
            raise ResumeError("The checkpoint is of another version of this program.")
        if Job(**said["job"]) != job:
            raise ResumeError(
                f"The checkpoint is of other settings: {_written(said['job'])}; not {_written(asdict(job))}."
            )
        before = [(one["size"], one["lines"], one["sha256"]) for one in said["sources"]]
        if before != [(one.size, one.lines, one.sha256) for one in files]:
            raise ResumeError("The checkpoint is of other files, or they have changed since.")
        if [one["quoted"] for one in said["sources"]] != [one.quoted for one in files]:
            raise ResumeError("The checkpoint quotes sentences of other files.")
        named = [(Place(*place), str(reason)) for place, reason in said["problems"]["named"]]
        problems = Problems(Counter(said["problems"]["counts"]), named)
        statistics = HeadStatistics.from_arrays(said, arrays) if arrays else None
        done = int(said["first"]), set(said["later"]), int(said["lines"])
        return cls(job, files, statistics, problems, *done, str(said["weights"]))


def _written(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file that was read."""

    name: str
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """What made statistics."""

    corpus: str
    """The corpus's name, for people"""
    licence: str
    model: str
    kind: str
    """Of attention"""
    command: str
    """What makes the same file"""
    files: tuple[CorpusFile, ...]
    problems: dict[str, int]
    """Lines that were left out or cut, by reason"""
    quoted: tuple[str, ...]
    """The names of the files whose sentences may be the strongest examples"""
    pairs_every: int
    """Every n-th sentence of a block is used for the divergence between heads"""
    weights: str
    """The sha256 of the model's weights, as `attnviz.pretrained.model.weights_digest` computes it"""

    def to_json(self) -> str:
        """Write it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> CorpusCard:
        """Read what `to_json` wrote; raises ValueError, KeyError or TypeError if it is no card."""
        found: dict[str, Any] = json.loads(text)
        files = tuple(CorpusFile(**one) for one in found.pop("files"))
        return cls(**found | {"files": files, "quoted": tuple(found["quoted"])})


def card_of(run: Run, *, corpus: str, licence: str, command: str) -> CorpusCard:
    """Return the card of a run that is done."""
    return CorpusCard(
        corpus,
        licence,
        run.job.model,
        "decoder" if run.statistics is not None and run.statistics.causal else "encoder",
        command,
        tuple(CorpusFile(source.name, source.sha256, source.lines) for source in run.sources),
        dict(sorted(run.problems.counts.items())),
        tuple(source.name for source in run.sources if source.quoted),
        run.job.pairs_every,
        run.weights,
    )

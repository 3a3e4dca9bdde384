"""A run over a corpus: its settings, its progress, the checkpoints from which it resumes, and its card."""

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
    """The model and how it reads: a small object that can be sent to any process."""

    model: str
    """A name that `attnviz.pretrained.load` takes"""
    batch: int = 32
    """The most sentences in a batch"""
    pairs_every: int = PAIRS_EVERY
    lines: int = LINES
    """Lines in a block"""

    def __post_init__(self) -> None:
        for name in ("batch", "pairs_every", "lines"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name.replace('_', ' ')} is {getattr(self, name)}; it must be at least 1")

    def reader(self, device: str = "cpu") -> Reader:
        """Load the model and return its reader. torch is set to one thread, so results are reproducible bit for bit.

        Args:
            device: torch's name of the device for the built-in model.

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


FORMAT = 3
"""The format version of checkpoints; other versions can't be read"""


class ResumeError(ValueError):
    """A run can't be resumed from a checkpoint. The message is one sentence."""


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
    """All blocks before this one have been added"""
    later: set[int] = field(default_factory=set)
    """The numbers of later blocks that have been added"""
    lines: int = 0
    """The number of lines in all blocks added so far"""
    weights: str = ""
    """The digest of the model's weights; "" before the first block"""

    @property
    def total(self) -> int:
        """The number of lines in all files."""
        return sum(source.lines for source in self.sources)

    def remaining(self) -> Iterator[Block]:
        """Yield the blocks that have not been added yet, in order.

        Raises:
            OSError: a file can't be read.
        """
        first, later = self.first, frozenset(self.later)  # copies, since blocks are added during the iteration
        return (
            block
            for block in blocks(self.sources, self.job.lines)
            if block.number >= first and block.number not in later
        )

    def fold(self, read: Read) -> None:
        """Add a block.

        Raises:
            ValueError: the block has been added before.
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
        """Write a checkpoint atomically: on an error, the file stays as it was.

        Raises:
            OSError: it can't be written.
        """
        header = {
            "format": FORMAT,
            "job": asdict(self.job),
            "sources": [asdict(source) for source in self.sources],
            "problems": {"counts": self.problems.counts, "named": self.problems.named},
            "first": self.first,
            "later": sorted(self.later),
            "lines": self.lines,
            "weights": self.weights,
        }
        arrays: dict[str, Any] = {}
        if self.statistics is not None:
            header |= self.statistics.settings()
            arrays = self.statistics.arrays()
        written = io.BytesIO()
        np.savez_compressed(written, said=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
        write_atomically(path, written.getvalue())

    @classmethod
    def resume(cls, path: Path, job: Job, files: Sequence[Source]) -> Run:
        """Resume from a checkpoint. Only arrays and plain values are loaded: no code in it is run.

        Raises:
            ResumeError: it belongs to another job or to other files, or it is damaged.
            OSError: it can't be read.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                header = json.loads(saved["said"].tobytes())
                arrays = {name: saved[name] for name in saved.files if name != "said"}
            run = cls._of(header, arrays, job, files)
        except (OSError, ResumeError):
            raise
        except Exception as error:  # for a damaged file, the reader raises almost any type
            raise ResumeError(f"{path.name} is not a checkpoint of a corpus, or it is damaged.") from error
        return run

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: dict[str, Any], job: Job, files: Sequence[Source]) -> Run:
        if header["format"] != FORMAT:
            raise ResumeError("The checkpoint is of another version of this program.")
        if Job(**header["job"]) != job:
            raise ResumeError(
                f"The checkpoint is of other settings: {_written(header['job'])}; not {_written(asdict(job))}."
            )
        before = [(source["size"], source["lines"], source["sha256"]) for source in header["sources"]]
        if before != [(source.size, source.lines, source.sha256) for source in files]:
            raise ResumeError("The checkpoint is of other files, or they have changed since.")
        if [source["quoted"] for source in header["sources"]] != [source.quoted for source in files]:
            raise ResumeError("The checkpoint quotes sentences of other files.")
        named = [(Place(*place), str(reason)) for place, reason in header["problems"]["named"]]
        problems = Problems(Counter(header["problems"]["counts"]), named)
        statistics = HeadStatistics.from_arrays(header, arrays) if arrays else None
        done = int(header["first"]), set(header["later"]), int(header["lines"])
        return cls(job, files, statistics, problems, *done, str(header["weights"]))


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
    """How statistics were made."""

    corpus: str
    """The display name of the corpus"""
    licence: str
    model: str
    kind: str
    """The kind of attention"""
    command: str
    """The command that makes the same file"""
    files: tuple[CorpusFile, ...]
    problems: dict[str, int]
    """The number of lines that were skipped or cut, by reason"""
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
        """Read the output of `to_json`; raises ValueError, KeyError or TypeError if it is not a card."""
        values: dict[str, Any] = json.loads(text)
        files = tuple(CorpusFile(**file) for file in values.pop("files"))
        return cls(**values | {"files": files, "quoted": tuple(values["quoted"])})


def card_of(run: Run, *, corpus: str, licence: str, command: str) -> CorpusCard:
    """Return the card of a completed run."""
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

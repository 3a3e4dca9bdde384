"""Where statistics come from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from attnviz.corpus.run import Run


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
    """Of so many sentences of a block, one counts for the divergence between heads"""
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

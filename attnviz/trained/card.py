"""What is said of a trained model: on what it was trained, how, and how good it became. It imports no torch."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from attnviz.tokens import repair
from attnviz.training.plan import Plan
from attnviz.training.settings import MOST_STEPS
from attnviz.training.tagged.files import TaggedFiles, TaggedPart

LONGEST = 2000
"""The most characters of a text in a card"""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text that a model was trained on."""

    name: str
    characters: int
    sha256: str
    """Of its UTF-8 bytes; of a training file with tags, of the file as it is"""

    @classmethod
    def of(cls, name: str, text: str) -> Corpus:
        """Return what is said of a text."""
        return cls(name, len(text), hashlib.sha256(text.encode(errors="replace")).hexdigest())

    @classmethod
    def of_file(cls, part: TaggedPart) -> Corpus:
        """Return what is said of a file of words and tags."""
        return cls(part.name, part.characters, part.sha256)


@dataclass(frozen=True, slots=True)
class AboutFiles:
    """What is said of a user's training file and test file; unless it says so, of the test file."""

    name: str
    sha256: str
    """Of its bytes"""
    sentences: int
    words: int
    unknown: int
    """Words of it that the training file lacks"""
    seen: int
    """Sentences of it that stand in the training file too, word for word"""
    right: int
    """Words of it whose tag is the word's most frequent one in the training file: the baseline"""
    train_sentences: int
    train_words: int
    example: str
    """A sentence of it, with which the model opens"""

    @classmethod
    def of(cls, files: TaggedFiles, example: str) -> AboutFiles:
        """Return what is said of two files."""
        train, test, baseline = files.train, files.test, files.baseline
        return cls(
            test.name, test.sha256, len(test.lengths), len(test.words), files.unknown, files.seen, baseline.right,
            len(train.lengths), len(train.words), example,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoundHead:
    """The head that shows a pattern most on held-out sequences."""

    kind: str
    """"encoder", "decoder" or "cross" """
    layer: int
    head: int
    score: float
    """How much it shows the pattern, from 0 to 1"""


@dataclass(frozen=True, slots=True)
class Card:
    """All that is said of a model beside its plan."""

    name: str
    """What it is called where it is listed"""
    loss: float
    """Of held-out sequences, in nats"""
    accuracy: float
    """On held-out sequences, from 0 to 1"""
    training_loss: float
    """The mean of the last steps, in nats"""
    corpus: Corpus | None = None
    """None if a task generates what it is trained on"""
    heads: Mapping[str, FoundHead] = field(default_factory=dict)
    """By the names of the task's patterns"""
    command: str = ""
    """What made it, as a command line; empty if it was trained in the app"""
    date: str = ""
    """YYYY-MM-DD"""
    torch: str = ""
    """The version of torch"""
    after: int | None = None
    """After how many steps of its training the weights are; None: after all of them"""
    files: AboutFiles | None = None
    """None if it was not trained on a user's files; else `corpus` is the training file"""

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return {name: one for name, one in asdict(self).items() if one is not None or name not in LATER}

    @classmethod
    def from_json(cls, value: Any) -> Card:
        """Return the card of plain values.

        Raises:
            ValueError: something is missing, unknown, out of range, too long or of another type; the message names it.
        """
        given = _fields(cls, value)
        corpus, heads, files = given.get("corpus"), given.get("heads", {}), given.get("files")
        if not isinstance(heads, dict) or not all(isinstance(name, str) for name in heads):
            raise ValueError("heads are no heads by name")
        found = {name: FoundHead(**_fields(FoundHead, one)) for name, one in heads.items()}
        return cls(
            **{
                **given,
                "corpus": None if corpus is None else Corpus(**_fields(Corpus, corpus)),
                "heads": found,
                "files": None if files is None else AboutFiles(**_fields(AboutFiles, files)),
            }
        )


def as_file(plan: Plan, card: Card) -> bytes:
    """Return a model's card as a JSON file to read beside its weights, with its plan."""
    return f"{json.dumps({**card.to_json(), 'plan': plan.to_json()}, indent=2, ensure_ascii=False)}\n".encode()


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (float, int), "int | None": (int, type(None)),
}  # fmt: skip
LATER = {"after", "files"}
"""Fields that older cards do not have, so that files without them can be read"""
_HIGHEST: Mapping[str, int] = {"accuracy": 1, "score": 1, "after": MOST_STEPS}
"""The largest numbers of fields that have one"""


def _fields(kind: type[Any], value: Any) -> dict[str, Any]:
    """Check the plain values of a dataclass: none is missing, unknown or of another type."""
    known = {one.name: str(one.type) for one in fields(kind)}
    if not isinstance(value, dict) or not set(known) - LATER <= set(value) <= set(known):
        raise ValueError(f"{kind.__name__} has {', '.join(known)}")
    for name, one in value.items():
        wanted = _KINDS.get(known[name])
        if wanted is None:
            continue
        is_right = isinstance(one, wanted) and not isinstance(one, bool)
        if not is_right or (isinstance(one, str) and (len(one) > LONGEST or one != repair(one))):
            raise ValueError(f"{name} is no {known[name]}, too long, or can't be encoded in UTF-8")
        if isinstance(one, int | float) and not 0 <= one <= _HIGHEST.get(name, sys.float_info.max):
            raise ValueError(f"{name} is {one}, which it can't be")
    return value

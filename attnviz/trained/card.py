"""The card of a trained model: what it was trained on, how, and how well it does. This module imports no torch."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from attnviz.tokens import repair
from attnviz.training.jobs.view import FoundHead
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
    """Of its UTF-8 bytes; for a training file with tags, of the file itself"""

    @classmethod
    def of(cls, name: str, text: str) -> Corpus:
        """Describe a text."""
        return cls(name, len(text), hashlib.sha256(text.encode(errors="replace")).hexdigest())

    @classmethod
    def of_file(cls, part: TaggedPart) -> Corpus:
        """Describe a file of words and tags."""
        return cls(part.name, part.characters, part.sha256)


@dataclass(frozen=True, slots=True)
class AboutFiles:
    """A description of a user's training file and test file; of the test file, unless a field says otherwise."""

    name: str
    sha256: str
    """Of its bytes"""
    sentences: int
    words: int
    unknown: int
    """The number of its words that are not in the training file"""
    seen: int
    """The number of its sentences that are also in the training file, word for word"""
    right: int
    """The number of its words whose tag is the word's most frequent one in the training file: the baseline"""
    train_sentences: int
    train_words: int
    example: str
    """One of its sentences, which is shown when the model is opened"""

    @classmethod
    def of(cls, files: TaggedFiles, example: str) -> AboutFiles:
        """Describe a training file and a test file."""
        train, test, baseline = files.train, files.test, files.baseline
        return cls(
            test.name, test.sha256, len(test.lengths), len(test.words), files.unknown, files.seen, baseline.right,
            len(train.lengths), len(train.words), example,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Card:
    """A description of a model, in addition to its plan."""

    name: str
    """Its name in lists"""
    loss: float
    """On held-out sequences, in nats"""
    accuracy: float
    """On held-out sequences, from 0 to 1"""
    training_loss: float
    """The mean of the last steps, in nats"""
    corpus: Corpus | None = None
    """None if a task generates what it is trained on"""
    heads: Mapping[str, FoundHead] = field(default_factory=dict)
    """By the names of the task's patterns: the head that shows each most on held-out sequences"""
    command: str = ""
    """The command line that made it; empty if it was trained in the app"""
    date: str = ""
    """YYYY-MM-DD"""
    torch: str = ""
    """The version of torch"""
    after: int | None = None
    """The number of training steps after which the weights were taken; None: after all steps"""
    files: AboutFiles | None = None
    """None if it was not trained on a user's files; else `corpus` is the training file"""

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None or name not in LATER}

    @classmethod
    def from_json(cls, value: Any) -> Card:
        """Return the card with these plain values.

        Raises:
            ValueError: something is missing, unknown, out of range, too long or of another type; the message names it.
        """
        values = _fields(cls, value)
        corpus, heads, files = values.get("corpus"), values.get("heads", {}), values.get("files")
        if not isinstance(heads, dict) or not all(isinstance(name, str) for name in heads):
            raise ValueError("heads is not a mapping of names to heads")
        heads_by_name = {name: FoundHead(**_fields(FoundHead, head)) for name, head in heads.items()}
        return cls(
            **{
                **values,
                "corpus": None if corpus is None else Corpus(**_fields(Corpus, corpus)),
                "heads": heads_by_name,
                "files": None if files is None else AboutFiles(**_fields(AboutFiles, files)),
            }
        )


def shortened(error: Exception) -> str:
    """Return an error's message on one short line that can be encoded, without its full stop."""
    return repair(" ".join(str(error).split()))[:160].rstrip(".")


def as_file(plan: Plan, card: Card) -> bytes:
    """Return a model's card as a JSON file to read beside its weights, with its plan."""
    return f"{json.dumps({**card.to_json(), 'plan': plan.to_json()}, indent=2, ensure_ascii=False)}\n".encode()


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,), "Kind": (str,), "int": (int,), "float": (float, int), "int | None": (int, type(None)),
}  # fmt: skip
_TEXT = f"a text of at most {LONGEST:,} characters that can be encoded in UTF-8"
_KIND_WORDS: Mapping[str, str] = {
    "str": _TEXT, "Kind": _TEXT, "int": "a whole number", "float": "a number", "int | None": "a whole number",
}  # fmt: skip
"""What a field of each kind has to be, for messages"""
LATER = {"after", "files"}
"""Fields that older cards lack: files without them can still be read"""
_HIGHEST: Mapping[str, int] = {"accuracy": 1, "score": 1, "after": MOST_STEPS}
"""The largest value of each field that has one"""


def _fields(kind: type[Any], value: Any) -> dict[str, Any]:
    """Check the plain values of a dataclass: all are there, known and of the right type."""
    field_types = {declared.name: str(declared.type) for declared in fields(kind)}
    if not isinstance(value, dict) or not set(field_types) - LATER <= set(value) <= set(field_types):
        raise ValueError(f"{kind.__name__} has {', '.join(field_types)}")
    for name, content in value.items():
        types = _KINDS.get(field_types[name])
        if types is None:
            continue
        is_right = isinstance(content, types) and not isinstance(content, bool)
        if not is_right or (isinstance(content, str) and (len(content) > LONGEST or content != repair(content))):
            raise ValueError(f"{name} is not {_KIND_WORDS[field_types[name]]}")
        if isinstance(content, int | float) and not 0 <= content <= _HIGHEST.get(name, sys.float_info.max):
            raise ValueError(f"{name} is {content}, which it can't be")
    return value

"""A training plan: subject, model and settings as one value that can be sent to another process. Imports no torch.

Also the limits of a server, with the sentence for a user who exceeds them.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.toy.language.config import AnyConfig, BigramConfig, GRUConfig, LinearConfig, ModelConfig, TokenConfig
from attnviz.training.settings import TAGGED, TEXT, VECTORS, TrainingSettings
from attnviz.training.tagged.files import FILL, TaggedFiles
from attnviz.training.text.cut import CUTS, MOST, Cut

if TYPE_CHECKING:
    from torch import nn

    from attnviz.training.tasks.task import Subject, Task


@dataclass(frozen=True, eq=False, repr=False)
class LabelledVectors(ShortRepr, ArraysSize):
    """N vectors of C numbers and their classes, to train a linear layer on. Equal data have the same digest."""

    features: NDArray[np.float32]
    """(N, C)"""
    classes: NDArray[np.int64]
    """(N,), from 0"""

    def __post_init__(self) -> None:
        for name in ("features", "classes"):
            getattr(self, name).setflags(write=False)
        rows, classes = self.features.shape, self.classes.shape
        if len(rows) != 2 or classes != rows[:1] or not rows[0]:
            raise ValueError(f"features {rows} and classes {classes} are not (N, C) and (N,)")
        if not np.isfinite(self.features).all() or self.classes.min() < 0:
            raise ValueError("features are finite numbers, and classes count from 0")

    @cached_property
    def digest(self) -> str:
        """The sha256 of all numbers."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return them as a safetensors file."""
        from safetensors.numpy import save

        return save({"features": self.features, "classes": self.classes})

    @classmethod
    def from_bytes(cls, data: bytes) -> LabelledVectors:
        """Read the vectors back from the output of `to_bytes`."""
        from safetensors.numpy import load

        arrays = load(data)
        return cls(arrays["features"], arrays["classes"])


BIGRAM_BLOCK = 8
"""Tokens of a training sequence of a bigram model, which reads one token at a time, so any length will do"""
CONFIGS: dict[str, type[AnyConfig]] = {
    "transformer": TokenConfig, "gru": GRUConfig, "bigram": BigramConfig, "linear": LinearConfig,
}  # fmt: skip
"""The kinds of models by their names in JSON"""
Data = str | LabelledVectors | TaggedFiles
"""The data of a training, separate from its plan: a text, vectors with classes, or words with tags"""


@dataclass(frozen=True, slots=True)
class Plan:
    """One training with all its settings: the same plan gives the same losses on the same machine."""

    subject: str
    """A task's name, `TEXT`, `VECTORS` or `TAGGED`"""
    model: AnyConfig
    training: TrainingSettings
    cut: Cut = "blocks"
    """How a text is cut into sequences"""

    def __post_init__(self) -> None:
        if self.cut not in CUTS or (self.cut != "blocks" and self.subject != TEXT):
            raise ValueError(f"cut is {self.cut!r}: a text can be cut into {', '.join(CUTS)}, and nothing else can")

    @property
    def block_size(self) -> int:
        """The most tokens of a training sequence that the model reads."""
        return int(getattr(self.model, "block_size", BIGRAM_BLOCK if self.cut == "blocks" else MOST))

    @property
    def token_model(self) -> ModelConfig:
        """The shape of the model, for a model that reads tokens.

        Raises:
            TypeError: the model is a linear layer, which reads vectors.
        """
        if isinstance(self.model, LinearConfig):
            raise TypeError("a linear layer reads vectors, not tokens")
        return self.model

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain values; the model's `kind` says which of `CONFIGS` it is."""
        kind = next(name for name, config_type in CONFIGS.items() if type(self.model) is config_type)
        return {
            "subject": self.subject,
            "model": {"kind": kind, **asdict(self.model)},
            "training": asdict(self.training),
            **({} if self.cut == "blocks" else {"cut": self.cut}),
        }

    @classmethod
    def from_json(cls, value: Any) -> Plan:
        """Return a plan from plain values.

        Raises:
            ValueError: something is missing, unknown or out of range; the message names it.
        """
        names = {"subject", "model", "training"}
        if not isinstance(value, dict) or not names <= set(value) <= {*names, "cut"}:
            raise ValueError(f"expected an object with {', '.join(sorted(names))}")
        subject: Any = value["subject"]
        if not isinstance(subject, str):
            raise ValueError(f"subject is {subject!r}, which is not a name")
        model = _config(value["model"])
        return cls(subject, model, _of(TrainingSettings, value["training"]), value.get("cut", "blocks"))


def _config(value: Any) -> AnyConfig:
    """Return a model's shape from plain values; raises as `Plan.from_json` does."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in CONFIGS:
        raise ValueError(f"a model has a kind: {', '.join(CONFIGS)}")
    config: AnyConfig = _of(CONFIGS[kind], {name: field for name, field in value.items() if name != "kind"})
    return config


def build(config: AnyConfig, seed: int) -> nn.Module:
    """Return a model of this shape with weights drawn from a seed."""
    from torch import nn

    from attnviz.toy.language.model import BigramModel, GRUModel, TokenModel
    from attnviz.toy.weights import SeededWeights

    with SeededWeights(seed):
        if isinstance(config, TokenConfig):
            return TokenModel(config)
        if isinstance(config, GRUConfig):
            return GRUModel(config.vocabulary, width=config.width, layers=config.layers, block_size=config.block_size)
        if isinstance(config, LinearConfig):
            return nn.Linear(config.features, config.classes)
        return BigramModel(config.vocabulary)


def subject_of(plan: Plan, data: Data | None = None) -> Subject:
    """Return what a plan trains on: a task, a text, or vectors with classes.

    Raises:
        ValueError: the subject does not exist, the data can't be trained on, or the model's vocabulary does not match.
            The message is a sentence.
    """
    from attnviz.training.text.subject import Documents, Text
    from attnviz.training.vectors import Vectors

    check_kinds(plan, data)
    if isinstance(plan.model, LinearConfig) and isinstance(data, LabelledVectors):
        return Vectors(data, plan.model.classes, plan.training.seed)
    if plan.subject == TEXT:
        text = data if isinstance(data, str) else ""
        subject: Subject = (
            Text(text, plan.block_size) if plan.cut == "blocks" else Documents(text, plan.block_size, plan.cut)
        )
    else:
        subject = task_of(plan, data)
    vocabulary = plan.token_model.vocabulary
    if vocabulary != len(subject.labels):
        raise ValueError(f"The model knows {vocabulary} tokens, and its subject has {len(subject.labels)}.")
    return subject


def task_of(plan: Plan, data: Data | None = None) -> Task:
    """Return the task that a plan trains on.

    Raises:
        ValueError: there is no such task, or its files are missing.
    """
    from attnviz.training.tagged.task import TaggedSentences
    from attnviz.training.tasks import TASKS

    if plan.subject == TAGGED and isinstance(data, TaggedFiles):
        return TaggedSentences(data)
    if plan.subject not in TASKS:
        raise ValueError(f"There is no task {plan.subject!r}: choose from {', '.join(TASKS)}, or a text.")
    return TASKS[plan.subject]


def check_kinds(plan: Plan, data: Data | None) -> None:
    """Check that the model fits the data: a linear layer vectors of its width, a tagging model its files.

    Raises:
        ValueError: they don't fit; the message is a sentence.
    """
    _check_files(plan, data)
    model = plan.model
    kinds = plan.subject == VECTORS, isinstance(model, LinearConfig), isinstance(data, LabelledVectors)
    if any(kinds) != all(kinds):
        raise ValueError("Vectors are what a linear layer is trained on, and no other model.")
    if isinstance(model, LinearConfig) and isinstance(data, LabelledVectors):
        width, highest = data.features.shape[1], int(data.classes.max())
        if (width, highest < model.classes) != (model.features, True):
            raise ValueError(
                f"Vectors of {width} numbers with classes up to {highest} are not for a linear layer from "
                f"{model.features} to {model.classes}."
            )


def _check_files(plan: Plan, data: Data | None) -> None:
    files = data if isinstance(data, TaggedFiles) else None
    if (plan.subject == TAGGED) != (files is not None):
        raise ValueError("Tagging with your own files needs a training and a test file; no other training takes them.")
    if files is None:
        return
    model = plan.model
    if not isinstance(model, TokenConfig) or (model.architecture, model.padding) != ("encoder", FILL):
        raise ValueError("Words are tagged by an encoder.")
    if (model.vocabulary, model.outputs) != (len(files.labels), len(files.tags)) or model.block_size < files.longest:
        raise ValueError(
            f"A model for {model.vocabulary} tokens, {model.logit_count} tags and {model.block_size} words a sentence "
            f"is not for files with {len(files.labels)}, {len(files.tags)} and {files.longest}."
        )


def _of(kind: type[Any], value: Any) -> Any:
    """Make a dataclass from plain values; each must have the type of its field, and unknown names are refused."""
    known = {field.name: str(field.type) for field in fields(kind)}
    if not isinstance(value, dict) or not set(value) <= set(known):
        raise ValueError(f"{kind.__name__} has {', '.join(known)}")
    for name, field_value in value.items():
        if not _fits(known[name], field_value):
            raise ValueError(f"{name} is {field_value!r}, which is not {known[name]}")
    try:
        return kind(**value)
    except TypeError as error:  # a field is missing
        raise ValueError(f"{kind.__name__}: {error}") from error


def _fits(annotation: str, value: Any) -> bool:
    if value is None:
        return annotation.endswith("| None")
    wanted = {"int": (int,), "float": (int, float), "bool": (bool,)}.get(annotation.removesuffix(" | None"), (str,))
    return isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))


MEMORY_MB = 300
"""Memory that a training may take, besides what the libraries of its process take: a job that needs more fails"""
TEXT_BYTES = 5 * 2**20
"""Size limit of a text to train on, in UTF-8"""
VECTOR_BYTES = 16 * 2**20
"""Size limit of vectors to train on"""
TAGGED_BYTES = 16 * 2**20
"""Size limit of tagged words to train and test on, as numbers"""
MOST_LAYERS, MOST_WIDTH = 24, 1024
"""Independent of a server's limits: with more, counting the parameters would take long"""


class TooLargeError(ValueError):
    """A training exceeds a limit. The message is a sentence for the user that states the limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server; the defaults are for a user's own machine."""

    running: int = 2
    """Trainings that run at the same time; further ones wait"""
    steps: int = 100_000
    parameters: int = 12_000_000
    block: int = 1024
    """Tokens per sequence"""
    batch: int = 4096
    """Sequences per step"""

    def check(self, plan: Plan, data: Data | None = None) -> None:
        """Check everything that can be checked before a training starts.

        Raises:
            TooLargeError: something is above its limit.
            ValueError: the plan's subject does not exist, or its data are missing, unexpected or of the wrong kind.
        """
        from attnviz.training.tasks import TASKS

        check_kinds(plan, data)
        if plan.subject not in (TEXT, VECTORS, TAGGED, *TASKS):
            raise ValueError(f"There is no task {plan.subject!r}; choose from {', '.join(TASKS)}, or a text.")
        if (plan.subject == TEXT) != isinstance(data, str):
            raise ValueError("A text is what a training on a text needs, and no other one.")
        if isinstance(data, str) and (len(data) > TEXT_BYTES or len(data.encode(errors="replace")) > TEXT_BYTES):
            raise TooLargeError(f"The text is longer than {TEXT_BYTES // 2**20} MB.")
        if isinstance(data, LabelledVectors) and data.nbytes > VECTOR_BYTES:
            raise TooLargeError(f"The vectors are more than {VECTOR_BYTES // 2**20} MB.")
        if isinstance(data, TaggedFiles) and data.nbytes > TAGGED_BYTES:
            raise TooLargeError(f"The files are more than {TAGGED_BYTES // 2**20} MB as numbers.")
        model, training = plan.model, plan.training
        _at_most("steps", training.steps, self.steps)
        _at_most("sequences a step", training.batch, self.batch)
        _at_most("tokens a sequence (block size)", getattr(model, "block_size", 1), self.block)
        _at_most("layers", getattr(model, "layers", 1), MOST_LAYERS)
        _at_most("numbers a token (width)", getattr(model, "width", 1), MOST_WIDTH)
        _at_most("parameters", parameters_of(model, self.parameters), self.parameters)


def parameters_of(config: AnyConfig, most: int) -> int:
    """Return the number of parameters of a model of this shape without allocating it, or `most` + 1 if clearly more.

    The number of layers and the width must be moderate.
    """
    import torch

    if isinstance(config, LinearConfig):
        return (config.features + 1) * config.classes
    forward = getattr(config, "feed_forward", 0) or 0
    outputs = (config.outputs or 0) if isinstance(config, TokenConfig) else 0
    width = getattr(config, "width", config.vocabulary)
    if width * max(config.vocabulary, forward, outputs) > most:  # avoids huge tensors even on the meta device
        return most + 1
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build(config, 0).parameters())


def _at_most(what: str, value: int, most: int) -> None:
    if value > most:
        raise TooLargeError(f"A training on this server has at most {most:,} {what}.")

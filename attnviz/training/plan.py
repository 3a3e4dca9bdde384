"""What is to be trained: the subject, the model and the settings, as one value that can be sent to another process."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.training.settings import TrainingSettings

if TYPE_CHECKING:
    from torch import nn

    from attnviz.training.tasks.task import Subject

TEXT = "text"
"""The subject that is a text, not a task"""
BIGRAM_BLOCK = 8
"""Tokens of a sequence on which a bigram model is trained: it reads one at a time, so that any length will do"""
CONFIGS: dict[str, type[ModelConfig]] = {"transformer": TokenConfig, "gru": GRUConfig, "bigram": BigramConfig}
"""The kinds of models by their names in JSON"""


@dataclass(frozen=True, slots=True)
class Plan:
    """One training, to the last setting: the same plan gives the same losses on the same machine."""

    subject: str
    """A task's name, or `TEXT`"""
    model: ModelConfig
    training: TrainingSettings

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            "subject": self.subject,
            "model": config_to_json(self.model),
            "training": asdict(self.training),
        }

    @classmethod
    def from_json(cls, value: Any) -> Plan:
        """Return the plan of plain values.

        Raises:
            ValueError: something is missing, unknown or out of range; the message names it.
        """
        given = _checked(value, {"subject", "model", "training"})
        subject = given["subject"]
        if not isinstance(subject, str):
            raise ValueError(f"subject is {subject!r}, which is not a name")
        return cls(subject, config_from_json(given["model"]), _of(TrainingSettings, given["training"]))


def config_to_json(config: ModelConfig) -> dict[str, Any]:
    """Return a model's shape as plain values; `kind` says which of `CONFIGS` it is."""
    kind = next(name for name, one in CONFIGS.items() if type(config) is one)
    return {"kind": kind, **asdict(config)}


def config_from_json(value: Any) -> ModelConfig:
    """Return a model's shape from plain values; raises as `Plan.from_json` does."""
    if not isinstance(value, dict) or value.get("kind") not in CONFIGS:
        raise ValueError(f"a model has a kind: {', '.join(CONFIGS)}")
    config: ModelConfig = _of(CONFIGS[value["kind"]], {name: one for name, one in value.items() if name != "kind"})
    return config


def build(config: ModelConfig, seed: int) -> nn.Module:
    """Return a model of this shape with weights drawn from a seed."""
    from attnviz.toy.language.bigram import BigramModel
    from attnviz.toy.language.gru import GRUModel
    from attnviz.toy.language.model import TokenModel
    from attnviz.training.seeded import SeededWeights

    with SeededWeights(seed):
        if isinstance(config, TokenConfig):
            return TokenModel(config)
        if isinstance(config, GRUConfig):
            return GRUModel(config.vocabulary, width=config.width, layers=config.layers, block_size=config.block_size)
        return BigramModel(config.vocabulary)


def subject_of(plan: Plan, text: str | None = None) -> Subject:
    """Return what a plan trains on: a task, or a text.

    Raises:
        ValueError: the subject does not exist, the text can't be trained on, or the model has another vocabulary. The
            message is a sentence.
    """
    from attnviz.training.tasks import TASKS
    from attnviz.training.text.subject import Text

    if plan.subject == TEXT:
        subject: Subject = Text(text or "", getattr(plan.model, "block_size", BIGRAM_BLOCK))
    elif plan.subject in TASKS:
        subject = TASKS[plan.subject]
    else:
        raise ValueError(f"There is no task {plan.subject!r}: choose from {', '.join(TASKS)}, or a text.")
    if plan.model.vocabulary != len(subject.labels):
        raise ValueError(f"The model knows {plan.model.vocabulary} tokens, and its subject has {len(subject.labels)}.")
    return subject


def _checked(value: Any, names: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != names:
        raise ValueError(f"expected an object with {', '.join(sorted(names))}")
    return value


def _of(kind: type[Any], value: Any) -> Any:
    """Make a dataclass of plain values: each of the type of its field, none unknown."""
    known = {one.name: str(one.type) for one in fields(kind)}
    if not isinstance(value, dict) or not set(value) <= set(known):
        raise ValueError(f"{kind.__name__} has {', '.join(known)}")
    for name, one in value.items():
        if not _fits(known[name], one):
            raise ValueError(f"{name} is {one!r}, which is not {known[name]}")
    try:
        return kind(**value)
    except TypeError as error:  # a field is missing
        raise ValueError(f"{kind.__name__}: {error}") from error


def _fits(annotation: str, value: Any) -> bool:
    if value is None:
        return annotation.endswith("| None")
    wanted = {"int": (int,), "float": (int, float), "bool": (bool,)}.get(annotation.removesuffix(" | None"), (str,))
    return isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))

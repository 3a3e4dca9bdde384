"""What a training may ask for, and the sentence for who asks for more."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.toy.language.config import AnyConfig, LinearConfig, TokenConfig
from attnviz.training.labelled import LabelledVectors
from attnviz.training.plan import TAGGED, TEXT, VECTORS, Data, Plan, build, check_kinds
from attnviz.training.tagged.files import TaggedFiles

MEMORY_MB = 600
"""Of a training process: a job that needs more fails"""
TEXT_BYTES = 5 * 2**20
"""Of a text to train on, in UTF-8"""
VECTOR_BYTES = 16 * 2**20
"""Of vectors to train on"""
TAGGED_BYTES = 16 * 2**20
"""Of tagged words to train and test on, as numbers"""
MOST_LAYERS, MOST_WIDTH = 24, 1024
"""Whatever the settings are: with more, counting the parameters would take long"""


class TooLargeError(ValueError):
    """A training asks for more than is allowed. The message is a sentence for the user, with the limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server; the defaults are those of one's own machine."""

    running: int = 2
    """Trainings that run at once; further ones wait"""
    steps: int = 100_000
    parameters: int = 12_000_000
    block: int = 1024
    """Tokens of a sequence"""
    batch: int = 4096
    """Sequences a step"""

    def check(self, plan: Plan, data: Data | None = None) -> None:
        """Check what is known before a training starts.

        Raises:
            TooLargeError: something is above its limit.
            ValueError: the plan's subject does not exist, or its data are missing, not wanted or of another kind.
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
    """Return the number of parameters of a model of this shape, or one above `most` if it has more, without making it.

    The number of layers and the width must be moderate.
    """
    import torch

    if isinstance(config, LinearConfig):
        return (config.features + 1) * config.classes
    forward = getattr(config, "feed_forward", 0) or 0
    outputs = (config.outputs or 0) if isinstance(config, TokenConfig) else 0
    width = getattr(config, "width", config.vocabulary)
    if width * max(config.vocabulary, forward, outputs) > most:  # no tensor of a hostile size, even without memory
        return most + 1
    with torch.device("meta"):
        return sum(one.numel() for one in build(config, 0).parameters())


def _at_most(what: str, value: int, most: int) -> None:
    if value > most:
        raise TooLargeError(f"A training on this server has at most {most:,} {what}.")

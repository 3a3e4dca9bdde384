"""Training plans that come with the app: the model series, each stage adding one part, and the shipped models.

The series goes from a table of character pairs to a GPT, all trained on the same text. Its sizes are those of a
well-known lecture on such models (A. Karpathy, "Let's build GPT", 2023): blocks of 8 characters, 32 numbers per
character. The reported losses are that lecture's validation losses on tiny Shakespeare after 5,000 steps, in nats per
character.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.training.plan import Plan
from attnviz.training.settings import TEXT, TrainingSettings

BLOCK, WIDTH, HEADS, DEPTH = 8, 32, 4, 3
STEPS, SEED = 2000, 0


@dataclass(frozen=True, slots=True)
class Stage:
    """A model of the series."""

    name: str
    title: str
    adds: str
    """What it adds to the previous stage, in a sentence or two"""
    config: Callable[[int], ModelConfig]
    """Returns its shape for a vocabulary of a given size"""
    expected: Mapping[int, float]
    """Its measured validation loss on the built-in corpus by number of steps, with the default settings"""
    reported: float | None = None
    """The loss that Karpathy's lecture reports on tiny Shakespeare; None if it has no comparable model"""
    training: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(steps=STEPS, batch=32, learning_rate=1e-3, seed=SEED)
    )

    def plan(self, vocabulary: int) -> Plan:
        """Return the plan of its training on a text with this many different characters."""
        return Plan(TEXT, self.config(vocabulary), self.training)


def _reduced(vocabulary: int, *, layers: int = 1, heads: int = HEADS, residual: bool = False, norm: bool = False,
             feed_forward: int | None = None) -> TokenConfig:  # fmt: skip
    return TokenConfig(
        vocabulary, BLOCK, layers=layers, heads=heads, width=WIDTH, feed_forward=feed_forward, residual=residual,
        norm=norm, activation="relu",
    )  # fmt: skip


SERIES: tuple[Stage, ...] = (
    Stage(
        "bigram",
        "Bigram",
        "A table: which character follows which. It sees the last character alone, and counting pairs gives its best.",
        BigramConfig,
        {200: 2.80, 500: 2.10, 1000: 2.00, 2000: 1.97},
        2.49,
        TrainingSettings(steps=STEPS, batch=32, learning_rate=1e-2, seed=SEED),
    ),
    Stage(
        "head",
        "One head",
        "A head of attention: each character looks back at up to eight, itself included.",
        lambda vocabulary: _reduced(vocabulary, heads=1, feed_forward=0),
        {200: 2.76, 500: 2.18, 1000: 1.89, 2000: 1.76},
        2.41,
    ),
    Stage(
        "heads",
        "Four heads",
        "Four narrower heads side by side, with the same number of parameters: each can look for something else.",
        lambda vocabulary: _reduced(vocabulary, feed_forward=0),
        {200: 2.52, 500: 2.06, 1000: 1.66, 2000: 1.32},
        2.29,
    ),
    Stage(
        "feed_forward",
        "+ feed-forward",
        "Two linear maps with a ReLU between them: each character works on what it has gathered.",
        _reduced,
        {200: 2.45, 500: 1.93, 1000: 1.48, 2000: 1.14},
        2.24,
    ),
    Stage(
        "residual",
        "+ residual",
        "Three blocks one after another, whose outputs are added to their inputs. Without the sums, three blocks learn "
        "more slowly than one.",
        lambda vocabulary: _reduced(vocabulary, layers=DEPTH, residual=True),
        {200: 1.90, 500: 1.28, 1000: 0.94, 2000: 0.78},
        2.10,
    ),
    Stage(
        "norm",
        "+ LayerNorm",
        "A LayerNorm before attention and before the feed-forward keeps the numbers in range, and one follows the last "
        "block.",
        lambda vocabulary: _reduced(vocabulary, layers=DEPTH, residual=True, norm=True),
        {200: 2.11, 500: 1.30, 1000: 0.91, 2000: 0.76},
    ),
    Stage(
        "gpt",
        "+ depth: a GPT",
        "Four blocks, twice as wide, with a context of 32 characters: the shape of GPT-2, a 600th of its size.",
        lambda vocabulary: TokenConfig(vocabulary, 32, layers=4, heads=4, width=64),
        {200: 1.71, 500: 0.59, 1000: 0.38, 2000: 0.34},
        1.82,
        TrainingSettings(steps=STEPS, batch=16, learning_rate=1e-3, seed=SEED),
    ),
    Stage(
        "gru",
        "Beside it: a GRU",
        "A recurrent network, as before attention: it reads one character after another and keeps 64 numbers of all.",
        lambda vocabulary: GRUConfig(vocabulary, BLOCK, 64),
        {200: 1.95, 500: 1.30, 1000: 0.91, 2000: 0.74},
    ),
)
"""From the smallest to the GPT; the GRU is there for comparison"""
FIRST_SHOWN = "head"
"""The stage shown until the user chooses or trains one, the first with attention (`ModelSeries.row` in the browser)"""


CHAR_GPT = Plan(
    TEXT,
    TokenConfig(65, block_size=128, layers=5, heads=5, width=160, dropout=0.1),
    TrainingSettings(
        steps=6000, batch=16, learning_rate=2e-3, warm_up=100, decay="cosine", last_rate=0.02, optimiser="muon",
        weight_decay=0.1, precision="bfloat16",
    ),
)  # fmt: skip
"""Trains for 20 minutes on one core. The 65 is replaced by the size of the text's vocabulary"""
STORY_LAYERS, STORY_WIDTH = 4, 128
"""The shipped model of `stories` is deeper and wider than the one that trains in front of an audience"""
STORY_TRAINING = TrainingSettings(
    steps=2000, batch=32, learning_rate=2e-3, warm_up=100, decay="cosine", last_rate=0.02, optimiser="muon",
    weight_decay=0.1, precision="bfloat16",
)  # fmt: skip
"""About 10 minutes on one quiet core"""
TASK_RATE = 3e-3
"""The learning rate of the shipped task models: higher than in the live trainings shown to an audience"""
TASK_STEPS: Mapping[str, int] = MappingProxyType(
    {"induction": 2000, "reverse": 1000, "sort": 3000, "numbers": 2000, "tagging": 1500}
)
"""Steps for each task: enough that the trained model makes almost no mistakes"""
TASK_SEEDS: Mapping[str, int] = MappingProxyType({"tagging": 1})
"""Seeds other than 0. With this one, each of the two tagging patterns appears in a separate head"""
CHARACTERS = "chargpt"
"""The name of the shipped model of characters"""
STORIES = "stories"
"""The name of the task, and of its shipped model"""
SHIPPED = (CHARACTERS, STORIES, *TASK_STEPS)
"""The shipped models, in the order in which the app offers them"""


def plan_of(name: str) -> Plan:
    """Return the plan of a model that ships with the app.

    Raises:
        ValueError: no shipped model has this name.
    """
    if name == CHARACTERS:
        return CHAR_GPT
    from attnviz.training.tasks import TASKS

    if name == STORIES:
        return Plan(name, replace(TASKS[name].model, layers=STORY_LAYERS, width=STORY_WIDTH), STORY_TRAINING)
    if name not in TASK_STEPS:
        raise ValueError(f"there is no model {name!r}: {', '.join(SHIPPED)}")
    task = TASKS[name]
    training = replace(
        task.training, steps=TASK_STEPS[name], learning_rate=TASK_RATE, seed=TASK_SEEDS.get(name, 0), decay="cosine"
    )
    return Plan(name, task.model, training)

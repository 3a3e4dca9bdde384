"""How the models that ship with the app are trained, by name. It imports torch only with the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from attnviz.toy.language.config import TokenConfig
from attnviz.training.plan import TEXT, Plan
from attnviz.training.settings import TrainingSettings

CHAR_GPT = Plan(
    TEXT,
    TokenConfig(65, block_size=128, layers=5, heads=5, width=160, dropout=0.1),
    TrainingSettings(
        steps=6000, batch=16, learning_rate=2e-3, warm_up=100, decay="cosine", last_rate=0.02, optimiser="muon",
        weight_decay=0.1, precision="bfloat16",
    ),
)  # fmt: skip
"""20 minutes on one core. The vocabulary is that of the text, whatever stands here"""
RATE = 3e-3
"""The learning rate of the tasks: faster than the one that a hall watches"""
STEPS: Mapping[str, int] = MappingProxyType(
    {"induction": 2000, "reverse": 1000, "sort": 3000, "numbers": 2000, "tagging": 1500}
)
"""The steps for the tasks: nearly nothing is wrong at the end"""
SEEDS: Mapping[str, int] = MappingProxyType({"tagging": 1})
"""Where it is not 0. With this one, each of the two patterns has a head of its own"""
NAMES = ("chargpt", *STEPS)
"""In the order in which the app offers them"""


def plan_of(name: str) -> Plan:
    """Return the plan of a model that ships with the app.

    Raises:
        ValueError: there is none of this name.
    """
    if name == "chargpt":
        return CHAR_GPT
    from attnviz.training.tasks import TASKS

    if name not in STEPS:
        raise ValueError(f"there is no model {name!r}: {', '.join(NAMES)}")
    task = TASKS[name]
    training = replace(task.training, steps=STEPS[name], learning_rate=RATE, seed=SEEDS.get(name, 0), decay="cosine")
    return Plan(name, task.model, training)

"""Which trainings are recorded, by name, and how many snapshots each keeps. It imports torch only with the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attnviz.training.plan import Plan
from attnviz.training.series import SERIES

CONTROL, STAGE = "-control", "ladder-"
"""How the names of a task's control end, and how those of the stages of the model series begin"""
SNAPSHOTS: Mapping[str, int] = MappingProxyType({
    "induction": 40, "induction-control": 12, "reverse": 24, "sort": 14, "numbers": 12, "tagging": 18, "modular": 8,
    "ladder-bigram": 8, "ladder-head": 6, "ladder-heads": 6, "ladder-feed_forward": 5, "ladder-residual": 3,
    "ladder-norm": 3, "ladder-gpt": 2, "ladder-gru": 3,
})  # fmt: skip
"""How many snapshots a recording has at most: all of them together are to stay small"""
NAMES = tuple(SNAPSHOTS)
"""All recordings that ship"""


def plan_of(name: str) -> tuple[Plan, str | None]:
    """Return the plan of a recording, as the page Train has it by default, and its text if it is trained on one.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in NAMES:
        raise ValueError(f"there is no recording {name!r}: {', '.join(NAMES)}")
    if name.startswith(STAGE):
        from attnviz.training.text.corpus import built_in

        text = built_in()
        stage = next(one for one in SERIES if f"{STAGE}{one.name}" == name)
        return stage.plan(len(set(text))), text
    from attnviz.training.tasks import TASKS

    task = TASKS[name.removesuffix(CONTROL)]
    return Plan(task.name, task.control_model if name.endswith(CONTROL) else task.model, task.training), None

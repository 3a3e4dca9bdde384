"""The tasks in which a head forms, by name."""

from attnviz.training.tasks.induction import Induction
from attnviz.training.tasks.task import Task

TASKS: dict[str, Task] = {one.name: one for one in (Induction(),)}
"""In the order in which the page offers them"""

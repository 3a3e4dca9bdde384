"""The tasks in which a head forms, by name."""

from attnviz.training.tasks.counts import Counting, Depth
from attnviz.training.tasks.numbers import Addition, Modular, Numbers
from attnviz.training.tasks.symbols import Induction, Recall, Reverse, Sort
from attnviz.training.tasks.tagging import Tagging
from attnviz.training.tasks.task import Task

TASKS: dict[str, Task] = {
    one.name: one
    for one in [
        Induction(), Reverse(), Sort(), Recall(), Counting(), Depth(), Addition(), Modular(), Numbers(), Tagging(),
    ]
}  # fmt: skip
"""In the order in which the page offers them"""

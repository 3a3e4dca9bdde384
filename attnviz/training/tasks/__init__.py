"""The generated tasks, by name. In each, an attention head learns a known pattern."""

from attnviz.training.tasks.counts import Counting, Depth
from attnviz.training.tasks.numbers import Addition, Modular, Numbers
from attnviz.training.tasks.stories import Stories
from attnviz.training.tasks.symbols import Induction, Recall, Reverse, Sort
from attnviz.training.tasks.tagging import Tagging
from attnviz.training.tasks.task import Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in [
        Induction(), Reverse(), Sort(), Recall(), Counting(), Depth(), Addition(), Modular(), Numbers(), Tagging(),
        Stories(),
    ]
}  # fmt: skip
"""The tasks, in the order in which the page offers them"""

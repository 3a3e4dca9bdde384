"""The tasks in which a head forms, by name."""

from attnviz.training.tasks.addition import Addition
from attnviz.training.tasks.counting import Counting
from attnviz.training.tasks.depth import Depth
from attnviz.training.tasks.induction import Induction
from attnviz.training.tasks.modular import Modular
from attnviz.training.tasks.numbers import Numbers
from attnviz.training.tasks.recall import Recall
from attnviz.training.tasks.reverse import Reverse
from attnviz.training.tasks.sort import Sort
from attnviz.training.tasks.tagging import Tagging
from attnviz.training.tasks.task import Task

TASKS: dict[str, Task] = {
    one.name: one
    for one in [
        Induction(), Reverse(), Sort(), Recall(), Counting(), Depth(), Addition(), Modular(), Numbers(), Tagging(),
    ]
}  # fmt: skip
"""In the order in which the page offers them"""

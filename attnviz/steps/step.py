"""What a step is: one value that holds all that links, pages, figures, exports and the browser know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from attnviz.formulas import Expression
    from attnviz.trace.walk import Walk

S = TypeVar("S")
"""What a step is shown of: a walk, or the tokens of a text"""

Need = Literal["embeddings", "projections", "output_projection"]
"""What of a model a step shows beside attention itself, and what some models do not give away"""

Axes = tuple[str, str]
"""What the rows and columns of a matrix are: query, key, feature, ..."""


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """One step of a walk, or one way to average.

    How its matrices lie is in `attnviz.figures.steps.LAYOUTS`, under the same name.
    """

    name: str
    """In links and code; the matrix that the step computes has the same name"""
    title: str
    """On the screen"""
    formula: Callable[[S], Expression]
    """The computation, as it is done here, with the term of this step in a box"""
    notice: Callable[[S], str]
    """What to notice, in plain words, for this very setting"""
    code: Callable[[S], str]
    """The lines of PyTorch that make this step from the one before, with these very constants"""
    fact: Callable[[S], str] = lambda _: ""
    """A sentence about these very numbers, or nothing where there is none worth saying"""
    weights: Mapping[str, Axes] = field(default_factory=dict)
    """The model's weights that it applies, by name, in order"""
    matrices: Mapping[str, Axes] = field(default_factory=dict)
    """What it computes, by name, in order; none for the tokens, which are no numbers"""
    needs: tuple[Need, ...] = ()
    """What it needs of the model beside queries, keys and values"""
    is_of_head: bool = True
    """Whether each head has its own; else it shows the whole layer"""
    is_by_cell: bool = False
    """Whether each (query, key) cell is computed from the same cell of the step before, so that two can be compared"""
    can_be_covered: bool = False
    """Whether one can guess the result row by row"""
    can_be_stretched: bool = False
    """Whether it shows weights, whose colours can end at the largest one"""
    made_from: str = ""
    """The matrix that turns into this one, cell by cell, when the page goes on to this step"""
    pace: Literal["even", "columns", "rows"] = "even"
    """How it does: all cells at once, column by column from the right, or row by row from the top"""


def unavailable(step: Step[Walk], walk: Walk) -> str:
    """Say why something that the step needs of the model can't be shown; "" where all of it is there."""
    return walk.layer.unavailable_reason if step.needs else ""

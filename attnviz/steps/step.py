"""`Step`: one value with everything that links, pages, figures, exports and the browser need to show a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from attnviz.formulas import Expression
    from attnviz.steps.picture import Picture
    from attnviz.trace.model import Kind, Need
    from attnviz.trace.walk import Walk

S = TypeVar("S")
"""What a step shows: a walk, or the tokens of a text"""


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """One step of a walk, or one way to average."""

    name: str
    """The name in links and code"""
    title: str
    """The title on the screen; see `title_of`"""
    formula: Callable[[S], Expression]
    """The formula for this walk's settings, with the term of this step in a box; the same for all heads of a layer"""
    notice: Callable[[S], str]
    """What to notice, in plain words, for this walk's settings; the same for all heads of a layer. Words that name a
    part of the picture may be marked, as in `fact` and `advice`: see `attnviz.annotated_text`"""
    code: Callable[[S], str]
    """The lines of PyTorch that compute this step from the one before, with this walk's constants; the same for all
    heads of a layer"""
    is_in: Callable[[S], bool] = lambda _: True
    """Whether a walk has this step: only some have a rotation, or a soft cap"""
    sink_notice: str = ""
    """What to notice in place of `notice` in a layer whose heads have a sink; if empty, `notice`"""
    picture: Callable[[S], Picture | None] = lambda _: None
    """Its matrices and their places; None if it shows no matrix, or if the source does not provide them"""
    names_head: bool = False
    """Whether a title in its picture names the head; if not, the picture is the same for all heads of a layer"""
    fact: Callable[[S], str] = lambda _: ""
    """A sentence about this walk's numbers; empty if there is nothing to say"""
    advice: Callable[[S], str] = lambda _: ""
    """What to do if the picture looks blank, because its colours end at 1; "" if it does not"""
    weights: tuple[str, ...] = ()
    """The names of the model's weights and tables that it applies, in order: see `attnviz.trace.matrices.AXES`"""
    matrices: tuple[str, ...] = ()
    """The names of the matrices that it computes, in order; empty for the tokens"""
    needs: tuple[Need, ...] = ()
    """The quantities that it shows besides queries, keys and values"""
    is_of_head: bool = True
    """Whether its matrix belongs to one head; if not, it belongs to the whole layer"""
    is_by_cell: bool = False
    """Whether it has one cell per query and key, so that two heads can be compared cell by cell"""
    cell: str = ""
    """What a sentence calls one such cell: "the score", "the weight", ..."""
    masked_value: str = ""
    """What a masked cell holds; empty if the step comes before the mask"""
    is_distribution: bool = False
    """Whether each row is a distribution over the keys, and a sink if there is one: it sums to 1 with its share"""
    can_be_covered: bool = False
    """Whether rows of the result can be covered, for students to guess"""
    can_be_stretched: bool = False
    """Whether it shows weights, whose colour domain can end at the largest weight"""
    cross_title: str = ""
    """The title at a cross-attention; if empty, the same as elsewhere"""

    later_title: str = ""
    """The title at an attention that follows another; if empty, the same as at the first"""

    def notice_in(self, walk: Walk, subject: S) -> str:
        """Return what to notice of `subject`, which is what the step shows of a walk."""
        has_sink = walk.layer.sinks is not None
        return self.sink_notice if has_sink and self.sink_notice else self.notice(subject)

    def title_of(self, kind: Kind, layer: int = 0) -> str:
        """Return the title at a layer's attention of this kind: a decoder's block may have two sums, and two norms."""
        if self.later_title and follows_another(kind, layer):
            return self.later_title
        return self.cross_title if kind == "cross" and self.cross_title else self.title


def follows_another(kind: Kind, layer: int) -> bool:
    """Whether an attention reads the output of another one: in a later layer, or as cross-attention."""
    return layer > 0 or kind == "cross"


def row_words(walk: Walk, index: int) -> str:
    """Return the number and the token of a row, for sentences."""
    return f"row {index}, “{walk.query_labels[index]}”"


def unavailable(step: Step[Walk], walk: Walk) -> str:
    """Return the reasons why the step can't show all that it needs; empty if it can."""
    reasons = walk.layer.unavailable
    return " ".join(dict.fromkeys(reasons[need] for need in step.needs if need in reasons))

"""What a widget's traits take. Any other value is refused with one sentence, and the trait keeps the one it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from reprlib import repr as shortened
from typing import Any, NoReturn, Protocol

from traitlets import HasTraits, TraitError, TraitType

from attnviz.notebook.errors import OneSentenceError


class ChoiceError(OneSentenceError, TraitError):
    """A trait does not take a value. The message is one sentence with what it takes, and what it still is."""


class Owner(Protocol):
    """A widget that says what there is to choose from."""

    choices: Mapping[str, Sequence[Any]]
    """By the names of the traits"""


class Index(TraitType[Any, Any]):
    """A whole number among the owner's `choices`: of Python, numpy or torch."""

    def __init__(self, help: str, *, optional: bool = False) -> None:  # noqa: A002  # traitlets' own name
        super().__init__(None if optional else 0, allow_none=optional, help=help)

    def validate(self, obj: Any, value: Any) -> int:
        """Return the number as an int."""
        choices = obj.choices[self.name]
        try:
            number = index(value)
        except TypeError:
            number = None
        if number is None or isinstance(value, bool) or number not in choices:
            none = " or None" if self.allow_none else ""
            _refuse(self, obj, value, f"{_span(choices)}{none}")
        return number


class Choice(TraitType[str, str]):
    """A text among the owner's `choices`."""

    def validate(self, obj: Any, value: Any) -> str:
        """Return the text."""
        choices = obj.choices[self.name]
        if not isinstance(value, str) or value not in choices:
            _refuse(self, obj, value, f"one of {', '.join(choices)}")
        return value


def _span(choices: Sequence[int]) -> str:
    """Return in words what there is to choose from, in ascending order."""
    *others, last = choices
    if not others:
        return f"only {last}"
    if last - choices[0] == len(others):
        return f"a whole number from {choices[0]} to {last}"
    return f"only {', '.join(map(str, others))} or {last}"


def _refuse(trait: TraitType[Any, Any], obj: HasTraits, value: object, wanted: str) -> NoReturn:
    held = obj._trait_values
    stays = f"; it stays {held[trait.name]}" if trait.name in held else ""
    raise ChoiceError(f"{trait.name} takes {wanted}, not {shortened(value)}{stays}.")

"""The base of notebook widgets: traits that refuse bad values in one sentence, a picture, answers to the browser."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from operator import index
from reprlib import repr as shortened
from traceback import format_exception_only
from typing import Any, NoReturn

from anywidget import AnyWidget
from traitlets import HasTraits, TraitError, TraitType

from attnviz.formatting import joined


class OneSentenceError(Exception):
    """An error whose message is all that users need: IPython shows it without the traceback."""

    def _render_traceback_(self) -> list[str]:
        return [line.rstrip() for line in format_exception_only(self)]


class NotebookError(OneSentenceError, ValueError):
    """A widget can't be made. The message is one sentence for the user, which says what to do."""


class ChoiceError(OneSentenceError, TraitError):
    """A trait refuses a value. The message is one sentence with the allowed values and the value that it keeps."""


class Index(TraitType[Any, Any]):
    """A whole number among the owner's `choices`, from Python, NumPy or torch."""

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
    """Return in words the choices, which are in ascending order."""
    *others, last = choices
    if not others:
        return f"only {last}"
    if last - choices[0] == len(others):
        return f"a whole number from {choices[0]} to {last}"
    return f"only {joined(map(str, choices), 'or')}"


def _refuse(trait: TraitType[Any, Any], obj: HasTraits, value: object, allowed: str) -> NoReturn:
    current = obj._trait_values
    kept = f"; it stays {current[trait.name]}" if trait.name in current else ""
    raise ChoiceError(f"{trait.name} takes {allowed}, not {shortened(value)}{kept}.")


class BaseWidget(AnyWidget):
    """A view of heads. Its traits hold what the user has chosen, and setting them changes the view."""

    choices: Mapping[str, Sequence[Any]]
    """The allowed values of each trait, by its name; assigned before the traits are set"""

    layer = Index("the layer, counted from 0").tag(sync=True)
    head = Index("the head, counted from 0").tag(sync=True)
    q = Index("the query token that is pinned, or None", optional=True).tag(sync=True)
    k = Index("the key token that is pinned, or None", optional=True).tag(sync=True)

    def __init__(self, choices: Mapping[str, Sequence[Any]], **traits: Any) -> None:
        self.choices = choices
        super().__init__(**traits)
        self.on_msg(self._answer)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value}" for name in self.choices if (value := getattr(self, name)) is not None)
        return f"{type(self).__name__}({shown})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": repr(self), "image/png": b64encode(self._picture()).decode()}, metadata

    def _picture(self) -> bytes:
        """Draw the current view as PNG."""
        raise NotImplementedError

    def _file(self, name: str) -> bytes:
        """Return a file that the browser asks for; raises LookupError, ValueError or the like if there is none."""
        raise NotImplementedError

    def _answer(self, _: object, request: Mapping[str, Any], __: object) -> None:
        number = request.get("number")
        try:
            data = self._file(request["file"])
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            self.send({"number": number, "error": str(error).rstrip(".")})
        else:
            self.send({"number": number}, [data])

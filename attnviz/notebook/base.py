"""What widgets have in common: the head and the pinned cell as traits, a picture to keep, answers to the browser."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from anywidget import AnyWidget

from attnviz.notebook.traits import Index


class BaseWidget(AnyWidget):
    """A view of heads. What the user chooses is in the traits, and follows them."""

    choices: Mapping[str, Sequence[Any]]
    """What each trait takes, by their names; it is there before the traits are set"""

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
        """Draw what is shown, as PNG."""
        raise NotImplementedError

    def _file(self, asked: Mapping[str, Any]) -> bytes:
        """Return what the browser asks for; raises LookupError, ValueError or the like if there is no such thing."""
        raise NotImplementedError

    def _answer(self, _: object, asked: Mapping[str, Any], __: object) -> None:
        number = asked.get("number")
        try:
            data = self._file(asked)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            self.send({"number": number, "error": str(error).rstrip(".")})
        else:
            self.send({"number": number}, [data])

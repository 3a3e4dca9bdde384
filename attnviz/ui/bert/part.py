"""What a part of the page BERT at work is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd


def _nothing() -> None:
    pass


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page. Its module is imported when it is chosen."""

    show: Callable[[], None]
    """Shows it, in a fragment"""
    controls: Callable[[], None] = _nothing
    """Shows what is set in the sidebar"""
    begin: Callable[[], None] = _nothing
    """Begins what was asked for; called before `is_live`, so that what ends while it is shown is shown again"""
    is_live: Callable[[], bool] = _never
    """Whether something is computed for it meanwhile, so that it has to be shown again and again"""


class Exports(Protocol):
    """What Export gives of a part: its module `exports`, imported when Export is opened, since pandas takes long."""

    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the numbers that are shown: tables by the names of their files."""

    def script(self) -> str:
        """Return a script of plain torch that computes what is shown."""

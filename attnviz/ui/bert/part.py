"""What a part of the page BERT at work is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    is_live: Callable[[], bool] = _never
    """Whether something is computed for it meanwhile, so that it has to be shown again and again"""
    tables: Callable[[], Mapping[str, pd.DataFrame]] | None = None
    """Returns the numbers that are shown, for Export: tables by the names of their files"""
    script: Callable[[], str] | None = None
    """Returns a script of plain torch that computes what is shown, for Export"""

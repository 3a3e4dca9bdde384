"""Why a mask hides a cell: the key comes later, it is padding, or it is outside of the query's window.

The toy says its own. Of other models the hidden cells are known, from which `MaskReasons.of` tells them. The browser
has the same rule for a cell, in `components/frontend/core/mask_reasons.ts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

Reason = Literal["future", "window", "padding"]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""future: the key comes after the query; window: it is farther away than the window reaches; padding: no query sees it.
Of several reasons, padding counts before the future, and the future before the window"""
REASON_SIGNS: dict[Reason, str] = {"future": "/", "window": "\\", "padding": "×"}
"""How the hatching of cells that are hidden for each reason looks, as a legend says it"""
REASON_WORDS: dict[Reason, str] = {"future": "future", "window": "outside of the window", "padding": "padding"}
"""What legends and sentences call each reason"""


@dataclass(frozen=True, slots=True)
class MaskReasons:
    """The parts of a mask, which together hide exactly its hidden cells."""

    causal: bool = False
    """Whether no query sees a later key"""
    window: tuple[int, int] | None = None
    """How many keys before and after itself a query sees at most; None if there is no window"""
    padding: tuple[int, ...] = ()
    """The keys that no query sees"""

    @classmethod
    def of(cls, hidden: Tensor) -> MaskReasons | None:
        """Return the parts of a mask from its hidden cells, or None if it is not made of these parts.

        Args:
            hidden: (Tq, Tk) or (H, Tq, Tk) bool. If heads have different masks, the result is None.
        """
        of_heads = hidden.numpy()
        cells = of_heads if of_heads.ndim == 2 else of_heads[0]
        if not (of_heads == cells).all():
            return None
        is_padding = cells.all(0)
        padding = tuple(np.flatnonzero(is_padding).tolist())
        rows, columns = cells.shape
        if not (cells & ~is_padding).any():
            return cls(padding=padding)
        if rows != columns:
            return None
        distance = _distances(rows, columns)
        is_key = np.broadcast_to(~is_padding, cells.shape)
        seen = distance[is_key & ~cells]
        before, after = int(seen.max()), -int(seen.min())
        farthest = int(distance[is_key].max()), -int(distance[is_key].min())
        is_band = (((distance > before) | (distance < -after)) == cells)[is_key].all()
        causal, reach = after == 0, max(before, after)
        sides = zip((before, after), farthest, strict=True)
        is_even = causal or all(side >= min(reach, most) for side, most in sides)  # padding may cut a side off
        if not is_band or after < 0 or not is_even:
            return None
        if causal:
            return cls(causal, None if before >= farthest[0] else (before, after), padding)
        return cls(window=(reach, reach), padding=padding)

    def occurring(self, rows: int, columns: int) -> MaskReasons:
        """Return the parts that are the reason of a cell: of a short text, a window may reach to all keys."""
        counts = self.counts(rows, columns)
        return MaskReasons(
            self.causal and "future" in counts, self.window if "window" in counts else None, self.padding
        )

    def hides(self, hidden: Tensor) -> bool:
        """Return whether these parts together hide exactly these cells, (..., Tq, Tk) bool."""
        rows, columns = hidden.shape[-2:]
        return bool((hidden.numpy() == (self.codes(rows, columns) > 0)).all())

    def codes(self, rows: int, columns: int) -> npt.NDArray[np.uint8]:
        """Return 1 plus the place in `REASONS` of each hidden cell, and 0 of the others, (rows, columns)."""
        distance = _distances(rows, columns)
        codes = np.zeros((rows, columns), np.uint8)
        if self.window is not None:
            before, after = self.window
            codes[(distance > before) | (distance < -after)] = 1 + REASONS.index("window")
        if self.causal:
            codes[distance < 0] = 1 + REASONS.index("future")
        codes[:, list(self.padding)] = 1 + REASONS.index("padding")
        return codes

    def counts(self, rows: int, columns: int) -> dict[Reason, int]:
        """Return how many cells are hidden by each reason that occurs, in the order of `REASONS`."""
        counts = np.bincount(self.codes(rows, columns).ravel(), minlength=len(REASONS) + 1)[1:]
        return {reason: int(count) for reason, count in zip(REASONS, counts, strict=True) if count}


def _distances(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """Return the position of each cell's query minus that of its key, (rows, columns)."""
    return np.arange(rows)[:, None] - np.arange(columns)


def legend(codes: npt.NDArray[np.uint8] | None) -> str:
    """Return what hatchings mean, such as "/ future, × padding", if cells are hidden for several reasons; else ""."""
    occurring = [] if codes is None else [reason for code, reason in enumerate(REASONS, 1) if (codes == code).any()]
    if len(occurring) < 2:
        return ""
    return ", ".join(f"{REASON_SIGNS[reason]} {REASON_WORDS[reason]}" for reason in occurring)

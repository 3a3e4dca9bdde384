"""What a benchmark run says: rows of two medians, their ratio, and the ratio to reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One comparison of a peer with us; `plain` is 0 where there is nothing to compare with."""

    what: str
    plain: float
    ours: float
    limit: float | None
    """What is to be reached, by the ratio, or by `ours` itself where `alone`; nothing where None"""
    unit: str = "ms"
    alone: bool = False
    """The limit is about `ours`, whatever the peer takes"""
    instead: str = "-"
    """What stands in the table where the peer has no figure"""

    @property
    def measured(self) -> float:
        """What the limit is about."""
        return self.ours / self.plain if self.plain and not self.alone else self.ours

    @property
    def reached(self) -> bool:
        """Whether it is within its limit, if it has one."""
        return self.limit is None or self.measured <= self.limit

    def as_json(self) -> dict[str, object]:
        """Return the row with what follows from it."""
        return {**asdict(self), "measured": self.measured, "reached": self.reached}

    def as_line(self) -> str:
        """Return the row as a line of a Markdown table."""
        plain = f"{self.plain:,.1f} {self.unit}" if self.plain else self.instead
        ratio = f"{self.ours / self.plain:.3f}" if self.plain else "-"
        unit = f" {self.unit}" if self.alone or not self.plain else ""
        aim = f"<= {self.limit:g}{unit}: {'yes' if self.reached else 'NO'}" if self.limit is not None else "-"
        return f"| {self.what} | {plain} | {self.ours:,.1f} {self.unit} | {ratio} | {aim} |"


def compared(what: str, plain: Sequence[float], ours: Sequence[float], limit: float) -> Row:
    """Make a row of the medians of two series."""
    return Row(what, median(plain), median(ours), limit)


def alternating(a: Callable[[], float], b: Callable[[], float], rounds: int) -> tuple[list[float], list[float]]:
    """Measure a b, b a, a b …: what drifts on the machine drifts for both."""
    series: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            series[which].append((a, b)[which]())
    return series


def table(rows: Sequence[Row]) -> str:
    """Write rows as a Markdown table."""
    head = ["| what | peer | attnviz | ratio | to reach |", "| --- | ---: | ---: | ---: | ---: |"]
    return "\n".join(head + [row.as_line() for row in rows])

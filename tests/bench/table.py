"""What a benchmark run says: rows of two medians, their ratio, and the ratio to reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One comparison. `plain` is 0 where there is nothing to compare with: then `limit` is about `ours` itself."""

    what: str
    plain: float
    ours: float
    limit: float
    unit: str = "ms"

    @property
    def measured(self) -> float:
        """What the limit is about."""
        return self.ours / self.plain if self.plain else self.ours

    @property
    def reached(self) -> bool:
        """Whether it is within its limit."""
        return self.measured <= self.limit

    def as_json(self) -> dict[str, object]:
        """Return the row with what follows from it."""
        return {**asdict(self), "measured": self.measured, "reached": self.reached}


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
    lines = ["| what | plain app | attnviz | ratio | to reach |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        mark = "yes" if row.reached else "NO"
        if row.plain:
            told = f"{row.plain:,.1f} {row.unit} | {row.ours:,.1f} {row.unit} | {row.measured:.2f} | <= {row.limit:g}"
        else:
            told = f"- | {row.ours:,.1f} {row.unit} | - | <= {row.limit:g} {row.unit}"
        lines.append(f"| {row.what} | {told}: {mark} |")
    return "\n".join(lines)

"""Formats numbers for the screen, for prose and for exported files."""

from __future__ import annotations


def number(value: float, digits: int = 2) -> str:
    """Return a number with `digits` decimals, a true minus sign (U+2212) and no negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")

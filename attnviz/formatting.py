"""How numbers are written, on the screen, in prose and in exported files."""

from __future__ import annotations


def number(value: float, digits: int = 2) -> str:
    """Write a number as it stands on the screen: a true minus sign, no negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")

"""The pages: each with its title, where it is, and the script that shows it. Whatever lists pages reads this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnviz import files


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app."""

    name: str
    """As lessons, exports and the code call it; the script has the same name"""
    title: str
    path: str
    """Its address, from the app's own root"""
    in_lessons: bool = True
    """Whether a scene of a lesson may be on it"""

    @property
    def script(self) -> Path:
        """The file that Streamlit runs to show it."""
        return files.PAGES / f"{self.name}.py"


PAGES: dict[str, Page] = {
    page.name: page
    for page in (
        Page("step_by_step", "Step by step", "/"),
        Page("heads", "Heads", "/heads"),
        Page("averages", "From averages to attention", "/averages"),
        Page("tokens", "Tokens", "/tokens"),
        Page("compare", "Compare", "/compare"),
        Page("lessons", "Lessons", "/lessons", in_lessons=False),
    )
}
"""By name, in the order of the navigation. The first is the one that opens at the app's own address."""

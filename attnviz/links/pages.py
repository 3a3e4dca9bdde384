"""The registry of pages: name, title, path and script of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attnviz import files


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app."""

    name: str
    """Its name in lessons, exports and code, and the name of its script"""
    title: str
    path: str
    """Its address, relative to the app's root"""
    in_lessons: bool = True
    """Whether a scene of a lesson may show it"""

    @property
    def script(self) -> Path:
        """The file that Streamlit runs."""
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
"""All pages by name, in the order of the navigation. The first is the app's start page."""

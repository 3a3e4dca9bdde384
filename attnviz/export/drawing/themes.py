"""Light and dark colours of exported sheets: the figures' palettes and the sheet's own colours."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.figures.style import DARK, LIGHT, Palette


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """The colours of a sheet, each as "#5E3C99"."""

    palette: Palette
    paper: str
    quiet: str
    """Secondary text: the subject, the sheet's number"""
    link: str
    rule: str
    """The lines between rows of a table of text"""
    frame: str
    """The line around a matrix"""
    boxed: str
    """The background of a formula's boxed term"""
    highlight: str
    """The same on a slide, without an outline"""
    hatch: tuple[str, str]
    """Background and lines of hidden cells"""

    @property
    def text(self) -> str:
        """The colour of text."""
        return self.palette.text


THEMES = {
    "light": Theme(
        LIGHT, paper="#FFFFFF", quiet="#6B6B78", link="#0072B2", rule="#DCDCE4", frame="#B5B5BD",
        boxed="#F1EDF8", highlight="#E3DAF3", hatch=("#D4D4DC", "#AFAFBB"),
    ),
    # Paper as in components/frontend/export/theme.js, hatching as on the board.
    "dark": Theme(
        DARK, paper="#14141B", quiet="#9A9AA8", link="#6CBDF0", rule="#3A3A46", frame="#55555F",
        boxed="#2E2740", highlight="#4A3D6B", hatch=("#3A3A46", "#55555F"),
    ),
}  # fmt: skip
LIGHT_THEME = THEMES["light"]

"""The roles' colours as text can be read on every ground that they stand on (WCAG 2.2, 1.4.3: 4.5 for small type)."""

from __future__ import annotations

import re

import pytest

from attnviz.components.styles import SOURCES
from attnviz.export.drawing.marks import THEMES
from attnviz.figures.style import Palette

ROLES = ("query", "key", "value", "attention")
SIDE_BAR = {"light": "#F4F4F8", "dark": "#20202B"}
"""The second ground of .streamlit/config.toml"""
LESSON_BAR = ("#EDEAF7", "#232033")
"""A lesson's bar, light and dark: 14 % of #8064C8 on the page"""


def luminance(colour: str) -> float:
    """Return the relative luminance, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_text_has_a_contrast_of_four_and_a_half(name: str) -> None:
    theme = THEMES[name]
    palette: Palette = theme.palette
    for ground in (palette.canvas, theme.paper, theme.boxed, SIDE_BAR[name]):
        for ink in (palette.text, *(palette.text_ink.of(role) for role in ROLES)):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
    assert contrast(theme.quiet, theme.paper) >= 4.5
    assert contrast(theme.link, theme.paper) >= 4.5


def test_lines_under_marked_words_have_the_roles_colours_and_are_seen_on_a_lessons_bar() -> None:
    style = (SOURCES / "core" / "values.css").read_text()
    found = re.findall(r"--(?:attention|query|key|value): light-dark\((#\w{6}), (#\w{6})\)", style)
    inks = [THEMES[name].palette.text_ink for name in ("light", "dark")]
    order = ("attention", "query", "key", "value")
    assert [tuple(map(str.upper, pair)) for pair in found] == [tuple(ink.of(role) for ink in inks) for role in order]
    for pair in found:
        for ink, ground in zip(pair, LESSON_BAR, strict=True):
            assert contrast(ink.upper(), ground) >= 4.5, (ink, ground)


def test_the_measure_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)

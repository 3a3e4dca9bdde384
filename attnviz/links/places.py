"""The places of the app, in which its pages and their parts are chapters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the bar at the top."""

    title: str
    opens: str
    """The name of the page that its link opens"""


START = Place("Start", "lessons")
ONE_HEAD = Place("One head", "step_by_step")
WHOLE_MODEL = Place("Whole model", "transformer")
MAKE = Place("Make", "train")

PLACES = (START, ONE_HEAD, WHOLE_MODEL, MAKE)
"""In the order of the bar"""

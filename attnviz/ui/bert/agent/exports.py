"""What Export gives of the agent beside what it gives of a classifier: coverage and error at all thresholds."""

from __future__ import annotations

import math

import pandas as pd

from attnviz.ui.bert.agent.threshold import curve_of
from attnviz.ui.bert.classifier.exports import script_of, tables_of
from attnviz.ui.bert.classifier.results import Shown, shown
from attnviz.ui.bert.classifier.what import AGENT


def tables() -> dict[str, pd.DataFrame]:
    """Return all tables."""
    here = shown(AGENT)
    return {**tables_of(AGENT), **({} if here is None else {"thresholds": threshold_table(here)})}


def script() -> str:
    """Return the script."""
    return script_of(AGENT)


def threshold_table(here: Shown) -> pd.DataFrame:
    """Return coverage and error as a table."""
    curve = curve_of(here)
    rows = {"coverage": curve.coverage, "error": [None if math.isnan(one) else one for one in curve.error]}
    return pd.DataFrame(rows, index=pd.Index(curve.thresholds, name="threshold"))

"""What Export gives of the agent beside what it gives of a classifier: coverage and error at all thresholds."""

from __future__ import annotations

import pandas as pd

from attnviz.ui.bert.agent.threshold import threshold_table
from attnviz.ui.bert.classifier import exports
from attnviz.ui.bert.classifier.results import shown
from attnviz.ui.bert.classifier.what import AGENT


def tables() -> dict[str, pd.DataFrame]:
    """Return all tables."""
    here = shown(AGENT)
    return {**exports.tables(AGENT), **({} if here is None else {"thresholds": threshold_table(here)})}

"""The table of all heads, sorted by a measure, with selection and download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.export.csv_files import table_csv
from attnviz.links.values import Head
from attnviz.measures.summary import shown_label
from attnviz.measures.survey import Survey
from attnviz.ui import state
from attnviz.ui.heads import state as heads_state

HEIGHT = 320


@dataclass(slots=True)
class _TableRecord:
    """The session state of the table."""

    head: Head | None = None
    """The current head when the table was last shown"""
    version: int = 0
    """How often a head was chosen elsewhere: the widget's key has it, so that this resets the selected row"""


def heads_table(survey: Survey, sort: str) -> pd.DataFrame:
    """Return one row per head: layer, head, labels, and each measure by name.

    Rows are sorted by layer and head, or by the measure `sort` in descending order.
    """
    heads = survey.values.shape[1]
    table = pd.DataFrame(
        {
            "layer": np.repeat(survey.numbers, heads),
            "head": np.tile(np.arange(heads), len(survey.numbers)),
            "labels": [", ".join(map(shown_label, labels)) for layer in survey.labels for labels in layer],
            **{measure.name: survey.values[..., n].ravel() for n, measure in enumerate(survey.measures)},
        }
    )
    if sort not in table.columns:
        return table
    return table.sort_values(sort, ascending=False, kind="stable", ignore_index=True)


def show_table(survey: Survey) -> None:
    """Show the table; a click on a row selects that head."""
    table = heads_table(survey, state.get("sort"))
    layer, head = heads_state.current()
    current_rows = np.flatnonzero((table["layer"] == layer) & (table["head"] == head))  # empty for the rollout
    kept = state.record(_TableRecord)
    if kept.head != heads_state.current():
        kept.version += 1
    kept.head = heads_state.current()
    key = f"heads_table_{survey.name[:8]}_{state.get('sort')}_{kept.version}"

    def pick() -> None:
        table_state = st.session_state.get(key)  # None if a client sends a selection in a table that no longer exists
        rows = table_state.selection.rows if table_state else []
        if rows and rows[0] < len(table):
            row = table.iloc[rows[0]]
            state.choose_head(int(row["layer"]), int(row["head"]))
            kept.head = heads_state.current()

    st.dataframe(
        table, key=key, height=HEIGHT, hide_index=True, on_select=pick, selection_mode="single-row",
        selection_default={"selection": {"rows": current_rows.tolist()}}, column_config=_columns(survey),
    )  # fmt: skip
    offer_table(table, "heads.csv")


def offer_table(table: pd.DataFrame, file: str, **options: Any) -> None:
    """Show the button that downloads a table as CSV; `options` go to `st.download_button`."""
    st.download_button(
        "Download as CSV", lambda: table_csv(table, index=False), file, "text/csv", on_click="ignore",
        icon=":material/download:", **options,
    )  # fmt: skip


def _columns(survey: Survey) -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    titles = {
        measure.name: f"{measure.title} ({measure.unit})" if measure.unit else measure.title
        for measure in survey.measures
    }
    return {
        "layer": number(width="small", pinned=True),
        "head": number(width="small", pinned=True),
        "labels": text(width="medium"),
        **{name: number(title, format="%.3f") for name, title in titles.items()},
    }

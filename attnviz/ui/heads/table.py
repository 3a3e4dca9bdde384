"""The table of all heads, sorted by a measure, with selection and download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.export.csv_files import table_csv
from attnviz.links.values import Head
from attnviz.measures.summary import shown_label
from attnviz.measures.survey import Survey
from attnviz.ui import state
from attnviz.ui.heads import state as heads_state

if TYPE_CHECKING:
    import numpy.typing as npt

HEIGHT = 320
ANSWER_HELP = "How many percentage points the share of the first guess gains without this head alone."


@dataclass(slots=True)
class _TableRecord:
    """The session state of the table."""

    head: Head | None = None
    """The current head when the table was last shown"""
    version: int = 0
    """How often a head was chosen elsewhere: the widget's key has it, so that this resets the selected row"""


ANSWER = "answer"
"""The column of the change of the answer"""


def heads_table(survey: Survey, sort: str, changes: npt.NDArray[np.float32] | None = None) -> pd.DataFrame:
    """Return one row per head: layer, head, labels, and each measure by name.

    Rows are sorted by layer and head, or by the measure `sort` in descending order.

    Args:
        survey: the survey of the heads.
        sort: the name of a measure, or of none.
        changes: (L, H), how much the answer changes without each head, in percentage points; then the rows are sorted
            by its magnitude.
    """
    heads = survey.values.shape[1]
    table = pd.DataFrame(
        {
            "layer": np.repeat(survey.numbers, heads),
            "head": np.tile(np.arange(heads), len(survey.numbers)),
            "labels": [
                ", ".join(shown_label(label, limited=limited) for label in labels)
                for layer, limited in zip(survey.labels, survey.limited, strict=True)
                for labels in layer
            ],
            **{measure.name: survey.values[..., n].ravel() for n, measure in enumerate(survey.measures)},
        }
    )
    if changes is not None:
        table.insert(2, ANSWER, changes.ravel())
        return table.sort_values(ANSWER, key=np.abs, ascending=False, kind="stable", ignore_index=True)
    if sort not in table.columns:
        return table
    return table.sort_values(sort, ascending=False, kind="stable", ignore_index=True)


def show_table(survey: Survey, changes: npt.NDArray[np.float32] | None = None) -> None:
    """Show the table; a click on a row selects that head. `changes` as for `heads_table`."""
    table = heads_table(survey, state.get("sort"), changes)
    layer, head = heads_state.current()
    current_rows = np.flatnonzero((table["layer"] == layer) & (table["head"] == head))  # empty for the rollout
    kept = state.record(_TableRecord)
    if kept.head != heads_state.current():
        kept.version += 1
    kept.head = heads_state.current()
    order = state.get("sort") if changes is None else ANSWER
    key = f"heads_table_{survey.name[:8]}_{order}_{kept.version}"

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
        ANSWER: number("1st guess, points", format="%+.2f", help=ANSWER_HELP),
        **{name: number(title, format="%.3f") for name, title in titles.items()},
    }

"""CSV files: read back, and no text of theirs a formula where a spreadsheet may begin a cell."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

from attnviz.export.code.bert.uses import CLASSIFIER
from attnviz.export.csv_files import PROTECTED, plain, protected, rows_csv, table_csv
from attnviz.export.numbers import table

HOSTILE = ["=1+1", "x;=cmd", " +2 and", "a\t-3x", '"@x', "one\n=two", "'=x", "''=x", "a,＝1", "-x;-y"]


def cells_of_any_spreadsheet(text: str) -> list[str]:
    """Split at every separator that some locale has."""
    return [part.strip(' "') for part in re.split(r"[;,\t\r\n]", text)]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_begins_as_a_formula_and_the_text_can_be_restored(text: str) -> None:
    safe = protected(text)
    assert not any(cell.startswith(tuple("=+-@＝＋－＠")) for cell in cells_of_any_spreadsheet(safe))
    assert plain(safe) == text


@pytest.mark.parametrize("text", ["", "the cat", "a=b", "-0.5", "1e-3", "it's", "a; b", "x - y", "'quoted'"])
def test_other_texts_and_numbers_stay(text: str) -> None:
    assert protected(text) == plain(text) == text


def test_every_writer_protects_texts_and_keeps_numbers() -> None:
    files = [
        rows_csv(["=head"], [[one, -1.5] for one in HOSTILE]),
        table_csv(pd.DataFrame({"=head": HOSTILE, "n": [-1.5] * len(HOSTILE)}, index=HOSTILE)),
        table_csv(pd.DataFrame({"=head": HOSTILE, "n": [-1.5] * len(HOSTILE)}), index=False),
        table(np.full((len(HOSTILE), 1), -1.5, np.float32), HOSTILE, ["=head"]),
    ]
    for file in files:
        text = file.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert "'=head" in rows[0]
        for row, expected in zip(rows[1:], HOSTILE, strict=True):
            assert float(row[-1]) == -1.5
            assert {plain(one) for one in row[:-1]} == {expected}
            assert set(row[:-1]) == {protected(expected)}


def test_the_classifiers_script_restores_the_texts() -> None:
    written = CLASSIFIER.partition("for row in rows:")[2].partition("\nclasses")[0]
    line = written.partition("\n")[2].strip().format(protected=ascii(PROTECTED.pattern))
    for text in HOSTILE:
        row = {"text": protected(text)}
        exec(line, {"re": re, "row": row})
        assert row["text"] == text

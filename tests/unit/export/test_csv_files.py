"""CSV files: read back, and no text of theirs a formula where a spreadsheet may begin a cell."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from attnviz.export.code.bert.uses import CLASSIFIER
from attnviz.export.csv_files import DRAW_COLUMNS, PROTECTED, draws_csv, protected, rows_csv, table_csv
from attnviz.export.numbers import table
from attnviz.training.generation import GeneratedToken

HOSTILE = ["=1+1", "x;=cmd", " +2 and", "a\t-3x", '"@x', "one\n=two", "'=x", "''=x", "a,＝1", "-x;-y"]


def unprotected(text: str) -> str:
    """Undo `protected`, as the exported scripts do."""
    return PROTECTED.sub(r"\1", text)


def cells_of_any_spreadsheet(text: str) -> list[str]:
    """Split at every separator that some locale has."""
    return [part.strip(' "') for part in re.split(r"[;,\t\r\n]", text)]


@pytest.mark.parametrize("text", [*HOSTILE, "a\r=1"])
def test_no_cell_begins_as_a_formula_and_the_text_can_be_restored(text: str) -> None:
    safe = protected(text)
    assert not any(cell.startswith(tuple("=+-@＝＋－＠")) for cell in cells_of_any_spreadsheet(safe))
    assert unprotected(safe) == text


@pytest.mark.parametrize("text", ["", "the cat", "a=b", "-0.5", "1e-3", "it's", "a; b", "x - y", "'quoted'"])
def test_other_texts_and_numbers_stay(text: str) -> None:
    assert protected(text) == unprotected(text) == text


def test_every_writer_protects_texts_and_keeps_numbers() -> None:
    files = [
        rows_csv(["=head"], [[one, -1.5] for one in HOSTILE]),
        table_csv(pd.DataFrame({"=head": HOSTILE, "n": [-1.5] * len(HOSTILE)}, index=HOSTILE)),
        table_csv(pd.DataFrame({"=head": HOSTILE, "n": [-1.5] * len(HOSTILE)}), index=False),
        table(np.full((len(HOSTILE), 1), -1.5, np.float32), "=corner", HOSTILE, ["=head"]),
    ]
    for file in files:
        text = file.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert "'=head" in rows[0]
        for row, expected in zip(rows[1:], HOSTILE, strict=True):
            assert float(row[-1]) == -1.5
            assert {unprotected(one) for one in row[:-1]} == {expected}
            assert set(row[:-1]) == {protected(expected)}


def test_the_classifiers_script_restores_the_texts() -> None:
    written = CLASSIFIER.partition("for row in rows:")[2].partition("\nclasses")[0]
    line = written.partition("\n")[2].strip().format(protected=ascii(PROTECTED.pattern))
    for text in HOSTILE:
        row = {"text": protected(text)}
        exec(line, {"re": re, "row": row})
        assert row["text"] == text


def test_the_rows_of_a_draw_are_its_likeliest_tokens_and_the_one_that_was_drawn() -> None:
    """200 tokens of which 128 are listed; the 150th is drawn. Beside it a greedy choice, for which nothing is drawn."""
    logits = torch.linspace(3, -3, 200)
    scaled = logits / 0.5
    order, softmax = torch.arange(200), torch.softmax(scaled, -1)
    unset = dict.fromkeys(GeneratedToken.__dataclass_fields__)
    held = {"logits": logits, "scaled": scaled, "order": order, "probabilities": 2 * softmax, "number": 0.75, "id": 149}
    draw = GeneratedToken(**(unset | held))
    greedy = replace(draw, id=0, number=None, scaled=logits)
    text = draws_csv([draw, greedy], [chr(0x100), "\n", *(chr(0x100 + at) for at in range(2, 200))], begin=7).decode(
        "utf-8-sig"
    )
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == list(DRAW_COLUMNS)
    first, second = rows[:129], rows[129:]
    assert len(second) == 128
    assert {(row[0], row[1]) for row in first} == {("1", "7")} and {(row[0], row[1]) for row in second} == {("2", "8")}
    assert [row[2] for row in first] == [str(rank) for rank in (*range(1, 129), 150)]
    assert [row[3] for row in first[:2]] == [f"[0] {chr(0x100)}", "[1] ⏎"]
    assert [row[9] for row in first] == ["0"] * 128 + ["1"] and [row[9] for row in second] == ["1", *["0"] * 127]
    assert {row[8] for row in first} == {"0.75"} and {row[8] for row in second} == {""}
    for at, row in ((0, first[0]), (127, first[127]), (149, first[128])):
        numbers = logits[at], scaled[at], softmax[at], 2 * softmax[at]
        assert [float(one) for one in row[4:8]] == pytest.approx([float(one) for one in numbers], rel=1e-6)
    assert float(second[1][6]) == pytest.approx(float(logits.softmax(-1)[1]), rel=1e-6)

"""A user's CSV file: read whole, or refused in one sentence that names row and column."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attnviz.bert.classification.examples import (
    ACTIONS,
    LONGEST_CELL,
    MOST_BYTES,
    MOST_COLUMNS,
    MOST_ROWS,
    CsvError,
    Examples,
    built_in,
    examples_of,
    read_table,
)

GOOD = "text,label\n" + "".join(f"text {number},{'ab'[number % 2]}\n" for number in range(12))


def examples(text: str | bytes, of: str = "text", label: str = "label") -> Examples:
    data = text.encode() if isinstance(text, str) else text
    return examples_of(read_table(data), data, name="x.csv", text=of, label=label)


def test_a_file_is_what_pythons_csv_reads() -> None:
    text = 'text,label\n"one, ""two""\nthree",a\n\n b ,c\n'
    table = read_table(text.encode())
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert table.columns == tuple(read[0])
    assert list(map(list, table.rows)) == [read[1], read[3]]
    assert table.numbers == (2, 4)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_spreadsheets_in_other_countries_write_other_delimiters(delimiter: str, end: str, mark: bytes) -> None:
    table = read_table(mark + GOOD.replace(",", delimiter).replace("\n", end).encode())
    assert table.columns == ("text", "label")
    assert table.rows[3] == ("text 3", "b")


IS = "A CSV file is UTF-8 text of up to 1 MB; "
SAVE = ", which is not UTF-8: save the file as “CSV UTF-8”."
MARK = ": a quotation mark may be missing."
COMMA = ": a cell with a comma in it is put in quotation marks."
REFUSED = [
    (b"", "Row 1 is empty: a file begins with the names of its columns, such as text,label."),
    (b"\n\n", "Row 1 is empty: a file begins with the names of its columns, such as text,label."),
    (b"text,label\n", "The file has column names in row 1, and no row after it."),
    (b"text,label\n\n,\n", "The file has column names in row 1, and no row after it."),
    (b"text,label\na,b\n\x00,c\n", f"{IS}this one is binary: row 3, column “text”, has a NUL byte."),
    (b"\x89PNG\r\n\x1a\n\x00\x00", f"{IS}this one is binary: row 3, column “�PNG”, has a NUL byte."),
    ("text,label\nä,b\n".encode("utf-16"), f"{IS}this one is UTF-16: save it as “CSV UTF-8”."),
    ("text,label\na,b\nc,Käse\n".encode("latin-1"), f"{IS}row 3, column “label”, has the byte 0xE4{SAVE}"),
    ("text,Käse\n".encode("latin-1"), f"{IS}row 1, column 2, has the byte 0xE4{SAVE}"),
    (b"\xef\xbb\xbftext,label\n\xff,b\n", f"{IS}row 2, column “text”, has the byte 0xFF{SAVE}"),
    (b"x" * (MOST_BYTES + 1), f"{IS}this one has 1 byte more."),
    (b"text,text\na,b\n", "Row 1 has two columns with the name “text”."),
    (b"text,\na,b\n", "Row 1, column 2 has no name."),
    (b"a," * 60 + b"b\n", "Row 1 has 61 columns; a file can have 50."),
    (b"text,label\na,b\na,b,c\n", f"Row 3 has 3 cells, and row 1 names 2 columns{COMMA}"),
    (b"text\na\nb,c\n", f"Row 3 has 2 cells, and row 1 names 1 column{COMMA}"),
    (b"text,label\na,b\nc\n", f"Row 3 has 1 cell, and row 1 names 2 columns{COMMA}"),
    (b'text,label\n"a,b\nc,d\n', f"Row 2 is not CSV{MARK}"),
    (b'text,label\na,b\n"a"x,b\n', f"Row 3 is not CSV{MARK}"),
    (b"text,label\n" + b"x" * (LONGEST_CELL + 1) + b",b\n",
     "Row 2, column “text” has 5,001 characters; a cell can have 5,000."),
    (b"text,label\na,b\n" + b"x" * 200_000 + b",b\n", f"Row 3 has a cell of more than 5,000 characters{MARK}"),
    (b"text,label\n" + b"a,b\n" * (MOST_ROWS + 1), "The file has 2,001 rows with texts; it can have 2,000."),
]  # fmt: skip


@pytest.mark.parametrize(("data", "why"), REFUSED, ids=[why[:30] for _, why in REFUSED])
def test_what_can_t_be_read_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(CsvError) as refused:
        read_table(data)
    assert str(refused.value) == why


def test_files_at_the_limits_are_read() -> None:
    assert (MOST_BYTES, MOST_ROWS, LONGEST_CELL, MOST_COLUMNS) == (1_048_576, 2000, 5000, 50)
    assert len(read_table(b"text,label\n" + b"a,b\n" * MOST_ROWS).rows) == MOST_ROWS
    assert read_table(b"text,label\n" + b"x" * LONGEST_CELL + b",b\n").rows[0][0] == "x" * LONGEST_CELL
    names = [f"c{number}" for number in range(MOST_COLUMNS)]
    whole = (",".join(names) + "\n" + ",".join("v" * len(names))).encode()
    assert read_table(whole).column("c49") == ("v",)
    assert read_table(whole).columns == tuple(names)
    rows = b"text,label\n" + b"a,b\n" * 1000
    assert len(read_table(rows + b"\n" * (MOST_BYTES - len(rows))).rows) == 1000
    for header, why in (
        (b"x" * LONGEST_CELL + b",y\na,b\n", None),
        (b"x" * (LONGEST_CELL + 1) + b",y\na,b\n", "Row 1, column 1 has a name of 5,001 characters."),
        (b",".join([b"c"] * 51) + b"\n", "Row 1 has 51 columns; a file can have 50."),
    ):
        if why is None:
            assert len(read_table(header).columns) == 2
        else:
            with pytest.raises(CsvError) as refused:
                read_table(header)
            assert str(refused.value) == why


AT_LEAST = "each needs at least 5, because some are held out."
UNFIT = [
    (GOOD, "review", "label", "There is no column “review”; the file has “text”, “label”."),
    (GOOD, "text", "text", "Texts and classes are both to be in the column “text”: choose two columns."),
    (GOOD.replace("text 3,", " ,"), "text", "label", "Row 5, column “text”: there is no text."),
    (GOOD.replace("text 3,b", "text 3,"), "text", "label", "Row 5, column “label”: there is no class."),
    (GOOD.replace("text 3,b", "text 3,c"), "text", "label",
     f"The class “c” has 1 row only (row 5, column “label”): {AT_LEAST}"),
    (GOOD.replace(",b", ",a"), "text", "label", "The column “label” has one value (“a”): there can be 2 to 8 classes."),
    (GOOD, "label", "text",
     "The column “text” has 12 different values (“text 0”, “text 1”, “text 2” …): there can be 2 to 8 classes."),
    (GOOD.replace("text 3,b", f"text 3,{'b' * 41}"), "text", "label",
     f"Row 5, column “label”: a class has a name of up to 40 characters, and “{'b' * 40}…” has 41. "
     "Is this the column with the classes?"),
    ("text,label\n" + "x,a\n" * 5 + "y,b\n" * 4, "text", "label",
     f"The class “b” has 4 rows only (row 7, column “label”): {AT_LEAST}"),
    ("text,label\n\n" + "x,a\n" * 5 + "y,b\n" * 4, "text", "label",
     f"The class “b” has 4 rows only (row 8, column “label”): {AT_LEAST}"),
]  # fmt: skip


def test_there_may_be_eight_classes_of_five_rows_with_names_of_forty_characters() -> None:
    found = examples("text,label\n" + "x,a\n" * 5 + f"y,{'b' * 40}\n" * 5)
    assert found.labels == ("a", "b" * 40)
    rows = [f"x,{name}\n" * 5 for name in "ihgfedcba"]
    assert examples("text,label\n" + "".join(rows[1:])).labels == tuple("abcdefgh")
    with pytest.raises(CsvError, match="has 9 different values"):
        examples("text,label\n" + "".join(rows))


@pytest.mark.parametrize(("data", "text", "label", "why"), UNFIT, ids=[why[-30:] for *_, why in UNFIT])
def test_what_can_t_be_trained_on_is_refused_with_row_and_column(data: str, text: str, label: str, why: str) -> None:
    with pytest.raises(CsvError) as refused:
        examples(data, text, label)
    assert str(refused.value) == why


cells = st.text(max_size=12)


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"\r")
@example(b'"')
@example(b"\xef\xbb\xbf\xff")
def test_any_bytes_are_a_table_or_refused_in_one_sentence(data: bytes) -> None:
    try:
        table = read_table(data)
    except CsvError as why:
        assert str(why).endswith(".")
        assert "\n" not in str(why)
    else:
        assert all(len(row) == len(table.columns) for row in table.rows)


@given(st.lists(st.tuples(cells, st.sampled_from(["a", "b", "ü", " a"])), min_size=1, max_size=30))
def test_any_texts_are_examples_or_refused_in_one_sentence(rows: list[tuple[str, str]]) -> None:
    written = io.StringIO()
    csv.writer(written).writerows([("text", "label"), *rows])
    data = written.getvalue().encode(errors="replace")
    try:
        found = examples_of(read_table(data), data, name="x.csv", text="text", label="label")
    except CsvError as why:
        assert str(why).endswith((".", "?"))
        assert "\n" not in str(why)
    else:
        assert len(found) == len(found.classes) == len(found.texts)
        assert all(one.strip() for one in found.texts)


@pytest.mark.parametrize("name", ["reviews", "reports"])
def test_the_project_s_own_examples_are_balanced_and_enough(name: str) -> None:
    found = built_in(name)
    counts = {label: int((found.classes == number).sum()) for number, label in enumerate(found.labels)}
    assert len(found) >= 300
    assert len(set(counts.values())) == 1
    assert len(set(found.texts)) == len(found)
    assert len(found.kinds) == len(found)
    assert found.labels == (("negative", "positive") if name == "reviews" else ACTIONS)

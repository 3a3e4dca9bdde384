"""The film reviews of the project's own: their form, their balance, and that no two are nearly the same."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import combinations

from tests.unit.test_layers import ROOT

PATH = ROOT / "assets" / "bert" / "reviews.csv"
TEXT = PATH.read_bytes().decode("utf-8")
ROWS = list(csv.reader(io.StringIO(TEXT, newline=""), strict=True))
REVIEWS = [text for text, _, _ in ROWS[1:]]
TYPOGRAPHIC = set("‘’“”–—…é")


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())


def test_the_file_is_a_csv_of_three_columns_with_lines_that_end_in_a_line_feed() -> None:
    again = io.StringIO(newline="")
    csv.writer(again, lineterminator="\n").writerows(ROWS)
    assert ROWS[0] == ["text", "label", "kind"]
    assert again.getvalue() == TEXT
    assert "\r" not in TEXT
    assert not TEXT.startswith("\ufeff")


def test_labels_and_kinds_are_balanced() -> None:
    kinds = {"plain": 440, "negation": 60, "irony": 50, "mixed": 50}
    expected = {(label, kind): count // 2 for kind, count in kinds.items() for label in ("positive", "negative")}
    assert Counter((label, kind) for _, label, kind in ROWS[1:]) == expected


def test_labels_and_kinds_are_interleaved() -> None:
    for start in range(1, len(ROWS), 60):
        _, labels, kinds = zip(*ROWS[start : start + 60], strict=True)
        assert set(kinds) == {"plain", "negation", "irony", "mixed"}
        assert 20 <= labels.count("positive") <= 40


def test_every_review_has_5_to_35_words_in_plain_characters() -> None:
    for text in REVIEWS:
        assert 5 <= len(words(text)) <= 35, text
        assert text == " ".join(text.split())
        assert all(" " <= one <= "~" or one in TYPOGRAPHIC for one in text), text


def test_no_review_comes_twice_or_nearly_so() -> None:
    assert len({" ".join(re.findall(r"[^\W_]+", text.lower())) for text in REVIEWS}) == len(REVIEWS)
    for (one, left), (two, right) in combinations([(text, set(words(text))) for text in REVIEWS], 2):
        assert len(left & right) / len(left | right) <= 0.6, (one, two)

"""The project's own film reviews and invented reports: their form, their balance, and that no two are alike."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import combinations

import pytest

from tests.unit.test_layers import ROOT

SOURCES = {name: (ROOT / "assets" / "bert" / f"{name}.csv").read_bytes().decode() for name in ("reviews", "reports")}
ROWS = {name: list(csv.DictReader(io.StringIO(text, newline=""))) for name, text in SOURCES.items()}
REPORTS = ROWS["reports"]
LABELS = {"reviews": "label", "reports": "action"}
ACTIONS = ("increase", "decrease", "stop", "ask")
TYPOGRAPHIC = set("‘’“”–—…é")


def words(text: str) -> tuple[str, ...]:
    """The words in lower case, without punctuation."""
    return tuple(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower()))


@pytest.mark.parametrize("name", SOURCES)
def test_the_file_is_what_pythons_writer_writes(name: str) -> None:
    columns = ("text", LABELS[name], "kind")
    assert SOURCES[name].splitlines()[0] == ",".join(columns)
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(ROWS[name])
    assert written.getvalue() == SOURCES[name]


@pytest.mark.parametrize(
    ("name", "labels", "kinds"),
    [("reviews", ("positive", "negative"), {"plain": 220, "negation": 30, "irony": 25, "mixed": 25}),
     ("reports", ACTIONS, {"plain": 120, "hard": 30})],
)  # fmt: skip
def test_labels_and_kinds_are_balanced(name: str, labels: tuple[str, ...], kinds: dict[str, int]) -> None:
    expected = {(label, kind): count for label in labels for kind, count in kinds.items()}
    assert Counter((row[LABELS[name]], row["kind"]) for row in ROWS[name]) == expected


@pytest.mark.parametrize(
    ("name", "column", "values", "fewest"),
    [("reviews", "label", ("positive", "negative"), 20),
     ("reviews", "kind", ("plain", "negation", "irony", "mixed"), 1),
     ("reports", "action", ACTIONS, 5)],
)  # fmt: skip
def test_any_sixty_in_a_row_are_mixed(name: str, column: str, values: tuple[str, ...], fewest: int) -> None:
    for start in range(0, len(ROWS[name]), 60):
        counts = Counter(row[column] for row in ROWS[name][start : start + 60])
        assert min(counts[value] for value in values) >= fewest, start


@pytest.mark.parametrize(("name", "shortest", "longest"), [("reviews", 5, 35), ("reports", 12, 40)])
def test_every_text_is_one_short_paragraph(name: str, shortest: int, longest: int) -> None:
    for row in ROWS[name]:
        assert shortest <= len(words(row["text"])) <= longest, row["text"]
        assert row["text"] == " ".join(row["text"].split())


def test_reviews_have_plain_characters() -> None:
    for row in ROWS["reviews"]:
        assert all(" " <= character <= "~" or character in TYPOGRAPHIC for character in row["text"]), row["text"]


@pytest.mark.parametrize("name", SOURCES)
def test_no_text_comes_twice_or_nearly_so(name: str) -> None:
    texts = [words(row["text"]) for row in ROWS[name]]
    assert len(set(texts)) == len(texts)
    for one, other in combinations(map(frozenset, texts), 2):
        assert len(one & other) <= 0.6 * len(one | other), one & other


@pytest.mark.parametrize("word", ACTIONS)
def test_the_name_of_an_action_does_not_decide(word: str) -> None:
    """It occurs in reports of at least two actions, and no more than half of them are its own."""
    naming = Counter(row["action"] for row in REPORTS if word in words(row["text"]))
    assert len(naming) >= 2
    assert naming[word] <= naming.total() / 2


def test_no_word_that_occurs_often_belongs_to_one_action() -> None:
    counts: dict[str, Counter[str]] = {}
    for row in REPORTS:
        for word in set(words(row["text"])):
            counts.setdefault(word, Counter())[row["action"]] += 1
    assert [word for word, actions in counts.items() if actions.total() >= 6 and len(actions) == 1] == []

"""The invented reports for the page's agent: their numbers, that no two are alike, that no word decides the action."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

FILE = Path(__file__).parents[3] / "assets" / "bert" / "reports.csv"
ACTIONS = ("increase", "decrease", "stop", "ask")
SOURCE = FILE.read_text(encoding="utf-8")
ROWS = list(csv.DictReader(io.StringIO(SOURCE, newline="")))


def words_of(text: str) -> tuple[str, ...]:
    """The words in lower case, without punctuation."""
    return tuple(re.findall(r"[a-z0-9]+(?:'[a-z]+)?", text.lower()))


def test_the_file_is_what_pythons_writer_writes() -> None:
    assert FILE.read_bytes().decode("utf-8") == SOURCE, "lines end in LF"
    assert SOURCE.splitlines()[0] == "text,action,kind"
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, ("text", "action", "kind"), lineterminator="\n")
    writer.writeheader()
    writer.writerows(ROWS)
    assert written.getvalue() == SOURCE


def test_each_action_has_as_many_plain_and_hard_reports() -> None:
    expected = {(action, kind): count for action in ACTIONS for kind, count in (("plain", 120), ("hard", 30))}
    assert Counter((row["action"], row["kind"]) for row in ROWS) == expected


def test_the_order_mixes_the_actions() -> None:
    for start in range(0, len(ROWS), 60):
        assert min(Counter(row["action"] for row in ROWS[start : start + 60])[action] for action in ACTIONS) >= 5


def test_every_report_is_one_short_paragraph() -> None:
    for row in ROWS:
        assert 12 <= len(row["text"].split()) <= 40, row["text"]
        assert row["text"] == " ".join(row["text"].split())


def test_no_two_reports_are_alike() -> None:
    assert len({words_of(row["text"]) for row in ROWS}) == len(ROWS)
    for one, other in combinations([frozenset(words_of(row["text"])) for row in ROWS], 2):
        assert len(one & other) <= 0.6 * len(one | other), one & other


@pytest.mark.parametrize("word", ACTIONS)
def test_the_name_of_an_action_does_not_decide(word: str) -> None:
    """It occurs in reports of at least two actions, and no more than half of them are its own."""
    naming = Counter(row["action"] for row in ROWS if word in words_of(row["text"]))
    assert len(naming) >= 2
    assert naming[word] <= naming.total() / 2


def test_no_word_that_occurs_often_belongs_to_one_action() -> None:
    counts: dict[str, Counter[str]] = {}
    for row in ROWS:
        for word in set(words_of(row["text"])):
            counts.setdefault(word, Counter())[row["action"]] += 1
    assert [word for word, actions in counts.items() if actions.total() >= 6 and len(actions) == 1] == []

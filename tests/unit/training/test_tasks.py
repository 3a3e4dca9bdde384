"""The tasks: what they draw and what is right, against plain Python; what is held out; which cells a pattern counts."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from torch import Tensor

from attnviz.training.tasks import TASKS
from attnviz.training.tasks.numbers import words_of
from attnviz.training.tasks.task import IGNORED, Batch, Task, held_out_of, mean_weight

NAMES = tuple(TASKS)
Row = tuple[list[str], dict[int, str], list[str]]
"""What is read, what is right at each counted position, and what the encoder reads"""


def drawn(task: Task, count: int = 200) -> Batch:
    return task.batch(count, torch.Generator().manual_seed(5))


def rows(name: str) -> list[Row]:
    task = TASKS[name]
    batch = drawn(task)
    source = batch.source if batch.source is not None else torch.zeros(len(batch), 0, dtype=torch.long)
    return [
        (
            [task.labels[one] for one in ids],
            {place: task.outputs[one] for place, one in enumerate(targets) if one != IGNORED},
            [task.labels[one] for one in read],
        )
        for ids, targets, read in zip(batch.ids.tolist(), batch.targets.tolist(), source.tolist(), strict=True)
    ]


def test_induction_says_what_followed_the_letter_before() -> None:
    for ids, right, _ in rows("induction"):
        first = ids.index(ids[0], 1)  # letters of a pattern differ, so its first one comes back first
        assert right == {place: ids[place + 1 - first] for place in range(first, len(ids))}


def test_reverse_is_the_text_backwards_with_the_dots_first() -> None:
    found = rows("reverse")
    for ids, right, _ in found:
        assert re.fullmatch(r"[a-z]+·*", "".join(ids))
        assert "".join(right[place] for place in range(16)) == "".join(ids)[::-1]
    assert {len("".join(ids).rstrip("·")) for ids, _, _ in found} == set(range(1, 17))


def test_sort_writes_the_digits_in_order() -> None:
    for ids, right, _ in rows("sort"):
        digits = "".join(ids[:8]).rstrip("·")
        in_order = "".join(sorted(digits))
        assert ids[8] == ">"
        assert "".join(ids[9:]).startswith(in_order[:-1])
        assert right == {8 + place: digit for place, digit in enumerate(in_order)}


def test_recall_says_the_digit_that_stood_after_the_letter() -> None:
    for ids, right, _ in rows("recall"):
        digits: dict[str, str] = {}
        expected = {}
        for place in range(0, len(ids), 2):
            letter, digit = ids[place], ids[place + 1]
            assert letter.isalpha()
            assert digits.setdefault(letter, digit) == digit, "each letter keeps its digit"
            if letter in ids[:place]:
                expected[place] = digit
        assert right == expected
        assert 2 <= len(digits) <= 6


def test_counting_counts_earlier_equal_letters() -> None:
    for ids, right, _ in rows("counting"):
        assert right == {place: ("0", "1", "2+")[min(ids[:place].count(one), 2)] for place, one in enumerate(ids)}


def test_depth_is_opening_less_closing() -> None:
    for ids, right, _ in rows("depth"):
        text = "".join(ids)
        for place in range(16):
            depth = text[: place + 1].count("(") - text[: place + 1].count(")")
            assert 0 <= depth <= 8
            assert right[place] == str(depth)


def test_addition_writes_the_sum_from_its_end() -> None:
    for ids, right, _ in rows("addition"):
        a, b = re.fullmatch(r"(\d\d)\+(\d\d)=\d\d", "".join(ids)).groups()  # type: ignore[union-attr]
        total = f"{int(a) + int(b):03d}"
        assert right == {5: total[2], 6: total[1], 7: total[0]}
        assert ids[6:] == [total[2], total[1]]


def test_modular_addition_takes_31_off_and_trains_on_half_of_all_sums() -> None:
    for ids, right, _ in rows("modular"):
        a, b, sign = ids
        assert (right, sign) == ({2: str(divmod(int(a) + int(b), 31)[1])}, "=")
    task = TASKS["modular"]
    seen = task.trained_on()
    assert seen is not None
    batch = task.batch(task.training.batch, torch.Generator().manual_seed(3))
    assert {tuple(row) for row in keys(batch)} == {tuple(row) for row in keys(seen)}, "each step has all of them"
    every = [tuple(row) for row in keys(seen) + keys(task.held_out())]
    assert sorted(every) == [(a, b, 31) for a in range(31) for b in range(31)]
    assert (len(seen), len(task.held_out())) == (480, 481)
    assert [one for name, one in TASKS.items() if name != "modular" and one.trained_on() is not None] == []


VALUES = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "zero": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"), (9, "nine"), (10, "ten"), (13, "thirteen"), (20, "twenty"), (47, "forty seven"),
        (100, "one hundred"), (203, "two hundred three"), (215, "two hundred fifteen"),
        (999, "nine hundred ninety nine"),
    ],
)  # fmt: skip
def test_numbers_in_words(number: int, words: str) -> None:
    assert " ".join(word for word, _ in words_of(number)) == words


def test_the_words_of_every_number_give_it_back() -> None:
    for number in range(1000):
        value = 0
        for word, _ in words_of(number):
            value = value * 100 if word == "hundred" else value + VALUES[word]
        assert value == number
        assert len(words_of(number)) <= 4


def test_numbers_are_read_as_digits_and_written_as_words() -> None:
    for ids, right, source in rows("numbers"):
        number = int("".join(source).replace("<fill>", ""))
        words = [word for word, _ in words_of(number)]
        assert ids[: len(words) + 1] == ["<start>", *words]
        assert [right[place] for place in range(len(right))] == [*words, "<end>"]


SINGULAR = ["teacher", "child", "neighbour", "student", "sailor", "aunt"]
PLURAL = ["houses", "letters", "rivers", "songs", "stories"]
GRAMMAR = re.compile(r"(P|DA?n)V(H|D?A?N)?R?(C(P|DA?n)V(H|D?A?N)?R?)?S")
"""Of letters for tags; nouns in the singular are n, her as a pronoun is H"""
LETTERS = {"det": "D", "adj": "A", "noun": "N", "pron": "P", "verb": "V", "adv": "R", "conj": "C", "stop": "S"}


def test_context_decides_each_tag_and_only_context() -> None:
    found = rows("tagging")
    tags: dict[str, set[str]] = {}
    for ids, right, _ in found:
        for place, tag in right.items():
            tags.setdefault(ids[place], set()).add(tag)
    assert {word for word, some in tags.items() if len(some) == 2} == {
        "plans", "walks", "answers", "paints", "visits", "drinks", "calls", "dreams", "her", "late", "early", "fast",
        "hard",
    }  # fmt: skip
    for ids, right, _ in found[:60]:
        words = [ids[place] for place in range(len(right))]
        assert set(ids[len(words) :]) <= {"<fill>"}
        parses = [
            reading
            for reading in itertools.product(*(sorted(tags[word]) for word in words))
            if GRAMMAR.fullmatch("".join(letter(word, tag) for word, tag in zip(words, reading, strict=True)))
        ]
        assert parses == [tuple(right.values())], words


def letter(word: str, tag: str) -> str:
    if word == "her" and tag == "pron":
        return "H"
    return "n" if word in SINGULAR else LETTERS[tag]


@pytest.mark.parametrize("name", NAMES)
def test_no_held_out_sequence_is_trained_on(name: str) -> None:
    task = TASKS[name]
    held_out = task.held_out()
    generator = torch.Generator().manual_seed(0)  # the seed of the held-out part itself
    kept = {tuple(row) for row in keys(held_out)}
    for _ in range(20):
        batch = task.batch(256, generator)
        assert len(batch) == 256
        assert kept.isdisjoint(tuple(row) for row in keys(batch))
    assert torch.equal(held_out.ids, task.held_out().ids)


def keys(batch: Batch) -> list[list[int]]:
    whole: list[list[int]] = (batch.ids if batch.source is None else batch.source).tolist()
    return whole


def test_sequences_of_any_length_of_a_task_are_held_out() -> None:
    texts = ["".join(TASKS["reverse"].labels[one] for one in ids) for ids in TASKS["reverse"].held_out().ids.tolist()]
    assert len({len(text.rstrip("·")) for text in texts}) > 10
    assert len(TASKS["numbers"].held_out()) == 100
    assert len(TASKS["addition"].held_out()) == 1000


def test_a_part_of_a_table_is_held_out() -> None:
    found = held_out_of(1000, 100)
    assert int(found.sum()) == 100
    assert torch.equal(found, held_out_of(1000, 100))
    digits = {int(str(number)[-1]) for number in found.nonzero().flatten().tolist()}
    assert digits == set(range(10)), "not all numbers with one ending"


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_answer_is_right_only_if_all_of_it_is(name: str) -> None:
    task, batch = TASKS[name], drawn(TASKS[name], 4)
    logits = torch.nn.functional.one_hot(batch.targets.clamp(min=0), len(task.outputs)).float()
    assert task.accuracy(logits, batch) == 1
    place = int((batch.targets[0] != IGNORED).nonzero()[0])
    logits[0, place] = -logits[0, place]
    counted = int((batch.targets != IGNORED).sum())
    assert task.accuracy(logits, batch) == pytest.approx(3 / 4 if task.whole else 1 - 1 / counted)


def scores(
    name: str, pattern: str, texts: list[str], cells: dict[int, list[int]], shape: tuple[int, int]
) -> list[float]:
    """Return a pattern's score of three heads: all weight on these cells, none, and equal weights."""
    task = TASKS[name]
    batch = Batch(*(tensor_of(task, text) for text in texts))
    rest = [[place for place in range(shape[1]) if place not in cells.get(query, [])] for query in range(shape[0])]
    weights = torch.full((1, 3, *shape), 1 / shape[1])
    weights[:, :2] = 0
    for query in range(shape[0]):
        on = cells.get(query, [0])
        weights[0, 0, query, on] = 1 / len(on)
        weights[0, 1, query, rest[query]] = 1 / len(rest[query])
    found: list[float] = next(one for one in task.patterns if one.name == pattern).score(weights, batch).tolist()
    return found


def tensor_of(task: Task, text: str) -> Tensor:
    """Return ids of a text of one-letter labels, or of words; "_" is no answer."""
    pieces = text.split() if " " in text else list(text)
    return torch.tensor([[IGNORED if one == "_" else task.labels.index(one) for one in pieces]])


HAND_MADE = {
    ("reverse", "opposite"): (["abcd", "dcba"], {0: [3], 1: [2], 2: [1], 3: [0]}, (4, 4)),
    ("sort", "next"): (
        ["31415926>1123456", "________11234569"],
        {8: [1, 3], 9: [1, 3], 10: [6], 11: [0], 12: [2], 13: [4], 14: [7], 15: [5]},
        (16, 16),
    ),
    ("recall", "key"): (["a3f7a3", "____3_"], {1: [0], 3: [2], 5: [4]}, (6, 6)),
    ("recall", "value"): (["a3f7a3a3", "____3_3_"], {4: [1], 6: [1, 5]}, (8, 8)),
    ("counting", "same"): (["abacaa", "______"], {2: [0], 4: [0, 2], 5: [0, 2, 4]}, (6, 6)),
    ("addition", "place"): (["47+85=23", "_____231"], {5: [1, 4], 6: [0, 3]}, (8, 8)),
    ("modular", "both"): (["3 7 =", "_ _ 10"], {2: [0, 1]}, (3, 3)),
    ("tagging", "before"): (
        ["she plans walks .", "_ _ _ _"],
        {1: [0], 2: [0, 1]},
        (4, 4),
    ),
    ("stories", "next"): (["Tom had a dog . Tom fed the", "had a dog . Tom fed the dog"], {4: [0], 7: [3]}, (8, 8)),
    ("stories", "refers"): (
        ["There was a baker named Anna . She had a dog . It saw the dog . It ran", " ".join("_" * 19)],
        {7: [3], 12: [10], 17: [10, 15]},
        (19, 19),
    ),
    ("tagging", "after"): (["he finds her late walks .", "_ _ _ _ _ _"], {2: [3, 4], 3: [4]}, (6, 6)),
}  # fmt: skip


@pytest.mark.parametrize(("name", "pattern"), HAND_MADE)
def test_a_pattern_counts_the_right_cells(name: str, pattern: str) -> None:
    texts, cells, shape = HAND_MADE[name, pattern]
    whole, none, even = scores(name, pattern, texts, cells, shape)
    assert whole == pytest.approx(1)
    assert none == pytest.approx(0)
    assert even == pytest.approx(sum(map(len, cells.values())) / len(cells) / shape[1])


def test_an_even_spread_is_what_depth_scores() -> None:
    length = 16
    even = torch.ones(length, length).tril()
    even /= even.sum(1, keepdim=True)
    last = torch.eye(length)
    weights = torch.stack([even, last])[None]
    pattern = TASKS["depth"].patterns[0]
    batch = drawn(TASKS["depth"], 1)
    found = pattern.score(weights, batch)
    assert found[0] == pytest.approx(1)
    assert found[1] == pytest.approx(sum(1 / n for n in range(2, 17)) / 15)


def test_alignment_is_the_share_of_words_that_look_most_at_their_digit() -> None:
    task = TASKS["numbers"]
    texts = ["<start> three hundred forty two", "three hundred forty two <end>", "3 4 2"]
    batch = Batch(*(tensor_of(task, text) for text in texts))
    share, weight = (one.score for one in task.patterns)
    weights = torch.zeros(1, 2, 5, 3)
    weights[0, 0, [0, 1, 2, 3, 4], [0, 1, 1, 2, 0]] = 1  # "hundred" and the end count nothing
    weights[0, 1] = torch.tensor([0.6, 0.3, 0.1])
    assert share(weights, batch).tolist() == pytest.approx([1, 1 / 3])
    assert weight(weights, batch).tolist() == pytest.approx([1, (0.6 + 0.3 + 0.1) / 3])
    texts = ["<start> seventeen <fill> <fill> <fill>", "seventeen <end> _ _ _", "1 7 <fill>"]
    teen = Batch(*(tensor_of(task, text) for text in texts))
    both = torch.tensor([0.5, 0.4, 0.1]).expand(1, 1, 5, 3)
    assert weight(both, teen).tolist() == pytest.approx([0.9]), "one word for two digits"


def test_no_cell_is_no_score() -> None:
    assert mean_weight(torch.ones(1, 2, 3, 3), torch.zeros(1, 3, 3, dtype=torch.bool)).tolist() == [0, 0]

"""The stories, read with the words of this file alone: what pronouns stand for, whether answers are true, what is held
out; and the text that a list of words makes, and the words of a text."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
import torch

from attnviz.training.stories.grammar import Story
from attnviz.training.stories.plots import story
from attnviz.training.stories.words import VOCABULARY
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.stories import END, nouns_meant, referents
from attnviz.training.tasks.task import IGNORED

TASK = TASKS["stories"]
HE = {"Tom", "Ben", "Sam", "Max", "Leo", "Jack", "Paul", "Adam"}
SHE = {"Anna", "Mia", "Lily", "Emma", "Rosa", "Kate", "Nora", "Ida"}
IT = {
    "dog", "cat", "bird", "horse", "mouse", "rabbit", "duck", "goat", "frog", "bear", "ball", "kite", "book", "hat",
    "drum", "lamp", "cup", "ring", "doll", "map", "boat", "flute", "scarf", "bell", "sled", "clock",
}  # fmt: skip
STANDS_FOR = {
    **dict.fromkeys(("he", "him", "his"), HE), **dict.fromkeys(("she", "her"), SHE), **dict.fromkeys(("it", "its"), IT)
}  # fmt: skip


def stories(count: int, seed: int = 0) -> list[Story]:
    drawn = random.Random(seed)
    return [story(drawn.choice, lambda share: drawn.random() < share) for _ in range(count)]


def text_of(words: list[str]) -> str:
    """Return the text as it is printed: no space before a punctuation mark."""
    return re.sub(r" ([.,?])", r"\1", " ".join(words))


def test_a_story_has_3_to_8_sentences_of_words_of_the_vocabulary_and_all_of_these_are_drawn() -> None:
    drawn, words = stories(6000), Counter[str]()
    for told in drawn:
        words.update(told.words)
        sentences = re.findall(r"[^.?]+[.?]", text_of(told.words))
        assert 3 <= len(sentences) <= 8
        assert len(told.words) <= TASK.model.block_size == 80
        assert all(re.match(r" ?[A-Z]", sentence) for sentence in sentences)
        assert told.words[-1] == "."
    assert set(words) == set(VOCABULARY)
    assert len(VOCABULARY) == len(set(VOCABULARY)) == len(TASK.labels) - 1 == 482
    assert len({tuple(told.words) for told in drawn}) > 5_900


def test_a_pronoun_stands_for_the_last_person_or_thing_of_its_kind() -> None:
    counts = Counter[str]()
    for told in stories(1000):
        ids = torch.tensor([[TASK.labels.index(word) for word in told.words]])
        cells = referents(ids)[0]
        for at, (word, referent) in enumerate(zip(told.words, told.referents, strict=True)):
            kind = STANDS_FOR.get(word.lower())
            assert (kind is None) == (referent is None), " ".join(told.words)
            if kind is None or referent is None:
                assert not cells[at].any()
                continue
            counts[word.lower()] += 1
            last = next(before for before in range(at - 1, -1, -1) if told.words[before] in kind)
            assert referent == last, " ".join(told.words)
            named = [before for before in range(at) if told.words[before] == told.words[last]]
            assert cells[at].nonzero().flatten().tolist() == named
    assert set(counts) == set(STANDS_FOR)
    assert min(counts[word] for word in STANDS_FOR if word != "its") > 60


PEOPLE = {
    "boy", "girl", "baker", "farmer", "sailor", "painter", "gardener", "teacher", "cook", "tailor", "carpenter",
    "singer", "doctor",
}  # fmt: skip


def test_what_he_she_and_it_stand_for_is_named_by_a_noun() -> None:
    counts = Counter[str]()
    for told in stories(700):
        words = told.words
        cells = nouns_meant(torch.tensor([[TASK.labels.index(word) for word in words]]))[0]
        first = next(word for word in words if word in HE | SHE)
        for at, word in enumerate(words):
            expected = []
            if word in ("He", "She", "It"):
                noun = next(before for before in reversed(words[:at]) if before in STANDS_FOR[word.lower()])
                expected = [
                    place
                    for place in range(at)
                    if (words[place] == noun if word == "It" else noun == first and words[place] in PEOPLE)
                ]
                counts[word] += bool(expected)
            assert cells[at].nonzero().flatten().tolist() == expected, " ".join(words)
    assert min(counts[word] for word in ("He", "She", "It")) > 150


def with_nouns(words: list[str]) -> str:
    """Return a text in which each pronoun is replaced with the last noun of its kind."""
    named: list[str] = []
    for word in words:
        kind = STANDS_FOR.get(word.lower(), set())
        named.append(next((before for before in reversed(named) if before in kind), word))
    return text_of(named)


def test_what_is_answered_was_told() -> None:
    answered = Counter[str]()
    for told in stories(3000):
        text = with_nouns(told.words)
        if "?" not in text:
            continue
        before, question, answer = re.fullmatch(r"(.+[.?]) (\w+ [^.?]+\?) ([^.?]+)\.", text).groups()  # type: ignore[union-attr]
        answered[question.split()[0]] += 1
        if question.startswith(("Where", "Why")):
            assert " ".join(answer.split()[-3:]) in before, text
        if question.startswith("Who"):
            assert answer.split()[0] in before
        if match := re.fullmatch(r"Who had the (\w+)\?", question):
            thing = match[1]
            events = rf"(\w+) had an? \w+ {thing}|gave (?:\w+ )?{thing} to (\w+)|brought (\w+) an? \w+ {thing}"
            owners = ["".join(owner) for owner in re.findall(events, before)]
            assert answer.replace("the ", "") == f"{owners[-1]} had {thing}", text
            answered["owner"] += 1
    assert {"Who", "Where", "What", "Why", "owner"} == set(answered)
    assert min(answered.values()) > 50


def test_the_answer_at_each_word_is_the_next_one_and_after_the_last_one_the_end() -> None:
    batch = TASK.batch(50, torch.Generator().manual_seed(1))
    for ids, targets in zip(batch.ids.tolist(), batch.targets.tolist(), strict=True):
        length = sum(target != IGNORED for target in targets)
        assert ids[1:length] == targets[: length - 1]
        assert TASK.labels[targets[length - 1]] == END
        assert {TASK.labels[id_] for id_ in ids[length:]} <= {END}
        assert END not in [TASK.labels[id_] for id_ in ids[:length]]


def test_a_printed_story_is_read_as_the_same_words() -> None:
    for told in stories(200):
        tokens, _ = TASK.read(text_of(told.words))
        assert list(tokens.pieces) == told.words
        assert [TASK.labels[id_] for id_ in tokens.ids] == told.words
        assert (any(tokens.unknown), tokens.dropped) == (False, 0)


@pytest.mark.parametrize(
    ("text", "pieces", "unknown"),
    [
        ("tom had THE ball.", ["Tom", "had", "the", "ball", "."], []),
        ("He saw a dragon, didn't he?", ["He", "saw", "a", "dragon", ",", "didn", "'", "t", "he", "?"], [3, 5, 6, 7]),
        ("in The Box", ["in", "The", "box"], []),
        ("ANNA ran 5 times", ["Anna", "ran", "5", "times"], [2, 3]),
    ],
)
def test_a_word_is_known_with_any_first_letter(text: str, pieces: list[str], unknown: list[int]) -> None:
    tokens, _ = TASK.read(text)
    assert list(tokens.pieces) == pieces
    assert [at for at, is_unknown in enumerate(tokens.unknown) if is_unknown] == unknown
    assert [text[start:end].lower() for start, end in tokens.offsets] == [piece.lower() for piece in pieces]

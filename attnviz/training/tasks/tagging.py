"""Tagging: the part of speech of each word in sentences from a small grammar; for some words it depends on context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.tasks.task import IGNORED, Batch, Pattern, Task, added, mean_weight, parts_of, tokens_of

LENGTH = 18
"""T: two clauses of eight words, "and", and a full stop"""
DRAWS = 40
"""The most random numbers used for a sentence"""
FILL, STOP, AND = "<fill>", ".", "and"
TAGS = ("det", "adj", "noun", "pron", "verb", "adv", "conj", "stop")
SUBJECTS = ("she", "he", "everyone", "nobody")
DETERMINERS = ("the", "a", "every")
PLURAL_DETERMINERS = ("the", "some", "many")
ADJECTIVES = ("old", "small", "clever", "quiet", "new")
NOUNS = ("teacher", "child", "neighbour", "student", "sailor", "aunt")
OBJECTS = ("houses", "letters", "rivers", "songs", "stories")
VERBS = ("finds", "knows", "describes", "remembers", "wants")
ADVERBS = ("often", "slowly", "today", "again")
EITHER = ("plans", "walks", "answers", "paints", "visits", "drinks", "calls", "dreams")
"""Verbs after a singular subject, or plural nouns"""
HER = "her"
"""A pronoun, or a determiner before a noun"""
FAST = ("late", "early", "fast", "hard")
"""Adjectives before a noun, or adverbs at the end"""

Word = tuple[str, str]
"""A word and its tag"""
Choose = Callable[[tuple[str, ...]], str]
"""Draws one of several words"""
Chance = Callable[[float], bool]
"""Returns True with a given probability"""


def sentence(choose: Choose, chance: Chance) -> list[Word]:
    """Draw one clause or two, and a full stop.

    Args:
        choose: draws one of several words.
        chance: returns True with a given probability.
    """
    words = _clause(choose, chance)
    if chance(0.7):
        words += [(AND, "conj"), *_clause(choose, chance)]
    return [*words, (STOP, "stop")]


def _clause(choose: Choose, chance: Chance) -> list[Word]:
    """Draw a subject, a verb, and perhaps an object and an adverb."""
    if chance(0.3):
        words = [(choose(SUBJECTS), "pron")]
    else:
        words = _noun_phrase(choose, (*DETERMINERS, HER), NOUNS, adjective=chance(0.4))
    words.append((choose(EITHER if chance(0.7) else VERBS), "verb"))
    if chance(0.2):
        words.append((HER, "pron"))
    elif chance(0.8):
        nouns = EITHER if chance(0.7) else OBJECTS
        phrase = _noun_phrase(choose, (*PLURAL_DETERMINERS, HER, HER), nouns, adjective=chance(0.5))
        words += phrase[1:] if chance(0.4) else phrase  # without its determiner
    if chance(0.5):
        words.append((choose(FAST if chance(0.6) else ADVERBS), "adv"))
    return words


def _noun_phrase(
    choose: Choose, determiners: tuple[str, ...], nouns: tuple[str, ...], *, adjective: bool
) -> list[Word]:
    phrase = [(choose(determiners), "det")]
    if adjective:
        phrase.append((choose(ADJECTIVES + FAST), "adj"))
    return [*phrase, (choose(nouns), "noun")]


def _before(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of noun-or-verb words on the earlier words that decide which they are, (H,)."""
    return mean_weight(weights, deciding(batch.ids).tril())


def _after(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of the other words with two tags on the later words that decide which it is, (H,)."""
    return mean_weight(weights, deciding(batch.ids).triu())


def deciding(ids: Tensor) -> Tensor:
    """Return which words decide the tag of a word with two possible tags, (B, T, T) bool, from ids (B, T).

    For a noun-or-verb word, they are the preceding words, back to the nearest that is not such a word. For the others,
    they are the following words, up to the nearest that is not one of those.
    """
    back, ahead = (torch.isin(ids, torch.tensor(words)) for words in (_BACK, _AHEAD))
    length = ids.shape[1]
    cells = torch.zeros(len(ids), length, length, dtype=torch.bool)
    for query in range(length):
        looking = back[:, query]
        for key in range(query - 1, -1, -1):
            cells[:, query, key] = looking
            looking = looking & back[:, key]
        looking = ahead[:, query]
        for key in range(query + 1, length):
            cells[:, query, key] = looking
            looking = looking & ahead[:, key]
    return cells


class Tagging(Task):
    """Sentences from a small grammar; the answer at each word is its part of speech."""

    name, title = "tagging", "Tagging: noun or verb?"
    explanation = (
        "The model predicts the part of speech of each word of a sentence: determiner, adjective, noun, pronoun, verb "
        "or adverb. Some words have two, such as plans, her and late, and the words around them decide."
    )
    expected = (
        "Words with two tags look at the one that decides: plans and walks at the word before, her and late at the "
        "word after. Each becomes the work of one head."
    )
    labels = (
        FILL, STOP, AND, HER, *SUBJECTS, *DETERMINERS, *PLURAL_DETERMINERS[1:], *ADJECTIVES, *NOUNS, *OBJECTS,
        *VERBS, *ADVERBS, *EITHER, *FAST,
    )  # fmt: skip
    patterns = (
        Pattern("before", "plans, walks and such look at the word before", _before, kind="encoder"),
        Pattern("after", "her, late and such look at the word after", _after, kind="encoder"),
    )
    control = "Without a layer it sees each word alone, and can only say the more frequent tag of words that have two."
    examples = ("the teacher plans walks", "she visits her late", "the clever child answers her late calls")
    whole = True
    outputs = TAGS
    model = TokenConfig(len(labels), LENGTH, "encoder", layers=1, heads=4, width=32, outputs=len(TAGS), padding=0)
    control_model = replace(model, layers=0)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sentences."""
        numbers = iter(torch.rand(size * DRAWS, generator=generator).tolist())
        ids, targets = [], []
        for _ in range(size):
            words = sentence(lambda some: some[int(next(numbers) * len(some))], lambda share: next(numbers) < share)
            rest = LENGTH - len(words)
            ids.append([_IDS[word] for word, _ in words] + [_IDS[FILL]] * rest)
            targets.append([_TAG_IDS[tag] for _, tag in words] + [IGNORED] * rest)
        return Batch(torch.tensor(ids), torch.tensor(targets))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the words of a text; a missing full stop is added."""
        parts = parts_of(text.lower(), r"\w+|[^\w\s]")
        kept = parts[: LENGTH - 1]
        stop = added([STOP]) if kept and kept[-1][0] != STOP else []
        return tokens_of(text.lower(), parts, self.labels, most=LENGTH - 1, then=stop), None


_IDS = {label: id_ for id_, label in enumerate(Tagging.labels)}
_TAG_IDS = {tag: id_ for id_, tag in enumerate(TAGS)}
_BACK, _AHEAD = ([_IDS[word] for word in words] for words in (EITHER, (HER, *FAST)))

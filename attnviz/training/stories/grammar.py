"""How a story speaks of people and things: by name first, then by pronouns where it is clear whom they stand for.

A pronoun always stands for the last person or thing of its kind that was named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attnviz.training.stories.words import PRONOUNS

AGAIN = 0.8
"""How often a pronoun stands for someone who was named in the sentence before"""
Choose = Callable[[Sequence[str]], str]
"""Draws one of several texts"""
Chance = Callable[[float], bool]
"""Returns True with a given probability"""


@dataclass(slots=True, eq=False)
class Entity:
    """A person, an animal or a thing of a story."""

    pronoun: str
    """"he", "she" or "it" """
    noun: str
    """A person's name; else what it is"""
    adjective: str = ""
    job: str = ""
    sentence: int = -2
    """The last sentence that speaks of it"""
    at: int | None = None
    """The place of the last word that names it"""


@dataclass(slots=True)
class Story:
    """A story as far as it is told."""

    choose: Choose
    chance: Chance
    words: list[str] = field(default_factory=list)
    referents: list[int | None] = field(default_factory=list)
    """For each word: for a pronoun, the place of the last word that names what it stands for"""
    ends: list[int] = field(default_factory=list)
    """The number of words up to the end of each sentence"""
    last: dict[str, Entity] = field(default_factory=dict)
    """By pronoun: what was named last"""
    questions: list[tuple[str, dict[str, Entity]]] = field(default_factory=list)
    """What can be asked at the end, with its answer, as `say` takes it"""

    def say(self, sentence: str, **entities: Entity) -> None:
        """Add a sentence or more.

        Args:
            sentence: words, and names of entities in braces: {a} where "he" can stand, {a:him}, {a:his}; {a:name} and
                {a:the} always name it, {a:noun} without an article; {a:a} names it for the first time.
            entities: by name.
        """
        starts = True
        for word in sentence.split():
            if word.startswith("{"):
                name, _, form = word[1:-1].partition(":")
                self._mention(entities[name], form or "he", starts=starts)
            else:
                self._add(word, starts=starts)
            starts = word in ".?"
            if starts:
                self.ends.append(len(self.words))

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.ends)

    def may_ask(self, question: str, **entities: Entity) -> None:
        """Note a question for the end of the story, and its answer."""
        self.questions.append((question, entities))

    def cut(self, words: int, sentences: int) -> None:
        """Leave out the last sentences until there are at most so many words and sentences; a question needs an answer.

        Args:
            words: the most words.
            sentences: the most sentences.
        """
        while len(self.words) > words or len(self.ends) > sentences or self.words[-1] == "?":
            self.ends.pop()
            del self.words[self.ends[-1] :], self.referents[self.ends[-1] :]

    def _add(self, word: str, referent: int | None = None, *, starts: bool) -> None:
        self.words.append(word[0].upper() + word[1:] if starts else word)
        self.referents.append(referent)

    def _mention(self, entity: Entity, form: str, *, starts: bool) -> None:
        sentence, age = len(self.ends), len(self.ends) - entity.sentence
        is_clear = form in PRONOUNS["he"] and self.last.get(entity.pronoun) is entity and age <= 1
        if is_clear and (age == 0 or form == "his" or self.chance(AGAIN)):
            self._add(PRONOUNS[entity.pronoun][form], entity.at, starts=starts)
            entity.sentence = sentence
            return
        if form == "his":
            self._add("the", starts=starts)
            return
        for word in self._phrase(entity, form):
            self._add(word, starts=starts)
            starts = False
        entity.at, entity.sentence, self.last[entity.pronoun] = len(self.words) - 1, sentence, entity

    def _phrase(self, entity: Entity, form: str) -> list[str]:
        if entity.pronoun != "it":
            return [entity.noun]
        if form == "a":
            return [article(entity.adjective), entity.adjective, entity.noun]
        return [entity.noun] if form == "noun" else ["the", entity.noun]


def article(word: str) -> str:
    """Return "a" or "an" before a word."""
    return "an" if word[0] in "aeiou" else "a"

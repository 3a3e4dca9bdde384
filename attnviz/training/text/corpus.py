"""The built-in corpus: short scenes in plain English, which this module generates from a seed.

It is not literature and imitates no author. It has patterns that a model can learn step by step: spelling, word order,
recurring names, speakers, questions with matching answers, closing quotation marks, and correct sums.
"""

from __future__ import annotations

import random
from functools import lru_cache

SEED, SCENES = 20, 1600
NAMES = {
    "Anna": "she", "Ben": "he", "Clara": "she", "David": "he", "Emma": "she", "Felix": "he", "Grace": "she",
    "Henry": "he", "Ida": "she", "Jonas": "he",
}  # fmt: skip
"""Each with its pronoun"""
PLACES = (
    "in the garden",
    "at the station",
    "in the kitchen",
    "by the river",
    "at school",
    "in the library",
    "on the hill",
)
THINGS = ("a letter", "an old map", "a red umbrella", "a small box", "a wooden boat", "a key", "a lamp", "a blue book")
FINDS = ("found", "lost", "opened", "carried", "painted", "repaired", "hid")
WEATHER = (
    "It was raining",
    "The sun was shining",
    "It was cold",
    "The wind was strong",
    "It was late",
    "It was snowing",
)
FEELINGS = ("glad", "tired", "curious", "sad", "proud", "surprised", "hungry")
FRUIT = ("apples", "pears", "plums", "cherries", "lemons")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@lru_cache(1)
def built_in() -> str:
    """Return the corpus, some 400,000 characters; it is the same on every machine."""
    draw = random.Random(SEED)  # noqa: S311 — a seeded text, not a secret
    return "\n\n".join(_scene(draw) for _ in range(SCENES)) + "\n"


def _scene(draw: random.Random) -> str:
    name, other = draw.sample(sorted(NAMES), 2)
    place, thing = draw.choice(PLACES), draw.choice(THINGS)
    parts = [_opening(draw, name, place, thing)]
    makers = draw.sample([_question, _sum, _feeling, _exchange], draw.randint(1, 3))
    parts += [make(draw, name, other, thing) for make in makers]
    return "\n".join(parts)


def _opening(draw: random.Random, name: str, place: str, thing: str) -> str:
    return f"{draw.choice(WEATHER)}. {name} was {place}, where {NAMES[name]} {draw.choice(FINDS)} {thing}."


def _question(draw: random.Random, name: str, other: str, thing: str) -> str:
    plain = thing.split(" ", 1)[1]
    knows, does_not = f'"It is {thing}," said {name}.', f'"I don\'t know," said {name}, and looked at the {plain}.'
    answer = draw.choice((knows, does_not))
    return f'"What have you got there, {name}?" asked {other}.\n{answer}'


def _sum(draw: random.Random, name: str, other: str, _: str) -> str:
    first, second = draw.randint(1, 5), draw.randint(1, 5)
    fruit = draw.choice(FRUIT)
    first_count, second_count = (_count(number, fruit) for number in (first, second))
    whole = _count(first + second, fruit)
    return f"{name} had {first_count}. {other} gave {_object(name)} {second_count}. Now {NAMES[name]} had {whole}."


def _feeling(draw: random.Random, name: str, other: str, thing: str) -> str:
    feeling, plain = draw.choice(FEELINGS), thing.split(" ", 1)[1]
    return f"{name} was {feeling}, because {other} had seen the {plain}. {other} was not {feeling} at all."


def _exchange(draw: random.Random, name: str, other: str, thing: str) -> str:
    plain, place = thing.split(" ", 1)[1], draw.choice(PLACES)
    return f"{name.upper()}: Where is the {plain}?\n{other.upper()}: {name}, the {plain} is {place}."


def _count(number: int, fruit: str) -> str:
    singular = {"cherries": "cherry"}.get(fruit, fruit[:-1])
    return f"{NUMBERS[number]} {singular if number == 1 else fruit}"


def _object(name: str) -> str:
    return {"she": "her", "he": "him"}[NAMES[name]]

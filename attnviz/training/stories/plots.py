"""What happens in the stories: a beginning, an event or two with what follows from them, and perhaps a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from attnviz.training.stories.grammar import Chance, Choose, Entity, Story, article
from attnviz.training.stories.words import (
    ANIMALS,
    BOYS,
    GIRLS,
    GONE,
    HAPPY,
    HOMES,
    INDOORS,
    JOBS,
    LATER,
    MADE_OF,
    NEAR,
    NEEDS,
    PUT,
    SLEEPS,
    THINGS,
    WHEN,
)

LONGEST = 80
"""The most words of a story, punctuation included"""
MOST = 8
"""The most sentences"""
Chosen = TypeVar("Chosen")
BEGINS = 0.7
"""How often a story without a job begins with who it is about"""
ASKS = 0.6
"""How often a story that can ask something at its end does so"""


def story(choose: Choose, chance: Chance) -> Story:
    """Draw a story of 3 to 8 sentences.

    Args:
        choose: draws one of several texts.
        chance: returns True with a given probability.
    """
    told = Story(choose, chance)
    hero = _person(told)
    friend = _person(told, hero.noun)
    if hero.job or chance(BEGINS):
        _begin(told, hero)
    plot = _one_of(told, _PLOTS if hero.job else _PLOTS[1:])
    plot(told, hero, friend)
    if plot is not _need and told.sentences < 6 and len(told.words) < LONGEST // 2 and chance(0.5):
        _need(told, hero, friend)
    if told.questions and chance(ASKS):
        question, entities = _one_of(told, told.questions)
        told.say(question, **entities)
    elif chance(0.4):
        told.say(choose(_ENDS if friend.at is None else (*_ENDS, *_ENDS_OF_TWO)), a=hero, f=friend)
    told.cut(LONGEST, MOST)
    return told


def _one_of(told: Story, some: Sequence[Chosen]) -> Chosen:
    return some[int(told.choose(_NUMBERS[: len(some)]))]


_ENDS = ("That was a good day .", "In the evening {a} went home .")
_ENDS_OF_TWO = ("From that day on , {a:name} and {f:name} were friends .", "{a} told {f:name} everything .")


def _person(told: Story, other: str = "") -> Entity:
    """Draw a person, with another name than `other`; every second one has a job."""
    pronoun = told.choose(("he", "she"))
    names = tuple(name for name in (BOYS if pronoun == "he" else GIRLS) if name != other)
    return Entity(pronoun, told.choose(names), job=told.choose(tuple(JOBS)) if not other and told.chance(0.5) else "")


def _thing(told: Story, other: str = "") -> Entity:
    noun = told.choose(tuple(thing for thing in THINGS if thing != other))
    return Entity("it", noun, told.choose(THINGS[noun].adjectives))


def _animal(told: Story, nouns: tuple[str, ...] = ()) -> Entity:
    noun = told.choose(nouns or tuple(ANIMALS))
    return Entity("it", noun, told.choose(ANIMALS[noun].adjectives))


def _describe(told: Story, entity: Entity) -> None:
    """Say, or not, what it is like."""
    if told.chance(0.6):
        facts = (ANIMALS if entity.noun in ANIMALS else THINGS)[entity.noun].facts
        told.say(f"{{t}} {told.choose(facts)} .", t=entity)


def _place(told: Story, other: str = "") -> str:
    return told.choose(tuple(place for place in PUT if place != other))


def _when(told: Story) -> str:
    return told.choose(WHEN)


def _begin(told: Story, hero: Entity) -> None:
    """Name the first person, and perhaps say where that person lived or worked."""
    noun = hero.job or ("boy" if hero.pronoun == "he" else "girl")
    kinds = ["There was {noun} named {a:name} .", "Once there was {noun} named {a:name} .", "{a:name} was {noun} ."]
    told.say(told.choose(kinds).replace("{noun}", f"{article(noun)} {noun}"), a=hero)
    if hero.job and told.chance(0.6):
        job = JOBS[hero.job]
        told.say(
            told.choose(("{a} worked in the " + job.place + " .", "{a} " + told.choose(job.work) + " every day .")),
            a=hero,
        )
    elif told.chance(0.4):
        told.say("{a} lived in " + told.choose(HOMES) + " near " + told.choose(NEAR) + " .", a=hero)


def _work(told: Story, a: Entity, f: Entity) -> None:
    job = JOBS[a.job]
    told.say(f"{_when(told)} {{f:name}} came to the {job.place} because {{f}} needed {job.product} .", f=f)
    if told.chance(0.7):
        told.say(f"{{a:name}} gave {{f:him}} {job.product} .", a=a, f=f)
        told.say(
            told.choose(("{f:name} was very happy and thanked {a:him} .", "{f:name} gave {a:him} a coin .")), a=a, f=f
        )
        told.may_ask(f"What did {{a:name}} give {{f:name}} ? {job.product} .", a=a, f=f)
    else:
        told.say("But {a:name} was not there .", a=a)
        told.say("{f:name} waited for {a:him} , but then {f} went home .", a=a, f=f)
        told.may_ask("Who waited ? {f:name} waited .", f=f)


def _lose(told: Story, a: Entity, f: Entity) -> None:
    thing, place = _thing(told), _place(told)
    told.say("{a} had {t:a} .", a=a, t=thing)
    _describe(told, thing)
    told.say(f"{_when(told)} {{a}} put {{t}} {place} and went {told.choose(GONE)} .", a=a, t=thing)
    if told.chance(0.5):
        told.say("When {a} came home , {a} could not find {a:his} {t:noun} .", a=a, t=thing)
        if told.chance(0.5):
            told.say(f"{{a}} looked {_place(told, place)} , but {{t}} was not there .", a=a, t=thing)
        told.say(f"Then {{a}} looked {place} , and there {{t}} was .", a=a, t=thing)
    else:
        other = _place(told, place)
        told.say(f"But {{f:name}} took {{a:his}} {{t:noun}} and hid {{t}} {other} .", a=a, f=f, t=thing)
        told.say(f"{{a:name}} looked {place} , but {{t:the}} was not there .", a=a, t=thing)
        told.say(f"{{a}} was sad until {{a}} found {{t}} {other} .", a=a, t=thing)
        place = other
    told.may_ask(f"Where was {{t:the}} ? {{t}} was {place} .", t=thing)


def _wish(told: Story, a: Entity, f: Entity) -> None:
    thing = _thing(told)
    about = THINGS[thing.noun]
    told.say(f"{{a}} wanted {{t:a}} because {{a}} {about.reason} .", a=a, t=thing)
    _describe(told, thing)
    if told.chance(0.5):
        told.say("{f:name} had {t:a} , so {f} gave {t} to {a:him} .", a=a, f=f, t=thing)
    else:
        told.say(f"So {{f:name}} went {told.choose(GONE)} and bought {{t:a}} .", f=f, t=thing)
        told.say("{f} gave {t} to {a:him} .", a=a, f=f, t=thing)
    told.say(f"{{a:name}} {about.use} {{t}} all day and was {told.choose(HAPPY)} .", a=a, t=thing)
    if told.chance(0.4):
        told.say(f"But then {{t:the}} {about.happens} .", t=thing)
        told.say(
            told.choose(("{a:name} was sad , but {f:name} laughed .", "{f:name} was sorry for {a:him} .")), a=a, f=f
        )
    else:
        told.may_ask("Who had {t:the} ? {a:name} had {t} .", a=a, t=thing)
    told.may_ask(f"Why did {{a:name}} want {{t:the}} ? Because {{a}} {about.reason} .", a=a, t=thing)


def _swap(told: Story, a: Entity, f: Entity) -> None:
    thing = _thing(told)
    other = _thing(told, thing.noun)
    told.say("{a} had {t:a} , and {f:name} had {u:a} .", a=a, f=f, t=thing, u=other)
    told.say(f"{{a:name}} wanted {{u:the}} because {{a}} {THINGS[other.noun].reason} .", a=a, u=other)
    if told.chance(0.6):
        told.say(
            "So {a:name} gave {a:his} {t:noun} to {f:him} , and {f} gave {f:his} {u:noun} to {a:him} .",
            a=a,
            f=f,
            t=thing,
            u=other,
        )
        told.say(
            f"{{a:name}} {THINGS[other.noun].use} {{a:his}} {{u:noun}} , "
            f"and {{f:name}} {THINGS[thing.noun].use} {{f:his}} {{t:noun}} .",
            a=a,
            f=f,
            t=thing,
            u=other,
        )
        owner, owned = (f, thing) if told.chance(0.5) else (a, other)
    else:
        told.say("But {f:name} liked {f:his} {u:noun} and kept {u} .", f=f, u=other)
        told.say(f"So {{a:name}} {THINGS[thing.noun].use} {{a:his}} {{t:noun}} .", a=a, t=thing)
        owner, owned = (f, other) if told.chance(0.5) else (a, thing)
    told.may_ask("Who had {t:the} ? {a:name} had {t} .", a=owner, t=owned)


def _feed(told: Story, a: Entity, f: Entity) -> None:
    animal, place = _animal(told), told.choose(SLEEPS)
    about = ANIMALS[animal.noun]
    food = told.choose(about.foods)
    told.say("{a} had {d:a} .", a=a, d=animal)
    _describe(told, animal)
    told.say(f"{_when(told)} {{d:the}} {about.sound} because {{d}} was hungry .", d=animal)
    who = f if told.chance(0.4) else a
    told.say(f"{{a}} gave {{d}} {food} , and {{d}} was happy .", a=who, d=animal)
    told.say(f"Then {{d}} {told.choose(about.moves)} and slept {place} .", d=animal)
    told.may_ask(f"Where did {{d:the}} sleep ? {{d}} slept {place} .", d=animal)
    told.may_ask(f"What did {{d:the}} eat ? {{d}} ate {food} .", d=animal)
    told.may_ask(f"Who fed {{d:the}} ? {{a:name}} gave {{d}} {food} .", a=who, d=animal)


def _trip(told: Story, a: Entity, f: Entity) -> None:
    animal, where = _animal(told), told.choose(GONE)
    about = ANIMALS[animal.noun]
    told.say(f"{_when(told)} {{a}} and {{f:name}} went {where} .", a=a, f=f)
    told.say("There they saw {d:a} .", d=animal)
    _describe(told, animal)
    told.say(f"{{d}} {about.sound} and {told.choose(about.moves)} .", d=animal)
    brave, afraid = (a, f) if told.chance(0.5) else (f, a)
    told.say("{x:name} was afraid of {d:the} , but {y:name} laughed .", x=afraid, y=brave, d=animal)
    told.say("When {d} " + about.sound + " again , {x:name} ran home .", x=afraid, d=animal)
    told.may_ask(f"Where did they go ? They went {where} .")
    told.may_ask("Who was afraid ? {x:name} was afraid .", x=afraid)
    told.may_ask("What did they see ? They saw {d:the} .", d=animal)


def _find(told: Story, a: Entity, f: Entity) -> None:
    thing, place = _thing(told), _place(told)
    about = THINGS[thing.noun]
    told.say(f"{_when(told)} {{a}} found {{t:a}} {place} .", a=a, t=thing)
    _describe(told, thing)
    if thing.adjective not in MADE_OF:
        told.say(f"{{t}} was very {thing.adjective} .", t=thing)
    if told.chance(0.5):
        told.say(f"{{a}} {about.use} {{t}} , but {{t}} {about.happens} .", a=a, t=thing)
        told.say("{a} was sad , so {f:name} came and helped {a:him} .", a=a, f=f)
        told.may_ask("Who helped {a:name} ? {f:name} helped {a:name} .", a=a, f=f)
    else:
        told.say("{a} showed {t} to {f:name} .", a=a, f=f, t=thing)
        told.say(
            f"{{f:name}} liked {{t}} because {{f}} {about.reason} , so {{a:name}} gave {{t}} to {{f:him}} .",
            a=a,
            f=f,
            t=thing,
        )
        told.may_ask("Who had {t:the} ? {f:name} had {t} .", f=f, t=thing)
    told.may_ask(f"Where did {{a:name}} find {{t:the}} ? {{a}} found {{t}} {place} .", a=a, t=thing)


def _race(told: Story, a: Entity, f: Entity) -> None:
    where = told.choose(GONE)
    first, second = (a, f) if told.chance(0.5) else (f, a)
    told.say(f"{_when(told)} {{a}} and {{f:name}} ran {where} .", a=a, f=f)
    told.say("{x:name} was faster , so {x} won , and {y:name} lost .", x=first, y=second)
    told.say(
        f"{{y:name}} was sad , but {{x:name}} gave {{y:him}} {told.choose(NEEDS['hungry'].brought)} .",
        x=first,
        y=second,
    )
    told.may_ask("Who won ? {x:name} won .", x=first)
    told.may_ask("Who lost ? {y:name} lost .", y=second)


def _need(told: Story, a: Entity, f: Entity) -> None:
    feeling = told.choose(tuple(NEEDS))
    about = NEEDS[feeling]
    why, later = told.choose(about.why), told.choose(LATER)
    told.say(f"{later if told.sentences > 2 else _when(told)} {{a}} was {feeling} because {{a}} {why} .", a=a)
    if told.chance(0.5):
        told.say(f"So {{a}} {told.choose(about.helped)} .", a=a)
    else:
        brought = told.choose(about.brought)
        told.say(f"{{f:name}} came and brought {{a:him}} {brought} .", a=a, f=f)
        told.may_ask(f"What did {{f:name}} bring ? {{f}} brought {brought} .", f=f)
    told.say(f"Now {{a:name}} was not {feeling} any more .", a=a)
    told.may_ask(f"Why was {{a:name}} {feeling} ? Because {{a}} {why} .", a=a)


def _night(told: Story, a: Entity, f: Entity) -> None:
    animal, place = _animal(told, INDOORS), _place(told)
    about = ANIMALS[animal.noun]
    told.say("One night {a} heard a noise .", a=a)
    told.say("{a} was afraid and called {f:name} .", a=a, f=f)
    told.say(f"{{f:name}} looked {place} and found {{d:a}} .", f=f, d=animal)
    _describe(told, animal)
    told.say(f"{{d}} {about.sound} , and {{a:name}} laughed .", a=a, d=animal)
    told.say(f"{{a}} gave {{d}} {told.choose(about.foods)} .", a=a, d=animal)
    told.may_ask(f"Where was {{d:the}} ? {{d}} was {place} .", d=animal)
    told.may_ask("Who called {f:name} ? {a:name} called {f:name} .", a=a, f=f)


def _birthday(told: Story, a: Entity, f: Entity) -> None:
    thing = _thing(told)
    told.say("{a:name} had a birthday .", a=a)
    told.say("{f:name} came and brought {a:him} {t:a} .", a=a, f=f, t=thing)
    _describe(told, thing)
    told.say(f"{{a:name}} was {told.choose(HAPPY)} and {THINGS[thing.noun].use} {{t}} .", a=a, t=thing)
    told.say("Then they ate cake and " + told.choose(("sang", "danced", "told jokes")) + " .")
    told.may_ask("Who brought {t:the} ? {f:name} brought {t} .", f=f, t=thing)
    told.may_ask("Who had a birthday ? {a:name} had a birthday .", a=a)


def _stray(told: Story, a: Entity, f: Entity) -> None:
    animal, place = _animal(told), told.choose(SLEEPS)
    about = ANIMALS[animal.noun]
    told.say("{a} had {d:a} .", a=a, d=animal)
    _describe(told, animal)
    told.say(f"{_when(told)} {{d}} ran away .", d=animal)
    if told.chance(0.5):
        told.say(f"{{a}} looked {told.choose(SLEEPS)} , but {{d}} was not there .", a=a, d=animal)
    finder = f if told.chance(0.6) else a
    told.say(f"In the evening {{x:name}} found {{d}} {place} .", x=finder, d=animal)
    told.say(f"{{d}} {about.sound} when {{d}} saw {{a:name}} .", a=a, d=animal)
    told.may_ask(f"Where was {{d:the}} ? {{d}} was {place} .", d=animal)
    told.may_ask("Who found {d:the} ? {x:name} found {d} .", x=finder, d=animal)


_PLOTS: tuple[Callable[[Story, Entity, Entity], None], ...] = (
    _work, _lose, _wish, _swap, _feed, _trip, _find, _race, _need, _night, _birthday, _stray,
)  # fmt: skip
"""The first is for people with a job"""
_NUMBERS = tuple(map(str, range(len(_PLOTS))))

"""What the shipped model of stories writes, read by a small parser of English that knows no rule of the stories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, takewhile

import pytest
import torch

from attnviz import trained
from attnviz.sources.writing import room, write_on
from attnviz.trained.model import examples
from attnviz.training.generation import Sampling, generate
from attnviz.training.stories.words import VOCABULARY
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.stories import END
from attnviz.training.tasks.task import IGNORED

TAGS = {
    "M": "Tom Ben Sam Max Leo Jack Paul Adam Anna Mia Lily Emma Rosa Kate Nora Ida",
    "P": "he she",
    "p": "they",
    "O": "him her them",
    "I": "it everything nothing two that",
    "a": "a an every one any",
    "s": "the his its her that",
    "m": "some many two six all",
    "A": (
        "afraid big black blue bored bright brown clear clever cold curly dark deep early fast faster "
        "friendly full funny glad golden good green grey happy high hot hungry large late lazy little long "
        "loud new old orange pretty proud quiet red round sad shy sick silver sleepy small soft sorry strange "
        "strong tall thick thirsty tiny tired warm white wooden yellow"
    ),
    "N": (
        "apple arm bag baker bakery ball barn basket beach bear bed bell bird birthday blanket boat bone book "
        "box boy bush cake carpenter carrot cart cat chair clock cloth coat coin cook cottage crack cup "
        "cupboard doctor dog doll door drawer drum duck farmer feather fence field fire fish flute fly forest "
        "friend frog game garden gardener girl goat harbour hat hill hole home horse hospital house hut "
        "island joke kitchen kite lake lamp leaf letter library light map market mountain mouse nest noise "
        "nut painter paper park pear picture pill pillow pond puzzle rabbit ring river road rock roof sailor "
        "sandwich scarf school sea shelf ship shirt shoe shop singer sled sofa song sound station stick stone "
        "story studio summer sun table tail tailor teacher test theatre tower tree tunnel village wind window "
        "winter workshop worm zoo"
    ),
    "L": (
        "dolls sick berries cakes chairs children cows ears eggs eyes feathers feet flowers friends holes "
        "horns jokes leaves legs pages people pirates pots roses sails seeds shirts songs stories stripes "
        "trees"
    ),
    "U": (
        "advice bread breakfast cake bed fish night home dark cheese coffee corn cream fur gold grass hair "
        "hay honey iron juice leather lettuce light meat medicine milk music oil paint paper rain snow soup "
        "tea time water wood wool cloth"
    ),
    "Z": "was",
    "W": "were",
    "H": "had",
    "K": "could did",
    "T": (
        "ate baked bought broke brought built called caught chased cleaned cooked cut drew dug fed found "
        "heard helped hid hit kept lit lost made missed mixed named painted planted saw sewed showed drank "
        "played practised pulled rang rode read sailed sang climbed stopped worked woke won ran ticked taught "
        "thanked took told watered wore washed"
    ),
    "V": (
        "ate barked bleated blew called came climbed cooked cleaned croaked danced dived drank drew failed "
        "fell flew growled hid hopped jumped laughed lived looked neighed painted played practised pulled "
        "purred quacked ran rang read rode rolled sailed sang sat shone slept sniffed squeaked stayed stopped "
        "swam ticked waited walked went woke won worked helped lost broke told rolled"
    ),
    "v": (
        "climbed drank failed left played pulled rang read rode rolled sailed sang stopped won washed worked"
    ),
    "w": "wanted needed liked loved",
    "u": "put",
    "G": "gave brought bought told taught showed made read",
    "F": (
        "bounce bring carry do drunk eat eaten find float give go jump like play read run see sleep swim "
        "travel want"
    ),
    "R": (
        "again always away down home much more often out over there too up very then so late early fast high"
    ),
    "B": (
        "across after at behind beside for from in into near of on over to under with by down up out"
    ),
    "C": "and but so",
    "c": "because until when",
    "t": "to",
    "S": "now then later soon so but once",
    "Q": "who",
    "q": "what where why when",
    "x": "there",
    "n": "not",
    "e": "named",
    "k": "very too so",
    "j": "any",
    "r": "more",
    "D": "did",
    "h": "day night morning evening time way winter summer",
    "Y": ",",
    "E": ".",
    "J": "?",
}  # fmt: skip
"""The words by what they can be: M name; P he, she; p they; O him, her; I it and the like; a, s, m determiners of one,
of any, of several; A adjective; N noun of one, L of several, U of what is not counted, h of a time; Z was, W were, H
had, D did, K could or did; T verb with an object, V without one, w of wanting, G of giving, u put, F other forms; n
not; R adverb; B preposition; C conjunction, c of a clause that depends; t to; S what a sentence begins with; x there;
e named; k very; j any, r more; Q and q question words; Y comma, E full stop, J question mark"""
ONE = "(?:M|I|O|(?:a|s)R?k?A*(?:N|U)?(?:N|h)|(?:m|s)?k?A*(?:N|U)?U)"
MANY = "(?:(?:m|s)?k?A*(?:N|U)?L)"
OBJECT = f"(?:(?:{ONE}|{MANY})(?:C(?:{ONE}|{MANY}))?)"
PERSON = "(?:P|M|(?:a|s)A*(?:N|U)?N)"
SUBJECT = "(?:P|M|I|(?:a|s)R?k?A*(?:N|U)?(?:N|h)|s?A*(?:N|U)?U)"
SUBJECTS = f"(?:p|{MANY}|{PERSON}C{PERSON})"
WHERE = f"(?:B{OBJECT}|BsA)"
BESIDE = f"(?:{WHERE}|R|(?:a|m)h|aAh)"
TO = f"tF{OBJECT}?{BESIDE}*"
BEING = f"(?:nAjr|R?n?(?:(?:k|R)?A|{OBJECT}(?:eM)?|{WHERE}|R|x|T(?:B{OBJECT}|A)))"
GIVING = f"G(?:{OBJECT}{OBJECT}|{OBJECT}t{OBJECT}|(?:m|s)?A*U)"
HAVING = f"(?:(?:H|Kn?)n?(?:F{OBJECT}?|T{OBJECT}|V{OBJECT}?)|H{OBJECT}(?:{TO})?)"
DOING = f"(?:T{OBJECT}|{GIVING}|V|w(?:{TO}|{OBJECT})|u{OBJECT}{WHERE}|{HAVING}){BESIDE}*"
WAS, WERE = f"(?:Z{BEING}{BESIDE}*|{DOING})", f"(?:W{BEING}{BESIDE}*|{DOING})"
THERE = f"x(?:Z{ONE}(?:eM)?|W{MANY}){BESIDE}*|x(?:I|{ONE})Z"
CLAUSE = f"(?:{SUBJECT}R?{WAS}(?:Y?CR?{WAS})*|{SUBJECTS}R?{WERE}(?:Y?CR?{WERE})*|{THERE})"
FIRST = f"C?(?:(?:S|BI|B{OBJECT}B?|Bsh?B?|aN?h|c{CLAUSE}Y|x(?!IZ))Y?)*"
SENTENCE = f"{FIRST}{CLAUSE}(?:Y?(?:C(?:C|S|c)?|c){CLAUSE})*E"
QUESTION = f"(?:Q{WAS}|q(?:D(?:{SUBJECT}|{SUBJECTS})F{OBJECT}?{BESIDE}*|Z{SUBJECT}A?|W{SUBJECTS}A?))J"
ANSWER = f"(?:c{CLAUSE}|{OBJECT}|{WHERE})E"
LETTERS = {word: chr(0xE000 + n) for n, word in enumerate(sorted({word.lower() for word in VOCABULARY}))}
"""A character for each word, so that the forms above are patterns of words"""
OF_TAGS = {
    tag: f"[{''.join(LETTERS[word] for word in words.lower().split() if word in LETTERS)}]"
    for tag, words in TAGS.items()
}


@cache  # and not at import: that of a sentence takes seconds, in each process that collects the tests
def of_words(form: str) -> re.Pattern[str]:
    return re.compile(re.sub("[A-Za-z]", lambda tag: OF_TAGS[tag[0]], form))


def is_sentence(words: list[str], before: str = ".") -> bool:
    """Whether some choice of what each word can be is a sentence, after one that ends with `before`."""
    articles = [(word.lower(), after[0] in "aeiou") for word, after in pairwise(words) if word.lower() in ("a", "an")]
    letters = "".join(LETTERS[word.lower()] for word in words)
    is_one = any(of_words(form).fullmatch(letters) for form in (SENTENCE, ANSWER if before == "?" else QUESTION))
    return words[0][0].isupper() and all((word == "an") is of_vowel for word, of_vowel in articles) and is_one


def written(count: int) -> Iterator[tuple[list[str], str]]:
    """Yield the first sentences that the model writes whole, after its examples and after single words.

    With each comes the mark that ends the sentence before it.
    """
    model, seed = trained.load("stories"), 0
    starts = [
        *(model.read(text)[0].pieces for text in examples(model)),
        *[(word,) for word in ("There", "Once", "One")],
    ]
    while count > 0:
        start = starts[seed % len(starts)]
        ids = [model.labels.index(word) for word in start]
        new = (model.labels[draw.id] for draw in generate(model.module, ids, 80 - len(ids), Sampling(seed=seed)))
        words = [*start, *takewhile(lambda word: word != END, new)]
        before = "."
        for sentence in re.findall(r"[^.?]+ [.?]", " ".join(words))[:count]:
            yield sentence.split(), before
            before = sentence[-1]
            count -= 1
        seed += 1


def by_pairs(count: int) -> Iterator[tuple[list[str], str]]:
    """Yield sentences in which each word is drawn by the word before it alone, as stories have it."""
    drawn = TASKS["stories"].batch(2000, torch.Generator().manual_seed(0))
    counts, generator = drawn.targets != IGNORED, torch.Generator().manual_seed(1)
    before, after = drawn.ids[counts], drawn.targets[counts]
    for word in drawn.ids[:count, 0].tolist():
        words = [word]
        while TASKS["stories"].labels[words[-1]] not in ".?" and len(words) < 40:
            following = after[before == words[-1]]
            words.append(int(following[torch.randint(len(following), (), generator=generator)]))
        yield [TASKS["stories"].labels[word] for word in words], "."


def share(sentences: Iterator[tuple[list[str], str]]) -> float:
    are = [is_sentence(words, before) for words, before in sentences]
    return sum(are) / len(are)


def test_what_the_model_writes_are_sentences_and_what_a_table_of_pairs_writes_are_not() -> None:
    assert share(written(100)) >= 0.95
    assert share(by_pairs(200)) < 0.4


NO_SENTENCES = """
Had she a ball . | Ball Tom the . | Tom put ball box . | Sam . | Because he was tired . | Anna were friends .
Anna and Tom was happy . | Nora had a red . | Lily was a quiet . | Paul gave Adam . | Jack put it . | Tom wanted .
Kate looked under a green eyes . | Tom found an ball . | She had a old clock . | There they the hat saw .
The dog . | Ben the ball found . | He not found it . | Tom was bored any more . | tom had a ball . | Who the dog ?
"""


@pytest.mark.parametrize("text", re.split("[|\n]", NO_SENTENCES.strip()))
def test_the_parser_refuses_what_is_no_sentence(text: str) -> None:
    assert not is_sentence(text.split())


SENTENCES = """
Tom put the ball in the box . | Who had the doll ? | Paul gave Adam his old kite . | There was a boy named Tom .
One summer day she and Tom ran to the lake , but it was cold . | Now Anna was not sick any more .
"""
ANSWERS = "Sam .", "Because he was tired .", "In the box ."


@pytest.mark.parametrize(
    ("text", "before"),
    [*((text, ".") for text in re.split("[|\n]", SENTENCES.strip())), *((text, "?") for text in ANSWERS)],
)
def test_the_parser_takes_sentences(text: str, before: str) -> None:
    assert is_sentence(text.split(), before)


def test_a_story_is_written_to_its_end_and_no_longer_than_the_model_reads() -> None:
    model = trained.load("stories")
    for text in examples(model):
        tokens, _ = model.read(text)
        new = write_on(model, tokens).tokens
        assert room(model, tokens) == 80 - len(tokens) > len(new)
        assert new[-1].label == "."
        assert new == write_on(model, tokens).tokens
    full, _ = model.read("Tom had a ball. " * 16)
    assert (len(full), room(model, full), write_on(model, full).tokens) == (80, 0, [])

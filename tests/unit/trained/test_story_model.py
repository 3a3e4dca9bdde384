"""What the shipped model of stories writes, read by a small parser of English that knows no rule of the stories."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    "P": "he she it they him everything nothing",
    "D": "a an the his its some many two six every all any",
    "H": "her",
    "A": (
        "afraid big black blue bored bright brown clear clever cold curly dark deep early fast faster friendly "
        "full funny glad golden good green grey happy high hot hungry large late lazy little long loud many new "
        "old orange pretty proud quiet red round sad shy sick silver sleepy small soft sorry strange strong tall "
        "thick thirsty tiny tired warm white wooden yellow"
    ),
    "N": (
        "advice apple arm bag baker bakery ball barn basket beach bear bed bell berries bird birthday blanket boat "
        "bone book box boy bread breakfast bush cake cakes carpenter carrot cart cat chair chairs cheese children "
        "clock cloth coat coffee coin cook corn cottage cows crack cream cup cupboard day doctor dog doll dolls "
        "door drawer drum duck ears eggs evening eyes farmer feather feathers feet fence field fire fish flowers "
        "flute fly forest friend friends frog fur game garden gardener girl goat gold grass hair harbour hat hay "
        "hill hole holes home honey horns horse hospital house hut iron island joke jokes juice kitchen kite lake "
        "lamp leaf leather leaves legs letter lettuce library light map market meat medicine milk morning mountain "
        "mouse music nest night noise nut oil pages paint painter paper park pear people picture pill pillow "
        "pirates pond pots puzzle rabbit rain ring river road rock roof roses sailor sails sandwich scarf school "
        "sea seeds shelf ship shirt shirts shoe shop sick singer sled snow sofa song songs sound soup station "
        "stick stone stories stripes studio summer sun table tail tailor tea teacher test theatre time tower tree "
        "trees tunnel village water way wind window winter wood wool workshop worm zoo two"
    ),
    "V": (
        "ate baked barked bleated blew bought broke brought built called came caught chased cleaned climbed cooked "
        "could croaked cut danced did dived drank drew dug failed fed fell flew found gave growled had heard "
        "helped hid hit hopped jumped kept laughed liked lit lived looked lost loved made missed mixed named "
        "needed neighed painted planted played practised pulled purred put quacked ran rang read rode rolled "
        "sailed sang sat saw sewed shone showed slept sniffed squeaked stayed stopped swam taught thanked ticked "
        "told took waited walked wanted was washed watered went were woke won wore worked"
    ),
    "F": "bounce bring carry do drunk eat eaten find float give go jump like play read run see sleep swim travel want",
    "R": "again always away down home much more not often out over there too up very then so late early any fast high",
    "I": "across after at behind beside for from in into near of on over to under with by down up out",
    "C": "and but so because until when",
    "T": "to",
    "S": "now then later soon so but there once",
    "Q": "who what where why when",
    "O": "one that",
    ",": ",", ".": ".", "?": "?",
}  # fmt: skip
"""The words by what they can be: M name, P pronoun, D determiner, H either of these, A adjective, N noun,
V verb in the past, F other forms of verbs, R adverb, I preposition, C conjunction, S what a sentence begins with,
Q question word"""
LETTERS = {
    word: "".join(tag for tag, words in TAGS.items() if word in {*words.split(), *words.lower().split()})
    for word in {word.lower() for word in VOCABULARY}
}
NOUNS = r"(?:D?R?A*N+|H A*N+|DA|M|P|H)".replace(" ", "")
AFTER = rf"(?:I?{NOUNS}|R*A|R|I|T?F)"
"""What can follow a verb"""
CLAUSE = rf"{NOUNS}(?:C{NOUNS})?R?V+{AFTER}*(?:,?CR?V+{AFTER}*)*"
OPENS = rf"(?:(?:S|I?[DO]A?N*|I{NOUNS}R?|[ID]O|IONIR?|OA?N|C{CLAUSE}),?)*"
SENTENCE = rf"{OPENS}(?:{CLAUSE}|SVDN(?:V{NOUNS})?|OVDAN)(?:,?(?:C|C?S|CS)(?:{CLAUSE}|SPV|S{NOUNS}V))*\."
QUESTION = rf"Q(?:V{AFTER}*|V{NOUNS}(?:{AFTER})*)\?"
ANSWER = rf"(?:C{CLAUSE}|{NOUNS})\."
FORMS = re.compile("|".join((SENTENCE, QUESTION, ANSWER)))


def is_sentence(words: list[str]) -> bool:
    """Whether some choice of what each word can be is a sentence."""
    readings = {""}
    for word in words:
        readings = {before + tag for before in readings for tag in LETTERS[word.lower()]}
    return words[0][0].isupper() and any(FORMS.fullmatch(reading) for reading in readings)


def written(count: int) -> Iterator[list[str]]:
    """Yield the first sentences that the model writes whole, after its examples and after single words."""
    model, seed = trained.load("stories"), 0
    starts = [
        *(model.read(text)[0].pieces for text in examples(model)),
        *[(word,) for word in ("There", "Once", "One")],
    ]
    while count > 0:
        start = starts[seed % len(starts)]
        ids = [model.labels.index(word) for word in start]
        new = [model.labels[draw.id] for draw in generate(model.module, ids, 80 - len(ids), Sampling(seed=seed))]
        words = [*start, *(new[: new.index(END)] if END in new else new)]
        for sentence in re.findall(r"[^.?]+ [.?]", " ".join(words))[:count]:
            yield sentence.split()
            count -= 1
        seed += 1


def by_pairs(count: int) -> Iterator[list[str]]:
    """Yield sentences in which each word is drawn by the word before it alone, as stories have it."""
    drawn = TASKS["stories"].batch(2000, torch.Generator().manual_seed(0))
    counts, generator = drawn.targets != IGNORED, torch.Generator().manual_seed(1)
    before, after = drawn.ids[counts], drawn.targets[counts]
    for word in drawn.ids[:count, 0].tolist():
        words = [word]
        while TASKS["stories"].labels[words[-1]] not in ".?" and len(words) < 40:
            following = after[before == words[-1]]
            words.append(int(following[torch.randint(len(following), (), generator=generator)]))
        yield [TASKS["stories"].labels[word] for word in words]


def share(sentences: Iterator[list[str]]) -> float:
    are = [is_sentence(words) for words in sentences]
    return sum(are) / len(are)


def test_what_the_model_writes_are_sentences_and_what_a_table_of_pairs_writes_are_not() -> None:
    assert share(written(200)) >= 0.95
    assert share(by_pairs(200)) < 0.5
    assert not is_sentence(["Had", "she", "a", "ball", "."])
    assert not is_sentence(["Ball", "Tom", "the", "."])


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

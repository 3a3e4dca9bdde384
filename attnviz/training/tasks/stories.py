"""Stories: the next word of short stories from a grammar, in which names, things and places come up again."""

from __future__ import annotations

import random
from dataclasses import replace

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.stories.plots import LONGEST, story
from attnviz.training.stories.words import ANIMALS, BOYS, GIRLS, JOBS, PRONOUNS, PUT, THINGS, VOCABULARY
from attnviz.training.tasks.task import (
    IGNORED,
    Batch,
    Pattern,
    Task,
    mean_weight,
    parts_of,
    tokens_of,
)

END = "<end>"
"""The token after the last word of a story"""


def _stands_for(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of He, She and It on the noun that says what they stand for, (H,)."""
    return mean_weight(weights, nouns_meant(batch.ids))


def _comes_next(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on earlier places of the next word, (H,), where it is a noun that comes up again."""
    same = batch.targets[:, :, None] == batch.ids[:, None, :]  # [b, i, j]: word j is the one that follows word i
    return mean_weight(weights, same.tril() & torch.isin(batch.targets, _NOUNS)[:, :, None])


def referents(ids: Tensor) -> Tensor:
    """Return where the nouns are that pronouns stand for, (B, T, T) bool, from ids (B, T).

    A pronoun stands for the last person or thing of its kind that was named; all earlier places of this noun count.
    """
    length = ids.shape[1]
    cells = torch.zeros(len(ids), length, length, dtype=torch.bool)
    for forms, nouns in _KINDS:
        places = torch.arange(length).expand_as(ids).masked_fill(~torch.isin(ids, nouns), -1)
        last = places.cummax(1).values  # (B, T): where the last noun of this kind is, or -1
        noun = ids.gather(1, last.clamp(min=0))
        stands = torch.isin(ids, forms) & (last >= 0)
        cells |= stands[:, :, None] & (ids[:, None, :] == noun[:, :, None])
    return cells.tril()


def nouns_meant(ids: Tensor) -> Tensor:
    """Return where the nouns are that say what He, She and It stand for, (B, T, T) bool, from ids (B, T).

    For It, the animal or thing. For He and She, the job, boy or girl of the first person, of whom alone it is said.
    """
    cells = referents(ids)
    first = ids.gather(1, torch.isin(ids, _NAMES).int().argmax(1, keepdim=True))  # (B, 1): the first name
    is_first = (cells & (ids == first)[:, None, :]).any(-1)
    people = (is_first[:, :, None] & torch.isin(ids, _PEOPLE)[:, None, :]).tril()
    begins = [(ids == _IDS[word])[:, :, None] for word in ("It", "He", "She")]
    return (cells & begins[0]) | (people & (begins[1] | begins[2]))


class Stories(Task):
    """Short stories from a grammar; the answer at each word is the next one."""

    name, title = "stories", "Stories: which word comes next?"
    explanation = (
        "The model reads short stories from a grammar of this project and predicts each next word. Names, things and "
        "places come up again, and he, she and it stand for them."
    )
    expected = (
        "A head looks back for the noun that comes next: who has the ball, where it was put. At the beginning of a "
        "sentence, another looks from She at baker, and from It at rabbit: what follows depends on which it is."
    )
    labels = (END, *VOCABULARY)
    patterns = (
        Pattern("next", "looks at the noun that comes next", _comes_next),
        Pattern("refers", "He, She and It look at the noun that says what they stand for", _stands_for),
    )
    control = (
        "Without a layer it sees one word and its place alone: it can't know who is spoken of, or what was put where."
    )
    examples = (
        "There was a girl named Anna. She had a white rabbit. It",
        "Leo had a golden ring, and Mia had an old map. Leo wanted",
        "Lily had a silver flute. One day she put it under the bed and went to the park. When",
        "Tom was a sailor. One morning Kate came to the harbour because",
    )
    end = END
    held_out_count = 128
    """Fewer than of other tasks: their logits are large"""
    model = TokenConfig(len(labels), LONGEST, layers=2, heads=4, width=64)
    control_model = replace(model, layers=0)
    training = TrainingSettings(steps=400, batch=32, learning_rate=5e-3, optimiser="muon")
    """With AdamW, the heads form some three times later"""

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw stories."""
        drawn = random.Random(int(torch.randint(2**62, (), generator=generator)))  # noqa: S311 - not for secrets
        rows = torch.zeros(size, LONGEST + 1, dtype=torch.long)
        counts = torch.zeros(size, 1, dtype=torch.long)
        for row in range(size):
            words = story(
                lambda some: some[int(drawn.random() * len(some))], lambda share: drawn.random() < share
            ).words
            rows[row, : len(words)] = torch.tensor([_IDS[word] for word in words])
            counts[row] = len(words)
        beyond = torch.arange(1, LONGEST + 1) > counts
        return Batch(rows[:, :-1], rows[:, 1:].masked_fill(beyond, IGNORED))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the words of a text; a word that is known only with another first letter is read as that."""
        parts = [(_as_known(word), start, end) for word, start, end in parts_of(text, r"\w+|[^\w\s]")]
        return tokens_of(text, parts, self.labels, most=LONGEST), None


def _as_known(word: str) -> str:
    written = (word, word.lower(), word.capitalize())
    return next((form for form in written if form in _IDS), word)


_IDS = {label: id_ for id_, label in enumerate(Stories.labels)}
_KINDS = tuple(
    (
        torch.tensor(
            [id_ for form in {*PRONOUNS[pronoun].values()} for id_ in (_IDS.get(form), _IDS.get(form.title())) if id_]
        ),
        torch.tensor([_IDS[noun] for noun in nouns]),
    )
    for pronoun, nouns in (("he", BOYS), ("she", GIRLS), ("it", (*ANIMALS, *THINGS)))
)
"""For each pronoun, the ids of its forms, and of the nouns that it can stand for"""
_NAMES, _PEOPLE = (torch.tensor([_IDS[word] for word in words]) for words in ((*BOYS, *GIRLS), (*JOBS, "boy", "girl")))
_NOUNS = torch.tensor(
    [_IDS[noun] for noun in (*BOYS, *GIRLS, *ANIMALS, *THINGS, *(place.split()[-1] for place in PUT))]
)

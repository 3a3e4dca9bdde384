"""What the shipped lessons and example sentences say is true: every figure in them is worked out here anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import log2
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.attention import causal_mask
from attnviz.compare.matrices import what_if
from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.lessons import gallery, shipped, text_examples
from attnviz.links.link import DEFAULT_TEXT, read_link
from attnviz.links.pages import PAGES
from attnviz.measures.mistakes.computed import Case, find
from attnviz.measures.summary import choose_measures, entropy, label_heads, measure_head, uniform_measures
from attnviz.measures.survey import transformed_norms
from attnviz.pretrained import Trace
from attnviz.sources.models import DirectResources
from attnviz.tokens import CharVocab, WordPiece, WordTokenizer
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.layer import LayerTrace
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.lessons.bert import bert
from tests.unit.lessons.claims import claims
from tests.unit.lessons.explanation import explanation
from tests.unit.lessons.today import today
from tests.unit.lessons.trainings import forming, ladder, written

TIRED, WIDE = MINIMAL_PAIRS[0].a, MINIMAL_PAIRS[0].b
CAT = "the cat saw the dog run"
TO_BE = "To be, or not to be, that is the question."
CATS = "The cat sat on the mat and the cat slept on the mat."
BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."
DOOR = "She opened the door, walked in, and sat down."
MARY = "Mary lost her keys, so she called her brother."
TROPHY = "The trophy doesn't fit into the suitcase because it is too large."
BOAT = "The old man the boat."
SENTENCES = (
    TIRED, WIDE, TO_BE, CATS, BICYCLE, DOOR, MARY, TROPHY, BOAT,
    "They sat down by the bank of the river.", "The key to the cabinets is on the table.",
    "The nurse told the patient that she was ready.", "John went home early because he was ill.",
    "The cat chased the mouse, and the dog chased the cat.", "The quick brown fox jumps over the lazy dog.",
    "Paris is the capital of France. Berlin is the capital of Germany.",
    "Time flies like an arrow; fruit flies like a banana.", "She likes apples, pears, plums, and cherries.",
    "He said that the film was not good at all.", "We bought bread, milk, eggs, and cheese.",
    "unbelievable photosynthesis tokenization", "The teacher gave the student a book.", "A rose is a rose is a rose.",
    "One two three four five six seven eight nine ten", "Stop! Who goes there? Nobody, sir.",
    "New York is larger than New Jersey.", "The doctor who treated the children was tired.", "I can can a can.",
    "Alice met Bob. He was late.", "When the queen arrived, she smiled.",
    "The boy and the girl ate the cake that their mother had baked.", "The ball hit the window and it broke.",
)  # fmt: skip
"""Where the lesson on heads has looked for the clearest"""


@cache
def trace(text: str) -> Trace:
    return built_in_model().trace(text)


@cache
def measured(text: str) -> tuple[tuple[str, ...], Tensor]:
    """Return the measures' names and the values of all heads, (6, 12, M)."""
    tokens = trace(text).query_tokens("encoder")
    measures = choose_measures(len(tokens), tokens, same_text=True, causal=False)
    values = torch.stack([measure_head(trace(text).attentions(layer), measures) for layer in range(6)])
    return tuple(measure.name for measure in measures), values


def measure(text: str, name: str) -> Tensor:
    names, values = measured(text)
    return values[..., names.index(name)] if name in names else torch.zeros(6, 12)


def cell(text: str, layer: int, head: int, q: int, k: int) -> float:
    return float(trace(text).attentions(layer)[head, q, k])


def toy(text: str = DEFAULT_TEXT, **config: object) -> LayerTrace:
    return run_block(WordTokenizer().tokenize(text).ids, ToyConfig(**config)).layer(0)  # type: ignore[arg-type]


def attention() -> dict[int, Sequence[str]]:
    walk = walk_to_attention(WordTokenizer().tokenize(CAT), ToyConfig(seed=1))
    triangle, data = walk.averages["triangle"], walk.steps
    head, other = (toy(CAT, seed=1, head_size=4).head(h) for h in (0, 1))
    assert torch.equal(head.scaled[1].argmax(), head.scores[1].argmax())
    assert float(other.weights[1, 4] / head.weights[1, 4]) == pytest.approx(0.5, abs=0.05)
    return {
        2: [written(triangle[0, 0]), written(triangle[1, 0]), written(triangle[1, 1])],
        4: [written(data.weights[2, 2]), written(data.weights[2, 1])],
        6: [written(head.scores[1, 4])],
        7: [written(head.scale), written(head.scores[1, 4]), written(head.scaled[1, 4])],
        8: [written(head.weights[1, at]) for at in (4, 5, 1)] + [written(head.weights[1].sum())],
        9: [written(head.weights[1, 4]), written(head.weights[1, 5])],
        10: [written(other.weights[1, 4])],
    }


def heads() -> dict[int, Sequence[str]]:
    names, values = measured(TIRED)
    tokens = trace(TIRED).query_tokens("encoder")
    measures = choose_measures(len(tokens), tokens, same_text=True, causal=False)
    nothing_hidden = uniform_measures(torch.zeros(len(tokens), len(tokens), dtype=torch.bool), measures).numpy()
    labels = [one for layer in label_heads(values.numpy(), nothing_hidden, measures) for one in layer]
    assert sum("attends to [CLS]" in one for one in labels) == 32
    assert int((values[..., names.index("cls")] >= 0.5).sum()) == 32
    most = values[4, 5, names.index("cls")]
    assert most == values[..., names.index("cls")].max()
    boat = trace(BOAT).layer(4)
    norms = boat.attentions()[5] * transformed_norms(boat)[5]
    of_norms = (norms / norms.sum(-1, keepdim=True))[:, 0].mean()
    previous = measure(TO_BE, "previous").flatten().sort(descending=True).values
    assert previous[1] < 0.6  # none of the others comes near
    assert cell(WIDE, 3, 1, 10, 8) < cell(WIDE, 3, 1, 10, 2)  # “street” gets less than “animal”
    assert float(measure(BOAT, "sep").max()) < 0.31  # it is not [SEP] that these heads rest on
    cats = trace(CATS).attentions(2)[9]
    assert (int(cats[10].argmax()), int(cats[9].argmax())) == (0, 2)  # "slept" rests, "cat" finds the other
    assert measure(BOAT, "cls")[4, 5] > 0.9  # nearly all of the weights
    return {
        1: ["32", written(most)],
        2: [written(previous[0])],
        3: [written(measure(TO_BE, "next")[1, 8])],
        4: [written(cell(CATS, 2, 9, 9, 2))],
        5: [written(cell(BICYCLE, 3, 1, 11, 5)), written(cell(BICYCLE, 3, 1, 7, 2))],
        6: [written(cell(TIRED, 3, 1, 10, 2)), written(cell(WIDE, 3, 1, 10, 2))],
        7: [written(cell(DOOR, 0, 4, 2, 4))],
        8: [written(measure(MARY, "punctuation")[3, 11])],
        9: [written(measure(TROPHY, "entropy")[0, 0], 1), written(log2(len(trace(TROPHY).query_tokens("encoder"))), 1)],
        10: [written(measure(BOAT, "cls")[4, 5])],
        11: [written(of_norms)],
    }


def why() -> dict[int, Sequence[str]]:
    narrow, wide = (toy(CAT, seed=1, head_size=size).head(0).scores for size in (4, 64))
    assert max(float(scores.abs().max()) for scores in (narrow, wide)) <= 30  # where the colours of both end
    scaled, bare = toy(head_size=64).attentions()[0], what_if(toy(head_size=64), 1.0, False).attentions()[0]
    assert int((bare.amax(-1) > 0.9).sum()) > len(bare) / 2  # most rows become one dark cell
    real, stare = trace(BICYCLE).layer(0), what_if(trace(BICYCLE).layer(0), 1.0, False)
    assert real.scale == pytest.approx(32**-0.5)
    assert float(entropy(real.attentions()[0]).mean()) > 3.6  # bits, of 4
    assert float(entropy(stare.attentions()[0]).mean()) < 1
    seen, masked = toy().attentions()[0], toy(causal=True).attentions()[0]
    assert torch.equal(seen[-1], masked[-1])  # the last row does not change
    ahead = what_if(trace(TO_BE).layer(1), None, True).attentions()[8]
    assert 0.5 < float(ahead[5, 0]) < 1  # to [CLS] goes most of what the mask has hidden
    everyone = trace(DOOR).attentions(0)[:, 2, 4]
    assert cell(DOOR, 0, 2, 2, 1) > 0.99
    return {
        1: [written(-narrow.min()), written(narrow.max())],
        2: [written(-wide.min()), written(wide.max())],
        3: [written(scaled.max()), written(bare.max())],
        4: [written(real.attentions()[0].max()), written(stare.attentions()[0].max())],
        5: [written(seen[0, 0]), written(masked[0, 0])],
        6: [str(int((~causal_mask(11)).sum())), str(11 * 11)],
        7: [written(masked[1, 0]), written(masked[1, 1]), str(int((masked[1] == 0).sum()))],
        8: [written(cell(TO_BE, 1, 8, 5, 6))],
        9: [written(everyone[2]), written(everyone[4])],
        10: [written(everyone.mean())],
    }


def transformer() -> dict[int, Sequence[str]]:
    encoder, decoder, both = (whole(name) for name in ("encoder", "decoder", "both"))
    token, x, steps = encoder.embedding_parts["token"], encoder.block(0).input, encoder.block(0).steps()
    assert x is not None
    assert steps is not None
    assert torch.equal(token[0], token[3])  # "the" stands twice
    output = encoder.layer(0).output()
    assert output is not None
    assert encoder.layer(0).concat().shape == (6, 32)
    np.testing.assert_allclose(steps.attention_norm.mean(-1), 0, atol=1e-6)
    np.testing.assert_allclose(steps.attention_norm.var(-1, correction=0), 1, atol=1e-4)
    first, second, written_ = encoder.attentions(0)[0], encoder.attentions(1)[0], decoder.attentions(0)[0]
    assert (int(first[1].argmax()), int(second[1].argmax())) == (5, 4)  # "run", then "dog"
    assert float(first[2, 3:].sum()) == pytest.approx(1 / 3, abs=0.02)
    assert not torch.equal(x[0], x[3])
    assert torch.equal(steps.attention_residual[1], x[1] + output[1])
    assert int(steps.attention_residual.var(-1, correction=0).argmax()) == 4  # "dog"
    assert both.walk_at(3, 0).kind == "cross"
    assert both.attentions(0, "cross").shape[1:] == (4, 6)
    logits = decoder.logits
    assert logits is not None
    assert decoder.vocabulary is not None
    assert decoder.vocabulary.size == 5
    last = torch.softmax(logits[-1], -1)
    assert decoder.vocabulary.label(int(last.argmax())) == "run"
    return {
        1: [written(first[1].max())],
        6: [str(steps.feed_forward_hidden.shape[1]), str(int((steps.feed_forward_hidden[1] == 0).sum()))],
        7: [written(second[1, 4])],
        8: [written(written_[2, 1]), written(written_[2, 2])],
    }


def mistakes() -> dict[int, Sequence[str]]:
    found = []
    for scene in shipped()["mistakes"].scenes:
        view, _ = read_link(scene.values())
        shown = PAGES["transformer"].shows(view.__getitem__, DirectResources())
        found.append(find(view["mistake"], Case(shown.trace(DirectResources()))))
    written_ = [{one.what: (one.wrong, one.right) for one in each.effects} for each in found]

    def value(number: int, part: str, side: int = 0) -> Any:
        (both_,) = [values for what, values in written_[number - 1].items() if part in what]
        return both_[side]

    assert value(2, "other rows") == 0
    assert [value(3, "that change"), value(3, "can be added")] == ["6 of 6", "no: an error"]
    assert value(4, "below 0") == "0.0 %"
    assert value(4, "one linear map") < 1e-5
    assert value(6, "C = 32").startswith("3 · 10 = 30, 2 left")
    assert value(6, "C = 512").startswith("6 · 85 = 510, 2 left")
    assert value(8, "change places") == pytest.approx(0, abs=1e-6)
    return {
        1: [written(value(1, "last token"), 3)],
        2: [written(value(2, "after it"), 3)],
        4: [value(4, "below 0", 1).removesuffix(" %")],
        5: [written(value(5, "last token"), 3), *value(5, "variance").split(" to ")],
        7: [str(value(7, "look ahead")), written(value(7, "later tokens"), 3)],
        8: [written(value(8, "change places", 1), 3)],
        9: [written(value(9, "C = 768"), 3), written(value(9, "C = 32"), 3)],
    }


def whole(architecture: Any) -> Trace:
    read = WordTokenizer().tokenize
    target = read("the dog was seen") if architecture == "both" else None
    return trace_transformer(read(CAT), target, TransformerConfig(architecture))


FACTS = {
    "attention": attention, "heads": heads, "why": why, "transformer": transformer, "mistakes": mistakes,
    "forming": forming, "ladder": ladder, "explanation": explanation, "bert": bert,
    "today": today, "claims": claims,
}  # fmt: skip


def test_the_figures_of_every_lesson_are_worked_out() -> None:
    assert list(FACTS) == list(shipped())


@pytest.mark.parametrize(("name", "facts"), FACTS.items())
def test_every_figure_that_a_scene_says_is_worked_out_anew(name: str, facts: object) -> None:
    expected = facts()  # type: ignore[operator]
    for number, scene in enumerate(shipped()[name].scenes, 1):
        decimals = re.findall(r"(?<![\w.])\d+\.\d+(?!\w)", scene.said)
        assert decimals == [one for one in expected.get(number, []) if "." in one], f"scene {number}: {scene.said}"
        for one in expected.get(number, []):
            assert re.search(rf"(?<![\d.]){re.escape(one)}(?!\d)", scene.said), f"{one} in scene {number}"


@pytest.mark.parametrize(
    ("name", "text", "head"),
    [
        ("previous", TO_BE, (0, 2)),
        ("next", TO_BE, (1, 8)),
        ("punctuation", MARY, (3, 11)),
        ("entropy", TROPHY, (0, 0)),
        ("cls", BOAT, (4, 5)),
    ],
)
def test_the_heads_of_the_lesson_are_the_clearest_of_all(name: str, text: str, head: tuple[int, int]) -> None:
    best = max(float(measure(one, name).max()) for one in SENTENCES)
    assert float(measure(text, name)[head]) >= best - 5e-3
    assert divmod(int(measure(text, name).argmax()), 12) == head


def test_the_head_for_pronouns_is_the_clearest_of_all() -> None:
    pairs = [(BICYCLE, 11, 5), (BICYCLE, 7, 2), (TIRED, 10, 2), (TROPHY, 11, 2), (MARY, 7, 1)]
    every = torch.stack([torch.stack([trace(t).attentions(n)[:, q, k] for n in range(6)]) for t, q, k in pairs])
    assert divmod(int(every.mean(0).argmax()), 12) == (3, 1)
    assert every[0].max() == every[0, 3, 1]


def test_the_figure_of_every_example_sentence_is_worked_out_anew() -> None:
    for example in gallery():
        if example.measure == "weight":
            assert example.q is not None
            assert example.k is not None
            found = cell(example.text, example.layer, example.head, example.q, example.k)
            labels = trace(example.text).query_tokens("encoder").labels
            assert f"“{labels[example.q]}”" in example.said or labels[example.q] == labels[example.k]
            places = {(mark.target.row, mark.target.column) for mark in example.said.marks}
            assert places >= {(example.q, None), (None, example.k), (example.q, example.k)}
            assert int(trace(example.text).attentions(example.layer)[example.head, example.q].argmax()) == example.k
        else:
            found = float(measure(example.text, example.measure)[example.layer, example.head])
        assert example.figure == written(found, len(example.figure.partition(".")[2])), example.title
        assert re.findall(r"\d+\.\d+", example.said) == [example.figure]
        assert (example.explained.marks[0].target.layer, example.explained.marks[0].target.head) == (
            example.layer,
            example.head,
        )


def test_what_the_examples_of_pages_without_heads_say_is_so() -> None:
    of = {one.title: one for one in text_examples()}
    assert {one.page for one in of.values()} == {"averages", "tokens"}

    def averaged(title: str) -> tuple[int, Tensor]:
        walk = walk_to_attention(WordTokenizer().tokenize(of[title].text), ToyConfig(positions="none"))
        return len(walk.query_tokens), walk.steps.weights

    length, _ = averaged("A longer past")
    assert f"all {length}, with weights of 1/{length}" in of["A longer past"].says
    assert averaged("Two tokens")[0] == 2
    _, weights = averaged("The same word again")
    roses = [at for at, word in enumerate(of["The same word again"].text.split()) if word == "rose"]
    assert len(roses) == 3
    assert weights[-1, roses].tolist() == pytest.approx([float(weights[-1, roses[0]])] * 3)

    def pieces(title: str, word: str) -> list[str]:
        tokens = WordPiece().tokenize(of[title].text)
        first = of[title].text.index(word)
        inside = range(first, first + len(word))
        return [piece for piece, (start, end) in zip(tokens.pieces, tokens.offsets, strict=True)
                if end > start and start in inside]  # fmt: skip

    assert (len(pieces("Words in pieces", "Tokenization")), len(pieces("Words in pieces", "unbelievably"))) == (2, 5)
    assert pieces("Accents and capitals", "Café") == ["cafe"]
    assert pieces("No id for it", "👋") == ["[UNK]"]
    assert len(pieces("Numbers", "3.14159265")) == 6
    letters = CharVocab.shakespeare()
    assert sum(letters.tokenize(of["No id for it"].text).unknown) == 4
    assert [digit for digit in "0123456789" if not letters.tokenize(digit).unknown[0]] == ["3"]
    assert {WordTokenizer().id(word) for word in ("came", "bought")} == {17949}
    assert {"came", "bought"} <= set(of["Two words, one id"].text.split())

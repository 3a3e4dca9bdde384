"""The figures of the lesson "BERT at work", worked out from the models and classifiers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnviz.bert.ablation import hidden_without
from attnviz.bert.agent import ASK, decide, over_positions, selective
from attnviz.bert.classification.classifier import pool
from attnviz.bert.classification.examples import built_in
from attnviz.bert.classification.shipped import NAMES
from attnviz.bert.classification.shipped import load as classifier
from attnviz.bert.configuration import BERT_BASE, Configuration, configuration_of
from attnviz.bert.encoding import embed_sentences
from attnviz.bert.round_trip import there_and_back, tied
from attnviz.bert.search import Ranking, WordIndex
from attnviz.bert.search import built_in as sentences
from attnviz.bert.table import table_of
from attnviz.lessons import shipped
from attnviz.links.link import read_link
from tests.loaded import built_in_model
from tests.unit.lessons.trainings import written

IRONY = "Wonderful: two hours of my life that I will never get back."
NOT, BORING = 3, 5


def view(number: int) -> dict[str, Any]:
    """Return what the link of a scene shows."""
    return read_link(shipped()["bert"].scenes[number - 1].values())[0]


def shares(text: str, name: str = "classifier") -> Tensor:
    """Return the probability of each class, in per cent, (K,)."""
    return 100 * classifier(name).classifier.probabilities(pool(built_in_model(), [text]))[0]


def negative_without_each_head(text: str) -> Tensor:
    """Return the probability of "negative" without each head alone, in per cent, (L, H)."""
    layer, tokens = classifier("classifier").classifier, built_in_model().tokenize(text)
    assert (layer.how, layer.tanh, layer.labels) == ("mean", False, ("negative", "positive"))
    means = torch.stack([hidden_without(built_in_model(), tokens, [divmod(head, 12)]).mean(0) for head in range(72)])
    return 100 * (means @ layer.weight.T + layer.bias).softmax(-1)[:, 0].view(6, 12)


def bert() -> dict[int, Sequence[str]]:
    there_and_back_again()
    answers = reviews()
    return {1: sizes(), 4: [looks()], **answers, 7: [found()], 8: [agent()], 9: positions()}


def sizes() -> list[str]:
    own = configuration_of(built_in_model())
    assert (own.layers, own.heads, own.width, own.vocabulary) == (6, 12, 384, 30_522)

    def millions(of: Configuration) -> list[str]:
        return [written(of.parameters["token embeddings"] / 1e6, 1)]

    assert max(own.parameters, key=own.parameters.__getitem__) == "token embeddings"
    return [*millions(own), *millions(BERT_BASE)]


def there_and_back_again() -> None:
    table, ids = table_of(built_in_model()), built_in_model().tokenize(view(2)["text"]).ids
    back = there_and_back(ids, tied(table.weight), scale=float(view(2)["back_scale"]))
    assert back.returns.all()
    assert [table.labels[one] for one in back.tokens[2, :3].tolist()] == ["film", "films", "movie"]


def looks() -> str:
    trace, shown = built_in_model().trace(view(4)["text"]), view(4)
    assert [trace.tokens.labels[at] for at in (NOT, BORING)] == ["not", "boring"]
    assert shown["q"] == NOT
    row = trace.attentions(shown["layer"])[shown["head"], NOT]
    assert int(row.argmax()) == BORING
    return written(float(row[BORING]))


def reviews() -> dict[int, Sequence[str]]:
    """Return the figures of the scenes on the classifier."""
    of, card = classifier("classifier").classifier, classifier("classifier").card
    assert of.weight.shape == (2, 384)
    mixed, text = view(5)["sentence"], view(6)["sentence"]
    assert (view(4)["text"], view(10)["text"]) == (text, text)
    negative = float(shares(text)[0])
    words = text.split()
    each = [float(shares(" ".join(words[:at] + words[at + 1 :]))[0]) for at in range(len(words))]
    assert words[min(range(len(words)), key=each.__getitem__)] == "boring"
    without = negative_without_each_head(text)
    assert divmod(int((without - negative).abs().argmax()), 12) == (5, 9)
    assert view(10)["off"] == ((5, 9),)
    right = sum(one.classifier.right for one in card.seeds)
    of_words = sum(one.baselines.bag_of_words.right for one in card.seeds)
    assert right > of_words
    assert float(shares(mixed.removesuffix(" terrible."))[0]) < 5  # almost all of it comes from "terrible"
    assert float(shares(IRONY)[1]) > 90  # "positive"
    assert float(without[1, 7]) > negative  # it even rises
    return {
        5: [written(float(shares(mixed)[0]), 1)],
        6: [written(negative, 1)],
        10: [written(one, 1) for one in (negative, float(without[5, 9]))],
    }


def found() -> str:
    """Return the cosine of the best hit, which shares no word with the query."""
    query, text = view(7)["find"], sentences().sentences
    embeddings = embed_sentences([query, *text], model=built_in_model())
    ranking = Ranking.of(embeddings[1:] @ embeddings[0], WordIndex(text).scores(query))
    first, by_words = (int(order[0]) for order in (ranking.by_meaning, ranking.by_words))
    assert ranking.words_rank[first] == 0
    assert "suitcase" in text[first]
    assert text[by_words].startswith("We lost five to nil")
    return written(float(ranking.cosine[first]))


def agent() -> str:
    probabilities = shares(view(8)["report"], "agent") / 100
    decision = decide(probabilities.tolist(), view(8)["confidence"])
    assert (decision.likeliest, decision.action, view(8)["confidence"]) == (1, ASK, 0.6)
    outcome = classifier("agent").outcome(built_in(NAMES["agent"]))
    at = selective(outcome, (0.4, 0.6, 0.8))
    assert list(at.coverage) == sorted(at.coverage, reverse=True)
    assert list(at.error) == sorted(at.error, reverse=True)
    return written(100 * decision.confidence, 1)


def positions() -> list[str]:
    trace = built_in_model().trace(view(9)["report"])
    wrong = over_positions(classifier("agent").classifier, trace.last_hidden_state)
    assert trace.tokens.labels[wrong.positions[0]] == "hour"
    return [str(len(trace.tokens)), str(wrong.place)]

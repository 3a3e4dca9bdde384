"""Accuracy, intervals, confusion, baselines and selective prediction are those of scikit-learn, scipy and numpy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.pipeline import make_pipeline

from attnviz.bert.agent import ASK, CALLS, MOVES, TITLES, decide, message, over_positions, selective
from attnviz.bert.classification.classifier import Classifier, terms
from attnviz.bert.classification.examples import ACTIONS, built_in
from attnviz.bert.classification.outcome import (
    MOST,
    MOST_WORDS,
    Baselines,
    Outcome,
    SeedResult,
    Share,
    bag_of_words,
    baselines,
    beats,
    majority,
    most_passes,
    spreads,
    verdict,
    wilson,
    wins,
    without_words,
)
from attnviz.training.vectors import split

N, K, C = 60, 4, 10


@pytest.fixture
def outcome() -> Outcome:
    drawn = np.random.default_rng(0)
    probabilities = drawn.dirichlet(np.ones(K), N).astype(np.float32)
    return Outcome(tuple(range(100, 100 + N)), drawn.integers(K, size=N), probabilities)


@given(st.integers(1, 3000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_is_scipy_s_wilson_interval(counts: tuple[int, int]) -> None:
    right, total = counts
    expected = binomtest(right, total).proportion_ci(0.95, method="wilson")
    low, high = wilson(right, total)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert (low == 0, high == 1) == (right == 0, right == total)


def test_no_text_has_no_interval() -> None:
    for right, total in ((0, 0), (3, 2), (-1, 4)):
        with pytest.raises(ValueError, match="is not a share"):
            wilson(right, total)
    assert math.isnan(Share(0, 0).value)


def test_accuracy_and_confusion_are_scikit_learn_s(outcome: Outcome) -> None:
    predicted = outcome.probabilities.argmax(1)
    assert outcome.accuracy.value == pytest.approx(accuracy_score(outcome.classes, predicted))
    expected = confusion_matrix(outcome.classes, predicted, labels=range(K))
    np.testing.assert_array_equal(outcome.confusion(), expected)


def test_what_is_wrong_is_named_the_most_confident_first_and_by_kind(outcome: Outcome) -> None:
    wrong = outcome.wrong()
    predicted = outcome.probabilities.argmax(1)
    assert sorted(wrong) == np.flatnonzero(predicted != outcome.classes).tolist()
    confident = outcome.confidence[wrong]
    assert (np.diff(confident) <= 0).all()
    kinds = ["not held out", *("plain" if row % 7 else "rare" for row in range(1, 200))]
    found = outcome.by_kind(kinds)
    is_rare = np.array([kinds[row] == "rare" for row in outcome.rows])
    for name, own in (("rare", is_rare), ("plain", ~is_rare)):
        assert found[name] == Share(int((predicted == outcome.classes)[own].sum()), int(own.sum()))
    assert set(found) == {"rare", "plain"} and found["rare"].total < 10
    assert outcome.by_kind(()) == {}


@pytest.mark.parametrize("name", ["reviews", "reports"])
def test_baselines_are_scikit_learn_s(name: str) -> None:
    examples = built_in(name)
    train, held = (rows.tolist() for rows in split(torch.from_numpy(examples.classes.copy()), 3))
    texts, classes = np.array(examples.texts), examples.classes
    model = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000)).fit(texts[train], classes[train])
    expected = model.predict(texts[held])
    np.testing.assert_array_equal(bag_of_words(examples.texts, classes, train, held), expected)
    dummy = DummyClassifier(strategy="most_frequent").fit(texts[train], classes[train])
    np.testing.assert_array_equal(majority(classes[train], len(held)), dummy.predict(texts[held]))
    found = baselines(examples.texts, classes, train, held)
    assert found.bag_of_words.value == pytest.approx(accuracy_score(classes[held], expected))
    assert found.majority.value == pytest.approx(dummy.score(texts[held], classes[held]))


def test_baselines_learn_nothing_from_the_held_out_texts() -> None:
    """Among the training texts 1 is the most frequent class, among all texts and the held-out ones 0."""
    classes, train, held = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1]), [0, 1, 2, 3], [4, 5, 6, 7, 8]
    texts = ["good film", "good", "good", "bad", *["bad film"] * 5]
    found = baselines(texts, classes, train, held)
    dummy = DummyClassifier(strategy="most_frequent").fit(train, classes[train])
    assert found.majority == Share(int((dummy.predict(held) == classes[held]).sum()), 5) == Share(1, 5)
    changed = classes.copy()
    changed[held] = 1 - changed[held]
    said, again = (bag_of_words(texts, one, train, held) for one in (classes, changed))
    np.testing.assert_array_equal(said, again)


def test_the_bag_counts_the_most_frequent_words_only() -> None:
    usual = CountVectorizer()
    for name in ("reviews", "reports"):
        assert len(usual.fit(built_in(name).texts).vocabulary_) < MOST_WORDS  # so that no card of theirs changes
    drawn = np.random.default_rng(0)
    texts = [" ".join(f"w{number}" for number in drawn.integers(60_000, size=700)) for _ in range(60)]
    assert len(usual.fit(texts[:40]).vocabulary_) > MOST_WORDS
    classes = np.arange(60) % 3
    model = make_pipeline(CountVectorizer(max_features=20_000), LogisticRegression(max_iter=1000))
    expected = model.fit(texts[:40], classes[:40]).predict(texts[40:])
    np.testing.assert_array_equal(bag_of_words(texts, classes, range(40), range(40, 60)), expected)


def test_texts_without_a_word_have_the_most_frequent_class() -> None:
    classes = np.array([0, 1, 1, 0, 1])
    assert bag_of_words(["!", "?", "a", "…", "i"], classes, [0, 1, 2], [3, 4]).tolist() == [1, 1]


def result(seed: int, own: int, words: int) -> SeedResult:
    return SeedResult(seed, Share(own, 90), Baselines(Share(45, 90), Share(words, 90)))


def test_the_verdict_says_whether_both_baselines_are_beaten() -> None:
    good = [result(seed, 60 + seed, 50) for seed in range(5)]
    assert beats(good)
    assert spreads(good)["classifier"].mean == pytest.approx(np.mean([60, 61, 62, 63, 64]) / 90)
    assert (spreads(good)["classifier"].low, spreads(good)["classifier"].high) == (60 / 90, 64 / 90)
    assert verdict(good) == (
        "Over 5 seeds the classifier beats both baselines: 68.9 % on average, against 55.6 % of the bag of words and "
        "50.0 % of the most frequent class; in each of them it is the best of the three."
    )
    mixed = [*good[:4], result(4, 40, 50)]
    assert wins(mixed) == 4
    assert "in 4 of them it is the best" in verdict(mixed)
    assert wins([result(0, 50, 50), result(1, 51, 50), result(2, 45, 40), result(3, 46, 40)]) == 2, "a tie is no win"
    assert not beats([result(0, 50, 50), result(1, 45, 30)][:1])
    assert not beats([result(1, 45, 30)]), "as good as the most frequent class"
    assert beats([result(1, 46, 30)])
    assert "agent beats both" in verdict(good, "agent")
    bad = [result(seed, 40, 50) for seed in range(5)]
    assert not beats(bad)
    assert "does not beat both baselines: 44.4 %" in verdict(bad)


def linear(tanh: bool = False) -> Classifier:
    layer = torch.nn.Linear(C, K)
    return Classifier(layer.weight.detach(), layer.bias.detach(), ACTIONS, "mean", tanh)


def test_terms_add_up_to_torch_s_logit() -> None:
    classifier, x = linear(), torch.randn(C)
    expected = torch.nn.functional.linear(x, classifier.weight, classifier.bias)
    for label in range(K):
        found = terms(classifier, x, label)
        shown = sum(a * b for a, b in zip(found.features, found.weights, strict=True))
        assert found.logit == pytest.approx(expected[label].item(), abs=1e-5)
        assert shown + found.rest + found.bias == pytest.approx(found.logit, abs=1e-5)
        assert found.others == C - 4
        products = (x * classifier.weight[label]).abs()
        assert set(found.places) == set(products.topk(4).indices.tolist())


def test_each_word_is_left_out_once() -> None:
    found = without_words("not  a bad film")
    assert [(one.words, one.text) for one in found] == [
        ("not", "a bad film"), ("a", "not bad film"), ("bad", "not a film"), ("film", "not a bad"),
    ]  # fmt: skip
    assert without_words("word") == without_words("  ") == []
    assert len(without_words(" ".join("abcdef"), 6)) == 6
    assert [one.words for one in without_words("a b c d e f g", 6)] == ["a b", "c d", "e f", "g"]
    assert [(one.words, one.text) for one in without_words("one two")] == [("one", "two"), ("two", "one")]
    long = " ".join(f"w{number}" for number in range(400))
    parts = without_words(long)
    assert len(parts) <= MOST
    assert " ".join(one.words for one in parts) == long


def test_a_long_text_has_fewer_passes_and_no_text_fewer_than_eight() -> None:
    text = " ".join(f"w{number}" for number in range(400))
    for tokens, most in ((0, 48), (12, 48), (128, 48), (256, 24), (512, 12), (5000, 8)):
        assert most_passes(tokens) == most
        assert len(without_words(text, most_passes(tokens))) <= most


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_coverage_and_error_are_those_of_plain_numpy(outcome: Outcome, threshold: float) -> None:
    found = selective(outcome, [threshold])
    kept = [place for place in range(N) if float(outcome.probabilities[place].max()) >= threshold]
    assert found.coverage[0] == pytest.approx(len(kept) / N)
    predicted = outcome.probabilities.argmax(1)
    if kept:
        assert found.error[0] == pytest.approx(1 - accuracy_score(outcome.classes[kept], predicted[kept]))
    else:
        assert math.isnan(found.error[0])


def test_below_the_threshold_a_human_is_asked() -> None:
    probabilities = [0.1, 0.2, 0.65, 0.05]
    assert decide(probabilities, 0.6).action == 2
    unsure = decide(probabilities, 0.7)
    assert (unsure.action, unsure.likeliest, unsure.is_handed_over) == (ASK, 2, True)
    assert decide([0.1, 0.1, 0.1, 0.7], 0.5).is_handed_over is False
    assert decide([0.25, 0.5, 0.25, 0.0], 0.5).action == 1, "at the threshold it still acts"
    assert unsure.confidence == 0.65
    assert decide([0.1, 0.1, 0.1, 0.7], 0.9).is_handed_over is False, "asking is what it has chosen"


@pytest.mark.parametrize("report", ["I feel dizzy.", 'A "quoted"\nline', "<script>\u2028", "\\", "😀"])
def test_messages_are_json(report: str) -> None:
    for action in range(K):
        found = json.loads(message(action, report, decide([0.4, 0.3, 0.2, 0.1], 0.6)))
        assert (found["action"], found["call"]) == (action, CALLS[action][0])
        assert ("report" in found["arguments"]) == (action == ASK)
    asked = json.loads(message(ASK, report, decide([0.4, 0.3, 0.2, 0.1], 0.6)))["arguments"]
    assert asked == {"to": "https://clinic.example/review", "report": report, "likeliest": TITLES[0], "confidence": 0.4}
    assert len(TITLES) == len(MOVES) == len(CALLS) == len(ACTIONS) == K


@pytest.mark.parametrize("tanh", [False, True])
def test_a_maximum_over_positions_chooses_positions(tanh: bool) -> None:
    classifier, hidden = linear(tanh), torch.randn(7, C)
    found = over_positions(classifier, hidden)
    logits = torch.nn.functional.linear(hidden.tanh() if tanh else hidden, classifier.weight, classifier.bias)
    torch.testing.assert_close(found.logits, logits)
    assert found.positions == tuple(logits.max(0).indices.tolist())
    assert found.place == int(logits.flatten().argmax())

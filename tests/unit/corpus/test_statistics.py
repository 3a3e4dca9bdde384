"""Sums over sentences: they add up in any order, and give numpy's means, deviations and quantiles."""

from __future__ import annotations

import random
from copy import deepcopy
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.corpus import QUANTILES
from attnviz.corpus.observing import Marks, observe
from attnviz.corpus.sentences import CUT, EMPTY, Reader
from attnviz.corpus.statistics import (
    KEPT,
    NOTHING,
    SCALES,
    SHORTEST,
    CorpusStatistics,
    HeadStatistics,
    OtherHeadsError,
    Place,
    Strongest,
    _quantiles,
)
from attnviz.measures import NAMES
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.trained import shipped
from tests.unit.corpus.conftest import SENTENCES, same

ON_KEYS = ("first", "cls", "sep", "punctuation")


def places(count: int, first: int = 1) -> list[Place]:
    return [Place(0, first + number) for number in range(count)]


@pytest.fixture(scope="module")
def each(reader: Reader) -> list[HeadStatistics]:
    """Of each sentence alone."""
    return [reader.read([text], places(1, line)) for line, text in enumerate(SENTENCES, 1)]


def test_any_order_and_grouping_gives_the_same_bits(each: list[HeadStatistics]) -> None:
    expected = deepcopy(each[0])
    for one in each[1:]:
        expected.merge(one)
    for seed in range(5):
        parts = deepcopy(each)
        draw = random.Random(seed)
        while len(parts) > 1:  # merge any two, in any order
            one, other = (parts.pop(draw.randrange(len(parts))) for _ in range(2))
            one.merge(other)
            parts.append(one)
        assert same(parts[0], expected)


def test_a_batch_gives_what_each_sentence_alone_gives(minilm: BuiltInModel, reader: Reader) -> None:
    """Within the rounding of sums in another order; by `add`, from traces, which have no padding."""
    alone = reader.nothing()
    for line, text in enumerate(SENTENCES, 1):
        alone.add(minilm.trace(text), Place(0, line), pairs=(line - 1) % 2 == 0)
    found, expected = reader.read(SENTENCES, places(len(SENTENCES))).finish(), alone.finish()
    assert (found.count == expected.count).all() and found.tokens == expected.tokens
    for name in ("mean", "label_share", "offset_mean", "part_mean", "divergence", "limited"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=2e-6, err_msg=name)
    np.testing.assert_array_equal(found.strongest.places, expected.strongest.places)


def test_means_deviations_and_quantiles_are_numpy_s() -> None:
    """Of made-up weights of one head: what is summed are their measures, one text after another."""
    torch.manual_seed(0)
    found, values = HeadStatistics(1, 1), []
    for length in torch.randint(2, 20, (400,)).tolist():
        weights = torch.softmax(3 * torch.randn(1, 1, length, length), -1)
        nothing = torch.zeros(1, length, dtype=torch.bool)
        unmasked = torch.zeros(1, length, length, dtype=torch.bool)
        marks = Marks(torch.tensor([length]), torch.full((1, length), 3), dict.fromkeys(ON_KEYS, nothing))
        observed = observe([weights], [unmasked], marks)
        values.append(observed.values[0, 0, 0])
        found.add_observed(observed, [length])
    done, raw = found.finish(), np.array(values, np.float64)
    for number, name in enumerate(NAMES):
        own = raw[:, number]
        if np.isnan(own).all():
            assert done.count[0, 0, number] == 0 and np.isnan(done.mean[0, 0, number])
            continue
        assert done.mean[0, 0, number] == pytest.approx(own.mean(), abs=1e-6)
        assert done.std[0, 0, number] == pytest.approx(own.std(), rel=1e-6)
        # A quantile may be off by a bin, and by the gap between two of 400 values.
        bin_width = np.diff(done.edges(name)).max() / 8
        low, high = (np.quantile(own, np.clip(np.array(QUANTILES) + by, 0, 1)) for by in (-1 / 400, 1 / 400))
        assert (done.quantiles[0, 0, number] >= low - bin_width).all()
        assert (done.quantiles[0, 0, number] <= high + bin_width).all()
        middle = float(np.median(own))
        assert done.share_below(0, 0, name, middle) == pytest.approx(0.5, abs=0.06)
        assert done.histograms[0, 0, number].sum() == 400
        assert done.edges(name)[-1] == pytest.approx(SCALES[number])


def test_quantiles_are_those_of_values_that_lie_evenly_in_each_bin() -> None:
    counts, edges = np.array([[[0, 4, 0, 6], [1, 0, 0, 0], [0, 0, 0, 0]]]), np.array([0.0, 1, 3, 4, 8])
    found = _quantiles(counts, edges)
    for head, of in enumerate(counts[0, :2]):
        parts = [np.linspace(low, high, 1000 * count) for count, (low, high) in zip(of, pairwise(edges), strict=True)]
        np.testing.assert_allclose(found[0, head], np.quantile(np.concatenate(parts), QUANTILES), atol=2e-3)
    assert np.isnan(found[0, 2]).all()


def test_the_strongest_are_long_enough_sorted_and_bounded(minilm: BuiltInModel, reader: Reader) -> None:
    texts = [f"{text} {number}" for number in range(3) for text in SENTENCES[:6]]
    found = reader.read(texts, places(len(texts))).strongest
    at = 0, 2, NAMES.index("previous")
    values = found.values[at]
    assert (np.diff(values) <= 0).all() and np.isfinite(values).sum() == KEPT
    lines = [line for _, line in found.places[at].tolist()]
    assert len(set(lines)) == KEPT
    for value, line in zip(values.tolist(), lines, strict=True):
        text = found.texts[Place(0, line)]
        assert text == texts[line - 1] and len(minilm.tokenize(text)) >= SHORTEST
        weights = minilm.trace(text).attentions(0)[2]
        assert float(weights.diagonal(-1).mean()) == pytest.approx(value, abs=1e-5)
    kept = {Place(*one) for one in np.unique(found.places.reshape(-1, 2), axis=0).tolist()}
    assert set(found.texts) == kept - {(NOTHING, NOTHING)}


def test_without_places_no_text_is_kept(reader: Reader) -> None:
    assert not reader.read(SENTENCES).strongest.texts


def test_sentences_that_are_cut_or_empty_are_named(reader: Reader) -> None:
    notes: list[tuple[int, str]] = []
    texts = ["", "fine", "word " * 600, "\x00\u200b"]  # of every second one all heads are compared: not of the longest
    found = reader.read(texts, on_note=lambda *note: notes.append(note))
    assert notes == [(0, EMPTY), (2, CUT), (3, EMPTY)]
    assert found.sums["sentences"] == 2 and found.sums["tokens"] == 512 + 3


def test_a_trained_model_s_previous_token_head_has_its_label() -> None:
    """The model that learned to copy what followed a token before: its card names the head."""
    model = shipped.load("induction")
    found = HeadStatistics(*model.description.layers["decoder"], causal=True)
    for text in ("5 2 7 1 9 5", "3 8 1 1 4 6 3 8", "9 0 9 0 2 4 9"):
        found.add(model.trace(text))
    share = found.finish().label_share
    labels = found.finish().labels
    assert share[labels.index("previous")].max() == 1
    assert not share[labels.index("next")].any()  # no query sees the next token


def test_statistics_of_other_heads_can_t_be_added(minilm: BuiltInModel, reader: Reader) -> None:
    other = HeadStatistics(2, 3)
    with pytest.raises(OtherHeadsError, match=r"^statistics of 6 x 12 heads can't take 2 x 3$"):
        reader.nothing().merge(other)
    with pytest.raises(OtherHeadsError, match=r"^statistics of 2 x 3 heads can't take 6 x 12$"):
        other.add(minilm.trace("A dog."))
    with pytest.raises(OtherHeadsError, match=r"^statistics of 6 x 12 heads can't take 6 x 12, of another mask$"):
        reader.nothing().merge(HeadStatistics(6, 12, causal=True))
    with pytest.raises(ValueError, match=r"^2 layers can't have the numbers \(0, 1, 2\)$"):
        HeadStatistics(2, 12, numbers=(0, 1, 2))
    with pytest.raises(ValueError, match=r"^0 layers of 12 heads: there must be at least one of each$"):
        HeadStatistics(0, 12)
    with pytest.raises(ValueError, match=r"^batch is 0 and pairs_every 64; both are at least 1$"):
        Reader(minilm, batch=0)


def test_no_sentence_gives_no_number(reader: Reader) -> None:
    found = reader.nothing().finish()
    assert found.sentences == 0 and np.isnan(found.mean).all() and np.isnan(found.label_share).all()
    assert np.isnan(found.share_below(0, 0, "previous", 0.5))


def test_of_equal_values_those_that_stand_first_in_the_corpus_are_kept() -> None:
    """Of twelve sentences in two files ten are kept: the one of the largest value, then in order of files and lines."""
    rows = [Place(1, 1), *(Place(0, line) for line in (9, 3, 1, 2, 4, 5, 6, 7, 8)), Place(1, 2), Place(0, 10)]
    values = np.array([[1], [1], [1], [1], [1], [1], [2], [1], [np.nan], [1], [1], [1]], np.float32)
    texts = [f"{place.file}.{place.line}" for place in rows]
    expected = [(0, 5), *((0, line) for line in (1, 2, 3, 4, 6, 8, 9, 10)), (1, 1)]
    whole = Strongest.of(values, rows, texts)
    parts = [
        Strongest.of(values[at], [rows[n] for n in at], [texts[n] for n in at])
        for at in ([6, 7, 8, 9, 10, 11], [*range(6)])
    ]
    parts[0].merge(parts[1])
    for found in (whole, parts[0]):
        assert [tuple(place) for place in found.places[0].tolist()] == expected
        assert found.values[0].tolist() == [2, *[1] * 9]
        assert found.texts == {Place(*place): "{}.{}".format(*place) for place in expected}
    few = Strongest.of(values[7:9], rows[7:9], texts[7:9])
    assert few.places[0, :2].tolist() == [[0, 6], [NOTHING, NOTHING]]  # what has no value has no place
    assert list(few.texts) == [(0, 6)]


def test_a_sentence_of_eight_tokens_may_be_among_the_strongest_and_one_of_seven_may_not(reader: Reader) -> None:
    seven, eight = "one two three four five", "one two three four five six"  # and [CLS] and [SEP]
    found = reader.read([seven, eight], places(2))
    assert found.finish().tokens == 15
    assert {place for place in found.strongest.texts if place != (NOTHING, NOTHING)} == {Place(0, 2)}


@pytest.mark.parametrize(
    ("value", "share"),
    [(-1, 0), (0, 0), (0.125, 0.25), (0.25, 0.5), (0.5, 0.5), (0.625, 0.625), (0.75, 0.75), (1, 1), (9, 1)],
)
def test_the_share_below_a_value_is_linear_within_a_bin(value: float, share: float) -> None:
    stub: Any = SimpleNamespace(
        histograms=np.array([[[[9, 9, 9, 9], [2, 0, 1, 1]], [[9, 9, 9, 9], [0, 0, 0, 0]]]]),
        measures=("first", "same"), edges=lambda _: np.linspace(0, 1, 5),
    )  # fmt: skip
    assert CorpusStatistics.share_below(stub, 0, 0, "same", value) == share
    assert np.isnan(CorpusStatistics.share_below(stub, 0, 1, "same", value))


@pytest.mark.parametrize("given", [{"batch": 0}, {"pairs_every": 0}])
def test_a_reader_reads_one_sentence_at_least(minilm: BuiltInModel, given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="both are at least 1"):
        Reader(minilm, **given)
    assert Reader(minilm, batch=1, pairs_every=1).batch == 1

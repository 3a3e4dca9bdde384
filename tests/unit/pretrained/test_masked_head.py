"""The masked-language head of the built-in model computes what transformers' BertForMaskedLM does with its weights."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file

from attnviz.bert.blank import fill, lacks, read
from attnviz.bert.head_card import Score, read_card
from attnviz.bert.language_head import are_words, score_of
from attnviz.bert.search import built_in
from attnviz.export.code.bert.uses import blank_script
from attnviz.pretrained.described import HEAD_FILE, find_folder
from attnviz.pretrained.masked_head import HeadWeights, read_weights
from attnviz.tokens import Tokens
from tests.loaded import built_in_model

TEXTS = ("The bicycle [MASK] leaned against the wall.", "[MASK] [MASK] it.", "Ann [MASK] " * 60)


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Transformers' own model with the built-in model's weights and the head."""
    model = tf.BertForMaskedLM.from_pretrained(find_folder(), attn_implementation="eager").eval()
    missing, unexpected = model.load_state_dict(load_file(HEAD_FILE), strict=False)
    assert not unexpected
    assert not [name for name in missing if "transform" in name]
    return model


@pytest.mark.parametrize("text", TEXTS)
def test_the_logits_are_those_of_transformers(text: str, theirs: Any) -> None:
    model = built_in_model()
    assert lacks(model) is None
    tokens = read(model, text)
    with torch.inference_mode():
        expected = theirs(input_ids=torch.tensor([tokens.ids])).logits[0]
    logits = model.trace(text).logits
    assert logits is not None
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    blanks = fill(model, tokens, kept=7)
    best = expected[list(blanks.places)].topk(7)
    torch.testing.assert_close(blanks.logits, best.values, rtol=1e-4, atol=1e-4)
    shares = torch.softmax(expected[list(blanks.places)].double(), dim=-1).gather(1, blanks.ids)
    torch.testing.assert_close(blanks.probabilities.double(), shares, rtol=1e-3, atol=1e-7)


@cache
def is_word() -> list[bool]:
    """Return for each id of the vocabulary whether it is a word: a sixth of a second each time it is asked."""
    return are_words(built_in_model()).tolist()


def hidden_alone(sentence: str) -> tuple[Tokens, list[int]]:
    """Return the tokens of a sentence, and the places of its words."""
    tokens = read(built_in_model(), sentence)
    return tokens, [place for place, token in enumerate(tokens.ids) if is_word()[token]]


@pytest.fixture(scope="module")
def ranks(theirs: Any) -> dict[str, list[int]]:
    """For each of the project's sentences the rank of each word in the logits of transformers' model, with this word
    alone hidden.

    Sentences of one length go through the model together: then the matrix of the vocabulary, 47 MB, is read once for
    all of them.
    """
    found: dict[str, list[int]] = {sentence: [] for sentence in built_in().sentences}
    read = {sentence: hidden_alone(sentence) for sentence in found}
    for length in {len(tokens) for tokens, _ in read.values()}:
        of = [(one, place) for one, (tokens, places) in read.items() if len(tokens) == length for place in places]
        ids, rows = torch.tensor([read[one][0].ids for one, _ in of]), torch.arange(len(of))
        places = torch.tensor([place for _, place in of])
        truth = ids[rows, places]
        ids[rows, places] = built_in_model().mask[1]
        with torch.inference_mode():
            logits = theirs.cls(theirs.bert(input_ids=ids).last_hidden_state[rows, places])
        for (one, _), rank in zip(of, (1 + (logits > logits[rows, truth, None]).sum(1)).tolist(), strict=True):
            found[one].append(rank)
    return found


@pytest.mark.parametrize("number", range(0, 180, 30))
def test_the_rank_of_a_word_that_is_hidden_alone_is_that_of_transformers(
    number: int, ranks: dict[str, list[int]]
) -> None:
    sentence = built_in().sentences[number]
    tokens, places = hidden_alone(sentence)
    assert [fill(built_in_model(), tokens, [place], kept=1).true_rank[0] for place in places] == ranks[sentence]


def test_the_cards_numbers_on_the_projects_sentences_are_those_of_transformers(ranks: dict[str, list[int]]) -> None:
    every = [rank for sentence in built_in().sentences for rank in ranks[sentence]]
    score = read_card().project_sentences
    assert len(every) == score.tokens
    for limit, part in ((1, score.top_1), (5, score.top_5)):
        assert sum(rank <= limit for rank in every) / len(every) == pytest.approx(part, abs=1 / len(every))  # rounding


def test_the_file_is_small_and_its_card_is_true() -> None:
    weights, card = read_weights(), read_card()
    assert HEAD_FILE.stat().st_size < 500_000
    assert weights.parameters == 384 * 384 + 3 * 384 + 30522
    assert len(card.seeds) == 5
    assert [result.seed for result in card.seeds] == [0, 1, 2, 3, 4]
    for result in card.seeds:
        for score in (result.head, result.words):
            assert 0 < score.top_1 < score.top_5 < 1
        assert result.head.top_1 > result.most_frequent.top_1
        assert result.head.perplexity < result.most_frequent.perplexity < result.neighbours.perplexity
        assert result.words.tokens < result.head.tokens == result.neighbours.tokens
    assert type(card).from_json(json.loads(card.to_bytes())) == card


def test_a_head_is_read_as_it_was_written_but_for_the_rounding() -> None:
    torch.manual_seed(0)
    weights = HeadWeights(torch.randn(4, 4), torch.randn(4), torch.randn(4), torch.randn(4), torch.randn(9))
    again = HeadWeights.from_bytes(weights.to_bytes())
    torch.testing.assert_close(again.dense, weights.dense.half().float(), rtol=0, atol=0)
    torch.testing.assert_close(again.bias, weights.bias.half().float(), rtol=0, atol=0)


def test_scores_are_those_of_torch() -> None:
    torch.manual_seed(0)
    logits, right = torch.randn(700, 40), torch.randint(40, (700,))
    score = score_of(lambda rows: logits[rows[:, 0].long()], torch.arange(700.0)[:, None], right)
    ranks = [int((logits[row] > logits[row, right[row]]).sum()) for row in range(700)]
    loss = torch.nn.functional.cross_entropy(logits.double(), right)
    assert score == Score(
        700, sum(rank == 0 for rank in ranks) / 700, sum(rank < 5 for rank in ranks) / 700,
        pytest.approx(float(loss.exp()), rel=1e-5),
    )  # fmt: skip
    with pytest.raises(ValueError, match="no hidden token"):
        score_of(lambda rows: rows, logits[:0], right[:0])


def test_the_script_prints_what_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = built_in_model()
    tokens = read(model, TEXTS[0])
    monkeypatch.chdir(HEAD_FILE.parent)
    space: dict[str, Any] = {}
    exec(blank_script(model.name, tokens.ids, model.mask[1], kept=4), space)
    shown = fill(model, tokens, kept=4)
    torch.testing.assert_close(space["likely"].values, shown.probabilities, rtol=1e-4, atol=1e-8)
    assert space["places"].tolist() == list(shown.places)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(shown.places)

"""The heads that stand out on a text: against a plain loop, and on attention that is made for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attnviz.measures.striking import StrikingHead, most_striking, word_pairs
from attnviz.measures.summary import is_punctuation
from attnviz.pretrained import load
from attnviz.tokens import Tokens, WordPiece, WordTokenizer
from attnviz.trace.block import Block
from attnviz.trace.layer import LayerTrace
from attnviz.trace.trace import Trace
from tests.loaded import built_in_model
from tests.unit.families import save

BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."
CATS = "The cat sat on the mat and the cat slept on the mat."


def pairs_of(text: str, pair: str | None = None) -> set[tuple[str, str]]:
    tokens = WordPiece().tokenize(text, pair)
    found = word_pairs(tokens, tokens, same_text=True).nonzero().tolist()
    return {(tokens.pieces[i], tokens.pieces[j]) for i, j in found}


def looped(weights: list[Tensor], tokens: Tokens) -> list[StrikingHead]:
    """Rank by plain loops over heads and cells, for a text of words without pieces: weights is L times (H, T, T)."""
    rows = [of_layer.tolist() for of_layer in weights]
    every = [(layer, head) for layer, of_layer in enumerate(rows) for head in range(len(of_layer))]
    words = [not special and not is_punctuation(piece)
             for piece, special in zip(tokens.pieces, tokens.special, strict=True)]  # fmt: skip
    best = []
    for layer, head in every:
        found = []
        for i in range(len(tokens)):
            for j in range(len(tokens)):
                if not (words[i] and words[j]) or abs(i - j) <= 1:
                    continue
                own = rows[layer][head][i][j]
                others = [rows[m][g][i][j] for m, g in every if (m, g) != (layer, head)]
                found.append(StrikingHead(layer, head, i, j, own, sum(others) / len(others)))
        best.append(max(found, key=lambda one: one.weight - one.others))
    best.sort(key=lambda one: one.others - one.weight)
    ranked: list[StrikingHead] = []
    for one in best:
        if one.weight > one.others and (one.query, one.key) not in [(other.query, other.key) for other in ranked]:
            ranked.append(one)
    return ranked


@pytest.mark.parametrize("text", [BICYCLE, CATS])
def test_the_ranking_is_that_of_a_plain_loop(text: str) -> None:
    trace = built_in_model().trace(text)
    expected = looped([trace.attentions(layer) for layer in range(6)], trace.tokens)
    found = most_striking(trace, "encoder").heads
    assert len(found) == len(expected) > 5
    for one, other in zip(found, expected, strict=True):
        assert (one.layer, one.head, one.query, one.key) == (other.layer, other.head, other.query, other.key)
        assert one.weight == pytest.approx(other.weight, abs=1e-6)
        assert one.others == pytest.approx(other.others, abs=1e-5)


def made(weights: Tensor, text: str) -> Trace:
    """Return a trace of a text's words whose layers have these weights, (L, H, T, T) with rows that sum to 1."""
    length = weights.shape[-1]
    eye = torch.eye(length).expand(weights.shape[1], -1, -1)
    layers = (LayerTrace(of_layer.clamp_min(1e-30).log(), eye, eye, 1.0) for of_layer in weights)  # softmax(log w) = w
    blocks = tuple(Block(layer) for layer in layers)
    return Trace(WordTokenizer().tokenize(text), None, {"encoder": blocks}, torch.zeros(length, 1))


def test_on_attention_made_for_it_the_cell_that_only_one_head_has_comes_first() -> None:
    weights = torch.full((2, 3, 5, 5), 0.2)
    weights[:, :, 1] = torch.tensor([0.0, 0, 0, 1, 0])  # what all heads do is not striking
    weights[0, 0, 2] = torch.tensor([0.0, 0, 1, 0, 0])  # the token itself
    weights[0, 1, 2] = torch.tensor([0.0, 1, 0, 0, 0])  # its neighbour
    weights[0, 2, 3] = torch.tensor([0.0, 0, 0, 0, 1])  # a full stop
    weights[1, 2, 4] = torch.tensor([1.0, 0, 0, 0, 0])  # from a full stop
    weights[1, 1, 0] = torch.tensor([0.02, 0.02, 0.9, 0.03, 0.03])
    weights[1, 0, 3] = torch.tensor([0.6, 0.1, 0.1, 0.1, 0.1])
    first, second, *_ = most_striking(made(weights, "a b c d ."), "encoder").heads
    assert (first.layer, first.head, first.query, first.key) == (1, 1, 0, 2)
    assert (first.weight, first.others) == (pytest.approx(0.9), pytest.approx(0.2))
    assert (second.layer, second.head, second.query, second.key) == (1, 0, 3, 0)


def test_a_layer_has_the_models_own_number() -> None:
    weights = torch.full((2, 2, 4, 4), 0.25)
    weights[1, 0, 3] = torch.tensor([0.9, 0.1, 0, 0])
    trace = made(weights, "a b c d")
    (one, *_) = most_striking(replace(trace, numbers={"encoder": (2, 7)}), "encoder").heads
    assert (one.layer, one.head, one.query, one.key) == (7, 0, 3, 0)
    assert (one.weight, one.others) == (pytest.approx(0.9), pytest.approx(0.25))


def test_words_of_two_texts_are_pairs_wherever_they_stand() -> None:
    queries, keys = WordPiece().tokenize("un. dos"), WordPiece().tokenize("one, two")
    found = word_pairs(queries, keys, same_text=False).nonzero().tolist()
    assert {(queries.pieces[i], keys.pieces[j]) for i, j in found} == {
        (query, key) for query in queries.pieces[1:-1] if query != "." for key in ("one", "two")
    }


def test_a_pair_counts_once_and_a_head_once() -> None:
    weights = torch.full((1, 4, 4, 4), 0.25)
    weights[0, 0, 0] = torch.tensor([0.0, 0, 1, 0])
    weights[0, 1, 0] = torch.tensor([0.1, 0.1, 0.7, 0.1])
    weights[0, 0, 3] = torch.tensor([0.8, 0.2, 0, 0])
    found = most_striking(made(weights, "a b c d"), "encoder").heads
    assert (found[0].head, found[0].query, found[0].key) == (0, 0, 2)
    assert len({(one.query, one.key) for one in found}) == len({one.head for one in found}) == len(found)


@pytest.mark.parametrize("text", ["a", "a b", ". , !", "a . ."])
def test_a_text_without_two_words_apart_has_no_striking_head(text: str) -> None:
    length = len(text.split())
    weights = torch.rand(2, 2, length, length, generator=torch.Generator().manual_seed(0))
    found = most_striking(made(weights / weights.sum(-1, keepdim=True), text), "encoder").heads
    assert found == ()


def test_one_head_alone_and_heads_that_are_all_alike_are_not_striking() -> None:
    weights = torch.softmax(torch.randn(1, 1, 5, 5, generator=torch.Generator().manual_seed(1)), -1)
    assert most_striking(made(weights, "a b c d e"), "encoder").heads == ()
    alike = most_striking(made(torch.full((2, 2, 4, 4), 0.25), "a b c d"), "encoder").heads
    assert alike == ()


def test_pieces_of_a_word_are_no_pair_unless_the_text_has_no_white_space() -> None:
    assert ("t", "didn") not in pairs_of("The animal didn't sleep")
    assert ("t", "animal") in pairs_of("The animal didn't sleep")
    assert ("un", "##va") not in pairs_of("unbelievably good")
    assert ("un", "##va") in pairs_of("unbelievably")
    assert ("日", "中") in pairs_of("日本中国")
    assert not any("[" in piece or is_punctuation(piece) for both in pairs_of("Well, [CLS] yes: no.") for piece in both)


def test_the_second_sentence_has_words_of_its_own() -> None:
    found = pairs_of("old", "new cat")
    assert found == {("old", "new"), ("new", "old"), ("old", "cat"), ("cat", "old")}


@pytest.mark.parametrize("family", ["gpt2", "bart", "t5"])
def test_decoders_and_encoder_decoders_are_ranked_too(family: str, tmp_path: Path) -> None:
    trace = load(str(save(family, tmp_path / family))).trace("the cat sat on the mat", "a dog ran off")
    for kind in trace.kinds:
        found = most_striking(trace, kind).heads
        assert found
        for one in found:
            weights = trace.attentions(one.layer, kind)
            assert float(weights[one.head, one.query, one.key]) == pytest.approx(one.weight, abs=1e-6)
            assert one.weight > one.others >= 0
            if kind == "decoder":
                assert one.key < one.query

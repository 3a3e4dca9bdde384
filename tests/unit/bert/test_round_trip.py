"""Embeddings and back, against torch's modules; what an output layer favours, against transformers' own models."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from attnviz.bert.round_trip import (
    LOST,
    ROWS,
    EmbeddingAndOutput,
    drawn,
    favoured,
    neighbours,
    operands,
    rows_of,
    there_and_back,
    tied,
)
from attnviz.bert.table import search, table_of
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import HEAD_FILE
from tests.loaded import built_in_model
from tests.memory import held
from tests.unit.bert.test_blank import OTHERS
from tests.unit.families import BERT, SIZES, save_model

TEXT = "The animal didn't cross the street because it was too tired."
VOCABULARIES_AND_WIDTHS = (30522, 384), (ROWS + 3, 24), (2 * ROWS, 10), (1500, 7)


def torchs(seed: int, vocabulary: int, width: int) -> tuple[nn.Embedding, nn.Linear]:
    """Return the two ends as torch's modules, drawn from a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)


@pytest.mark.parametrize(("vocabulary", "width"), VOCABULARIES_AND_WIDTHS)
def test_random_ends_are_those_of_torchs_modules_bit_for_bit(vocabulary: int, width: int) -> None:
    embedding, output = torchs(7, vocabulary, width)
    ends = drawn(7, vocabulary, width)
    assert torch.equal(torch.cat(list(ends.embedding())), embedding.weight)
    assert torch.equal(torch.cat(list(ends.output())), output.weight)


def compare(ids: list[int], ends: EmbeddingAndOutput, embedding: nn.Embedding, output: nn.Linear, scale: float) -> None:
    found = there_and_back(ids, ends, scale=scale)
    with torch.no_grad():
        logits = output(embedding(torch.tensor(ids)))
        probabilities = functional.softmax(scale * logits, dim=-1)
        best = torch.topk(logits, 6, dim=-1)
    torch.testing.assert_close(found.logits, best.values[:, :5], rtol=1e-5, atol=1e-5)
    clear = (best.values[:, :-1] - best.values[:, 1:]) > 1e-4  # nearly equal logits may change places
    assert torch.equal(found.tokens[:, 0][clear[:, 0]], best.indices[:, 0][clear[:, 0]])
    torch.testing.assert_close(found.probabilities, probabilities.gather(-1, found.tokens), rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(
        found.input_logits, logits[torch.arange(len(ids)), torch.tensor(ids)], rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(found.margin, best.values[:, 0] - best.values[:, 1], rtol=1e-4, atol=1e-5)
    expected = (scale * (logits - best.values[:, :1])).exp().sum(-1)
    torch.testing.assert_close(found.sums, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("is_unit", [False, True])
def test_the_tied_round_trip_is_that_of_a_tied_linear_layer(minilm: BuiltInModel, is_unit: bool, scale: float) -> None:
    weight = table_of(minilm).weight
    rows = functional.normalize(weight, dim=1) if is_unit else weight
    embedding = nn.Embedding.from_pretrained(rows)
    output = nn.Linear(rows.shape[1], rows.shape[0], bias=False)
    output.weight = embedding.weight
    ids = list(minilm.tokenize(TEXT).ids)
    compare(ids, tied(weight, is_unit=is_unit), embedding, output, scale)
    found = there_and_back(ids, tied(weight, is_unit=is_unit), scale=scale)
    assert found.likeliest == found.ids
    assert bool(found.returns.all())
    assert table_of(minilm).decode(found.likeliest) == TEXT.lower().replace("'", " ' ")


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_random_round_trip_is_that_of_torchs_modules_and_gives_junk(minilm: BuiltInModel, scale: float) -> None:
    weight = table_of(minilm).weight
    ids = list(minilm.tokenize(TEXT).ids)
    ends = drawn(3, *weight.shape)
    compare(ids, ends, *torchs(3, *weight.shape), scale)
    assert not there_and_back(ids, ends).returns.any()


def test_512_tokens_keep_only_their_candidates(minilm: BuiltInModel) -> None:
    weight = table_of(minilm).weight
    ids = list(minilm.tokenize("the cat sat on the mat " * 100).ids)
    assert len(ids) == 512
    ends = tied(weight)
    assert max(len(rows) for rows in ends.output()) == ROWS  # so at most (512, ROWS) logits are made at once
    found = there_and_back(ids, ends)
    assert found.likeliest == tuple(ids)
    assert found.tokens.shape == (512, 5)
    assert 0 < found.nbytes - held(found) < 100 * len(ids)  # the arrays, and some bytes a token


def test_some_tokens_do_not_come_back_unless_rows_have_length_1(minilm: BuiltInModel) -> None:
    weight = table_of(minilm).weight
    length, order = weight.norm(dim=1).sort(descending=True)
    ranked, lost = weight[order], []
    for first in range(0, len(weight), ROWS):
        # The product with a row that is not longer is at most the square of the length.
        rows, longer = ranked[first : first + ROWS], ranked[: first + ROWS]
        is_lost = (rows @ longer.T).amax(-1) > length[first : first + ROWS] ** 2 + 1e-5
        lost += order[first : first + ROWS][is_lost].tolist()
    assert len(lost) == LOST
    pieces = table_of(minilm).pieces
    assert {"[MASK]", "conversions", "asteroids"} <= {pieces[one] for one in lost}
    assert not there_and_back(lost, tied(weight)).returns.any()
    assert bool(there_and_back(lost, tied(weight, is_unit=True)).returns.all())


@pytest.mark.parametrize("word", ["street", "##ing", "[MASK]"])
def test_neighbours_are_those_of_torchs_similarities(minilm: BuiltInModel, word: str) -> None:
    table = table_of(minilm)
    token = table.pieces.index(word)
    found = neighbours(token, tied(table.weight))
    cosines = functional.cosine_similarity(table.weight, table.weight[token][None])
    products = table.weight @ table.weight[token]
    torch.testing.assert_close(found.cosines, cosines.topk(8).values, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.products, products.topk(8).values, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(cosines[found.by_cosine], found.cosines, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(products[found.by_product], found.products, rtol=1e-5, atol=1e-6)
    assert found.nbytes == held(found)


def test_a_logit_is_the_product_of_its_operands(minilm: BuiltInModel) -> None:
    weight = table_of(minilm).weight
    for ends in (tied(weight), drawn(0, *weight.shape)):
        found = there_and_back([4111], ends)
        made = operands(4111, found.tokens[0].tolist(), ends)
        torch.testing.assert_close(made.rows @ made.x, found.logits[0], rtol=1e-5, atol=1e-5)
        assert made.nbytes == held(made)


def test_a_small_vocabulary_has_fewer_candidates_and_unknown_ids_are_refused() -> None:
    ends = tied(torch.eye(3))
    found = there_and_back([2, 0], ends)
    assert found.tokens.shape == (2, 3)
    assert found.likeliest == (2, 0)
    for ids in ([3], [-1]):
        with pytest.raises(IndexError, match="rows 0 to 2"):
            rows_of(ends.embedding, ids)


def test_a_vocabulary_is_searched(minilm: BuiltInModel) -> None:
    find = partial(search, minilm)
    pieces = table_of(minilm).pieces
    for text, piece in {"##ing": "##ing", " Street ": "street", "[MASK]": "[MASK]", "é": "e", "30522": None}.items():
        found = find(text)
        assert (found.token is None) == (piece is None)
        assert found.token is None or pieces[found.token] == piece
    assert find("bicyclette").pieces == ("bicycle", "##tte")
    assert find("😀").token is None
    assert find("").pieces == ()
    assert find("\0").token is None
    assert table_of(minilm).containing("bicycl") == ("bicycle", "bicycles")
    assert table_of(minilm).containing("") == ()
    assert table_of(minilm).containing("Cycl")[:2] == ("cycle", "cycles"), "the shortest first"
    assert table_of(minilm).containing("cls") == ("[CLS]",), "in either case"


MODELS: dict[str, Any] = {
    "bert": lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT)),
    **OTHERS,
    "decoder": lambda: tf.BertLMHeadModel(tf.BertConfig(**BERT, is_decoder=True)),
}


def logits_of_zeros(whole: Any) -> torch.Tensor:
    """Return a model's logits, (V,), where its last layer is handed zeros in the place of what comes before."""
    layer = whole.get_output_embeddings()
    hook = layer.register_forward_pre_hook(lambda _, read: (torch.zeros_like(read[0]),))
    with torch.inference_mode():
        logits: torch.Tensor = whole.eval()(input_ids=torch.tensor([[2, 5, 3]])).logits[0, 1].clone()
    hook.remove()
    return logits


@pytest.mark.parametrize("name", MODELS)
def test_the_bias_is_what_a_models_head_says_of_zeros(name: str, tmp_path: Path) -> None:
    torch.manual_seed(2)
    whole = MODELS[name]()
    model = load(str(save_model(whole, tmp_path / name, name)))
    theirs = logits_of_zeros(whole)
    assert model.output_bias is not None
    torch.testing.assert_close(model.output_bias, theirs, rtol=0, atol=1e-6)
    found = favoured(tied(table_of(model).weight).output, model.output_bias, count=6)
    order = theirs.argsort(descending=True)
    assert found.by == "bias"
    assert found.most.tolist() == order[:6].tolist()
    assert found.least.tolist() == order.flip(0)[:6].tolist()
    torch.testing.assert_close(found.largest, theirs[found.most])
    torch.testing.assert_close(found.smallest, theirs[found.least])
    probabilities = functional.softmax(theirs, dim=0)
    torch.testing.assert_close(found.probabilities(found.largest), probabilities[found.most], rtol=1e-4, atol=1e-8)
    torch.testing.assert_close(found.probabilities(found.smallest), probabilities[found.least], rtol=1e-4, atol=1e-8)
    assert found.differ
    assert found.nbytes == held(found)


def test_a_head_without_a_bias_and_a_model_without_a_head_have_none(tmp_path: Path) -> None:
    whole = tf.GPT2LMHeadModel(tf.GPT2Config(**SIZES, n_embd=32, n_layer=2, n_head=4))
    gpt2 = load(str(save_model(whole, tmp_path / "gpt2", "gpt2")))
    assert gpt2.language_head is not None
    assert gpt2.output_bias is None
    headless = load(str(save_model(tf.BertModel(tf.BertConfig(**BERT)), tmp_path / "bert", "bert")))
    assert (headless.language_head, headless.output_bias) == (None, None)
    assert torch.equal(built_in_model().output_bias, load_file(HEAD_FILE)["cls.predictions.bias"].float())


def test_without_a_bias_the_longer_of_two_rows_at_the_same_angle_has_the_larger_logit() -> None:
    weight = table_of(built_in_model()).weight
    found = favoured(tied(weight).output)
    lengths = weight.double().norm(dim=1).float()
    assert found.by == "length"
    torch.testing.assert_close(found.largest, lengths.topk(8).values, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.smallest, lengths.topk(8, largest=False).values, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(lengths[found.most], found.largest, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(lengths[found.least], found.smallest, rtol=1e-5, atol=1e-6)
    long, short = weight[found.most[0]], weight[found.least[0]]
    x = functional.normalize(long, dim=0) + functional.normalize(short, dim=0)  # at the same angle to both
    assert x @ long > x @ short > 0
    assert found.probabilities(torch.zeros(1)).item() == pytest.approx(1 / 30522, rel=1e-5)


def test_rows_of_length_1_and_an_equal_bias_favour_none() -> None:
    rows = tied(torch.randn(50, 12, generator=torch.Generator().manual_seed(0)), is_unit=True)
    assert not favoured(rows.output).differ
    assert not favoured(rows.output, torch.full((50,), -0.5)).differ
    assert favoured(drawn(0, 50, 12).output).differ
    assert len(favoured(tied(torch.eye(3)).output).most) == 3

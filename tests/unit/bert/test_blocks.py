"""Attention without parameters: blocks of it as a first language model, and heads on subsets, against plain torch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.stats import entropy
from torch import Tensor, nn
from torch.nn import functional

from attnviz.bert import blocks
from attnviz.bert.blocks import KEPT, Setup, attend_in_parts, draw_layers, embed, guess, most_apart, moved, row_of, run
from attnviz.export.code.bert.embeddings import language_script, subsets_script
from attnviz.links.bert import SUBSETS
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.tokens import Tokens
from tests.memory import held

TEXT = "The animal didn't cross the street because it was too tired."
SEED = 11


@pytest.fixture(scope="module")
def tokens(minilm: BuiltInModel) -> Tokens:
    return minilm.tokenize(TEXT)


def theirs(x: Tensor, blocks: int, *, causal: bool, seed: int = SEED) -> Tensor:
    """Return the last hidden state that torch's own attention and layers give, (T, C)."""
    torch.manual_seed(seed)
    layers = [nn.Linear(x.shape[1], x.shape[1]) for _ in range(blocks)]
    with torch.no_grad():
        for linear in layers:
            x = linear(functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=causal)[0])
    return x


def test_layers_are_those_that_torch_draws_and_its_generator_stays_as_it_is() -> None:
    torch.manual_seed(SEED)
    drawn = [nn.Linear(48, 48) for _ in range(3)]
    after = torch.random.get_rng_state()
    for own, layer in zip(draw_layers(SEED, 3, 48), drawn, strict=True):
        assert own.bias is not None
        assert torch.equal(own.weight.T, layer.weight)
        assert torch.equal(own.bias, layer.bias)
    assert torch.equal(torch.random.get_rng_state(), after)


@pytest.mark.parametrize("kind", ["tokens", "embeddings"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("blocks", [1, 2, 6])
def test_blocks_and_what_comes_out_are_torchs(
    blocks: int, causal: bool, kind: Any, minilm: BuiltInModel, tokens: Tokens
) -> None:
    x = embed(minilm, tokens.ids, tokens.segments, kind)
    made = run(x, draw_layers(SEED, blocks, x.shape[1]), causal=causal)
    hidden, table = theirs(x, blocks, causal=causal), minilm.bert.embeddings.token.weight
    torch.testing.assert_close(made.hidden, hidden, rtol=1e-4, atol=1e-5)
    likely = torch.softmax(made.hidden @ table.T, dim=-1).topk(KEPT)
    found = guess(made.hidden, table)
    torch.testing.assert_close(found.probabilities, likely.values, rtol=1e-4, atol=0)
    assert torch.equal(found.tokens[:, 0], likely.indices[:, 0])
    assert (made.nbytes, found.nbytes) == (held(made), held(found))
    for before, after, weights in zip(made.states, made.states[1:], made.weights, strict=False):
        assert weights.sum(-1) == pytest.approx(torch.ones(len(x)), abs=1e-5)
        assert bool((weights.triu(1) == 0).all()) == causal
        assert after.shape == before.shape == x.shape


def test_rows_of_the_embedding_matrix_are_those_of_nn_embedding(minilm: BuiltInModel, tokens: Tokens) -> None:
    ids = torch.tensor(tokens.ids)
    assert torch.equal(
        embed(minilm, tokens.ids, tokens.segments, "tokens"),
        functional.embedding(ids, minilm.bert.embeddings.token.weight),
    )


def test_with_the_mask_a_row_depends_on_rows_up_to_it_alone(minilm: BuiltInModel, tokens: Tokens) -> None:
    last, other = 13, minilm.tokenize("cat").ids[1]
    ids = [other if place == last else one for place, one in enumerate(tokens.ids)]
    table = minilm.bert.embeddings.token.weight
    for causal in (True, False):
        states = [
            theirs(table[torch.tensor(one)].detach(), 3, causal=causal) @ table.T for one in (tokens.ids, ids)
        ]  # (T, V) each: the logits of torch
        own = [
            run(embed(minilm, one, tokens.segments, "tokens"), draw_layers(SEED, 3, 384), causal=causal).hidden
            for one in (tokens.ids, ids)
        ]
        changes = moved(own[0], own[1], table)
        torch.testing.assert_close(changes, (states[1] - states[0]).abs().amax(-1), rtol=1e-2, atol=1e-5)
        assert bool((changes[:last] == 0).all()) == causal
        assert bool((changes[last:] > 0).all())


def test_the_logits_are_computed_some_rows_at_a_time(
    minilm: BuiltInModel, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = minilm.bert.embeddings.token.weight
    hidden = run(embed(minilm, tokens.ids, tokens.segments, "tokens"), draw_layers(0, 1, 384), causal=True).hidden
    whole, changes = guess(hidden, table), moved(hidden, hidden.flip(0), table)
    monkeypatch.setattr(blocks, "CELLS", 1)
    torch.testing.assert_close(guess(hidden, table).probabilities, whole.probabilities)
    torch.testing.assert_close(moved(hidden, hidden.flip(0), table), changes)


def test_rows_that_become_alike_have_the_mean_cosine_of_all_pairs() -> None:
    x = torch.randn(7, 12, generator=torch.Generator().manual_seed(1))
    cosines = functional.cosine_similarity(x[:, None], x[None], dim=-1)
    made = run(x, draw_layers(0, 1, 12), causal=False)
    assert made.alike[0] == pytest.approx(float((cosines.sum() - 7) / 42), abs=1e-6)
    assert made.alike[1] > made.alike[0]
    assert run(x[:1], (), causal=True).alike == (1.0,)


def test_a_layer_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a layer \(13, 13\) does not keep the width 12$"):
        run(torch.zeros(2, 12), draw_layers(0, 1, 13), causal=True)


@pytest.mark.parametrize("heads", SUBSETS)
def test_heads_on_subsets_are_torchs_attention_on_slices(heads: int, minilm: BuiltInModel, tokens: Tokens) -> None:
    x = embed(minilm, tokens.ids, tokens.segments, "embeddings")
    found, size = attend_in_parts(x, heads), 384 // heads
    slices = [x[:, head * size : (head + 1) * size] for head in range(heads)]
    outputs = [functional.scaled_dot_product_attention(one[None], one[None], one[None])[0] for one in slices]
    torch.testing.assert_close(found.joined, torch.cat(outputs, dim=1), rtol=1e-5, atol=1e-5)
    whole = functional.scaled_dot_product_attention(x[None], x[None], x[None])[0]
    torch.testing.assert_close(found.whole.head_outputs, whole, rtol=1e-5, atol=1e-5)
    for weights, one in zip(found.parts.weights, slices, strict=True):
        torch.testing.assert_close(weights, torch.softmax(one @ one.T / math.sqrt(size), -1), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(found.parts.scores.sum(0), found.whole.scores, rtol=1e-4, atol=1e-4)  # as the page says
    assert found.nbytes == held(found)
    if heads == 1:
        torch.testing.assert_close(found.joined, whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("query", [0, 10, 15])
def test_a_row_is_measured_as_scipy_measures_it(query: int, minilm: BuiltInModel, tokens: Tokens) -> None:
    found = attend_in_parts(embed(minilm, tokens.ids, tokens.segments, "embeddings"), 4)
    row = row_of(found, query)
    weights = torch.stack([found.whole.weights[query], *found.parts.weights[:, query]]).double().numpy()
    assert row.entropy.numpy() == pytest.approx(entropy(weights, base=2, axis=1), abs=1e-5)
    assert row.difference.numpy() == pytest.approx(cdist(weights, weights, "cityblock") / 2, abs=1e-6)
    assert row.largest == tuple(weights.argmax(1))
    weights[:, query] = 0
    assert row.other == tuple(weights.argmax(1))


@pytest.mark.parametrize("heads", [1, 3, 12])
def test_the_two_heads_that_differ_most_in_each_row_are_found(heads: int, minilm: BuiltInModel, tokens: Tokens) -> None:
    found = attend_in_parts(embed(minilm, tokens.ids, tokens.segments, "embeddings"), heads)
    weights = found.parts.weights.double().numpy()
    expected = [cdist(weights[:, query], weights[:, query], "cityblock").max() / 2 for query in range(len(tokens))]
    assert most_apart(found).numpy() == pytest.approx(expected, abs=1e-6)


def test_one_token_alone_has_no_other_key() -> None:
    row = row_of(attend_in_parts(torch.ones(1, 12), 3), 0)
    assert row.other == (None,) * 4
    assert row.entropy.tolist() == [0.0] * 4


def test_parts_divide_the_width_and_those_of_links_do() -> None:
    for heads in (0, -1, 5):
        with pytest.raises(ValueError, match=f"into {heads} equal parts"):
            attend_in_parts(torch.zeros(2, 12), heads)


@pytest.mark.parametrize("setup", [Setup(), Setup("embeddings", 1, 7, causal=False)])
def test_the_script_of_a_language_model_gives_what_is_shown(
    setup: Setup, minilm: BuiltInModel, tokens: Tokens, capsys: pytest.CaptureFixture[str]
) -> None:
    space = executed(language_script(TEXT, tokens.ids, setup, limit=512, kept=KEPT, change=(13, 4937)))
    made = run(
        embed(minilm, tokens.ids, tokens.segments, setup.x), draw_layers(setup.seed, setup.blocks, 384),
        causal=setup.causal,
    )  # fmt: skip
    table = minilm.bert.embeddings.token.weight
    found = guess(made.hidden, table)
    torch.testing.assert_close(space["likely"].values, found.probabilities, rtol=1e-4, atol=1e-8)
    assert bool((space["moved"][:13].max() < 1e-6) == setup.causal)
    assert len(capsys.readouterr().out.splitlines()) > len(tokens)


def test_the_script_of_heads_on_subsets_gives_what_is_shown(minilm: BuiltInModel, tokens: Tokens) -> None:
    space = executed(subsets_script(TEXT, tokens.ids, limit=512, heads=6, row=9))
    found = attend_in_parts(embed(minilm, tokens.ids, tokens.segments, "embeddings"), 6)
    torch.testing.assert_close(space["joined"], found.joined, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(space["whole"], found.whole.weights, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(space["weights"], found.parts.weights, rtol=1e-4, atol=1e-5)


def executed(code: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(code, space)
    return space

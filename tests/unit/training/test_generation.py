"""Generated text: the choice of a token against transformers' own, and the key-value cache against none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from attnviz import trained
from attnviz.measures.residual_stream import logit_lens
from attnviz.measures.thumbnails import FULL
from attnviz.tokens import CharVocab
from attnviz.toy import BigramModel, CharGPT, GRUModel
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import TokenModel
from attnviz.toy.transformer import sizes_of
from attnviz.training.generation import SHOWN, GeneratedToken, Sampling, choose, generate, multiplications, record
from tests.training import torchs_attention

LOGITS = torch.tensor([0.3, 2.0, -1.0, 1.4, 0.0, 1.9, -3.0, 0.9])


def gpt(block_size: int = 8) -> CharGPT:
    torch.manual_seed(1)
    model = CharGPT(11, block_size=block_size, layers=2, heads=2, width=16).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def drawn(model: nn.Module, count: int = 20, *, cached: bool = True, **sampling: float) -> list[GeneratedToken]:
    return list(generate(model, [3, 1, 4], count, Sampling(**sampling), cached=cached))  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (3, 1.0), (0, 0.8), (4, 0.7), (0, 0.01), (100, 1.0)])
def test_probabilities_are_those_of_transformers(temperature: float, top_k: int, top_p: float) -> None:
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    expected = warpers(torch.zeros(1, 1, dtype=torch.long), LOGITS[None].clone())[0].softmax(-1)
    found = choose(LOGITS, Sampling(temperature, top_k, top_p), torch.Generator().manual_seed(0))
    assert torch.allclose(found["probabilities"], expected, atol=1e-6)
    assert torch.equal(found["kept"], expected > 0)
    assert torch.equal(found["scaled"], LOGITS / temperature)


def test_draws_follow_the_probabilities() -> None:
    generator, sampling = torch.Generator().manual_seed(0), Sampling(top_k=4)
    probabilities = choose(LOGITS, sampling, generator)["probabilities"]
    counts = torch.bincount(torch.tensor([choose(LOGITS, sampling, generator)["id"] for _ in range(4000)]), minlength=8)
    assert bool((counts[probabilities == 0] == 0).all())
    assert torch.allclose(counts / 4000, probabilities, atol=0.03)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.integers(0, 2**31), st.floats(0.01, 1))
def test_the_drawn_number_lies_in_the_tokens_interval(logits: list[float], seed: int, top_p: float) -> None:
    found = choose(torch.tensor(logits), Sampling(top_p=top_p), torch.Generator().manual_seed(seed))
    order = found["order"].tolist()
    ordered = found["probabilities"][found["order"]].double()
    assert ordered.tolist() == sorted(found["probabilities"].double().tolist(), reverse=True)
    sums, place = ordered.cumsum(0), order.index(found["id"])
    below = sums[place - 1] if place else 0
    assert below <= found["number"] * sums[-1] < sums[place]
    assert found["kept"][found["id"]]


def test_at_an_exact_boundary_the_fewest_are_kept_and_the_sum_has_to_exceed_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    even = torch.zeros(2)
    assert choose(even, Sampling(top_p=0.5), torch.Generator())["kept"].tolist() == [True, False]
    assert TopPLogitsWarper(0.5)(torch.zeros(1, 1), even[None].clone()).isfinite().sum() == 1
    monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.tensor(0.5))
    assert choose(even, Sampling(), torch.Generator())["id"] == 1


@pytest.mark.parametrize(("size", "half"), [(8, 4), (7, 3), (1, 1)])
def test_of_a_context_that_outgrows_the_block_its_last_half_is_kept(size: int, half: int) -> None:
    contexts = [one.context for one in drawn(gpt(size), 2 * size + 3)]
    assert contexts == [*range(min(3, size), size + 1), *list(range(half, size + 1)) * 5][: len(contexts)]


def test_greedy_takes_the_likeliest() -> None:
    found = choose(LOGITS, Sampling(temperature=0), torch.Generator())
    assert (found["id"], found["number"]) == (1, None)
    assert found["probabilities"].tolist() == [0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0}, {"top_k": 3}, {"top_p": 0.6, "seed": 4}])
def test_a_cache_changes_no_token_beyond_the_block_size(sampling: dict[str, float]) -> None:
    model = gpt()
    with_cache, without = (drawn(model, 40, cached=cached, **sampling) for cached in (True, False))
    assert [one.id for one in with_cache] == [one.id for one in without]
    for one, other in zip(with_cache, without, strict=True):
        assert torch.allclose(one.logits, other.logits, atol=1e-5)
        assert one.context == other.context == other.computed
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(one.weights, other.weights, strict=True))
    assert [one.computed for one in with_cache[:6]] == [3, 1, 1, 1, 1, 1]
    assert sum(one.computed for one in with_cache) < sum(one.computed for one in without) / 2


def test_a_text_that_is_given_is_read_in_place_of_what_is_drawn() -> None:
    model, truth = gpt(32), [5, 9, 2, 6]
    found = list(generate(model, [3, 1, 4], 6, Sampling(), truth=truth))
    assert [one.id for one in found[:4]] != truth
    whole = model.logits(torch.tensor([3, 1, 4, *truth, found[4].id]))[2:]
    for one, logits in zip(found, whole, strict=True):
        assert torch.allclose(one.logits, logits, atol=1e-5)


def test_logits_are_those_of_one_forward_pass_over_the_text() -> None:
    model, prompt = gpt(32), [3, 1, 4]
    found = drawn(model, 20)
    whole = model.logits(torch.tensor([prompt + [one.id for one in found]]))[0]
    for place, one in enumerate(found, start=len(prompt) - 1):
        assert torch.allclose(one.logits, whole[place], atol=1e-5)


def test_attention_of_the_last_position_is_torchs() -> None:
    model = gpt(32)
    one = drawn(model, 5)[-1]
    layer = model.blocks.layers[0]  # type: ignore[union-attr]
    prompt = [3, 1, 4] + [each.id for each in drawn(model, 4)]
    theirs = torchs_attention(layer.attention)
    with torch.no_grad():
        x = layer.attention_norm(model.embed(torch.tensor(prompt)))
        expected = theirs(x, x, x, average_attn_weights=False)[1][:, -1]
    assert len(one.weights) == 2
    assert torch.allclose(one.weights[0], expected, atol=1e-6)


@pytest.mark.parametrize("model", [BigramModel(11), GRUModel(11, width=8, block_size=8)])
def test_other_models_go_on_too_and_have_no_attention(model: nn.Module) -> None:
    found = drawn(model, 12)
    assert len(found) == 12
    assert all(one.weights == () and 0 <= one.id < 11 for one in found)
    last = model(torch.tensor([[found[-2].id]])) if isinstance(model, BigramModel) else None
    assert last is None or torch.equal(last[0, -1], found[-1].logits)


def test_the_same_seed_gives_the_same_text_and_another_does_not() -> None:
    texts = [[one.id for one in drawn(gpt(), 30, seed=seed)] for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^there is no token to begin with$"):
        next(generate(gpt(), [], 3, Sampling()))
    encoder = TokenModel(TokenConfig(11, 8, architecture="encoder", layers=1, heads=1, width=8))
    with pytest.raises(ValueError, match=r"^only a decoder can continue a text$"):
        next(generate(encoder, [1], 3, Sampling()))
    for wrong in ({"temperature": -1}, {"top_k": -1}, {"top_p": 1.5}, {"temperature": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Sampling(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^9 tokens are more than the block size, 8$"):
        model, past = gpt(), gpt().new_past()
        for _ in range(9):
            model.logits(torch.tensor([[1]]), past=past)


def test_states_are_the_inputs_of_the_blocks() -> None:
    model, prompt = gpt(32), [3, 1, 4]
    for cached in (True, False):
        found = drawn(model, 6, cached=cached)
        inputs: list[torch.Tensor] = []

        def note(_: nn.Module, args: tuple[torch.Tensor]) -> None:
            inputs.append(args[0][0, -1])  # noqa: B023 — it is called within this round

        hooks = [layer.register_forward_pre_hook(note) for layer in model.blocks.layers]  # type: ignore[union-attr]
        model(torch.tensor([prompt + [one.id for one in found[:-1]]]))
        for hook in hooks:
            hook.remove()
        last = found[-1].states
        assert last is not None
        assert torch.allclose(last, torch.stack(inputs), atol=1e-5)
    assert drawn(BigramModel(11))[0].states is None


PROMPT, COUNT = "ROMEO:\n", 12
SAMPLING = Sampling(0.8, top_k=9, top_p=0.95, seed=2)


def test_the_numbers_of_each_draw_follow_from_the_logits_of_one_forward_pass() -> None:
    model = trained.load("chargpt")
    ids = CharVocab(model.labels).encode(PROMPT)
    arrays, codes = record(model.module, ids, COUNT, SAMPLING)
    written = [int(one) for one in arrays["ids"]]
    logits = model.logits(torch.tensor(ids + written))[len(ids) - 1 : -1]
    start = 0
    for n, own in enumerate(logits):
        scaled, order = (own / 0.8).sort(descending=True, stable=True)
        np.testing.assert_allclose(arrays["logits"][n], own[order], atol=2e-5)
        np.testing.assert_allclose(arrays["scaled"][n], scaled, atol=2e-5)
        np.testing.assert_array_equal(arrays["order"][n], order)
        # Top-k, then the fewest of these with 0.95 together.
        likely = scaled[:9].softmax(-1)
        kept = next(count for count in range(1, 10) if count == 9 or likely[:count].sum() >= 0.95)
        assert arrays["kept"][n] == kept
        probabilities = scaled[:kept].softmax(-1)
        np.testing.assert_allclose(arrays["probabilities"][n][:kept], probabilities, atol=1e-5)
        assert not arrays["probabilities"][n][kept:].any()
        np.testing.assert_allclose(arrays["sums"][n][:kept], probabilities.cumsum(-1), atol=1e-5)
        assert arrays["total"][n] == pytest.approx((scaled[:kept] - scaled[0]).exp().sum().item(), abs=1e-4)
        rank = int(arrays["rank"][n])
        assert int(order[rank]) == written[n]
        assert arrays["sums"][n][rank] - arrays["probabilities"][n][rank] <= arrays["number"][n] + 1e-6
        assert arrays["number"][n] < arrays["sums"][n][rank] + 1e-6
        np.testing.assert_allclose(arrays["own"][n][2], probabilities[rank], atol=1e-5)
        context = int(arrays["context"][n])
        assert context == len(ids) + n
        weights = codes[start : start + 25 * context].reshape(25, context) / FULL
        start += 25 * context
        np.testing.assert_allclose(weights.sum(-1), 1, atol=2e-3)
    assert start == len(codes)
    # The last draw's attention and lens are those of the trace of the same text.
    trace = model.trace(PROMPT + "".join(model.labels[one] for one in written[:-1]))
    of_trace = torch.cat([trace.attentions(layer)[:, -1] for layer in range(5)])
    np.testing.assert_allclose(weights, of_trace, atol=2e-5)
    lens = logit_lens(trace, context - 1)
    assert lens is not None
    np.testing.assert_array_equal(arrays["lens_tokens"][-1], lens.tokens)
    np.testing.assert_allclose(arrays["lens_probabilities"][-1], lens.probabilities, atol=1e-4)


@pytest.mark.parametrize("cached", [True, False])
def test_multiplications_are_those_that_torch_counts(cached: bool) -> None:
    model = TokenModel(TokenConfig(11, 8, layers=2, heads=2, width=4, feed_forward=10)).eval()
    sizes = sizes_of(model.blocks, head=model.head)
    drawn = list(generate(model, [1, 2, 3], 3, Sampling(), cached=cached))
    past, context = model.new_past() if cached else None, [1, 2, 3]
    for n, one in enumerate(drawn):
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            model(torch.tensor(context[-1:] if cached and n else context), past=past)
        assert multiplications(sizes, one) == counter.get_total_flops() // 2  # a multiplication and an addition each
        context.append(one.id)
    assert multiplications(None, drawn[0]) == 0


def test_a_large_vocabulary_is_cut_and_the_drawn_token_keeps_its_numbers() -> None:
    torch.manual_seed(0)
    arrays, codes = record(BigramModel(500), [3], 40, Sampling(2.0))
    assert arrays["order"].shape == (40, SHOWN)
    beyond = int((arrays["rank"] >= SHOWN).nonzero()[0][0])
    assert codes.size == 0
    assert "lens_tokens" not in arrays
    assert arrays["own"][beyond][2] > 0
    assert arrays["own"][beyond][3] > arrays["sums"][beyond][-1]


@pytest.mark.parametrize("config", [{"residual": False}, {"layers": 0}])
def test_there_is_no_lens_without_a_stream(config: dict[str, int]) -> None:
    made = TokenModel(TokenConfig(11, 8, **{"layers": 1, "heads": 1, "width": 4, **config})).eval()
    assert "lens_tokens" not in record(made, [1], 3, Sampling())[0]
    assert "lens_tokens" not in record(GRUModel(11, width=8, block_size=8), [1], 3, Sampling())[0]

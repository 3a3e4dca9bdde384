"""Generated text as arrays: read back as a page reads them, against a forward pass over the whole text."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnviz import trained
from attnviz.measures.residual_stream import logit_lens
from attnviz.tokens import CharVocab
from attnviz.toy import BigramModel, GRUModel
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import TokenModel
from attnviz.toy.transformer import sizes_of
from attnviz.training.generation import FULL, SHOWN, Sampling, generate, multiplications, record

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

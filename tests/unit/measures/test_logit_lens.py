"""The logit lens against the final norms and language heads of transformers' own models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from attnviz.measures.residual_stream import logit_lens
from attnviz.pretrained import load
from attnviz.toy.config import TransformerConfig
from tests.unit.families import save, save_model
from tests.unit.pretrained.test_blocks import WITH_HEADS
from tests.unit.pretrained.test_language_heads import TEXT, theirs
from tests.unit.toy.test_transformer import run

HEADS: dict[str, Any] = {
    "gpt2": lambda model, state: model.lm_head(model.transformer.ln_f(state)),
    "bert": lambda model, state: model.cls(state),
    "roberta": lambda model, state: model.lm_head(state),
}


@pytest.mark.parametrize("family", HEADS)
def test_each_state_goes_through_the_models_own_norm_and_head(family: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    made = WITH_HEADS[family]()
    trace = load(str(save_model(made, tmp_path, family))).trace(TEXT)
    states = theirs(family, tmp_path, trace).hidden_states
    for row in (0, 3):
        lens = logit_lens(trace, row, 7)
        assert lens is not None
        assert lens.parts == ("X", *(f"after block {number}" for number in range(len(states) - 1)))
        with torch.inference_mode():
            before = [HEADS[family](made.eval(), state[:, row]) for state in states[:-1]]
            last = theirs(family, tmp_path, trace).logits[:, row]
        wanted = torch.cat([*before, last]).softmax(-1)
        torch.testing.assert_close(lens.probabilities, wanted.topk(7).values, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(wanted.gather(1, lens.tokens), lens.probabilities, rtol=1e-4, atol=1e-6)
        likeliest = wanted[:, wanted[-1].argmax()]
        torch.testing.assert_close(lens.of_last, likeliest, rtol=1e-4, atol=1e-6)
        assert lens.ranks[-1] == 0
        assert lens.ranks.tolist() == (wanted > likeliest[:, None]).sum(-1).tolist()


def test_it_is_not_known_without_a_head_or_with_a_norm_of_another_kind(tmp_path: Path) -> None:
    assert logit_lens(load(str(save("gpt2", tmp_path / "gpt2"))).trace(TEXT), 0) is None
    llama = save_model(WITH_HEADS["llama"](), tmp_path / "llama", "llama")
    assert logit_lens(load(str(llama)).trace(TEXT), 0) is None


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_toys_last_state_gives_its_logits(norm: Any) -> None:
    for architecture in ("decoder", "both"):
        trace = run(TransformerConfig(architecture, norm=norm))  # type: ignore[arg-type]
        lens = logit_lens(trace, 1, 2)
        assert lens is not None
        assert trace.logits is not None
        torch.testing.assert_close(lens.probabilities[-1], trace.logits[1].softmax(-1).topk(2).values)
    assert logit_lens(run(TransformerConfig("encoder", norm=norm)), 1) is None

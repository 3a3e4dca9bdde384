"""What a layer receives is called what it is, and heads are the groups of a convolution."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnviz.document import document_of_layer
from attnviz.export.views import title
from attnviz.steps import STEPS
from attnviz.steps.step import Step
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk
from attnviz.trained import load as load_trained
from tests.loaded import built_in_model

STEP: Step[Walk] = STEPS["embeddings"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return built_in_model().trace("It was too tired.")


@pytest.mark.parametrize(
    ("layer", "step", "panel"),
    [
        (0, "Embeddings", "X embeddings"),
        (1, "Hidden states", "X hidden states"),
        (3, "Hidden states", "X hidden states"),
    ],
)
def test_only_the_first_layer_receives_embeddings(trace: Trace, layer: int, step: str, panel: str) -> None:
    texts = {one.name: one for one in document_of_layer(trace.walk(layer, 2)).header.steps}
    assert texts["embeddings"].title == step
    assert ("Not the embeddings" in texts["embeddings"].notice) == (layer > 0)
    for name in ("embeddings", "qkv"):
        picture = texts[name].picture
        assert picture is not None
        assert next(one.title for one in picture.panels if one.name == "embeddings") == panel
    link = {"step": "embeddings", "source": "pretrained", "model": "minilm", "layer": layer, "head": 2}
    assert title("step_by_step", link.__getitem__).startswith(f"{step} · ")


def test_a_decoder_s_first_block_receives_embeddings_and_its_attention_to_the_encoder_does_not() -> None:
    trace = load_trained("numbers").trace("342", "three hundred")
    for number, place in enumerate(trace.places):
        step = document_of_layer(trace.walk_at(number, 0)).header.steps[1]
        is_first = place.layer == 0 and place.kind != "cross"
        assert step.title == ("Embeddings" if is_first else "Hidden states"), place
        assert ("from the encoder" in step.notice) == (place.kind == "cross")


def test_heads_that_read_subsets_are_a_grouped_convolution() -> None:
    """A grouped convolution of kernel 1 is a block-diagonal matrix: each group maps its own channels alone."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 12, generator=generator, dtype=torch.double)
    convolution = nn.Conv1d(12, 12, 1, groups=3, bias=False, dtype=torch.double)
    w = convolution.weight[:, :, 0]
    heads = [x[:, 4 * h : 4 * h + 4] @ w[4 * h : 4 * h + 4].T for h in range(3)]
    grouped = convolution(x.T[None])[0].T
    assert torch.allclose(torch.cat(heads, -1), grouped)
    assert torch.allclose(F.linear(x, torch.block_diag(*w.split(4))), grouped)


def test_a_head_has_the_columns_of_the_concatenation_that_are_said(trace: Trace) -> None:
    walk = trace.walk(2, 5)
    width = walk.layer.value.shape[-1]
    assert "head 5 has columns 160 to 191" in STEPS["concat"].fact(walk)
    theirs = F.scaled_dot_product_attention(walk.layer.query, walk.layer.key, walk.layer.value)
    own = torch.cat(list(theirs), -1)[:, 160:192]
    assert torch.allclose(walk.steps.head_outputs, own, atol=1e-5)
    assert width == 32

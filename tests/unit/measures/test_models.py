"""Labels, rollout and norms: by hand, and against what models of several families compute themselves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.measures.summary import choose_measures, label_heads, possible_labels, shown_label
from attnviz.measures.survey import mean_weights, rollout, transformed_norms
from attnviz.pretrained import Kind, Trace, load
from attnviz.tokens import WordPiece
from attnviz.trace.layer import LayerTrace, LinearMap
from tests.loaded import built_in_model
from tests.unit.families import save

TEXT = "The cat sat on the mat, and it was warm."
KEYS = WordPiece().tokenize("one two, three four.")
MEASURES = choose_measures(len(KEYS), KEYS, same_text=True, causal=False)
CHANCE = {"entropy": 3.0, "distance": 3.0, "punctuation": 0.25}


def labelled(**values: float) -> list[str]:
    """Label a head with these measures, and chance level in all others."""
    uniform = np.array([CHANCE.get(one.name, 0.125) for one in MEASURES], np.float32)
    head = np.array([values.get(one.name, level) for one, level in zip(MEASURES, uniform, strict=True)], np.float32)
    head[0] = values.get("entropy", 1.0)
    (((labels,),),) = [label_heads(head[None, None], uniform, MEASURES)]
    return labels


def test_labels_by_hand() -> None:
    assert labelled() == []
    assert labelled(previous=0.5) == ["previous-token head"]
    assert labelled(previous=0.49) == []  # with the others' 0.125 not twice the 0.375 of uniform attention
    assert labelled(previous=0.45, same=0.3, next=0.2) == ["diagonal"]
    assert labelled(previous=0.2, same=0.1, next=0.1) == []
    assert labelled(next=1.0, cls=0.6) == ["next-token head", "attends to [CLS]"]
    assert labelled(sep=0.7) == ["attends to [SEP]"]
    assert labelled(punctuation=0.5) == ["attends to punctuation"]
    assert labelled(entropy=2.56) == ["broad"]
    assert labelled(entropy=2.54) == []
    assert labelled(previous=0.5, same=0.3) == ["previous-token head"]
    assert labelled(same=1.0) == ["same-token head"]
    assert labelled(previous=0.375, same=0.375, next=0) == ["diagonal"]  # just twice the 0.375 of uniform attention
    assert labelled(previous=0.375, same=0.36, next=0) == []


def test_what_chance_would_give_earns_no_label() -> None:
    uniform = np.full(len(MEASURES), 0.5, np.float32)
    head = np.full((1, 1, len(MEASURES)), 0.9, np.float32)
    head[..., 0] = 0
    assert label_heads(head, uniform, MEASURES) == [[[]]]


def test_just_twice_the_share_of_chance_earns_a_label() -> None:
    uniform = np.array([3.0, 3.0, *[0.375] * (len(MEASURES) - 2)], np.float32)
    for share, labels in ((0.75, ["previous-token head"]), (0.74, [])):
        head = np.array([0.0 if one.name != "previous" else share for one in MEASURES], np.float32)
        assert label_heads(head[None, None], uniform, MEASURES) == [[labels]]


def test_each_head_has_its_own_labels_and_the_page_says_them_in_words() -> None:
    uniform = np.array([CHANCE.get(one.name, 0.125) for one in MEASURES], np.float32)
    heads = np.zeros((2, 3, len(MEASURES)), np.float32)
    heads[1, 2, [one.name for one in MEASURES].index("next")] = 0.9
    heads[0, 1, 0] = 3.0
    assert label_heads(heads, uniform, MEASURES) == [[[], ["broad"], []], [[], [], ["next-token head"]]]
    assert (shown_label("broad"), shown_label("diagonal")) == ("looks everywhere", "diagonal")
    limited = [shown_label(label, limited=True) for label in ("broad", "diagonal")]
    assert limited == ["looks everywhere it may", "diagonal"]


def test_each_layer_may_have_a_uniform_attention_of_its_own() -> None:
    uniform = np.array([[CHANCE.get(one.name, 0.125) for one in MEASURES]] * 2, np.float32)
    uniform[1, 0] = 1.5
    heads = np.zeros((2, 1, len(MEASURES)), np.float32)
    heads[..., 0] = 1.4
    assert label_heads(heads, uniform, MEASURES) == [[[]], [["broad"]]]


def test_a_head_that_sees_one_token_is_not_broad() -> None:
    values = np.array([0.0 if one.name == "entropy" else 0.125 for one in MEASURES], np.float32)
    assert label_heads(values[None, None], values, MEASURES) == [[[]]]


def test_measures_without_a_number_earn_no_label() -> None:
    head = np.full((1, 2, len(MEASURES)), np.nan, np.float32)
    assert label_heads(head, head[0, 0], MEASURES) == [[[], []]]


def test_every_label_is_among_the_possible_ones() -> None:
    assert possible_labels(MEASURES) == [
        "previous-token head", "next-token head", "same-token head", "attends to [CLS]", "attends to [SEP]",
        "attends to punctuation", "diagonal", "broad",
    ]  # fmt: skip


def numpy_rollout(layers: list[np.ndarray]) -> np.ndarray:
    """Abnar and Zuidema's own recipe, step by step in float64."""
    rolled = np.eye(layers[0].shape[0])
    for weights in layers:
        mixed = 0.5 * weights.astype(np.float64) + 0.5 * np.eye(len(weights))
        rolled = (mixed / mixed.sum(1, keepdims=True)) @ rolled
    return rolled


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 1000))
def test_rollout_equals_numpys_and_its_rows_sum_to_one(layers: int, tokens: int, seed: int) -> None:
    scores = torch.randn(layers, tokens, tokens, generator=torch.Generator().manual_seed(seed)) * 3
    weights = torch.softmax(scores, -1)
    found = rollout(weights)
    assert found.shape == (layers, tokens, tokens)
    for layer in range(layers):
        expected = numpy_rollout([one.numpy() for one in weights[: layer + 1]])
        np.testing.assert_allclose(found[layer].numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(-1).numpy(), 1, rtol=1e-5)


def test_rollout_by_hand() -> None:
    first, second = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    assert rollout([first, second]).tolist() == [[[1, 0], [0.5, 0.5]], [[0.75, 0.25], [0.5, 0.5]]]


def test_rollout_of_heads_that_look_at_themselves_or_at_nothing_moves_nothing() -> None:
    assert rollout([torch.eye(3)] * 4)[-1].tolist() == torch.eye(3).tolist()
    assert rollout([torch.zeros(3, 3)] * 2)[-1].tolist() == torch.eye(3).tolist()
    assert rollout([torch.ones(1, 1)]).tolist() == [[[1]]]


def test_rollout_refuses_what_it_can_not_multiply() -> None:
    with pytest.raises(ValueError, match=r"^rollout needs at least one layer$"):
        rollout([])
    with pytest.raises(ValueError, match=r"^rollout needs \(T, T\) weights, not \(2, 3\)$"):
        rollout([torch.ones(2, 3)])


def test_mean_weights_are_the_mean_of_the_heads() -> None:
    trace = built_in_model().trace(TEXT)
    np.testing.assert_allclose(
        mean_weights(trace.layer(2)).numpy(), trace.attentions(2).mean(0).numpy(), rtol=1e-5, atol=1e-7
    )


@pytest.fixture(scope="module", params=["bert", "gpt2", "bart", "t5", "llama"])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder: Path = save(request.param, tmp_path_factory.mktemp("models") / request.param)
    return load(str(folder)).trace("the cat sat on the mat", None)


def test_what_the_heads_move_adds_up_to_the_layers_output(traced: Trace) -> None:
    """α f(x) in full, by its definition: its sum is what the layer computes, its length is α ‖f(x)‖."""
    for layers in traced.layers.values():
        for layer in layers:
            projection = layer.output_projection
            assert projection is not None
            per_head = projection.weight.double().unflatten(0, (layer.heads, -1))
            moved = torch.einsum("hjd,hdc->hjc", layer.value.double(), per_head)  # f(x): (H, Tk, C)
            weights = layer.attentions().double()
            bias = 0 if projection.bias is None else projection.bias
            output = layer.output()
            assert output is not None
            np.testing.assert_allclose(
                (torch.einsum("hij,hjc->ic", weights, moved) + bias).numpy(), output.numpy(), rtol=1e-3, atol=1e-4
            )
            lengths = torch.linalg.vector_norm(weights[..., None] * moved[:, None], dim=-1)  # ‖α f(x)‖: (H, Tq, Tk)
            found = weights * transformed_norms(layer)[:, None, :]
            np.testing.assert_allclose(found.numpy(), lengths.numpy(), rtol=1e-5, atol=1e-9)


def test_norms_need_the_output_projection() -> None:
    q = torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match=r"^the layer's W_O is not known, so its transformed norms can't be computed$"):
        transformed_norms(LayerTrace(q, q, q, 1.0))


def test_a_value_of_zeros_moves_nothing() -> None:
    layer = built_in_model().trace(TEXT).layer(0)
    silent = LayerTrace(layer.query, layer.key, layer.value * 0, layer.scale, layer.mask,
                        output_projection=layer.output_projection)  # fmt: skip
    assert float(transformed_norms(silent).abs().max()) == 0
    assert not math.isnan(float(transformed_norms(layer).sum()))


def test_a_value_that_the_output_projection_maps_to_zero_moves_nothing() -> None:
    """Its square may come out below 0 by rounding."""
    made = torch.Generator().manual_seed(0)
    value = torch.randn(8, 50, 3, generator=made)
    weight = torch.randn(8, 3, 5, generator=made)
    layer = LayerTrace(
        query=torch.zeros(8, 50, 4),
        key=torch.zeros(8, 50, 4),
        value=torch.cat([value, -4 * value, value], -1),  # (H, T, D): 1 - 4 / 2 + 1 = 0
        scale=1.0,
        output_projection=LinearMap(torch.cat([weight, weight / 2, weight], 1).flatten(0, 1)),  # (H·D, C)
    )
    np.testing.assert_allclose(transformed_norms(layer).numpy(), 0, atol=1e-6)


def test_the_built_in_model_has_a_head_for_the_previous_and_one_for_the_next_token() -> None:
    """Known of this model on many texts; were rows and columns swapped, each would be called the other."""
    from attnviz.measures.survey import survey

    kind: Kind = "encoder"
    labels = survey(built_in_model().trace(TEXT), kind, "").labels
    assert "previous-token head" in labels[0][2]
    assert "next-token head" in labels[1][8]

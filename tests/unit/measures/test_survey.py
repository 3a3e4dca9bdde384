"""The survey of all heads of a small model: each field against the heads themselves, masks and thumbnails by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.attention import Mask, causal_mask
from attnviz.measures.survey import hidden_cells, rolled_out, survey, survey_name
from attnviz.measures.thumbnails import SIZE, hidden_thumbnail, thumbnails
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.layer import LayerTrace
from attnviz.trace.trace import Trace
from tests.memory import held

CONFIG = TransformerConfig("both", depth=2, decoder_depth=3, heads=4, width=16)


def run(text: str = "a b c d e", target: str = "x y z", config: TransformerConfig = CONFIG) -> Trace:
    tokenize = WordTokenizer().tokenize
    return trace_transformer(tokenize(text), tokenize(target), config)


@pytest.mark.parametrize(
    ("kind", "layers", "queries", "keys", "names"),
    [
        ("encoder", 2, 5, 5, ["entropy", "distance", "previous", "next", "same", "first"]),
        ("decoder", 3, 3, 3, ["entropy", "distance", "previous", "same", "first"]),
        ("cross", 3, 3, 5, ["entropy", "first"]),
    ],
)
def test_a_survey_has_the_numbers_of_each_head(
    kind: Any, layers: int, queries: int, keys: int, names: list[str]
) -> None:
    trace = run()
    found = survey(trace, kind, "its name")
    assert found.name == "its name"
    assert [one.name for one in found.measures] == names
    assert found.values.shape == (layers, 4, len(names))
    assert found.causal is (kind == "decoder")
    assert found.numbers == tuple(range(layers))
    assert found.key_norms is not None
    for layer in range(layers):
        weights = trace.attentions(layer, kind).numpy()
        first = weights[..., 0].mean(-1)
        np.testing.assert_allclose(found.values[layer, :, names.index("first")], first, rtol=1e-5)
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = -np.where(weights > 0, weights * np.log2(weights), 0).sum(-1).mean(-1)
        np.testing.assert_allclose(found.values[layer, :, 0], bits, atol=1e-5)
        np.testing.assert_array_equal(found.overview[layer], np.rint(weights * np.float32(255)))
        projection = trace.layer(layer, kind).output_projection
        assert projection is not None
        for head in range(4):
            mapped = trace.layer(layer, kind).value[head] @ projection.weight[4 * head : 4 * head + 4]  # D = 16 / 4
            np.testing.assert_allclose(found.key_norms[layer, head], mapped.norm(dim=-1).numpy(), rtol=1e-4)
    hidden = ~causal_mask(3).numpy() if kind == "decoder" else np.zeros((queries, keys), bool)
    np.testing.assert_array_equal(found.hidden, hidden)
    seen = (~hidden).sum(-1)
    assert found.uniform[0] == pytest.approx(np.log2(seen).mean(), abs=1e-6)
    assert found.uniform[names.index("first")] == pytest.approx((1 / seen).mean())
    arrays = (found.values, found.uniform, found.overview, found.key_norms, found.hidden)
    assert not any(one.flags.writeable for one in arrays)
    assert 0 <= held(found) - found.nbytes <= found.uniform.nbytes


def test_norms_are_not_known_if_one_layers_projection_is_not() -> None:
    trace = run()
    first, second = trace.blocks["encoder"]
    bare = type(second)(LayerTrace(second.attention.query, second.attention.key, second.attention.value, 0.5))
    partly = Trace(trace.tokens, None, {"encoder": (first, bare)}, trace.last_hidden_state)
    assert survey(partly, "encoder", "").key_norms is None
    none_hidden = survey(partly, "encoder", "")
    assert not none_hidden.causal


def test_only_cells_that_all_heads_of_all_layers_hide_are_hidden() -> None:
    q, k = torch.zeros(2, 2, 4), torch.zeros(2, 3, 4)

    def layer(seen: Any) -> LayerTrace:
        cells = None if seen is None else torch.tensor(seen, dtype=torch.bool)
        return LayerTrace(q, k, k, 1.0, Mask() if cells is None else Mask("other", cells))

    every = [[1, 0, 0], [1, 1, 0]]
    by_head = [[[1, 0, 0], [1, 1, 0]], [[1, 0, 1], [0, 1, 0]]]
    assert hidden_cells([layer(every)]).tolist() == [[False, True, True], [False, False, True]]
    assert hidden_cells([layer([[1, 1, 0]]), layer(every)]).tolist() == [[False, False, True], [False, False, True]]
    assert hidden_cells([layer(by_head)]).tolist() == [[False, True, False], [False, False, True]]
    assert hidden_cells([layer(every), layer(None)]).tolist() == [[False] * 3] * 2


def test_the_name_tells_texts_kinds_and_models_apart() -> None:
    other = TransformerConfig("both", depth=2, decoder_depth=3, heads=4, width=16, seed=1)
    names = [
        survey_name(run(), "encoder"), survey_name(run(), "cross"), survey_name(run("a b c d f"), "encoder"),
        survey_name(run(target="x y w"), "encoder"), survey_name(run(config=other), "encoder"),
    ]  # fmt: skip
    assert len(set(names)) == 5
    assert names[0] == survey_name(run(), "encoder")


def test_the_rollout_of_a_trace_is_that_of_its_mean_weights() -> None:
    trace = run()
    rolled, found = np.eye(5), rolled_out(trace, "encoder")
    for layer in range(2):
        rolled = (trace.attentions(layer).mean(0).numpy() + np.eye(5)) / 2 @ rolled
        np.testing.assert_allclose(found[layer], rolled, atol=1e-6)
    assert not found.flags.writeable


def attention(heads: int, queries: int, keys: int) -> np.ndarray:
    x = np.random.default_rng(queries * keys).normal(size=(heads, queries, keys)) * 3
    x = np.exp(x)
    return (x / x.sum(-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (7, 7), (48, 48), (49, 49), (100, 53), (3, 512), (512, 512)])
def test_each_cell_is_the_largest_of_its_block(queries: int, keys: int) -> None:
    weights = attention(2, queries, keys)
    small = thumbnails(weights)
    n, m = min(queries, SIZE), min(keys, SIZE)
    assert small.shape == (2, n, m)
    assert small.dtype == np.uint8
    rows = [i * queries // n for i in range(n)] + [queries]
    cols = [j * keys // m for j in range(m)] + [keys]
    for i in range(n):
        for j in range(m):
            block = weights[:, rows[i] : rows[i + 1], cols[j] : cols[j + 1]]
            assert small[:, i, j].tolist() == np.rint(block.max((1, 2)) * np.float32(255)).astype(int).tolist()


def test_a_single_peak_among_many_cells_stays_at_full_strength() -> None:
    weights = np.zeros((1, 512, 512), np.float32)
    weights[0, 317, 42] = 1
    small = thumbnails(weights, 48)
    assert small.max() == 255
    assert np.count_nonzero(small) == 1


def test_up_to_the_size_nothing_is_pooled() -> None:
    weights = attention(1, 5, 4)
    assert thumbnails(weights, 5).tolist() == np.rint(weights * np.float32(255)).astype(int).tolist()


def test_what_is_no_weight_is_cut_to_the_range() -> None:
    weights = np.array([[[np.nan, -0.5, 1.0000001, 0.5]]], np.float32)
    assert thumbnails(weights).tolist() == [[[0, 0, 255, 128]]]


def test_only_blocks_hidden_throughout_are_marked_hidden() -> None:
    hidden = np.triu(np.ones((6, 6), bool), 1)
    assert hidden_thumbnail(hidden, 3).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert hidden_thumbnail(hidden, 6).tolist() == hidden.astype(int).tolist()


def test_a_thumbnail_of_no_cells_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a thumbnail needs at least 1 cell per side, not 0$"):
        thumbnails(attention(1, 2, 2), 0)
    assert thumbnails(np.float32([[[0.2, 0.8], [1.0, 0.0]]]), 1).tolist() == [[[255]]]

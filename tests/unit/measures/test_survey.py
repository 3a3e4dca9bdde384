"""The survey of all heads, against the heads themselves; and those that stand out, against a plain loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.attention import Mask, causal_mask, window_mask
from attnviz.mask_reasons import MaskReasons
from attnviz.measures.striking import StrikingHead, most_striking, word_pairs
from attnviz.measures.summary import is_punctuation
from attnviz.measures.survey import hidden_cells, rolled_out, survey, survey_name
from attnviz.measures.thumbnails import SIZE, hidden_thumbnail, thumbnails
from attnviz.tokens import Tokens, WordPiece, WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.layer import Block, LayerTrace
from attnviz.trace.trace import Trace
from attnviz.ui.heads.table import heads_table
from tests.loaded import built_in_model
from tests.memory import held
from tests.unit.families import opened

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


def test_a_head_of_a_layer_with_a_window_is_compared_with_uniform_attention_in_its_window() -> None:
    """Even weights in a window are few bits beside even weights on all tokens."""
    trace = run()
    layer = replace(trace.layer(0, "encoder"), query=torch.zeros_like(trace.layer(0, "encoder").query))
    local = replace(layer, mask=Mask.recognise(window_mask(5, (1, 1))))
    found = survey(replace(trace, blocks={"encoder": (Block(layer), Block(local))}, numbers={}), "encoder", "")
    assert found.limited == (False, True)
    assert not found.hidden.any()
    assert all("broad" in labels for of_layer in found.labels for labels in of_layer)
    assert survey(trace, "decoder", "").limited == (True,) * 3
    assert survey(trace, "cross", "").limited == (False,) * 3
    by_keys = torch.ones(5, 5, dtype=torch.bool)
    by_keys[:, 3] = False
    by_query = by_keys.clone()
    by_query[1, 0] = False
    masked = tuple(Block(replace(layer, mask=Mask.recognise(cells))) for cells in (by_keys, by_query))
    assert survey(replace(trace, blocks={"encoder": masked}, numbers={}), "encoder", "").limited == (False, True)
    assert heads_table(found, "")["labels"].tolist() == [
        ", ".join(label.replace("broad", words) for label in labels)
        for words, of_layer in zip(("looks everywhere", "looks everywhere it may"), found.labels, strict=True)
        for labels in of_layer
    ]


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
    hidden = np.triu(np.ones((6, 6), np.uint8), 1)
    assert hidden_thumbnail(hidden, 3).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert hidden_thumbnail(hidden, 6).tolist() == hidden.tolist()


def test_a_hidden_block_says_why_by_the_first_of_its_reasons() -> None:
    codes = MaskReasons(causal=True, window=(1, 0), padding=(0,)).codes(6, 6)
    assert hidden_thumbnail(codes, 3).tolist() == [[0, 1, 1], [0, 0, 1], [2, 0, 0]]
    assert hidden_thumbnail(codes, 6).tolist() == codes.tolist()


def test_a_thumbnail_of_no_cells_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a thumbnail needs at least 1 cell per side, not 0$"):
        thumbnails(attention(1, 2, 2), 0)
    assert thumbnails(np.float32([[[0.2, 0.8], [1.0, 0.0]]]), 1).tolist() == [[[255]]]


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
def test_decoders_and_encoder_decoders_are_ranked_too(family: str) -> None:
    trace = opened(family).trace("the cat sat on the mat", "a dog ran off")
    for kind in trace.kinds:
        found = most_striking(trace, kind).heads
        assert found
        for one in found:
            weights = trace.attentions(one.layer, kind)
            assert float(weights[one.head, one.query, one.key]) == pytest.approx(one.weight, abs=1e-6)
            assert one.weight > one.others >= 0
            if kind == "decoder":
                assert one.key < one.query

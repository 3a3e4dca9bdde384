"""The two heads that a view compares: which settings B overrides, what is computed, and in what they differ."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.links.link import read_link
from attnviz.sources.compared import B_KEYS, choice, choices, default_of_b, differs, of_b, overridden, run
from attnviz.sources.models import DirectResources, Get
from tests.unit.sources.test_shown import two_sided


def view_of(**link: str) -> Get:
    view, notes = read_link(link)
    assert not notes
    return view.__getitem__


def test_what_b_does_not_override_is_as_in_a() -> None:
    get = view_of(text="the cat", layer="2", head="3", b_head="5", b_text="  ", b_source="toy")
    assert overridden(get) == ["source", "head"]
    b = of_b(get)
    assert [b(name) for name in ("text", "layer", "head", "source", "seed")] == ["the cat", 2, 5, "toy", 0]
    every = view_of(b_text="a", b_source="toy", b_model="bert-base-uncased", b_kind="cross", b_layer="0", b_head="0",
                    b_scale="off", b_mask="none")  # fmt: skip
    assert tuple(overridden(every)) == B_KEYS, "a 0 is a choice too"


PAIR = MINIMAL_PAIRS[0]


@pytest.mark.parametrize(
    ("link", "b"),
    [
        ({"text": PAIR.a, "source": "pretrained"}, {"b_text": PAIR.b}),
        ({"text": f" {PAIR.b} ", "source": "pretrained"}, {"b_text": PAIR.a}),
        ({"text": "a b", "source": "pretrained"}, {"b_head": 1}),
        ({"text": "a b", "source": "pretrained", "head": "1"}, {"b_head": 0}),
        ({"text": "a b", "source": "pretrained", "head": "7"}, {"b_head": 0}),
        ({"text": "a b", "source": "toy", "heads": "3"}, {"b_head": 1}),
        ({"text": "a b", "source": "toy", "heads": "1"}, {"b_mask": "causal"}),
        ({"text": "a b", "source": "toy", "qkv": "identity", "mask": "causal"}, {"b_mask": "none"}),
        ({"text": "a b", "source": "trained", "model": "ladder-head"}, {"b_head": 1}),
        ({"text": PAIR.a, "b_layer": "0"}, {}),
        ({"text": PAIR.a, "compare": "same"}, {}),
    ],
)  # fmt: skip
def test_where_a_view_says_nothing_of_b_another_text_mask_or_head_is_chosen(
    link: dict[str, str], b: dict[str, Any]
) -> None:
    view, _ = read_link(link)
    assert default_of_b(view.__getitem__, DirectResources()) == b


def test_each_of_the_two_has_the_models_own_place_and_name() -> None:
    a, b = choices(view_of(source="pretrained", layer="9", head="3", b_source="toy", b_head="7"), DirectResources())
    assert (a.name, a.model, a.kind, a.layer, a.head) == ("A", "minilm", "encoder", 5, 3)
    assert (b.name, b.model, b.head) == ("B", None, 1)
    assert [a.get(name) for name in ("model", "kind", "layer", "head", "source", "b_source")] == [
        "minilm", "encoder", 5, 3, "pretrained", "toy",
    ]  # fmt: skip
    assert [b.get(name) for name in ("source", "head", "seed")] == ["toy", 1, 0]


TEXT = "The cat sat on the mat."


@pytest.mark.parametrize(
    ("scale", "factor"), [("sqrt_d", 32**-0.5), ("sqrt_c", 384**-0.5), ("off", 1.0), ("0.125", 0.125)]
)
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_another_scale_and_mask_give_torchs_attention_with_the_models_q_and_k(
    scale: str, factor: float, mask: str
) -> None:
    get = view_of(text=TEXT, source="pretrained", layer="2", head="3", scale="off", b_scale=scale, b_mask=mask)
    a, b = choices(get, DirectResources())
    walk, layer = run(b, DirectResources()), DirectResources().load("minilm").trace(TEXT).layer(2)
    query, key, value = (one[None, 3] for one in (layer.query, layer.key, layer.value))
    expected = scaled_dot_product_attention(query, key, value, is_causal=mask == "causal", scale=factor)
    torch.testing.assert_close(walk.steps.head_outputs, expected[0], rtol=1e-4, atol=1e-5)
    assert (walk.head, walk.layer.scale) == (3, pytest.approx(factor))
    assert a.is_what_if
    assert b.is_what_if is ((scale, mask) != ("sqrt_d", "none"))


def test_the_toys_scale_is_its_own_setting_and_no_question_of_what_if() -> None:
    get = view_of(text="a b c", source="toy", scale="off", b_scale="0.5", b_mask="causal")
    a, b = choices(get, DirectResources())
    assert not a.is_what_if and not b.is_what_if
    one, other = run(a, DirectResources()), run(b, DirectResources())
    assert (one.layer.scale, other.layer.scale) == (1.0, 0.5)
    assert (one.layer.mask.kind, other.layer.mask.kind) == ("none", "causal")


@pytest.mark.parametrize(
    ("b", "names"),
    [
        ({}, []), ({"b_head": "4"}, ["head"]), ({"b_text": "a dog", "b_layer": "1"}, ["text", "layer"]),
        ({"b_scale": "off", "b_mask": "causal"}, ["scale", "mask"]), ({"b_head": "3"}, []),
        ({"b_source": "toy"}, ["source"]), ({"b_source": "toy", "b_text": "a dog"}, ["source", "text"]),
        ({"b_source": "trained", "b_model": "reverse"}, ["source"]),
    ],
)  # fmt: skip
def test_the_settings_in_which_the_two_differ_are_named(b: dict[str, str], names: list[str]) -> None:
    get = view_of(text="a cat", source="pretrained", layer="2", head="3", **b)
    assert differs(*choices(get, DirectResources())) == names


def test_two_kinds_of_attention_of_one_model_differ_by_their_kind() -> None:
    bart = two_sided()
    asked = (view_of(source="pretrained", kind=kind, head=head) for kind, head in (("encoder", "3"), ("cross", "9")))
    a, b = (choice(name, get, bart) for name, get in zip("AB", asked, strict=True))
    assert (a.head, b.head, b.kind) == (3, 1, "cross"), "the decoder has two heads"
    assert differs(a, b) == ["head", "kind"]


def test_of_two_models_of_one_source_the_model_comes_first_and_of_a_toy_there_is_no_layer() -> None:
    link = {"text": "abab", "source": "trained", "model": "induction", "b_model": "reverse", "b_head": "1"}
    assert differs(*choices(view_of(**link), DirectResources()))[0] == "model"
    toys = choices(view_of(text="a b", source="toy", layer="1", b_layer="0", b_head="1"), DirectResources())
    assert differs(*toys) == ["head"]

"""The explorer's filters, against what torch and numpy make of the same weights."""

from __future__ import annotations

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.apps.attention import Model
from tests.browser.apps.explored import HALF_A_STEP, Explore


@pytest.mark.parametrize("head", [0, 5])
def test_special_tokens_are_hidden_and_rows_renormalised(explore: Explore, head: int) -> None:
    explored, model = explore(), Model()
    explored.choose(0, head)
    explored.set("Special tokens", "hide")
    assert explored.value_at(3, 2) == pytest.approx(float(model.weights[0, head, 3, 2]), abs=HALF_A_STEP)
    expect(explored.section.locator("[data-field=special] .note")).to_contain_text("rows no longer sum to 1")
    explored.point_at_cell(3, 0)
    expect(explored.tooltip.locator(".none")).to_have_text("hidden")
    explored.set("Special tokens", "renormalise")
    oracle = model.without_special(0, head)
    for q, k in [(3, 2), (14, 13), (7, 1)]:
        assert explored.value_at(q, k) == pytest.approx(float(oracle[q, k]), rel=1e-3, abs=1e-4)
    expect(explored.section.locator("[data-field=special] .note")).to_contain_text("sums to 1 again")


def test_what_cant_be_renormalised_is_not_shown(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.choose(1, 1)  # nearly all of its weight is on a special token
    explored.set("Special tokens", "renormalise")
    kept = torch.tensor(model.groups) != 0
    left = (model.weights[1, 1].double() * kept).sum(-1)
    short = int((left[kept] < 1e-3).sum())
    assert 0 < short < int(kept.sum())
    expect(explored.section.locator(".drawn")).to_contain_text(f"{short} rows are hidden because less than 0.001")
    q = int(torch.argmax(left * kept))
    oracle = model.without_special(1, 1)[q]
    k = int(torch.argmax(oracle.nan_to_num()))
    value = explored.value_at(q, k)
    # Little is left, so fewer digits are certain, and no more are shown.
    assert value == pytest.approx(float(oracle[k]), abs=1.5 / 65535 / float(left[q]))
    expect(explored.tooltip.locator(".result")).to_contain_text("≈")


def test_only_weights_between_sentences_are_kept(explore: Explore) -> None:
    explored, model = explore(pair=1), Model(pair=True)
    groups = model.groups
    first, second = groups.index(1), groups.index(2)
    for option, shown in {"ab": (first, second), "ba": (second, first), "aa": (first, first + 1)}.items():
        explored.set("Sentences", option)
        assert explored.value_at(*shown) == pytest.approx(float(model.weights[0, 0][shown]), abs=HALF_A_STEP)
        explored.point_at_cell(0, second)
        expect(explored.tooltip.locator(".none")).to_have_text("hidden")
        total = groups.count(1 if option[0] == "a" else 2) * groups.count(1 if option[1] == "a" else 2)
        expect(explored.section.locator(".drawn")).to_contain_text(f"of {total} weights")


def test_norm_weighted_values_are_weight_times_norm(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.choose(2, 2)
    explored.set("Values", "norms")
    product = model.weights[2, 2] * model.key_norms[2, 2]
    for q, k in [(3, 2), (15, 15)]:
        assert explored.value_at(q, k) == pytest.approx(float(product[q, k]), abs=4 * HALF_A_STEP)
    expect(explored.section.locator("[data-field=values] .note")).to_contain_text("Kobayashi")
    measures = explored.section.locator("dl.measures")
    expect(measures).to_contain_text("of norms, each row divided by its sum")
    found = [float(text.removesuffix(" bits")) for text in measures.locator("dd").all_inner_texts()]
    assert found == pytest.approx(model.norm_measures[2, 2].tolist(), abs=2e-3)


def test_what_is_drawn_is_counted(explore: Explore) -> None:
    explored, weights = explore(), Model().weights[0, 0]
    drawn = explored.section.locator(".drawn")
    expect(drawn).to_have_text(f"{int((weights >= 0.05).sum())} of 256 weights are drawn as lines: those ≥ 0.05.")
    explored.set("Strongest", "1")
    strongest = int((weights.amax(-1) >= 0.05).sum())
    expect(drawn).to_contain_text(f"{strongest} of 256 weights are drawn as lines: the 1 strongest of each query")
    explored.section.get_by_label("Threshold").fill("50")
    expect(explored.section.locator(".amount")).to_have_text("≥ 0.25")
    expect(drawn).to_contain_text(f"{int((weights.amax(-1) >= 0.25).sum())} of 256")


def test_causal_models_show_only_what_exists(explore: Explore) -> None:
    explored, model = explore(causal=1), Model(causal=True)
    assert explored.value_at(6, 6) == pytest.approx(float(model.weights[0, 0, 6, 6]), abs=HALF_A_STEP)
    explored.point_at_cell(6, 7)
    expect(explored.tooltip.locator(".none")).to_have_text("masked")
    expect(explored.section.locator(".drawn")).to_contain_text("of 136 weights")
    expect(explored.section.locator(".drawn")).to_contain_text("120 of 256 cells are masked (hatched)")


@pytest.mark.parametrize(("tokens", "keys"), [(5, 30), (30, 4)])
def test_cross_attention_has_other_keys_than_queries(explore: Explore, tokens: int, keys: int) -> None:
    explored, model = explore(tokens=tokens, keys=keys), Model(tokens=tokens, keys=keys)
    explored.choose(4, 2)
    exact = model.weights[4, 2]
    assert explored.value_at(tokens - 1, keys - 1) == pytest.approx(float(exact[-1, -1]), abs=HALF_A_STEP)
    expect(explored.tooltip.locator(".token.key .text")).to_have_text(f"k{keys - 1}")
    explored.point_at_token(1, 2)
    best = torch.sort(exact[:, 2], descending=True).values[:3]
    assert explored.values() == pytest.approx(best.tolist(), abs=HALF_A_STEP)


def test_rollout_takes_the_place_of_a_head(explore: Explore) -> None:
    explored, model = explore(), Model()
    explored.choose(3, 4)
    explored.check("rollout up to layer 3")
    expect(explored.section).to_have_attribute("data-exact", "true")
    assert explored.value_at(8, 2) == pytest.approx(float(model.rollout[3, 8, 2]), abs=HALF_A_STEP)
    expect(explored.section.locator(".drawn")).to_contain_text("Abnar and Zuidema")
    explored.check("rollout up to layer 3", is_on=False)
    expect(explored.section).to_have_attribute("data-chosen", "3.4")

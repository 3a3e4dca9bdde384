"""What the inspector writes of a cell, in a real browser: each number is what torch computes."""

from __future__ import annotations

import math
import re

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.apps.operands import Operands, oracle
from tests.browser.apps.walk_page import See
from tests.browser.modules import CORE, Run

pytestmark = pytest.mark.page("one_page")


CELLS: dict[str, list[tuple[str, str, int, int, str]]] = {
    "none": [
        ("scores", "scores", 3, 1, "kept: nothing is masked"),
        ("scaled", "scaled", 0, 11, "kept: nothing is masked"),
    ],
    "causal": [
        ("masked", "masked", 4, 4, "kept: key 4 is not after query 4"),
        ("weights", "weights", 7, 2, "kept: key 2 is not after query 7"),
        ("weights", "weights", 3, 5, "hidden: key 5 comes after query 3"),
    ],
    "array": [
        ("weights", "masked", 1, 3, "the mask adds a number here"),
        ("weights", "weights", 2, 0, "hidden: the mask adds −∞ here"),
        ("head_outputs", "weights", 11, 9, ""),
    ],
    "-1e10": [
        ("weights", "masked", 5, 3, ""),
        ("weights", "weights", 2, 0, "hidden: the mask fills in −1e10 here"),
    ],
    "-1e10 before": [
        ("masked", "scaled", 5, 3, ""),
        ("weights", "weights", 2, 0, "−1e10 × 0.3536"),
    ],
}
"""Of each mask: steps, their panels, cells, and what is said of the mask there"""


@pytest.mark.parametrize("mask", CELLS)
def test_the_chain_under_the_pointer_is_what_torch_computes_and_the_mask_says_why(see: See, mask: str) -> None:
    given = Operands(mask=mask)
    steps = oracle(given)
    inspector = see(mask=mask)
    for step, panel, q, k, reason in CELLS[mask]:
        inspector.show(step)
        inspector.hover(panel, q, k)
        for name in ("scores", "scaled", "masked", "weights"):
            assert inspector.result(name) == pytest.approx(steps[name][q, k], rel=1e-15, abs=1e-9), name
        expect(inspector.line("masked")).to_contain_text(reason)
        if reason.startswith("hidden"):
            assert inspector.result("weights") == 0
            continue
        inspector.panel.locator("[data-terms=head_outputs]").evaluate("details => { details.open = true }")
        own, whole = ([float(x) for x in values(inspector, name)] for name in ("share", "total"))
        assert own == pytest.approx(steps["weights"][q, k] * given.value[k], abs=1e-9)
        assert whole == pytest.approx(steps["head_outputs"][q], abs=1e-9)
    if mask == "array":
        inspector.show("weights")
        inspector.hover("weights", 5, 4)
        expect(inspector.line("weights")).to_contain_text("every key is hidden from this row, so all its weights are 0")
        assert inspector.result("weights") == 0
    if mask == "causal":
        inspector.show("head_outputs")
        inspector.hover("head_outputs", 6, 2)
        assert inspector.result("product") == pytest.approx(steps["head_outputs"][6, 2], abs=1e-6)


def values(inspector: InspectorPage, name: str) -> list[str]:
    cells = inspector.panel.locator(f"[data-{name}]")
    expect(cells).not_to_have_count(0)
    return [str(x) for x in cells.evaluate_all("all => all.map((cell) => cell.dataset.value)")]


def test_all_products_are_listed_and_sum_to_the_score(see: See) -> None:
    inspector, given = see(step="scores", size=16), Operands(size=16)
    inspector.click("scores", 3, 1)
    inspector.panel.get_by_text("all 16 products").click()
    products = inspector.line("scores").locator(".term-product")
    expect(products).to_have_count(16)
    shown = [float(x) for x in products.evaluate_all("all => all.map((x) => x.dataset.value)")]
    assert shown == pytest.approx(given.query[3].astype(float) * given.key[1], abs=1e-12)
    total = inspector.line("scores").locator("[data-sum]").get_attribute("data-sum")
    assert float(total or "nan") == pytest.approx(sum(shown), abs=1e-12)
    first = inspector.line("scores").locator(".term-sum").first.inner_text()
    assert signed(first) == f"{given.query[3, 0]:.4f} × {given.key[1, 0]:.4f} = {shown[0]:.4f}"


def signed(text: str) -> str:
    return " ".join(text.replace("−", "-").replace("\u2007", " ").split())


def test_a_product_with_a_bias_is_written_out_and_a_plain_operand_shows_its_name_and_value(see: See) -> None:
    inspector, given = see(step="qkv"), Operands()
    inspector.hover("query", 3, 5)
    expect(inspector.panel.get_by_role("heading")).to_contain_text("query[3, dim 5]")
    expect(inspector.line("product")).to_contain_text("X[3, ·] · W_query[·, dim 5]")
    expect(inspector.line("product")).to_contain_text("(bias)")
    expected = given.embeddings[3].astype(float) @ given.weight[:, 5] + given.bias[5]
    assert inspector.result("product") == pytest.approx(expected, abs=1e-9)
    expect(inspector.line("cell")).to_have_count(0)  # the cell's number is the one worked out: once is enough
    inspector.hover("W_query", 4, 7)
    expect(inspector.line("cell")).to_contain_text("W_query[feature 4, dim 7]")
    assert inspector.result("cell") == pytest.approx(float(Operands().weight[4, 7]))


def test_what_is_subtracted_before_the_softmax_is_written(run: Run) -> None:
    """Above 80 the row's largest is subtracted, and then the exponent is written with it."""
    given = [(largest, k) for largest in (79.9, 80.0, 80.1, -79.9, -80.1, 300.0) for k in (0, 2)]
    rows = [torch.tensor([largest - 1.5, largest, largest - 0.25], dtype=torch.double) for largest, _ in given]
    body = f"""
      const {{ softmax }} = await import("{CORE}/attention.ts");
      const {{ write }} = await import("{CORE}/template.ts");
      return given.map(([scores, k]) => {{
        const row = softmax(Float64Array.from(scores));
        const masked = scores[k];
        const cell = {{ ...row, masked, exponential: Math.exp(masked - row.shift), weight: row.weights[k] }};
        const line = document.createElement("p");
        write(line, ...m.weights(cell));
        return [line.textContent, line.querySelector("sup").textContent];
      }});
    """
    written_of = run("inspector/chain.ts", body, [[row.tolist(), k] for row, (_, k) in zip(rows, given, strict=True)])
    for (text, exponent), row, (largest, k) in zip(written_of, rows, given, strict=True):
        shift = largest if abs(largest) > 80 else 0.0
        own = f"{float(row[k]):.4f}"
        written = f"({own} − {f'{shift:.4f}' if shift > 0 else f'({shift:.4f})'})" if shift else own
        assert exponent == written.replace("-", "−")
        assert ("is subtracted first" in text) == bool(shift)
        top, bottom, weight = re.findall(r"= (\S+) / (\S+) = (\S+)", " ".join(text.split()))[0]
        numbers = [float(one.replace("−", "-")) for one in (top, bottom, weight)]
        exponentials = (row - shift).exp()
        assert numbers[0] == pytest.approx(float(exponentials[k]), rel=1e-3)
        assert numbers[1] == pytest.approx(float(exponentials.sum()), rel=1e-3)
        assert numbers[2] == pytest.approx(float(torch.softmax(row, -1)[k]), abs=5e-5)
        assert math.isclose(float(exponentials[k] / exponentials.sum()), float(torch.softmax(row, -1)[k]))

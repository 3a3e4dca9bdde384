"""A soft cap and a sink in a real browser: what is computed, shown, said and played of them is what torch computes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from tests.browser.apps.operands import Operands, oracle
from tests.browser.apps.walk_page import See
from tests.browser.modules import CORE, Run

CAP, SINK = 1.5, 0.75
BOTH = {"cap": CAP, "sink": SINK}

pytestmark = pytest.mark.page("one_page")


@pytest.mark.parametrize("mask", ["none", "causal", "array", "-1e10 before"])
def test_the_browsers_attention_is_torchs(run: Run, mask: str) -> None:
    given = Operands(mask=mask, **BOTH)
    hidden = np.isneginf(given.added)
    is_array, is_filled = mask == "array", mask == "-1e10 before"
    operands = {
        "arrays": {name: getattr(given, name).tolist() for name in ("query", "key", "value")},
        "mask": np.where(hidden, None, given.added).tolist() if is_array else (~hidden).tolist() if is_filled else None,
        "bytes": is_filled,
        "header": {
            "scale": given.size**-0.5, "cap": CAP, "mask": "array" if is_array or is_filled else mask,
            "mask_value": -1e10 if is_filled else None, "mask_fills": "scores" if is_filled else "scaled",
        },
        "sink": SINK,
    }  # fmt: skip
    body = """
      const packed = (rows, type = Float32Array) => ({
        data: type.from(rows.flat(), (x) => x === null ? -Infinity : Number(x)), shape: [rows.length, rows[0].length],
      });
      const arrays = Object.fromEntries(Object.entries(given.arrays).map(([name, rows]) => [name, packed(rows)]));
      if (given.mask) arrays.mask = packed(given.mask, given.bytes ? Uint8Array : Float32Array);
      arrays.sinks = packed(given.arrays.query.map(() => [given.sink]));
      const a = new m.Attention(given.header, arrays);
      return given.arrays.query.map((_, q) => {
        const { capped, masked, weights, sink, allHidden } = a.row(q);
        return [[...capped], [...masked].map(String), [...weights], sink.share, [...a.output(q)], allHidden];
      });
    """
    steps = oracle(given)
    capped, masked, weights, sink, outputs, nothing = zip(*run("core/attention.ts", body, operands), strict=True)
    near = {"rel": 1e-6, "abs": 1e-6}
    assert np.array(capped) == pytest.approx(steps["capped"], **near)
    assert np.array(masked, float) == pytest.approx(steps["masked"], **near)
    assert np.array(weights) == pytest.approx(steps["weights"], **near)
    assert np.array(sink) == pytest.approx(steps["sink"][:, 0], **near)
    assert np.array(outputs) == pytest.approx(steps["head_outputs"], **near)
    assert list(nothing) == (hidden.all(1) & (not is_filled)).tolist()


def test_a_sink_that_is_far_above_all_keys_takes_all(run: Run) -> None:
    body = """
      const of = (masked, sink) => {
        const { weights, sink: { exponential, share }, shift, sum } = m.softmax(Float64Array.from(masked), sink);
        return [...weights, share, shift, sum, exponential];
      };
      return [of([0, 1], 900), of([-900, -901], -900), of([900, 1], 0)];
    """
    for (*weights, share, _, sum_, exponential), scores in zip(
        run("core/attention.ts", body), ([0, 1, 900], [-900, -901, -900], [900, 1, 0]), strict=True
    ):
        expected = torch.softmax(torch.tensor(scores).double(), 0).tolist()
        assert [*weights, share] == pytest.approx(expected, abs=1e-12)
        assert math.isfinite(sum_) and exponential / sum_ == pytest.approx(share)


def test_the_cells_of_the_pictures_and_their_arithmetic_are_torchs(see: See) -> None:
    given = Operands(**BOTH)
    steps = oracle(given)
    view = see(of_scores=BOTH)
    titles = view.page.locator(".stepper [role=radio]").all_inner_texts()
    at = titles.index("Capped")
    assert titles[at - 1 : at + 2] == ["Scaled", "Capped", "Masked"]
    for step, panel, q, k in (("capped", "capped", 3, 1), ("masked", "masked", 0, 11), ("weights", "weights", 7, 2)):
        view.show(step)
        view.hover(panel, q, k)
        for name in ("scores", "scaled", "capped", "masked", "weights"):
            assert view.result(name) == pytest.approx(steps[name][q, k], rel=1e-12, abs=1e-9), name
        expect(view.line("capped")).to_contain_text("c × tanh(scaled / c) = 1.5000 × tanh(")
        share = 100 * steps["sink"][q, 0]
        expect(view.line("weights")).to_contain_text(f"of the sink, which takes {share:.0f}")
    view.hover("sink", 4, 0)
    assert view.result("cell") == pytest.approx(float(steps["sink"][4, 0]), abs=1e-6)
    expect(view.panel).to_contain_text("the share that the sink takes of row")
    view.hover("sinks", 4, 0)
    assert view.result("cell") == SINK
    view.hover("row_sum", 4, 0)
    assert view.result("cell") == pytest.approx(1 - float(steps["sink"][4, 0]), abs=1e-6)


def test_the_sentence_and_what_is_pinned_say_the_sinks_share(see: See) -> None:
    steps = oracle(Operands(**BOTH))
    view = see(of_scores=BOTH, step="tokens", q=3)
    share = 100 * float(steps["sink"][3, 0])
    expect(view.page.locator(".finding")).to_contain_text(f"The sink takes {share:.0f} %.")
    view.page.locator("button.question").click()
    cells = view.page.locator(".arithmetic tr", has_text="the sink").locator("td")
    expect(cells.last).to_have_text(f"{share / 100:.4f}")
    assert "capped" in view.page.locator(".arithmetic thead th").all_inner_texts()
    view.show("weights")
    expect(view.page.locator(".walk .fact")).to_contain_text(f"; the sink takes {share:.0f} %.")
    view.show("capped")
    at = int(np.abs(steps["scaled"][3]).argmax())
    before, after = (f"{steps[name][3, at]:.2f}".replace("-", "−") for name in ("scaled", "capped"))
    expect(view.page.locator(".walk .fact")).to_contain_text(f"goes from {before} to {after} (c = 1.5).")


def test_without_them_no_step_and_no_column_is_added(see: See) -> None:
    view = see(step="weights")
    assert "Capped" not in view.page.locator(".stepper [role=radio]").all_inner_texts()
    view.hover("weights", 3, 1)
    expect(view.line("capped")).to_have_count(0)
    expect(view.line("weights")).not_to_contain_text("sink")


def test_a_soft_cap_and_a_sink_are_played_with_their_numbers(run: Run) -> None:
    body = f"""
      const {{ softmax, softCap }} = await import("{CORE}/attention.ts");
      const scaled = [[2, -8], [0.5, 1]];
      const capped = scaled.map((row) => row.map((x) => softCap(x, 4)));
      const shares = capped.map((row) => softmax(Float64Array.from(row), 1));
      const panel = (name, z, own = {{}}) => ({{
        name, rows: "query", cols: "key", shape: [z.length, z[0].length], data: Float32Array.from(z.flat()), ...own,
      }});
      const picture = (...panels) => ({{ panels, labels: {{ query: ["a", "b"], key: ["c", "d"] }} }});
      const said = (step, ...panels) => {{
        const played = {{ step, picture: picture(...panels), scale: 1, hidden: -Infinity, cap: 4 }};
        const line = m.timelineOf({{ ...played, example: {{ q: 0, k: 1 }} }});
        return line.stills.map((t) => line.at(t).says.map(([words]) => words).join(""));
      }};
      return [
        said("capped", panel("scaled", scaled), panel("capped", capped)),
        said("masked", panel("capped", capped), panel("masked", capped)),
        said("weights", panel("masked", capped), panel("sinks", [[1], [1]], {{ cols: "" }}),
          panel("weights", shares.map(({{ weights }}) => [...weights])),
          panel("sink", shares.map(({{ sink }}) => [sink.share]), {{ cols: "" }}),
          panel("row_sum", shares.map(({{ weights }}) => [weights[0] + weights[1]]), {{ cols: "" }})),
      ];
    """
    capped, masked, weights = run("motion/timeline.ts", body)
    value = 4 * math.tanh(-8 / 4)
    assert any(f"4 × tanh(−8.00 / 4) = {value:.2f}".replace("-", "−") in said for said in capped)
    assert any(f"{value:.2f} stays".replace("-", "−") in said for said in masked)
    row = torch.tensor([4 * math.tanh(0.5), value, 1.0]).double()
    sums, shares = float(row.exp().sum()), row.softmax(0)
    assert f"the sum of the row’s exponentials, with {math.e:.2f} of the sink: {sums:.2f}" in weights
    assert any(
        said.endswith(f"the weights sum to {float(shares[:2].sum()):.2f}; the sink takes {float(shares[2]):.2f}")
        for said in weights
    )

"""A position bias in a real browser: what is computed, shown, said and played of it is what torch computes."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from attnviz.document import document_of_layer, write
from attnviz.steps import WALK
from attnviz.toy.config import ToyConfig
from attnviz.trace.buckets import Buckets
from attnviz.trace.matrices import find_matrix
from attnviz.trace.position_bias import PositionBias
from attnviz.trace.walk import Walk
from tests.browser.apps.operands import MAX_DISTANCE, Operands, oracle
from tests.browser.apps.operands import document as document_of_operands
from tests.browser.apps.walk_page import See
from tests.browser.modules import BASE64, BYTES, CORE, Run
from tests.browser.settle import frames, still
from tests.browser.test_document import array
from tests.toy import run_block

BUCKETS = 8
BIASED = {"buckets": BUCKETS}

pytestmark = pytest.mark.page("one_page")


@pytest.mark.parametrize(
    "config",
    [ToyConfig(positions="alibi", causal=True), ToyConfig(positions="alibi", cap=1.5, sink=0.5, heads=3),
     ToyConfig(positions="buckets", window=3, causal=True), ToyConfig(positions="buckets", padding=2, scale="off"),
     ToyConfig(positions="alibi", padding=1, causal=True, mask_value="-1e10_before", scale="0.3")],
)  # fmt: skip
def test_the_browsers_matrices_are_torchs(run: Run, config: ToyConfig) -> None:
    walk = run_block(range(9), config).walk(0, 1)
    body = f"""
      {BYTES} {BASE64}
      const {{ read }} = await import("{CORE}/document.ts");
      const matrices = m.matricesOf(read(bytes(given)), 1);
      const names = ["scaled", "position_bias", "biased", "masked", "weights", "row_sum", "head_outputs"];
      return Object.fromEntries(names.map((name) => [name, base64(matrices.get(name))]));
    """
    computed = run("walk/matrices.ts", body, b64encode(write(document_of_layer(walk))).decode())
    for name, encoded in computed.items():
        ours, theirs = array(encoded), find_matrix(walk, name)
        assert theirs is not None
        is_blank = {"masked": walk.steps.hidden, "weights": walk.steps.hidden_weights}.get(name)
        hidden = np.zeros(theirs.shape, bool) if is_blank is None else is_blank.numpy()
        assert bool(np.isnan(ours[hidden]).all()), name
        np.testing.assert_allclose(ours[~hidden], theirs.numpy()[~hidden], rtol=1e-5, atol=1e-5, err_msg=name)


def ending_at_its_window() -> Walk:
    """Return a head whose position bias has no numbers outside of its window, as LongT5's."""
    walk = run_block(range(9), ToyConfig(positions="buckets", window=3)).walk(0, 1)
    bias = walk.layer.position_bias
    assert bias is not None
    cells = bias.cells.expand(walk.layer.heads, 9, 9).masked_fill(walk.steps.hidden, -torch.inf)
    return replace(walk, layer=replace(walk.layer, position_bias=PositionBias(cells, bias.buckets)))


def test_where_there_is_no_bias_cells_are_hidden_as_those_of_the_masked_scores(run: Run) -> None:
    walk = ending_at_its_window()
    body = f"""
      {BYTES} {BASE64}
      const {{ read }} = await import("{CORE}/document.ts");
      const {{ pinnedFact }} = await import("/frontend/walk/pinned_fact.ts");
      const {{ pictureOf }} = await import("/frontend/walk/pictures.ts");
      const document = read(bytes(given)), matrices = m.matricesOf(document, 1);
      const names = ["scaled", "position_bias", "biased", "masked", "weights"];
      const step = document.header.steps.find(({{ name }}) => name === "biased");
      const panels = pictureOf(document, "biased", 1, {{}}).panels;
      const {{ captionOf }} = await import("/frontend/walk/captions.ts");
      const {{ Chain }} = await import("/frontend/inspector/chain.ts");
      const {{ write }} = await import("/frontend/core/template.ts");
      const section = globalThis.document.createElement("section");
      const attention = matrices.attention;
      attention.header = {{ ...document.header, biased: true }};
      write(section, ...new Chain().lines({{ attention, step: "masked", steps: [] }}, 0, 8));
      return [
        Object.fromEntries(names.map((name) => [name, base64(matrices.get(name))])),
        [null, 0, 8].map((k) => pinnedFact(matrices, step, {{ q: 0, k }}).text),
        panels.map(({{ name, reasons }}) => [name, reasons?.window]),
        captionOf(matrices, step, {{ q: 0, k: 8 }}).map(([words]) => words).join(""),
        section.textContent,
      ];
    """
    computed, said, panels, caption, arithmetic = run(
        "walk/matrices.ts", body, b64encode(write(document_of_layer(walk))).decode()
    )
    hidden = walk.steps.hidden.numpy()
    for name, encoded in computed.items():
        ours, theirs = array(encoded), find_matrix(walk, name)
        assert theirs is not None
        assert bool(np.isnan(ours[hidden]).all()) is (name != "scaled"), name
        np.testing.assert_allclose(ours[~hidden], theirs.numpy()[~hidden], rtol=1e-5, atol=1e-5, err_msg=name)
    assert all("its score is then" in fact and "∞" not in fact for fact in said[:2])
    assert said[2].endswith("column 8, “8”, outside of the window, is not looked at: no bias is shown.")
    assert caption == "“8” is outside of the window: it is not looked at, so no bias is shown."
    assert "outside of the window: no bias is shown" in arithmetic and "NaN" not in arithmetic
    assert "−∞hidden: key 8 is outside the window of query 0" in arithmetic
    assert panels == [["scaled", None], ["position_bias", [1, 1]], ["biased", [1, 1]]]


@pytest.mark.parametrize("both_sides", [True, False])
@pytest.mark.parametrize(("count", "most"), [(32, 128), (8, 10), (64, 256)])
def test_distances_are_in_the_same_buckets(run: Run, count: int, most: int, both_sides: bool) -> None:
    n = 600
    expected = Buckets(count, most, both_sides).of(n, n).numpy()
    body = f"return Array.from({{ length: 2 * {n} - 1 }}, (_, at) => m.bucketOf(at - {n - 1}, given));"
    given = {"count": count, "max_distance": most, "both_sides": both_sides}
    assert run("core/buckets.ts", body, given) == [*expected[-1, :-1].tolist(), *expected[0].tolist()]
    body = f"return [-3, -50, 200, 0].map((offset) => m.rangeOf(offset, given, {n - 1}));"
    for offset, found in zip((-3, -50, 200, 0), run("core/buckets.ts", body, given), strict=True):
        row = expected[0] if offset > 0 else expected[-1, ::-1]  # by distance, the query with those before it
        same = np.flatnonzero(row == row[abs(offset)])
        assert (found["first"], found["last"]) == (same.min(), same.max())


def test_the_cells_of_the_pictures_and_their_arithmetic_are_torchs(see: See) -> None:
    steps = oracle(Operands(**BIASED))
    view = see(of_scores=BIASED)
    titles = view.page.locator(".stepper [role=radio]").all_inner_texts()
    at = titles.index("Biased")
    assert titles[at - 1 : at + 2] == ["Scaled", "Biased", "Masked"]
    view.step(WALK["biased"].title)
    expect(view.page.locator(view.picture)).to_have_attribute("data-step", "biased")
    still(view.page)
    frames(view.page)
    view.hover("biased", 3, 1)
    for name in ("scores", "scaled", "biased", "masked", "weights"):
        assert view.result(name) == pytest.approx(steps[name][3, 1], rel=1e-12, abs=1e-9), name
    bias = Operands(**BIASED).position_bias[3, 1]
    written = f"{abs(bias):.4f}"
    expect(view.line("biased")).to_contain_text(f"(−{written})" if bias < 0 else f"+ {written}")
    expect(view.line("capped")).to_have_count(0)
    view.hover("position_bias", 3, 1)
    expect(view.panel).to_contain_text("key 1 is 2 positions before query 3")
    assert view.result("cell") == pytest.approx(float(bias), abs=1e-6)


def test_what_is_pinned_says_the_distance_and_its_bucket(see: See) -> None:
    given = Operands(**BIASED)
    view = see(of_scores=BIASED, step="biased", q=9, k=2)
    bucket = int(Buckets(BUCKETS, MAX_DISTANCE, both_sides=True).of(12, 12)[9, 2])
    numbers = given.position_bias[9, 2], oracle(given)["biased"][9, 2]
    bias, biased = (f"{number:.2f}".replace("-", "−") for number in numbers)
    fact = view.page.locator(".walk .fact")
    expect(fact).to_contain_text(f", 7 positions before it, gets {bias}, of bucket {bucket} (")
    expect(fact).to_contain_text(f" positions before): its score is then {biased}.")
    assert (given.position_bias[9] == given.position_bias[9, 2]).sum() > 1, "other distances share its bucket"


TERMS = {"span": 3}
NAMES = "content_to_position", "position_to_content"


def test_a_cell_of_a_term_says_its_products_and_they_sum_to_it(see: See) -> None:
    given = Operands(**TERMS)
    steps, terms = oracle(given), dict(zip(NAMES, given.terms, strict=True))
    view = see(of_scores=TERMS, step="biased")
    still(view.page)
    for name, (q, k), said in (
        (NAMES[0], (9, 2), "q₉ · key of δ = 3 (3 to 11 positions before) = "),
        (NAMES[1], (1, 3), "k₃ · query of δ = −2 = "),
    ):
        view.hover(name, q, k)
        expect(view.line("term")).to_contain_text(said)
        assert view.result("term") == pytest.approx(terms[name][q, k], rel=1e-5, abs=1e-5)
        expect(view.panel).to_contain_text(
            f"key {k} is {abs(k - q)} positions {'after' if k > q else 'before'} query {q}"
        )
        expect(view.line("cell")).to_have_count(0)
        summands = view.line("term").locator("details[data-terms=term]")
        summands.evaluate("details => { details.open = true }")
        total = summands.locator(".terms-total [data-sum]")
        expect(total).to_have_count(1)
        summed = float(total.get_attribute("data-sum") or "nan")
        assert summed / given.size**0.5 == pytest.approx(terms[name][q, k], rel=1e-5, abs=1e-5)
    view.hover("biased", 9, 2)
    assert view.result("biased") == pytest.approx(steps["biased"][9, 2], rel=1e-5, abs=1e-5)
    written = [f"{abs(term[9, 2]):.4f}" for term in terms.values()]
    for number in written:
        expect(view.line("biased")).to_contain_text(number)


def test_of_a_pin_both_terms_and_its_distance_are_said(see: See) -> None:
    given = Operands(**TERMS)
    view = see(of_scores=TERMS, step="biased", q=9, k=2)
    first, second = (float(term[9, 2]) for term in given.terms)
    fact = view.page.locator(".walk .fact")
    total, biased = (
        written.replace("-", "−").replace("+ −", "− ")
        for written in (f"{first:.2f} + {second:.2f}", f"{oracle(given)['biased'][9, 2]:.2f}")
    )
    expect(fact).to_contain_text(
        f", 7 positions before it, gets {total}, for δ = 3 (3 to 11 positions before): its score is then {biased}."
    )


@pytest.mark.parametrize(("span", "tokens"), [(3, 2), (3, 12), (20, 7)])
def test_what_is_added_is_written_as_a_sum_and_a_vector_by_its_distances(run: Run, span: int, tokens: int) -> None:
    """A negative term is taken away. What a vector stands for in a text is read off its relative positions."""
    given = Operands(span=span, tokens=tokens)
    body = f"""
      {BYTES} {BASE64}
      const {{ read }} = await import("{CORE}/document.ts");
      const {{ matricesOf }} = await import("/frontend/walk/matrices.ts");
      const document = read(bytes(given)), matrices = matricesOf(document, 0);
      const step = document.header.steps.find(({{ name }}) => name === "biased");
      const all = Array.from({{ length: {tokens**2} }}, (_, at) => [Math.floor(at / {tokens}), at % {tokens}]);
      return all.map(([q, k]) => m.pinnedFact(matrices, step, {{ q, k }}));
    """
    said = run("walk/pinned_fact.ts", body, b64encode(document_of_operands(given, 1)).decode())
    at = np.arange(tokens)
    distances = at[:, None] - at
    relative = distances.clip(-span, span)
    for (q, k), fact in zip(np.ndindex(tokens, tokens), said, strict=True):
        numbers = [f"{np.round(term[q, k], 2) + 0.0:.2f}".replace("-", "−") for term in given.terms]
        total = " + ".join(numbers).replace("+ −", "− ")
        same = np.abs(distances[relative == relative[q, k]])
        side = "before" if q > k else "after"
        several = f" ({same.min()} to {same.max()} positions {side})" if np.ptp(same) else ""
        row = str(relative[q, k]).replace("-", "−")
        assert f" gets {total}, for δ = {row}{several}: its score" in fact["text"]
        words = ["".join([*fact["text"]][mark["from"] : mark["to"]]) for mark in fact["marks"] if mark["matrix"]]
        assert words[:2] == [numbers[0], numbers[1].lstrip("−")]


def test_without_one_no_step_is_added(see: See) -> None:
    view = see(step="weights")
    assert "Biased" not in view.page.locator(".stepper [role=radio]").all_inner_texts()
    view.hover("weights", 3, 1)
    expect(view.line("biased")).to_have_count(0)


def test_the_sum_is_played_with_its_numbers(run: Run) -> None:
    body = """
      const panel = (name, z) => ({
        name, rows: "query", cols: "key", shape: [z.length, z[0].length], data: Float32Array.from(z.flat()),
      });
      const picture = (...panels) => ({ panels, labels: { query: ["a", "b"], key: ["c", "d"] } });
      const said = (step, ...panels) => {
        const played = { step, picture: picture(...panels), scale: 1, hidden: -Infinity };
        const line = m.timelineOf({ ...played, example: { q: 0, k: 1 } });
        return line.stills.map((t) => line.at(t).says.map(([words]) => words).join(""));
      };
      const [scaled, bias, biased] = [[[2, -8], [0.5, 1]], [[0, -0.5], [-0.5, 0]], [[2, -8.5], [0, 1]]];
      const small = [[[2, 0.185]], [[0, -0.12]], [[2, 0.065]]];
      return [
        said("biased", panel("scaled", scaled), panel("position_bias", bias), panel("biased", biased)),
        said("masked", panel("biased", biased), panel("masked", biased)),
        said("biased", panel("scaled", small[0]), panel("position_bias", small[1]), panel("biased", small[2])),
        said("biased", panel("scaled", small[0]), panel("content_to_position", small[1]),
          panel("position_to_content", [[-1, 0.02]]), panel("biased", [[1, 0.085]])),
        said("biased", panel("scaled", small[0]), panel("position_bias", [[0, NaN]]), panel("biased", [[2, NaN]])),
        said("masked", panel("biased", [[2, NaN]]), panel("masked", [[2, NaN]])),
      ];
    """
    sums, masked, small, terms, *outside = run("motion/timeline.ts", body)
    assert any("(−8.00) + (−0.50) = −8.50" in said for said in sums)
    assert any("−8.50 stays" in said for said in masked)
    assert any("0.185 + (−0.120) = 0.065" in said for said in small)
    assert any("0.185 + (−0.120) + 0.020 = 0.085" in said for said in terms)
    assert any("outside of the window, so no bias is shown" in said for said in outside[0])
    assert any("It is hidden: −∞" in said for said in outside[1])
    assert not any("NaN" in said or "∞ is" in said for said in (*outside[0], *outside[1]))

"""The inspector's modules, one at a time: what a cell, a row and a pin say, by numbers of torch and cases by hand."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch.nn import functional as F

from attnviz.trace.model import Pairing
from attnviz.trace.rotation import Rotation
from tests.browser.modules import Run

PARTS = """
  const { axisOf } = await import("/frontend/board/panels.ts");
  const panel = (name, rows, cols, z, own = {}) => ({
    name, rows, cols, z, height: z.length, width: z[0].length, x: axisOf(0, 60, [0, z[0].length]),
    y: axisOf(0, 60, [0, z.length]), ...own,
  });
  const said = (one) => one.textContent.replaceAll("\u2007", " ").replace(/\\s+/g, " ").trim();
  const lines = (root) => Object.fromEntries([...root.querySelectorAll("[data-line]")]
    .map((one) => [one.dataset.line, said(one.querySelector(".formula") ?? one)]));
  const { Attention } = await import("/frontend/core/attention.ts");
  const { write } = await import("/frontend/core/template.ts");
  const room = document.createElement("section");
  document.body.append(room);
  const find = (css) => room.querySelector(css);
  const packed = (data, ...shape) => ({ data: Float32Array.from(data), shape });
  const attention = (own = {}, mask = undefined) => new Attention(
    { scale: 0.5, scale_label: "1/√4", mask: "none", mask_value: null, mask_fills: "scaled", way: null, ...own },
    { query: packed([1, 0, 0, 2, 1, 1], 3, 2), key: packed([2, 1, 0, 4, -1, 3], 3, 2),
      value: packed([1, 2, 3, 4, 5, 6, 7, 8, 10], 3, 3), ...(mask ? { mask: packed(mask, 3, 3) } : {}) },
  );
"""


def test_each_scale_and_mask_is_written_as_it_is(run: Run) -> None:
    body = """
      const chain = new m.Chain();
      const show = (own, q, k, mask) => {
        write(room, ...chain.lines({ attention: attention(own, mask), step: "scores", steps: [] }, q, k));
        return lines(room);
      };
      const causal = { causal: true, window: null, padding: [] };
      const parts = (width, padding = []) => (
        { mask: "array", mask_reasons: { causal: width !== null, window: width && [width - 1, 0], padding } }
      );
      const window = [0, -Infinity, -Infinity, 0, 0, -Infinity, -Infinity, 0, 0];
      return [
        show({}, 1, 2), show({ scale: 1, scale_label: "off" }, 1, 2), show({ scale_label: "0.5000" }, 1, 2),
        show({ scale: 0.123456, scale_label: "0.123456" }, 1, 2), show(parts(2), 2, 0, window),
        show(parts(2), 2, 1, window), show(parts(2), 0, 2, window), show(parts(2, [0]), 2, 0, window),
        show(parts(null, [0]), 2, 1, window), show({ mask: "causal", mask_reasons: causal }, 1, 1),
        show({ mask: "array" }, 2, 1, window), show({ mask: "array" }, 2, 0, window),
        show({ mask: "array" }, 0, 1, [0, -0.5, 0, 0, 0, 0, 0, 0, 0]),
      ];
    """
    plain, off, number, exact, outside, inside, *others = run("inspector/chain.ts", PARTS + body)
    future, padding, seen, causal, kept, hidden, added = others
    # query 1 = (0, 2), key 2 = (-1, 3)
    assert plain["scores"] == "q₁ · k₂ = 0.00·(−1.00) + 2.00·3.00 = 6.0000"
    assert plain["scaled"] == "6.0000 × 1/√4 = 6.0000 × 0.5000 = 3.0000"
    assert off["scaled"] == "6.0000 × 1 = 6.0000scaling is off"
    assert number["scaled"] == "6.0000 × 0.5000 = 3.0000"
    assert exact["scaled"] == "6.0000 × 0.1235 = 0.7407"
    assert plain["masked"] == "3.0000 kept: nothing is masked"
    assert outside["masked"] == "1.5000 → −∞hidden: key 0 is outside the window of query 2"
    assert inside["masked"] == "2.0000 kept: key 1 is in the window of query 2"
    assert future["masked"].endswith("→ −∞hidden: key 2 comes after query 0")
    assert padding["masked"] == "1.5000 → −∞hidden: key 0 is padding"
    assert seen["masked"] == "2.0000 kept: key 1 is no padding"
    assert hidden["masked"] == "1.5000 → −∞hidden: the mask adds −∞ here"
    assert causal["masked"] == "4.0000 kept: key 1 is not after query 1"
    assert kept["masked"] == "2.0000 kept: the mask adds 0 here"
    assert added["masked"] == "0.0000 + (−0.5000) = −0.5000the mask adds a number here"
    weights = torch.softmax(torch.tensor([1.0, 4.0, 3.0], dtype=torch.float64), 0)
    value = torch.tensor([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]], dtype=torch.float64)
    share, whole = (weights[2] * value[2]).tolist(), (weights @ value).tolist()
    assert plain["head_outputs"] == (
        f"{weights[2]:.4f} × v₂ = [{share[0]:.3f}, {share[1]:.3f}, …]Σⱼ wⱼ·vⱼ = [{whole[0]:.3f}, {whole[1]:.3f}, …]"
    )


def test_the_ways_to_attention_are_written_by_their_own_lines(run: Run) -> None:
    body = """
      const chain = new m.Chain();
      const of = (way) => new Attention(
        { scale: 1, scale_label: "off", mask: "causal", mask_value: null, mask_fills: "scaled", way },
        { value: packed([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 4, 3) },
      );
      const show = (way, q, k) => {
        write(room, ...chain.lines({ attention: of(way), step: way, steps: [] }, q, k));
        return [find("[data-line=head_outputs] .line-name").textContent, lines(room)];
      };
      return [show("matrix", 0, 0), show("matrix", 2, 2), show("matrix", 2, 3), show("loop", 0, 0), show("loop", 1, 2),
        show("loop", 2, 2), show("softmax", 1, 0)];
    """
    found = run("inspector/chain.ts", PARTS + body)
    first, diagonal, above, alone, two, three, equal = (one for _, one in found)
    assert {title for title, _ in found} == {"average"}
    assert first["weights"] == "1 / 1 = 1.0000row 0 shares 1 among the 1 token up to its own"
    assert diagonal["weights"] == "1 / 3 = 0.3333row 2 shares 1 among the 3 tokens up to its own"
    assert above["weights"] == "0.0000key 3 comes after row 2: the upper triangle is 0"
    assert list(above) == ["weights", "head_outputs"]
    assert alone == {"head_outputs": "(x₀) / 1 = [1.000, 2.000, …]x₀ is one of the 1"}
    assert two["head_outputs"] == "(x₀ + x₁) / 2 = [2.500, 3.500, …]x₂ comes after row 1: it is not added"
    assert three["head_outputs"] == "(x₀ + … + x₂) / 3 = [4.000, 5.000, …]x₂ is one of the 3"
    assert list(equal) == ["scores", "masked", "weights", "head_outputs"]
    assert equal["scores"] == "0.0000 every score is 0"
    assert equal["head_outputs"].startswith("0.5000 × x₀ = [0.500, 1.000, …]Σⱼ wⱼ·xⱼ = [2.500")


def test_a_running_mean_lists_its_sums(run: Run) -> None:
    body = """
      const { Folded } = await import("/frontend/inspector/lists.ts");
      const list = new Folded("mean");
      list.root.open = true;
      const x = [[9, 1], [9, -2], [9, 4], [9, 8]];
      const show = (i) => {
        const { lines, value } = m.runningMean(x, { i, j: 1 }, (row) => `row ${row}`, list);
        write(room, ...lines);
        return [value, said(find(".formula")), find("summary").textContent, [...find(".terms").children].map(said),
          said(find(".terms-total"))];
      };
      return [show(0), show(2), show(3)];
    """
    one, three, four = run("inspector/operation.ts", PARTS + body)
    assert one == [1, "(1.00) / 1 = 1.0000 / 1 = 1.0000", "the one number", ["row 01.0000"], "divided by 1: 1.0000"]
    assert three == [
        1, "(1.00 + (−2.00) + 4.00) / 3 = 3.0000 / 3 = 1.0000", "all 3 running sums",
        ["row 01.0000", "row 11.0000 + (−2.0000) = −1.0000", "row 2−1.0000 + 4.0000 = 3.0000"], "divided by 3: 1.0000",
    ]  # fmt: skip
    assert four[:2] == [2.75, "(1.00 + (−2.00) + 4.00 + …) / 4 = 11.0000 / 4 = 2.7500"]
    assert four[4] == "divided by 4: 2.7500"


def test_a_cell_means_what_its_matrix_holds(run: Run) -> None:
    body = """
      const z = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12.5]];
      const labels = { query: ["the", "cat"] };
      const look = (name, i, j, own = {}, more = {}) => {
        const shown = panel(name, "query", "dim", z, own);
        const line = document.createElement("p");
        write(line, ...m.meaningOf({ at: { i, j }, panel: shown, panels: [shown], labels, ...more }));
        return said(line);
      };
      const parts = [panel("token_embeddings", "query", "dim", z), panel("positions", "query", "dim", [[-1, -2], [-3,
        -4]])];
      const loop = packed([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 2, 6);
      return [
        look("row_sum", 1, 0), look("token_embeddings", 1, 4), look("positions", 1, 4), look("concat", 1, 4,
          { parts: 2 }),
        look("concat", 1, 5, { parts: 3 }), look("embeddings", 1, 1, {}, { panels: parts }),
        look("embeddings", 1, 1, {}, { panels: parts.slice(1) }), look("by_data", 1, 5, {}, { loop }),
          look("by_data", 1, 5),
        look("by_loop", 1, 5, {}, { loop }), look("query", 1, 5),
      ];
    """
    assert run("inspector/meaning.ts", PARTS + body) == [
        "sum of row “cat”: its weights together", "token “cat”, dimension 4", "position 1, dimension 4",
        "head 2, dimension 0", "head 1, dimension 2", "token + position = 8.0000 + (−4.0000) = 4.0000", "",
        "here 12.50000000, the loop 12.00000000: 0.50 apart", "", "", "",
    ]  # fmt: skip


ROW = torch.tensor([[0.5, -1.0, 3.0], [2.0, -0.5, 0.0]], dtype=torch.float64)
GAMMA, BETA = torch.tensor([2.0, 0.5, -1.5]).double(), torch.tensor([0.25, -1.0, 3.0]).double()


def test_what_is_no_product_is_worked_out_as_torch_works_it_out(run: Run) -> None:
    body = """
      const one = new m.Operation();
      const panels = [panel("x", "query", "dim", given.x), panel("y", "query", "dim", [[1, 2, 3], [4, 5, -6]])];
      const empty = { of: ["x"], weight: null, bias: null, eps: null, over: null, name: null };
      const show = (made, i, j) => {
        const worked = one.worked({ at: { i, j }, panels, made: { ...empty, ...made } });
        write(room, ...(worked?.lines ?? []));
        return [worked && lines(room), worked?.value, find("summary")?.textContent ?? null];
      };
      const norm = { kind: "norm", eps: 0.5, over: "token", weight: given.gamma, bias: given.beta };
      return [
        show(norm, 1, 2), show({ ...norm, over: "all", weight: null, bias: null }, 1, 0), show({ ...norm,
          bias: null }, 0, 2),
        show({ kind: "sum", of: ["x", "y"] }, 1, 2), show({ kind: "softmax" }, 1, 1),
        ...["relu", "gelu", "gelu_tanh"].flatMap((name) => [0, 1, 2].map((j) => show({ kind: "activation", name }, 1,
          j))),
        show({ kind: "sum", of: ["x", "gone"] }, 0, 0),
      ];
    """
    given = {"x": ROW.tolist(), "gamma": GAMMA.tolist(), "beta": BETA.tolist()}
    found = run("inspector/operation.ts", PARTS + body, given)
    shown, computed, squares = zip(*found, strict=True)
    expected = [
        F.layer_norm(ROW, [3], GAMMA, BETA, eps=0.5)[1, 2], F.layer_norm(ROW, [2, 3], eps=0.5)[1, 0],
        F.layer_norm(ROW, [3], GAMMA, eps=0.5)[0, 2], torch.tensor(-6.0), torch.softmax(ROW, -1)[1, 1],
        *F.relu(ROW)[1], *F.gelu(ROW)[1], *F.gelu(ROW, approximate="tanh")[1],
    ]  # fmt: skip
    assert computed[:-1] == pytest.approx([float(x) for x in expected], abs=1e-12)
    mean, variance = ROW[1].mean(), ROW[1].var(correction=0)
    assert shown[0]["mean"] == f"(2.00 + (−0.50) + …) / 3 = {mean:.4f}"
    assert shown[0]["variance"] == f"((2.00 − 0.50)² + (−0.50 − 0.50)² + …) / 3 = {variance:.4f}"
    assert shown[0]["norm"].startswith(
        f"(0.0000 − {mean:.4f}) / √({variance:.4f} + 0.5) × (−1.5000) (γ) + 3.0000 (β) ="
    )
    assert "/ 6 =" in shown[1]["mean"]
    assert "γ" not in shown[1]["norm"]
    assert "β" not in shown[2]["norm"]
    assert squares[:4] == ("all 3 squares", "all 6 squares", "all 3 squares", None)
    assert shown[3] == {"sum": "x[1, dim 2] + y[1, dim 2]0.0000 + (−6.0000) = −6.0000"}
    assert shown[5]["activation"] == "max(0, 2.0000) = 2.0000above 0: it stays"
    assert shown[6]["activation"] == "max(0, −0.5000) = 0.0000not above 0: it becomes 0"
    assert shown[7]["activation"] == "max(0, 0.0000) = 0.0000not above 0: it becomes 0"
    assert shown[8]["activation"].startswith(f"x · Φ(x) = 2.0000 × {torch.special.ndtr(ROW[1, 0]):.4f} = 1.9545")
    assert shown[11]["activation"].startswith("½ · 2.0000 · (1 + 0.9")
    assert shown[-1] is None


def test_what_is_subtracted_from_a_row_is_the_sinks_where_that_is_the_largest(run: Run) -> None:
    body = """
      const { softmax } = await import("/frontend/core/attention.ts");
      return [[[1, 2], 100], [[200, 2], 100]].map(([row, sink]) => {
        const all = softmax(Float64Array.from(row), sink);
        write(room, ...m.weights({ ...all, masked: row[0], exponential: all.exponentials[0], weight: all.weights[0] }));
        return room.textContent;
      });
    """
    of_sink, of_row = run("inspector/chain.ts", PARTS + body)
    assert "the sink's score, 100.0000, is subtracted first" in of_sink
    assert "the row's largest, 200.0000, is subtracted first" in of_row


def test_a_dimension_that_is_turned_is_worked_out_from_its_pair_and_the_angle(run: Run) -> None:
    """In both pairings, and of a dimension that stays."""
    x = torch.tensor([[0.5, -1.0, 3.0, 2.0, 7.0], [2.0, -0.5, 0.25, 1.0, -7.0]], dtype=torch.float64)
    angle = torch.tensor([[0.0, 0.0], [1.0, 0.1]], dtype=torch.float64)
    rotations = [Rotation(angle.cos(), angle.sin(), pairing) for pairing in get_args(Pairing)]
    body = """
      const one = new m.Operation();
      const panels = [panel("query", "query", "dim", given.x)];
      const made = { kind: "rotation", of: ["query"], cos: given.cos, sin: given.sin };
      return ["halves", "neighbours"].map((pairing) => [0, 1, 2, 3, 4].map((j) => {
        const worked = one.worked({ at: { i: 1, j }, panels, made: { ...made, pairing } });
        write(room, ...worked.lines);
        return [worked.value, lines(room)];
      }));
    """
    given = {"x": x.tolist(), "cos": angle.cos().flatten().tolist(), "sin": angle.sin().flatten().tolist()}
    halves, neighbours = run("inspector/operation.ts", PARTS + body, given)
    for rotation, found in zip(rotations, (halves, neighbours), strict=True):
        assert [value for value, _ in found] == pytest.approx(rotation.apply(x)[1].tolist(), abs=1e-12)
    assert halves[0][1] == {
        "angle": "θ of row 1 and pair 0 = 1.0000",
        "rotation": "query[1, dim 0] · cos θ − query[1, dim 2] · sin θ2.0000 · 0.5403 − 0.2500 · 0.8415 = 0.8702",
    }
    assert halves[3][1] == {
        "angle": "θ of row 1 and pair 1 = 0.1000",
        "rotation": "query[1, dim 1] · sin θ + query[1, dim 3] · cos θ−0.5000 · 0.0998 + 1.0000 · 0.9950 = 0.9451",
    }
    assert neighbours[1][1]["rotation"].startswith("query[1, dim 0] · sin θ + query[1, dim 1] · cos θ2.0000 · 0.8415 +")
    longer = {**given, "cos": [1.25 * x for x in given["cos"]], "sin": [1.25 * x for x in given["sin"]]}
    halves_longer, _ = run("inspector/operation.ts", PARTS + body, longer)
    assert (
        halves_longer[0][1]["angle"]
        == "θ of row 1 and pair 0 = 1.0000and f = 1.2500: the length changes by this factor"
    )
    assert halves_longer[0][1]["rotation"].startswith("query[1, dim 0] · f · cos θ − query[1, dim 2] · f · sin θ2.0000")
    assert halves[4][1] == {"rotation": "query[1, dim 4] = −7.0000this dimension is not turned"}


def test_a_number_that_an_rms_norm_divides_is_worked_out_as_torch_works_it_out(run: Run) -> None:
    """Of the row's own numbers, with their squares; and with the root of all heads together, which is given."""
    body = """
      const one = new m.Operation();
      const panels = [panel("query", "query", "dim", given.x)];
      const made = { kind: "rms_norm", of: ["query"], weight: given.gamma, eps: 0.5, root: null };
      return [[null, 1, 2], [null, 0, 0], [[2, 4], 1, 0]].map(([root, i, j]) => {
        const worked = one.worked({ at: { i, j }, panels, made: { ...made, root } });
        write(room, ...worked.lines);
        return [worked.value, lines(room)];
      });
    """
    found = run("inspector/operation.ts", PARTS + body, {"x": ROW.tolist(), "gamma": GAMMA.tolist()})
    normed = F.rms_norm(ROW, [3], GAMMA, eps=0.5)
    expected = [normed[1, 2], normed[0, 0], ROW[1, 0] / 4 * GAMMA[0]]
    assert [value for value, _ in found] == pytest.approx([float(x) for x in expected], abs=1e-12)
    mean = float(ROW[1].square().mean())
    assert found[0][1]["mean of squares"] == f"(2.00² + (−0.50)² + …) / 3 = {mean:.4f}"
    assert found[0][1]["norm"] == f"0.0000 / √({mean:.4f} + 0.5) × (−1.5000) (γ) = 0.0000"
    assert found[2][1] == {
        "norm": "2.0000 / 4.0000 × 2.0000 (γ) = 1.00004.0000: the root of the mean of the squares of all heads"
    }


def test_the_share_of_a_normal_distribution_is_torchs(run: Run) -> None:
    x = [-9.0, -8.5, -5.0, -3.0, -0.1, 0.0, 0.7, 4.0, 7.0, 8.4999, 8.5, 9.0]
    shares = run("core/arithmetic.ts", "return given.map((x) => m.normalShare(x))", x)
    assert shares == pytest.approx(torch.special.ndtr(torch.tensor(x, dtype=torch.float64)).tolist(), abs=1e-15, rel=0)


def test_a_product_names_its_operands_and_repeats_the_cell_only_where_it_differs(run: Run) -> None:
    body = """
      const product = new m.Product();
      product.terms.root.open = true;
      const left = panel("embeddings", "query", "model", [[1, 2], [3, NaN]]);
      const right = panel("W_query", "model", "dim", [[1, 0, -1], [2, 5, 0.5]]);
      const show = (z, made, i, j, panels = [left, right]) => {
        const own = panel("query", "query", "dim", z);
        const labels = (kind, c) => `${kind} ${c}`;
        write(room, ...product.lines({ at: { i, j }, panel: own, panels, products: made, labels }));
        const { product: line = null, cell = null } = lines(room);
        return [line, cell, find(".term-label ~ *") && said(room.querySelectorAll(".term-label")[1])];
      };
      const made = { query: { left: "embeddings", right: "W_query", bias: [10, 20, -30] } };
      const z = [[15, 30, -30], [13, 20, -33]];
      return [
        show(z, made, 0, 2), show(z, made, 1, 0), show([[15, 30, -29.9], [0, 0, 0]], made, 0, 2),
        show([[15.0014, 0, 0], [0, 0, 0]], made, 0, 0), show([[15.0016, 0, 0], [0, 0, 0]], made, 0, 0),
        show([[NaN, 0, 0], [0, 0, 0]], {}, 0, 0), show([[4, 0, 0], [0, 0, 0]], made, 0, 0, [left]),
        show([[4, 0], [0, 0]], made, 0, 0), show([[4, 0, 0]], made, 0, 0),
        m.colourOf("W_value"), m.colourOf("key_t"), m.colourOf("U_query"), m.colourOf("triangle"), m.colourOf("output"),
      ];
    """
    found = run("inspector/product.ts", PARTS + body)
    assert found[0] == [
        "X[0, ·] · W_query[·, dim 2] = 1.00·(−1.00) + 2.00·0.50 + (−30.0000) (bias) = −30.0000",
        None,
        "model 1",
    ]
    assert found[1][:2] == ["X[1, ·] · W_query[·, dim 0] = 3.00·1.00 + 0.00·2.00 + 10.0000 (bias) = 13.0000", None]
    assert found[2][1] == "query[0, dim 2] = −29.9000"
    assert [one[1] for one in found[3:5]] == [None, "query[0, dim 0] = 15.0016"]  # one in 10,000 is float32's
    assert found[5][:2] == [None, "query[0, dim 0] = −∞ (masked)"]
    # Without one of its operands, or with others than it is made of, it is only a number.
    assert [one[0] for one in found[6:9]] == [None] * 3
    assert found[9:] == ["value", "key", "query", "attention", "plain"]


def test_the_largest_gap_is_the_first_of_the_largest(run: Run) -> None:
    body = """
      const seen = [];
      const above = document.createElement("p");
      document.body.append(above);
      const gap = new m.LargestGap(above, { point: (at) => seen.push(at), click: (at) => seen.push(["click", at]) });
      const all = (by_loop, by_data) => ({ get: (name) => ({ by_loop: packed(by_loop, 2, 3), by_data: packed(by_data,
        2, 3) })[name] });
      const picture = (...names) => ({ panels: names.map((name) => ({ name, rows: "query", cols: "feature" })) });
      const at = (matrices, shown) => {
        gap.show(matrices, shown);
        return [gap.root.hidden, gap.at && [gap.at.panel, gap.at.i, gap.at.j]];
      };
      const looks = [
        at(all([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 7, 4]), picture("weights", "by_data")),
        at(all([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]), picture("by_data")),
        at(all([1, 2, 3, 4, 5, 6], [1, 2, 9, 4, 5, 6]), picture("by_data")), at(null, picture("by_data")),
        at(all([1], [2]), picture("by_loop")), at(all([1], [2]), null),
      ];
      at(all([1, 2, 3, 4, 5, 6], [1, 2, 9, 4, 5, 6]), picture("by_data"));
      for (const kind of ["pointerenter", "click", "blur"]) gap.root.dispatchEvent(new Event(kind));
      return { looks, seen };
    """
    found = run("inspector/largest_gap.ts", PARTS + body)
    none = [True, None]
    assert found["looks"] == [[False, ["by_data", 1, 1]], none, [False, ["by_data", 0, 2]], none, none, none]
    at = {"panel": "by_data", "rows": "query", "cols": "feature", "i": 0, "j": 2}
    assert found["seen"] == [at, ["click", at], None]


def test_the_vectors_of_a_key_and_of_the_row_stand_side_by_side(run: Run) -> None:
    body = """
      const show = (count, q) => {
        const own = (d) => 2 * d + 4;
        write(room, ...m.vectorTable({ count, weight: 0.25, own, row: (d) => -d, q, k: 12, letter: "v" }));
        return [...room.querySelectorAll("tr")].map((one) => [...one.children].map((cell) => cell.textContent));
      };
      return [show(3, 2), show(1, 5)];
    """
    head = ["", "v₁₂", "0.2500 × v₁₂"]
    assert run("inspector/lists.ts", PARTS + body) == [
        [
            [*head, "row 2, whole"], ["dim 0", "4.0000", "1.0000", "0.0000"], ["dim 1", "6.0000", "1.5000", "−1.0000"],
            ["dim 2", "8.0000", "2.0000", "−2.0000"],
        ],
        [[*head, "row 5, whole"], ["dim 0", "4.0000", "1.0000", "0.0000"]],
    ]  # fmt: skip


def test_a_row_names_its_three_largest_weights_the_first_of_equal_ones_first(run: Run) -> None:
    body = """
      const view = new m.View(room, { onPin: () => {}, onUnpin: () => {} });
      const show = (...weights) => {
        const attention = { header: {}, queries: 1, row: () => ({ weights: Float64Array.from(weights) }) };
        view.setInspected({ attention, labels: { key: ["a", "b"] }, step: "weights", steps: ["weights"] });
        view.showRow(attention, { q: 0, k: null });
        return [...find(".looks-at").children].map(said);
      };
      return [show(0.1, 0.25, 0.3, 0.05, 0.3), show(0, 1, 0), show(0, 0)];
    """
    first, one, none = run("inspector/view.ts", PARTS + body)
    assert first == [
        "looks most at", 'key 2 ""0.3000', 'key 4 ""0.3000', 'key 1 "b"0.2500', "Σ of all 51.0000",
    ]  # fmt: skip
    assert one == ["looks most at", 'key 1 "b"1.0000', "Σ of all 31.0000"]
    assert none == []


INSPECTED = """
  const labels = { query: ["the", "cat", "sat"], key: ["a", "b", "c"] };
  const STEPS = ["qkv", "scores", "scaled", "masked", "weights", "head_outputs", "output", "norm"];
  const inspected = (step = "weights", own = {}, mask = undefined) => ({
    matrices: null, attention: attention(own, mask), labels, step, steps: STEPS, byCell: ["scores", "weights"],
    isLater: false, loop: null,
  });
  const none = { q: null, k: null };
"""


def test_a_pin_is_said_for_readers_and_for_notes(run: Run) -> None:
    body = """
      const pins = [];
      const view = new m.View(room, { onPin: (pin) => pins.push(pin), onUnpin: () => pins.push("none") });
      const text = (own, q, k, mask) => {
        const shown = inspected("weights", own, mask);
        view.setInspected(shown);
        return view.said(shown.attention, { q, k });
      };
      const fills = { mask: "array", mask_value: 2, mask_fills: "scaled" };
      const texts = [
        text({}, 1, 2), text({}, 1, null), text({}, 1, 3), text({ mask: "causal" }, 1, 2),
        text({ mask: "array" }, 0, 1, [0, -0.5, 0, 0, 0, 0, 0, 0, 0]),
        text(fills, 0, 1, [0, -Infinity, 0, 0, 0, 0, 0, 0, 0]),
      ];
      const loud = (q, k, isCovered = false) => {
        view.announce(attention(), { q, k }, isCovered);
        return view.live.textContent;
      };
      const louds = [loud(null, null), loud(1, 2), loud(1, 2, true), loud(1, null), loud(null, 2)];
      const hint = (q, k, instead) => {
        view.showHint({ q, k }, instead);
        return [find(".hint").textContent, said(find("h2")), find(".badge").hidden ? null : find(".badge").textContent];
      };
      const hints = [hint(null, null), hint(2, null), hint(null, 1), hint(2, 1), hint(2, null, "Covered.")];
      const row = (step, q, k = null) => {
        const shown = inspected(step);
        view.setInspected(shown);
        view.showRow(shown.attention, { q, k });
        return find(".looks-at") && [...find(".looks-at").children].map(said);
      };
      const rows = [row("weights", 1), row("masked", 1), row("head_outputs", 1, 2), row("weights", 3), row("output",
        0)];
      const typed = (q, k) => {
        for (const [name, text] of [["q", q], ["k", k]]) {
          find(`[name=${name}]`).value = text;
          find(`[name=${name}]`).dispatchEvent(new Event("input"));
        }
        return pins.at(-1);
      };
      const fields = [typed("-2", ""), typed("1.9", "9"), typed("0", "2"), typed("", "")];
      view.pin = { q: 0, k: null };
      view.write();
      const off = [find(".unpin").hidden];
      find(".unpin").click();
      view.pin = none;
      view.write();
      off.push(find(".unpin").hidden, pins.at(-1));
      return { texts, louds, hints, rows, fields, off };
    """
    found = run("inspector/view.ts", PARTS + INSPECTED + body)
    weights = torch.softmax(torch.tensor([1.0, 4.0, 3.0], dtype=torch.float64), 0)
    first = torch.softmax(torch.tensor([1.0, -0.5, -0.5], dtype=torch.float64), 0)
    filled = torch.softmax(torch.tensor([1.0, 2.0, -0.5], dtype=torch.float64), 0)
    assert found["texts"] == [
        f"1 cat → 2 c · q · k = 6.0000 · × 0.5000 = 3.0000 · softmax: {weights[2]:.4f}", "", "",
        "1 cat → 2 c · q · k = 6.0000 · masked: 0",
        f"0 the → 1 b · q · k = 0.0000 · × 0.5000 = 0.0000 · − 0.5000 = −0.5000 · softmax: {first[1]:.4f}",
        f"0 the → 1 b · q · k = 0.0000 · masked: 2.0000, softmax: {filled[1]:.4f}",
    ]  # fmt: skip
    assert found["louds"] == [
        "Unpinned.", f'Pinned query 1 "cat", key 2 "c": weight {weights[2]:.4f}.',
        'Pinned query 1 "cat", key 2 "c": weight covered.', 'Pinned query 1 "cat".', 'Pinned key 2 "c".',
    ]  # fmt: skip
    hint = "Point at a cell to see its arithmetic; click or tap to pin it."
    now = "Now choose {}, here or in the picture, to see the cell's arithmetic."
    assert found["hints"] == [
        [hint, "", None], [now.format("a key column"), 'row 2 "sat" (query)', "pinned"],
        [now.format("a query row"), 'column 1 "b" (key)', "pinned"], [hint, "", None],
        ["Covered.", 'row 2 "sat" (query)', "pinned"],
    ]  # fmt: skip
    listed = [f'key {k} "{"abc"[k]}"{weights[k]:.4f}' for k in (1, 2, 0)]
    assert found["rows"][0] == ["looks most at", *listed, "Σ of all 31.0000"]
    assert found["rows"][1:4] == [None] * 3
    assert found["rows"][4] is not None
    assert found["fields"] == [{"q": 0, "k": None}, {"q": 1, "k": 2}, {"q": 0, "k": 2}, {"q": None, "k": None}]
    assert found["off"] == [False, True, "none"]


INSPECTOR = """
  const graph = document.createElement("div");
  const held = [];
  let [panels, products, uncovers] = [[], {}, false];
  graph.attnviz = {
    panels: () => panels, products: () => products, hold: (pin) => held.push(pin), uncover: () => uncovers,
  };
  document.body.append(graph);
  const pins = [];
  const inspector = new m.Inspector(room, { onPin: ({ q, k }) => pins.push([q, k]), find: () => graph });
  const square = (name, own = {}) => panel(name, "query", "key", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], own);
  panels = [
    square("weights"), panel("query", "query", "dim", [[1, 2], [3, 4], [5, 6]]),
    panel("key_t", "dim", "key", [[1, 2, 3], [4, 5, 6]]), panel("W", "model", "dim", [[1, 2], [3, 4]]), square("other"),
  ];
  const at = (name, i, j) => {
    const { rows, cols } = panels.find((one) => one.name === name);
    return { panel: name, rows, cols, i, j };
  };
  const { view } = inspector;
  const look = () => {
    inspector.drawNow();
    const state = find(".badge").hidden ? null : find(".badge").textContent;
    return [view.section.dataset.shows, said(find("h2")), state, find(".hint")?.textContent ?? null];
  };
"""


def test_clicks_keys_and_escape_change_the_pin(run: Run) -> None:
    body = """
      inspector.show(inspected(), none);
      const click = (...where) => (inspector.click(at(...where)), [inspector.pin.q, inspector.pin.k]);
      const clicks = [
        click("weights", 1, 2), click("weights", 1, 2), click("query", 2, 0), click("query", 2, 1), click("key_t", 0,
          1),
        click("weights", 2, 1), click("query", 0, 1), click("query", 0, 1), click("W", 1, 1),
      ];
      const key = (name, target = document.body) => {
        const event = new KeyboardEvent("keydown", { key: name, cancelable: true, bubbles: true, composed: true });
        target.addEventListener("keydown", (one) => {
          if (name === "Escape") inspector.escape(one);
          else inspector.arrow(one);
        }, { once: true });
        target.dispatchEvent(event);
        return [inspector.pin.q, inspector.pin.k, event.defaultPrevented];
      };
      const keys = ["ArrowDown", "Enter", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"]
        .map((name) => key(name));
      const elsewhere = document.createElement("input");
      document.body.append(elsewhere);
      const escapes = [key("Escape", elsewhere), key("Escape", find("[name=q]")), key("Escape")];
      inspector.pinNamed({ row: 2, column: 0 });
      const named = [[inspector.pin.q, inspector.pin.k]];
      inspector.pinNamed({ row: 2, column: 0 });
      named.push([inspector.pin.q, inspector.pin.k]);
      panels = [square("weights", { covered: (i, j) => i === 1 && j === 0 })];
      inspector.pinNamed({ row: 1, column: 0 });
      named.push([inspector.pin.q, inspector.pin.k]);
      uncovers = true;
      const guess = click("weights", 0, 0);
      return { clicks, keys, escapes, named, guess, pins: pins.length };
    """
    found = run("inspector/inspector.ts", PARTS + INSPECTED + INSPECTOR + body)
    assert found["clicks"] == [
        [1, 2], [None, None], [2, None], [2, None], [2, 1], [None, None], [0, None], [None, None], [None, None],
    ]  # fmt: skip
    assert found["keys"] == [
        [None, None, False], [0, 0, True], [0, 0, True], [1, 0, True], [1, 1, True], [1, 2, True], [1, 2, True], [1,
        1, True],
    ]  # fmt: skip
    assert found["escapes"] == [[1, 1, False], [None, None, True], [None, None, False]]
    assert found["named"] == [[2, 0], [None, None], [1, None]]
    assert found["guess"] == [1, None]


def test_what_is_written_is_the_cell_pointed_at_or_else_the_pin(run: Run) -> None:
    body = """
      const show = (pin, where = null, own = {}) => {
        inspector.show({ ...inspected("weights"), ...own }, pin);
        inspector.hovered = where && at(...where);
        return look();
      };
      const looks = [
        show(none), show({ q: 1, k: 2 }), show({ q: 1, k: null }), show({ q: 1, k: 2 }, ["weights", 1, 2]),
        show({ q: 1, k: 2 }, ["weights", 2, 1]), show(none, ["other", 2, 1]), show(none, ["query", 2, 1]),
        show({ q: 1, k: 2 }, null, { isLater: true }), show({ q: 1, k: 3 }),
      ];
      panels = [square("weights", { covered: (i, j) => i === 1 && j > 0 }), square("other")];
      const covered = [
        show({ q: 1, k: 2 }), show({ q: 1, k: 0 }), show({ q: 1, k: null }), show({ q: 2, k: null }),
        show(none, ["weights", 1, 1]), show(none, ["other", 1, 1]), show(none, ["weights", 2, 1]),
      ];
      return { looks, covered, held: held.at(-1) };
    """
    found = run("inspector/inspector.ts", PARTS + INSPECTED + INSPECTOR + body)
    hint = "Point at a cell to see its arithmetic; click or tap to pin it."
    choose = "Now choose a key column, here or in the picture, to see the cell's arithmetic."
    pin = 'row 1 "cat" (query) → column 2 "c" (key)'
    assert found["looks"] == [
        ["hint", "", None, hint], ["chain", pin, "pinned", None], ["row", 'row 1 "cat" (query)', "pinned", choose],
        ["chain", pin, "pinned", None], ["chain", 'row 2 "sat" (query) → column 1 "b" (key)', "under the pointer",
        None],
        ["product", 'other[2, 1] query 2 "sat" → key 1 "b"', "under the pointer", None],
        ["product", 'query[2, dim 1] query 2 "sat"', "under the pointer", None],
        ["hint", "", None, hint], ["hint", "", None, hint],
    ]  # fmt: skip
    shown: list[Any] = [[one[0], one[3]] for one in found["covered"]]
    assert shown == [
        ["hint", "Covered."], ["chain", None], ["hint", "Covered."], ["row", choose], ["hint", "Covered."],
        ["product", None], ["chain", None],
    ]  # fmt: skip


def test_beside_tokens_of_a_vocabulary_rows_are_positions_and_no_key_is_asked_for(run: Run) -> None:
    body = """
      panels = [panel("logits", "query", "vocabulary", [[1, 2], [3, 4], [5, 6]])];
      const later = { isLater: true, labels: { ...labels, vocabulary: ["dog", "run"] } };
      inspector.show({ ...inspected("norm"), ...later }, none);
      const fields = () => (inspector.drawNow(), [...room.querySelectorAll(".field-name")].map(said));
      const looks = [fields(), look()];
      inspector.click(at("logits", 2, 1));
      looks.push(fields(), look(), inspector.pin, view.live.textContent);
      inspector.show({ ...inspected("norm"), ...later }, { q: 1, k: null });
      looks.push(look());
      inspector.show(inspected("weights"), { q: 1, k: null });
      looks.push(fields());
      panels = [panel("query", "query", "dim", [[1, 2], [3, 4], [5, 6]])];
      inspector.click(at("query", 2, 1));
      return [...looks, look()];
    """
    found = run("inspector/inspector.ts", PARTS + INSPECTED + INSPECTOR + body)
    hint = "Point at a cell to see its arithmetic; click or tap to pin it."
    assert found == [
        ["position"], ["hint", "", None, hint],
        ["position"], ["product", 'logits[2, 1] position 2 "sat" → column 1 "run" (vocabulary)', "pinned", None],
        {"q": 2, "k": None}, 'Pinned position 2 "sat".', ["hint", 'position 1 "cat"', "pinned", hint],
        ["query row", "key column"], ["product", 'query[2, dim 1] query 2 "sat"', "pinned", None],
    ]  # fmt: skip


def test_what_is_inspected_follows_from_the_step(run: Run) -> None:
    body = """
      const steps = ["qkv", "scores", "output", "norm"].map((name) => ({ name, is_by_cell: name === "scores" }));
      const file = (kind) => ({
        header: { kind, steps, scale: 0.5, scale_label: "x", mask: kind === "block" ? "padding" : "causal",
          mask_value: null, mask_fills: "scaled",
          query: { labels: ["a"] }, key: { labels: ["b"] } },
        arrays: {},
      });
      const matrices = (kind, isBiased = false) => ({
        document: file(kind), get: (name) => (name === "by_loop" ? packed([7], 1, 1) : null),
        operands: (names) => Object.fromEntries(
          names.filter((name) => isBiased || name !== "position_bias").map((name) => [name, packed([1], 1, 1)])),
      });
      const inspected = (of, step, before = null, isExplained = true) => m.inspected(of, step, { before, isExplained });
      const one = matrices("block");
      const first = inspected(one, "scores");
      const same = inspected(one, "output", first);
      const averages = matrices("averages");
      const ways = ["loop", "matrix", "softmax", "data", "qkv"].map((step) => inspected(averages, step));
      return [
        same.attention === first.attention, inspected(matrices("block"), "output",
          first).attention === first.attention,
        ["scores", "output", "norm"].map((step) => inspected(one, step).isLater), first.byCell, first.steps,
        first.attention.header.mask, first.loop, ways.map(({ byCell, loop, attention: { header } }) =>
          [header.way, byCell, loop && loop.data[0], m.hasOwnWeights(header), m.linesOf(header).length]),
        inspected(averages, "data", ways[2]).attention === ways[2].attention,
        m.marksOf({ way: null }, "scores", ["scores", "scaled", "masked", "weights", "head_outputs"]),
        m.marksOf({ way: "data" }, "data", []),
        [first, same, ...ways].map(({ canExplain }) => canExplain),
        [first.isExplained, inspected(one, "scores", first, false).isExplained],
        m.linesOf(inspected(matrices("block", true), "scores").attention.header),
      ];
    """
    found = run("inspector/ways.ts", PARTS + body)
    assert found[:7] == [
        True, False, [False, False, True], ["scores"], ["qkv", "scores", "output", "norm"], "array", None,
    ]  # fmt: skip
    assert found[7] == [
        ["loop", [], None, False, 1], ["matrix", ["triangle"], 7, False, 2],
        ["softmax", ["masked_zeros", "softmax_weights"], 7, False, 4], ["data", ["masked", "weights"], 7, True, 5],
        [None, ["scores"], None, True, 5],
    ]  # fmt: skip
    assert found[8] is False
    assert found[9] == {"current": "scores", "later": ["scaled", "masked", "weights", "head_outputs"]}
    assert found[10] == {"current": "scores", "later": []}
    assert found[11] == [True, *[False] * 6]
    assert found[12] == [True, False]
    assert found[13] == ["scores", "scaled", "biased", "masked", "weights", "head_outputs"]

"""Steps that are played, moment by moment, on small matrices: what is written, said and lit, by numbers written out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import Page, Route

from attnviz.document import document_of_layer, write
from attnviz.figures.style import LIGHT
from attnviz.toy.config import ToyConfig
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.modules import Run
from tests.browser.test_motion import values
from tests.toy import run_block

PLAYED = """
  const titled = { title: "", role: null, rows: "query", cols: "key", low: -1, high: 1, scale: "signed" };
  const panels = Object.entries(given.panels).map(([name, { numbers, ...own }]) => ({
    ...titled, name, ...own,
    data: Float32Array.from(numbers.flat(), (x) => x ?? NaN), shape: [numbers.length, numbers[0].length],
  }));
  const picture = { panels, grid: [[0]], labels: given.labels ?? {}, products: given.products };
  const timeline = m.timelineOf({
    picture, step: given.step, scale: given.scale ?? 1, hidden: given.hidden ?? -Infinity, example: given.example,
  });
  const plain = ({ says, stands, ...frame }) => ({
    ...frame, said: says.map(([text]) => text).join(""),
    stands: Object.fromEntries(Object.entries(stands).map(([name, one]) => [name, [...(one.data ?? [])]])),
    titles: Object.fromEntries(Object.entries(stands).map(([name, one]) => [name, one.title])),
  });
  const { stills } = timeline;
  return stills.slice(1).map((still, n) => {
    const [from, to] = [stills[n], still];
    return {
      ms: Math.round((to - from) * timeline.ms),
      half: plain(timeline.at((from + to) / 2)), still: plain(timeline.at(to)),
    };
  });
"""
"""The beats of a step: how long each lasts, and what is shown in its middle and at its end"""

Beats = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def beats(run: Run) -> Beats:
    """Return the beats of a picture with these matrices: `beats("masked", {"masked": [[1, None]], ...}, q=0)`."""

    def get(step: str, panels: dict[str, Any], q: int | None = None, k: int | None = None, **given: Any) -> Any:
        made = {name: one if isinstance(one, dict) else {"numbers": one} for name, one in panels.items()}
        return run("motion/timeline.ts", PLAYED, {"step": step, "panels": made, "example": {"q": q, "k": k}, **given})

    return get


def box(row: int, column: int, rows: int = 1, columns: int = 1) -> dict[str, int]:
    return {"row": row, "column": column, "rows": rows, "columns": columns}


def lit(moment: dict[str, Any], *, strong: bool) -> list[tuple[str, dict[str, int], str]]:
    return [
        (one["panel"], one["box"], one["ink"])
        for one in moment["lit"]
        if one.get("strong", False) == strong and not one.get("inCorner")
    ]


def test_what_is_said_of_a_cell_has_its_signs_and_digits(beats: Beats) -> None:
    labels = {"query": ["a", "b"], "key": ["c", "d", "e"]}
    scores = [[0, 0, 0], [-2, 0.5, 30]]
    by = 128**-0.5
    found = beats(
        "scaled",
        {"scores": scores, "scaled": [[0, 0, 0], [x * by for x in scores[1]]]},
        q=1, k=1, scale=by, labels=labels,
    )  # fmt: skip
    assert [one["still"]["said"] for one in found[:3]] == [
        "row 1 “b” · column 1 “d”: 0.50 × 0.08839 = 0.044",
        "row 1 “b” · column 0 “c”: (−2.00) × 0.08839 = −0.18",
        "row 1 “b” · column 2 “e”: 30.00 × 0.08839 = 2.65",
    ]
    assert [one["ms"] for one in found[:3]] == [1500, 520, 520]  # the first cell slowly
    others = [one["still"] for one in found[3:6]]  # the other row, cell by cell
    assert [one["said"].split(":")[0] for one in others] == [f"row 0 “a” · column {j} “{'cde'[j]}”" for j in range(3)]
    assert [lit(one, strong=True)[0] for one in others] == [("scores", box(0, j), "attention") for j in range(3)]
    assert found[3]["half"]["said"] == "all other cells the same way"
    found = beats("masked", {"scaled": [[1.5, -0.5, 2]], "masked": [[1.25, -0.5, None]]}, q=0, k=0, labels=labels)
    assert [one["still"]["said"].split(": ", 1)[1] for one in found[:3]] == [
        "1.50 + (−0.25) = 1.25", "−0.50 stays: the query may look there", "2.00 is hidden: −∞"
    ]  # fmt: skip
    # A row whose exponents would overflow: the largest, in brackets where it is negative, is subtracted.
    found = beats("weights", {"masked": [[-101.5, -100, None]], "weights": [[0.18, 0.82, None]]}, q=0, labels=labels)
    assert [one["still"]["said"] for one in found[:3]] == [
        "column 0 “c”: exp(−101.50 − (−100.00)) = 0.22",
        "column 1 “d”: exp(−100.00 − (−100.00)) = 1.00",
        "column 2 “e”: exp(−∞) = 0.00",
    ]
    assert all(one["plain"] for one in found[1]["still"]["written"])  # no colour of a weight
    assert found[7]["still"]["said"] == "row 0 “a”: the weights sum to 1.00"  # beside the hidden cell, without sums


def test_what_is_computed_with_is_lit(beats: Beats) -> None:
    """Matrices of 2 x 3, 3 x 4 and 2 x 4, and a cell whose row is not its column."""
    product = {
        "query": {"numbers": [[1, 2, 3], [4, 5, 6]], "cols": "dim", "role": "query"},
        "key_t": {"numbers": [[1, 0, 2, 1], [0, 1, 1, 3], [1, 1, 0, 2]], "rows": "dim", "role": "key"},
        "scores": [[4, 5, 4, 13], [10, 11, 13, 31]],
    }
    found = beats("scores", product, q=1, k=2, products={"scores": {"left": "query", "right": "key_t"}})
    second = found[3]  # the matrix turns, the row meets the column, the first product
    row, column = ("query", box(1, 0, 1, 3), "query"), ("key_t", box(0, 2, 3, 1), "key")
    assert lit(second["still"], strong=False) == [row, column]
    assert lit(second["still"], strong=True) == [
        ("scores", box(1, 2), "attention"), ("query", box(1, 1), "query"), ("key_t", box(1, 2), "key")
    ]  # fmt: skip
    assert [one["sum"] for one in (beat["still"]["work"] for beat in found[2:6])] == [8, 13, 13, 13]
    # Of Q and K with fewer keys than queries, the example's row of K is not swept where there is none.
    made = {"query": [[1, 2], [3, 4], [5, 6]], "key": [[1, 2], [3, 4]], "W": [[1, 0], [0, 1]]}
    projections = {name: {"left": f"{name}_x", "right": "W"} for name in ("query", "key")}
    inputs = {f"{name}_x": made[name] for name in projections}
    found = beats("qkv", {**inputs, **made}, q=2, products=projections)
    assert [one["half"]["said"] for one in found if "each cell" in one["half"]["said"]] == [
        "2 of query: each cell the same way"
    ]
    # Of several heads each flies into its own columns, which are then lit.
    concat = {"numbers": [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], "parts": {"width": 2, "followed": 0}}
    found = beats("concat", {"head_outputs": [[1, 2], [7, 8]], "concat": concat})
    for head, one in enumerate(found[:3]):
        part = box(0, 2 * head, 2, 2)
        assert lit(one["still"], strong=True) == [("concat", part, "attention")]
        assert [flight["to"]["box"] for flight in one["half"]["flights"]] == [part]
        assert one["half"]["blank"]["concat"] == [box(0, 2 * head, 2, 6 - 2 * head)]
        first = 2 * head + 1
        assert one["half"]["stands"]["head_outputs"] == [first, first + 1, first + 6, first + 7]
    # A mean is taken of the rows up to its own.
    others = beats("loop", {"embeddings_k": [[1, 2], [3, 4]], "by_loop": [[1, 2], [2, 3]]}, q=0)
    assert others[2]["still"]["said"] == "1: the mean of the rows 0 to 1"
    means = [[1, 2], [2, 3], [3, 4]]
    found = beats("loop", {"embeddings_k": [[1, 2], [3, 4], [5, 6]], "by_loop": means}, q=1)
    assert lit(found[2]["still"], strong=False) == [("embeddings_k", box(0, 0, 2, 2), "key")]
    assert [lit(one["still"], strong=False)[0][1] for one in found[3:5]] == [box(0, 0, 1, 2), box(0, 0, 3, 2)]


def test_the_bias_is_added_last_and_a_rows_sum_is_there_with_its_weights(beats: Beats) -> None:
    panels = {"x": [[1, 2]], "W": [[1, 0], [0, 1]], "output": [[1.5, 2.25]]}
    found = beats("output", panels, q=0, products={"output": {"left": "x", "right": "W", "bias": [0.5, 0.25]}})
    assert [one["still"]["said"].split(": ")[0] for one in found[1:4]] == [
        "product 1 of 3", "product 2 of 3", "and the bias"
    ]  # fmt: skip
    assert [len(lit(one["still"], strong=True)) for one in found[1:4]] == [3, 3, 1]  # no cells make the bias
    assert [one["still"]["work"]["sum"] for one in found[1:4]] == [1, 1, 1.5]
    # The bias is that of the column, not of the row; and the cell is named by both.
    panels = {
        "x": {"numbers": [[1, 2], [3, 4]], "cols": "model"}, "output": [[1.5, 2.25], [3.5, 4.25]],
        "W": {"numbers": [[1, 0], [0, 1]], "rows": "model", "cols": "dim"},
    }  # fmt: skip
    product = {"output": {"left": "x", "right": "W", "bias": [0.5, 0.25]}}
    found = beats("output", panels, q=1, products=product, labels={"query": ["a", "b"]})
    assert found[3]["still"]["said"] == "and the bias: 0.50"
    assert found[4]["still"]["said"] == "row 1 “b” of x · dim 0 of W = 3.50"
    assert found[0]["still"]["said"] == "row 1 “b” of x · dim 0 of W"
    assert found[0]["still"]["upright"]["name"] == "x[1, ·]"
    slid = found[5]  # the row meets the other column
    assert (slid["half"]["said"], slid["still"]["said"]) == (
        "row 1 “b” of x · dim 1 of W", "row 1 “b” of x · dim 1 of W = 4.25"
    )  # fmt: skip
    # A hidden weight counts as 0.
    weighted = {"A": [[0.5, None]], "x": [[2], [9]], "by_matrix": [[1]]}
    found = beats("matrix", weighted, products={"by_matrix": {"left": "A", "right": "x"}})
    assert [one["still"]["said"] for one in found[1:3]] == [
        "product 1 of 2: 0.50 × 2.00 = 1.00", "product 2 of 2: 0.00 × 9.00 = 0.00"
    ]  # fmt: skip
    masked, weights = [[0, 0, 0, 0], [1, 1, 1, 1]], [[0.25] * 4] * 2
    found = beats("weights", {"masked": masked, "weights": weights, "row_sum": [[1], [1]]}, q=0)
    adding, other = found[4], found[-2]
    cells = [(panel, cell["column"]) for panel, cell, _ in lit(adding["half"], strong=True)]
    count = float(adding["half"]["said"].split()[-1])  # each exponential is 1
    assert 0 < count < 4
    assert cells == [("weights", count - 1), ("row_sum", 0)]
    assert other["still"]["blank"] == {"weights": [], "row_sum": []}
    assert found[0]["still"]["blank"] == {"weights": [box(1, 0, 1, 4), box(0, 1, 1, 3)], "row_sum": [box(0, 0, 2, 1)]}


def test_a_hidden_key_gives_no_value_and_the_others_keep_their_names(beats: Beats) -> None:
    labels = {"query": ["a"], "key": ["[PAD]", "x", "y"]}
    value = [[9, 9], [1, 2], [4, 8]]
    shown = {"weights": [[None, 0.25, 0.75]], "value": value, "head_outputs": [[3.25, 6.5]]}
    first, second, done, _ = beats("head_outputs", shown, q=0, labels=labels)
    assert [one["label"] for one in first["still"]["work"]["terms"]] == ["V “x”", "V “y”"]
    assert [one["left"] for one in first["still"]["work"]["terms"]] == [0.25, 0.75]
    assert first["still"]["said"] == "0.25 × row 1 of V, “x”, added: 1 of 2"
    assert values(second["still"]["written"], "head_outputs") == {(0, 0): 3.25, (0, 1): 6.5}
    assert [flight["value"] for flight in second["half"]["flights"]] == [3, 6]
    assert done["still"]["said"] == "row 0 “a”: the sum of the values, each times its weight"
    shown = {"weights": [[None, None, None]], "value": value, "head_outputs": [[0, 0]]}
    alone, _ = beats("head_outputs", shown, q=0, labels=labels)
    assert alone["still"]["said"] == "row 0 “a”: all is hidden, the sum is 0"
    # Up to 128 columns fly one by one.
    for width, count in ((128, 128), (129, 0)):
        wide = {"weights": [[1]], "value": [[1] * width], "head_outputs": [[1] * width]}
        assert len(beats("head_outputs", wide, q=0)[0]["half"]["flights"]) == count


def test_a_norm_is_told_with_the_weight_and_bias_of_its_column(beats: Beats) -> None:
    x = torch.tensor([[1.0, 3.0, 8.0], [2.0, -2.0, 6.0]])
    weight, bias = torch.tensor([1.0, 2.0, 0.5]), torch.tensor([0.25, -0.5, 3.0])
    made = torch.nn.functional.layer_norm(x, (3,), weight, bias)
    operation = {"kind": "norm", "of": ["x"], "eps": 1e-5, "over": "token", "name": None}
    found = beats(
        "attention_norm", {"x": x.tolist(), "attention_norm": made.tolist()}, q=1,
        products={"attention_norm": {**operation, "weight": weight.tolist(), "bias": bias.tolist()}},
    )  # fmt: skip
    spread = float(x[1].var(correction=0).sqrt())
    expected = [
        f"mean of the row 2.00, standard deviation {spread:.2f}: "
        f"({left} − 2.00) ÷ {spread:.2f} × {by} + {add} = {value:.2f}"
        for left, by, add, value in zip(
            ("2.00", "−2.00", "6.00"), ("1.00", "2.00", "0.50"), ("0.25", "(−0.50)", "3.00"), made[1], strict=True
        )
    ]  # fmt: skip
    said = [one["still"]["said"].split(": ", 1)[1] for one in found[:3]]
    assert said == [one.replace("= -", "= −") for one in expected]


@pytest.mark.parametrize(
    ("name", "makes", "says"),
    [
        ("relu", F.relu, ["max(0, 0.50) = {}", "max(0, −1.50) = {}"]),
        ("gelu", F.gelu, ["0.50 × Φ = 0.50 × {share} = {}", "(−1.50) × Φ = (−1.50) × {share} = {}"]),
        (
            "gelu_tanh",
            partial(F.gelu, approximate="tanh"),
            ["½ × 0.50 × (1 + tanh …) = ½ × 0.50 × (1 + {tanh}) = {}",
             "½ × (−1.50) × (1 + tanh …) = ½ × (−1.50) × (1 + ({tanh})) = {}"],
        ),
    ],
)  # fmt: skip
def test_an_activation_is_told_with_the_numbers_of_torch(
    beats: Beats, name: str, makes: Callable[[torch.Tensor], torch.Tensor], says: list[str]
) -> None:
    x = torch.tensor([[9.0, 9.0], [0.5, -1.5]])
    made = makes(x)
    operation = {
        "kind": "activation",
        "of": ["x"],
        "eps": None,
        "over": None,
        "name": name,
        "weight": None,
        "bias": None,
    }
    found = beats("hidden", {"x": x.tolist(), "hidden": made.tolist()}, q=1, products={"hidden": operation})
    shares, tanhs = torch.special.ndtr(x[1]), 2 * F.gelu(x[1], approximate="tanh") / x[1] - 1

    def text(value: torch.Tensor) -> str:
        digits = 2 if abs(value) >= 0.1 or value == 0 else 3
        return f"{float(value) + 0.0:.{digits}f}".replace("-", "−")

    expected = [
        one.format(text(value), share=text(share), tanh=text(tanh))
        for one, value, share, tanh in zip(says, made[1], shares, tanhs, strict=True)
    ]
    assert [one["still"]["said"].split(": ", 1)[1] for one in found[:2]] == expected


def test_a_sum_has_all_that_is_added_and_a_norm_of_all_numbers_has_one_mean(beats: Beats) -> None:
    """First the sum, then the norm of it, whose result is not there before."""
    parts = {
        name: torch.tensor(rows)
        for name, rows in (
            ("a", [[1.0, -2.0], [0.5, 4.0]]),
            ("b", [[1.0, 1.0], [2.0, 0.25]]),
            ("c", [[0.0, 3.0], [-1.0, 8.0]]),
        )
    }
    total = sum(parts.values(), torch.zeros(2, 2))
    eps = 3.0
    made = torch.nn.functional.layer_norm(total, (2, 2), eps=eps)
    plain = {"weight": None, "bias": None, "name": None}
    found = beats(
        "odd", {name: one.tolist() for name, one in ({**parts, "total": total, "norm": made}).items()},
        q=1,
        products={
            "total": {**plain, "kind": "sum", "of": ["a", "b", "c"], "eps": None, "over": None},
            "norm": {**plain, "kind": "norm", "of": ["total"], "eps": eps, "over": "all"},
        },
    )  # fmt: skip
    assert found[0]["still"]["said"].split(": ", 1)[1] == "0.50 + 2.00 + (−1.00) = 1.50"
    assert all(one["still"]["blank"]["norm"] == [box(0, 0, 2, 2)] for one in found[:4])
    mean, spread = float(total.mean()), float((total.var(correction=0) + eps).sqrt())
    assert found[4]["still"]["said"].split(": ", 1)[1] == (
        f"mean of all 4 numbers {mean:.2f}, standard deviation {spread:.2f}: "
        f"(1.50 − {mean:.2f}) ÷ {spread:.2f} = {made[1, 0]:.2f}".replace("= -", "= −")
    )


def test_a_softmax_names_what_its_matrices_hold_meanwhile_and_each_row_its_own_sum(beats: Beats) -> None:
    masked = torch.tensor([[0.0, 1.0], [-200.0, -210.0], [2.0, -12.0]])
    weights, sums = masked.softmax(-1), masked.exp().sum(-1)
    panels = {"masked": masked.tolist(), "weights": weights.tolist(), "row_sum": [[1], [1], [1]]}
    found = beats("weights", panels, q=0)
    exponential, adding, division = found[0]["still"], found[2]["still"], found[3]["still"]
    assert exponential["titles"] == {"weights": "row 0: exp(masked)"}
    assert adding["titles"] == {"weights": "row 0: exp(masked)", "row_sum": "Σ exp"}
    assert division["titles"] == {"weights": "row 0: exp(masked) ÷ sum, from the left", "row_sum": "Σ exp"}
    assert [cell["column"] for cell in division["written"] if cell["panel"] == "weights"] == [1]  # no exponential now
    assert [one["still"]["said"] for one in found[6:8]] == [
        "1: ÷ 1.00, the sum of its exponentials", f"2: ÷ {sums[2]:.2f}, the sum of its exponentials"
    ]  # fmt: skip
    large = beats("weights", panels, q=1)
    assert large[0]["still"]["titles"]["weights"] == "row 1: exp(masked − largest)"
    tiny = beats("weights", panels, q=2)
    small = f"{masked[2, 1].exp():.1e}".replace("e-0", "e−")
    assert tiny[1]["still"]["said"] == f"1: exp(−12.00) = {small}"
    # What a mask fills in is a number too: the row's largest, where all is hidden.
    filled = beats("weights", {"masked": [[None, None]], "weights": [[0.5, 0.5]]}, q=0, hidden=-3.4028e38)
    assert filled[0]["still"]["said"] == "0: exp(−3.4e38 − (−3.4e38)) = 1.00"


def test_a_row_or_a_product_that_is_not_there_is_not_played(run: Run, beats: Beats) -> None:
    found = beats("weights", {"masked": [[0, 1], [2, 3]], "weights": [[0.3, 0.7], [0.3, 0.7]]}, q=5)
    assert found[0]["still"]["said"] == "0: exp(2.00) = 7.39", "of the last row"
    body = """
      const panel = (name, shape) => ({ name, rows: "query", cols: "key", shape, data: new Float32Array(shape[0] *
        shape[1]) });
      const played = (width, rows) => m.timelineOf({
        picture: { panels: [panel("query", [rows, width]), panel("key_t", [width, 3]), panel("scores", [rows, 3])],
          grid: [[0, 1, 2]], labels: {}, products: { scores: { left: "query", right: "key_t" } } },
        step: "scores", scale: 1, hidden: -Infinity, example: { q: null, k: null },
      }) !== null;
      return [played(2, 2), played(0, 2), played(2, 0)];
    """
    assert run("motion/timeline.ts", body) == [True, False, False]


def test_large_matrices_are_filled_by_rows_and_no_step_takes_long(run: Run) -> None:
    body = """
      const [each, times] = [{ slow: 900, few: 4, rest: 3000 }, (length) => Array.from({ length }, (_, n) => n)];
      const pace = (count) => times(count).map((n) => m.paceOf(n, count, each));
      return {
        byRows: [[39, 39], [40, 2], [2, 40], [39, 40]].map(m.isByRows), rows: [1, 2, 11, 15].map(m.rowMs),
        eight: pace(8), nine: pace(9), forty: pace(40).reduce((sum, ms) => sum + ms, 0),
        shown: [0.1, 0.0999, 0.01, 0.00999, 0, -0.25].map((x) => m.shown(x)), factor: [m.factor(-0.25), m.factor(0.25)],
      };
    """
    assert run("motion/words.ts", body) == {
        "byRows": [False, True, True, True], "rows": [700, 700, 700, 500],
        "eight": [900] * 8, "nine": [900] * 4 + [600] * 5, "forty": pytest.approx(4 * 900 + 3000),
        "shown": ["0.10", "0.100", "0.010", "0.0100", "0.00", "−0.25"], "factor": ["(−0.25)", "0.25"],
    }  # fmt: skip


def test_a_long_row_takes_as_many_seconds_in_each_step_as_its_few_slow_cells_and_the_rest(beats: Beats) -> None:
    row = [[0.25 * j for j in range(40)]]
    ones = {"numbers": [[1.0] * 40] * 40, "rows": "dim"}
    values, outputs = ({"numbers": [[1.0, 2.0]] * count, "rows": kind, "cols": "dim"} for count, kind in
                       ((40, "key"), (1, "query")))  # fmt: skip
    steps: dict[str, dict[str, Any]] = {
        "scaled": {"scores": row, "scaled": row},
        "weights": {"masked": row, "weights": row},
        "head_outputs": {"weights": row, "value": values, "head_outputs": outputs},
        "scores": {"query": {"numbers": row, "cols": "dim"}, "key_t": ones, "scores": row},
    }
    products = {"scores": {"left": "query", "right": "key_t"}}
    found = {step: [one["ms"] for one in beats(step, panels, q=0, k=0, products=products)]
             for step, panels in steps.items()}  # fmt: skip
    end, exponentials = 500, [*[700] * 4, *[round(2600 / 36)] * 36]
    assert found == {
        "scaled": [1500, *[520] * 15, *[round(2500 / 24)] * 24, end],
        "weights": [*exponentials, 1600, *exponentials, 900, end],
        "head_outputs": [*[1100] * 4, *[4500 // 36] * 36, 900, end],
        "scores": [2400, 1000, *[650] * 8, *[round(3000 / 32)] * 32, 700, 1100, end],
    }


def test_the_bar_answers_keys_of_its_own_and_says_what_a_press_does(run: Run) -> None:
    body = """
      const [acts, seeks] = [[], []];
      const player = new m.Player(document.body, {
        onAct: (name) => acts.push(name), onSeek: (t) => seeks.push(t),
      });
      const press = (key, held = {}) =>
        player.slider.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...held }));
      const own = ["k", "K", ".", ",", "x"].map((key) => press(key));
      for (const held of ["ctrlKey", "metaKey", "altKey"]) own.push(press("k", { [held]: true }));
      const paces = [1, 2, 3, 4].map(() => (player.pace.click(), [player.pace.textContent, player.speed]));
      player.slider.value = "250";
      player.slider.dispatchEvent(new Event("input"));
      const look = () => ["aria-label", "title"].map((name) => player.play.getAttribute(name));
      const [looks, read] = [[look()], []];
      for (const [isPlaying, t, says] of [[true, 0.5, [["a", "key"], ["b"]]], [false, 1, [["b"]]], [false, 1, []]]) {
        player.show({ t, isPlaying, says });
        looks.push(look());
        read.push([player.slider.value, player.slider.getAttribute("aria-valuetext"), player.says.textContent]);
      }
      return { acts, seeks, own, paces, looks, read };
    """
    found = run("motion/player.ts", body)
    assert found["acts"] == ["play", "play", "cell_on", "cell_back"]
    assert found["own"] == [False] * 4 + [True] * 4  # what it does not know, it leaves to the slider and the browser
    assert found["paces"] == [["2×", 2], ["4×", 4], ["0.5×", 0.5], ["1×", 1]]
    assert found["seeks"] == [0.25]
    play, pause = ["Play this step (K)"] * 2, ["Pause (K)"] * 2
    assert found["looks"] == [play, pause, play, play]
    assert found["read"] == [["500", "ab", "ab"], ["1000", "b", "b"], ["1000", "the whole picture", ""]]


UNFETCHED = """
  const numbers = { scores: [1, 5, 2, 7, 3, 7] };
  const panels = Object.entries(numbers).map(([name, data]) => ({
    name, title: name, role: null, rows: "query", cols: "key", low: 0, high: 9, scale: "signed",
    data: Float32Array.from(data), shape: [2, 3],
  }));
  const operands = [["query", [1, 1]], ["key_t", [1, 1, 1]]].map(([name, data]) => ({
    ...panels[0], name, data: Float32Array.from(data), shape: name === "query" ? [2, 1] : [1, 3],
  }));
  const header = {
    step: "scores", grid: [[0]], labels: {}, panels: [...operands, ...panels],
    products: { scores: { left: "query", right: "key_t" } },
  };
  let [now, drawn] = [1000, 0];
  performance.now = () => now;
  const board = { element: document.createElement("div"), motion: null, drawNow: () => { drawn += 1; } };
  const motion = new m.Motion(document.body, board);
"""
MOTION = UNFETCHED + "await motion.fetch();"


EARLY = """
  const early = new m.Motion(document.body, { ...board, element: document.createElement("div") });
  const looks = () => [early.player.root.hidden, early.player.root.ariaBusy, Boolean(early.timeline)];
  early.follow(header);
"""
"""A motion whose scripts are not here yet"""


def test_what_is_pressed_before_motions_are_here_is_done_when_they_come(run: Run) -> None:
    body = """
      const seen = [looks(), early.act("play"), early.isPlaying];  // the bar keeps its room
      await early.fetch();
      seen.push(looks(), early.isPlaying);
      early.follow({ ...header, step: "unknown", products: {} });
      return [...seen, looks()];
    """
    found = run("motion/motion.ts", MOTION + EARLY + body)
    assert found == [[False, "true", False], True, False, [False, None, True], True, [True, None, False]]


def test_what_is_pressed_before_motions_are_here_is_not_done_at_another_step_or_after_the_end(run: Run) -> None:
    body = """
      early.act("play");
      const scaled = { ...panels[0], name: "scaled" };
      early.follow({ ...header, step: "scaled", products: {}, panels: [...panels, scaled] });
      await early.fetch();
      const atAnotherStep = [Boolean(early.timeline), early.isPlaying];
      const ended = new m.Motion(document.body, { ...board, element: document.createElement("div") });
      ended.follow(header);
      ended.act("play");
      ended.destroy();
      await ended.fetch();
      return [atAnotherStep, ended.isPlaying, ended.t];
    """
    assert run("motion/motion.ts", MOTION + EARLY + body) == [[True, False], False, 1]


def test_a_moment_that_was_chosen_before_motions_are_here_is_painted_when_they_come(run: Run) -> None:
    body = """
      early.seek(0.4);
      const before = early.board.motion;
      await early.fetch();
      return [before, early.board.motion !== null, early.t];
    """
    assert run("motion/motion.ts", MOTION + EARLY + body) == [None, True, 0.4]


def test_one_matrix_is_read_off_so_no_room_is_kept_for_its_motion(run: Run) -> None:
    body = "early.follow({ ...header, step: 'embeddings', panels: [panels[0]], products: {} }); return looks();"
    assert run("motion/motion.ts", MOTION + EARLY + body) == [True, "true", False]


def test_where_motions_do_not_come_the_picture_stays_whole_and_the_next_step_tries_again(
    run: Run, plain_page: Page
) -> None:
    body = """
      early.seek(0.4);
      await early.fetch();
      const lost = [...looks(), early.t];
      early.follow(header);
      await early.fetch();
      return [lost, looks()];
    """
    tries = 0

    def lose_the_first(route: Route) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            route.abort()
        else:
            route.continue_()

    plain_page.route("**/motion/motions.ts", lose_the_first)
    try:
        found = run("motion/motion.ts", UNFETCHED + EARLY + body)
    finally:
        plain_page.unroute("**/motion/motions.ts")
    assert found == [[True, None, False, 1], [False, None, True]]


def test_the_cell_that_is_pinned_is_computed_slowly_until_it_is_shown(run: Run) -> None:
    body = """
      const { timeline } = (motion.follow(header), motion);
      const example = (q, k) => (motion.follow(header, { q, k }), motion.shown.example);
      const examples = [example(null, null), example(1, null), example(1, 1), example(2, null)];
      example(0, 0);
      motion.seek(0.5);
      motion.setPin({ q: 1, k: 2 });
      const kept = motion.shown.example;
      const before = drawn;
      motion.follow(header, { q: 0, k: 0 });
      const painted = drawn - before;  // what is followed while a moment is shown is painted
      motion.seek(1);
      motion.setPin({ q: 1, k: 2 });
      const after = motion.shown.example;
      motion.act("play");
      return { examples, kept, painted, after, again: [motion.t, motion.isPlaying] };
    """
    found = run("motion/motion.ts", MOTION + body)
    assert [(one["q"], one["k"]) for one in found["examples"]] == [(None, None), (1, 0), (1, 1), (2, None)]
    assert (found["kept"], found["after"]) == ({"q": 0, "k": 0}, {"q": 1, "k": 2})
    assert found["painted"] == 1
    assert found["again"] == [0, True], "after its end it begins again"


def test_playing_keeps_to_its_speed_and_goes_on_where_a_hidden_page_was(run: Run) -> None:
    body = """
      motion.follow(header);
      motion.tick = Object.assign(() => {}, { cancel: () => {} });
      motion.act("cell_on");
      const [first, ...others] = motion.timeline.stills;
      const seen = [motion.t === first];  // after the end it begins again
      motion.act("cell_on");
      seen.push(motion.t === others[0]);
      for (const name of ["cell_on", "cell_on", "cell_back"]) motion.act(name);
      seen.push(motion.t === others[1]);
      motion.act("cell_back");
      motion.act("cell_back");
      seen.push(motion.t === first);
      const moved = (ms) => {
        const before = motion.t;
        now += ms;
        motion.advance();
        return Math.round((motion.t - before) * motion.timeline.ms);
      };
      motion.act("play");
      const steps = [moved(50), moved(50), moved(60_000)];
      motion.player.speed = 2;
      steps.push(moved(50));
      motion.act("play");  // a pause
      now += 90;
      motion.act("play");
      steps.push(moved(0), moved(10));
      const unknown = motion.act("nothing");
      motion.destroy();
      return { seen, steps, unknown, rest: [motion.t, motion.isPlaying, board.motion] };
    """
    found = run("motion/motion.ts", MOTION + body)
    assert found["seen"] == [True, True, True, True]
    assert found["steps"] == [0, 50, 100, 100, 0, 20]  # ms of the step, of which at most 100 pass in one frame
    assert (found["unknown"], found["rest"]) == (False, [1, False, None])


WORK = """
  const { complete } = await import("/frontend/board/panel.ts");
  const context = document.createElement("canvas").getContext("2d");
  let texts = [];
  context.fillText = (text, x, y) => texts.push({ text, y });
  const type = { unit: 1, fine: 11, least: 0 };
  const pen = { context, theme: "light", font: "sans-serif", type, view: (kind, count) => [0, count] };
"""


def test_the_last_lines_of_a_long_sum_are_written_with_their_sum(run: Run) -> None:
    body = """
      const picture = { grid: [[null, 0], [1, 2]] };
      const at = (row, column, x, y) => ({ row, column, x, y, width: 200, height: given.height, gutter: 20 });
      const places = [at(0, 1, 400, 100), at(1, 0, 0, 300)];
      const terms = given.terms.map((product, n) => ({ left: 1, right: product, product, label: given.labels?.[n] }));
      const sum = given.terms.reduce((total, x) => total + x, 0);
      const work = { terms, count: terms.length, newest: 1, sum, inks: ["query", "key"] };
      const isThere = m.paintWork(pen, work, { places, picture, strip: null });
      const lines = new Map();
      for (const { text, y } of texts) lines.set(y, [...(lines.get(y) ?? []), text]);
      return [isThere, [...lines.values()]];
    """
    # 24 px of the title and 60 of the corner: five lines of 11 px type, of which one says that some are left out.
    is_there, lines = run("motion/work.ts", WORK + body, {"terms": [1, 2, 3, 4, 5, 6, 7], "height": 60})
    assert is_there
    assert lines == [
        ["⋮", "⋮"], *([["1.00", "×", f"{x}.00", "=", f"{x}.00"] for x in (5, 6, 7)]), ["sum", "=", "28.00"]
    ]  # fmt: skip
    is_there, lines = run(
        "motion/work.ts", WORK + body, {"terms": [1, 2], "height": 60, "labels": ["x" * 16, "y" * 17]}
    )
    assert [line[2] for line in lines[:2]] == ["x" * 16, "y" * 15 + "…"]
    assert lines[2] == ["sum", "=", "3.00"]


def test_an_exponential_is_written_as_long_as_its_cell_is_wide(run: Run) -> None:
    body = """
      return given.map(([value, width]) => {
        texts = [];
        const data = Float32Array.of(0, 1);
        const panel = complete({ name: "weights", rows: "query", cols: "key", data, shape: [1, 2] });
        const place = { panel, row: 0, column: 0, x: 0, y: 0, width: 2 * width, height: 20 };
        const frame = {
          blank: {}, stands: {}, turn: null, veiled: [], lit: [], flights: [], upright: null, work: null,
          written: [{ panel: "weights", row: 0, column: 1, value, plain: true }],
        };
        m.paintFrame(pen, frame, { places: [place], picture: { grid: [[0]] }, imageOf: () => null });
        return texts.map(({ text }) => text);
      });
    """
    long = {9.94: "9.94", 9.95: "9.9", 9.97: "10.0", 99.4: "99.4", 99.5: "100", 12.0: "12", 0.25: "0.25", 2e5: "2e5"}
    narrow = {9.94: "9.9", 9.97: "10", 0.994: ".99", 0.996: "1.0", 0.25: ".25"}
    given = [[value, 60] for value in long] + [[value, 14] for value in narrow]
    written = [[text] for text in (*long.values(), *narrow.values())]
    assert run("motion/paint.ts", WORK + body, given) == written


def test_the_words_of_a_file_follow_each_other_and_its_board_goes_away(run: Run) -> None:
    body = """
      const panel = { name: "scaled", title: "", role: null, rows: "query", cols: "key", data: Float32Array.of(1),
        shape: [1, 1], low: 0, high: 9, scale: "signed" };
      const bare = { blank: {}, stands: {}, turn: null, veiled: [], lit: [], flights: [], upright: null, work: null,
        written: [] };
      const asked = [];
      const timeline = { ms: 1, at: (t) => (asked.push(t), { ...bare, says: [["aaaa", "query"], ["bbbb", "key"]] }) };
      const header = { step: "scaled", grid: [[0]], labels: {}, panels: [panel] };
      const before = document.body.children.length;
      const made = (title) => {
        const animation = m.animationOf(document.body, { header, timeline, theme: "light", title });
        const pixels = animation.draw(0.5);
        const columns = ([red, green, blue]) => {
          const ink = (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
          const found = [];
          for (let n = 1280 * 650; n < pixels.length; n += 1) if (pixels[n] === ink) found.push(n % 1280);
          return [Math.min(...found), Math.max(...found)];
        };
        const dark = pixels.subarray(0, 1280 * 60).filter((pixel) => pixel !== 0xffffffff).length;
        const whole = animation.draw(1);
        const foot = whole.subarray(1280 * 680).filter((pixel) => pixel !== 0xffffffff).length;
        animation.destroy();
        return [columns(given[0]), columns(given[1]), dark > 0, foot];
      };
      return [made("A title"), made(""), asked, document.body.children.length - before];
    """
    inks = [[int(colour[n : n + 2], 16) for n in (1, 3, 5)] for colour in (LIGHT.ink.query, LIGHT.ink.key)]
    titled, bare, asked, left = run("motion/slide.ts", body, inks)
    assert titled[0][1] < titled[1][0]
    assert titled[2:] == [True, 0], "at the end nothing is said any more"
    assert bare[2] is False
    assert (asked, left) == ([0.5, 0.5], 0)


def test_the_words_of_a_file_have_its_themes_colours(page: Page) -> None:
    body = """async ([theme, title]) => {
      const { motion } = walk.view.drawing;
      const animation = motion.animation({ theme, title });
      const pixels = animation.draw(0.05);
      animation.destroy();
      const counts = (from, to) => {
        const found = new Map();
        for (const pixel of pixels.subarray(1280 * from, 1280 * to)) found.set(pixel, (found.get(pixel) ?? 0) + 1);
        return found;
      };
      const hex = (pixel) =>
        "#" + [0, 8, 16].map((by) => ((pixel >> by) & 255).toString(16).padStart(2, "0")).join("").toUpperCase();
      return [[0, 60], [670, 720], [60, 670]].map(([from, to]) => [...counts(from, to).keys()].map(hex));
    }"""
    walk = run_block(range(1, 6), ToyConfig()).walk(0, 0)
    with serving(WalkPage({0: write(document_of_layer(walk))})) as served:
        WalkView.open(page, served.url, step="scaled", q=1, k=1)
        ink = {"light": ("#1B1B26", "#0072B2", "#D55E00"), "dark": ("#EDEDF4", "#6CBDF0", "#FF9D5C")}
        for theme, (title, query, key) in ink.items():
            above, below, _ = page.evaluate(body, [theme, "Scaled"])
            assert title in above
            assert {query, key} <= set(below)

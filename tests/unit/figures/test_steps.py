"""The figures: their values are the steps', row is query, column is key, and their colours can be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attnviz.figures import draw_step
from attnviz.figures.panels import Pin
from attnviz.figures.steps import describe, lay_out
from attnviz.figures.style import escape, matrix_text, shorten
from attnviz.formatting import number
from attnviz.toy.config import ToyConfig
from attnviz.trace.matrices import matrix
from attnviz.trace.walk import Walk
from tests.pictures import board_picture
from tests.toy import run_block
from tests.unit.families import opened
from tests.unit.steps.test_attention import COMPUTED, walk_toy

LABELS = ("the", "cat", "the", "<b>", "a" * 40)


def walk(**config: Any) -> Walk:
    return run_block((1, 2, 1, 3, 4), ToyConfig(**config), LABELS).walk(0, 1)


def panels(figure: go.Figure) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def array(trace: Any) -> np.ndarray:
    return np.asarray(trace.z)


def axis(figure: go.Figure, trace: Any, letter: str) -> Any:
    return figure.layout[f"{letter}axis{(trace[f'{letter}axis'] or letter)[1:]}"]


@pytest.mark.parametrize("step", COMPUTED)
def test_panels_hold_the_steps_own_numbers(step: str) -> None:
    w = walk(causal=True)
    steps, layer = w.steps, w.layer
    assert layer.projections is not None
    assert layer.output_projection is not None
    expected = {
        "embeddings": layer.query_input, "query": steps.query, "key": steps.key, "key_t": steps.key.T,
        "value": steps.value, "scores": steps.scores, "scaled": steps.scaled, "head_outputs": steps.head_outputs,
        "W_query": layer.projections["query"].weight[1],  # type: ignore[index]
        "row_sum": steps.weights.sum(-1, keepdim=True), "concat": layer.concat(), "output": layer.output(),
        "W_output": layer.output_projection.weight,
    }  # fmt: skip
    found = panels(draw_step(w, step))
    assert step in found or step == "qkv"
    for name, trace in found.items():
        if name in expected:
            np.testing.assert_array_equal(array(trace), expected[name].numpy(), err_msg=name)  # type: ignore[union-attr]


def test_hidden_cells_are_gaps_and_the_rest_is_there() -> None:
    w = walk(causal=True)
    figure = draw_step(w, "weights")
    for name, values in (("masked", w.steps.masked), ("weights", w.steps.weights)):
        z = array(panels(figure)[name])
        past = np.tri(5, dtype=bool)
        assert np.isnan(z[~past]).all()
        np.testing.assert_array_equal(z[past], values.numpy()[past])
    assert len(figure.layout.images) == 2  # the hatching behind each


def test_row_is_query_and_column_is_key() -> None:
    figure = draw_step(walk(), "scores")
    scores = panels(figure)["scores"]
    assert scores.meta == {"rows": "query", "cols": "key"}
    x, y = axis(figure, scores, "x"), axis(figure, panels(figure)["query"], "y")
    assert (x.title.text, y.title.text) == ("key (to)", "query (from)")
    assert tuple(y.range) == (4.5, -0.5)  # row 0 on top
    assert tuple(axis(figure, scores, "y").range) == (4.5, -0.5)
    assert tuple(x.range) == (-0.5, 4.5)


def test_repeated_words_keep_their_own_rows_and_odd_tokens_are_text() -> None:
    figure = draw_step(walk(), "scores")
    ticks = axis(figure, panels(figure)["scores"], "x")
    assert list(ticks.tickvals) == [0, 1, 2, 3, 4]
    assert list(ticks.ticktext) == ["the", "cat", "the", "&lt;b&gt;", "aaaaaa…aaaaa"]


@pytest.mark.parametrize(
    ("step", "names", "largest_of"),
    [
        ("scores", ["scores"], "scores"), ("scaled", ["scores", "scaled"], "scores"),
        ("masked", ["scaled", "masked"], "scaled"), ("weights", ["masked"], "scaled"),
    ],
)  # fmt: skip
def test_before_and_after_share_one_colour_domain(step: str, names: list[str], largest_of: str) -> None:
    w = walk()
    limit = float(matrix(w, largest_of).abs().max())
    found = panels(draw_step(w, step))
    for name in names:
        assert (found[name].zmin, found[name].zmax) == pytest.approx((-limit, limit))


def test_weights_go_from_0_to_1_unless_stretched_and_then_say_so() -> None:
    w = walk()
    plain, stretched = draw_step(w, "weights"), draw_step(w, "weights", stretch=True)
    assert (panels(plain)["weights"].zmin, panels(plain)["weights"].zmax) == (0, 1)
    assert panels(stretched)["weights"].zmax == pytest.approx(float(w.steps.weights.max()))
    (laid_out,) = [panel for panel in lay_out(w, "weights").grid[0] if panel is not None and panel.name == "weights"]
    assert (laid_out.limit, laid_out.title) == (1, "weights = softmax of each row")
    titles = [a.text for a in stretched.layout.annotations]
    assert any(f"colours end at {float(w.steps.weights.max()):.2g}" in title for title in titles)
    assert not any("colours end" in a.text for a in plain.layout.annotations)


@pytest.mark.parametrize(("tokens", "by_itself"), [(39, False), (40, True)])
def test_colours_are_darkened_by_themselves_in_a_long_text_unless_the_user_says_otherwise(
    tokens: int, by_itself: bool
) -> None:
    w = run_block(range(tokens), ToyConfig(), ["a"] * tokens).walk(0, 0)
    ends = {choice: panels(draw_step(w, "weights", stretch=choice))["weights"].zmax for choice in (None, True, False)}
    largest = np.sort(w.steps.weights.max(-1).values.numpy())
    dark = largest[int(0.9 * (tokens - 1))] if by_itself else largest[-1]
    assert ends == pytest.approx({True: dark, False: 1, None: dark if by_itself else 1})
    assert dark < 0.99


@pytest.mark.parametrize("step", COMPUTED)
def test_every_matrix_says_its_name_shape_and_range(step: str) -> None:
    figure = draw_step(walk(), step)
    titles = " ".join(a.text for a in figure.layout.annotations)
    for trace in figure.data:
        z = array(trace)
        assert f"{z.shape[0]} × {z.shape[1]}" in titles
        if trace.name != "row_sum":  # every number of the sums is 1
            assert f"{number(float(np.nanmin(z)))} … {number(float(np.nanmax(z)))}" in titles


@pytest.mark.parametrize(("n", "numbered"), [(16, True), (17, False)])
def test_cells_carry_numbers_up_to_16_tokens(n: int, numbered: bool) -> None:
    trace = run_block(range(n), ToyConfig())
    scores = panels(draw_step(trace.walk(0, 0), "scores"))["scores"]
    assert bool(scores.texttemplate) is numbered


def test_a_long_text_labels_some_tokens_with_their_numbers() -> None:
    labels = tuple(f"w{i}" for i in range(512))
    figure = draw_step(run_block(range(512), ToyConfig(), labels).walk(0, 0), "weights")
    ticks = axis(figure, panels(figure)["weights"], "x")
    every = ticks.tickvals[1]
    assert list(ticks.tickvals)[:3] == [0, every, 2 * every]
    assert every > 8
    assert ticks.ticktext[1] == f"{every} w{every}"


def test_a_pin_outlines_its_row_and_column_everywhere() -> None:
    shapes = draw_step(walk(), "scores", pin=Pin(3, 1)).layout.shapes
    boxes = {(s.xref, s.yref): [] for s in shapes}
    for s in shapes:
        boxes[s.xref, s.yref].append((s.x0, s.x1, s.y0, s.y1, s.line.color))
    assert sorted(len(b) for b in boxes.values()) == [1, 1, 2]  # Q: row; Kᵀ: column; scores: both
    assert {s.line.width for s in shapes} == {2}
    flat = [box for group in boxes.values() for box in group]
    assert (-0.5, 4.5, 2.5, 3.5, "#0072B2") in flat
    assert (0.5, 1.5, -0.5, 4.5, "#D55E00") in flat


def test_a_thick_frame_is_around_the_head_that_is_shown_and_thin_lines_between_the_others() -> None:
    figure = draw_step(walk(heads=3, head_size=4), "concat")  # head 1
    shapes = [(s.x0, s.x1, s.y0, s.y1, s.line.width) for s in figure.layout.shapes]
    assert shapes == [(3.5, 3.5, -0.5, 4.5, 1), (7.5, 7.5, -0.5, 4.5, 1), (3.5, 7.5, -0.5, 4.5, 2)]


@pytest.mark.parametrize("qkv", ["linear", "identity", "positions"])
def test_products_named_for_the_browser_are_true(qkv: str) -> None:
    """The browser writes a cell as left row x right column (+ bias): check every cell of every such panel."""
    for step in ("qkv", "scores", "head_outputs", "output"):
        figure = draw_step(walk(qkv=qkv) if qkv != "identity" else walk_toy(ToyConfig(qkv=qkv)), step)
        found = panels(figure)
        for result, product in figure.layout.meta["products"].items():
            left, right = array(found[product["left"]]), array(found[product["right"]])
            bias = 0 if product["bias"] is None else np.array(product["bias"])
            np.testing.assert_allclose(array(found[result]), left @ right + bias, rtol=1e-4, atol=1e-5)


def test_in_cross_attention_keys_come_from_the_encoder() -> None:
    model = opened("bart")
    for texts, darkened in (("the " * 50, "on the mat"), True), (("the cat", "on " * 50), False):
        weights = panels(draw_step(model.trace(*texts).walk(1, 2, "cross"), "weights"))["weights"]
        assert (weights.zmax < 1) == darkened, "it is the keys that are many"
    trace = model.trace("the cat sat", "on the mat and")
    walk = trace.walk(1, 2, "cross")
    figure = draw_step(walk, "qkv")
    found = panels(figure)
    for result, product in figure.layout.meta["products"].items():
        left, right = array(found[product["left"]]), array(found[product["right"]])
        np.testing.assert_allclose(array(found[result]), left @ right + np.array(product["bias"]), rtol=1e-4, atol=1e-5)


def test_one_token() -> None:
    trace = run_block((7,), ToyConfig(causal=True))
    for step in COMPUTED:
        assert draw_step(trace.walk(0, 0), step).data


def test_description_for_readers_who_do_not_see_it() -> None:
    w = walk()
    text = describe(lay_out(w, "scores"))
    low, high = number(float(w.steps.scores.min())), number(float(w.steps.scores.max()))
    assert f"scores, 5 rows: query (from), 5 columns: key (to), numbers from {low} to {high}" in text


def test_long_labels_shorten_in_the_middle() -> None:
    assert shorten("internationalisation", 10) == "inter…tion"
    assert shorten("short") == "short"
    assert escape("<a & b>") == "&lt;a &amp; b&gt;"


@pytest.mark.parametrize(("value", "text"), [(-1.234, "−1.23"), (-0.001, "0.00"), (0.0, "0.00"), (2.5, "2.50")])
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_drawing_changes_nothing() -> None:
    w = walk(causal=True)
    before = w.steps.scores.clone()
    for step in COMPUTED:
        draw_step(w, step)
    assert torch.equal(w.steps.scores, before)


def test_the_description_names_all_matrices_and_what_rows_and_columns_are() -> None:
    w = walk(causal=True)
    low, high = (number(float(one)) for one in (w.steps.scaled.min(), w.steps.scaled.max()))
    masked = w.steps.masked[torch.isfinite(w.steps.masked)]
    size = "5 rows: query (from), 5 columns: key (to)"
    assert describe(lay_out(w, "masked")) == (
        f"Heatmaps: scaled, {size}, numbers from {low} to {high}; masked = scaled, or −∞, {size}, numbers from "
        f"{number(float(masked.min()))} to {number(float(masked.max()))}."
    )
    beginning = "Heatmaps: Kᵀ key, 8 rows: head width D, 5 columns: key (to), numbers from "
    assert describe(lay_out(w, "scores")).startswith(beginning)


def test_a_matrix_of_which_nothing_is_seen_or_whose_axes_have_no_title_is_said_by_its_size() -> None:
    assert matrix_text("M", np.full((1, 2), np.nan), "layer", "head") == "M, 1 row: layer, 2 columns: head"
    assert matrix_text("M", np.zeros((2, 1)), "other", "") == "M, 2 rows, 1 column, numbers from 0.00 to 0.00"


def test_the_rows_of_logits_are_positions() -> None:
    said = matrix_text("logits", np.zeros((2, 3)), "query", "vocabulary")
    assert said.startswith("logits, 2 rows: position, 3 columns: token of the vocabulary")


def test_a_step_without_matrices_has_no_figure_and_one_without_embeddings_an_empty_one() -> None:
    with pytest.raises(KeyError, match="tokens"):
        lay_out(walk(), "tokens")
    lacking = replace(walk(), layer=replace(walk().layer, query_input=None))
    assert list(lay_out(lacking, "embeddings").grid) == []


SIGNED = {"embeddings", "query", "key", "key_t", "value", "scores", "scaled", "masked", "head_outputs", "output"}


@pytest.mark.parametrize("step", COMPUTED)
def test_the_range_of_a_matrix_holds_its_numbers_and_signed_ones_have_zero_in_the_middle(step: str) -> None:
    header, arrays = board_picture(lay_out(walk(causal=True), step), {"query": LABELS, "key": LABELS})
    assert header["labels"] == {"query": list(LABELS), "key": list(LABELS)}
    placed = [one for row in header["grid"] for one in row if one is not None]
    assert sorted(placed) == list(range(len(header["panels"])))
    for index, panel in enumerate(header["panels"]):
        seen = arrays[str(index)]
        seen = seen[np.isfinite(seen)]
        assert panel["low"] <= seen.min() <= seen.max() <= panel["high"] + 1e-6, panel["name"]
        if panel["name"] in SIGNED:
            assert panel["low"] == -panel["high"] < 0, panel["name"]
        if panel["name"] == "weights":
            assert (panel["low"], panel["high"]) == (0, 1)

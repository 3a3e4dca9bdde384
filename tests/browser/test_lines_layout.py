"""Where tokens and lines lie: a function of the room, against geometry worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.browser.modules import Run

CASES = [
    {"direction": "vertical", "size": {"width": 800, "height": 500}, "counts": [40, 25], "longest": [60, 80]},
    {"direction": "vertical", "size": {"width": 380, "height": 500}, "counts": [8, 12], "longest": [60, 400]},
    {"direction": "horizontal", "size": {"width": 900, "height": 400}, "counts": [6, 9], "longest": [30, 40]},
    {"direction": "horizontal", "size": {"width": 700, "height": 400}, "counts": [30, 90], "longest": [90, 120]},
    {
        "direction": "vertical", "size": {"width": 800, "height": 500}, "counts": [40, 25], "longest": [60, 80],
        "beside": {"from": 52, "pitch": 9},
    },
]  # fmt: skip
NAMES = ["vertical", "narrow", "horizontal", "turned", "beside a matrix"]

SCROLLED = [(name, room, offset) for name, room in zip(NAMES, CASES, strict=True) for offset in (0, 0.3, 1)]
"""Each room, scrolled by shares of its way"""

LAYOUT = "const layout = m.arrange({ heads: 3, ...given.room }); layout.scroll(given.offset * layout.travel);"


def all_arranged(run: Run, rooms: list[tuple[str, dict[str, Any], float]], body: str) -> list[Any]:
    """Return what `body` says of the layout of each room, scrolled by a share of its way."""
    given = [{"room": room, "offset": offset} for _, room, offset in rooms]
    found: list[Any] = run("lines/layout.ts", f"return given.map((given) => {{ {LAYOUT} {body} }});", given)
    return found


def arranged(run: Run, room: dict[str, Any], body: str, offset: float = 0) -> Any:
    """Return what `body` says of the layout of a room."""
    return all_arranged(run, [("", room, offset)], body)[0]


def test_a_token_is_hit_all_around_the_middle_of_its_label(run: Run) -> None:
    """From just under half a place before it to just under half a place behind it."""
    body = """
      const hits = [];
      for (const side of [0, 1]) {
        const [from, to] = layout.visible(side);
        for (let index = from; index < to; index += 1) for (const share of [-0.49, 0, 0.49]) {
          const along = layout.at(side, index) + share * layout.pitch;
          if (layout.sees(along)) hits.push([side, index, layout.hit(...layout.point(side, layout.label, along))]);
        }
      }
      return hits;
    """
    for (name, _, offset), hits in zip(SCROLLED, all_arranged(run, SCROLLED, body), strict=True):
        assert len(hits) > 20, (name, offset)
        tokens = [{"side": side, "index": index} for side, index, _ in hits]
        assert [found for *_, found in hits] == tokens, (name, offset)


def test_exactly_the_tokens_whose_place_meets_the_window_are_visible(run: Run) -> None:
    body = """
      const tokens = layout.counts.map((count, side) => Array.from({ length: count }, (_, i) => layout.at(side, i)));
      return [tokens, layout.pitch, layout.window, [0, 1].map((side) => layout.visible(side))];
    """
    for (name, _, offset), found in zip(SCROLLED, all_arranged(run, SCROLLED, body), strict=True):
        tokens, pitch, window, visible = found
        start, end = window["from"], window["from"] + window["length"]
        for middles, (first, last) in zip(tokens, visible, strict=True):
            meets = [i for i, at in enumerate(middles) if at + pitch / 2 > start + 1e-6 and at - pitch / 2 < end - 1e-6]
            assert [first, last] == [meets[0], meets[-1] + 1], (name, offset)


@pytest.mark.parametrize("room", [CASES[0], CASES[3]], ids=["vertical", "turned"])
def test_a_token_out_of_sight_is_scrolled_into_view_whole(run: Run, room: dict[str, Any]) -> None:
    body = """
      return [0, 1].flatMap((side) => Array.from({ length: layout.counts[side] }, (_, index) => {
        layout.scroll(given.offset * layout.travel);
        const offset = layout.reveal(side, index);
        if (offset !== null) layout.scroll(offset);
        return [layout.at(side, index), layout.pitch / 2, layout.window, layout.overhang];
      }));
    """
    for offset in (0, 1):
        for at, half, window, overhang in arranged(run, room, body, offset):
            assert at - half >= window["from"] - 1e-6
            assert at + half + overhang <= window["from"] + window["length"] + 1e-6


def test_tokens_are_level_with_the_rows_of_a_matrix_that_are_high_enough(run: Run) -> None:
    body = "return [layout.at(0, 0), layout.at(0, 39), layout.at(1, 24), layout.pitch, layout.travel];"
    assert arranged(run, CASES[4], body) == [56.5, 52 + 39.5 * 9, 52 + 24.5 * 9, 9, 0]
    rows = "[[52, 8], [52, 7.9], [20, 9]].map(([from, pitch]) => m.levelWith({ from, pitch }, given.least) !== null)"
    assert run("lines/layout.ts", f"return {rows}", {"least": 0}) == [True, False, False]
    assert run("lines/layout.ts", f"return {rows}", {"least": 18}) == [False, False, False]


def test_where_labels_have_no_room_those_that_are_meant_have_theirs_before_all_others(run: Run) -> None:
    sparse, lit = (
        arranged(run, CASES[4], f"return [...layout.labelled(1, {always})].sort((a, b) => a - b);")
        for always in ([], [7, 7, 8])
    )
    assert sparse == [*range(0, 25, 2)]
    assert lit == [0, 2, 4, 7, *range(10, 25, 2)], "8 is too near to 7"
    for room in CASES[:4]:
        assert arranged(run, room, "return layout.labelled(1, [3, 3]).size") == room["counts"][1]


def test_the_label_of_a_turned_token_is_hit_along_its_slope(run: Run) -> None:
    body = """
      const [turn, along] = [Math.PI / 4, layout.at(1, 3)];
      const out = (d) => layout.point(1, layout.label + d * Math.sin(turn), along + d * Math.cos(turn));
      return [layout.turned, ...[0, 20, 60].map((d) => layout.hit(...out(d)))];
    """
    assert arranged(run, CASES[3], body) == [True, *[{"side": 1, "index": 3}] * 3]


def test_lines_of_several_heads_begin_evenly_around_a_token(run: Run) -> None:
    body = "return [1, 2, 5, 24].map((n) => Array.from({ length: n }, (_, head) => layout.spread(head, n)))"
    for spread in map(np.array, arranged(run, CASES[0], body)):
        assert spread.sum() == pytest.approx(0, abs=1e-9)
        assert np.diff(spread) == pytest.approx(np.full(len(spread) - 1, np.diff(spread)[:1])), len(spread)
        assert np.ptp(spread) < 19  # no more than a token's own place


DRAWN = """
  const strokes = await import(given.base + "lines/strokes.ts");
  const { Bundle } = await import(given.base + "lines/choice.ts");
  const layout = m.arrange({ heads: 1, ...given.room });
  layout.scroll(given.offset * layout.travel);
  const lines = new Bundle(1, 1, { low: 0, high: 1 });
  lines.add(0, given.q, given.k, 0.9);
  const curves = [];
  const note = (name) => (...numbers) => { if (name !== "clip") curves.push([name, ...numbers]); };
  const context = new Proxy({}, {
    get: (_, name) => (name === "createLinearGradient" ? () => ({ addColorStop() {} }) : note(name)),
    set: () => true,
  });
  new strokes.Strokes({ lines, layout, density: 1, colours: ["#000000"] }).paint(context, Infinity);
  const drawn = curves.filter(([name]) => name === "moveTo" || name === "bezierCurveTo").map(([, ...at]) => at);
  strokes.trace({ moveTo: note("whole"), bezierCurveTo: note("whole") }, layout,
    layout.at(0, given.q), layout.at(1, given.k));
  return [drawn, curves.filter(([name]) => name === "whole").map(([, ...at]) => at), layout.window];
"""


def bezier(points: list[list[float]], t: np.ndarray) -> np.ndarray:
    """Evaluate a cubic Bézier curve at times t; `points` is [start], [two controls and the end]."""
    (a,), (b, c, d) = (np.array(some, float).reshape(-1, 2) for some in points)
    t = t[:, None]
    return (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


@pytest.mark.parametrize("room", [CASES[0], CASES[3]], ids=["vertical", "horizontal"])
@pytest.mark.parametrize(("q", "k", "offset"), [(0, 24, 0), (29, 2, 0), (2, 24, 1)])
def test_a_line_that_leaves_the_window_is_part_of_the_whole_line(
    run: Run, room: dict[str, Any], q: int, k: int, offset: float
) -> None:
    base = "/frontend/"
    given = {"room": room, "q": q, "k": k, "offset": offset, "base": base}
    drawn, whole, window = run("lines/layout.ts", DRAWN, given)
    path = bezier(whole, np.linspace(0, 1, 20_001))
    part = bezier(drawn, np.linspace(0, 1, 51))
    distance = np.sqrt(((part[:, None] - path[None]) ** 2).sum(-1)).min(1)
    assert distance.max() < 0.05
    along = part[:, 1 if room["direction"] == "vertical" else 0]
    assert along.min() >= window["from"] - 17
    assert along.max() <= window["from"] + window["length"] + 17

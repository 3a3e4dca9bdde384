"""The chart: its figure, made in the browser, is the one that Python makes."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.components.payload import write_payload
from attnviz.figures.compose import Labels, compose
from attnviz.figures.panels import Layout, Panel, Pin
from attnviz.figures.steps import lay_out
from attnviz.figures.style import DARK, LIGHT
from attnviz.formatting import number
from attnviz.pretrained import load
from attnviz.steps import ATTENTION
from attnviz.steps.averages import WAYS
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.browser.modules import BASE64, Run
from tests.loaded import built_in_model
from tests.pictures import board_picture
from tests.toy import run_block, tokens_of
from tests.unit.families import save

FILES = "/frontend"
HOSTILE = (
    "<img src=x onerror=alert(1)>", "&lt;", "<a href='javascript:alert(1)'>a</a>", "\u202etfel", "🙂" * 11, "🙂" * 14,
    "", " ", "a\0b", "%{z}", "</text>", "ทdเ้" * 6, "e\u0301" * 9, '"',
)  # fmt: skip
PINS = (Pin(), Pin(0, 0), Pin(2, None), Pin(None, 3), Pin(39, 12))
PALETTES = {"light": LIGHT, "dark": DARK}
LOOKS: list[tuple[str, Pin]] = [*(("light", pin) for pin in PINS), ("dark", Pin(2, None))]
FIGURES = """
  BASE64
  const { readPayload } = await import("FILES/core/payload.ts");
  return given.map(({ sent, looks }) => {
    const { header, arrays } = readPayload(Uint8Array.from(atob(sent), (character) => character.charCodeAt(0)));
    const panels = header.panels.map((panel, i) => ({ ...panel, ...arrays[i] }));
    return looks.map((one, i) => {
      const { data, layout } = m.figureOf({ ...header, panels }, one);
      const row = (given) => base64({ data: Float32Array.from(given, (x) => x ?? NaN), shape: [given.length] }).data;
      const numbers = (z) => (i ? null : z.map(row)); // the same in every look
      return [data.map(({ z, ...trace }) => ({ ...trace, z: numbers(z) })), layout];
    });
  });
""".replace("FILES", FILES).replace("BASE64", BASE64)

Case = tuple[Layout, Labels]
Looks = list[tuple[str, Pin]]


def composed_in_browser(run: Run, cases: list[Case], chosen: Looks) -> list[list[Any]]:
    """Return [data, layout] of each case in each look."""
    looks = [{"theme": theme, "pin": {"q": pin.q, "k": pin.k}} for theme, pin in chosen]
    sent = [b64encode(write_payload(*board_picture(*case))).decode() for case in cases]
    made: list[list[Any]] = run("chart/figure.ts", FIGURES, [{"sent": one, "looks": looks} for one in sent])
    return made


def check(run: Run, cases: list[Case], looks: Looks = LOOKS) -> None:
    """Check that the browser and Python make the same figures."""
    for (layout, labels), several in zip(cases, composed_in_browser(run, cases, looks), strict=True):
        expected = [compose(layout, labels, pin=pin, palette=PALETTES[theme]) for theme, pin in looks]
        for (data, made), figure in zip(several, expected, strict=True):
            for ours, trace in zip(data, figure["data"], strict=True):
                numbers, expected_numbers = ours.pop("z"), trace.pop("z")
                if numbers is not None:
                    rows = [np.frombuffer(b64decode(row), np.float32) for row in numbers]
                    np.testing.assert_array_equal(np.stack(rows), expected_numbers)
            compare(data, figure["data"], "data")
            compare(made, figure["layout"], "layout")


def compare(ours: Any, python: Any, path: str) -> None:
    """Check that two values are the same JSON.

    Python adds the shares of a grid with a correction (since 3.12), JavaScript without: their last bits may differ.
    """
    if isinstance(python, dict):
        python = json.loads(json.dumps(python))  # whose keys are texts
        assert set(ours) == set(python), path
        for name, value in python.items():
            compare(ours[name], value, f"{path}.{name}")
    elif isinstance(python, list | tuple):
        assert len(ours) == len(python), path
        for n, (one, other) in enumerate(zip(ours, python, strict=True)):
            compare(one, other, f"{path}[{n}]")
    elif isinstance(python, float) or (isinstance(python, int) and not isinstance(python, bool)):
        assert isinstance(ours, int | float), path
        assert not isinstance(ours, bool), path
        assert abs(ours - python) <= 1e-12, path  # pytest.approx takes 20 times as long
    else:
        assert (type(ours), ours) == (type(python), python), path


def every_step(walk: Walk) -> Iterator[Case]:
    for name, step in ATTENTION.items():
        for stretch in (False, True) if step.can_be_stretched else (None,):
            layout = lay_out(walk, name, stretch=stretch)
            if layout.grid:
                yield layout, walk.labels


CONFIGS = {
    "default": ToyConfig(),
    "8 heads of 16": ToyConfig(scale="0.125", heads=8, head_size=16, positions="none"),
    "causal, no projection": ToyConfig(projection=False, positions="random", causal=True, scale="off", heads=3),
    "identity": ToyConfig(qkv="identity"),
    "position mixing": ToyConfig(qkv="positions", causal=True),
}


def test_a_toys_figures_are_pythons(run: Run) -> None:
    first, *others = [run_block(range(17), config, (HOSTILE * 2)[:17]).walk(0, 0) for config in CONFIGS.values()]
    others.append(run_block(range(1), ToyConfig(), HOSTILE[:1]).walk(0, 0))
    check(run, list(every_step(first)))
    check(run, [case for walk in others for case in every_step(walk)], LOOKS[2:3])


def test_a_trained_heads_figures_are_pythons(run: Run) -> None:
    trace = built_in_model().trace("The animal didn't cross the street because it was too tired.", "It slept.")
    check(run, list(every_step(trace.walk(3, 5))), LOOKS[2:3])  # the others are those of a toy


def test_figures_of_cross_attention_are_pythons(run: Run, tmp_path: Path) -> None:
    trace = load(str(save("bart", tmp_path))).trace("the cat sat", "on the mat and")
    check(run, list(every_step(trace.walk(1, 2, "cross"))))


def test_the_averages_figures_are_pythons(run: Run) -> None:
    walks = [walk_to_attention(tokens_of(range(n), [f"w{i}" for i in range(n)]), ToyConfig()) for n in (1, 6, 40)]
    cases: list[Case] = [(lay_out(walk, way), walk.labels) for walk in walks for way in WAYS]
    check(run, cases)


def test_figures_of_unusual_matrices_are_pythons(run: Run) -> None:
    """Numbers in the middle between two decimals, no number at all, long axes, and titles that are markup."""
    drawn = np.random.default_rng(0)
    matrices = {
        "ties": np.array([[0.125, -0.375], [2.5, 0.625]]),
        "lower ties": np.array([[-0.125, 0.375], [0.005, -0.001]]),
        "zeros": np.zeros((2, 2)),
        "hidden": np.full((3, 2), np.nan),
        "partly": np.array([[np.nan, 9.995], [np.nan, -1]]),
        "large": drawn.normal(size=(4, 4)) * 1e4,
        "small": drawn.normal(size=(4, 4)) * 1e-4,
        "long": drawn.normal(size=(300, 3)),
        "wide": drawn.normal(size=(2, 500)),
        "spaced": drawn.normal(size=(48, 49)),
    }
    labels = {"query": [*HOSTILE, *(f"w{n}" for n in range(500))], "key": [f"k{n}" for n in range(500)]}
    cases: list[Case] = []
    for name, values in matrices.items():
        panel = Panel(name, f"<b>{name}</b> & <a href='//x'>", values.astype(np.float32), "query", "key", numbered=True)
        cases.append((Layout(((panel,),), (1,), (1,)), labels))
        below = replace(panel, cols="model", col_ticks={0: "<i>first"}, bar=True, scale="weights", limit=0.3)
        cases.append(
            (Layout(((None, panel), (below, panel), (None, panel)), (1, 3), (2, 1, 1), between="A < B"), labels)
        )
    check(run, cases)


def test_numbers_with_fixed_decimals_are_pythons(run: Run) -> None:
    drawn = np.random.default_rng(0)
    values = [*(drawn.normal(size=300) * 10.0 ** drawn.integers(-4, 7, 300)), *(np.arange(-60, 60) / 8), 2.675, 1.005]
    values += [float(np.float32(value)) for value in values]
    body = "return given.map((x) => [m.fixed(x), m.fixed(x, 3), m.fixed(x, 0)])"
    written = run("core/format.ts", body, values)
    assert written == [[number(value), number(value, 3), number(value, 0)] for value in values]

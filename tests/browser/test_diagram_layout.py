"""Where the parts of a model are drawn: a pure function, run in the browser."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.apps.models import HEAD, Architecture, model
from tests.browser.modules import Run


@pytest.fixture
def page(plain_page: Page) -> Page:
    return plain_page


LAID_OUT = """
  const { allParts, stacksOf } = await import("/frontend/diagram/parts.ts");
  const stacks = stacksOf(given.model);
  const parts = allParts(stacks);
  const chosen = parts.find(({ layer, steps }) => layer === given.layer && steps.some(([name]) => name === given.step));
  const widthOf = (text) => text.length * 0.55 * given.type;
  const { type, width } = given;
  const least = type > 12.5 ? type : 0;
  return { parts, chosen, layout: m.layoutOf(stacks, { chosen: chosen.id, width, type, least, widthOf }) };
"""
ALL_LAID_OUT = f"""
  const laidOut = async (given) => {{ {LAID_OUT} }};
  const layouts = [];
  for (const {{ layer, step }} of given.chosen) {{
    const {{ layout: {{ type, width, boxes }} }} = await laidOut({{ ...given, layer, step }});
    layouts.push({{ type, width, blocks: boxes.filter(({{ kind }}) => kind === "block") }});
  }}
  return layouts;
"""
"""One after another in the same page"""
LAYOUT = "diagram/layout.ts"
WIDE = 100_000


def laid_out(
    run: Run, given: dict[str, Any], *, layer: int = 0, step: str = "qkv", width: int, letters: float = 12.5
) -> Any:
    return run(LAYOUT, LAID_OUT, {"model": given, "layer": layer, "step": step, "width": width, "type": letters})


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
@pytest.mark.parametrize("width", [360, WIDE])
def test_boxes_lie_apart_in_the_order_of_computation(
    run: Run, architecture: Architecture, norm_first: bool, width: int
) -> None:
    given = model(architecture, 6, norm_first=norm_first)
    for letters in (12.5, 18):
        found = laid_out(run, given, layer=3, width=width, letters=letters)
        layout = found["layout"]
        boxes = layout["boxes"]
        for one in boxes:
            assert one["x"] >= 0 and one["x"] + one["width"] <= layout["width"], one
            assert one["y"] >= 0 and one["y"] + one["height"] <= layout["height"], one
            assert min(one["width"], one["height"]) >= 24, one
        for one, other in combinations(boxes, 2):
            beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            below = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
            assert beside or below, (one, other)
        assert [one["id"] for one in boxes if one["id"] == found["chosen"]["id"]]
        orders = [line["order"] for line in layout["lines"] if line["ink"] in ("stream", "residual")]
        assert max(orders) < len(found["parts"])


def test_blocks_are_closed_only_where_there_is_no_room(run: Run) -> None:
    given = model("encoder", 12)
    wide, narrow = (laid_out(run, given, layer=5, width=width)["layout"] for width in (WIDE, 1000))
    assert [one["kind"] for one in wide["boxes"]].count("block") == 0
    assert len(wide["frames"]) == 12
    closed = [one for one in narrow["boxes"] if one["kind"] == "block"]
    assert [one["layer"] for one in closed] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert [one["label"] for one in narrow["frames"]] == ["Block 5"]
    assert closed[0]["inside"] == ["attention", "add", "norm", "widen", "narrow", "add", "norm"]


@pytest.mark.parametrize("norm_first", [False, True])
def test_both_stacks_of_twelve_blocks_fit_a_laptop_with_closed_blocks_folded(run: Run, norm_first: bool) -> None:
    given = model("both", 12, norm_first=norm_first)
    steps = {"cross": "qkv", "decoder": "attention_residual"}
    decoders = [(layer, one) for layer, one in enumerate(given["attentions"]) if one["kind"] != "encoder"]
    chosen = [{"layer": layer, "step": steps[one["kind"]]} for layer, one in decoders]
    layouts = run(LAYOUT, ALL_LAID_OUT, {"model": given, "chosen": chosen, "width": 930, "type": 12.5})
    for (_, one), layout in zip(decoders, layouts, strict=True):
        assert layout["width"] <= 930, one
        assert layout["type"] >= 11
        decoder = [box for box in layout["blocks"] if "decoder" in box["label"]]
        named = [box["lines"][0].split(" – ") for box in decoder]
        covered = [n for ends in named for n in range(int(ends[0]), int(ends[-1]) + 1)]
        assert sorted([*covered, one["block"]]) == list(range(12))
        for box, ends in zip(decoder, named, strict=True):
            assert int(ends[0]) <= given["attentions"][box["layer"]]["block"] <= int(ends[-1])
            assert box["label"] == f"decoder block {' to '.join(ends)}"
    assert laid_out(run, given, layer=20, width=930, letters=18)["layout"]["type"] == 18


@pytest.mark.parametrize("layer", [0, 3], ids=["encoder open", "decoder open"])
def test_a_stack_without_an_open_block_is_as_low_as_its_boxes(run: Run, layer: int) -> None:
    layout = laid_out(run, model("both", 2), layer=layer, width=930)["layout"]
    names = {one["text"]: one for one in layout["words"] if one["text"] in ("Encoder", "Decoder")}
    (frame,) = layout["frames"]
    closed, opened = ("Decoder", "Encoder") if layer == 0 else ("Encoder", "Decoder")
    assert names[opened]["y"] == frame["y"]
    inside = frame["y"], frame["y"] + frame["height"]
    boxes = [one for one in layout["boxes"] if not inside[0] <= one["y"] < inside[1]]
    assert boxes
    for box in boxes:
        assert box["x"] > 7 * 0.55 * 12.5
        assert box["y"] < names[closed]["y"] < box["y"] + box["height"]
    assert layout["height"] - frame["height"] <= boxes[0]["height"] + 18 + 6


@pytest.mark.parametrize(("norm_first", "first"), [(False, "attention"), (True, "norm")])
def test_the_stream_goes_past_each_part_that_is_added(run: Run, norm_first: bool, first: str) -> None:
    """It splits before the part, or before its norm where that comes first, and ends in the sum."""
    layout = laid_out(run, model("decoder", 1, norm_first=norm_first), width=WIDE)["layout"]
    sums = [box for box in layout["boxes"] if box["kind"] == "add"]
    past = [line for line in layout["lines"] if line["ink"] == "residual"]
    assert len(past) == len(sums) == 2
    for line, box in zip(past, sums, strict=True):
        begin, end = float(line["d"].split()[0][1:]), box["x"] + box["width"] / 2
        over = [one["kind"] for one in layout["boxes"] if begin < one["x"] < end - box["width"]]
        expected = [["attention"], ["widen", "narrow"]][sums.index(box)]
        assert over == ([first] if norm_first else []) + expected


def test_widths_are_to_scale(run: Run) -> None:
    layout = laid_out(run, model("encoder", 1), width=WIDE)["layout"]
    widths = [line["width"] for line in layout["lines"] if line["ink"] == "stream"]
    assert max(widths) / sorted(set(widths))[0] == pytest.approx(4)  # F is 4 C
    assert widths.count(max(widths)) == 1


def test_keys_and_values_of_the_encoder_reach_every_attention_to_it(run: Run) -> None:
    for width in (900, WIDE):
        layout = laid_out(run, model("both", 3), layer=0, width=width)["layout"]
        downs = [line for line in layout["lines"] if line["ink"] in ("key", "value") and "V" in line["d"]]
        assert len(downs) == 2 * 3


def test_parts_are_named_and_their_steps_are_the_models(run: Run) -> None:
    given = model("both", 2, norm_first=True)
    parts = laid_out(run, given, width=WIDE)["parts"]
    steps = [[(part["layer"], name) for name, _ in part["steps"]] for part in parts]
    expected = [(n, name) for n, one in enumerate(given["attentions"]) for name, _ in one["steps"]]
    assert [one for part in steps for one in part] == expected
    assert [name for _, name in steps[2]] == HEAD
    named = [f"{part['place']}, {part['name']}" for part in parts]
    assert named[:4] == [
        "encoder, embeddings + positions (sinusoidal)",
        "encoder block 0, norm before attention",
        "encoder block 0, attention",
        "encoder block 0, add, after attention",
    ]
    assert "decoder block 1, attention to the encoder" in named
    assert len(set(named)) == len(named)
    assert named[-1] == "decoder, softmax"
    hidden = next(part for part in parts if part["kind"] == "widen")
    assert hidden["says"] == "9 × 32 → 9 × 128, W₁ 32 × 128"


def test_a_part_says_the_sizes_of_its_own_block(run: Run) -> None:
    """A feed-forward's maps are named W₁ and W₂ only if there are two, and a head may be wider than C / H."""
    given = model("encoder", 3)
    gated = [[32, 48], [32, 48], [48, 32]]
    given["attentions"][1] |= {"head_size": 16, "feed_forward": gated}
    given["attentions"][2] |= {"feed_forward": None}
    parts = laid_out(run, given, width=WIDE)["parts"]
    says = [[one["says"] for one in parts if one["kind"] == kind] for kind in ("attention", "widen", "narrow")]
    assert says == [
        ["4 heads of width 8, weights 9 × 9 each", "4 heads of width 16, weights 9 × 9 each",
         "4 heads of width 8, weights 9 × 9 each"],
        ["9 × 32 → 9 × 128, W₁ 32 × 128", "9 × 32 → 9 × 48, W 32 × 48, W 32 × 48", "9 rows"],
        ["9 × 128 → 9 × 32, W₂ 128 × 32", "9 × 48 → 9 × 32, W 48 × 32", "9 rows"],
    ]  # fmt: skip
    widths = [one["widths"] for one in parts if one["kind"] == "widen"]
    assert widths == [[32, 128], [32, 48], [32, 32]]

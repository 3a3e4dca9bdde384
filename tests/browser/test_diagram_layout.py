"""Where the parts of a model are drawn: a pure function, run in the browser."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.browser.apps.models import HEAD, Architecture, model
from tests.browser.modules import Run

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
def test_boxes_lie_apart_in_the_order_of_computation(run: Run, architecture: Architecture, norm_first: bool) -> None:
    qkv = {"model": model(architecture, 6, norm_first=norm_first), "layer": 3, "step": "qkv"}
    drawings = [{**qkv, "width": width, "type": letters} for width in (360, WIDE) for letters in (12.5, 18)]
    body = f"const laidOut = async (given) => {{ {LAID_OUT} }}; return Promise.all(given.map(laidOut));"
    for found in run(LAYOUT, body, drawings):
        layout = found["layout"]
        boxes = layout["boxes"]
        for box in boxes:
            assert box["x"] >= 0 and box["x"] + box["width"] <= layout["width"], box
            assert box["y"] >= 0 and box["y"] + box["height"] <= layout["height"], box
            assert min(box["width"], box["height"]) >= 24, box
        for box, other in combinations(boxes, 2):
            beside = box["x"] + box["width"] <= other["x"] or other["x"] + other["width"] <= box["x"]
            below = box["y"] + box["height"] <= other["y"] or other["y"] + other["height"] <= box["y"]
            assert beside or below, (box, other)
        assert [box["id"] for box in boxes if box["id"] == found["chosen"]["id"]]
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
            opens = given["attentions"][box["layer"]]["block"]
            assert opens == (int(ends[0]) + int(ends[-1])) // 2, "a folded box opens the block in its middle"
            assert box["label"] == f"decoder block {' to '.join(ends)}"
        if any(len(ends) == 2 for ends in named):  # three and more are folded, on either side of the open block
            single = [int(ends[0]) for ends in named if len(ends) == 1]
            assert sum(n < one["block"] for n in single) < 3
            assert sum(n > one["block"] for n in single) < 3
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
    given["attentions"][1] |= {"head_size": 16, "feed_forward": gated, "key_heads": 2, "mark": "window of 5"}
    given["attentions"][2] |= {"feed_forward": None, "key_heads": 4, "mark": "global"}
    parts = laid_out(run, given, width=WIDE)["parts"]
    says = [[one["says"] for one in parts if one["kind"] == kind] for kind in ("attention", "widen", "narrow")]
    assert says == [
        ["4 heads of width 8, weights 9 × 9 each",
         "4 heads of width 16, which share 2 heads of keys, window of 5, weights 9 × 9 each",
         "4 heads of width 8, global, weights 9 × 9 each"],
        ["9 × 32 → 9 × 128, W₁ 32 × 128", "9 × 32 → 9 × 48, W 32 × 48, W 32 × 48", "9 rows"],
        ["9 × 128 → 9 × 32, W₂ 128 × 32", "9 × 48 → 9 × 32, W 48 × 32", "9 rows"],
    ]  # fmt: skip
    layouts = [laid_out(run, given, layer=n, width=400)["layout"] for n in range(3)]
    labels = [[frame["label"] for frame in layout["frames"]] for layout in layouts]
    assert labels == [["Block 0"], ["Block 1 · local"], ["Block 2 · global"]]
    widths = [one["widths"] for one in parts if one["kind"] == "widen"]
    assert widths == [[32, 128], [32, 48], [32, 32]]


def test_a_block_of_which_only_the_attention_is_known_is_as_wide_as_its_name(run: Run) -> None:
    given = model("encoder", 3)
    for one in given["attentions"]:
        one |= {"mark": "global", "steps": [["scores", "scores"], ["weights", "weights"]]}
    layout = laid_out(run, given, layer=1, step="weights", width=WIDE)["layout"]
    assert len(layout["frames"]) == 3
    for frame in layout["frames"]:
        assert frame["width"] >= len(frame["label"]) * 0.55 * layout["type"] + 14, frame["label"]


def test_parts_of_one_token_one_head_and_both_kinds_of_attention_say_their_sizes(run: Run) -> None:
    given = model("both", 1, tokens=1)
    given["tokens"]["encoder"] = ["a", "b", "c"]
    given["positions"] = None
    given["attentions"][0] |= {"heads": 1}
    given["attentions"][2] |= {"feed_forward": None, "heads": 1}
    given["attentions"][0]["steps"].insert(0, ["tokens", "Tokens"])
    given["attentions"][2]["steps"].append(["gate", "The Gate"])
    parts = laid_out(run, given, layer=0, width=WIDE)["parts"]
    said = {f"{part['place']}, {part['name']}": (part["says"], part["lines"]) for part in parts}
    assert said["encoder, tokens"] == ("3 tokens", ["Tokens"])
    assert said["encoder, embeddings"] == ("3 tokens → 3 × 32", ["Embed"])
    assert said["decoder, embeddings"] == ("1 token → 1 × 32", ["Embed"])
    assert said["encoder block 0, attention"] == ("1 head of width 8, weights 3 × 3 each", ["Self-", "attention"])
    assert said["decoder block 0, masked attention"] == (
        "4 heads of width 8, weights 1 × 1 each", ["Masked", "attention"]
    )  # fmt: skip
    assert said["decoder block 0, attention to the encoder"] == (
        "1 head of width 8, weights 1 × 3 each", ["Cross-", "attention"]
    )  # fmt: skip
    assert said["decoder block 0, feed-forward, hidden units"] == ("1 row", [""])
    assert said["encoder block 0, feed-forward, output"] == ("3 × 128 → 3 × 32, W₂ 128 × 32", ["128 → 32"])
    assert said["decoder block 0, the gate"] == ("1 × 32 → 1 × 32", ["The Gate"])
    assert said["decoder, logits"] == ("1 × 32 → 1 × 7", ["Logits"])
    assert said["decoder, softmax"] == ("1 × 7 → 1 × 7", ["Softmax"])
    multi = laid_out(run, model("encoder", 1), width=WIDE)["parts"]
    assert next(part["lines"] for part in multi if part["kind"] == "attention") == ["Multi-head", "attention"]


DIAGRAM = """
  const chosen = [];
  const diagram = new m.Diagram((at) => chosen.push([at.layer, at.step]));
  document.body.append(diagram.root);
  Object.assign(diagram.root.style, { width: `${given.width ?? 4000}px`, font: "12px sans-serif" });
  diagram.take(given.model);
  const show = (layer, step) => (diagram.show({ layer, step }), diagram.part);
"""


def test_what_comes_before_and_after_is_of_the_whole_model(run: Run) -> None:
    body = """
      const offered = { steps: [["x", "X"]], previous: null, next: null, heads: [0, 1], layerLabel: "layer 0",
        place: "lecture" };
      const offer = (layer, step, own = {}) => {
        const { steps, previous, next, heads, layerLabel, place, isLed } =
          diagram.offer({ ...offered, ...own }, { layer, step, head: 1 });
        return [steps.length, previous && [previous.layer, previous.step], next && [next.layer, next.step],
          heads.length,
          layerLabel, place, isLed];
      };
      const ends = diagram.route;
      return {
        looks: [offer(0, "embeddings"), offer(1, "qkv"), offer(1, "weights"), offer(1, "probabilities", { place: "" })],
        ends: [ends[0], ends.at(-1)], none: diagram.offer(offered, { layer: 9, step: "x", head: 0 }) === offered,
        same: [show(1, "weights").id, show(1, "gone").id, show(1, "block_output").id],
      };
    """
    found = run("diagram/diagram.ts", DIAGRAM + body, {"model": model("decoder", 2)})
    assert found["looks"] == [
        [1, None, [0, "qkv"], 0, "decoder", "decoder", True],
        [8, [0, "block_output"], [1, "scores"], 2, "decoder block 1", "decoder block 1 · head 1", True],
        [8, [1, "masked"], [1, "head_outputs"], 2, "decoder block 1", "decoder block 1 · head 1", True],
        [1, [1, "logits"], None, 0, "decoder", "", True],
    ]
    assert found["ends"] == [{"layer": 0, "step": "embeddings"}, {"layer": 1, "step": "probabilities"}]
    assert found["none"]
    assert found["same"] == ["1 qkv", "1 qkv", "1 block_output"]


def test_a_closed_block_opens_at_the_part_and_the_step_that_are_chosen(run: Run) -> None:
    body = """
      const open = (layer, step, label) => {
        show(layer, step);
        const box = diagram.boxes.find((one) => one.label === label);
        diagram.open(box.id);
        return chosen.at(-1);
      };
      const marks = () => {
        const all = [...diagram.buttons.values()];
        return [all.filter((one) => one.ariaCurrent === "step").map((one) => one.ariaLabel),
          all.filter((one) => !one.tabIndex).length];
      };
      const opened = [
        open(0, "weights", "encoder block 2"), open(0, "attention_norm", "encoder block 2"),
        open(0, "embeddings", "encoder block 2"), open(2, "feed_forward_hidden", "encoder block 0"),
        open(2, "qkv", "encoder block 2, norm after feed-forward"),
      ];
      show(2, "scores");
      const marked = marks();
      const blocks = [...diagram.buttons.values()].filter((one) => one.dataset.kind === "block");
      const closed = blocks.map((one) => one.ariaLabel);
      const passed = [...diagram.lines.querySelectorAll("path.passed")].length;
      const all = [...diagram.lines.querySelectorAll(":scope > path")].length;
      diagram.open("gone");
      const into = ["query", "key", "value"].map((ink) => diagram.lines.querySelectorAll(`path.${ink}.passed`).length);
      // Whoever opens another block by keyboard stays in the diagram, though the button is gone.
      const block = blocks[0];
      const { length: times } = chosen;
      block.focus();
      show(0, "qkv");
      const kept = document.activeElement.ariaLabel;
      document.activeElement.blur();
      show(2, "scores");
      const left = document.activeElement === document.body;
      const names = [...diagram.words.querySelectorAll(".frame")].map((one) => one.textContent);
      diagram.destroy();
      let draws = 0;
      diagram.draw = () => { draws += 1; };
      document.body.append(diagram.root);
      diagram.root.style.width = "333px";
      await new Promise((done) => setTimeout(done, 60));
      return { names, draws, into, kept, left, opened, marked, closed, passed: passed > 0 && passed < all, times,
        below: diagram.below.hidden,
        hint: diagram.words.querySelectorAll(".hint").length, title: diagram.buttons.get("2 qkv").title };
    """
    given = {"model": model("encoder", 3), "width": 1000}
    found = run("diagram/diagram.ts", DIAGRAM + body, given)
    assert found["opened"] == [
        [2, "weights"],
        [2, "attention_norm"],
        [2, "qkv"],
        [0, "feed_forward_hidden"],
        [2, "block_output"],
    ]
    assert found["marked"] == [["encoder block 2, attention"], 1]
    assert found["passed"]
    assert (found["names"], found["draws"]) == (["Block 2"], 0)
    assert found["into"] == [1, 1, 1]  # the lines into the part that is chosen
    assert (found["kept"], found["left"]) == ("encoder block 0, attention", True)
    assert found["times"] == 5
    assert found["title"] == "encoder block 2, attention: 4 heads of width 8, weights 9 × 9 each"
    assert found["below"]
    assert found["closed"] == ["encoder block 0, closed", "encoder block 1, closed"]
    for width in (599, 600):
        phone = run("diagram/diagram.ts", DIAGRAM + body, {**given, "width": width})
        assert (phone["below"], phone["hint"]) == (width == 600, 0)


def test_arrow_keys_go_along_a_stack_and_across_to_the_other(run: Run) -> None:
    body = """
      show(given.layer, "qkv");
      const focus = (id) => diagram.buttons.get(id).focus();
      const key = (name, own = {}) => {
        const event = new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...own });
        document.activeElement.dispatchEvent(event);
        return [diagram.boxes.find(({ id }) => diagram.buttons.get(id) === document.activeElement).label,
          event.defaultPrevented];
      };
      focus(diagram.boxes[0].id);
      const keys = [["ArrowLeft"], ["ArrowRight"], ["ArrowRight", { ctrlKey: true }],
        ["ArrowRight", { altKey: true }], ["ArrowRight", { metaKey: true }], ["End"], ["ArrowRight"],
        ["ArrowLeft"],
        ["Home"], ["x"]];
      const along = keys.map((one) => key(...one));
      const center = ({ x, width }) => x + width / 2;
      const own = diagram.boxes.find(({ id }) => id === `${given.layer} qkv`);
      focus(own.id);
      const [down] = key("ArrowDown");
      const nearest = diagram.boxes.filter(({ label }) => label.startsWith("decoder"))
        .map((one) => [Math.abs(center(one) - center(own)), one.label]).sort((a, b) => a[0] - b[0])[0][1];
      const [up] = key("ArrowUp");
      return { along, down, nearest, up: up.split(" ")[0] };
    """
    found = run("diagram/diagram.ts", DIAGRAM + body, {"model": model("both", 1), "layer": 0})
    first, second = "encoder, embeddings + positions (sinusoidal)", "encoder block 0, attention"
    assert found["along"] == [
        [first, True], [second, True], *[[second, False]] * 3, ["decoder, softmax", True], ["decoder, softmax", True],
        ["decoder, logits", True],
        [first, True], [first, False],
    ]  # fmt: skip
    assert found["down"] == found["nearest"]
    assert found["up"] == "encoder"

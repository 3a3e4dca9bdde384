"""Export this view, one module at a time: the sheet, the fields, the pins, the animation, and what fails."""

from __future__ import annotations

import io
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageSequence

from attnviz.figures.style import DARK, LIGHT
from tests.browser.modules import BYTES, Run

# ---- gif.ts, palette.ts, animation.ts

BYTES_OF = """
  const base64 = async (blob) => btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (one) =>
    String.fromCharCode(one)).join(""));
  const little = (rgb) => (255 << 24 | rgb[2] << 16 | rgb[1] << 8 | rgb[0]) >>> 0;
"""


def shown(gif: str) -> tuple[list[np.ndarray], list[int]]:
    """Return the frames of an animation as they are seen, (height, width, 3), and how long each stays, in ms."""
    image = Image.open(io.BytesIO(b64decode(gif)))
    frames = [(np.array(frame.convert("RGB")).astype(int), frame.info["duration"]) for frame in
              ImageSequence.Iterator(image)]  # fmt: skip
    return [frame for frame, _ in frames], [duration for _, duration in frames]


def test_an_animation_has_the_pixels_of_each_frame_and_its_time(run: Run) -> None:
    """Noise, which needs all codes of the format more than once; then what differs in some of its parts only."""
    rng = np.random.default_rng(3)
    colours = rng.integers(0, 8, (200, 3)) * 32
    frames = [colours[rng.integers(0, 200, (90, 110))]]
    for y, x in ((10, 20), (0, 0), (89, 109)):
        frames.append(frames[-1].copy())
        frames[-1][y, x] = (frames[-1][y, x] + 96) % 256
    frames.append(frames[-1])  # nothing differs: the one before stays for longer
    frames.append(frames[-1].copy())
    frames[-1][30:32, 40:90] = colours[:50]
    frames[-1][31, 50] = frames[-2][31, 50]
    body = """
      const pixels = given.map((frame) => new Uint32Array(bytes(frame).buffer));
      const gif = new m.Gif(110, 90, pixels, { title: "", caption: "" });
      pixels.forEach((frame, n) => gif.add(frame, 10 + n));
      return base64(gif.blob());
    """
    opaque = [np.dstack([frame, np.full(frame.shape[:2], 255)]).astype(np.uint8) for frame in frames]
    given = [b64encode(frame.tobytes()).decode() for frame in opaque]
    seen, durations = shown(run("export/gif.ts", BYTES + BYTES_OF + body, given))
    assert durations == [100, 110, 120, 130 + 140, 150]
    for found, n in zip(seen, (0, 1, 2, 3, 5), strict=True):
        assert (found == frames[n]).all(), n


def test_a_palette_has_the_colour_of_most_pixels_and_takes_the_nearest(run: Run) -> None:
    """Two blacks and two reds, of each one in most pixels; and colours whose channels are the same numbers."""
    body = """
      const of = (counts, most) => m.paletteOf([Uint32Array.from(counts.flatMap(([count, colour]) =>
        Array(count).fill(colour)), little)], most);
      const mapped = (palette, colours) => Array.from(palette.map(Uint32Array.from(colours, little)),
        (n) => palette.colours[n]);
      const few = of([[50, [1, 2, 3]], [1, [9, 2, 3]], [1, [250, 0, 0]], [9, [242, 0, 0]]], 2);
      const pure = [[250, 0, 0], [0, 250, 0], [0, 0, 250]];
      return [mapped(few, [[1, 2, 3], [20, 2, 3], [200, 10, 0]]), mapped(of(pure.map((one) => [1, one]), 9), pure)];
    """
    black, red = [1, 2, 3], [242, 0, 0]
    pure = [[250, 0, 0], [0, 250, 0], [0, 0, 250]]
    assert run("export/palette.ts", BYTES_OF + body) == [[black, black, red], pure]


def test_a_step_in_motion_ends_with_the_whole_picture_which_stays(run: Run) -> None:
    """A white pixel goes along a black row."""
    body = """
      const drawn = [], said = [];
      const animation = {
        width: 11, height: 1, ms: 1000,
        draw: (t) => {
          drawn.push(t);
          for (const until = performance.now() + 15; performance.now() < until;);  // a frame of a real size takes long
          const white = Math.floor(t * 10 + 1e-9);
          return Uint32Array.from({ length: 11 }, (_, n) => little(n === white ? [255, 255, 255] : [0, 0, 0]));
        },
      };
      const blob = await m.gifOf(animation, (share) => said.push(share));
      return [await base64(blob), drawn, said];
    """
    gif, drawn, said = run("export/animation.ts", BYTES_OF + body)
    frames, durations = shown(gif)
    assert durations == [100] * 10 + [2500]
    assert [frame[0, :, 0].argmax() for frame in frames] == [*range(11)]
    assert drawn[-11:] == pytest.approx(np.linspace(0, 1, 11).tolist())
    assert said == pytest.approx(np.arange(10) / 10)  # after each frame the page may do something else


# ---- sheet.ts, files.ts

COMPOSED = """
  const box = (x, y, width, height) => ({ getBoundingClientRect: () => ({ x, y, width, height }) });
  const looks = (own) => ({
    theme: "light", paper: true, title: "A title", caption: "A caption", written: true, wide: false, pinned: "",
    chips: false, family: "sans-serif", ...own,
  });
  const square = (colour, own = {}) => ({
    paint(pen, { theme }) {
      Object.assign(pen, { fillStyle: colour });
      pen.fillRect(-5, 10, 40, 30);
    },
    ...own,
  });
  const composed = async (found, own) => {
    const sheet = await m.compose(found, looks(own));
    return sheet && { ...sheet, marks: sheet.marks.map(({ kind, text, path, fill, matrix, size, bold }) => ({
      kind, text, box: path?.[0].slice(1), fill, at: matrix?.slice(4), size, bold })) };
  };
"""


def boxes(sheet: dict[str, Any], colour: str) -> list[list[float]]:
    return [mark["box"] for mark in sheet["marks"] if mark["kind"] == "shape" and mark["fill"] == colour]


def texts(sheet: dict[str, Any]) -> list[str]:
    return [mark["text"] for mark in sheet["marks"] if mark["kind"] == "text"]


def test_pictures_stand_on_a_sheet_as_on_the_page_cropped_to_what_is_drawn(run: Run) -> None:
    body = """
      const prepared = [];
      const one = { element: box(100, 200, 99, 99), picture: square("#ff0000", {
        prepare: async (theme) => prepared.push(theme), tokens: () => given.tokens }) };
      const two = { element: box(400, 250, 99, 99), picture: square("#0000ff") };
      const none = { element: box(0, 0, 9, 9), picture: { paint() {} } };
      const sheets = [];
      for (const own of given.looks) sheets.push(await composed([one, two], own));
      const noted = { ...two, picture: { ...two.picture, note: "A bar means a window." } };
      const notes = await Promise.all([{}, { caption: "" }, { written: false }].map((own) =>
        composed([one, noted], own)));
      return { sheets, notes, prepared, none: await composed([none]), alone: await composed([two], { title: "" }) };
    """
    tokens = ["token"] * 12 + ["i"] * 60 + ["x" * 60]
    looks: list[dict[str, Any]] = [
        {}, {"paper": False, "theme": "dark"}, {"written": False}, {"written": False, "wide": True},
        {"pinned": "0.50 + 0.25"}, {"chips": True},
    ]  # fmt: skip
    found = run("export/sheet.ts", COMPOSED + body, {"looks": looks, "tokens": tokens})
    plain, dark, bare, wide, pinned, chips = found["sheets"]
    assert found["none"] is None
    assert found["prepared"] == ["light", "dark", *["light"] * 7]
    assert [texts(sheet) for sheet in found["notes"]] == [
        ["A title", "A caption A bar means a window."], ["A title"], []
    ]  # fmt: skip
    assert [sheet["caption"] for sheet in found["notes"]][:2] == ["A caption A bar means a window.", ""]
    for sheet in found["sheets"]:
        (red,), (blue,) = boxes(sheet, "#ff0000"), boxes(sheet, "#0000ff")
        assert [blue[0] - red[0], blue[1] - red[1]] == [300, 50]
        assert red[0] == pytest.approx(sheet["width"] - blue[0] - 40)  # in the middle
    assert plain["width"] == 340 + 2 * 16
    assert bare["height"] == 80 + 2 * 16
    assert boxes(bare, "#ff0000")[0][:2] == [16, 16]
    assert texts(plain) == ["A title", "A caption"]
    assert [mark["at"][1] < boxes(plain, "#ff0000")[0][1] for mark in plain["marks"] if mark["text"]] == [True, False]
    assert texts(bare) == texts(wide) == []
    assert (plain["paper"], dark["paper"]) == ("#FFFFFF", None)
    inks = [mark["fill"] for mark in dark["marks"] if mark["kind"] == "text"]
    assert inks == ["#ededf4", DARK.text.lower()]
    assert wide["width"] / wide["height"] == pytest.approx(16 / 9, abs=0.02)
    assert wide["height"] > bare["height"]
    assert texts(pinned) == ["A title", "0.50 + 0.25", "A caption"]
    for sheet in (plain, pinned):  # no text touches the picture or the text above it
        feet = [0.0]
        for mark in sheet["marks"]:
            if mark["kind"] == "text":
                assert mark["at"][1] - mark["size"] >= feet[-1] + 4, mark["text"]
            feet.append(mark["at"][1] if mark["kind"] == "text" else mark["box"][1] + mark["box"][3])
    assert (pinned["title"], pinned["caption"]) == ("A title", "A caption")
    grounds = boxes(chips, "#ececf2")
    assert texts(chips)[1:-1] == tokens
    lines = {box[1]: [other for other in grounds if other[1] == box[1]] for box in grounds}
    assert len(lines) > 4
    for line in [*lines.values()][:-1]:
        assert line[0][0] == 16
        assert line[-1][0] + line[-1][2] <= chips["width"] - 16
    assert found["alone"]["width"] == 260 + 2 * 16  # room for a caption
    assert boxes(found["alone"], "#0000ff")[0][0] == (found["alone"]["width"] - 40) / 2


def test_lines_are_broken_at_words_and_a_long_word_where_the_room_ends(run: Run) -> None:
    body = "return given.map((text) => m.wrapped(text, 6, (some) => some.length))"
    given = ["one two three", " a\n b  cdefghijklmno p", "", "123456 7"]
    assert run("export/sheet.ts", body, given) == [
        ["one", "two", "three"], ["a b", "cdefgh", "ijklmn", "o p"], [], ["123456", "7"]
    ]  # fmt: skip


def test_a_picture_that_no_canvas_can_hold_is_refused_and_the_font_has_each_weights_letters(run: Run) -> None:
    body = """
      const text = (text, bold) => ({ kind: "text", text, matrix: [1, 0, 0, 1, 5, 5], size: 9, bold, anchor: "start",
        width: 5, fill: "#000000", alpha: 1, clip: null });
      const sheet = { marks: [text("ba", false), text("cb", true)], width: 3000, height: 1000, paper: null, title: "",
        caption: "" };
      const why = await m.pngOf(sheet, { scale: 5, family: "serif" }).then(() => null, ({ message }) => message);
      const asked = [];
      const server = {
        fonts: async (characters) => (asked.push(characters), { regular: "UkVH", bold: "Qk9MRA==" }),
        letters: async () => new Set("ab"),
        file: async (format, recorded) => new Blob([format, recorded]),
      };
      const how = { scale: 1, server, family: "serif" };
      const svg = await (await m.makeFile(sheet, "svg", how)).text();
      const pdf = await (await m.makeFile(sheet, "pdf", how)).text();
      const slides = await (await m.slidesOf([sheet, sheet], how)).text();
      return { why, asked, faces: svg.match(/font-weight:\\d+;src:url\\(data:font\\/woff2;base64,\\w+/g),
        isList: slides === `pptx[${pdf.slice(3)},${pdf.slice(3)}]`,
        pieces: JSON.parse(pdf.slice(3)).marks.map(
          ({ pieces }) => pieces.map(({ text, image }) => [text, image !== null])) };
    """
    found = run("export/files.ts", body)
    assert found["why"] == "The picture is too large for 5×. Take a smaller size, or SVG."
    assert found["asked"] == [{"regular": "ab", "bold": "bc"}]
    assert found["faces"] == [
        f"font-weight:{weight};src:url(data:font/woff2;base64,{file}"
        for weight, file in ((400, "UkVH"), (600, "Qk9MRA"))
    ]
    assert found["isList"]
    assert found["pieces"] == [[["ba", False]], [["c", True], ["b", False]]]


# ---- server.ts


def test_a_server_is_asked_again_after_it_has_failed_and_its_sentence_is_told(run: Run) -> None:
    body = """
      const asked = [];
      const answers = [null, [500, "text/html", "<h1>no</h1>"], [413, "text/plain", "Too large."],
        [200, "text/plain", "abc"]];
      window.fetch = async (address, { method = "GET", body } = {}) => {
        asked.push([address, method, body ?? ""]);
        const answer = answers.shift();
        if (!answer) throw new TypeError("offline");
        return new Response(answer[2], { status: answer[0], headers: { "Content-Type": answer[1] } });
      };
      const server = new m.ExportServer({ letters: "/l", fonts: "/f", pdf: "/p" }, "http://here");
      const said = [];
      const tell = (promise) => promise.then((value) => said.push([...value]), ({ message }) => said.push(message));
      await tell(server.letters());
      await tell(server.letters());
      await tell(server.file("pdf", '{"a":1}'));
      await tell(server.letters());
      await tell(server.letters());
      return [said, asked];
    """
    said, asked = run("export/server.ts", body)
    none = "The server did not answer. PNG needs no server."
    assert said == [none, none, "Too large. PNG needs no server.", ["a", "b", "c"], ["a", "b", "c"]]
    letters = ["http://here/l", "GET", ""]
    assert asked == [letters, letters, ["http://here/p", "POST", '{"a":1}'], letters]


# ---- theme.ts, grid.ts, chips.ts


def test_colours_have_their_counterparts_in_the_other_theme(run: Run) -> None:
    body = """
      const { headColours } = await import("/frontend/core/colours.ts");
      const heads = [headColours(256, "light"), headColours(256, "dark")];
      return [given.map(([colour, from, to]) => m.inTheme(colour, from, to)),
        [0, 7, 255].map((n) => [m.inTheme(heads[0][n], "light", "dark") === heads[1][n],
          m.inTheme(heads[1][n], "dark", "light") === heads[0][n]])];
    """
    roles = ("query", "key", "value", "attention")
    pairs = [(getattr(LIGHT.ink, role), getattr(DARK.ink, role)) for role in roles]
    pairs += [(LIGHT.text_ink.of(role), DARK.text_ink.of(role)) for role in roles] + [(LIGHT.text, DARK.text)]
    given = [[light.lower(), "light", "dark"] for light, _ in pairs] + [[dark, "dark", "light"] for _, dark in pairs]
    given += [["#123456", "light", "dark"], [LIGHT.text, "light", "light"]]
    found, heads = run("export/theme.ts", body, given)
    expected = [dark for _, dark in pairs] + [light for light, _ in pairs] + ["#123456", LIGHT.text]
    assert [colour.upper() for colour in found] == [colour.upper() for colour in expected]
    assert heads == [[True, True]] * 3


def test_a_pin_is_drawn_with_its_label_in_its_ink_or_in_place_of_those_that_it_touches(run: Run) -> None:
    body = """
      const { Pen } = await import("/frontend/pen/pen.ts");
      const pen = new Pen();
      Object.assign(pen, { font: "10px sans-serif", textAlign: "right" });
      for (const [text, x, y] of given.labels) pen.fillText(text, x, y);
      document.body.innerHTML = `<svg data-attnviz-overlay>${given.marks}</svg>`;
      m.paintPins(pen, document.body, { from: "light", theme: "dark", font: "serif" });
      return pen.marks.map(({ kind, text, fill, stroke, bold, alpha, size, matrix, path, anchor, lineWidth }) =>
        kind === "text" ? { text, fill, bold, size, anchor, at: matrix.slice(4) }
          : { box: path[0].slice(1), fill, stroke, alpha, lineWidth });
    """
    light, dark = LIGHT.ink, DARK.ink
    rect = '<rect x="1" y="2" width="3" height="4" fill="{}" stroke="{}" stroke-width="2" {}/>'
    name = '<text x="{}" y="{}" font-size="12" text-anchor="end" fill="{}" data-state="pinned">{}</text>'
    marks = [
        rect.format(light.query, light.query, 'fill-opacity="0.25" data-state="pinned-row"'),
        rect.format("none", light.key, 'transform="translate(10 20)" data-state="pinned"'),
        rect.format("none", light.key, 'display="none" data-state="pinned"'),
        rect.format("none", light.key, 'data-state="hovered"'),
        name.format(52, 11, light.query, "3 cat"),
        name.format(50, 100, light.key, "7 long-winded"),
    ]
    labels = [["cat", 50, 10], ["cat", 50, 40], ["lon…", 50, 95], ["next", 50, 112], ["far", 50, 130]]
    found = run("export/theme.ts", body, {"marks": "".join(marks), "labels": labels})
    words = [one for one in found if "text" in one]
    boxes_ = [one for one in found if "box" in one]
    assert [(one["box"], one["fill"], one["stroke"], one["alpha"]) for one in boxes_] == [
        ([1, 2, 3, 4], dark.query.lower(), None, 0.25),
        ([1, 2, 3, 4], None, dark.query.lower(), 1),
        ([11, 22, 3, 4], None, dark.key.lower(), 1),
    ]
    assert [(one["text"], one["bold"]) for one in words] == [
        ("cat", True), ("cat", False), ("far", False), ("7 long-winded", True)
    ]  # fmt: skip
    assert (words[0]["fill"].lower(), words[3]["fill"]) == (dark.query.lower(), dark.key.lower())
    assert (words[3]["at"], words[3]["anchor"], words[3]["size"]) == ([50, 100], "end", 12)


def test_the_chosen_heads_have_frames_and_the_current_one_a_halo(run: Run) -> None:
    body = """
      const { Pen } = await import("/frontend/pen/pen.ts");
      const { layOut, boxAt } = await import("/frontend/grid/paint.ts");
      const layout = layOut({ layers: 2, heads: 3, width: 300, most: 300, ranked: false });
      const places = { "0.1": 1, "1.1": 4, "1.2": -1 };
      const pen = new Pen();
      m.gridPicture({
        element: document.body, layout,
        given: {
          layers: [0, 1], heads: 3, order: null, faded: null, overview: null, theme: "light", current: [1, 1],
          chosen: [[[0, 1], "#0072B2"], [[1, 1], "#D55E00"], [[1, 2], "#009E73"], [[1, -1], "#5E3C99"]].map(
            ([head, colour]) => ({ head, colour })),
        },
        placeOf: (head) => places[head.join(".")] ?? null,
      }).paint(pen, { theme: "dark" });
      const frames = pen.marks.filter(({ kind, lineWidth }) => kind === "shape" && lineWidth > 2);
      return [frames.map(({ path, stroke, alpha }) => [path[0][1], path[0][2], stroke, alpha]),
        [1, 4].map((place) => boxAt(layout, place))];
    """
    frames, (first, current) = run("export/grid.ts", body)
    assert frames == [
        [first["x"] - 2.25, first["y"] - 2.25, DARK.ink.query.lower(), 1],
        [current["x"] - 2.5, current["y"] - 2.5, DARK.ink.key.lower(), 0.35],
        [current["x"] - 2.25, current["y"] - 2.25, DARK.ink.key.lower(), 1],
    ]


def test_chips_are_drawn_with_what_marks_them_also_those_that_are_scrolled_away(run: Run) -> None:
    body = """
      document.body.innerHTML = `<style>
        .strip { position: absolute; left: 30px; top: 40px; width: 100px; height: 50px; overflow: auto }
        .strip > * { position: absolute; top: 0; width: 60px; height: 30px; background: #eeeeee;
          border-bottom: 2px solid red }
        .dashed { outline: 2px dashed #00ff00 } </style>
        <div class="strip" data-tokens="Words"><span style="left: 0"><b>one</b><i>12</i></span>
        <span class="dashed" style="left: 80px">two</span><span class="second" style="left: 160px">three</span></div>`;
      const strip = document.querySelector(".strip");
      strip.scrollLeft = 70;
      const { Pen } = await import("/frontend/pen/pen.ts");
      const pen = new Pen();
      const picture = m.chipsPicture(strip);
      picture.paint(pen, { theme: "light" });
      strip.lastElementChild.hidden = true;  // a long list is laid out in parts
      const ready = [picture.ready, m.chipsPicture(strip).ready];
      return [picture.name, ready, pen.marks.map(({ kind, text, path, fill, stroke, dash, matrix, bold }) =>
        kind === "text" ? [text, bold] : [path[0].slice(1), fill ?? stroke, dash])];
    """
    name, ready, marks = run("export/chips.ts", body)
    assert (name, ready) == ("Words", [True, False])
    assert [mark[0] for mark in marks if isinstance(mark[0], str)] == ["Words", "one", "12", "two", "three"]
    assert marks[0] == ["Words", True]
    shapes = [mark for mark in marks if not isinstance(mark[0], str)]
    assert [shape[0][0] for shape in shapes] == [0, 80, 81, 160, 160]
    assert shapes[2][1:] == ["#00ff00", [4, 3]]  # unknown characters
    assert shapes[4] == [[160, 30, 60, 2], LIGHT.text.lower(), []]  # of the second text


def test_bars_are_drawn_under_their_name_and_a_label_is_shortened_to_its_room(run: Run) -> None:
    body = """
      document.body.innerHTML = `<div data-drawn="mask at position 3" style="width: 300px; font: 14px sans-serif">
        <span style="display: block; width: 60px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis"
          >incomprehensibilities</span><i style="display: block; width: 9px; height: 9px"></i><b>40</b></div>`;
      const { Pen } = await import("/frontend/pen/pen.ts");
      const { measure } = await import("/frontend/pen/measure.ts");
      const pen = new Pen();
      const picture = m.drawnPicture(document.querySelector("div"));
      picture.paint(pen, { theme: "light" });
      const texts = pen.marks.filter(({ kind }) => kind === "text").map(({ text }) => text);
      return [picture.name, texts, measure("14px sans-serif", texts[1]).width];
    """
    name, (heading, label, number), width = run("export/drawn.ts", body)
    assert name == heading == "mask at position 3"
    assert "…" in label
    assert width <= 60
    assert number == "40"


def test_curves_are_drawn_with_their_legend_and_the_step_of_its_numbers_in_either_theme(run: Run) -> None:
    body = """
      document.body.innerHTML = `<style>
        .curve { width: 400px; height: 200px; font: 14px sans-serif; color: #ededf4 }
        .attnviz-standalone { --ink: var(--st-text-color); color: var(--ink) }
        .chart { height: 150px } .swatch { display: inline-block; width: 20px; border-top: 3px solid #5e3c99 }
        .lines path { fill: none; stroke: light-dark(#5e3c99, #bda6ee); stroke-width: 2px } .marker { stroke: #d55e00 }
        </style><section class="curve"><h2>Loss</h2><ul class="legend"><li><span class="swatch"></span> held out
        <b>0.50</b></li></ul><div class="room"></div></section>`;
      const { Curves } = await import("/frontend/training/curves.ts");
      const { Pen } = await import("/frontend/pen/pen.ts");
      const room = document.querySelector(".room");
      const curves = new Curves(room, "losses", () => {});
      const lines = [{ steps: [0, 10, 20], values: [1, NaN, 0.5], look: "held", name: "held out", label: "end",
        isOther: false }];
      curves.update({ lines, high: 20, ceiling: 1, unit: (y) => String(y), alt: "" }, 10);
      const picture = curves.room.attnvizPicture;
      const draw = (theme) => {
        const pen = new Pen();
        picture.paint(pen, { theme });
        return pen.marks.map(({ kind, text, fill, stroke, path, matrix }) => kind === "text"
          ? [text, fill, matrix.slice(4)] : [path, stroke]);
      };
      const marks = [draw("light"), draw("dark")];
      const section = document.querySelector(".curve");
      return { name: picture.name, ready: picture.ready, marks,
        left: [section.className, section.getAttribute("style")],
        at: [[0, 1], [20, 0.5]].map(([x, y]) => [curves.x(x), curves.y(y)]) };
    """
    found = run("export/curves.ts", body)
    assert (found["name"], found["ready"]) == ("Loss", True)
    assert found["left"] == ["curve", ""], "the section has its own look again"
    for marks, ink, text in zip(found["marks"], ("#5e3c99", "#bda6ee"), ("#1b1b26", "#ededf4"), strict=True):
        words = {mark[0]: mark for mark in marks if isinstance(mark[0], str)}
        assert {"Loss", "held out", "0.50", ", after 10 steps", "0", "20", "end"} <= words.keys()
        assert words["Loss"][1].lower() == text
        assert words["Loss"][2][1] < words["held out"][2][1] < 0, "above the chart"
        (line,) = [mark for mark in marks if mark[1] == ink and len(mark[0]) > 1 and mark[0][0][0] == "M"
                   and mark[0][0][1:] == found["at"][0]]  # fmt: skip
        assert [step[1:] for step in line[0]] == found["at"], "the number that is not there is left out"


def test_shapes_have_their_straight_lines_their_inks_and_how_opaque_all_around_them_is(run: Run) -> None:
    body = """
      document.body.innerHTML = `<svg style="opacity: 0.25"><g style="opacity: 0.5">
        <path d="m1e1,2e0 l5-3 H2.5e1v-1e-1 z" style="fill: none; stroke: #0072b2; stroke-width: 3px;
          stroke-dasharray: 4,2"/>
        <path d="M0,0L4,0h-1.5V.5Z" style="fill: #009e73; fill-opacity: 0.5"/>
        <rect x="1" y="2" width="30" height="4" style="fill: #d55e00; stroke: #5e3c99; opacity: 0.5"/>
        <line x1="1" y1="2" x2="3" y2="4" style="fill: #d55e00; stroke: #5e3c99; stroke-opacity: 0.5"/>
        <line x1="1" y1="2" x2="3" y2="4" style="stroke: #5e3c99; visibility: hidden"/>
        <line x1="1" y1="2" x2="3" y2="4" style="stroke: #5e3c99; stroke-width: 0"/>
        <g style="display: none"><rect width="9" height="9" /></g></g></svg>`;
      const { Pen } = await import("/frontend/pen/pen.ts");
      const root = document.querySelector("svg");
      return [...root.querySelectorAll("path, rect, line")].map((drawn) => {
        const pen = new Pen();
        m.paintShape(pen, drawn, root, (hex) => (hex === "#5e3c99" ? "#000000" : hex));
        return pen.marks.map(({ path, fill, stroke, alpha, dash }) => [path.flat().join(" "), fill, stroke, alpha,
          dash]);
      });
    """
    found = run("export/svg_shapes.ts", body)
    box, line = "R 1 2 30 4", "M 1 2 L 3 4"
    assert found == [
        [["M 10 2 L 15 -1 L 25 -1 L 25 -1.1 Z", None, "#0072b2", 0.5, [4, 2]]],
        [["M 0 0 L 4 0 L 2.5 0 L 2.5 0.5 Z", "#009e73", None, 0.25, []]],
        [[box, "#d55e00", None, 0.25, []], [box, None, "#000000", 0.25, []]],
        [[line, None, "#000000", 0.25, []]],  # a line has no area
        [], [], [],
    ]  # fmt: skip


# ---- fields.ts, find.ts, view.ts


def test_fields_offer_what_the_format_and_the_pictures_allow(run: Run) -> None:
    body = """
      const said = document.createElement("p");
      let changes = 0;
      const make = () => new m.Fields({ said, onChange: () => (changes += 1), onDownload() {}, onCopy() {} });
      const fields = make();
      document.body.append(fields.element);
      const choose = (name, value) => fields.element.querySelector(`[name=${name}][value="${value}"]`).click();
      const hidden = () => ["scale", "shape", "ground", "moves", "words"].filter((name) => fields[name].hidden);
      const seen = [];
      fields.setWords({ title: " t ", caption: "c", server: {} }, "dark");
      for (const format of ["svg", "png", "pdf", "pptx", "gif"]) {
        choose("format", format);
        seen.push([fields.download.textContent, hidden()]);
      }
      const gone = () => ["gif", "webm"].map((format) => fields.formatLabel(format).hidden);
      const moving = () => [fields.values.format, fields.values.playing, fields.moving.hidden, ...gone()];
      const motions = [gone()];
      fields.offerMotion(["step"], true);
      motions.push(moving());
      fields.offerMotion(["step", "walk"], true);
      motions.push(moving());
      choose("moving", "step");
      choose("format", "webm");
      motions.push([...moving(), fields.moves.textContent]);
      fields.offerMotion(["walk"], false);
      motions.push(moving());
      choose("format", "gif");
      motions.push([...moving(), fields.moves.textContent]);
      fields.offerMotion([], true);
      motions.push(moving());
      choose("format", "png");
      fields.offerMotion([], true);
      motions.push(moving());
      for (const [name, value] of [["scale", "4"], ["shape", "wide"], ["ground", "none"]]) choose(name, value);
      fields.written.querySelector("input").click();
      seen.push(fields.words.hidden);
      const pictures = (names, own) => {
        fields.setPictures(names, own);
        return [fields.pictures.hidden, fields.boxes.length, fields.chips.hidden, fields.pinned.hidden];
      };
      seen.push(pictures(["a"], { tokens: true, pinned: false }));
      seen.push(pictures(["a", "b"], { tokens: false, pinned: true }));
      changes = 0;
      fields.boxes[1].click();
      seen.push(changes);
      fields.enable(false);
      seen.push(fields.download.disabled && fields.copy.disabled);
      const again = make();  // the dialog is opened once more
      again.setWords({ title: "u", caption: "", server: {} }, "light");
      return { seen, motions, values: fields.values, again: again.values };
    """
    found = run("export/fields.ts", body)
    assert found["seen"] == [
        ["Download SVG", ["scale", "moves"]], ["Download PNG", ["moves"]], ["Download PDF", ["scale", "moves"]],
        ["Download PPTX", ["scale", "shape"]],
        ["Download GIF", ["scale", "shape", "ground"]], True,
        [True, 1, False, True], [False, 2, True, False], 1, True,
    ]  # fmt: skip
    step = "How this step is computed, as a 16:9 video."
    walk = "All steps in some 90 seconds, as a 16:9 slide. It has 4 frames a second, or its file would be huge."
    assert found["motions"] == [
        [True, True], ["gif", "step", True, False, False], ["gif", "walk", False, False, False],
        ["webm", "step", False, False, False, step], ["svg", "walk", True, False, True],
        ["gif", "walk", True, False, True, walk], ["svg", None, True, True, True], ["png", None, True, True, True],
    ]  # fmt: skip
    kept = {
        "format": "png", "scale": 4, "paper": False, "theme": "dark", "wide": True, "written": False, "chips": False,
        "pinned": True,
    }  # fmt: skip
    kept["playing"] = None
    assert found["values"] == {**kept, "chosen": [True, False], "title": "t", "caption": "c"}
    assert found["again"] == {**kept, "chosen": [], "title": "u", "caption": ""}


def test_only_pictures_that_are_seen_and_ready_are_found_also_in_shadow_roots(run: Run) -> None:
    body = """
      const put = (name, own = {}, root = document.body) => {
        const made = document.createElement("div");
        made.attnvizPicture = { name, ready: own.ready ?? true };
        made.style.cssText = `width: 9px; height: 9px; ${own.style ?? ""}`;
        if (own.pinned) made.attnvizPinned = () => own.pinned;
        root.append(made);
        return made;
      };
      put("hidden", { style: "display: none", pinned: "wrong" });
      put("unseen", { style: "visibility: hidden" });
      put("empty", { style: "height: 0" });
      put("waiting", { ready: false });
      put("one");
      const host = put("two");
      put("inner", { pinned: "0.5 + 0.5" }, host.attachShadow({ mode: "open" }));
      const chips = document.createElement("p");
      chips.dataset.tokens = "Words";
      chips.append("x", document.createElement("b"));
      document.body.append(chips);
      return [m.findPictures().map(({ name }) => name), m.findPinned()];
    """
    assert run("export/find.ts", body) == [["one", "two", "inner", "Words"], "0.5 + 0.5"]


VIEW = """
  const said = [];
  const view = new m.default(document.body, { server: "", say: (...all) => said.push(all) });
  const settle = (ms = 30) => new Promise((done) => setTimeout(done, ms));
  const header = { heading: "Export", none: "There is nothing.", name: "file", title: "t", caption: "c", server: null };
  const put = (own) => {
    const made = document.createElement("div");
    made.style.cssText = "width: 50px; height: 50px";
    made.attnvizPicture = { name: "p", ready: true, paint: (pen) => pen.fillRect(0, 0, 50, 40), ...own };
    document.body.append(made);
    return made;
  };
"""


def test_the_dialog_follows_the_page_and_says_what_fails(run: Run) -> None:
    body = """
      const { fields } = view;
      view.update({ header });
      const seen = { nothing: [view.none.hidden, view.none.textContent, fields.element.hidden] };
      let fails = true;
      let release;
      const slow = new Promise((done) => { release = done; });
      const failing = put({ prepare: async () => { if (fails) throw new Error("No font."); } });
      view.look();
      await settle();
      seen.failing = [view.said.textContent, view.preview.hidden, fields.download.disabled, fields.copy.disabled];
      fails = false;
      await view.show();
      seen.ready = [view.preview.hidden, fields.download.disabled, view.preview.querySelector(".size").textContent];
      failing.remove();
      let isSlow = true;
      put({ prepare: () => (isSlow ? slow : undefined), paint: (pen) => pen.fillRect(0, 0, 50, isSlow ? 40 : 20) });
      view.look();  // a preview that takes long
      isSlow = false;
      await view.show();
      const before = view.preview.querySelector(".size").textContent;
      isSlow = true;
      release();
      await settle();
      seen.overtaken = before === view.preview.querySelector(".size").textContent;
      seen.say = said.length;
      history.replaceState(null, "", "?other=1");
      view.look();
      seen.moved = said.map(([name]) => name);
      const keys = [];
      document.body.addEventListener("keydown", ({ key }) => keys.push(key));
      for (const key of ["x", "Escape"]) {
        fields.title.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      }
      seen.keys = keys;
      let looks = 0;
      view.look = () => { looks += 1; };
      await settle(800);
      view.destroy();
      const once = looks;
      await settle(800);
      return { ...seen, looks: [once > 0, looks - once] };
    """
    found = run("export/view.ts", VIEW + body)
    assert found["nothing"] == [False, "There is nothing.", True]
    assert found["failing"] == ["No font.", True, True, True]
    assert found["ready"][:2] == [False, False]
    assert found["ready"][2].startswith("292 × ")
    assert found["overtaken"], "the preview of before comes last"
    assert (found["say"], found["moved"]) == (0, ["moved"])
    assert found["keys"] == ["Escape"]
    assert found["looks"] == [True, 0]


def test_a_download_and_a_copy_say_what_came_of_them_and_may_be_tried_again(run: Run) -> None:
    body = """
      const { fields } = view;
      const animated = [];
      let gone = 0;
      const animation = { width: 2, height: 2, ms: 100, draw: () => new Uint32Array(4).fill(0xff000000),
        destroy: () => { gone += 1; } };
      const made = put({ animation: (looks) => (animated.push(looks), animation) });
      made.dataset.plays = "";
      view.update({ header });
      await settle();
      const downloads = [];
      HTMLAnchorElement.prototype.click = function () { downloads.push(this.download); };
      const press = async (button) => {
        button.click();
        const during = button.disabled;
        for (let n = 0; n < 100 && button.disabled; n += 1) await settle();
        return [during, button.disabled, view.said.textContent.replace(/\\d+ kB/, "N kB")];
      };
      const choose = (value) => fields.element.querySelector(`[name=format][value=${value}]`).click();
      const seen = [await press(fields.download)];
      choose("gif");
      seen.push(await press(fields.download));
      animation.draw = () => { throw new Error("No canvas."); };
      fields.written.querySelector("input").click();
      seen.push(await press(fields.download));
      const clip = (write) => Object.defineProperty(navigator, "clipboard", { value: write && { write },
        configurable: true });
      window.ClipboardItem = class { constructor(items) { this.items = items; } };
      for (const write of [
        null, async ([{ items }]) => void await items["image/png"],
        async () => { throw new DOMException("x", "NotAllowedError"); }, async () => { throw new Error("Too large."); },
      ]) {
        clip(write);
        seen.push(await press(fields.copy));
      }
      view.destroy();
      return { seen, downloads, animated, gone };
    """
    found = run("export/view.ts", VIEW + body)
    assert [one[:2] for one in found["seen"]] == [[True, False]] * 7
    assert [one[2] for one in found["seen"]] == [
        "file.svg: N kB.", "file.gif: N kB.", "No canvas.",
        "This browser copies pictures only over https or on this machine. Download the PNG instead.",
        "Copied as a picture, 2×.", "The browser did not allow it. Download the PNG instead.", "Too large.",
    ]  # fmt: skip
    assert found["downloads"] == ["file.svg", "file.gif"]
    assert [one["title"] for one in found["animated"]] == ["t", ""]
    assert found["gone"] == 2  # also after a failure

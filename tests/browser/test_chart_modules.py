"""The chart without plotly.js: what it asks of it, and when; and how it grows with type."""

from __future__ import annotations

import pytest

from tests.browser.modules import Run

CHART = """
  const calls = [];
  const note = (name) => async (_, ...all) => void calls.push([name, ...all]);
  const plotly = { Icons: {}, react: note("react"), restyle: note("restyle"), relayout: note("relayout"),
    purge: () => calls.push(["purge"]) };
  const answers = [];
  const load = () => new Promise((done, fail) => answers.push({ done: () => done(plotly), fail }));
  const room = document.createElement("div");
  room.style.cssText = "width: 600px; height: 400px";
  document.body.append(room);
  const chart = new m.Chart(room, load);
  chart.graph.style.cssText = "width: 100%; height: 100%";
  const panel = (name, rows, columns, own = {}) => ({
    name, title: name, role: null, rows: "query", cols: "key", shape: [rows, columns], low: -1, high: 1,
    scale: "signed", data: new Float32Array(rows * columns).fill(0.5), ...own,
  });
  const picture = (...panels) => ({
    panels, grid: [panels.map((_, n) => n)], widths: panels.map(() => 1), heights: [1], labels: {}, alt: panels[0].name,
  });
  const looks = { theme: "light", pin: { q: null, k: null } };
  const settle = (ms = 60) => new Promise((done) => setTimeout(done, ms));
  const until = async (done) => {
    for (let round = 0; round < 500 && !done(); round++) await settle(20);
  };
  const called = (name) => until(() => calls.some(([one]) => one === name));
  const names = () => calls.splice(0).map(([name]) => name);
"""


def test_a_chart_draws_the_last_picture_and_only_what_is_another(run: Run) -> None:
    body = """
      const [first, second] = [picture(panel("plain", 3, 3), panel("numbered", 3, 3, { numbered: true })),
        picture(panel("other", 2, 2))];
      chart.show(second, looks);
      chart.show(first, looks);  // while the script is on its way
      answers[1].done();
      answers[0].done();
      await called("restyle");
      const drawn = calls.map(([name, ...all]) => name === "react" ? all[0].map((one) => one.name) : all);
      const config = calls[0].at(-1);
      const label = [chart.graph.getAttribute("aria-label")];
      const seen = { drawn, shown: names() };
      chart.show(first, looks);
      seen.same = names();
      chart.show(first, { ...looks, pin: { q: 1, k: null } });
      seen.pin = calls.splice(0).map(([name, { shapes }]) => [name, shapes.map(({ x0, x1, y0, y1 }) =>
        [x0, x1, y0, y1])]);
      chart.show(first, { ...chart.looks, theme: "dark" });
      answers[2].done();
      await called("restyle");
      seen.theme = [calls[0][0], calls[0].at(-1) === config];
      names();
      for (const css of ["width: 600px; height: 300px", "width: 500px; height: 300px"]) {
        room.style.cssText = css;
        await called("relayout");
        seen[css] = calls.splice(0).map(([name, size]) => [name, size]);
      }
      document.documentElement.style.setProperty("--least-type", "1.5");
      room.style.height = "310px";
      await until(() => answers.length === 4);
      seen.asked = answers.length;
      answers.at(-1).done();
      await called("react");
      const [[, data, layout]] = calls.splice(0);
      seen.large = [data.some(({ texttemplate }) => texttemplate), layout.xaxis.tickfont.size];
      chart.show(second, looks);
      label.push(chart.graph.getAttribute("aria-label"));
      chart.destroy();
      answers.at(-1).done();
      room.style.width = "400px";
      await settle(150);
      return { ...seen, label, end: names(), left: room.children.length };
    """
    found = run("chart/chart.ts", CHART + body)
    assert found["shown"] == ["react", "restyle"], "the colours first, then the numbers; of the last picture alone"
    assert found["drawn"] == [["plain", "numbered"], [{"texttemplate": ["%{text}"]}, [1]]]
    assert found["same"] == []
    assert found["pin"] == [["relayout", [[-0.5, 2.5, 0.5, 1.5]] * 2]]  # nothing else is drawn anew
    assert found["theme"] == ["react", True]
    assert found["width: 600px; height: 300px"] == [["relayout", {"width": 600, "height": 300}]]
    assert found["width: 500px; height: 300px"] == [["relayout", {"width": 500, "height": 300}]]
    assert found["asked"] == 4, "larger type is another figure"
    assert found["large"] == [False, 24]
    assert found["label"] == ["plain", "other"]
    assert (found["end"], found["left"]) == (["purge"], 0)


def test_a_chart_without_its_script_says_so_until_it_comes(run: Run) -> None:
    body = """
      const one = picture(panel("one", 2, 2));
      chart.show(one, looks);
      answers[0].fail(new Error("away"));
      await until(() => chart.graph.textContent);
      const failed = [chart.graph.textContent, chart.graph.className];
      chart.graph.append(document.createElement("p"));
      chart.show(one, looks);
      answers[1].done();
      await called("react");
      return [failed, chart.graph.textContent, chart.graph.className, names()];
    """
    failed, text, kind, calls = run("chart/chart.ts", CHART + body)
    sentence = "The picture can't be drawn: plotly.js did not arrive. Reload the page. one"
    assert failed == [sentence, "attnviz-chart attnviz-chart-failed"]
    assert (text, kind, calls) == ("", "attnviz-chart", ["react"])


def test_larger_type_has_more_room_and_fewer_labels(run: Run) -> None:
    body = """
      const axis = (domain, count) => ({ domain, tickvals: [...Array(count).keys()],
        ticktext: [...Array(count).keys()].map(String), tickfont: { size: 9 },
        title: { text: "t", font: { size: 12 } } });
      const figure = {
        data: [{ texttemplate: "%{z}", z: [[1]] }, { colorbar: { len: 1 }, z: [[1]] }],
        layout: { margin: { l: 40, r: 10, t: 20, b: 30 }, hoverlabel: { align: "left" }, xaxis: axis([0, 0.5], 20),
          yaxis: axis([0.5, 1], 20), xaxis2: axis([0.5, 1], 2),
          annotations: [{ font: { size: 14 }, text: "<b>A</b><span style='font-size:11px'>2</span>" }, { text: "B" }] },
      };
      const size = { width: 1100, height: 700 };
      return [m.enlarged(figure, size, 0), m.enlarged(figure, size, 24)];
    """
    plain, large = run("chart/enlarged.ts", body)
    assert plain["layout"]["margin"] == {"l": 40, "r": 10, "t": 20, "b": 30}
    assert plain["data"][0]["texttemplate"] == "%{z}"
    layout = large["layout"]
    assert layout["margin"] == {"l": 80, "r": 20, "t": 40, "b": 60}  # twice the type of 12 px
    x, y, other = (layout[name] for name in ("xaxis", "yaxis", "xaxis2"))
    # Half of 1000 px has room for 20 labels of 24 px, half of 600 px for 12 of them; each second one is left.
    assert (len(x["tickvals"]), x["ticktext"][:2], other["tickvals"]) == (20, ["0", "1"], [0, 1])
    assert (y["tickvals"], y["ticktext"]) == ([*range(0, 20, 2)], [str(n) for n in range(0, 20, 2)])
    assert (x["tickfont"]["size"], x["title"]) == (24, {"text": "t", "font": {"size": 24}})
    assert [one["font"]["size"] for one in layout["annotations"]] == [28, 24]
    assert layout["annotations"][0]["text"] == "<b>A</b><span style='font-size:24px'>2</span>"
    assert layout["hoverlabel"] == {"align": "left", "font": {"size": 24}}
    assert "texttemplate" not in large["data"][0]
    assert large["data"][1]["colorbar"] == {"len": 1, "tickfont": {"size": 24}}


def test_a_number_is_as_large_as_its_cell_allows(run: Run) -> None:
    """A wide, a high and a small matrix; a number with a sign takes more room."""
    body = """
      const trace = (rows, columns, zmin, n, own = {}) => ({
        texttemplate: "%{z}", xaxis: `x${n || ""}`, zmin, z: Array(rows).fill(Array(columns).fill(1)), ...own });
      const layout = Object.fromEntries(["", "2", "3", "4"].flatMap((n) => [[`xaxis${n}`, { domain: [0, 1] }],
        [`yaxis${n}`, { domain: [0, 1] }]]));
      const data = [trace(2, 16, 0), trace(16, 2, 0, 2), trace(2, 16, -1, 3), trace(1, 1, 0, 4),
        trace(1, 1, 0, 5, { texttemplate: undefined })];
      return m.numberSizes({ data, layout }, { width: 600, height: 320 });
    """
    sizes = dict(run("chart/figure.ts", body))
    assert list(sizes) == ["xy", "x2y2", "x3y3", "x4y4"]
    # 0.25 is about two ems wide, and no wider than its cell; no number is higher than its row.
    assert 5 < sizes["xy"] < 600 / 16 / 2
    assert 5 < sizes["x2y2"] < 320 / 16
    assert sizes["x3y3"] == pytest.approx(sizes["xy"] * 4 / 5)
    assert sizes["x4y4"] == 15

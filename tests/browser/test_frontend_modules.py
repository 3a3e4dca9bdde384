"""The components' plain JavaScript modules, one at a time in the browser, against Python, numpy and torch."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from playwright.sync_api import Page

from attnviz.components.payload import write_payload
from attnviz.formatting import percent
from tests.browser.modules import Run, imported
from tests.unit import numbers

PENDING = """
  const [sent, seen] = [[], []];
  const updates = new m.PendingUpdates({ send: (message) => void sent.push(message) }, { step: "scores", head: 0 });
  Object.assign(window, { updates, sent });
"""


def test_hints_speak_of_taps_where_nothing_can_be_pointed_at(run: Run) -> None:
    hints = {
        "Point at a cell to see its arithmetic; click or tap to pin it.": "Tap a cell to see its arithmetic.",
        "Point at a token; a click or a tap pins it, Esc lets it go.": "Tap a token.",
        "Point at a logit; a click pins it, and its row is written out.": "Tap a logit: its row is written out.",
        "Point at a cell to read its weight. Click a row: see it.": "Tap a cell to read its weight. Tap a row: see it.",
    }
    body = "return given.map((hint) => [m.forPointer(hint, true), m.forPointer(hint, false)])"
    assert run("core/touch.ts", body, list(hints)) == [[touch, mouse] for mouse, touch in hints.items()]


def test_a_change_counts_until_the_server_acknowledges_it(plain_page: Page, served: str) -> None:
    body = """
      const note = () => seen.push([updates.values.step, updates.values.head]);
      updates.set({ step: "scaled" });
      const late = [updates.set({ step: "masked", head: 0 }), updates.set({ step: "masked" })];
      await new Promise((done) => setTimeout(done, 30));
      const [{ number }] = sent;
      updates.receive({ step: "scores", head: 5 }, number - 1); note();  // from before, but with another value
      updates.receive({ step: "scores", head: 5 }, number); note();  // acknowledged, and refused
      updates.receive({ step: "weights", head: 6 }, number); note();  // changed elsewhere
      updates.set({ head: 7 });
      await new Promise((done) => setTimeout(done, 30));
      return [sent.map(({ values }) => values), seen, late, sent[1].number > number];
    """
    sent, seen, new, later = imported(plain_page, served, "core/pending_updates.ts", PENDING + body)
    assert sent == [{"step": "masked"}, {"head": 7}]  # the last of several in a row
    assert seen == [["masked", 5], ["scores", 5], ["weights", 6]]
    assert new == [True, False]
    assert later


def test_what_is_asked_for_once_more_is_sent_again(plain_page: Page, served: str) -> None:
    body = """
      for (const at of [1, 2]) {
        updates.sendAgain({ step: "masked" });
        await new Promise((done) => setTimeout(done, 30));
        updates.receive({}, sent.at(-1).number);
      }
      return [sent.map(({ values }) => values), updates.values];
    """
    found = imported(plain_page, served, "core/pending_updates.ts", PENDING + body)
    assert found == [[{"step": "masked"}, {"step": "masked"}], {"step": "masked", "head": 0}]


def test_an_update_without_acknowledgement_is_sent_again_a_few_times(page: Page, served: str) -> None:
    page.clock.install()
    imported(page, served, "core/pending_updates.ts", PENDING)
    page.evaluate("updates.set({ step: 'scaled' })")
    page.clock.run_for(10)
    page.evaluate("updates.set({ head: 3 })")  # replaces the update that the server has not read yet, so it holds both
    page.clock.run_for(10)
    values = {"step": "scaled", "head": 3}
    assert page.evaluate("sent.map(({ values }) => values)") == [{"step": "scaled"}, values]
    page.evaluate("updates.receive({ step: 'scores', head: 0 }, sent[0].number)")  # acknowledges the first alone
    assert page.evaluate("updates.values") == values
    page.clock.run_for(2500)
    assert page.evaluate("sent.length") == 3
    assert page.evaluate("sent[2].number === sent[1].number")  # the same update once more
    page.evaluate("updates.receive({ step: 'scaled', head: 3 }, sent[2].number)")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 3  # acknowledged: nothing is sent again
    page.evaluate("updates.set({ step: 'weights' })")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 7
    page.evaluate("updates.receive({ step: 'qkv', head: 3 }, 0)")
    assert page.evaluate("updates.values.step") == "qkv"  # the server's value counts again
    page.evaluate("updates.set({ step: 'weights' }, 100); updates.destroy()")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 7


def test_updates_without_end_wait_until_they_are_asked_for(page: Page, served: str) -> None:
    page.clock.install()
    imported(page, served, "core/pending_updates.ts", PENDING)
    page.evaluate("updates.set({ step: 'scaled' }, Infinity); updates.set({ head: 3 }, Infinity)")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 0
    page.evaluate("updates.receive({ step: 'scores', head: 0 }, 0)")  # an answer that does not know of them
    assert page.evaluate("updates.values") == {"step": "scaled", "head": 3}
    page.evaluate("updates.flush(); updates.flush()")
    assert page.evaluate("sent.map(({ values }) => values)") == [{"step": "scaled", "head": 3}]
    page.evaluate("updates.receive({ step: 'scaled', head: 3 }, sent[0].number)")
    page.evaluate("updates.set({ step: 'weights' }, Infinity); updates.drop(); updates.flush()")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 1
    page.evaluate("updates.receive({ step: 'masked' })")
    assert page.evaluate("updates.values") == {"step": "masked", "head": 3}


def test_after_back_nothing_that_was_chosen_before_is_sent_or_kept(page: Page, served: str) -> None:
    page.clock.install()
    imported(page, served, "core/pending_updates.ts", PENDING)
    page.evaluate("updates.followLeaving(new AbortController().signal)")
    page.evaluate("updates.set({ step: 'scaled' }); updates.set({ head: 3 }, 250)")
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 0
    page.evaluate("updates.set({ step: 'weights' })")
    page.clock.run_for(10)
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    page.evaluate("updates.receive({ step: 'masked', head: 7 })")  # the view of the other link
    page.clock.run_for(60_000)
    assert page.evaluate("[sent.length, updates.values]") == [1, {"step": "masked", "head": 7}]


def test_a_jump_within_the_page_keeps_what_is_not_sent_yet(page: Page, served: str) -> None:
    imported(page, served, "core/pending_updates.ts", PENDING)
    page.evaluate("updates.followLeaving(new AbortController().signal); updates.set({ step: 'scaled' }, Infinity)")
    gone = "new Promise((gone) => window.addEventListener('popstate', () => setTimeout(gone), { once: true }))"
    page.evaluate(f"() => {{ const jumped = {gone}; location.hash = 'there'; return jumped; }}")
    page.evaluate(f"() => {{ const jumped = {gone}; history.back(); return jumped; }}")
    page.evaluate("updates.flush()")
    assert page.evaluate("sent.map(({ values }) => values)") == [{"step": "scaled"}]
    page.evaluate("history.pushState({}, '', '?other'); updates.set({ head: 3 }, Infinity)")
    page.evaluate(f"() => {{ const went = {gone}; history.back(); return went; }}")
    page.evaluate("updates.flush()")
    assert page.evaluate("sent.length") == 1


def test_on_the_way_to_another_page_what_waits_is_sent_and_nothing_afterwards(page: Page, served: str) -> None:
    page.clock.install()
    imported(page, served, "core/pending_updates.ts", PENDING)
    page.evaluate("""() => {
      window.ends = new AbortController();
      updates.followLeaving(ends.signal);
      document.body.innerHTML =
        "<p id=other><b>here</b></p><p id=link class=stPageLink><a><b>Heads</b></a></p>";
      window.press = (id, kind) =>
        document.querySelector(`#${id} b`).dispatchEvent(new MouseEvent(kind, { bubbles: true }));
    }""")
    page.evaluate("updates.set({ step: 'scaled' }, 300); press('other', 'pointerdown'); press('other', 'click')")
    assert page.evaluate("sent.length") == 0
    page.evaluate("press('link', 'pointerdown')")
    assert page.evaluate("sent.map(({ values }) => values)") == [{"step": "scaled"}]
    page.evaluate("updates.set({ head: 3 }, 300); press('link', 'click')")
    page.clock.run_for(60_000)
    assert page.evaluate("sent.length") == 1  # neither again, nor what came too late
    page.evaluate("ends.abort(); updates.set({ head: 5 }, 300); press('link', 'pointerdown'); press('link', 'click')")
    page.clock.run_for(400)
    assert page.evaluate("sent.length") == 2  # a component that is gone no longer follows


def test_what_one_press_leads_to_is_one_entry_of_the_history(page: Page, served: str) -> None:
    body = """
      m.oneEntryEach();
      m.oneEntryEach();
      const [first, seen] = [history.length, []];
      const push = (path) => history.pushState({}, "", path);
      const note = () => seen.push([history.length - first, location.pathname + location.search]);
      const press = (kind) => window.dispatchEvent(new Event(kind));
      push("/loaded"); note();  // what was pressed before anybody listened counts
      press("keydown"); press("keydown");
      push("/loaded?next"); push("/next?next"); note();  // the link before its page
      press("click");
      push("/last"); push("/last?text"); note();  // the page before its link
      press("keydown");
      history.back();
      await new Promise((gone) => window.addEventListener("popstate", gone, { once: true }));
      push("/next?late"); note();
      return seen;
    """
    assert imported(page, served, "page/history.ts", body) == [
        [1, "/loaded"], [2, "/next?next"], [3, "/last?text"], [3, "/next?late"]
    ]  # fmt: skip


def test_numbers_are_never_rounded_to_a_lie(plain_page: Page, served: str) -> None:
    shown = {
        3.21: "3.2100", -0.2: "−0.2000", 0.0: "0.0000", -0.00001: "−1.00e−5", 1.2345678e-7: "1.23e−7",
        0.00005: "0.0001", 1234567.0: "1.2346e6", 999999.0: "999999.0000",
    }  # fmt: skip
    body = (
        "return [...given.map((x) => m.number(x)), m.number(-0), m.number(-Infinity), m.operand(-0.2), m.subscript(12)]"
    )
    written = imported(plain_page, served, "core/format.ts", body, list(shown))
    assert written == [*shown.values(), "0.0000", "−∞", "(−0.20)", "₁₂"]


def test_percentages_read_the_same_in_the_browser_and_in_python(run: Run) -> None:
    given = [[share, digits] for share in [*numbers.shares(), 1.0000001, 1.5] for digits in range(5)]
    found = run("core/format.ts", "return given.map(([share, digits]) => m.percent(share, digits))", given)
    assert found == [percent(share, digits) for share, digits in given]


def test_numbers_read_the_same_in_the_browser_and_in_python(run: Run) -> None:
    """The table that Python has written; tests/unit/test_formatting.py compares it with Python."""
    rows = json.loads(numbers.FILE.read_text(encoding="utf-8"))
    body = """
      const { endText } = await import("/frontend/core/colour_limit.ts");
      return given.rows.map(({ bits, number, end }) => {
        const view = new DataView(new ArrayBuffer(8));
        view.setBigUint64(0, BigInt(`0x${bits}`));
        const x = view.getFloat64(0);
        return {
          bits,
          exact: given.decimals.map((digits) => m.number(x, digits)),
          ...(number && { weight: m.weightText(x), number: given.decimals.map((digits) => m.fixed(x, digits)) }),
          ...(end && { end: endText(x) }),
        };
      });
    """
    found = run("core/format.ts", body, {"rows": rows, "decimals": numbers.DECIMALS})
    assert len(rows) > 180
    for row, same in zip(rows, found, strict=True):
        assert same == row


def test_a_tiny_weight_reads_the_same_in_lines_tooltips_and_trainings(run: Run) -> None:
    """Where all digits are known it is written out; of 16 bits, or among thousands, it is less than the last one."""
    assert run("core/format.ts", "return [m.number(4e-5), m.weightText(4e-5)]") == ["4.00e−5", "< 0.0001"]
    assert run("lines/sentences.ts", "return [4e-5, 0, 0.00005, 0.5, 12.3456, 123.456].map(m.digits)") == [
        "< 0.0001", "0.0000", "0.0001", "0.5000", "12.346", "123.46"
    ]  # fmt: skip
    kind = {"query": ["a"], "key": ["b"]}
    assert "< 0.0001" in run("training/words.ts", "return m.cellText(given, 0, 0, 4e-5)", kind)


def test_weights_survive_exponents_out_of_range(plain_page: Page, served: str) -> None:
    body = """
      const array = (data, ...shape) => ({ data: Float32Array.from(data), shape });
      const arrays = {
        query: array([given], 1, 1), key: array([1, 1.01, 1.02], 3, 1), value: array([1, 2, 3], 3, 1),
      };
      const a = new m.Attention({ scale: 1, mask: "none", mask_value: null }, arrays);
      return [...a.row(0).weights, a.row(0).shift];
    """
    keys = torch.tensor([1, 1.01, 1.02], dtype=torch.float32).double()
    for factor in (900.0, -900.0, 70.0):
        *weights, shift = imported(plain_page, served, "core/attention.ts", body, factor)
        assert weights == pytest.approx(torch.softmax(keys * factor, 0).tolist(), abs=1e-12)
        assert (shift != 0) == (abs(factor) > 100)


@pytest.mark.parametrize(("size", "value_size"), [(3, 5), (5, 2), (4, 4)])
def test_values_may_be_wider_or_narrower_than_keys(plain_page: Page, served: str, size: int, value_size: int) -> None:
    """Query (4, D), key (6, D), value (6, Dv): the output has Dv numbers, whatever D is."""
    draw = np.random.default_rng(size)
    query, key, value = draw.normal(size=(4, size)), draw.normal(size=(6, size)), draw.normal(size=(6, value_size))
    given = {name: {"data": x.ravel().tolist(), "shape": x.shape}
             for name, x in {"query": query, "key": key, "value": value}.items()}  # fmt: skip
    body = """
      const array = ({ data, shape }) => ({ data: Float32Array.from(data), shape });
      const arrays = Object.fromEntries(Object.entries(given).map(([name, one]) => [name, array(one)]));
      const a = new m.Attention({ scale: 0.5, mask: "causal", mask_value: null }, arrays);
      return [0, 1, 2, 3].map((q) => [[...a.row(q).weights], [...a.output(q)]]);
    """
    scores = torch.from_numpy(0.5 * query @ key.T).masked_fill(torch.ones(4, 6).triu(1).bool(), float("-inf"))
    weights = torch.softmax(scores, -1).numpy()
    found = imported(plain_page, served, "core/attention.ts", body, given)
    assert np.array([row for row, _ in found]) == pytest.approx(weights, abs=1e-6)
    assert np.array([output for _, output in found]) == pytest.approx(weights @ value, abs=1e-6)


def test_each_product_has_a_bar_of_its_sign_and_share(plain_page: Page, served: str) -> None:
    """The largest product fills its half of the box, to the right where it is positive, to the left where negative."""
    left, right = [2.0, -1.0, 0.5, 4.0], [1.5, 3.0, 0.0, -1.0]
    body = """
      const list = new m.Folded("scores");
      document.body.append(list.root);
      const [left, right] = [(c) => given.left[c], (c) => given.right[c]];
      const terms = { count: 4, left, right, label: String, sum: 1, summary: "", colours: ["query", "key"] };
      list.show("all 4 products", () => m.termLines(terms));
      const before = list.root.querySelectorAll(".bar").length;
      if (before) throw new Error("a closed list is written");
      list.root.open = true;
      await new Promise((next) => list.root.addEventListener("toggle", next));
      return [...list.root.querySelectorAll(".bar")].map((bar) =>
        [Number.parseFloat(bar.style.width), bar.classList.contains("negative")]);
    """
    products = np.array(left) * np.array(right)
    bars = imported(plain_page, served, "inspector/lists.ts", body, {"left": left, "right": right})
    assert [width for width, _ in bars] == pytest.approx(50 * np.abs(products) / np.abs(products).max())
    assert [negative for _, negative in bars] == (products < 0).tolist()


def test_cells_get_the_colour_of_their_number(plain_page: Page, served: str) -> None:
    body = """
      const pixels = new Uint32Array(6);
      m.colourCells(pixels, [-1, 0, 1, NaN, -9, 9], 6, { low: -1, high: 1, colours: m.SCALES.light.signed });
      return [...new Uint8Array(pixels.buffer)];
    """
    seen = np.array(imported(plain_page, served, "core/colours.ts", body)).reshape(6, 4)
    brown, purple = [0xB3, 0x58, 0x06, 255], [0x5E, 0x3C, 0x99, 255]
    assert seen[[0, 4]].tolist() == [brown, brown]
    assert seen[[2, 5]].tolist() == [purple, purple]
    assert seen[1, :3].min() >= 254
    assert seen[3, 3] == 0


def test_colours_are_rounded_to_the_nearest(plain_page: Page, served: str) -> None:
    """A share of the way from black to white is that share of 255, at most half a step of a channel away."""
    shares = np.linspace(0, 1, 997)
    body = "return given.map((share) => m.blend(['#000000', '#ffffff'], share))"
    blended = np.array(imported(plain_page, served, "core/colours.ts", body, shares.tolist()))
    assert np.abs(blended - 255 * shares[:, None]).max() <= 0.5 + 1e-9
    body = """
      const pixels = new Uint32Array(given.length);
      m.colourCells(pixels, given, given.length, { low: 0, high: 1, colours: ["#000000", "#ffffff"] });
      return [...new Uint8Array(pixels.buffer)];
    """
    cells = np.array(imported(plain_page, served, "core/colours.ts", body, shares.tolist())).reshape(-1, 4)
    half_a_level = 255 / 511 / 2  # cells have 512 colours
    assert np.abs(cells[:, :3] - 255 * shares[:, None]).max() <= 0.5 + half_a_level + 1e-9


def test_heads_shown_together_have_colours_of_their_own(plain_page: Page, served: str) -> None:
    colours = imported(plain_page, served, "core/colours.ts", "return m.headColours(24, 'light')")
    assert len(set(colours)) == 24


PAYLOADS = [list(write_payload({"n": n}, {})) for n in (1, 2)]


PLACES = """
  const places = (...names) => names.map((name) => {
    const place = document.createElement("div");
    place.toString = () => name;
    document.body.append(place);
    return place;
  });
"""
"""Makes elements, as Streamlit does for its components"""


def test_a_component_lives_as_long_as_its_element(plain_page: Page, served: str) -> None:
    """Streamlit calls again with each change of theme.

    On a slow machine a call comes late, when the next one is on its way: it is ended at once, before the next one.
    """
    body = """
      const [seen, sent] = [[], []];
      const call = m.mounting(async (payload, root, host) => ({
        update: (payload) => {
          const n = payload && payload.header.n;
          seen.push([String(root), n]);
          host.say("update", n);
        },
        destroy: () => seen.push(`${root} ends`),
      }), "server");
      const [a, b] = places("a", "b");
      const payloads = given.map((bytes) => Uint8Array.from(bytes));
      const ask = (parentElement, n, by) =>
        call({ parentElement, data: payloads[n - 1], setTriggerValue: (...all) => sent.push([by, ...all]) });
      const made = () => new Promise((done) => setTimeout(done));
      const first = ask(a, 1, "first");
      await made();
      const [second, other] = [ask(a, 1, "second"), ask(b, 1, "other")];
      await made();
      second();  // before the call that has overtaken it
      const third = ask(a, 2, "third");
      for (const end of [first, third]) end();
      seen.push("still here");
      b.remove();
      other();
      a.remove();
      for (const end of [first, second]) end();  // the third was never heard of
      const late = ask(a, 2, "late");  // a call that comes after the element has gone
      await made();
      late();
      return [seen, sent];
    """
    seen, sent = imported(plain_page, served, "page/mounting.ts", PLACES + body, PAYLOADS)
    assert seen == [
        ["a", 1], ["a", None], ["b", 1], ["a", 2], "still here", "b ends", "a ends", ["a", 2], "a ends"
    ]  # fmt: skip
    says = [("first", 1), ("second", None), ("other", 1), ("third", 2), ("late", 2)]
    assert sent == [[call, "update", n] for call, n in says], "each by the function that came with the newest call"


def test_a_component_that_fails_at_its_end_does_not_keep_the_others_from_theirs(plain_page: Page, served: str) -> None:
    body = """
      const seen = [];
      const call = m.mounting(async (payload, root) => ({
        update: () => {},
        destroy: () => {
          seen.push(`${root} ends`);
          if (String(root) === "a") throw new Error("a fails");
        },
      }), "server");
      const all = places("a", "b");
      const data = Uint8Array.from(given[0]);
      const [end] = all.map((parentElement) => call({ parentElement, data, setTriggerValue: () => {} }));
      await new Promise((done) => setTimeout(done));
      window.addEventListener("error", (event) => {
        event.preventDefault();
        seen.push(event.message);
      });
      for (const place of all) place.remove();
      end();
      return seen;
    """
    ends = ["a ends", "Uncaught Error: a fails", "b ends"]
    assert imported(plain_page, served, "page/mounting.ts", PLACES + body, PAYLOADS) == ends


def test_while_a_component_is_loaded_only_the_last_call_counts(plain_page: Page, served: str) -> None:
    body = """
      const seen = [];
      let fails = true;
      const call = m.mounting(async (payload, root) => {
        if (root === broken && fails) throw new Error("no network");
        return {
          update: (payload) => seen.push([String(root), payload.header.n]),
          destroy: () => seen.push(`${root} ends`),
        };
      }, "server");
      const [a, gone, broken] = places("a", "gone", "broken");
      const payloads = given.map((bytes) => Uint8Array.from(bytes));
      const ask = (parentElement, n) => call({ parentElement, data: payloads[n - 1], setTriggerValue: () => {} });
      const made = () => new Promise((done) => setTimeout(done));
      window.addEventListener("unhandledrejection", (event) => {
        event.preventDefault();
        seen.push(event.reason.message);
      });
      ask(a, 1);
      ask(a, 2);
      const end = ask(gone, 1);
      gone.remove();
      end();
      ask(broken, 1);
      while (seen.length < 3) await made();
      fails = false;
      ask(broken, 2);
      await made();
      return seen;
    """
    assert imported(plain_page, served, "page/mounting.ts", PLACES + body, PAYLOADS) == [
        ["a", 2], "gone ends", "no network", ["broken", 2],
    ]  # fmt: skip


def test_where_nobody_is_to_be_asked_a_change_has_arrived_at_once(plain_page: Page, served: str) -> None:
    """A page of its own and a notebook have no server that acknowledges: nothing is sent twice, nobody waits."""
    body = """
      const sent = [];
      const updates = new m.PendingUpdates({ send: ({ values }) => sent.push(values) > 0 }, { head: 0, q: null });
      updates.set({ head: 3 }, 1);
      await new Promise((done) => setTimeout(done, 20));
      await updates.ask();
      return [sent, updates.values, updates.pending.size, updates.asking.length];
    """
    found = imported(plain_page, served, "core/pending_updates.ts", body)
    assert found == [[{"head": 3}, {}], {"head": 3, "q": None}, 0, 0]


SAMPLED = {"model": {"characters": list("abcde\n"), "names": {"5": "⏎"}}, "temperature": 0.5, "top_k": 4, "top_p": 0.9}
WORDS = """
  const { draw, header } = given;
  return { drawn: m.drawnSentence(draw, header), rows: draw.rows.map((row) => m.arithmetic(row, draw, header)) };
"""


def test_a_draw_is_told_with_the_numbers_of_torch(plain_page: Page, served: str) -> None:
    logits = torch.tensor([1.5, -0.25, 2.0, 0.0, -3.0, 1.0])
    scaled, order = (logits / 0.5).sort(descending=True)
    kept = 3  # of the four likeliest, those that reach 0.9 of all: 0.66, 0.24, 0.09
    shares = torch.cat([scaled[:kept].softmax(-1), torch.zeros(3)])
    rows = [
        {"id": int(order[n]), "rank": n, "logit": float(logits[order[n]]), "scaled": float(scaled[n]),
         "probability": float(shares[n]), "sum": float(shares[: n + 1].sum())}
        for n in range(6)
    ]  # fmt: skip
    total = float((scaled[:kept] - scaled[0]).exp().sum())
    draw = {"rows": rows, "own": rows[2], "kept": kept, "total": total, "number": 0.95, "context": 4}
    said = imported(plain_page, served, "generation/words.ts", WORDS, {"draw": draw, "header": SAMPLED})
    low, high = float(shares[:2].sum()), float(shares[:3].sum())
    assert said["drawn"] == f"The number 0.9500 falls into {low:.4f} to {high:.4f}: “⏎”, of 3 that are left."
    whole = {**draw, "kept": len(SAMPLED["model"]["characters"])}
    of_all = imported(plain_page, served, "generation/words.ts", WORDS, {"draw": whole, "header": SAMPLED})
    assert of_all["drawn"] == f"The number 0.9500 falls into {low:.4f} to {high:.4f}: “⏎”."
    assert said["rows"][1] == f"“a”: 1.5000 / 0.5 = 3.0000;  exp(3.0000 − 4.0000) / {total:.4f} = {shares[1]:.4f}"
    assert said["rows"][3] == "“d”: cut by top-p, so its probability is 0."
    assert said["rows"][4] == "“b”: cut by top-k, so its probability is 0."
    greedy = {"draw": {**draw, "number": None, "own": rows[0], "kept": 1}, "header": {**SAMPLED, "temperature": 0}}
    said = imported(plain_page, served, "generation/words.ts", WORDS, greedy)
    assert said["drawn"] == "Greedy: “c” is the likeliest, so nothing is drawn."
    assert said["rows"][0] == "“c”: the likeliest, so greedy choice takes it."
    assert said["rows"][1] == "“a”: not the likeliest, so greedy choice never takes it."


def test_each_draw_has_its_own_weights_and_head(plain_page: Page, served: str) -> None:
    weights = np.arange(30, dtype=np.uint16) * 2000  # (2 layers of 3 heads) x (2 and 3 tokens of context)
    body = """
      const packed = (data, shape) => ({ data, shape });
      const context = packed(Uint16Array.of(2, 3), [2]);
      const [ids, weights] = [packed(Uint16Array.of(7, 8), [2]), packed(Uint16Array.from(given), [30])];
      const arrays = { ids, context, weights };
      const draws = new m.Draws(arrays, { layers: 2, heads: 3 });
      const { headName } = await import("/frontend/generation/words.ts");
      return [[...draws.weights(0)], [...draws.weights(1)], [0, 2, 3, 5].map((n) => headName(n, 3))];
    """
    first, second, names = imported(plain_page, served, "generation/draws.ts", body, weights.tolist())
    np.testing.assert_allclose(first, weights[:12] / 65535, rtol=1e-6)
    np.testing.assert_allclose(second, weights[12:] / 65535, rtol=1e-6)
    assert names == ["layer 0, head 0", "layer 0, head 2", "layer 1, head 0", "layer 1, head 2"]


def test_what_a_training_does_is_told_in_a_line(plain_page: Page, served: str) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"state": "new"}, "Not trained yet: every weight is as it was drawn from the seed."),
        ({"state": "queued", "message": ""}, "Waiting for its turn."),
        ({"state": "queued", "message": "2 trainings are before yours."}, "2 trainings are before yours."),
        ({"state": "running", "step": 0}, "Starting a process to train in."),
        ({"state": "running", "step": 1}, "Step 1 of 2,000"),
        (
            {"state": "running", "step": 1200, "speed": 9.94, "left": 80.2},
            "Step 1,200 of 2,000 · 9.9 steps/s · 81 s left",
        ),
        ({"state": "running", "step": 9, "speed": 1234.5, "left": 100}, "Step 9 of 2,000 · 1,235 steps/s · 2 min left"),
        ({"state": "stopped", "step": 40}, "Step 40 of 2,000 · stopped"),
        ({"state": "done", "step": 2000}, "Step 2,000 of 2,000 · done"),
        ({"state": "recorded", "message": "Recorded."}, "Recorded."),
    ]
    common = {"message": "", "step": 0, "steps": 2000, "speed": None, "left": None}
    body = "return given.map((run) => m.stateText(run))"
    told = imported(plain_page, served, "training/words.ts", body, [{**common, **run} for run, _ in cases])
    assert told == [said for _, said in cases]


def test_a_cell_of_a_comparison_says_what_a_side_lacks(plain_page: Page, served: str) -> None:
    own = {"a": {"query": [0, None, 1], "key": [0, 1, None]}, "b": {"query": [0, 1, 2], "key": [0, 1, 2]}}
    header = {
        "own": own, "labels": {"query": ["the", "cat", "sat"], "key": ["the", "cat", "sat"]},
        "ranges": {"a": [0, 1], "b": [0, 1], "difference": None}, "hidden": "hidden by the mask",
    }  # fmt: skip
    body = """
      const [header, at, numbers] = given;
      const own = Object.fromEntries(Object.entries(numbers).map(([name, x]) => [name, x ?? NaN]));
      const { write } = await import("/frontend/core/template.ts");
      const room = document.createElement("p");
      write(room, ...m.parts(header, at, own));
      return Array.from(room.children, (one) => one.textContent);
    """

    def said(i: int, j: int, **numbers: float | None) -> list[str]:
        given = [header, {"i": i, "j": j}, {"a": None, "b": None, "difference": None, "divergence": None, **numbers}]
        found: list[str] = imported(plain_page, served, "compare/line.ts", body, given)
        return found

    assert said(0, 1, a=0.125, b=-0.5, difference=0.625, divergence=0.25) == [
        "0 the → 1 cat", "A 0.1250 − B (−0.5000) = 0.6250", "the two rows: 0.2500 bits apart"
    ]  # fmt: skip
    assert said(1, 0, b=0.5)[1] == "A has no such row · B 0.5000"
    assert said(0, 2, b=0.5)[1] == "A has no such column · B 0.5000"
    assert said(1, 2, b=0.5)[1] == "A has neither · B 0.5000"
    assert said(2, 1, a=0.5)[1] == "A 0.5000 · B hidden by the mask"


def test_what_is_derived_of_long_texts_is_forgotten_from_the_oldest_head_on(run: Run) -> None:
    """Eight layers of a text of 512 tokens with three heads each: 150 MB, of which 40 MB may stay."""
    body = """
      const [tokens, width] = [512, 4];
      const array = (seed) => ({
        data: Float32Array.from({ length: tokens * width }, (_, n) => Math.sin(n + seed)), shape: [tokens, width],
      });
      const all = [];
      for (let layer = 0; layer < 8; layer += 1) {
        const arrays = {};
        for (const head of [0, 1, 2]) {
          for (const name of ["query", "key", "value"]) arrays[`${name}/${head}`] = array(layer + head + name.length);
        }
        const header = { layer, references: {}, mask: "none", mask_value: null, scale: 0.5, heads: [0, 1, 2] };
        const document = { header, arrays };
        for (const head of [0, 1, 2]) {
          const matrices = m.matricesOf(document, head);
          const made = ["scores", "scaled", "masked", "weights"].map((name) => matrices.get(name));
          all.push({ document, head, matrices, weights: made[3].data });
        }
      }
      const bytes = all.map(({ matrices }) => matrices.bytes);
      const again = m.matricesOf(all[0].document, 0).get("weights").data;
      return [bytes, again.every((x, n) => x === all[0].weights[n])];
    """
    found, is_same = run("walk/matrices.ts", body)
    each = 512 * 512 * (8 + 4 * 4)
    kept = 40 * 2**20 // each
    assert found == [0] * (24 - kept) + [each] * kept
    assert is_same


LONG = """
      const [tokens, width] = [520, 64];
      const array = (seed) => ({
        data: Float32Array.from({ length: tokens * width }, (_, n) => Math.sin(n * seed)), shape: [tokens, width],
      });
      const arrays = { "query/0": array(1.1), "key/0": array(0.7), "value/0": array(0.3) };
"""
"""The operands of a head on a text of 520 tokens"""


@pytest.mark.parametrize("causal", [False, True])
def test_a_long_text_is_computed_in_slices_with_the_numbers_of_torch(run: Run, causal: bool) -> None:
    body = (
        LONG
        + """
      const header = { layer: 0, references: {}, mask: given ? "causal" : "none", mask_value: null, scale: 0.125,
        heads: [0], heads_in_layer: 1 };
      const document = { header, arrays };
      const matrices = m.matricesOf(document, 0);
      const missing = ["scores", "weights", "head_outputs", "concat", "key_t"].map((name) => matrices.missing(name));
      const before = matrices.get("weights") === undefined;
      let [turns, isDone] = [0, false];
      const count = () => { turns += 1; if (!isDone) setTimeout(count); };
      setTimeout(count);
      await m.compute(document, 0, () => true);
      isDone = true;
      const after = ["scores", "weights", "head_outputs", "concat"].flatMap((name) => matrices.missing(name));
      const rows = (name, each) => Array.from(matrices.get(name).data.subarray(300 * each, 302 * each), (x) => x || 0);
      return [missing, before, turns > 1, after, rows("weights", tokens), rows("head_outputs", width)];
    """
    )
    missing, before, others_run, after, weights, output = run("walk/matrices.ts", body, causal)
    assert missing == [["computed/0"]] * 4 + [[]]
    assert before
    assert others_run, "the page goes on meanwhile"
    assert after == []
    n = torch.arange(520 * 64, dtype=torch.float64)
    query, key, value = ((n * seed).sin().float().double().reshape(520, 64) for seed in (1.1, 0.7, 0.3))
    mask = torch.ones(520, 520, dtype=torch.bool).tril() if causal else None
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    np.testing.assert_allclose(np.array(output).reshape(2, 64), expected[300:302], atol=1e-6)
    shares = torch.nn.functional.scaled_dot_product_attention(query, key, torch.eye(520).double(), attn_mask=mask)
    np.testing.assert_allclose(np.array(weights).reshape(2, 520), shares[300:302], atol=1e-6)


def test_heads_with_masks_of_their_own_are_joined_only_once_all_masks_are_here(run: Run) -> None:
    body = """
      const matrix = (rows, seed) => ({
        data: Float32Array.from({ length: 3 * rows }, (_, n) => Math.sin(n * seed)), shape: [rows, 3],
      });
      const arrays = {};
      for (const head of [0, 1]) {
        for (const [n, name] of ["query", "key", "value"].entries()) {
          arrays[`${name}/${head}`] = matrix(n ? 5 : 4, 0.3 + n + head);
        }
      }
      const references = { "mask/0": {}, "mask/1": {} };
      const header = { layer: 0, references, mask: "other", mask_value: null, scale: 0.5, heads: [0, 1],
        heads_in_layer: 2 };
      const document = { header, arrays };
      const matrices = m.matricesOf(document, 0);
      const missing = [matrices.missing("concat"), matrices.get("concat") ?? null];
      for (const head of [0, 1]) {
        const data = Float32Array.from({ length: 20 }, (_, n) => ((n + head) % 3 ? 0 : -Infinity));
        arrays[`mask/${head}`] = { data, shape: [4, 5] };
      }
      return [...missing, matrices.missing("concat"), Array.from(matrices.get("concat").data)];
    """
    before, none, after, joined = run("walk/matrices.ts", body)
    assert before == ["mask/0", "mask/1"]
    assert none is None
    assert after == []
    outputs = []
    for head in (0, 1):
        query, key, value = (
            (torch.arange(3.0 * rows, dtype=torch.float64) * (0.3 + at + head)).sin().float().double().reshape(rows, 3)
            for at, rows in enumerate((4, 5, 5))
        )
        mask = torch.tensor([bool((cell + head) % 3) for cell in range(20)]).reshape(4, 5)
        outputs.append(torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=0.5))
    np.testing.assert_allclose(np.array(joined).reshape(4, 6), torch.cat(outputs, 1), atol=1e-6)


def test_work_on_a_long_text_ends_when_nobody_looks_at_it(run: Run) -> None:
    body = (
        LONG
        + """
      const header = { layer: 0, references: {}, mask: "none", mask_value: null, scale: 0.125, heads: [0],
        heads_in_layer: 1 };
      let asked = 0;
      const isWanted = () => (asked += 1) < 2;
      const why = await m.compute({ header, arrays }, 0, isWanted).then(() => null, (error) => error.message);
      return [asked, why];
    """
    )
    assert run("walk/matrices.ts", body) == [2, "nobody looks at it any more"]


def test_a_guess_is_judged_counted_and_revealed_and_the_row_stays(run: Run) -> None:
    body = """
      const words = { row: "Row 2, “it”", column: (j) => `column ${j}`, number: String };
      const said = (guess, values) => [guess.isOpen, m.guessText(guess, values, words)];
      const values = [0.1, 0.5, NaN, 0.5, 0.02, 0.3, 0, 0, 0, 0, 0, 0.01, 0.001, -Infinity];
      const guess = new m.Guess(2);
      const take = (row, column, own = values) => [guess.take({ row, column }, own), ...said(guess, values)];
      const all = [said(guess, values), take(null, 3), take(1, 3), take(2, 3, null), take(2, 0), take(2, 0), take(2, 2),
        take(2, 12), take(2, 3), take(2, 1), take(2, 5), take(1, 1)];
      const shown = [new m.Guess(2), new m.Guess(2)];
      shown[1].take({ row: 2, column: 0 }, values);
      for (const one of shown) one.reveal();
      const hidden = new m.Guess(2);
      hidden.take({ row: 2, column: 0 }, [NaN]);
      hidden.reveal();
      return [all, [...shown.map((one) => said(one, values)), said(hidden, [NaN])], [[2, 0], [2, 3], [1, 4]].map((at) =>
        new m.Guess(2).covers(...at))];
    """
    taken, shown, covers = run("core/guess.ts", body)
    open_, stays = (
        "Row 2, “it”, is covered. Which of its cells is the largest? Choose one.",
        "Row 2, “it”, stays covered",
    )
    assert taken[0] == [True, open_]
    assert taken[1] == [False, True, open_]
    assert taken[2][:2] == [True, True]
    assert taken[2][2].startswith(stays)
    assert taken[3] == [False, True, open_]
    first = "Guess 1: column 0 has 0.1, the 4th largest of 12. Try again."
    assert taken[4] == [True, True, first]
    assert taken[5] == [False, True, first], "a cell that was chosen is no other guess"
    assert taken[6] == [True, True, "Guess 2: column 2 is hidden. Try again."]
    assert taken[7] == [True, True, "Guess 3: column 12 has 0.001, the 7th largest of 12. Try again."]
    right = "Guess 4: column 3 has 0.5, the largest. Right."
    assert taken[8] == [True, False, right], "one of two that are equally large"
    assert taken[9:] == [[False, False, right]] * 3
    answer = "Row 2, “it”: the largest is column 1, with 0.5."
    assert shown == [[False, answer], [False, f"{answer} Guesses: 1."], [False, "Row 2, “it”, is hidden."]]
    assert covers == [True, True, False]


def test_a_menu_closes_by_escape_a_click_elsewhere_or_on_a_button_in_it(run: Run) -> None:
    body = """
      const [inside, outside] = ["inside", "outside"].map((name) => document.createElement("button"));
      const menu = m.makeMenu("more", inside);
      const [button, content] = menu.root.children;
      const keys = [];
      document.body.append(menu.root, outside);
      document.body.addEventListener("keydown", ({ key }) => keys.push(key));
      const after = (act) => {
        menu.root.open = true;
        inside.focus();
        const event = act();
        return [menu.root.open, document.activeElement === button, event?.defaultPrevented ?? false];
      };
      const does = (target, Made, name, own) => () => {
        const event = new Made(name, { bubbles: true, composed: true, cancelable: true, ...own });
        target.dispatchEvent(event);
        return event;
      };
      const key = (name) => does(inside, KeyboardEvent, "keydown", { key: name });
      const seen = {
        label: [button.title, button.ariaLabel], escape: after(key("Escape")), other: after(key("a")),
        closed: [(menu.root.open = false, key("Escape")().defaultPrevented)],
        pressed: after(does(inside, MouseEvent, "click", { detail: 1 })),
        byKey: after(does(inside, MouseEvent, "click", { detail: 0 })),
        beside: after(does(content, MouseEvent, "click", { detail: 1 })),
        within: after(does(inside, PointerEvent, "pointerdown")),
        elsewhere: after(does(outside, PointerEvent, "pointerdown")),
        leaves: after(() => void outside.focus()),
      };
      menu.destroy();
      return { ...seen, keys, gone: after(does(outside, PointerEvent, "pointerdown")) };
    """
    found = run("core/menu.ts", body)
    stays, closes = [True, False, False], [False, False, False]
    assert found.pop("label") == ["more", "more"]
    assert found.pop("keys") == ["a", "Escape"], "one that closes it does nothing else"
    assert found == {
        "escape": [False, True, True], "other": stays, "closed": [False], "pressed": closes, "byKey": stays,
        "beside": stays, "within": stays, "elsewhere": closes, "leaves": closes, "gone": stays,
    }  # fmt: skip


def test_a_number_on_a_colour_is_dark_where_its_luminance_is_above_140(run: Run) -> None:
    colours = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [140, 140, 140], [141, 141, 141], [255, 120, 0], [0, 120, 255]]
    red, green, blue = 0.2126, 0.7152, 0.0722  # of sRGB, ITU-R BT.709
    dark = [red * r + green * g + blue * b > 140 for r, g, b in colours]
    assert [n for n, is_dark in enumerate(dark) if is_dark] == [1, 4, 5]
    found = run("core/colours.ts", "return given.map((colour) => m.inkOn(colour))", colours)
    assert found == ["#1B1B26" if is_dark else "#FFFFFF" for is_dark in dark]

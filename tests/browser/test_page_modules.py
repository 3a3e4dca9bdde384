"""What stands around the views of the app, one module at a time: keys, Share, the drawer, plotly.js."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.modules import Run

pytestmark = pytest.mark.page("plain_page")


# ---- lecture.ts

KEYBOARD = """
  const said = [], root = document.documentElement;
  const messages = [];
  const send = (message) => {
    messages.push(message);
    const [, name] = message.values.acts.at(-1);
    said.push(["act", name]);
    return false;
  };
  const keyboard = new m.default(document.body, { say: (...all) => said.push(all), send, server: "" });
  const lines = [
    { shown: ["←", "→"], says: "a <b>step</b>", sends: { ArrowLeft: "back", ArrowRight: "on" } },
    { shown: ["?"], says: "the keys", sends: { "?": "help", l: "lecture", x: "tools" } },
  ];
  const take = (own = {}) => keyboard.take({ lines, lecture: false, ...own });
  const press = (key, own = {}, on = document.body) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...own });
    on.dispatchEvent(event);
    return [said.splice(0).map(([, name]) => name), event.defaultPrevented];
  };
  const settle = () => new Promise((done) => setTimeout(done, 20));
"""


def test_keys_do_what_the_page_says_once_a_press_and_are_listed_as_text(run: Run) -> None:
    body = """
      take();
      const seen = [press("ArrowRight"), press("ArrowRight", { repeat: true }), press("PageDown"), press("Escape")];
      window.addEventListener("attnviz-act", (event) => event.detail === "back" && event.preventDefault());
      seen.push(press("ArrowLeft"));  // the walk has done it
      const button = document.createElement("button");
      let clicks = 0;
      button.addEventListener("click", () => { clicks += 1; });
      const holder = document.createElement("div");
      holder.className = "st-key-on";
      const inner = document.createElement("div");
      inner.className = "stButton";
      inner.append(button);
      holder.append(inner);
      document.body.append(holder);
      seen.push(press("ArrowRight"));
      await settle();
      press("?");
      const listed = [...keyboard.says.querySelectorAll("p")].map((one) => [
        [...one.querySelectorAll("kbd")].map((key) => key.textContent), one.querySelector(".does").textContent]);
      const open = [keyboard.dialog.open];
      press("ArrowRight", {}, keyboard.dialog);
      press("?", {}, keyboard.dialog);
      open.push(keyboard.dialog.open);
      keyboard.destroy();
      return { seen, clicks, listed, open, after: press("ArrowRight") };
    """
    found = run("page/lecture.ts", KEYBOARD + body)
    assert found["seen"] == [[["on"], True], [[], True], [[], False], [[], False], [[], True], [[], True]]
    assert found["clicks"] == 1
    assert found["listed"] == [[["←", "→"], "a <b>step</b>"], [["?"], "the keys"]]
    assert found["open"] == [True, False]
    assert found["after"] == [[], False]


def test_what_the_server_does_is_sent_until_it_has_answered(run: Run) -> None:
    body = """
      const real = window.setTimeout, timers = [];
      window.setTimeout = (then, ms) => (ms > 1000 ? timers.push(then) : real(then, ms));
      take({ acknowledged: 0 });
      press("ArrowRight");
      press("ArrowRight");
      timers.at(-1)();  // no answer
      const [first, second, again] = messages.splice(0);
      take({ acknowledged: first.number });
      press("ArrowLeft");
      const [third] = messages.splice(0);
      take({ acknowledged: third.number });
      press("ArrowLeft");
      const [fourth] = messages.splice(0);
      const waiting = [keyboard.updates.pending.size];
      document.body.insertAdjacentHTML("beforeend", "<p class=stPageLink><a><span></span></a></p>");
      document.querySelector(".stPageLink span").click();  // from there, a message of this page would lead back
      waiting.push(keyboard.updates.pending.size);
      press("ArrowRight");
      const [fifth] = messages.splice(0);
      keyboard.updates.pending.clear();  // after the last try
      press("ArrowLeft");
      const [sixth] = messages.splice(0);
      keyboard.destroy();
      window.setTimeout = real;
      const names = ({ values }) => values.acts.map(([, name]) => name);
      const numbers = [...third.values.acts, ...fourth.values.acts].map(([number]) => number);
      return {
        names: [first, second, again, third, fourth, fifth, sixth].map(names),
        waiting,
        isSame: again.number === second.number && again.values.acts[1][0] === second.values.acts[1][0],
        isRising: second.number > first.number && third.number > second.number,
        isEachOther: new Set(numbers).size === 3,
      };
    """
    found = run("page/lecture.ts", KEYBOARD + body)
    assert found["names"] == [["on"], ["on", "on"], ["on", "on"], ["on", "back"], ["back"], ["on"], ["back"]]
    assert found["waiting"] == [1, 0]
    assert (found["isSame"], found["isRising"], found["isEachOther"]) == (True, True, True)


def test_a_lecture_is_left_after_a_question_and_takes_its_tools_along(run: Run) -> None:
    body = """
      const shown = () => [keyboard.corner.hidden, root.classList.contains("attnviz-tools"), keyboard.question.open];
      const scrolled = [];
      const main = document.createElement("div");
      main.dataset.testid = "stMain";
      main.scrollBy = ({ top }) => scrolled.push(Math.sign(top));
      document.body.append(main);
      take({ lecture: true });
      const seen = [shown()];
      press("x");
      press("PageDown");
      press("PageUp");
      for (const query of ["?q=1", "?k=2"]) {
        history.replaceState(null, "", query);
        press("Escape");  // lets go of what is pinned first
        seen.push(shown());
      }
      history.replaceState(null, "", "?text=a");
      press("Escape");
      seen.push(shown());
      const [leave, stay] = keyboard.question.querySelectorAll("button");
      stay.click();
      seen.push(shown());
      press("Escape");
      leave.click();
      const asked = said.splice(0);
      seen.push(shown());
      take();
      seen.push(shown());
      keyboard.destroy();
      return { seen, scrolled, asked };
    """
    found = run("page/lecture.ts", KEYBOARD + body)
    assert found["seen"] == [
        [False, False, False], [False, True, False], [False, True, False], [False, True, True], [False, True, False],
        [False, True, False], [True, False, False],
    ]  # fmt: skip
    assert found["scrolled"] == [1, -1]
    assert found["asked"] == [["act", "lecture"]]


def test_a_key_right_after_the_question_is_closed_asks_again_and_the_button_keeps_the_focus(run: Run) -> None:
    body = """
      const [leave] = keyboard.question.querySelectorAll("button");
      const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      take({ lecture: true });
      press("Escape");
      await frame();
      const seen = [[keyboard.question.open, document.activeElement === leave]];
      press("l", {}, leave);  // a key of the page, pressed in the question
      seen.push(said.splice(0));
      keyboard.question.close();
      leave.focus();  // the browser takes the focus away with the next frame
      press("Escape", {}, leave);
      await frame();
      seen.push([keyboard.question.open, document.activeElement === leave]);
      keyboard.destroy();
      return seen;
    """
    assert run("page/lecture.ts", KEYBOARD + body) == [[True, True], [], [True, True]]


def test_ones_own_lesson_is_kept_for_the_tab_and_given_where_it_is_asked_for(run: Run) -> None:
    body = """
      const kept = () => sessionStorage.getItem("attnviz-lesson");
      const seen = [];
      const show = (own) => (take(own), seen.push([kept(), said.splice(0).map(([name, value]) => [name, value])]));
      for (const lesson of [undefined, null, "# Mine", undefined, null, "", undefined]) show({ lesson });
      const late = [];
      for (const state of ["late", "old", "answered", "old"]) {
        keyboard.sayLate(state);
        late.push([keyboard.late.textContent, root.classList.contains("attnviz-old")]);
      }
      keyboard.destroy();
      return { seen, late, after: root.classList.contains("attnviz-old") };
    """
    found = run("page/lecture.ts", KEYBOARD + body)
    mine = ["lesson", "# Mine"]
    assert found["seen"] == [
        [None, []], [None, [["lesson", ""]]], ["# Mine", []], ["# Mine", [mine]], ["# Mine", [mine]], [None, []],
        [None, []],
    ]  # fmt: skip
    late = "The server has not answered yet."
    old = f"{late} What is shown is from before the last change."
    assert found["late"] == [[late, False], [old, True], ["", False], [old, True]]
    assert found["after"] is False


# ---- core/hall.ts


def test_a_black_screen_takes_the_next_key_and_a_timer_counts_from_the_first_page(run: Run) -> None:
    body = """
      const keys = [];
      document.body.addEventListener("keydown", ({ key }) => keys.push(key));
      let now = 1_000_000;
      Date.now = () => now;
      const hall = new m.Hall(document.body);
      const press = (key) => {
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
        return [hall.black.hidden, event.defaultPrevented, keys.splice(0).join()];
      };
      const time = (of = hall) => (of.tick(), [of.timer.hidden, of.timer.textContent]);
      hall.set(true);
      const seen = [press("a")];
      hall.acts.black();
      seen.push(press("b"), press("c"));
      hall.acts.black();
      hall.black.click();
      seen.push(hall.black.hidden);
      const times = [time()];
      hall.acts.timer();
      now += 65_900;
      times.push(time());
      hall.set(true);  // the next page
      hall.destroy();
      const next = new m.Hall(document.body);
      next.set(true);
      now += 3_600_000;
      times.push(time(next));
      next.acts.timer();
      times.push(time(next));
      next.acts.timer();
      next.acts.black();
      next.set(false);
      times.push(time(next), next.black.hidden);
      next.set(true);
      next.acts.timer();
      times.push(time(next));
      return { seen, times, gone: [hall.black.isConnected, hall.timer.isConnected] };
    """
    found = run("core/hall.ts", body)
    assert found["seen"] == [[True, False, "a"], [True, True, ""], [True, False, "c"], True]
    assert found["times"] == [
        [True, "0:00"], [False, "1:05"], [False, "61:05"], [True, "61:05"], [True, "0:00"], True, [False, "0:00"]
    ]  # fmt: skip
    assert found["gone"] == [False, False]


# ---- share.ts

SHARE = """
  const said = [];
  const share = new m.default(document.body, { say: (...all) => said.push(all), server: "" });
  const settle = (ms = 20) => new Promise((done) => setTimeout(done, ms));
  const go = (query) => (history.replaceState(null, "", query), share.read());
  const update = (own = {}, modules) => share.update({
    header: { address: "", sentence: "", host: "", ...own }, arrays: modules ? { modules } : {} });
"""


def test_what_is_said_of_an_address_is_of_the_shown_one(run: Run) -> None:
    body = """
      const seen = {};
      await settle(250);
      seen.first = said.splice(0);
      const looks = () => [share.field.value === location.href, share.length.textContent,
        share.length.classList.contains("long")];
      const base = location.origin + location.pathname;
      go(`?a=${"x".repeat(2000 - base.length - 3)}`);
      seen.fits = looks();
      go(`?a=${"x".repeat(2001 - base.length - 3)}`);
      seen.long = looks();
      await settle(250);
      seen.moved = said.splice(0).map(([name, address]) => [name, address === location.href]);
      seen.local = [share.local.hidden, share.local.textContent];
      go("?a=1");
      seen.hosts = ["10.0.0.7", "fe80::1"].map((host) => {
        update({ host });
        const { href, textContent } = share.local.querySelector("a");
        return [href === textContent, new URL(href).hostname, new URL(href).search];
      });
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => {} }, configurable: true });
      await share.copy();
      seen.copied = [share.said.textContent];
      go("?a=2");
      seen.copied.push(share.said.textContent);
      await settle(20);
      share.destroy();
      await settle(250);
      history.replaceState(null, "", "?a=3");
      return { ...seen, after: said.splice(0), value: share.field.value };
    """
    found = run("page/share.ts", SHARE + body)
    assert found["first"] == []
    says = ". It opens this view, with the same numbers, in any browser."
    cut = ": too long for mail and chat, which may cut it. Send the scene file instead."
    assert found["fits"] == [True, f"2,000 characters{says}", False]
    assert found["long"] == [True, f"2,001 characters{cut}", True]
    assert found["moved"] == [["moved", True]]  # the last of both
    assert found["local"] == [False, "Only on this computer: the server does not listen for others."]
    assert found["hosts"] == [[True, "10.0.0.7", "?a=1"], [True, "[fe80::1]", "?a=1"]]
    assert found["copied"] == ["Copied.", ""]
    assert found["after"] == []
    assert found["value"].endswith("?a=2")


@pytest.mark.parametrize("has_event", [True, False])
def test_the_address_is_read_when_it_changes_or_where_no_event_says_so_when_it_is_looked_at(
    run: Run, has_event: bool
) -> None:
    without = "" if has_event else "Object.defineProperty(window, 'navigation', { value: undefined });"
    body = """
      const shown = () => new URL(share.field.value).search;
      const seen = [];
      for (const [query, kind] of [["?a=1", "focusin"], ["?a=2", "pointerenter"], ["?a=3", ""]]) {
        history.replaceState(null, "", query);
        await settle();
        seen.push(shown());
        if (kind) share.section.dispatchEvent(new Event(kind));
        seen.push(shown());
      }
      return seen;
    """
    found = run("page/share.ts", without + SHARE + body)
    now = ["?a=1", "?a=1", "?a=2", "?a=2", "?a=3", "?a=3"]
    assert found == (now if has_event else ["", "?a=1", "?a=1", "?a=2", "?a=2", "?a=2"])


def test_a_code_is_shown_for_the_address_that_was_asked_for(run: Run) -> None:
    dark = (np.random.default_rng(5).random((7, 7)) < 0.6).astype(int)
    body = """
      const modules = { data: Uint8Array.from(given), shape: [7, 7] };
      go(`?a=${"y".repeat(200)}`);
      share.codeButton.click();
      const seen = [[said.splice(0).map(([name, address]) => [name, address === location.href]),
        share.codeButton.disabled]];
      update({ address: "http://elsewhere/", sentence: "of before" }, modules);
      seen.push([share.dialog.open, share.codeButton.disabled]);
      update({ address: location.href, sentence: "" }, modules);
      seen.push([share.dialog.open, share.codeButton.disabled, share.under.textContent.length]);
      const path = share.code.querySelector("path");
      const fill = (x, y) => path.isPointInFill(new DOMPoint(x + 0.5, y + 0.5));
      const cells = Array.from({ length: 15 }, (_, y) => Array.from({ length: 15 }, (_, x) => Number(fill(x, y))));
      share.dialog.close();
      share.codeButton.click();  // it is here already
      seen.push([share.dialog.open, said.length]);
      share.dialog.close();
      update({ address: location.href, sentence: "Too long for a code." });
      share.codeButton.click();
      seen.push([share.dialog.open, share.said.textContent]);
      const about = [share.code.getAttribute("viewBox"), share.code.getAttribute("aria-label")];
      return { seen, cells, about, address: location.href };
    """
    found = run("page/share.ts", SHARE + body, dark.ravel().tolist())
    assert found["seen"] == [
        [[["code", True]], True], [False, True], [True, False, 161], [True, 0], [False, "Too long for a code."]
    ]  # fmt: skip
    assert found["cells"] == np.pad(dark, 4).tolist()  # four white modules around
    assert found["about"] == ["0 0 15 15", f"QR code of {found['address']}"]


# ---- drawer.ts, plotly.ts, opening.ts


DRAWER = """
  document.body.innerHTML = `<div class="st-key-toolbar"><button class="settings" id="settings"></button></div>
    <button data-testid="stExpandSidebarButton" id="open"></button>
    <div data-testid="stSidebar" data-collapsed="false">
    <div data-testid="stSidebarCollapseButton"><button id="close"></button></div>
    <input id="field"><div role="option" id="option"></div></div>
    <div data-testid="stMain"><p id="beside"></p></div>`;
  const bar = document.querySelector("[data-testid=stSidebar]");
  const find = (id) => document.getElementById(id);
  find("close").addEventListener("click", () => bar.setAttribute("data-collapsed", "true"));
  find("open").addEventListener("click", () => bar.setAttribute("data-collapsed", "false"));
  const ends = new AbortController();
  m.followDrawer(ends.signal);
"""


@pytest.mark.parametrize(("width", "closes"), [(700, True), (900, False)])
def test_a_drawer_closes_after_a_choice_or_beside_it(run: Run, page: Page, width: int, closes: bool) -> None:
    body = """
      const isClosed = async (id, ms) => {
        bar.setAttribute("data-collapsed", "false");
        find(id).click();
        await new Promise((done) => setTimeout(done, ms));
        return bar.getAttribute("data-collapsed") === "true";
      };
      const seen = [await isClosed("field", 300), await isClosed("option", 50), await isClosed("option", 300),
        await isClosed("beside", 50)];
      const pressed = [];
      bar.setAttribute("data-collapsed", "true");
      for (const id of ["settings", "settings", "settings"]) {
        find(id).click();
        await new Promise((done) => setTimeout(done, 350));
        pressed.push([find(id).ariaExpanded, document.activeElement.id]);
      }
      bar.remove();
      await new Promise((done) => setTimeout(done, 50));
      pressed.push(find("settings").hidden);
      ends.abort();
      document.body.append(bar);
      return { seen: [...seen, await isClosed("beside", 50)], pressed };
    """
    page.set_viewport_size({"width": width, "height": 720})
    found = run("page/drawer.ts", DRAWER + body)
    page.set_viewport_size({"width": 1280, "height": 720})
    assert found["seen"] == [False, False, closes, closes, False]
    # By keys: what is opened takes the focus.
    assert found["pressed"] == [["true", "close"], ["false", "close"], ["true", "close"], True]


def test_a_choice_does_not_close_the_drawer_over_a_message_that_it_leads_to(run: Run, page: Page) -> None:
    body = """
      find("settings").textContent = "Settings";
      const alert = document.createElement("p");
      alert.dataset.testid = "stAlert";
      const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      const choose = async (says, after) => {
        alert.remove();
        bar.setAttribute("data-collapsed", "false");
        await wait(50);
        find("option").click();
        await wait(after);
        alert.textContent = says;
        bar.append(alert);
        await wait(350);
        return bar.getAttribute("data-collapsed") === "false";
      };
      const isOpen = [await choose("can't be loaded", 100), await choose("can't be loaded", 100),
        await choose("can't be loaded", 400)];
      find("option").click();  // the message stays, and has been read
      await wait(350);
      isOpen.push(bar.getAttribute("data-collapsed") === "false");
      ends.abort();
      return isOpen;
    """
    page.set_viewport_size({"width": 390, "height": 720})
    is_open = run("page/drawer.ts", DRAWER + body)
    page.set_viewport_size({"width": 1280, "height": 720})
    assert is_open == [True, True, True, False]


def test_plotly_is_asked_for_once_and_again_where_it_did_not_arrive(run: Run) -> None:
    body = """
      const asked = [];
      document.head.append = (script) => asked.push(script);
      const [first, same] = [m.loadPlotly("/plotly.js"), m.loadPlotly("/plotly.js")];
      asked[0].dispatchEvent(new Event("error"));
      const why = await first.catch(({ message }) => message);
      await same.catch(() => {});
      const second = m.loadPlotly("/plotly.js");
      window.Plotly = { here: true };
      asked[1].dispatchEvent(new Event("load"));
      return [why, (await second).here, (await m.loadPlotly("/plotly.js")).here, asked.length];
    """
    assert run("page/plotly.ts", body) == ["plotly.js did not arrive", True, True, 2]


def test_the_ways_to_begin_lead_on_and_go_away(run: Run) -> None:
    body = """
      document.body.innerHTML = `<p class="st-key-places"><b class="stPageLink"><a href="/lessons"></a></b></p>
        <div class="st-key-text"><textarea>one two</textarea></div><div id="walk"></div>`;
      const [link, field] = ["a", "textarea"].map((css) => document.querySelector(css));
      const calls = [];
      link.addEventListener("click", (event) => (calls.push("lessons"), event.preventDefault()));
      const bar = document.createElement("div");
      document.body.append(bar);
      const opening = new m.Opening(
        { element: document.getElementById("walk"), stepper: { add: (help) => bar.append(help) },
          playing: { start: () => calls.push("walk") } },
        { server: location.origin });
      const looks = () => [opening.section.hidden, opening.help.getAttribute("aria-expanded")];
      const doors = [...opening.section.querySelectorAll(".door")];
      const seen = [looks()];
      opening.help.click();
      seen.push(looks());
      for (const door of doors.slice(0, 2)) {
        opening.show(true);
        door.click();
        seen.push(looks());
      }
      const marked = document.activeElement === field && field.selectionEnd - field.selectionStart;
      const elsewhere = [];
      doors[2].parentNode.addEventListener("click", (event) => {
        elsewhere.push(event.defaultPrevented);
        event.preventDefault();
      });
      for (const own of [{}, { metaKey: true }, { shiftKey: true }, { ctrlKey: true }]) {
        doors[2].dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...own }));
      }
      return { seen, calls, marked, elsewhere };
    """
    found = run("page/opening.ts", body)
    assert found["seen"] == [[True, "false"], [False, "true"], [True, "false"], [True, "false"]]
    assert found["calls"] == ["walk", "lessons"]
    assert found["marked"] == len("one two")
    assert found["elsewhere"] == [True, False, False, False]  # a tab of its own is the browser's


# ---- text_field.ts


def test_enter_and_a_button_apply_the_text_and_other_keys_are_the_fields_own(run: Run) -> None:
    body = """
      document.body.innerHTML = `<div class="st-key-text"><textarea></textarea></div><textarea id="other"></textarea>
        <div class="st-key-text_tools"><button class="apply">Apply</button></div><button id="beside"></button>`;
      const field = document.querySelector("textarea");
      const find = (id) => document.getElementById(id);
      const applied = [];
      for (const one of document.querySelectorAll("textarea")) {
        one.addEventListener("keydown", ({ key, ctrlKey }) => ctrlKey && applied.push([one.id, key]));
      }
      const ends = new AbortController();
      m.followTextField(ends.signal);
      const press = (on, key, own = {}) => {
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...own });
        on.dispatchEvent(event);
        return [event.defaultPrevented, applied.splice(0)];
      };
      const enter = press(field, "Enter");
      const others = ["shiftKey", "altKey", "isComposing"].map((own) => press(field, "Enter", { [own]: true }));
      others.push(press(field, "a"), press(find("other"), "Enter"));
      const click = (button) => {
        field.focus();
        button.click();
        return [applied.splice(0), document.activeElement === field];
      };
      const clicks = [click(document.querySelector(".apply")), click(find("beside"))];
      field.remove();
      document.querySelector(".apply").click();  // of a page whose field is not there yet
      ends.abort();
      document.body.append(field);
      return { enter, others, clicks, after: press(field, "Enter") };
    """
    found = run("page/text_field.ts", body)
    assert found["enter"] == [True, [["", "Enter"]]]
    assert found["others"] == [[False, []]] * 5
    assert found["clicks"] == [[[["", "Enter"]], False], [[], True]]
    assert found["after"] == [False, []]


# ---- walk.ts

WALK = """
  const said = [], shown = [];
  const root = document.createElement("div").attachShadow({ mode: "open" });
  document.body.append(root.host);
  const defaults = { step: "tokens", layer: 0, head: 0 };
  const link = { keys: ["step", "layer", "head"], names: {}, defaults, bare: "step=qkv", plain: "" };
  const host = { server: location.origin, say: (...all) => said.push(all), send: (message) => (said.push(["updates",
    message]), false), request: () => new Promise(() => {}) };
  const component = new m.default(root, host);
  Object.assign(component.walk, {
    show: (values) => shown.push(values), checkLink: () => shown.push("checked"), await() {}, setTheme() {},
    choose: (values) => component.changed(values),
  });
  const take = (own = {}, values = {}) => component.take({
    documents: ["d0", null, "d2"], values: { step: "tokens", layer: 0, head: 0, ...values }, acknowledged: 0,
    layers: [0, 1, 2], only_layer: null, drawings: [], lecture: false, link, plotly: "/p.js", opening: false, first: [],
    linked: false, asks: false, ...own,
  });
  const settle = (ms = 160) => new Promise((done) => setTimeout(done, ms));
  const back = (query) => {
    history.replaceState({}, "", query);
    window.dispatchEvent(new PopStateEvent("popstate"));
  };
"""


def test_the_address_follows_the_walk_and_the_walk_goes_back_with_it(run: Run) -> None:
    body = """
      history.replaceState({}, "", "?lesson=a");
      take({ opening: true, linked: true });
      const seen = { linked: shown.splice(0), opening: [component.opening.section.hidden] };
      take({ opening: true });
      seen.again = shown.splice(0);
      let entries = 0;
      const { pushState } = history;
      history.pushState = function (...entry) { entries += 1; pushState.apply(this, entry); };
      component.changed({ step: "scores" });
      component.changed({ step: "scaled" });
      seen.opening.push(component.opening.section.hidden);
      await settle();
      seen.pushed = [entries, location.search];
      component.changed({ step: "scaled" });
      await settle();
      seen.same = entries;
      shown.length = 0;
      component.changed({ head: 1 });  // not written yet when somebody goes back
      back("?lesson=a&step=scores&layer=2");
      await settle();
      seen.back = [shown.splice(0), location.search, component.updates.pending.size];
      back("?lesson=a");
      seen.bare = [shown.splice(0).length, component.opening.section.hidden];
      back("?lesson=a&layer=1");  // a layer without attention
      back("?lesson=b&step=scores");  // another view: the server answers
      seen.others = shown.splice(0);
      said.length = 0;
      take();
      component.answered();
      seen.unasked = said.length;
      take({ asks: true });
      shown.length = 0;
      component.answered();
      seen.answered = said.filter(([name]) => name === "updates").map(([, { values }]) => values);
      component.destroy();
      back("?lesson=a&step=scores");
      seen.after = shown.length;
      return seen;
    """
    found = run("page/walk.ts", WALK + body)
    assert found["linked"] == [{"step": "tokens", "layer": 0, "head": 0}, "checked"]
    assert found["again"] == [{"step": "tokens", "layer": 0, "head": 0}]
    assert found["opening"] == [False, True]
    assert found["pushed"] == [1, "?step=scaled&lesson=a"]
    assert found["same"] == 1
    assert found["back"] == [[{"step": "scores", "layer": 2, "head": 0}], "?lesson=a&step=scores&layer=2", 0]
    assert found["bare"] == [1, False]
    assert found["others"] == []
    assert (found["unasked"], found["answered"]) == (0, [{"predict": False}])
    assert found["after"] == 0


def test_after_another_text_the_link_does_not_play(run: Run) -> None:
    body = """
      link.keys.push("play");
      defaults.play = false;
      component.walk.await = (values) => component.walk.store.set(values);
      history.replaceState({}, "", "?play=1");
      take({ linked: true }, { play: true });
      await settle();
      const seen = [location.search];
      take({}, { play: true });  // something else on the page
      await settle();
      seen.push(location.search);
      take({ documents: ["e0"] }, { play: true });
      await settle();
      seen.push(location.search, component.updates.values.play, component.updates.hasUnsent());
      return seen;
    """
    assert run("page/walk.ts", WALK + body) == ["?play=1", "?play=1", "", False, True]

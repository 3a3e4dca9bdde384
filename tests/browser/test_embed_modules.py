"""Views outside of the app, one module at a time: pages of their own, and widgets of a notebook."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from attnviz.components.payload import write_payload
from attnviz.document import document_of_layer, write
from attnviz.document.value import VERSION
from attnviz.toy.config import ToyConfig
from tests.browser.modules import Run
from tests.toy import run_block

# ---- embed/

OWN = """
  const own = (settings = {}, numbers = "") => {
    for (const [id, text] of [["settings", JSON.stringify(settings)], ["numbers", numbers]]) {
      const made = document.createElement("script");
      Object.assign(made, { type: "text/plain", id: `attnviz-${id}`, textContent: text });
      document.body.append(made);
    }
    const view = document.createElement("div");
    view.id = "attnviz-view";
    document.body.append(view);
  };
  const load = (name) => import(`/frontend/embed/${name}.ts`);
  const press = (key, own = {}, on = document.body) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...own });
    on.dispatchEvent(event);
    return event.defaultPrevented;
  };
"""
NONE = "core/keys.ts"
"""A module that needs nothing of the page"""


def test_an_address_says_what_is_chosen_and_else_how_the_page_was_made(run: Run) -> None:
    body = """
      own({ view: { step: "scores", head: "3", predict: "1" }, lecture: true });
      const link = await load("link");
      const seen = [link.values(), link.isLecture()];
      history.replaceState(null, "", "#head=5&q=&k=2&limit=0.5&predict=0&stretch=off&dim=1&why=1&focus=row&lecture=0");
      seen.push(link.values(), link.isLecture());
      link.write({ predict: true, q: null, head: 7, step: "a b", lecture: false });
      seen.push(location.hash);
      history.replaceState = () => { throw new DOMException("no", "SecurityError"); };
      link.write({ head: 9 });
      seen.push(location.hash.includes("head=7"));
      return seen;
    """
    made, lecture, chosen, plain, written, kept = run(NONE, OWN + body)
    assert made == {"step": "scores", "focus": "", "predict": True, "stretch": "0", "dim": False, "why": False,
                    "head": 3}  # fmt: skip
    assert lecture
    assert chosen == {
        "step": "scores", "focus": "row", "predict": False, "stretch": "off", "dim": True, "why": True, "head": 5,
        "q": None, "k": 2, "limit": 0.5,
    }  # fmt: skip
    assert plain is False
    assert written == "#head=7&q=&k=2&limit=0.5&predict=1&stretch=off&dim=1&why=1&focus=row&lecture=0&step=a+b"
    assert kept, "a frame that may not write its address goes on"


def test_a_page_that_was_made_without_a_lecture_has_none(run: Run) -> None:
    assert run(NONE, OWN + "own(); return (await load('link')).isLecture()") is False


def test_the_key_l_makes_type_larger_and_links_keep_it(run: Run) -> None:
    body = """
      own();
      document.body.insertAdjacentHTML("beforeend", '<nav class="attnviz-scene"><a href="next.html">next</a></nav>');
      const link = document.querySelector("nav a");
      let changes = 0;
      const { followLecture } = await load("lecture");
      followLecture(() => { changes += 1; });
      const root = document.documentElement;
      const black = document.querySelector(".black");
      const look = () => [changes, root.classList.contains("lecture"), link.hash, location.hash, black.hidden];
      const seen = [look()];
      press("b");  // only in a lecture
      seen.push(look());
      press("l");
      seen.push(look());
      press("b");
      seen.push(look());
      press("x");  // any key brings the picture back
      seen.push(look());
      press("T", { shiftKey: true });
      const timer = document.querySelector(".timer");
      seen.push([timer.hidden, timer.textContent]);
      const field = document.createElement("input");
      document.body.append(field);
      press("l", {}, field);
      press("l", { ctrlKey: true });
      seen.push(look());
      location.hash = "lecture=0";
      await new Promise((done) => setTimeout(done, 50));
      seen.push(look(), timer.hidden);
      return seen;
    """
    found = run(NONE, OWN + body)
    on = [2, True, "#lecture=1", "#lecture=1"]
    assert found == [
        [1, False, "", "", True], [1, False, "", "", True], [*on, True], [*on, False], [*on, True], [False, "0:00"],
        [*on, True], [3, False, "", "#lecture=0", True], True,
    ]  # fmt: skip


@pytest.mark.parametrize("question", [True, False])
def test_keys_and_links_go_through_a_scene_before_the_next(run: Run, question: bool) -> None:
    body = """
      document.body.innerHTML = `${given ? '<p class="attnviz-question"><button></button></p>' : ""}
        <p class="attnviz-sentence"></p><nav class="attnviz-scene" data-steps="qkv scores weights">
        <a rel="prev" href="#before"></a><a rel="next" href="#after"></a></nav>
        <div class="attnviz-board" tabindex="0"></div><input>`;
      let [step, revealed] = ["scores", 0];
      const scene = new m.Scene({
        reveal: () => { revealed += 1; scene.ask(false); }, step: () => step, choose: (name) => { step = name; },
      });
      const press = (key, own = {}, on = document.body) => {
        on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...own }));
        const now = [step, revealed, location.hash];
        history.replaceState(null, "", location.pathname);
        return now;
      };
      scene.ask(true);
      const [ask, sentence] = [".attnviz-question", ".attnviz-sentence"].map((css) => document.querySelector(css));
      const shown = () => [ask?.hidden ?? null, sentence.hidden];
      const seen = [shown(), press("ArrowRight"), shown(), press("ArrowRight"), press("PageDown"), press("ArrowLeft"),
        press("PageUp"), press("ArrowLeft"), press("ArrowRight", { repeat: true }), press("ArrowRight", {},
          document.querySelector(".attnviz-board")), press("PageDown", {}, document.querySelector(".attnviz-board")),
        press("ArrowRight", {}, document.querySelector("input")), press("ArrowRight", { ctrlKey: true })];
      const click = (own) => {
        document.querySelector("[rel=next]").dispatchEvent(new MouseEvent("click", {
          bubbles: true, cancelable: true, ...own }));
        return step;
      };
      addEventListener("click", (event) => event.preventDefault());
      step = "qkv";
      seen.push(click({ metaKey: true }), click({ shiftKey: true }), click({}));
      step = "elsewhere";
      seen.push(click({}));
      return seen;
    """
    found = run("embed/scene.ts", body, question)
    asked = 1 if question else 0
    assert found[0] == ([False, True] if question else [None, False])
    first = ["scores", 1, ""] if question else ["weights", 0, ""]
    assert found[1:3] == [first, [True, False] if question else [None, False]]
    after = ["weights", asked, "#after"]
    assert found[3] == (["weights", asked, ""] if question else after)
    assert found[4] == after
    assert found[5:8] == [["scores", asked, ""], ["qkv", asked, ""], ["qkv", asked, "#before"]]
    assert found[8:10] == [["qkv", asked, ""]] * 2  # a key that is held; the picture's own key
    assert found[10] == ["scores", asked, ""]
    assert found[11:13] == [["scores", asked, ""]] * 2
    assert found[13:] == ["qkv", "qkv", "scores", "elsewhere"]


def test_a_page_holds_its_files_and_says_what_it_does_not_hold(run: Run) -> None:
    body = """
      own({ missing: given });
      const { PageHost } = await load("host");
      const changed = [];
      const files = { here: { data: Uint8Array.of(1, 2, 3), shape: [3] } };
      const host = new PageHost(files, (values) => changed.push(values));
      const why = (name) => host.request(name).then(() => null, (error) => [error.message, error.constructor.name]);
      return [[...new Uint8Array(await (await host.request("here")).arrayBuffer())], await why("other"),
        await why("toString"), host.send({ values: { q: 1 } }), changed];
    """
    missing = "Only layer 3 is here."
    assert run(NONE, OWN + body, missing) == [[1, 2, 3], *[[missing, "Refused"]] * 2, True, [{"q": 1}]]


def test_a_component_is_shown_again_in_another_theme_and_in_a_lecture(run: Run) -> None:
    body = """
      const queries = [];
      const media = window.matchMedia;
      window.matchMedia = (query) => {
        if (!query.includes("dark")) return media(query);
        return queries[queries.push(new EventTarget()) - 1];
      };
      own({}, given);
      const updates = [];
      const { show } = await load("component");
      let made;
      await show((host) => (made = host, { update: (payload) => updates.push(payload && [payload.header,
        [...payload.arrays.x.data]]) }));
      const begun = updates.splice(0);
      press("l");
      const lecture = updates.splice(0);
      queries.at(-1).dispatchEvent(new Event("change"));
      const file = await (await made.request("x")).arrayBuffer();
      return [begun, lecture, updates, file.byteLength];
    """
    payload = write_payload({"name": "é"}, {"x": np.array([1.5, -2], np.float32)})
    found = run(NONE, OWN + body, b64encode(payload).decode())
    assert found == [[[{"name": "é"}, [1.5, -2]], None], [None], [None], 8]


def test_a_page_of_heads_shows_its_address_and_writes_what_is_chosen(run: Run) -> None:
    body = """
      const { Explorer } = await import("/frontend/heads/explorer.ts");
      const shown = [];
      let explorer;
      Explorer.prototype.update = function (payload) {
        explorer = this;
        shown.push(payload && [payload.header.view, Object.keys(payload.arrays)]);
      };
      own({ view: { layer: "1", head: "2", chosen: "1.2_0.1" } }, given);
      history.replaceState(null, "", "#head=3&chosen=");
      await load("heads");
      for (let n = 0; n < 100 && !shown.length; n += 1) await new Promise((done) => setTimeout(done, 10));
      const sent = [{ head: 0 }, { layer: 0, head: -1, chosen: [[0, -1], [1, 2]] }, { chosen: [[1, 2]], q: null }];
      const hashes = sent.map((values) => (explorer.updates.host.send({ values }), decodeURIComponent(location.hash)));
      press("l");
      return { shown, hashes };
    """
    header = {"layers": [0, 1], "heads": 4, "measures": [], "labels": [], "files": {}, "view": {}}
    payload = b64encode(write_payload(header, {"measures": np.zeros(1, np.float32)})).decode()
    found = run(NONE, OWN + body, payload)
    (view, arrays), again = found["shown"][0], found["shown"][-1][0]
    assert (view["layer"], view["head"], view["chosen"], arrays) == (1, 3, [[1, 3]], ["measures"])
    assert found["hashes"] == [
        "#head=0&chosen=&rollout=0", "#head=0&chosen=0.r_1.2&rollout=1&layer=0",
        "#head=0&chosen=&rollout=1&layer=0&q=",
    ]  # fmt: skip
    assert (again["layer"], again["head"]) == (0, -1)  # larger type: shown once more, as the address says now


def test_a_page_of_a_walk_shows_its_address_and_asks_for_the_covered_row(run: Run) -> None:
    body = """
      const { Walk } = await import("/frontend/walk/walk.ts");
      const calls = [];
      let walk;
      Object.assign(Walk.prototype, {
        show(values, document) {
          walk = this;
          calls.push(["show", values.step, values.q ?? null, document ? document.header.version : null]);
          this.store.values = { ...this.store.values, ...values };
        },
        checkLink: () => calls.push(["check"]), setLecture: (on) => calls.push(["lecture", on]),
        choose(values) {
          this.store.values = { ...this.store.values, ...values };
          this.home.changed(values);
        },
      });
      document.body.innerHTML = `<p class="attnviz-question"><button></button></p><p class="attnviz-sentence"></p>
        <nav class="attnviz-scene" data-steps="scores weights"></nav>`;
      own({ view: { step: "scores", predict: "1" } }, given);
      await load("walk");
      for (let n = 0; n < 100 && !walk; n += 1) await new Promise((done) => setTimeout(done, 10));
      const [question, sentence] = [".attnviz-question", ".attnviz-sentence"].map((css) => document.querySelector(css));
      const asks = () => [question.hidden, sentence.hidden];
      const seen = [calls.splice(0), asks()];
      walk.home.changed({ q: 2 });
      seen.push(location.hash);
      press("ArrowRight");  // first the answer, then the next step
      seen.push(asks());
      press("ArrowRight");
      seen.push(location.hash, calls.splice(0));
      press("l");
      return [...seen, calls];
    """
    document = write(document_of_layer(run_block(range(1, 4), ToyConfig()).walk(0, 0)))
    begun, asks, pinned, answered, step, quiet, lecture = run(NONE, OWN + body, b64encode(document).decode())
    assert begun == [["show", "scores", None, VERSION], ["check"], ["lecture", False], ["show", "scores", None, None]]
    assert (asks, pinned, answered) == ([False, True], "#q=2", [True, False])
    assert (step, quiet) == ("#q=2&predict=0&step=weights", [])
    assert lecture == [["lecture", True], ["show", "weights", 2, None]]


def test_a_mistake_hides_what_is_right_until_it_is_revealed(run: Run) -> None:
    body = """
      own();
      document.body.insertAdjacentHTML("beforeend", `<p class="attnviz-question"><button></button></p>
        <p class="attnviz-sentence" hidden></p><nav class="attnviz-scene"><a rel="next" href="next.html"></a></nav>
        <p class="mistake-answer" hidden></p><p class="mistake-answer" hidden></p>`);
      await load("mistake");
      const left = [];
      addEventListener("click", (event) => {
        left.push(event.defaultPrevented);
        event.preventDefault();
      });
      const look = () => [...document.querySelectorAll(
        ".attnviz-question, .attnviz-sentence, .mistake-answer")].map((one) => one.hidden);
      const seen = [look()];
      press("ArrowRight");
      seen.push(look());
      press("ArrowRight");
      return [...seen, left];
    """
    assert run(NONE, OWN + body) == [[False, True, True, True], [True, False, False, False], [True, False]]


# ---- notebook/

MODEL = """
  const model = (own) => {
    const [values, listeners, sent] = [{ ...own }, [], []];
    return {
      sent, listeners, get: (name) => values[name],
      set(name, value) {
        if (values[name] === value) return;
        values[name] = value;
        for (const [event, listener] of [...listeners]) if (event === `change:${name}`) listener();
      },
      on: (event, listener) => listeners.push([event, listener]),
      off: (event, listener) => {
        const at = listeners.findIndex(([name, one]) => name === event && one === listener);
        if (at >= 0) listeners.splice(at, 1);
      },
      send: (message) => sent.push(message), save_changes: () => sent.push("saved"),
      answer: (message, ...buffers) =>
        listeners.filter(([event]) => event === "msg:custom").forEach(([, listener]) => listener(message, buffers)),
    };
  };
"""


def test_a_widget_has_the_theme_of_its_notebook_and_keeps_plain_keys(run: Run) -> None:
    body = """
      const el = document.createElement("div");
      document.body.append(el);
      let themes = 0;
      const place = new m.Place(el, "b { color: red }");
      place.onTheme = () => { themes += 1; };
      const settle = () => new Promise((done) => setTimeout(done));
      const theme = async (light) => {
        if (light === null) document.body.removeAttribute("data-jp-theme-light");
        else document.body.setAttribute("data-jp-theme-light", light);
        await settle();
        return [place.root.dataset.theme ?? null, themes];
      };
      const seen = [[place.root.dataset.theme ?? null, themes], await theme("false"), await theme("true"),
        await theme(null)];
      const keeps = (own) => {
        window.dispatchEvent(new KeyboardEvent("keydown", { key: "a", ...own }));
        return place.host.hasAttribute("data-lm-suppress-shortcuts");
      };
      const keys = [{}, { ctrlKey: true }, {}, { altKey: true }, {}, { metaKey: true }].map(keeps);
      const style = place.host.shadowRoot.querySelector("style").textContent;
      place.destroy();
      return { seen, keys, style, gone: [await theme("false"), keeps({}), el.children.length] };
    """
    found = run("notebook/place.ts", body)
    assert found["seen"] == [[None, 0], ["dark", 1], ["light", 2], [None, 3]]
    assert found["keys"] == [True, False, True, False, True, False]
    assert found["style"] == "b { color: red }"
    assert found["gone"] == [[None, 3], False, 0]


def test_a_kernel_answers_by_number_says_why_not_or_is_not_waited_for_for_ever(run: Run) -> None:
    body = """
      const late = [];
      window.setTimeout = (work, ms) => late.push([work, ms]);
      const own = model({});
      const host = new m.NotebookHost(own, ["q"]);
      const came = ["a", "b", "c"].map((name) => host.request(name).then(
        async (answer) => [...new Uint8Array(await answer.arrayBuffer())], ({ message }) => message));
      await Promise.resolve();
      const numbers = own.sent.map(({ number }) => number);
      const buffer = Uint8Array.of(9, 9, 1, 2, 9).buffer;
      own.answer({ number: "of another page" }, new DataView(buffer));
      own.answer({ number: numbers[1] }, new DataView(buffer, 2, 2));
      own.answer({ number: numbers[0], error: "There is no layer 7." });
      late[2][0]();
      const seen = await Promise.all(came);
      own.sent.length = 0;
      host.send({ values: { chosen: [[0, 0]] } });
      return { seen, files: new Set(numbers).size, ms: late[0][1], sent: own.sent };
    """
    found = run("notebook/host.ts", MODEL + body)
    assert found["seen"] == ["There is no layer 7.", [1, 2], "the kernel has not answered"]
    assert (found["files"], found["ms"]) == (3, 30_000)
    assert found["sent"] == [], "what is no trait is not saved"


def test_a_notebook_hears_all_that_was_changed_at_once_and_nothing_of_it_comes_back(run: Run) -> None:
    body = """
      const own = model({ layer: 0, head: 0, q: null });
      const host = new m.NotebookHost(own, ["layer", "head", "q"]);
      const heard = [];
      host.follow(() => heard.push({ ...host.chosen }));
      const known = host.send({ values: { layer: 2, head: 3, chosen: [[0, 0], [2, 3]] } });
      own.set("head", 5);
      host.destroy();
      own.set("head", 6);
      return { known, heard, sent: own.sent, chosen: host.chosen, left: own.listeners.length };
    """
    found = run("notebook/host.ts", MODEL + body)
    assert found == {
        "known": True, "heard": [{"layer": 2, "head": 5, "q": None}], "sent": ["saved"],
        "chosen": {"layer": 2, "head": 6, "q": None}, "left": 0,
    }  # fmt: skip


def test_a_file_of_a_view_that_is_gone_is_asked_for_by_the_next_one(run: Run) -> None:
    """Both views of a widget share what is on its way; an answer that never comes must not keep the second waiting."""
    body = """
      const { fetchArrays, sourceOf } = await import("/frontend/core/arrays.ts");
      const own = model({ layer: 0, head: 0, q: null });
      const [first, second] = [1, 2].map(() => new m.NotebookHost(own, [], { here: new DataView(new ArrayBuffer(3)) }));
      const lost = fetchArrays("a", sourceOf(first)).catch((error) => error.message);
      first.destroy();
      const why = await lost;
      const came = fetchArrays("a", sourceOf(second));
      await Promise.resolve();
      const { file, number } = own.sent.at(-1);
      const bytes = Uint8Array.from(given);
      own.answer({ number }, new DataView(bytes.buffer));
      const here = await (await second.request("here")).arrayBuffer();
      const asked = own.sent.length;
      second.request("toString");
      return { why, file, values: [...(await came).array.data], here: here.byteLength, asked: own.sent.length - asked };
    """
    sent = list(save({"array": np.float32([1, 2.5])}))
    found = run("notebook/host.ts", MODEL + body, sent)
    assert found == {"why": "the view is gone", "file": "a", "values": [1, 2.5], "here": 3, "asked": 1}


WIDGETS = """
  const el = document.createElement("div");
  document.body.append(el);
  const view = (bytes) => new DataView(Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0)).buffer);
"""


def test_all_heads_in_a_notebook_follow_its_traits_and_write_them(run: Run) -> None:
    body = """
      const { Explorer } = await import("/frontend/heads/explorer.ts");
      const [updates, changes, gone] = [[], [], []];
      Object.assign(Explorer.prototype, {
        update(payload) {
          updates.push(payload && payload.header.view);
          if (payload) this.updates.values = payload.header.view;
        },
        change(values) {
          changes.push(values);
          this.updates.values = { ...this.updates.values, ...values };
        },
        destroy() { gone.push(true); },
      });
      const shared = new DataView(Uint8Array.of(5, 6).buffer);
      const own = model({ _styles: "", _payload: view(given), _shared: shared, layer: 1, head: 2, q: 3, k: null });
      const end = m.default.render({ model: own, el });
      own.set("q", 4);
      own.set("layer", 0);
      own.set("head", 5);
      document.body.setAttribute("data-jp-theme-light", "false");
      await new Promise((done) => setTimeout(done));
      end();
      own.set("q", 9);
      return { updates, changes, gone, left: [own.listeners.length, el.children.length] };
    """
    header = {
        "files": {"shared": "s"},
        "view": {"layer": 0, "head": 2, "q": None, "k": None, "chosen": [[0, 2], [1, 1]]},
    }
    found = run("notebook/heads.ts", MODEL + WIDGETS + body, b64encode(write_payload(header, {})).decode())
    first, theme = found["updates"]
    assert (first["layer"], first["head"], first["q"], first["chosen"]) == (1, 2, 3, [[1, 2]])
    assert theme is None
    plain: dict[str, Any] = {"q": 4, "k": None}
    q, layer, head = found["changes"]
    assert q == plain  # the chosen heads stay
    assert (layer["layer"], layer["head"], layer["chosen"]) == (0, 2, [[0, 2]])
    assert (head["layer"], head["head"], head["chosen"]) == (0, 5, [[0, 5]])
    assert found["gone"] == [True]
    assert found["left"] == [0, 0]


def test_a_walk_in_a_notebook_follows_its_traits_and_writes_them(run: Run) -> None:
    body = """
      const { Walk } = await import("/frontend/walk/walk.ts");
      const [shown, gone] = [[], []];
      let themes = 0;
      Object.assign(Walk.prototype, {
        show(values, document) { shown.push([values, document ? document.header.version : null]); },
        setTheme() { themes += 1; },
        destroy() { gone.push(this); },
      });
      const own = model({ _styles: "", _document: view(given), _layers: [0, 3], step: "qkv", layer: 0, head: 2, q: null,
        k: null });
      const end = m.default.render({ model: own, el });
      const begun = shown.splice(0);
      own.set("step", "scores");
      const before = themes;
      document.body.setAttribute("data-jp-theme-light", "false");
      await new Promise((done) => setTimeout(done));
      end();
      const [walk] = gone;
      walk.home.changed({ q: 7, focus: "row" });
      return { begun, shown, themes: themes - before, sent: own.sent, q: own.get("q"),
        home: [walk.home.layers, Object.values(walk.home.documents)],
        left: [own.listeners.length, el.children.length] };
    """
    document = write(document_of_layer(run_block(range(1, 4), ToyConfig()).walk(0, 0)))
    found = run("notebook/walk.ts", MODEL + WIDGETS + body, b64encode(document).decode())
    values = {"step": "qkv", "layer": 0, "head": 2, "q": None, "k": None}
    assert found["begun"] == [[values, VERSION], [values, None]]
    assert found["shown"] == [[{**values, "step": "scores"}, None]]
    assert (found["themes"], found["sent"], found["q"]) == (1, ["saved"], 7)
    assert found["home"] == [[0, 3], ["document-0", "document-3"]]
    assert found["left"] == [0, 0]

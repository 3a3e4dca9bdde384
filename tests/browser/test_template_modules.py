"""The state of a view and what is written of it, one module at a time."""

from __future__ import annotations

from tests.browser.modules import Run


def test_who_depends_on_what_changed_is_told_once_and_in_order(run: Run) -> None:
    body = """
      const told = [];
      const store = new m.Store({ a: 1 });
      store.subscribe(["a", "b"], ({ a, b }) => told.push(["sum", a + b]));
      store.subscribe(["b"], ({ b }) => { told.push(["b", b]); if (b < 4) store.set({ a: 10 * b }); });
      store.subscribe(["c"], ({ c }) => told.push(["c", c]));
      const step = (changes) => (store.set(changes), told.splice(0));
      return [{ a: 2 }, { b: 3 }, { b: 3, a: 30 }, { a: 5, b: 6 }, { c: null }, { c: null }, { c: NaN }].map(step);
    """
    waits, first, same, both, null, again, number = run("core/store.ts", body)
    assert waits == []  # b is not there yet
    assert first == [["sum", 5], ["b", 3], ["sum", 33]]  # what a subscriber changes is told afterwards
    assert same == []
    assert both == [["sum", 11], ["b", 6]]
    assert null == [["c", None]]
    assert again == []
    assert number[0][0] == "c"


def test_a_subscriber_that_fails_does_not_silence_the_next_change(run: Run) -> None:
    body = """
      const store = new m.Store();
      const told = [];
      store.subscribe(["a"], ({ a }) => { if (a === 1) throw new Error("no"); told.push(a); });
      try { store.set({ a: 1 }); } catch (error) { told.push(error.message); }
      store.set({ a: 2 });
      return told;
    """
    assert run("core/store.ts", body) == ["no", 2]


ROOT = """
  const { template, span, write } = m;
  const root = document.body;
  root.replaceChildren();
  const changes = (work) => {
    const seen = new MutationObserver(() => {});
    seen.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    work();
    return seen.takeRecords().map(({ type, attributeName, target }) =>
      [type, attributeName ?? "", target.nodeName.toLowerCase()]);
  };
"""


def test_only_what_differs_is_written(run: Run) -> None:
    body = """
      const page = (name, n, value) => write(root,
        template("p", { class: "a", title: n ? "t" : undefined, style: { "--share": n, left: `${n}%` } }, name),
        n > 1 && template("hr"),
        template("output", { dataset: { value, n }, hidden: n > 2, "aria-label": "L" }, span("b", "<i>"), "…"));
      page("one", 0, undefined);
      const first = root.innerHTML;
      const same = changes(() => page("one", 0, undefined));
      const text = changes(() => page("two", 0, undefined));
      const more = changes(() => page("two", 2, 1));
      const middle = root.innerHTML;
      page("two", 0, undefined);
      return { first, same, text, more, middle, back: root.innerHTML };
    """
    found = run("core/template.ts", ROOT + body)
    output = '<output data-n="0" aria-label="L"><span class="b">&lt;i&gt;</span>…</output>'
    assert found["first"] == f'<p class="a" style="--share: 0; left: 0%;">one</p>{output}'
    assert found["same"] == []
    assert found["text"] == [["characterData", "", "#text"]]
    kinds = [[kind, name] for kind, name, _ in found["more"]]
    assert sorted(kinds) == [
        *[["attributes", name] for name in ("data-n", "data-value", "style", "style", "title")],
        ["childList", ""],
    ]
    assert "<hr><output" in found["middle"]
    assert found["back"] == found["first"].replace("one", "two")


def test_things_with_keys_keep_their_nodes_wherever_they_stand_and_the_focus_too(run: Run) -> None:
    body = """
      const show = (keys) => write(root, ...keys.map((key) => template("input", { key, "aria-label": key })));
      show(["a", "b", "c", "d"]);
      const nodes = new Map([...root.children].map((one) => [one.ariaLabel, one]));
      nodes.get("c").focus();
      nodes.get("c").value = "typed";
      const orders = [["b", "c", "d"], ["d", "c", "b"], ["c", "e", "b", "d"], ["c"]].map((keys) => {
        show(keys);
        const all = [...root.children];
        const kept = all.filter((one) => nodes.get(one.ariaLabel) === one).map((one) => one.ariaLabel);
        return [all.map((one) => one.ariaLabel).join(""), kept.join(""), document.activeElement.ariaLabel];
      });
      return [orders, root.firstChild.value, changes(() => show(["c"]))];
    """
    orders, typed, none = run("core/template.ts", ROOT + body)
    assert orders == [["bcd", "bcd", "c"], ["dcb", "dcb", "c"], ["cebd", "cbd", "c"], ["c", "c", "c"]]
    assert typed == "typed"
    assert none == []


def test_nodes_of_others_fields_and_listeners(run: Run) -> None:
    body = """
      const own = document.createElement("canvas");
      own.append("kept");
      const pressed = [];
      const show = (value, checked, n, tag = "p") => write(root,
        template(tag, {}, own, "after"),
        template("input", { type: "range", max: "9", value }),
        template("input", { type: "checkbox", checked }),
        template("button", { type: "button", onclick: n === null ? undefined : () => pressed.push(n) }),
        template("svg", { viewBox: "0 0 1 1", class: "s" }, template("path", { d: "M0 0" })));
      show("3", true, 1);
      const [, range, box, button, svg] = root.children;
      range.value = "5"; box.checked = false; button.click();
      show("3", true, 2);
      button.click();
      const fields = [range.value, box.checked, own.parentNode.outerHTML];
      show("3", true, null, "div");
      button.click();
      return { fields, pressed, moved: own.parentNode.outerHTML, svg: [svg.outerHTML, svg.firstChild.namespaceURI] };
    """
    found = run("core/template.ts", ROOT + body)
    assert found["fields"] == ["3", True, "<p><canvas>kept</canvas>after</p>"]
    assert found["pressed"] == [1, 2]
    assert found["moved"] == "<div><canvas>kept</canvas>after</div>"
    assert found["svg"] == [
        '<svg viewBox="0 0 1 1" class="s"><path d="M0 0"></path></svg>',
        "http://www.w3.org/2000/svg",
    ]

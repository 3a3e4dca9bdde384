"""What is chosen in the browser goes into the address at once, and to the server before anything else."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page

from attnviz.links.link import SHARED_KEYS
from tests.browser.modules import Run, imported

LINK: dict[str, Any] = {
    "keys": ["text", "step", "q", "mask", "stretch"],
    "names": {},
    "defaults": {"step": "scores", "q": None, "stretch": "0"},
    "bare": "",
    "plain": "",
}
OPENING: dict[str, Any] = {
    **LINK,
    "keys": ["source", *LINK["keys"], *SHARED_KEYS],
    "bare": "source=bert&q=3",
    "plain": "source=toy",
}


def test_a_page_may_have_another_key_for_the_step(run: Run) -> None:
    link = {**LINK, "keys": ["text", "way", "q"], "names": {"step": "way"}}
    argument = {"query": "?text=a", "values": {"step": "softmax", "q": 2}, "link": link}
    written = run("page/address.ts", "return m.withValues(given.query, given.values, given.link)", argument)
    assert written == "text=a&way=softmax&q=2"
    read = run("page/address.ts", "return m.valuesIn(given.query, given.link)", {"query": written, "link": link})
    assert read == {"step": "softmax", "q": 2}


def test_an_address_is_written_as_python_writes_it(run: Run) -> None:
    text = "Zoë's ~*(test)!_-. “100 %” & a=b + c;/?#\n\u4f60\U0001f600"
    cases: list[tuple[dict[str, object], dict[str, str]]] = [
        ({"step": "weights", "q": 3, "stretch": "1"}, {"step": "weights", "q": "3", "mask": "causal", "stretch": "1"}),
        ({"step": "scores", "q": None, "stretch": "0"}, {"mask": "causal"}),
        ({"q": 0, "layer": 2}, {"q": "0", "mask": "causal"}),  # this page's links have no layer
    ]
    body = """
      const { query, all, link } = given;
      return all.map((values) => {
        const written = m.withValues(`?${query}`, values, link);
        return [written, m.valuesIn(written, link), m.withoutValues(written, link)];
      });
    """
    query = urlencode({"mask": "causal", "embed": "true", "text": text})
    given = {"query": query, "all": [values for values, _ in cases], "link": LINK}
    for (values, link), (written, read, bare) in zip(cases, run("page/address.ts", body, given), strict=True):
        assert written == urlencode({"embed": "true", "text": text, **link})
        assert read == {**LINK["defaults"], **{name: value for name, value in values.items() if name != "layer"}}
        assert bare == urlencode({"embed": "true", "text": text, "mask": "causal"})


def test_an_address_that_says_nothing_stands_for_a_view(run: Run) -> None:
    cases: list[tuple[str, dict[str, object], str]] = [
        ("", {"step": "weights"}, "source=bert&step=weights&q=3"),
        ("embed=true", {"q": None}, "embed=true&source=bert"),
        ("source=bert&step=weights&q=3", {"step": "scores"}, ""),
        ("embed=true&source=bert", {"q": 3}, "embed=true"),
        ("source=toy", {"q": 3}, "q=3"),
        ("q=3", {"q": None}, "source=toy"),
        ("lecture=1", {"step": "weights"}, "source=bert&step=weights&q=3&lecture=1"),
        ("source=bert&step=weights&q=3&lecture=1&scene=2", {"step": "scores"}, "lecture=1&scene=2"),
        # With a lesson, an address that says no view opens the scene's.
        (
            "source=bert&step=weights&q=3&lesson=heads&scene=2",
            {"step": "scores"},
            "source=bert&q=3&lesson=heads&scene=2",
        ),
        ("utm_source=mail&q=3&lecture=1", {"q": None}, "utm_source=mail&source=toy&lecture=1"),
    ]
    body = """return given.cases.map(([query, values]) =>
      [m.withValues(query, values, given.link), m.valuesIn(query, given.link).q])"""
    found = run("page/address.ts", body, {"cases": [case[:2] for case in cases], "link": OPENING})
    said = ("", "embed=true", "lecture=1")  # which name no key
    assert found == [[link, 3 if "q=3" in query or query in said else None] for query, _, link in cases]


def test_an_address_without_keys_has_the_defaults(run: Run) -> None:
    """Going back to it takes back what was changed since, also on a page whose bare address opens no other view."""
    body = "return ['', '?text=a'].map((query) => m.valuesIn(query, given))"
    assert run("page/address.ts", body, LINK) == [LINK["defaults"]] * 2


def test_what_waits_is_sent_before_anything_else_and_not_with_it(plain_page: Page, served: str) -> None:
    body = """
      const sent = [];
      const ends = new AbortController();
      let waits = true;
      const flush = () => { const had = waits; waits = false; if (had) sent.push("what waited"); return had; };
      m.beforeOthers(flush, document.createElement("p"), ends.signal);
      m.afterWaiting(() => sent.push("first"));
      const atOnce = [...sent];
      await new Promise((done) => setTimeout(done));
      m.afterWaiting(() => sent.push("second"));
      const next = [...sent];
      ends.abort();
      waits = true;
      m.afterWaiting(() => sent.push("third"));
      return [atOnce, next, sent];
    """
    at_once, following, sent = imported(plain_page, served, "core/waiting.ts", body)
    assert at_once == ["what waited"]
    assert following == ["what waited", "first", "second"]
    assert sent == [*following, "third"]


def test_an_action_of_the_whole_page_waits_until_what_waited_has_arrived(plain_page: Page, served: str) -> None:
    body = """
      const sent = [];
      let [waits, arrived] = [true, null];
      const flush = () => { const had = waits; waits = false; if (had) sent.push("what waited"); return had; };
      const arrival = new Promise((done) => (arrived = done));
      let onItsWay = arrival;
      const ends = new AbortController();
      m.beforeOthers(flush, document.createElement("p"), ends.signal, "", () => onItsWay);
      m.afterArrival(() => sent.push("first"));
      await new Promise((done) => setTimeout(done, 20));
      const before = [...sent];
      onItsWay = null;
      arrived();
      await arrival;
      await new Promise((done) => setTimeout(done));
      const after = [...sent];
      m.afterArrival(() => sent.push("second"));
      ends.abort();
      return [before, after, sent];
    """
    before, after, sent = imported(plain_page, served, "core/waiting.ts", body)
    assert before == ["what waited"]
    assert after == ["what waited", "first"]
    assert sent == [*after, "second"]


def test_a_click_elsewhere_comes_after_what_waits(plain_page: Page, served: str) -> None:
    body = """
      const sent = [];
      let waits = true;
      const flush = () => {
        if (waits) setTimeout(() => sent.push("what waited"));
        return waits && !(waits = false);
      };
      document.body.innerHTML = "<main><button>inside</button></main><a href='#there'>outside</a>";
      const [inside, outside] = [...document.querySelectorAll("button, a")];
      for (const one of [inside, outside]) one.onclick = (event) => sent.push([one.textContent, event.shiftKey]);
      m.beforeOthers(flush, document.querySelector("main"), new AbortController().signal);
      const done = () => new Promise((end) => setTimeout(end, 20));
      inside.click();
      await done();
      outside.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
      outside.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true }));
      const atOnce = [...sent];
      await done();
      outside.click();
      return [atOnce, sent, location.hash];
    """
    at_once, sent, anchor = imported(plain_page, served, "core/waiting.ts", body)
    assert at_once == [["inside", False]]
    assert sent == [["inside", False], "what waited", ["outside", True], ["outside", False]]
    assert anchor == "#there"


def test_what_is_pressed_in_a_dialog_of_ours_happens_at_once(plain_page: Page, served: str) -> None:
    """It closes, and what was chosen in it is sent after what waits."""
    body = """
      const sent = [];
      let waits = true;
      const flush = () => {
        if (waits) sent.push("what waited");
        return waits && !(waits = false);
      };
      document.body.innerHTML = "<main></main><div><dialog><button>close</button></dialog></div>";
      const [dialog, close] = [...document.querySelectorAll("dialog, button")];
      close.onclick = () => (dialog.close(), m.afterWaiting(() => sent.push("chosen")));
      m.beforeOthers(flush, document.querySelector("main"), new AbortController().signal);
      dialog.showModal();
      close.click();
      const open = dialog.open;
      await new Promise((done) => setTimeout(done, 20));
      return [open, sent];
    """
    assert imported(plain_page, served, "core/waiting.ts", body) == [False, ["what waited", "chosen"]]

"""Fetching in the browser: what is asked for, when it is asked for again, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.modules import CORE, Run

pytestmark = pytest.mark.page("plain_page")


FILES = """
  const open = new Map();
  const asked = [];
  const get = (name) => new Promise((done, fail) => { asked.push(name); open.set(name, { done, fail }); });
  const [came, here] = [[], []];
  const failures = [];
  const files = new m.Files(get, {
    onCome: (name, value, isWanted) => came.push([name, value, isWanted]),
    onFail: () => failures.push(files.failure.message),
    isHere: (name) => here.includes(name),
  }, { atOnce: 3, calm: given.calm });
  const answer = async (name, value = 1) => {
    open.get(name)[value instanceof Error ? 'fail' : 'done'](value);
    await new Promise((done) => later(done));
  };
  Object.assign(window, { open, asked, came, here, failures, files, answer, Refused: m.Refused, NotCome: m.NotCome });
"""


@pytest.fixture
def files(run: Run, page: Page) -> Page:
    """A page with `files`, what was `asked` for, and `answer(name, value or error)`; its clock stands."""
    run("core/files.ts", FILES, {"calm": 0})
    stop(page)
    return page


def stop(page: Page) -> None:
    """Let the page's clock stand, so that only `pass_time` moves it."""
    page.evaluate("""() => {
      let [now, last, timers] = [0, 0, []];
      window.later = window.setTimeout.bind(window);
      window.setTimeout = (work, ms = 0) => {
        timers.push({ id: (last += 1), at: now + ms, work });
        return last;
      };
      window.clearTimeout = (id) => { timers = timers.filter((one) => one.id !== id); };
      window.passTime = (ms) => {
        now += ms;
        const due = timers.filter(({ at }) => at <= now);
        timers = timers.filter(({ at }) => at > now);
        for (const { work } of due) work();
        return new Promise((done) => later(done));
      };
    }""")


def pass_time(page: Page, ms: int) -> None:
    """Move the page's clock."""
    page.evaluate("(ms) => passTime(ms)", ms)


def asked(page: Page) -> Any:
    """Return what was asked for since the last call."""
    return page.evaluate("asked.splice(0)")


def test_what_is_shown_is_fetched_first_and_some_at_a_time(files: Page) -> None:
    files.evaluate("files.fetchAhead(['x', 'y']), files.want(['a', 'b', 'c', 'd', '', 'a'])")
    assert asked(files) == ["x", "a", "b"]
    files.evaluate("files.want(['f', 'b'])")  # the rest was only passed through
    files.evaluate("answer('x')")
    assert asked(files) == ["f"]
    assert files.evaluate("files.waits") is True
    files.evaluate("(async () => { for (const name of ['b', 'f', 'a']) await answer(name); })()")
    assert asked(files) == []
    assert files.evaluate("files.waits") is False
    wanted = [["x", 1, False], ["b", 1, True], ["f", 1, True], ["a", 1, False]]
    assert files.evaluate("came") == wanted
    files.evaluate("here.push('g'), files.fetchAhead(['g', 'h', 'i'])")
    assert asked(files) == ["h"], "one at a time, and none that is here"
    files.evaluate("files.want(['z'])")
    files.evaluate("answer('h'), answer('z')")
    assert asked(files) == ["z"], "another view has other files that may be next"


def test_what_fails_is_asked_for_again_with_growing_pauses_until_it_comes(files: Page) -> None:
    files.evaluate("files.want(['a'])")
    assert asked(files) == ["a"]
    for seconds in (1, 2, 4, 8, 8):
        files.evaluate("answer('a', new NotCome('the server does not answer'))")
        assert files.evaluate("[files.said, files.waits]") == [
            "The server does not answer. It is asked for again.",
            False,
        ]
        pass_time(files, 1000 * seconds - 10)
        assert asked(files) == []
        pass_time(files, 20)
        assert asked(files) == ["a"]
        assert files.evaluate("files.failure.message") == "the server does not answer", "no flicker meanwhile"
    files.evaluate("answer('a', 7)")
    assert files.evaluate("[came, files.failure, failures.length]") == [[["a", 7, True]], None, 5]
    files.evaluate("files.want(['b'])")
    files.evaluate("answer('b', new Error('away'))")
    asked(files)
    pass_time(files, 1010)
    assert asked(files) == ["b"], "after what has come, pauses are short again"


def test_the_server_says_how_long_it_wants_to_be_left_alone(files: Page) -> None:
    for wish, seconds in ((5, 5), (600, 20)):
        files.evaluate("(name) => files.want([name])", str(wish))
        files.evaluate("([name, ms]) => answer(name, new NotCome('busy', ms))", [str(wish), 1000 * wish])
        asked(files)
        pass_time(files, 1000 * seconds - 10)
        assert asked(files) == []
        pass_time(files, 20)
        assert asked(files) == [str(wish)]
        files.evaluate("(name) => answer(name)", str(wish))


def test_when_one_comes_all_that_failed_are_asked_for_at_once(files: Page) -> None:
    files.evaluate("files.want(['a', 'b', 'c'])")
    files.evaluate("answer('a', new Error('away')), answer('b', new Error('away'))")
    asked(files)
    files.evaluate("answer('c')")
    assert asked(files) == ["a", "b"]


def test_a_reason_that_stays_true_ends_it_until_somebody_asks(files: Page) -> None:
    files.evaluate("files.want(['long', 'b'])")
    files.evaluate("answer('long', new Refused('The text is too long.'))")
    asked(files)
    files.evaluate("answer('b')")
    pass_time(files, 60_000)
    assert asked(files) == []
    assert files.evaluate("[files.said, files.lost('long')]") == ["The text is too long.", True]
    files.evaluate("files.again()")
    assert asked(files) == ["long"]


@pytest.mark.parametrize("end", ["files.want([])", "files.want(['other'])", "files.destroy()"])
def test_what_is_wanted_no_more_is_never_asked_for_again(files: Page, end: str) -> None:
    files.evaluate("files.want(['a', 'b'])")
    files.evaluate("answer('a', new Error('away'))")
    asked(files)
    files.evaluate(end)
    files.evaluate("answer('b', new Error('away'))")
    pass_time(files, 60_000)
    assert set(asked(files)) <= {"other"}
    assert files.evaluate("[files.failure, files.said]") == [None, ""]


def test_a_view_that_is_gone_hears_of_nothing(files: Page) -> None:
    files.evaluate("files.want(['a']), files.fetchAhead(['c']), files.destroy()")
    files.evaluate("answer('a')")
    assert files.evaluate("[came, failures]") == [[], []]
    pass_time(files, 60_000)
    assert asked(files) == ["a"]


def test_who_passes_through_asks_for_the_last_only(run: Run, page: Page) -> None:
    run("core/files.ts", FILES, {"calm": 200})
    stop(page)
    for name in "abc":
        page.evaluate("(name) => files.want([name])", name)
        pass_time(page, 150)
        page.evaluate("(name) => files.want([name])", name)  # painted again: the time goes on
    assert asked(page) == []
    pass_time(page, 60)
    assert asked(page) == ["c"]


# ---- core/pending_updates.ts


def test_an_answer_that_is_lost_does_not_end_the_asking(run: Run, page: Page) -> None:
    """Each time that nobody answers, the next one who asks sends a message of their own."""
    run("core/pending_updates.ts", "window.m = m; window.sent = []; window.done = 0;")
    stop(page)
    page.evaluate("window.host = { send: ({ values }) => void sent.push(values) }")
    page.evaluate("() => { window.updates = new m.PendingUpdates(host, {}) }")
    for count in (1, 2, 3):
        page.evaluate("() => { updates.ask().then(() => (done += 1)); updates.ask().then(() => (done += 1)) }")
        assert page.evaluate("sent.length") == count, "two at once are one message"
        pass_time(page, 4900)
        assert page.evaluate("done") == 2 * (count - 1)
        pass_time(page, 200)
        assert page.evaluate("done") == 2 * count
    page.evaluate("() => { updates.ask().then(() => (done += 1)); updates.answer() }")
    assert page.evaluate("[sent.length, done]") == [4, 7]


# ---- page/answers.ts


def test_a_server_that_does_not_answer_is_noticed_after_a_second(run: Run, page: Page) -> None:
    """What is shown is old only if the page's own fields say something else than when the server answered last."""
    body = """
      document.body.innerHTML = "<textarea>one</textarea>";
      window.WebSocket = class extends EventTarget {
        url = "ws://server/_stcore/stream";
        send() {}
      };
      window.states = [];
      window.socket = new WebSocket();
      window.answers = new m.Answers((state) => states.push(state));
      window.ask = (first = 0x5a) => socket.send(Uint8Array.of(first));
      const message = (...bytes) => new MessageEvent("message", { data: Uint8Array.from(bytes).buffer });
      window.answer = () => socket.dispatchEvent(message(0x0a, 2, 0x22, 0, 0x22, 0));  // field 1, then field 4
      window.goesOn = () => socket.dispatchEvent(message(0x2a, 3, 0x22, 0, 1, 0x38, 0x84, 1));  // fields 5 and 7
      window.ends = () => socket.dispatchEvent(message(0x30, 0));  // field 6
      window.type = (text) => (document.querySelector("textarea").value = text);
    """
    run("page/answers.ts", body)
    stop(page)
    page.evaluate("ask(0x1a)")  # asks for no run
    pass_time(page, 60_000)
    page.evaluate("ask()")
    pass_time(page, 990)
    page.evaluate("answer()")
    pass_time(page, 60_000)
    assert page.evaluate("states") == []
    page.evaluate("ask()")
    pass_time(page, 600)
    page.evaluate("ask(), goesOn()")  # the first one waits since then; what an earlier run shows is no answer
    pass_time(page, 410)
    assert page.evaluate("states.splice(0)") == ["late"]
    page.evaluate("type('two'), ask()")
    assert page.evaluate("states.splice(0)") == ["old"]
    page.evaluate("answer()")
    assert page.evaluate("states.splice(0)") == ["answered"]
    page.evaluate("document.body.append(document.createElement('input')), ask()")
    pass_time(page, 1010)
    assert page.evaluate("states.splice(0)") == ["late"], "a new field is no change"
    page.evaluate("answer(), ask(), type('three'), answer()")
    assert page.evaluate("states.splice(0)") == ["answered"]
    page.evaluate("ask()")
    pass_time(page, 1010)
    assert page.evaluate("states.splice(0)") == ["old"], "the answer is to what was sent before 'three' was typed"
    page.evaluate("answer(), states.splice(0), type('written by the server'), ends()")
    pass_time(page, 210)
    page.evaluate("ask()")
    pass_time(page, 1010)
    assert page.evaluate("states.splice(0)") == ["late"], "no change of the user"
    page.evaluate("answer(), states.splice(0), document.querySelector('textarea').focus(), type('being typed'), ends()")
    pass_time(page, 210)
    page.evaluate("ask()")
    pass_time(page, 1010)
    assert page.evaluate("states.splice(0)") == ["old"], "what is typed when a run ends is not known"
    page.evaluate("answer(), states.splice(0), document.activeElement.blur(), ends(), type('sent at once'), ask()")
    pass_time(page, 1010)
    assert page.evaluate("states.splice(0)") == ["old"], "what is sent while a run ends is not what the run has written"
    page.evaluate("answers.destroy(), answer()")
    pass_time(page, 60_000)
    assert page.evaluate("states") == []


# ---- core/arrays.ts, latest.ts


def test_why_a_file_has_not_come(run: Run) -> None:
    """By the statuses of answers: how often it was asked for and offered, what is said, and whether that is final."""
    cases: list[tuple[list[int], list[object]]] = [
        ([404, 404], [2, 1, "the server answers with status 404", False]),
        ([404, 422], [2, 1, "too long", True]),
        ([500], [1, 0, "the server answers with status 500", False]),
        ([422], [1, 0, "too long", True]),
        ([0], [1, 0, "the server does not answer", False]),
        ([200], [1, 0, "This is not a safetensors file.", False]),
    ]
    body = f"""
      const {{ Refused }} = await import("{CORE}/files.ts");
      return Promise.all(given.map(async (statuses, n) => {{
        let [asked, offered] = [0, 0];
        const request = async () => {{
          const status = statuses[asked++];
          if (!status) throw new TypeError("Failed to fetch");
          return new Response("too long", {{ status }});
        }};
        const offerAgain = async () => {{ offered += 1; }};
        const error = await m.fetchArrays(`a${{n}}`, {{ request, offerAgain }}).catch((why) => why);
        return [asked, offered, error.message, error instanceof Refused];
      }}));
    """
    assert run("core/arrays.ts", body, [statuses for statuses, _ in cases]) == [found for _, found in cases]


def test_a_busy_server_s_wish_is_in_milliseconds(run: Run) -> None:
    body = """return Promise.all(given.map((wish) => {
      const request = async () => new Response("", { status: 503, headers: wish ? { "Retry-After": wish } : {} });
      return m.fetchFile("a", { request, offerAgain: async () => {} }).catch(({ pause }) => pause);
    }));"""
    assert run("core/arrays.ts", body, ["7", "", "Fri, 31 Dec 1999 23:59:59 GMT"]) == [7000, 0, 0]


def test_of_two_files_the_one_that_is_looked_at_last_is_shown(run: Run) -> None:
    body = """
      const head = new TextEncoder().encode('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}');
      const file = (n) => Uint8Array.from([head.length, 0, 0, 0, 0, 0, 0, 0, ...head, n]);
      const open = new Map();
      const request = (digest) => new Promise((done) => open.set(digest, done));
      const latest = new m.Latest({ request, offerAgain: async () => {} }, () => {});
      const settle = () => new Promise((done) => setTimeout(done, 20));
      const seen = [latest.of("one"), latest.of("two")];
      open.get("two")(new Response(file(2)));
      await settle();
      open.get("one")(new Response(file(1)));
      await settle();
      seen.push(latest.of("two").a.data[0], latest.of("one").a.data[0], latest.of(""));
      return seen;
    """
    assert run("core/latest.ts", body) == [None, None, 2, 1, None]


# ---- training/moments.ts


def test_snapshots_lost_in_an_outage_come_when_the_server_is_back(run: Run, page: Page) -> None:
    """Each snapshot's only probability is its step, so that none can take the place of another."""
    body = """
      const f32 = (numbers) => new Uint8Array(Float32Array.from(numbers).buffer);
      const file = (steps) => {
        const n = steps.length;
        const entry = (from, size, dtype) => ({ dtype, shape: [n, 1], data_offsets: [from, from + size] });
        const header = { probability: entry(0, 4 * n, "F32"), answer: entry(4 * n, 2 * n, "U16") };
        const head = new TextEncoder().encode(JSON.stringify(header));
        const all = new Uint8Array(8 + head.length + 6 * n);
        new DataView(all.buffer).setUint32(0, head.length, true);
        all.set(head, 8);
        all.set(f32(steps), 8 + head.length);
        return all;
      };
      Object.assign(window, { isAway: false, asked: [], said: null });
      const request = async (address) => {
        asked.push(address);
        if (isAway) throw new TypeError("Failed to fetch");
        return new Response(file(address.split("~s.")[1].split(".").map(Number)));
      };
      window.moments = new m.Moments({ request, offerAgain: async () => {} }, () => { said = moments.failed; }, 2);
      window.settle = () => new Promise((done) => later(done, 30));
      window.known = () => [...moments.known].map(([step, { probability }]) => [step, probability[0]]);
    """
    run("training/moments.ts", body)
    stop(page)
    page.evaluate("isAway = true, moments.want('run', [0, 10, 20, 30, 40], 30), settle()")
    files = ["run~s.30", "run~s.0.10", "run~s.20.40"]
    assert page.evaluate("asked") == files
    expected = "The server does not answer. It is asked for again."
    assert page.evaluate("[said, known(), moments.at(30)]") == [expected, [], None]
    page.evaluate("isAway = false")
    pass_time(page, 1000)
    page.evaluate("settle()")
    steps = [30, 0, 10, 20, 40]
    assert page.evaluate("asked") == [*files, *files]
    assert page.evaluate("known()") == [[step, step] for step in steps]
    assert page.evaluate("said") == "", "the page is told of the last one too, though it is not shown"
    page.evaluate("isAway = true, moments.want('other', [0, 10], 10), settle()")
    assert page.evaluate("moments.at(10)") is None, "nothing of the run before"
    page.evaluate("asked.length = 0, moments.destroy()")
    pass_time(page, 60_000)
    assert page.evaluate("asked") == [], "a page that was left asks for nothing"


# ---- compare/compare.ts


def test_a_comparison_that_never_came_is_asked_for_until_it_comes(run: Run, page: Page) -> None:
    body = """
      window.sent = [];
      const compare = new m.default(document.body, { say: (name) => sent.push(name) });
      compare.header = { trace: "the one before" };
      window.shown = () => [sent.length, compare.header, compare.section.hasAttribute("data-coming")];
      window.compare = compare;
    """
    run("compare/compare.ts", body)
    stop(page)
    page.evaluate("compare.take({ header: { trace: 'another', acknowledged: 0 }, arrays: {} })")
    assert page.evaluate("shown()") == [1, None, True]
    for count in (2, 3):
        pass_time(page, 5000)
        assert page.evaluate("shown()") == [count, None, True]
    page.evaluate("compare.destroy()")
    pass_time(page, 60_000)
    assert page.evaluate("sent") == ["want"] * 3


def test_a_click_on_the_strip_pins_the_largest_change_also_where_it_is_a_decrease(run: Run) -> None:
    body = """
      const header = { labels: { key: ["a", "b", "c", "d"] } };
      const matrices = { difference: Float32Array.from(given) };
      return [0, 1, 2].map((i) => m.default.prototype.mostChanged.call({ header, matrices }, i));
    """
    nan = float("nan")
    assert run("compare/compare.ts", body, [0.1, -0.5, 0.4, 0, 0.1, 0.2, 0.3, -0.2, nan, -0.1, 0, 0]) == [1, 2, 1]

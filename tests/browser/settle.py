"""Waiting until a page shows what it has to show."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as OutOfTimeError

T = TypeVar("T")

PATIENCE_S = 180
"""Seconds after which what is waited for will not come any more, on a slow machine whose cores several tests share"""

CALM_MS = 250
"""The page must stay finished for this long: a click takes a moment to become a message."""

LISTEN = """(() => {
  const [NEW_SESSION, FINISHED, EARLY] = [4, 6, 2];
  let [sent, begun, done] = [0, 0, 0];
  const read = (data, found) => {
    const bytes = new Uint8Array(data);
    let at = 0;
    const number = () => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        value |= (bytes[at] & 127) << shift;
        if (bytes[at++] < 128) return value;
      }
    };
    while (at < bytes.length) {
      const [tag, value] = [number(), number()];
      found(tag >> 3, value);
      if ((tag & 7) === 2) at += value;
    }
  };
  const hear = (field, value) => {
    if (field === NEW_SESSION) begun = sent;
    if (field === FINISHED && value !== EARLY) done = begun;
  };
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => data instanceof ArrayBuffer && read(data, hear));
      this.addEventListener('close', () => { done = sent; });
    }
    send(data) {
      if (data[0] === 0x5a) sent += 1;  // a BackMsg that asks for a run
      super.send(data);
    }
  };
  window.awaitsAnswer = () => done < sent;
})()"""
"""Notes which runs of the script a page has asked for and which are over: only Streamlit's messages tell, for the page
shows no sign of one before the server has begun it. A run answers what was sent before it was heard to begin."""

WAITING_FOR = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  if (!app) return 'the app';
  if (app.dataset.testConnectionState !== 'CONNECTED') return 'the connection';
  if (window.awaitsAnswer?.()) return 'the answer to what it has sent';
  if (app.dataset.testScriptState !== 'notRunning') return 'the script';
  if (document.querySelector('[data-testid="stSkeleton"]')) return 'a skeleton to be filled';
  const owes = (hosts, part) => [...document.querySelectorAll(hosts)].some((host) => {
    const inside = host.querySelector('[data-testid=stBidiComponentIsolated]')?.shadowRoot ?? host;
    return host.checkVisibility() && !inside.querySelector(part);
  });
  if (owes('.st-key-explorer, .st-key-compare_picture', '[data-painted]')) return 'the picture of the heads';
  if (owes('.st-key-stepper, .st-key-ways', '[role=radio]')) return 'the stepper';
  if (owes('.st-key-keys', 'dialog')) return 'the keys';
  for (const chart of document.querySelectorAll('[data-testid="stPlotlyChart"], .st-key-picture')) {
    if (!chart.checkVisibility()) continue;
    const board = chart.querySelector('.attnviz-board');
    if (board) {
      if (!board.dataset.painted || board.attnviz.changing) return 'the board';
      continue;
    }
    const plot = chart.querySelector('.js-plotly-plot');
    if (!plot || !plot._fullLayout || !plot.querySelector('.main-svg')) return 'a chart';
    const heatmaps = plot._fullData.filter((trace) => trace.type === 'heatmap' && trace.visible === true);
    if (plot.querySelectorAll('.heatmaplayer image').length < heatmaps.length) return 'a heatmap';
  }
  return null;
}"""
"""What the page still owes, or null."""

IDLE = 3
"""Times that the page must have had nothing to do while it stayed finished: on a slow machine Streamlit draws what it
was sent in pieces, between which frames go by."""

CALM = f"""([calm, idle]) => {{
  const [owed, now] = [({WAITING_FOR})(), performance.now()];
  // A page that stood still for a second has not been calm for a second: what came meanwhile is still to be done.
  window.calmFor = owed ? 0 : (window.calmFor ?? 0) + Math.min(now - (window.lookedAt ?? now), 50);
  window.idled = owed ? 0 : window.idled ?? 0;
  window.lookedAt = now;
  window.asked ??= requestIdleCallback(() => {{
    window.idled += 1;
    delete window.asked;
  }});
  return !owed && window.calmFor >= calm && window.idled >= idle;
}}"""


def settled(page: Page, *, timeout_s: float = PATIENCE_S) -> Page:
    """Wait until the app is idle and its charts are drawn, and stay so; return the page."""
    page.evaluate("() => { window.calmFor = window.idled = 0 }")
    try:
        page.wait_for_function(CALM, arg=[CALM_MS, IDLE], timeout=timeout_s * 1000)
    except OutOfTimeError:
        owed = page.evaluate(WAITING_FOR) or "nothing, but it does not come to rest"
        raise AssertionError(f"after {timeout_s} s {page.url} still waits for {owed}") from None
    return page


def frames(page: Page) -> Page:
    """Wait until what was done so far is drawn: what draws once a frame has done so after two; return the page."""
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    return page


def still(page: Page) -> Page:
    """Wait until nothing fades or moves any more, but for what always does; return the page."""
    page.wait_for_function("""() => document.getAnimations().every(({ playState, effect }) =>
      playState !== 'running' || effect.getComputedTiming().endTime === Infinity)""")
    return page


def in_the_end(page: Page, read: Callable[[], T], true: Callable[[T], bool], *, seconds: float = PATIENCE_S) -> T:
    """Read again and again until it is true of what was read, or time is up; return that, for the test to look at."""
    since = monotonic()
    while not true(found := read()) and monotonic() - since < seconds:
        page.wait_for_timeout(20)
    return found

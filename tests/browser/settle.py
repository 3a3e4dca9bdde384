"""Waits until a page is completely rendered."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as OutOfTimeError

T = TypeVar("T")

TIMEOUT_S = 180
"""Seconds; enough for a slow machine whose cores are shared by several tests"""

CALM_MS = 250
"""The page must stay complete for this long where timers or requests are outstanding that may never end, because a
click is not sent immediately."""

QUIET_MS = 50
"""It is enough to stay complete for this long where none is."""

SOON_MS = 300
"""A timer of more milliseconds is not waited for: it is for what may go wrong, or repeats."""

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
  const track = (field, value) => {
    if (field === NEW_SESSION) begun = sent;
    if (field === FINISHED && value !== EARLY) done = begun;
  };
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      if (!this.url.includes('/_stcore/')) return;  // another server's, such as JupyterLab's
      this.addEventListener('message', ({ data }) => data instanceof ArrayBuffer && read(data, track));
      this.addEventListener('close', () => { done = sent; });
    }
    send(data) {
      if (data[0] === 0x5a) sent += 1;  // a BackMsg that asks for a run
      super.send(data);
    }
  };
  window.awaitsAnswer = () => done < sent;

  // What the page itself has yet to do: timers that end soon, except those that set themselves again, and requests.
  const [SOON, REPEATED] = [SOON_MS, 4];
  const [timers, { setTimeout: set, clearTimeout: clear, fetch: request }] = [new Set(), window];
  let [nesting, requests] = [0, 0];
  window.setTimeout = (call, ms, ...given) => {
    const nested = nesting + 1;
    if (typeof call !== 'function' || ms > SOON || nested > REPEATED) return set(call, ms, ...given);
    const timer = set(() => {
      timers.delete(timer);
      nesting = nested;
      try { call(...given); } finally { nesting = 0; }
    }, ms);
    timers.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => { timers.delete(timer); clear(timer); };
  window.fetch = (...given) => {
    requests += 1;
    const end = () => { requests -= 1; };
    const answer = request(...given);
    answer.then((response) => response.clone().arrayBuffer()).then(end, end);
    return answer;
  };
  window.isBusy = () => timers.size + requests > 0;
  window.deepFind = (css, root = document) => {
    const inside = [...root.querySelectorAll('*')].filter((one) => one.shadowRoot).map((one) => one.shadowRoot);
    return root.querySelector(css) ?? inside.map((one) => deepFind(css, one)).find(Boolean) ?? null;
  };
  window.deepAll = (root = document) =>
    [...root.querySelectorAll('*')].flatMap((one) => [...(one.shadowRoot ? deepAll(one.shadowRoot) : []), one]);
})()""".replace("SOON_MS", str(SOON_MS))
"""Tracks from Streamlit's messages which script runs a page has requested and which are finished, because the page does
not show a run before the server starts it. A run answers all messages sent before it started.

`isBusy` says whether timers or requests are outstanding. `deepFind` finds an element inside shadow roots too, `deepAll`
all elements."""

WAITING_FOR = """() => {
  const pictureIn = (place) => {
    const board = place?.querySelector('.attnviz-board');
    if (!place || board?.checkVisibility()) {
      return board && (!board.dataset.painted || board.attnviz.changing) ? 'the board' : null;
    }
    const plot = place.querySelector('.js-plotly-plot');
    if (!plot || !plot._fullLayout || !plot.querySelector('.main-svg')) return 'a chart';
    const heatmaps = plot._fullData.filter((trace) => trace.type === 'heatmap' && trace.visible === true);
    return plot.querySelectorAll('.heatmaplayer image').length < heatmaps.length ? 'a heatmap' : null;
  };
  const app = document.querySelector('[data-testid="stApp"]');
  if (!app) return 'the app';
  if (app.dataset.testConnectionState !== 'CONNECTED') return 'the connection';
  if (window.awaitsAnswer?.()) return 'the answer to what it has sent';
  if (app.dataset.testScriptState !== 'notRunning') return 'the script';
  if (document.querySelector('[data-testid="stSkeleton"]')) return 'a skeleton to be filled';
  const lacks = (hosts, part) => [...document.querySelectorAll(hosts)].some((host) => {
    const inside = host.querySelector('.attnviz-isolated')?.shadowRoot ?? host;
    return host.checkVisibility() && !inside.querySelector(part);
  });
  if (lacks('.st-key-explorer, .st-key-compare_picture', '[data-painted]')) return 'the picture of the heads';
  if (lacks('.st-key-explorer', '[data-waits=false]')) return 'the weights of the heads';
  const isEmpty = ({ shadowRoot }) => shadowRoot && !shadowRoot.childElementCount;  // its script is on its way
  if ([...document.querySelectorAll('.attnviz-isolated')].some(isEmpty)) return 'a component of ours';
  const subsets = '[class*=st-key-subsets_weights], [class*=st-key-subsets_row]';
  const matrices = `.st-key-off_grid, .st-key-language_weights, ${subsets}`;
  if (lacks(matrices, '.attnviz-board')) return 'a matrix';
  for (const host of document.querySelectorAll('.st-key-walk .attnviz-isolated')) {
    const walk = host.shadowRoot.querySelector('.walk');
    if (!host.checkVisibility()) continue;
    if (!walk?.querySelector('[role=radio]')) return 'the walk';
    if (walk.querySelector('[aria-busy=true]') || walk.matches('[aria-busy=true]')) return 'the numbers of the walk';
    const isChart = host.querySelector('.js-plotly-plot')?.checkVisibility();
    const picture = pictureIn(isChart ? host : walk.querySelector('.picture:not([hidden])'));
    if (picture) return picture;
  }
  const isolated = [...document.querySelectorAll('.attnviz-isolated')];
  if (isolated.some(({ shadowRoot }) => shadowRoot?.querySelector('.generation[data-state="waiting"]'))) {
    return 'the generated text';
  }
  if (lacks('.st-key-keys', 'dialog')) return 'the keys';
  for (const chart of document.querySelectorAll('[data-testid="stPlotlyChart"]')) {
    const picture = chart.checkVisibility() ? pictureIn(chart) : null;
    if (picture) return picture;
  }
  return null;
}"""
"""What the page is waiting for, or null."""

IDLE = 3
"""Number of idle callbacks required while the page stays complete: on a slow machine Streamlit renders a message in
several parts, with frames in between."""

CALM = f"""([calm, quiet, idle]) => {{
  const [pending, now] = [({WAITING_FOR})(), performance.now()];
  // Time in which the page was blocked does not count as calm: messages that arrived in it are not processed yet.
  window.calmFor = pending ? 0 : (window.calmFor ?? 0) + Math.min(now - (window.lookedAt ?? now), 50);
  window.idled = pending ? 0 : window.idled ?? 0;
  window.lookedAt = now;
  window.asked ??= requestIdleCallback(() => {{
    window.idled += 1;
    delete window.asked;
  }});
  return !pending && window.calmFor >= (window.isBusy?.() === false ? quiet : calm) && window.idled >= idle;
}}"""


def settled(page: Page, *, timeout_s: float = TIMEOUT_S) -> Page:
    """Wait until the app stays idle with all charts drawn; return the page."""
    page.evaluate("() => { window.calmFor = window.idled = 0 }")
    try:
        page.wait_for_function(CALM, arg=[CALM_MS, QUIET_MS, IDLE], timeout=timeout_s * 1000)
    except OutOfTimeError:
        pending = page.evaluate(WAITING_FOR) or "nothing, but it keeps changing"
        raise AssertionError(f"after {timeout_s} s {page.url} still waits for {pending}") from None
    return page


def settled_at(page: Page, url: str) -> Page:
    """Open an address, and wait as `settled` does; return the page."""
    page.goto(url)
    return settled(page)


def settled_once_at(page: Page, url: str | re.Pattern[str] | Callable[[str], bool]) -> Page:
    """Wait until the page is at an address like this, and then as `settled` does; return the page."""
    page.wait_for_url(url)
    return settled(page)


def frames(page: Page) -> Page:
    """Wait two animation frames, until all changes so far are drawn; return the page."""
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    return page


def still(page: Page) -> Page:
    """Wait until all animations have ended, except endless ones; return the page."""
    page.wait_for_function("""() => document.getAnimations().every(({ playState, effect }) =>
      playState !== 'running' || effect.getComputedTiming().endTime === Infinity)""")
    return page


def in_the_end(page: Page, read: Callable[[], T], true: Callable[[T], bool], *, seconds: float = TIMEOUT_S) -> T:
    """Call `read` until `true` accepts its result or the time is up; return the last result."""
    since = monotonic()
    while not true(found := read()) and monotonic() - since < seconds:
        page.wait_for_timeout(20)
    return found

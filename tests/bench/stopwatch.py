"""A Chromium that says when a picture reached the screen.

The page marks the frame in which it first finds the new picture in its DOM; Chromium's own trace tells when the frame
with that mark was drawn. An interaction begins at the timestamp that the browser gave to the user's input event.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium

MARK = "picture-shown"
TRACED = ["disabled-by-default-devtools.timeline.frame", "blink.user_timing"]
SCREEN = {"width": 1280, "height": 900}

IN_THE_PAGE = """
window.stopwatch = {
  // The picture that a Plotly chart shows: its name and its drawn heatmaps, or null while there is none.
  picture(selector) {
    const plot = document.querySelector(selector);
    if (!plot || !plot._fullLayout || !plot._fullData) return null;
    const wanted = plot._fullData.filter((trace) => trace.type === 'heatmap' && trace.visible === true);
    const images = [...plot.querySelectorAll('.heatmaplayer image')]
      .map((image) => image.getAttribute('href') || image.getAttribute('xlink:href'));
    if (!images.length || images.length < wanted.length || !images.every(Boolean)) return null;
    const meta = plot._fullLayout.meta;
    const name = meta && meta.id ? meta.id : (plot.querySelector('.gtitle') || {}).textContent;
    return {name: name || '', images: images.join(' ')};
  },
  // From now on, watch for a picture that differs from the present one in name and in pixels.
  arm(selector, event) {
    const before = this.picture(selector);
    const probe = document.createElement('div');
    probe.style.cssText = 'position:fixed;left:0;bottom:0;width:4px;height:4px;z-index:999999;pointer-events:none';
    document.body.append(probe);
    let input = event ? null : 0;
    if (event) addEventListener(event, (e) => { input = e.timeStamp; }, {capture: true, once: true});
    performance.clearMarks('MARK');
    this.answer = new Promise((resolve) => {
      const repaint = (left) => {  // keeps frames coming, so that the marked one is drawn and its trace complete
        probe.style.background = left % 2 ? '#777' : '#999';
        if (left) return requestAnimationFrame(() => repaint(left - 1));
        probe.remove();
        resolve({input, origin: performance.timeOrigin});
      };
      const look = () => {
        const now = input === null ? null : this.picture(selector);
        if (!now || (before && (now.name === before.name || now.images === before.images))) {
          return requestAnimationFrame(look);
        }
        performance.mark('MARK');
        repaint(4);
      };
      requestAnimationFrame(look);
    });
  },
};
""".replace("MARK", MARK)


def wait_for_calm(limit: float = 40, seconds: float = 6) -> None:
    """Give the machine's other work a moment to end."""
    until = time.monotonic() + seconds
    while psutil.cpu_percent(0.3) > limit and time.monotonic() < until:
        pass


@contextmanager
def chrome() -> Iterator[Browser]:
    """Run a fresh Chromium."""
    path = chromium.find()
    if not path:
        raise SystemExit("no Chromium found: install one, or name it in ATTNVIZ_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=chromium.ARGUMENTS)
        yield browser
        browser.close()


def new_page(browser: Browser) -> Page:
    """Open a page with a stopwatch in a context of its own."""
    context = browser.new_context(viewport=SCREEN)
    context.add_init_script(IN_THE_PAGE)
    page = context.new_page()
    page.set_default_timeout(120_000)
    return page


def load(page: Page, url: str, selector: str, since: float) -> float:
    """Return the ms from `since` (seconds since the epoch) until a page that is now opened shows a picture."""
    browser = _browser(page)
    browser.start_tracing(categories=TRACED)
    page.goto(url, wait_until="commit")
    page.wait_for_function("() => document.body")
    page.evaluate("(selector) => stopwatch.arm(selector, null)", selector)
    answer = page.evaluate("() => stopwatch.answer")
    return float(answer["origin"] + drawn_at(browser.stop_tracing()) - since * 1000)


def act(page: Page, selector: str, event: str, action: Callable[[], object]) -> float:
    """Return the ms from the first `event` of this action until the drawn frame with the next picture."""
    browser = _browser(page)
    browser.start_tracing(categories=TRACED)
    page.evaluate("([selector, event]) => stopwatch.arm(selector, event)", [selector, event])
    action()
    answer = page.evaluate("() => stopwatch.answer")
    return drawn_at(browser.stop_tracing()) - float(answer["input"])


def drawn_at(trace: bytes) -> float:
    """Return when the frame that holds the mark was drawn, in ms on the page's clock.

    A frame goes from the main thread (BeginMainThreadFrame) to the compositor (ActivateLayerTree), which draws it
    (DrawFrame); the three are joined by the page's layer tree.
    """
    events = sorted(json.loads(trace)["traceEvents"], key=lambda event: event["ts"])
    mark = next(e for e in reversed(events) if e["name"] == MARK and "user_timing" in e["cat"])
    frames = [event for event in events if "devtools.timeline.frame" in event["cat"] and event["pid"] == mark["pid"]]
    main = [e for e in frames if e["name"] == "BeginMainThreadFrame" and e["ts"] <= mark["ts"]][-1]
    tree, number = main["args"]["layerTreeId"], main["args"]["data"]["frameId"]
    later = [e for e in frames if e["ts"] >= mark["ts"] and e["args"].get("layerTreeId") == tree]
    active = next(e for e in later if e["name"] == "ActivateLayerTree" and e["args"]["frameId"] >= number)
    drawn = next(e for e in later if e["name"] == "DrawFrame" and e["ts"] >= active["ts"])
    return float(mark["args"]["data"]["startTime"] + (drawn["ts"] - mark["ts"]) / 1000)


def _browser(page: Page) -> Browser:
    browser = page.context.browser
    assert browser is not None, "a page of a persistent context has no browser"
    return browser

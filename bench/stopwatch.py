"""A Chromium that says when a picture reached the screen, and what may end a page: too much time or memory.

The page marks the frame in which it first finds the new picture (stopwatch.js); Chromium's own trace tells when the
frame with that mark was drawn. An interaction begins at the timestamp that the browser gave to the user's input event.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
from playwright.sync_api import Browser, Error, Page, ViewportSize, sync_playwright

from tests.browser import chromium

IN_THE_PAGE = "\n".join(Path(__file__).with_name(name).read_text() for name in ("stopwatch.js", "explorer.js"))
MARK = "picture-shown"
TRACED = ["disabled-by-default-devtools.timeline.frame", "blink.user_timing"]
SCREEN: ViewportSize = {"width": 1280, "height": 900}


@dataclass(frozen=True)
class Shown:
    """How long an answer took: ms until it was drawn, and in which frame after the input it stood (1: the next one)."""

    ms: float
    frames: int


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


def new_page(browser: Browser, motion: Literal["reduce", "no-preference"] = "no-preference") -> Page:
    """Open a page with a stopwatch in a context of its own."""
    context = browser.new_context(viewport=SCREEN, reduced_motion=motion)
    context.add_init_script(IN_THE_PAGE)
    page = context.new_page()
    page.set_default_timeout(120_000)
    return page


def load(page: Page, url: str, done: str, since: float | None = None) -> float:
    """Return the ms until a page that is now opened has what `done` asks for.

    Args:
        page: a page that has opened nothing yet.
        url: what it opens.
        done: JavaScript that gives a function which says whether it is there.
        since: seconds since the epoch from which to count; without it, from the start of the navigation.
    """
    page.context.add_init_script(f"stopwatch.arm({done}, null)")
    browser = _browser(page)
    browser.start_tracing(categories=TRACED)
    page.goto(url, wait_until="commit")
    answer = page.evaluate("() => stopwatch.answer")
    drawn = drawn_at(browser.stop_tracing())
    return drawn if since is None else float(answer["origin"] + drawn - since * 1000)


def act(page: Page, done: str, event: str, action: Callable[[], object]) -> Shown:
    """Return how long it took from the first `event` of this action until the drawn frame that has the answer.

    Args:
        page: where it happens.
        done: JavaScript that gives, just before the action, a function which says whether the answer is there.
        event: the DOM event with which the action begins.
        action: what the user does.
    """
    browser = _browser(page)
    browser.start_tracing(categories=TRACED)
    page.evaluate(f"(event) => {{ stopwatch.arm({done}, event); }}", event)
    action()
    answer = page.evaluate("() => stopwatch.answer")
    return Shown(drawn_at(browser.stop_tracing()) - float(answer["input"]), int(answer["frames"]))


def frame_times(page: Page, action: Callable[[], object], busy: str = "() => true") -> list[float]:
    """Return the ms from frame to frame while something is done, where `busy` (JavaScript) says that it counts."""
    page.evaluate(f"() => stopwatch.frames({busy})")
    action()
    times: list[float] = page.evaluate("() => stopwatch.stop()")
    return times


def drawn_at(trace: bytes) -> float:
    """Return when the frame that holds the mark was drawn, in ms on the page's clock.

    A frame goes from the main thread (BeginMainThreadFrame) to the compositor (ActivateLayerTree), which draws it
    (DrawFrame); the three are joined by the page's layer tree.
    """
    events: list[dict[str, Any]] = sorted(json.loads(trace)["traceEvents"], key=lambda event: event["ts"])
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


SECONDS = 180
GIGABYTES = 9.0


class BrokeError(RuntimeError):
    """A page that was ended because it took too long or too much memory. The message says which."""


def renderers() -> list[tuple[psutil.Process, int]]:
    """Return the processes that hold pages of the browsers that we started, with their resident memory in bytes."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "--type=renderer" in process.cmdline():
                found.append((process, process.memory_info().rss))
    return found


def megabytes(page: Page) -> float:
    """Return the resident memory of the largest page, in MB, after its garbage was collected.

    SVG elements and canvases live outside JavaScript's heap, so only the process knows.
    """
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    return max(size for _, size in renderers()) / 1e6


@contextmanager
def limited(seconds: float = SECONDS, gigabytes: float = GIGABYTES) -> Iterator[None]:
    """End the page that goes beyond a limit in the meantime.

    Raises:
        BrokeError: it did.
    """
    why: list[str] = []
    over = threading.Event()

    def watch() -> None:
        left = seconds
        while not over.wait(0.25):
            left -= 0.25
            for process, size in renderers():
                if size > gigabytes * 1e9:
                    why.append(f"more than {gigabytes:g} GB")
                elif left <= 0:
                    why.append(f"not done after {seconds:g} s")
                if why:
                    with suppress(psutil.Error):
                        process.kill()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Error as error:
        if why:
            raise BrokeError(why[0]) from error
        if "crashed" in str(error).lower():
            raise BrokeError("the page crashed") from error
        raise
    finally:
        over.set()
        watcher.join()

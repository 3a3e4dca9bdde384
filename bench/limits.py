"""What a page may take before it counts as broken, and how much memory it holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
from playwright.sync_api import Error, Page

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

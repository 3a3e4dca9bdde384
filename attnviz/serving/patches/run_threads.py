"""Start the threads that run pages from a thread of their own, not from the event loop.

`Thread.start` waits until the new thread runs. The event loop did so once a change, and sent nothing to anybody in the
meantime: for milliseconds where the interpreter is busy.
"""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue

from streamlit.runtime.scriptrunner import ScriptRunner


def apply() -> None:
    """Replace `ScriptRunner.start` by one that leaves the start to another thread."""
    start = ScriptRunner.start
    queue: SimpleQueue[ScriptRunner] = SimpleQueue()

    def start_queued() -> None:
        while True:
            try:
                start(queue.get())
            except Exception:  # the system has no thread left; later runs must start all the same
                logging.getLogger(__name__).exception("A run could not be started")

    threading.Thread(target=start_queued, name="run-starter", daemon=True).start()

    def enqueue(self: ScriptRunner) -> None:
        queue.put(self)

    ScriptRunner.start = enqueue  # type: ignore[method-assign]

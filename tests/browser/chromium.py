"""Where this machine's Chromium is. `python -m tests.browser.chromium` prints its path, or fails with nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
"""Quiet and self-contained: works as root in a container, and asks nothing of the outside by itself."""


def starts(path: str) -> bool:
    """Return whether this program is there and runs: a stub that only points to a shop does not."""
    try:
        return subprocess.run([path, "--version"], check=False, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find() -> str | None:
    """Return the Chromium to test with: the one in ATTNVIZ_CHROMIUM, else a system's, else Playwright's own."""
    chosen = os.environ.get("ATTNVIZ_CHROMIUM")
    if chosen:
        return chosen if starts(chosen) else None
    for name in NAMES:
        path = shutil.which(name)
        if path and starts(path):
            return path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() and starts(own) else None


if __name__ == "__main__":
    found = find()
    if not found:
        sys.exit(1)
    sys.stdout.write(f"{found}\n")

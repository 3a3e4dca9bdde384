"""Finds Chromium. `python -m tests.browser.chromium` prints its path, or fails without output."""

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
"""Works as root in a container, and makes no network requests of its own."""


def starts(path: str) -> bool:
    """Return whether this program exists and runs; a stub that only points to an app store does not."""
    try:
        return subprocess.run([path, "--version"], check=False, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find() -> str | None:
    """Return the path of Chromium: that in ATTNVIZ_CHROMIUM, else an installed one, else Playwright's, or None."""
    chosen = os.environ.get("ATTNVIZ_CHROMIUM")
    if chosen:
        return chosen if starts(chosen) else None
    for name in NAMES:
        path = shutil.which(name)
        if path and starts(path):
            return path
    with sync_playwright() as playwright:
        bundled = playwright.chromium.executable_path
    return bundled if Path(bundled).exists() and starts(bundled) else None


if __name__ == "__main__":
    found = find()
    if not found:
        sys.exit(1)
    sys.stdout.write(f"{found}\n")

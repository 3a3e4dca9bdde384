"""Serve patched_page.py under Streamlit as it is, or patched: `python -m tests.safety.patched PORT [patched]`."""

from __future__ import annotations

import sys

import streamlit as st
import uvicorn

from attnviz.serving.patches import apply_patches
from tests.browser.server import ROOT

if __name__ == "__main__":
    if "patched" in sys.argv:
        apply_patches()
    page = st.App(ROOT / "tests" / "safety" / "patched_page.py")
    uvicorn.run(page, host="127.0.0.1", port=int(sys.argv[1]), ws="websockets-sansio", log_level="warning")

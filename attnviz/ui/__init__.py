"""The Streamlit user interface: shared modules, and a module or a folder for each page."""

from pathlib import Path

FRAME = Path(__file__).with_name("frame.py")
"""The script that Streamlit runs for every visitor."""

"""What the pages share, and a folder for each page. The only part that shows anything through Streamlit."""

from pathlib import Path

FRAME = Path(__file__).with_name("frame.py")
"""The script that Streamlit runs for every visitor."""

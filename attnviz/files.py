"""Where the files lie that the app needs beside its package: pages, assets, Streamlit's options, the list of pins."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "app"

FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""The folder of app.py. A checkout has the package in it; an installed wheel has it in the package (setup.py)."""
PAGES = FOLDER / "pages"
LESSONS = FOLDER / "assets" / "lessons"
CONFIG = FOLDER / ".streamlit" / "config.toml"
"""Streamlit's options, as `streamlit run app.py` reads them."""
REQUIREMENTS = FOLDER / "requirements.txt"
"""The versions with which all is tested."""

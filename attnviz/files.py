"""Paths of the app's files outside the package: pages, assets, Streamlit's options, requirements.txt."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "app"

FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""The folder of app.py: the root of a checkout, or the folder `app` inside the installed package (see setup.py)."""
PAGES = FOLDER / "pages"
LESSONS = FOLDER / "assets" / "lessons"
CONFIG = FOLDER / ".streamlit" / "config.toml"
"""Streamlit's options, which `streamlit run app.py` reads."""
REQUIREMENTS = FOLDER / "requirements.txt"
"""The versions with which the app is tested."""

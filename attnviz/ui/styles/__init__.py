"""The style sheets of the pages: files, which `st.html` shows.

st.html(style("base"))  # styles/base.css

Streamlit puts a sheet beside the page, where it takes no room, and reads the file at each run.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent


def style(name: str) -> Path:
    """Return the file of the style sheet `name`."""
    return _FOLDER / f"{name}.css"

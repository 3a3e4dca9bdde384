"""The style sheets of the pages: files for `st.html`.

    st.html(style("base"))  # styles/base.css

Streamlit inserts a sheet where it takes no space in the layout, and reads the file at each run.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent


def style(name: str) -> Path:
    """Return the file of the style sheet `name`."""
    return _FOLDER / f"{name}.css"

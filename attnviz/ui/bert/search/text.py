"""The text of the session that is searched: the built-in sentences, or what its visitor pasted or uploaded.

No link holds it. What is pasted is taken from its field at once: Streamlit sends the values of all fields again with
every click.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.bert.search.index import Index, NoSentenceError
from attnviz.bert.search.sentences import MOST_SENTENCES, Sentences, built_in, split
from attnviz.settings import settings
from attnviz.tokens import BadUploadError, read_upload
from attnviz.ui import state
from attnviz.ui.plain import plain

SOURCES = {"built_in": "Built in", "paste": "Paste", "upload": "Upload"}
MAX_FILE = 2**20
"""Bytes"""
PASTED = 5
"""Of the longest text of another page, which is read in one pass: here every sentence is a pass"""
_FROM, _PASTED, _FILE = "search_text_from", "search_text_pasted", "search_text_file"
_CHOSEN = "search_text_chosen"
"""Where the text is from, also while another page is shown and the widget is not there"""
_OWN, _REFUSED = "search_text_own", "search_text_refused"
"""The visitor's last good text, and why the one after it was refused, each by where it is from"""


def chosen_text() -> Sentences:
    """Return the text that is searched: the visitor's, or the built-in sentences until there is one."""
    own: Sentences | None = st.session_state.get(_OWN, {}).get(st.session_state.get(_CHOSEN, "built_in"))
    return own or built_in()


def text_choice() -> None:
    """Show the choice of a text, and where it is pasted or uploaded."""
    offered = [name for name in SOURCES if name != "upload" or settings().uploads]
    known = (st.session_state.get(name) for name in (_FROM, _CHOSEN))
    # Set at each run: otherwise a page that is opened anew would show the choice without its value.
    st.session_state[_FROM] = next((one for one in known if one in offered), "built_in")
    source = st.segmented_control(
        "Text that is searched", offered, key=_FROM, format_func=SOURCES.__getitem__, required=True, width="stretch",
        on_change=_forget_hit,
    )  # fmt: skip
    st.session_state[_CHOSEN] = source
    if source == "paste":
        limit = PASTED * settings().largest_text
        with st.form("search_paste", clear_on_submit=True, border=False):
            st.text_area(
                "Your text", key=_PASTED, max_chars=limit, height=120,
                placeholder=f"Paste some pages, up to {limit:,} characters.",
            )  # fmt: skip
            st.form_submit_button("Search in this text", on_click=_take_pasted, width="stretch")
    elif source == "upload":
        st.file_uploader("A UTF-8 text file, up to 1 MB", key=_FILE, max_upload_size=1, on_change=_take_file)
    if source in ("paste", "upload"):
        refused = st.session_state.get(_REFUSED, {}).get(source)
        if refused:
            st.error(plain(refused))
        if st.session_state.get(_OWN, {}).get(source) is None:
            st.caption("Until then, the built-in sentences are searched.")


def about(text: Sentences, index: Index | None) -> str:
    """Say what is searched, and what is left out of it."""
    said = [f"{len(text):,} {'sentence' if len(text) == 1 else 'sentences'}."]
    if text.left_out:
        said.append(f"The first {MOST_SENTENCES:,} are searched; {text.left_out:,} more are left out.")
    if index is not None and index.cut:
        said.append(
            f"{index.cut:,} of them have more than 256 tokens: the model was trained on the first 256, and reads those."
        )
    if text is not built_in():
        said.append("Your text is in no link: a link opens the built-in sentences.")
    return " ".join(said)


def _forget_hit() -> None:
    state.put("hit", None)


def _take_pasted() -> None:
    text = st.session_state.get(_PASTED)
    if isinstance(text, str):
        _take("paste", text[: PASTED * settings().largest_text])


def _take_file() -> None:
    file = st.session_state.get(_FILE)
    if not isinstance(file, UploadedFile):  # removed, or one that the server does not have
        _keep("upload", None, "")
        return
    try:
        _take("upload", read_upload(file.read(MAX_FILE + 1), "A text to search in", MAX_FILE))
    except BadUploadError as why:
        _keep("upload", None, str(why))


def _take(source: str, text: str) -> None:
    found = split(text)
    _keep(source, found if len(found) else None, "" if len(found) else str(NoSentenceError()))


def _keep(source: str, own: Sentences | None, refused: str) -> None:
    _forget_hit()
    st.session_state[_OWN] = {**st.session_state.get(_OWN, {}), source: own}
    st.session_state[_REFUSED] = {**st.session_state.get(_REFUSED, {}), source: refused}

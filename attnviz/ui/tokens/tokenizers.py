"""The three tokenizers as the pages use them: shared objects, and the choice of a character vocabulary."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.settings import settings
from attnviz.tokens import MAX_UPLOAD, BadUploadError, CharVocab, WordPiece
from attnviz.ui import state

TITLES = {"char": "Characters", "word": "Words", "bert": "BERT WordPiece"}
"""The values of the link's `tokenizer`, as they are called on the screen."""

_CHARSETS = {"shakespeare": "Shakespeare's 65", "text": "the text's own", "file": "from a file"}
_FILE = "charset_file"
_UPLOADED = "charset_uploaded"
"""The vocabulary of the file that came, or the sentence that says why it was refused."""


@st.cache_resource(show_spinner=False)
def wordpiece() -> WordPiece:
    """Return BERT's tokenizer, one for all sessions: nothing in it changes."""
    return WordPiece()


def char_vocab(text: str) -> CharVocab:
    """Return the character vocabulary that the view asks for; an uploaded one lives as long as the session.

    Where a file is asked for and none was taken, it is Shakespeare's.
    """
    uploaded = st.session_state.get(_UPLOADED)
    if state.get("charset") == "text":
        return CharVocab.from_text(text)
    if state.get("charset") == "file" and isinstance(uploaded, CharVocab):
        return uploaded
    return CharVocab.shakespeare()


def choose_charset() -> None:
    """Make the widgets that choose the character vocabulary, with the upload where it is asked for."""
    offered = [name for name in _CHARSETS if name != "file" or settings().uploads]
    choice = state.choice("charset", st.selectbox, "Character vocabulary", offered, format_func=_CHARSETS.__getitem__)
    if choice != "file":
        return
    most = min(MAX_UPLOAD // 2**20, settings().largest_upload)
    st.file_uploader(f"A UTF-8 text file, up to {most} MB", key=_FILE, max_upload_size=most, on_change=_take_upload)
    uploaded = st.session_state.get(_UPLOADED)
    if isinstance(uploaded, CharVocab):
        st.caption(f"In use: the {len(uploaded):,} different characters of your file.")
    else:
        if uploaded is not None:
            st.error(uploaded)
        st.caption("Until a file is taken, Shakespeare's 65 characters are used.")


def _take_upload() -> None:
    """Keep the vocabulary of the file that came, or why it was refused; forget both where the file was removed."""
    file = st.session_state[_FILE]
    if not isinstance(file, UploadedFile):  # none, or one that the server does not have
        st.session_state.pop(_UPLOADED, None)
        return
    try:
        # One byte more than the limit is enough to refuse a file that is too large.
        st.session_state[_UPLOADED] = CharVocab.from_bytes(file.read(MAX_UPLOAD + 1))
    except BadUploadError as why:
        st.session_state[_UPLOADED] = str(why)

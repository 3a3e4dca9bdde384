"""The pages' tokenizers: a shared WordPiece, and the choice of a character vocabulary."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.links.link import KEYS
from attnviz.settings import settings
from attnviz.tokens import MAX_UPLOAD, BadUploadError, CharVocab, WordPiece
from attnviz.ui import state

TITLES = {"char": "Characters", "word": "Words", "bert": "BERT WordPiece"}
"""The titles of the link's `tokenizer` values."""

_FILE = "charset_file"
_UPLOADED = "charset_uploaded"
"""The vocabulary of the uploaded file, or the reason why it was refused."""


@st.cache_resource(show_spinner=False)
def wordpiece() -> WordPiece:
    """Return BERT's tokenizer, which is immutable and shared by all sessions."""
    return WordPiece()


def char_vocab(text: str) -> CharVocab:
    """Return the view's character vocabulary. An uploaded one is kept for the session.

    Without an accepted file, the choice "from a file" returns Shakespeare's characters.
    """
    uploaded = st.session_state.get(_UPLOADED)
    if state.get("charset") == "text":
        return CharVocab.from_text(text)
    if state.get("charset") == "file" and isinstance(uploaded, CharVocab):
        return uploaded
    return CharVocab.shakespeare()


def choose_charset() -> None:
    """Show the choice of the character vocabulary, and the upload if it is chosen."""
    offered = [name for name in KEYS["charset"].titles if name != "file" or settings().uploads]
    choice = state.choice("charset", st.selectbox, "Character vocabulary", offered)
    if choice != "file":
        return
    limit = min(MAX_UPLOAD // 2**20, settings().largest_upload)
    st.file_uploader(f"A UTF-8 text file, up to {limit} MB", key=_FILE, max_upload_size=limit, on_change=_take_upload)
    uploaded = st.session_state.get(_UPLOADED)
    if isinstance(uploaded, CharVocab):
        st.caption(f"In use: the {len(uploaded):,} different characters of your file.")
    else:
        if uploaded is not None:
            st.error(uploaded)
        st.caption("Until you upload a file, Shakespeare's 65 characters are used.")


def _take_upload() -> None:
    """Store the vocabulary of the uploaded file, or the reason for refusing it; clear both if the file was removed."""
    file = st.session_state[_FILE]
    if not isinstance(file, UploadedFile):  # no file, or one that the server does not have
        st.session_state.pop(_UPLOADED, None)
        return
    try:
        # One byte over the limit is enough to refuse a file.
        st.session_state[_UPLOADED] = CharVocab.from_bytes(file.read(MAX_UPLOAD + 1))
    except BadUploadError as why:
        st.session_state[_UPLOADED] = str(why)

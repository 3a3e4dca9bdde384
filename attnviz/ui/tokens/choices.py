"""Choices that hold what a visitor brings: a character vocabulary, or a text of one's own. No link holds either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.links.link import KEYS
from attnviz.settings import settings
from attnviz.tokens import MAX_UPLOAD, BadUploadError, CharVocab, WordPiece, read_upload
from attnviz.ui import state
from attnviz.ui.messages import plain

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


SOURCES = {"built_in": "Built in", "paste": "Paste", "upload": "Upload"}

V = TypeVar("V")


def source_of(name: str) -> str:
    """Return the chosen source, also while another page is shown and the widget is not there."""
    source: str = st.session_state.get(f"{name}_source", "built_in")
    return source


def source_choice(
    name: str, label: str, sources: Mapping[str, str], on_change: Callable[[], None] | None = None
) -> str:
    """Show the choice of a source and return it.

    Args:
        name: what its keys in the session begin with.
        label: of the choice.
        sources: what is offered, with titles; `built_in` is chosen at first.
        on_change: is called after a click.
    """
    key = f"{name}_from"
    # Set at each run: otherwise a page that is opened anew would show the choice without its value.
    known = (st.session_state.get(key), source_of(name))
    st.session_state[key] = next((one for one in known if one in sources), "built_in")
    source = st.segmented_control(
        label, list(sources), key=key, format_func=sources.__getitem__, required=True, width="stretch",
        on_change=on_change,
    )  # fmt: skip
    st.session_state[f"{name}_source"] = found = source if source and source in sources else "built_in"
    return found


@dataclass(frozen=True, slots=True)
class OwnText(Generic[V]):
    """A text that is built in, pasted or uploaded: of each source the session keeps the last good one."""

    name: str
    """What its keys in the session begin with"""
    purpose: str
    """What an uploaded file is to be, at the beginning of the sentence about one that is refused"""
    read: Callable[[str], V]
    """Makes of a text what is kept; raises ValueError with a sentence for the user"""
    on_change: Callable[[], None]
    """Is called when there is another text"""
    most_bytes: int = MAX_UPLOAD
    """Of a file"""

    def chosen(self) -> V | None:
        """Return the visitor's text; None if the built-in one is chosen, or there is no other yet."""
        return self._own(source_of(self.name))

    def choice(self, label: str) -> str:
        """Show the choice of the source and return it."""
        offered = {name: title for name, title in SOURCES.items() if name != "upload" or settings().uploads}
        return source_choice(self.name, label, offered, self.on_change)

    @property
    def pasted(self) -> str:
        """The key of the field for a text."""
        return f"{self.name}_pasted"

    def take_pasted(self, most: int) -> None:
        """Read what is in the field for a text, up to so many characters."""
        text = st.session_state.get(self.pasted)
        if isinstance(text, str):
            self._take("paste", lambda: text[:most])

    def file_field(self) -> None:
        """Show the field for a file."""
        limit = min(self.most_bytes // 2**20, settings().largest_upload)
        st.file_uploader(
            f"A UTF-8 text file, up to {limit} MB", key=f"{self.name}_file", max_upload_size=limit,
            on_change=self._take_file,
        )  # fmt: skip

    def tell(self, source: str, without: str) -> V | None:
        """Say why the last text was refused, or what is shown while there is none; return the text."""
        refused, own = self._kept("refused").get(source), self._own(source)
        if refused:
            st.error(plain(refused))
        if own is None:
            st.caption(without)
        return own

    def _take_file(self) -> None:
        file = st.session_state.get(f"{self.name}_file")
        if not isinstance(file, UploadedFile):  # removed, or one that the server does not have
            self._keep("upload", None, "")
            return
        self._take("upload", lambda: read_upload(file.read(self.most_bytes + 1), self.purpose, self.most_bytes))

    def _take(self, source: str, text: Callable[[], str]) -> None:
        try:
            self._keep(source, self.read(text()), "")
        except ValueError as why:
            self._keep(source, None, str(why))

    def _own(self, source: str) -> V | None:
        own: V | None = self._kept("own").get(source)
        return own

    def _keep(self, source: str, own: V | None, refused: str) -> None:
        self.on_change()
        for what, value in (("own", own), ("refused", refused)):
            st.session_state[f"{self.name}_{what}"] = {**self._kept(what), source: value}

    def _kept(self, what: str) -> dict[str, Any]:
        kept: dict[str, Any] = st.session_state.get(f"{self.name}_{what}", {})
        return kept

"""Choices of the visitor's own data, a character vocabulary or a text, which links do not contain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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

TEXT_FILE = "A UTF-8 text file, up to {most} MB"
_FILE = "charset_file"


@dataclass(slots=True)
class CharsetRecord:
    """The session state of an uploaded character vocabulary."""

    vocabulary: CharVocab | None = None
    refused: str = ""
    """Why the file was refused"""


@st.cache_resource(show_spinner=False)
def wordpiece() -> WordPiece:
    """Return BERT's tokenizer, which is immutable and shared by all sessions."""
    return WordPiece()


def char_vocab(text: str) -> CharVocab:
    """Return the view's character vocabulary. An uploaded one is kept for the session.

    Without an accepted file, the choice "from a file" gives Shakespeare's characters.
    """
    if state.get("charset") == "text":
        return CharVocab.from_text(text)
    uploaded_vocabulary = state.record(CharsetRecord).vocabulary if state.get("charset") == "file" else None
    return CharVocab.shakespeare() if uploaded_vocabulary is None else uploaded_vocabulary


def file_field(label: str, key: str, most_bytes: int, **more: Any) -> None:
    """Show a field for a file, of at most `most_bytes`, and no more than the settings allow.

    Args:
        label: of the field, with `{most}` where the MB stand.
        key: of the widget; `uploaded` reads it.
        most_bytes: whole MB, or less than one: then the caller checks the size.
        **more: as in `st.file_uploader`.
    """
    most = max(1, min(most_bytes // 2**20, settings().largest_upload))  # Streamlit counts whole MB
    st.file_uploader(label.format(most=most), key=key, max_upload_size=most, **more)


def uploaded(key: str) -> UploadedFile | None:
    """Return the file in a field; None if there is none, or one unknown to the server."""
    file = st.session_state.get(key)
    return file if isinstance(file, UploadedFile) else None


def choose_charset() -> None:
    """Show the choice of the character vocabulary, and the upload if it is chosen."""
    offered = [name for name in KEYS["charset"].titles if name != "file" or settings().uploads]
    choice = state.choice("charset", st.selectbox, "Character vocabulary", offered)
    if choice != "file":
        return
    file_field(TEXT_FILE, _FILE, MAX_UPLOAD, on_change=_take_upload)
    kept = state.record(CharsetRecord)
    if kept.vocabulary is not None:
        st.caption(f"In use: the {len(kept.vocabulary):,} different characters of your file.")
    else:
        if kept.refused:
            st.error(kept.refused)
        st.caption("Until you upload a file, Shakespeare's 65 characters are used.")


def _take_upload() -> None:
    """Store the vocabulary of the uploaded file, or the reason for refusing it; clear both if the file was removed."""
    file, kept = uploaded(_FILE), state.record(CharsetRecord)
    kept.vocabulary, kept.refused = None, ""
    if file is None:
        return
    try:
        # One byte over the limit is enough to refuse a file.
        kept.vocabulary = CharVocab.from_bytes(file.read(MAX_UPLOAD + 1))
    except BadUploadError as why:
        kept.refused = str(why)


SOURCES = {"built_in": "Built in", "paste": "Paste", "upload": "Upload"}

V = TypeVar("V")


@dataclass(slots=True)
class _OwnTextRecord:
    """The session state of one choice of sources."""

    source: str = "built_in"
    texts: dict[str, Any] = field(default_factory=dict)
    """By source, the result of reading its last text; None if the text was refused or removed"""
    refused: dict[str, str] = field(default_factory=dict)
    """By source, why its last text was refused; "" if it was not"""


def source_of(name: str) -> str:
    """Return the chosen source, even while another page is shown and the widget does not exist."""
    return state.record(_OwnTextRecord, name).source


def source_choice(
    name: str, label: str, sources: Mapping[str, str], on_change: Callable[[], None] | None = None
) -> str:
    """Show the choice of a source and return it.

    Args:
        name: the prefix of its keys in the session.
        label: the widget's label.
        sources: the offered sources with their titles; `built_in` is the initial choice.
        on_change: called after a click.
    """
    key = f"{name}_from"
    # Set at each run: otherwise a reopened page would show the choice without its value.
    kept = state.record(_OwnTextRecord, name)
    st.session_state[key] = next(
        (source for source in (st.session_state.get(key), kept.source) if source in sources), "built_in"
    )
    source = st.segmented_control(
        label, list(sources), key=key, format_func=sources.__getitem__, required=True, width="stretch",
        on_change=on_change,
    )  # fmt: skip
    kept.source = source if source and source in sources else "built_in"
    return kept.source


@dataclass(frozen=True, slots=True)
class OwnText(Generic[V]):
    """A text that is built in, pasted or uploaded; the session keeps the last good text of each source."""

    name: str
    """The prefix of its keys in the session"""
    purpose: str
    """What an uploaded file is for: the beginning of the sentence if it is refused"""
    read: Callable[[str], V]
    """Converts a text to the value that is kept; raises ValueError with a sentence for the user"""
    on_change: Callable[[], None]
    """Called when the text changes"""
    most_bytes: int = MAX_UPLOAD
    """The largest file, in bytes"""

    def chosen(self) -> V | None:
        """Return the visitor's text; None if the built-in text is chosen, or the visitor has no text yet."""
        kept = self._kept()
        text: V | None = kept.texts.get(kept.source)
        return text

    def choice(self, label: str) -> str:
        """Show the choice of the source and return it."""
        offered = {name: title for name, title in SOURCES.items() if name != "upload" or settings().uploads}
        return source_choice(self.name, label, offered, self.on_change)

    @property
    def pasted(self) -> str:
        """The key of the text field."""
        return f"{self.name}_pasted"

    def take_pasted(self, most: int) -> None:
        """Read the text field, up to `most` characters."""
        text = st.session_state.get(self.pasted)
        if isinstance(text, str):
            self._take("paste", lambda: text[:most])

    def file_field(self) -> None:
        """Show the upload field."""
        file_field(TEXT_FILE, f"{self.name}_file", self.most_bytes, on_change=self._take_file)

    def tell(self, source: str, without: str) -> V | None:
        """Show why the last text was refused, and the caption `without` if there is no text; return the text."""
        kept = self._kept()
        text: V | None = kept.texts.get(source)
        if kept.refused.get(source):
            st.error(plain(kept.refused[source]))
        if text is None:
            st.caption(without)
        return text

    def _take_file(self) -> None:
        file = uploaded(f"{self.name}_file")
        if file is None:
            self._keep("upload", None, "")
            return
        self._take("upload", lambda: read_upload(file.read(self.most_bytes + 1), self.purpose, self.most_bytes))

    def _take(self, source: str, text: Callable[[], str]) -> None:
        try:
            self._keep(source, self.read(text()), "")
        except ValueError as why:
            self._keep(source, None, str(why))

    def _keep(self, source: str, text: V | None, refused: str) -> None:
        self.on_change()
        self._kept().texts[source], self._kept().refused[source] = text, refused

    def _kept(self) -> _OwnTextRecord:
        return state.record(_OwnTextRecord, self.name)

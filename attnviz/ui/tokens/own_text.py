"""The choice between what is built in and what the visitor brings, such as a text of their own. No link holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.settings import settings
from attnviz.tokens import MAX_UPLOAD, read_upload
from attnviz.ui.messages import plain

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

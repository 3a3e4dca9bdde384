"""The text of the session: the built-in corpus, or one that its visitor has pasted or uploaded. No link holds it."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.settings import settings
from attnviz.tokens import MAX_UPLOAD, BadUploadError, read_upload
from attnviz.training.text.subject import TextError
from attnviz.ui import state
from attnviz.ui.plain import plain
from attnviz.ui.train.text.facts import Facts, built_in_facts, facts_of
from attnviz.ui.train.text.part import forget_part, part_choice, part_of

SOURCES = {"built_in": "Built in", "paste": "Paste", "upload": "Upload"}
_FROM, _PASTED, _FILE = "train_text_from", "train_text_pasted", "train_text_file"
_CHOSEN = "train_text_chosen"
"""Where the text is from, also while another page is shown and the widget is not there"""
_OWN, _REFUSED = "train_text_own", "train_text_refused"
"""The visitor's last good text, and why the one after it was refused, each by where it is from"""


def chosen_facts() -> Facts:
    """Return what is trained on: the chosen text, or the chosen part of it."""
    return part_of(_whole())[0]


def _whole() -> Facts:
    """Return the chosen text: the visitor's, or the built-in corpus until there is one."""
    source = st.session_state.get(_CHOSEN, "built_in")
    own: Facts | None = st.session_state.get(_OWN, {}).get(source)
    return own or built_in_facts()


def text_choice() -> None:
    """Show the choice of a text, and where it is pasted or uploaded."""
    offered = [name for name in SOURCES if name != "upload" or settings().uploads]
    known = (st.session_state.get(name) for name in (_FROM, _CHOSEN))
    # Set at each run: otherwise a page that is opened anew would show the choice without its value.
    st.session_state[_FROM] = next((one for one in known if one in offered), "built_in")
    source = st.segmented_control(
        "Text to train on", offered, key=_FROM, format_func=SOURCES.__getitem__, required=True, width="stretch",
        on_change=_forget,
    )  # fmt: skip
    st.session_state[_CHOSEN] = source
    if source == "paste":
        limit = settings().largest_text
        st.text_area(
            "Your text", key=_PASTED, max_chars=limit, height=120, on_change=_take_pasted,
            placeholder=f"Paste some pages, up to {limit:,} characters, and press Ctrl+Enter.",
        )  # fmt: skip
    elif source == "upload":
        limit = min(MAX_UPLOAD // 2**20, settings().largest_upload)
        st.file_uploader(f"A UTF-8 text file, up to {limit} MB", key=_FILE, max_upload_size=limit, on_change=_take_file)
    if source in ("paste", "upload"):
        _tell(source)


def part_of_text() -> None:
    """Show the choice of a part of the text, to train on one chapter."""
    part_choice(_whole(), partial(forget_reading))


def part_refused() -> str:
    """Return why the chosen part is not used; "" if it is."""
    return part_of(_whole())[1]


def forget_reading() -> None:
    """Choose no snapshot, head or cell: they belong to another text."""
    for name, value in (("watch", ""), ("snapshot", None), ("q", None), ("k", None)):
        state.put(name, value)


def _forget() -> None:
    """Choose nothing that belongs to another text."""
    forget_reading()
    forget_part()


def _tell(source: str) -> None:
    refused, own = st.session_state.get(_REFUSED, {}).get(source), st.session_state.get(_OWN, {}).get(source)
    if refused:
        st.error(plain(refused))
    if own is None:
        st.caption("Until then, the built-in corpus is shown.")
    else:
        st.caption(
            f"In use: {len(own.text):,} characters, {len(own.labels)} different ones. Your text is in no link: "
            "a link opens the built-in corpus."
        )


def _take_pasted() -> None:
    text = st.session_state.get(_PASTED)
    if isinstance(text, str):
        _take("paste", text[: settings().largest_text])


def _take_file() -> None:
    file = st.session_state.get(_FILE)
    if not isinstance(file, UploadedFile):  # removed, or one that the server does not have
        _keep("upload", None, "")
        return
    try:
        _take("upload", read_upload(file.read(MAX_UPLOAD + 1), "A text to train on"))
    except BadUploadError as why:
        _keep("upload", None, str(why))


def _take(source: str, text: str) -> None:
    try:
        _keep(source, facts_of(text), "")
    except TextError as why:
        _keep(source, None, str(why))


def _keep(source: str, own: Facts | None, refused: str) -> None:
    _forget()
    st.session_state[_OWN] = {**st.session_state.get(_OWN, {}), source: own}
    st.session_state[_REFUSED] = {**st.session_state.get(_REFUSED, {}), source: refused}

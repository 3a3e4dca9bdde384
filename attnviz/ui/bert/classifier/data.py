"""The texts to learn from: those that the project has written, or a user's CSV file, which stays in the session."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.bert.classification.examples import (
    MOST_BYTES,
    CsvError,
    Examples,
    Table,
    built_in,
    examples_of,
    read_table,
)
from attnviz.bert.classification.shipped import NAMES
from attnviz.settings import settings
from attnviz.ui.bert.classifier.what import What
from attnviz.ui.plain import plain
from attnviz.ui.tokens.own_text import source_choice, source_of

SOURCES = {"built_in": "Film reviews", "own": "Your CSV"}
FORMAT = (
    "UTF-8, with column names in row 1: a column of texts, and one of 2 to 8 classes with at least 5 rows each; up to "
    "2,000 rows. It stays in this session: no link holds it."
)
_NAME = "class"
_FILE, _OWN, _REFUSED, _MADE = (f"{_NAME}_{name}" for name in ("file", "own", "refused", "made"))
_COLUMNS = {"text": "class_text_column", "label": "class_label_column"}


@dataclass(frozen=True, slots=True)
class Own:
    """A file of this session's visitor."""

    name: str
    data: bytes
    table: Table
    text: str
    """The column with the texts"""
    label: str
    """The column with the classes"""


def chosen(what: What) -> Examples | None:
    """Return what is learned from; None if a user's file is wanted and there is none that can be used."""
    if not what.takes_files or source_of(_NAME) != "own":
        return built_in(NAMES[what.name])
    own: Own | None = st.session_state.get(_OWN)
    if own is None:
        return None
    key = hashlib.sha256(own.data).hexdigest(), own.text, own.label
    made = st.session_state.get(_MADE)
    if made is None or made[0] != key:
        try:
            found = examples_of(own.table, own.data, name=own.name, text=own.text, label=own.label)
            made = key, found, ""
        except CsvError as why:
            made = key, None, str(why)
        st.session_state[_MADE] = made
    examples: Examples | None = made[1]
    return examples


def refusal() -> str:
    """Return why the user's file can't be used, in a sentence; "" if it can, or there is none."""
    refused: str = st.session_state.get(_REFUSED, "")
    made = st.session_state.get(_MADE)
    return refused or (made[2] if made is not None and st.session_state.get(_OWN) is not None else "")


def data_choice(what: What) -> None:
    """Show the choice of the texts, where files may be uploaded."""
    if not what.takes_files or not settings().uploads:
        return
    source = source_choice(_NAME, "Learn from", SOURCES)
    if source == "own":
        most = min(MOST_BYTES // 2**20, settings().largest_upload)
        st.file_uploader(
            f"A CSV file, up to {most} MB", type=["csv", "tsv", "txt"], key=_FILE, on_change=_take,
            max_upload_size=most, help=FORMAT,
        )  # fmt: skip
        _columns()


def _columns() -> None:
    """Show the choice of the columns of a user's file."""
    own: Own | None = st.session_state.get(_OWN)
    if own is None:
        return
    places = st.columns(2)
    for place, (name, title) in zip(places, (("text", "Texts"), ("label", "Classes")), strict=True):
        with place:
            key = _COLUMNS[name]
            if st.session_state.get(key) not in own.table.columns:
                st.session_state[key] = getattr(own, name)
            st.selectbox(title, own.table.columns, key=key, on_change=_take_columns)
    st.caption(f"{plain(own.name[:60])}: {len(own.table.rows):,} rows")


def _take() -> None:
    """Read an uploaded file, or keep the reason why it is refused."""
    file = st.session_state.get(_FILE)
    st.session_state[_REFUSED] = ""
    for key in (_OWN, _MADE):
        st.session_state.pop(key, None)
    if not isinstance(file, UploadedFile):  # no file, or one that the server does not have
        return
    try:
        if file.size > MOST_BYTES:
            raise CsvError(f"The file has {file.size / 2**20:.1f} MB; a CSV file can have {MOST_BYTES // 2**20} MB.")
        data = file.getvalue()
        table = read_table(data)
    except CsvError as why:
        st.session_state[_REFUSED] = str(why)
        return
    st.session_state[_OWN] = Own(file.name, data, table, *_likely(table))
    for key in _COLUMNS.values():
        st.session_state.pop(key, None)


def _likely(table: Table) -> tuple[str, str]:
    """Return the columns that are probably those of the texts and of the classes."""
    sizes = {name: sum(map(len, table.column(name))) for name in table.columns}
    text = max(sizes, key=lambda name: sizes[name])
    values = {name: len(set(table.column(name))) for name in table.columns if name != text}
    several = {name: count for name, count in values.items() if count > 1} or values
    return text, min(several, key=lambda name: several[name], default=text)


def _take_columns() -> None:
    """Use the chosen columns. Clients may send any."""
    own: Own | None = st.session_state.get(_OWN)
    if own is None:
        return
    names = {name: st.session_state.get(key) for name, key in _COLUMNS.items()}
    if all(one in own.table.columns for one in names.values()):
        st.session_state[_OWN] = Own(own.name, own.data, own.table, str(names["text"]), str(names["label"]))

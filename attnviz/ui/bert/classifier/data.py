"""What a classifier learns from: the project's texts, or a user's CSV file, which stays in the session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import streamlit as st

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
from attnviz.formatting import larger
from attnviz.links.bert import MAX_CLASS_STEPS
from attnviz.settings import settings
from attnviz.ui import controls, state
from attnviz.ui.messages import plain
from attnviz.ui.styles import style
from attnviz.ui.tokens.choices import file_field, source_choice, source_of, uploaded


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """What is trained on the frozen model: a classifier of reviews, or an agent's last layer. Both share one view."""

    name: str
    """The name of its shipped files: see `attnviz.bert.classification.shipped.NAMES`"""
    view_key: str
    """The link key of its chosen view"""
    text_key: str
    """The link key of the text that a user types"""
    text: str
    """What a text is called"""
    several: str
    takes_files: bool
    """Whether a user may bring their own texts and classes"""


CLASSIFIER = ClassifierKind("classifier", "class_view", "sentence", "sentence", "reviews", takes_files=True)
AGENT = ClassifierKind("agent", "agent_view", "report", "report", "reports", takes_files=False)
TEXT_SOURCES = {"built_in": "Film reviews", "own": "Your CSV"}
FORMAT = (
    "UTF-8, with column names in row 1: a column of texts, and one of 2 to 8 classes with at least 5 rows each; up to "
    "2,000 rows. It stays in this session: no link holds it."
)
FEATURES_HELP = """What the linear layer sees of a text, 384 numbers. **Mean of tokens**: of the last hidden states of
all tokens, as the built-in model was trained. **\\[CLS\\]**: the last hidden state of the first token alone, as BERT's
authors do."""
RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
_NAME = "class"
_UPLOAD = f"{_NAME}_file"
_COLUMNS = {"text": "class_text_column", "label": "class_label_column"}
"""The keys of the widgets that choose the columns, by the field of `UserFile`"""


@dataclass(frozen=True)
class UserFile:
    """A file that this session's visitor uploaded."""

    name: str
    data: bytes
    table: Table
    text: str
    """The column with the texts"""
    label: str
    """The column with the classes"""

    @cached_property
    def examples(self) -> tuple[Examples | None, str]:
        """Its texts and classes, and ""; None and why they can't be used, in a sentence."""
        try:
            return examples_of(self.table, self.data, name=self.name, text=self.text, label=self.label), ""
        except CsvError as why:
            return None, str(why)


@dataclass(slots=True)
class _FileRecord:
    """What a session keeps of its visitor's file."""

    file: UserFile | None = None
    refused: str = ""
    """Why the last file could not be read"""


def chosen_examples(kind: ClassifierKind) -> Examples | None:
    """Return the training texts; None if a user's file is chosen, but no usable one is there."""
    if not kind.takes_files or source_of(_NAME) != "own":
        return built_in(NAMES[kind.name])
    file = state.record(_FileRecord).file
    return None if file is None else file.examples[0]


def file_refusal() -> str:
    """Return why the user's file can't be used, in a sentence; "" if it can, or if there is no file."""
    kept = state.record(_FileRecord)
    return kept.refused if kept.file is None else kept.file.examples[1]


def data_choice(kind: ClassifierKind) -> None:
    """Let the user choose the texts, if the server takes uploads."""
    if not kind.takes_files or not settings().uploads:
        return
    source = source_choice(_NAME, "Learn from", TEXT_SOURCES)
    if source == "own":
        file_field(
            "A CSV file, up to {most} MB", _UPLOAD, MOST_BYTES, type=["csv", "tsv", "txt"], on_change=_take_upload,
            help=FORMAT,
        )  # fmt: skip
        _columns()


def _columns() -> None:
    """Let the user choose the columns of their file."""
    file = state.record(_FileRecord).file
    if file is None:
        return
    places = st.columns(2)
    for place, (name, title) in zip(places, (("text", "Texts"), ("label", "Classes")), strict=True):
        with place:
            key = _COLUMNS[name]
            if st.session_state.get(key) not in file.table.columns:
                st.session_state[key] = getattr(file, name)
            st.selectbox(title, file.table.columns, key=key, on_change=_take_columns)
    st.caption(f"{plain(file.name[:60])}: {len(file.table.rows):,} rows")


def _take_upload() -> None:
    """Read an uploaded file, or keep the reason why it is refused."""
    upload, kept = uploaded(_UPLOAD), state.record(_FileRecord)
    kept.file, kept.refused = None, ""
    if upload is None:
        return
    try:
        if upload.size > MOST_BYTES:
            raise CsvError(f"A CSV file can have {MOST_BYTES // 2**20} MB; this one {larger(upload.size, MOST_BYTES)}.")
        data = upload.getvalue()
        table = read_table(data)
    except CsvError as why:
        kept.refused = str(why)
        return
    kept.file = UserFile(upload.name, data, table, *_likely(table))
    for key in _COLUMNS.values():
        st.session_state.pop(key, None)


def _likely(table: Table) -> tuple[str, str]:
    """Guess which columns hold the texts and the classes."""
    sizes = {name: sum(map(len, table.column(name))) for name in table.columns}
    text = max(sizes, key=lambda name: sizes[name])
    values = {name: len(set(table.column(name))) for name in table.columns if name != text}
    several = {name: count for name, count in values.items() if count > 1} or values
    return text, min(several, key=lambda name: several[name], default=text)


def _take_columns() -> None:
    """Use the chosen columns if the file has them: a client may send any names."""
    kept = state.record(_FileRecord)
    if kept.file is None:
        return
    names: dict[str, Any] = {name: st.session_state.get(key) for name, key in _COLUMNS.items()}
    if all(name in kept.file.table.columns for name in names.values()):
        kept.file = replace(kept.file, **names)


def show_controls(kind: ClassifierKind) -> None:
    """Show all settings."""
    st.html(style("bert_own_text"))
    data_choice(kind)
    state.choice(
        "features", st.segmented_control, "Features of a text", required=True, width="stretch", help=FEATURES_HELP
    )
    state.bound("tanh", st.toggle, "tanh of each number first")
    left, right = st.columns(2)
    with left:
        state.bound("class_steps", st.number_input, "Steps", 1, MAX_CLASS_STEPS, step=50)
        controls.seed()
    with right:
        rate = state.get("class_rate")
        rates = RATES if rate in RATES else tuple(sorted((*RATES, rate)))
        state.bound("class_rate", st.selectbox, "Learning rate", rates, among=rates, format_func="{:g}".format)
    st.caption(
        "The model stays frozen: only the linear layer learns, with AdamW, 32 texts a step. The seed is of the split, "
        "the first weights and the order."
    )

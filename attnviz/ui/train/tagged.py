"""The sentences to tag: generated ones, or a user's two files, which stay in the session. No link holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import streamlit as st

from attnviz.formatting import counted, percent, quoted
from attnviz.settings import settings
from attnviz.training.tagged.files import MOST_BYTES, TaggedError, made_of, read_tagged
from attnviz.training.tagged.task import WATCHED, TaggedSentences
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.tokens.choices import file_field, source_choice, source_of, uploaded

SOURCES = {"built_in": "Generated", "own": "Your files"}
FILES = {"training": "Training file", "test": "Test file"}
"""The titles of both files"""
EXAMPLE = "she\tPRON\nplans\tVERB\n.\tPUNCT\n\nher\tDET\nplans\tNOUN\nwork\tVERB"
FORMAT = "UTF-8: a word and its tag a line, a tab or spaces between them, a blank line between sentences. For example:"
NO_LINK = "The files stay in this session. They are in no link: a link opens the generated sentences."
_NAME = "tagged"


@dataclass(slots=True)
class _FilesRecord:
    """What a session keeps of the visitor's files."""

    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """The name and the bytes of each of `FILES` that is there"""
    sentences: TaggedSentences | None = None
    """Both as a task; None if one is missing or refused"""
    refused: str = ""
    """Why one was refused"""


def own_sentences() -> TaggedSentences | None:
    """Return the visitor's files as a task; None if generated sentences are chosen, or a file is missing or refused."""
    return state.record(_FilesRecord).sentences if source_of(_NAME) == "own" else None


def sentences_choice(on_change: Callable[[], None]) -> None:
    """Show the menu of sentences and the fields for the files, if the server takes uploads.

    Args:
        on_change: called when the sentences change.
    """
    if not settings().uploads or source_choice(_NAME, "Sentences", SOURCES, on_change) != "own":
        return
    task = own_sentences()
    with st.expander("Training and test file", expanded=task is None):
        for which, title in FILES.items():
            label = f"{title} (text, up to {{most}} MB)"
            file_field(label, f"{_NAME}_{which}", MOST_BYTES, on_change=_take, args=(which, on_change))
        st.caption(FORMAT)
        st.code(EXAMPLE, language=None)
        st.caption(NO_LINK)
        for line in () if task is None else facts_of(task):
            st.caption(plain(line))
    if refused := state.record(_FilesRecord).refused:
        st.error(plain(refused))
    st.caption("Until both files are there, the generated sentences are shown." if task is None else _counts(task))


def _counts(task: TaggedSentences) -> str:
    """Summarise the files; `facts_of` says the same in sentences."""
    files = task.data
    train, test = (
        f"{name}: {counted(len(part.lengths), 'sentence')}, {counted(len(part.words), 'word')}"
        for name, part in (("Training", files.train), ("Test", files.test))
    )
    both = (
        f" {counted(files.seen, 'test sentence')} {'is' if files.seen == 1 else 'are'} in both." if files.seen else ""
    )
    return (
        f"{train}, {len(files.tags)} tags. {test}, {percent(files.unknown / len(files.test.words), 1)} unknown.{both} "
        f"Baseline: {percent(files.baseline.right / files.baseline.total, 1)} right. No link holds the files."
    )


def facts_of(task: TaggedSentences) -> Iterator[str]:
    """Yield sentences that describe the files before a training."""
    files = task.data
    train, test, usual = files.train, files.test, files.baseline
    yield (
        f"Training file {quoted(train.name)}: {counted(len(train.lengths), 'sentence')}, "
        f"{counted(len(train.words), 'word')}, {len(files.words):,} different; {len(files.tags)} tags."
    )
    unknown = percent(files.unknown / len(test.words), 1)
    yield (
        f"Test file {quoted(test.name)}: {counted(len(test.lengths), 'sentence')}, {counted(len(test.words), 'word')}; "
        f"{unknown} of these are unknown, as the training file lacks them. {_seen(files.seen)}"
    )
    right = percent(usual.right / usual.total, 1)
    yield (
        f"Baseline: {right} of the test file's words have the tag that is the word's most frequent one in the "
        "training file, or of an unknown word the most frequent tag of all."
    )
    if files.unknown and not task.has_rare_words:
        yield "No word stands only once in the training file, so a model learns nothing about unknown words."
    if len(test.lengths) > WATCHED:
        yield (
            f"While a model trains, and without one of its heads, {WATCHED} test sentences are measured, evenly spread "
            "over the file; at the end all of them."
        )


def _seen(count: int) -> str:
    if not count:
        return "None of the sentences stands in the training file."
    return f"{counted(count, 'sentence')} of it {'stands' if count == 1 else 'stand'} in the training file too."


def _take(which: str, on_change: Callable[[], None]) -> None:
    """Keep an uploaded file, and read both; if one is refused, keep the reason."""
    file, kept = uploaded(f"{_NAME}_{which}"), state.record(_FilesRecord)
    kept.files.pop(which, None)
    if file is not None:
        kept.files[which] = file.name, file.read(MOST_BYTES + 1)
    kept.sentences, kept.refused = None, ""
    on_change()
    try:
        read = {name: read_tagged(data, name, title) for name, (title, data) in kept.files.items()}
        if len(read) == len(FILES):
            kept.sentences = TaggedSentences(made_of(*(read[name] for name in FILES)))
    except TaggedError as why:
        kept.refused = str(why)

"""A text file with a word and its tag a line, and a blank line between sentences. It imports no torch."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from attnviz.formatting import quoted
from attnviz.reprs import ShortRepr
from attnviz.tokens.chars import BadUploadError, read_upload

MOST_BYTES = 2**20
"""Of a file, whole megabytes"""
MOST_SENTENCES = 20_000
"""Of a file"""
MOST_WORDS = 128
"""Of a sentence"""
MOST_DIFFERENT = 8190
"""Different words of a training file: with the two tokens that are no words, as many as a model's file can hold"""
MOST_TAGS = 100
"""Different ones of a training file"""
LONGEST = 60
"""The most characters of a word, and of a tag"""
RULE = "a line has a word and its tag, with a tab or spaces between them"
_LINE_ENDS, _SPACES = re.compile(r"\r\n|\r|\n"), re.compile(r"[ \t]+")
_NOT_TEXT = re.compile(rb"\r\n|\r|\n")

Sentence = tuple[tuple[str, str], ...]
"""Words and their tags"""


class TaggedError(ValueError):
    """A file can't be used. The message is one sentence for the user, with the line where there is one."""


@dataclass(frozen=True, eq=False, repr=False)
class TaggedText(ShortRepr):
    """What a file holds."""

    name: str
    """Of the file, without its folder"""
    sha256: str
    """Of its bytes"""
    characters: int
    sentences: tuple[Sentence, ...]
    lines: dict[str, int]
    """The line, from 1, on which each tag stands first, in this order"""


def read_tagged(data: bytes, which: str, name: str = "") -> TaggedText:
    """Read a file.

    Words are what stands between tabs and spaces, as they are written: upper and lower case differ.

    Args:
        data: its bytes, or as many of them as `MOST_BYTES` + 1.
        which: "training" or "test", for the sentence about a file that is refused.
        name: of the file.

    Raises:
        TaggedError: it is too large, no UTF-8 text, or has a line that is not of this form, no sentence, or more than
            it may.
    """
    try:
        text = read_upload(data, f"A {which} file", MOST_BYTES)
    except BadUploadError as why:
        raise TaggedError(f"{str(why).removesuffix('.')}{_at_line(data)}.") from why
    where = f"of the {which} file"
    sentences: list[Sentence] = []
    words: list[tuple[str, str]] = []
    lines: dict[str, int] = {}
    for number, line in enumerate([*_LINE_ENDS.split(text), ""], 1):
        stripped = line.strip(" \t")
        if stripped:
            word, tag = _word_and_tag(stripped, number, where)
            words.append((word, tag))
            lines.setdefault(tag, number)
            if len(words) > MOST_WORDS:
                raise TaggedError(
                    f"Line {number:,} {where} is word {MOST_WORDS + 1} of its sentence, which can have {MOST_WORDS}: "
                    "a blank line ends a sentence."
                )
        elif words:
            sentences.append(tuple(words))
            words = []
            if len(sentences) > MOST_SENTENCES:
                raise TaggedError(f"Sentence {len(sentences):,} {where} ends at line {number - 1:,}: "
                                  f"a file can have {MOST_SENTENCES:,} sentences.")  # fmt: skip
    if not sentences:
        raise TaggedError(f"The {which} file has no sentences: {RULE}.")
    return TaggedText(name, hashlib.sha256(data).hexdigest(), len(text), tuple(sentences), lines)


def _word_and_tag(line: str, number: int, of: str) -> tuple[str, str]:
    word, _, rest = line.replace("\t", " ").partition(" ")
    tag = rest.lstrip(" ")
    if tag and " " not in tag and len(word) <= LONGEST and len(tag) <= LONGEST:
        return word, tag
    where, cells = f"Line {number:,} {of}", _SPACES.split(line, maxsplit=8)
    if len(cells) != 2:
        several = f"{len(cells)}" if len(cells) < 9 else "more than 8"
        shown = f", {quoted(line)}" if len(cells) == 1 else ""
        raise TaggedError(f"{where} has {'one column' if len(cells) == 1 else f'{several} columns'}{shown}: {RULE}.")
    what, cell = ("word", word) if len(word) > LONGEST else ("tag", tag)
    raise TaggedError(f"{where} has a {what} of {len(cell):,} characters; it can have {LONGEST}.")


def _at_line(data: bytes) -> str:
    """Return where a file stops being text, such as " (line 3)"; "" if it is text."""
    if len(data) > MOST_BYTES:
        return ""
    at = data.find(b"\0")
    if at < 0:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as why:
            at = why.start
    return f" (line {len(_NOT_TEXT.findall(data[:at])) + 1:,})" if at >= 0 else ""

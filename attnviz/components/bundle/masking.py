"""Tells JavaScript's code from its comments, strings, templates and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator

FILLER = "~"
"""What stands for each character inside of a string, a template or a regular expression"""

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<mark>[`{}/])"""
    r"""|(?P<word>[\w$]+)"""
    r"""|(?P<other>[^\s])""",
    re.DOTALL,
)
_REGULAR_EXPRESSION = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(`|\$\{)", re.DOTALL)
_BEFORE_VALUE = {"return", "typeof", "case", "in", "of", "else", "await", "yield", "throw", "void", "delete", "new"}
"""Words after which a slash begins a regular expression; after other words it divides"""


def mask(source: str) -> str:
    """Return the source at the same length, with comments as spaces, and `FILLER` in strings and the like.

    Line breaks stay in code and comments. Quotes and slashes stay, and so does code inside of a template.

    Raises:
        ValueError: a template does not end, or a slash follows "}", where it may mean either.
    """
    masked = list(source)
    for start, end, is_comment in _hidden(source):
        for at in range(start, end):
            if not is_comment:
                masked[at] = FILLER
            elif source[at] != "\n":
                masked[at] = " "
    return "".join(masked)


def _hidden(source: str) -> Iterator[tuple[int, int, bool]]:
    """Yield what is not code: where it begins and ends, and whether it is a comment."""
    at, before, depth = 0, "", 0
    templates: list[int] = []  # of those around this place, how deep the braces are that end their code
    while token := _TOKEN.search(source, at):
        kind, text, at = token.lastgroup, token.group(), token.end()
        if kind == "comment":
            yield token.start(), at, True
            continue
        if kind == "string":
            yield token.start() + 1, at - 1, False
        elif text == "/" and _begins_expression(before):
            found = _REGULAR_EXPRESSION.match(source, token.start())
            if found is None:
                raise ValueError(f"a regular expression does not end: {source[token.start() : at + 20]!r}")
            yield at, found.end() - 1, False
            text, at = ")", found.end()  # a value
        elif text == "{":
            depth += 1
        elif text == "`" or (text == "}" and templates and templates[-1] == depth):
            if text == "}":
                templates.pop()
            found = _TEMPLATE.match(source, at)
            if found is None:
                raise ValueError("a template does not end")
            yield at, found.start(1), False
            at = found.end()
            text = ")" if found[1] == "`" else "("
            if found[1] != "`":
                templates.append(depth)
        elif text == "}":
            depth -= 1
        before = text


def _begins_expression(before: str) -> bool:
    """Whether a slash after this token begins a regular expression."""
    if before == "}":
        raise ValueError("a slash after “}” may divide or begin a regular expression: write it otherwise")
    is_value = before in (")", "]") or before[:1] in ('"', "'") or re.fullmatch(r"[\w$]+", before) is not None
    return not is_value or before in _BEFORE_VALUE

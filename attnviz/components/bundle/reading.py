"""Reads one module of `frontend/`: what it imports and exports, and its code without the statements that say so."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from attnviz.components.bundle.masking import mask

RESERVED = ("$modules", "$add", "$get", "$load", "$default")
"""Names that a bundle uses itself"""

_NAMES = r"\{([^{}]*)\}"
_IMPORT = re.compile(rf'^import\s+(?:(\w+)(?:\s*,\s*|\s+))?(?:{_NAMES}\s*)?from\s+"(~+)";', re.MULTILINE)
_DYNAMIC = re.compile(r'(?<![.\w$])import\("(~+)"\)')
_DECLARED = re.compile(r"^export\s+(?=(?:(?:async\s+)?function\*?|class|const)\s+(\w+)\b)", re.MULTILINE)
_LISTED = re.compile(rf"^export\s+{_NAMES};", re.MULTILINE)
_DEFAULT = re.compile(r"^export\s+default\s+(?!async\b|function\b|class\b)", re.MULTILINE)
_APART = re.compile(r"[=(){}\[\],;:?<>&|]")
_OPEN = re.compile(r"[({\[,;]")
_CLOSED = re.compile(r"[)}\],;]")
_KEYWORD = re.compile(r"(?<![.\w$])(?:import|export)(?![\w$]|\s*:)")


class BundleError(ValueError):
    """A module is written in a way that the bundle does not know. The message names the module and the line."""


@dataclass(frozen=True, slots=True)
class Import:
    """What a module needs of another one."""

    path: str
    names: Mapping[str, str]
    """The names here, by what they are called there; "default" for the default export"""


@dataclass(frozen=True, slots=True)
class Module:
    """One module."""

    path: str
    """Relative to `frontend/`"""
    imports: tuple[Import, ...]
    loads: tuple[str, ...]
    """The paths of modules that it loads later, by `import()`"""
    exports: Mapping[str, str]
    """The names here, by the names of the exports"""
    parts: tuple[str, ...]
    """The code, cut where a module is loaded: the path of `loads[i]` belongs between parts i and i + 1"""


def read_module(source: str, path: str) -> Module:
    """Read the source of a module.

    Raises:
        BundleError: it imports or exports in another way than the modules of `frontend/` do.
    """
    try:
        masked = mask(source)
    except ValueError as error:
        raise BundleError(f"{path}: {error}") from error
    imports, loads, exports = [], [], {}
    cuts: list[tuple[int, int, str | None]] = []  # what is replaced, and by what; None where a module is loaded
    for found in _IMPORT.finditer(masked):
        default = {"default": found[1]} if found[1] else {}
        own = _beside(path, source[slice(*found.span(3))])
        imports.append(Import(own, default | dict(_names(path, found[2] or ""))))
        cuts.append((*found.span(), ""))
    for found in _DYNAMIC.finditer(masked):
        loads.append(_beside(path, source[slice(*found.span(1))]))
        cuts.append((*found.span(), None))
    for found in _DECLARED.finditer(masked):
        exports[found[1]] = found[1]
        cuts.append((*found.span(), ""))
    for found in _LISTED.finditer(masked):
        exports |= {as_name: name for name, as_name in _names(path, found[1])}
        cuts.append((*found.span(), ""))
    for found in _DEFAULT.finditer(masked):
        exports["default"] = "$default"
        cuts.append((*found.span(), "const $default = "))
    _check(masked, path, [(start, end) for start, end, _ in cuts])
    return Module(path, tuple(imports), tuple(loads), exports, _parts(source, masked, sorted(cuts, key=lambda c: c[0])))


def _names(path: str, listed: str) -> Iterator[tuple[str, str]]:
    """Yield the two names of each entry of `a, b as c`."""
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        found = re.fullmatch(r"(\w+)(?:\s+as\s+(\w+))?", entry)
        if found is None:
            raise BundleError(f"{path}: “{entry}” is not a name")
        yield found[1], found[2] or found[1]


def _beside(path: str, given: str) -> str:
    """Return the path of a module that another one names."""
    own = posixpath.normpath(posixpath.join(posixpath.dirname(path), given))
    if not given.startswith(("./", "../")) or not given.endswith(".js") or own.startswith(".."):
        raise BundleError(f"{path}: “{given}” is not a module of ours")
    return own


def _check(masked: str, path: str, known: list[tuple[int, int]]) -> None:
    for found in _KEYWORD.finditer(masked):
        if not any(start <= found.start() < end for start, end in known):
            line = masked.count("\n", 0, found.start()) + 1
            raise BundleError(f"{path}, line {line}: this way to import or export is not known")
    for name in RESERVED:
        if name in masked:
            raise BundleError(f"{path}: the name {name} belongs to the bundle")


def _parts(source: str, masked: str, cuts: list[tuple[int, int, str | None]]) -> tuple[str, ...]:
    """Return the code without comments and indentation, with each cut replaced."""
    parts, at = [""], 0
    for start, end, instead in cuts:
        parts[-1] += _plain(source[at:start], masked[at:start])
        if instead is None:
            parts.append("")
        else:
            parts[-1] += instead
        at = end
    parts[-1] += _plain(source[at:], masked[at:])
    return tuple(parts)


def _plain(source: str, masked: str) -> str:
    """Return code with at most one space or line break for each gap between words, where comments are gaps too.

    There is none beside punctuation that can't join with its neighbour to another operator or end a statement.
    """
    plain, at = [], 0
    for gap in re.finditer(r"\s+", masked):
        before, after = masked[gap.start() - 1 : gap.start()], masked[gap.end() : gap.end() + 1]
        is_break = "\n" in gap[0]
        is_needless = _OPEN.match(before) or _CLOSED.match(after) if is_break else _APART.search(before + after)
        plain += [source[at : gap.start()], "" if is_needless else "\n" if is_break else " "]
        at = gap.end()
    return "".join([*plain, source[at:]])

"""Extracts the source of a task's functions, with everything that they use, as code that needs torch alone."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from attnviz.training.tasks.task import Task

OWN = "attnviz."
"""Definitions of modules whose names begin with this are copied; those of other modules are imported"""
WITHOUT = "ShortRepr"
"""A base class that only changes how a value is printed; the script leaves it out"""


@dataclass(frozen=True, slots=True)
class Extract:
    """Definitions, and the imports that they need."""

    imports: frozenset[str]
    """Statements such as "import string" and "from functools import cache" """
    text: str


@dataclass(frozen=True, slots=True)
class _Definition:
    """A function, a class or a constant, with the docstring that follows it."""

    line: int
    text: str
    body: Mapping[str, _Definition]
    """The definitions inside a class"""


@dataclass(frozen=True, slots=True)
class _Module:
    definitions: Mapping[str, _Definition]
    imported: Mapping[str, tuple[str, str]]
    """By local name: the module it comes from (empty if it is a module itself), and its name there"""


def extract(task: Task, members: Iterable[str], names: Iterable[str]) -> Extract:
    """Return members of a task and functions of its module as functions of a script, with everything that they use.

    Args:
        task: the task.
        members: its methods. They become functions without `self`; its constants become names in capitals.
        names: functions and constants of the task's module, or of the module that all tasks share.
    """
    copying, of_task = _Copying(task), type(task).__module__
    for name in members:
        copying.member(name)
    for name in names:
        copying.name(name, of_task if name in _module(of_task).definitions else Task.__module__)
    return Extract(frozenset(copying.imports), _joined([copying.copied[place] for place in sorted(copying.copied)]))


@dataclass(slots=True)
class _Copying:
    task: Task
    copied: dict[tuple[bool, str, int], str] = field(default_factory=dict)
    """Source text by sort key: what all tasks share comes first, then the task's own module, each in its own order"""
    imports: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    """The names of the task's members in the script"""

    def member(self, name: str) -> None:
        """Copy a member of the task."""
        owner = next(cls for cls in type(self.task).__mro__ if name in vars(cls))
        definition = _module(owner.__module__).definitions[owner.__name__].body[name]
        text = re.sub(rf"^{name}\b", _constant(name), definition.text)
        text = text.replace("(self, ", "(").replace("(self)", "()").replace("self.", f"{type(self.task).__name__}.")
        text = text.replace("@cached_property", "@cache").removeprefix("@property\n")
        self._copy(definition.line, text, owner.__module__)

    def name(self, name: str, module: str) -> None:
        """Copy or import the object that has this name in a module."""
        contents = _module(module)
        if name in contents.definitions:
            self._copy(contents.definitions[name].line, contents.definitions[name].text, module)
        elif name in contents.imported:
            origin, original = contents.imported[name]
            if origin.startswith(OWN):
                self.name(original, origin)
            else:
                self.imports.add(f"from {origin} import {original}" if origin else f"import {original}")
        elif not hasattr(builtins, name):
            raise NameError(f"{name} is neither defined nor imported in {module}")

    def _copy(self, line: int, text: str, module: str) -> None:
        """Copy a definition, and everything that it uses."""
        place = (module == type(self.task).__module__, module, line)
        if place in self.copied:
            return
        self.copied[place] = ""  # it may use itself
        text = re.sub(rf"\b{type(self.task).__name__}\.(\w+)", self._named, text)
        self.copied[place] = text.replace(f"({WITHOUT})", "").replace("  # fmt: skip", "")
        for name in _used(ast.parse(self.copied[place])) - self.members:
            if name == "cache":
                self.imports.add("from functools import cache")
            else:
                self.name(name, module)

    def _named(self, match: re.Match[str]) -> str:
        """Return the script's expression for a member."""
        name = match[1]
        self.members |= {name, _constant(name)}
        self.member(name)
        member: Any = inspect.getattr_static(type(self.task), name)
        if isinstance(member, property | cached_property):
            return f"{name}()"
        return name if inspect.isfunction(member) else _constant(name)


def _constant(name: str) -> str:
    return name.upper() if name == "labels" else name


@cache
def _module(name: str) -> _Module:
    source = inspect.getsource(sys.modules[name])
    body = ast.parse(source).body
    imported: dict[str, tuple[str, str]] = {}
    for node in body:
        if isinstance(node, ast.Import):
            imported |= {alias.name: ("", alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
    return _Module(dict(_definitions(body, source.splitlines())), imported)


def _definitions(body: Sequence[ast.stmt], lines: Sequence[str]) -> Iterator[tuple[str, _Definition]]:
    """Yield the definitions in a module or a class, by name; a constant includes the docstring that follows it."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        last = node
        has_docstring = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if after is not None and has_docstring and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            last = after
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        text = textwrap.dedent("\n".join(lines[first - 1 : last.end_lineno]))
        inner = dict(_definitions(node.body, lines)) if isinstance(node, ast.ClassDef) else {}
        for name in _defined(node):
            yield name, _Definition(first, text, inner)


def _defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return [
            target.id for target in ast.walk(node) if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        ]
    return []


def _used(tree: ast.AST) -> set[str]:
    """Return the names that code uses but does not define, including those in annotations."""
    nodes = list(ast.walk(tree))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - bound


def _joined(texts: Sequence[str]) -> str:
    """Join definitions: two blank lines around functions and classes."""
    code = ""
    for before, text in zip(["", *texts[:-1]], texts, strict=True):
        apart = re.match(r"(@|def |class )", text) or re.match(r"(@|def |class )", before)
        code += ("\n\n\n" if apart else "\n") * bool(before) + text
    return code

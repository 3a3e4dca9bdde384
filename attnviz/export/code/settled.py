"""The source of a model of this project for one setting: what a script shows of a model is what the app runs.

Of a class, a script gets `__init__`, `forward` and what they use. Where a setting decides an `if`, what it chooses is
left; `__init__` takes no arguments; a module that changes nothing, such as a dropout of 0, is left out. So are checks
of arguments, what the app records, annotations, and all but the first paragraph of a function's docstring.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnviz.export.code.source import OWN, WITHOUT, joined, module_of, used

CHECKS = re.compile(r"(self\.)?(_check|watch_)\w*$")
"""Functions whose calls are left out: they check arguments, or let the app record"""
ROWS_WITHOUT_KEYS = "_zero_hidden_rows"
"""No query of a script sees no key at all"""
REPLACED = {"recorded_attention": ('''\
def recorded_attention(module, query, key, value, *, mask=None):
    """Compute attention, and keep its steps in the module, where they can be read."""
    module.steps = attend(query, key, value, mask=mask)
    return module.steps''', "attnviz.attention")}  # fmt: skip
"""What stands in scripts for functions by which the app records, and the module in which it is at home"""
ALWAYS = {
    "isinstance(mask, Mask)": "False", "mask.dtype != torch.bool": "False", "mask.dtype == torch.bool": "True",
    "nn.Module.__init__(self)": "super().__init__()",
}  # fmt: skip
"""Of all scripts: masks are True where a query may look"""
ABSENT = {"past": "None", "before": "0", "fills": "None", "settings": "None"}
"""Parameters and variables that no script has: those of a key-value cache, and what is passed on"""
DEFAULTS = {"bias": True, "eps": 1e-05}
"""Of torch's modules"""
KEPT: Mapping[str, tuple[str, ...]] = {"AttentionSteps": ("concat",), "Batch": (), "Result": (), "ChunkSettings": ()}
"""Dataclasses, and what others use of them beside their fields"""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of a model. Values are Python expressions."""

    names: Mapping[str, str]
    """By the name of an argument of `__init__`"""
    expressions: Mapping[str, str]
    """By an expression of any method or function, such as "self.norm_first", as `ast.unparse` writes it"""
    absent: tuple[str, ...] = ()
    """Arguments that are None always"""
    of_class: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """As `names`, of one class"""
    merges: bool = True
    """Whether a class takes over the members of its base class; not where another one needs this too"""


@dataclass(frozen=True, slots=True)
class Settled:
    """A class with all that it uses."""

    imports: frozenset[str]
    """Statements such as "from torch import nn" """
    texts: Mapping[str, str]
    """The definitions by name; what is used stands before what uses it"""

    @property
    def text(self) -> str:
        """All of them."""
        return joined(list(dict.fromkeys(self.texts.values())))


def plain(*functions: Callable[..., object]) -> Settled:
    """Return the source of functions and of all that they use, without annotations and checks."""
    reading = _Reading(Setting({}, {}))
    for one in functions:
        reading.take(one.__name__, (one.__module__,))
    constants_first = sorted(reading.texts, key=lambda name: reading.texts[name].startswith(("def ", "class ", "@")))
    return Settled(frozenset(reading.imports), {name: reading.texts[name] for name in constants_first})


def settled(name: str, module: str, setting: Setting) -> Settled:
    """Return the source of a class of this project for a setting; its module has been imported."""
    reading = _Reading(setting)
    reading.take(name, (module,))
    return Settled(frozenset(reading.imports), reading.texts)


class _Reading:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.texts: dict[str, str] = {}
        self.imports: set[str] = set()
        self._seen: set[str] = set()
        self._same: set[str] = set()

    def take(self, name: str, modules: Sequence[str]) -> None:
        """Add what a name stands for in the first of these modules that knows it."""
        for module in modules:
            there = module_of(module)
            if name in REPLACED and name not in self._seen:
                self._add(name, REPLACED[name][0], (REPLACED[name][1],))
            elif name in there.definitions and name not in self._seen:
                node = there.definitions[name].node
                homes: tuple[str, ...] = (module,)
                if isinstance(node, ast.ClassDef):
                    merged, homes = self._with_base(node, module)
                    for base in map(ast.unparse, merged.bases):
                        self.take(base if base != WITHOUT else "", homes)
                    node = merged
                self._add(name, _Writer(self.setting, self._same).text(_with_home(node, module)), homes)
            elif name in there.imported:
                origin, original = there.imported[name]
                if origin.startswith(OWN):
                    self.take(original, (origin,))
                else:
                    self.imports.add(f"from {origin} import {original}" if origin else f"import {original}")
            else:
                continue
            return

    def _add(self, name: str, text: str, modules: Sequence[str]) -> None:
        self._seen.add(name)
        for one in sorted(used(ast.parse(text)), key=text.index):
            self.take(one, modules)
        self.texts[name] = text

    def _with_base(self, node: ast.ClassDef, module: str) -> tuple[ast.ClassDef, tuple[str, ...]]:
        """Return a class with the members of its base class that it does not define, and the modules of both."""
        base = ast.unparse(node.bases[0]) if node.bases else ""
        starts = next((ast.unparse(one) for one in node.body if getattr(one, "name", "") == "__init__"), "")
        if not self.setting.merges or "super().__init__" in starts:
            return node, (module,)
        home = module if base in module_of(module).definitions else module_of(module).imported.get(base, ("",))[0]
        if not home.startswith(OWN) or base == WITHOUT:
            return node, (module,)
        above = module_of(home).definitions[base].node
        if not isinstance(above, ast.ClassDef):
            raise TypeError(f"{base} is no class of {home}")
        own = {getattr(one, "name", "") for one in node.body}
        more = [_with_home(one, home) for one in above.body[1:] if getattr(one, "name", "") not in own]
        body = [node.body[0], *more, *node.body[1:]]
        return ast.ClassDef(**{**vars(node), "bases": above.bases, "body": body}), (module, home)


def _with_home(node: ast.stmt, module: str) -> ast.stmt:
    """Let each statement know the module whose lines it stands in."""
    for one in ast.walk(node):
        if isinstance(one, ast.stmt) and not hasattr(one, "home"):
            one.home = module  # type: ignore[attr-defined]
    return node


class _Fold(ast.NodeTransformer):
    """Puts what is known into expressions, and takes what it decides."""

    def __init__(self, setting: Setting, same: set[str]) -> None:
        """`same`: modules that change nothing; those that are found are added."""
        self.names = {**ABSENT, **dict.fromkeys(setting.absent, "None")} if setting.names else {}
        """What variables are"""
        self.absent = tuple(self.names)
        self.expressions = {**ALWAYS, **setting.expressions}
        self.constants = set(setting.names.values())
        self.same = same

    def visit(self, node: ast.AST) -> Any:
        """Return what an expression is, as far as it is known."""
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            known = self.expressions.get(ast.unparse(node))
            if known is None and isinstance(node, ast.Name):
                known = self.names.get(node.id)
            if known is not None:
                return ast.parse(known, mode="eval").body
        return super().visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.left, ast.Constant) and isinstance(node.comparators[0], ast.Constant):
            first, second = node.left.value, node.comparators[0].value
            is_negative = isinstance(node.ops[0], ast.NotEq | ast.IsNot)
            return ast.Constant((first == second) != is_negative)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)  # the value of one part that decides the whole
        node.values = [one for one in node.values if not isinstance(one, ast.Constant) or bool(one.value) == decides]
        if not node.values or any(isinstance(one, ast.Constant) for one in node.values):
            return ast.Constant(decides == bool(node.values))
        return node.values[0] if len(node.values) == 1 else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return node.right if isinstance(node.op, ast.Add) and ast.unparse(node.left) == "0" else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Slice) and node.slice.lower and ast.unparse(node.slice.lower) == "0":
            node.slice.lower = None
            return node if node.slice.upper else node.value
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = ast.unparse(node.func)
        if called in self.same:
            return node.args[0]
        if called == "super().__init__" or (called.isidentifier() and called[0].isupper() and called not in KEPT):
            node.args, node.keywords = [], []
        node.args = [one for one in node.args if ast.unparse(one) != "None"]
        node.keywords = [one for one in node.keywords if one.arg not in self.absent and not _is_default(one)]
        return node


def _is_default(keyword: ast.keyword) -> bool:
    value = keyword.value
    if not isinstance(value, ast.Constant):
        return False
    return value.value is None or (keyword.arg in DEFAULTS and value.value == DEFAULTS[keyword.arg])


class _Writer:
    """Writes one definition."""

    def __init__(self, setting: Setting, same: set[str]) -> None:
        self._setting, self._fold = setting, _Fold(setting, same)

    def text(self, node: ast.stmt) -> str:
        """Return a function, a class or a constant as text."""
        if isinstance(node, ast.FunctionDef):
            return "\n".join(self._function(node, ""))
        if isinstance(node, ast.ClassDef):
            return "\n".join(self._class(node))
        return "\n".join(_lines_of(node, ""))

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        yield from (f"@{ast.unparse(one)}" for one in node.decorator_list)
        bases = ", ".join(name for one in node.bases if (name := ast.unparse(one)) != WITHOUT)
        yield f"class {node.name}({bases}):" if bases else f"class {node.name}:"
        yield from _docstring(node, "    ")
        if node.decorator_list:  # a dataclass: its fields, each with what it holds
            yield ""
            for field_ in node.body[1:]:
                yield from _lines_of(field_, "    ") if isinstance(field_, ast.AnnAssign | ast.Expr) else ()
        else:
            self._fold.names |= {**self._setting.names, **self._setting.of_class.get(node.name, {})}
        reached = ["__init__", "forward", *KEPT.get(node.name, ())]
        written: dict[int, list[str]] = {}
        for name in reached:
            for at, member in enumerate(node.body):
                if at not in written and name in _names_of(member):
                    lines = self._function(member, "    ") if isinstance(member, ast.FunctionDef) else None
                    written[at] = list(_lines_of(member, "    ") if lines is None else lines)
                    self._fold.names = {name: self._fold.names[name] for name in self._fold.absent}
                    reached += re.findall(r"(?:self\.|^    forward = )(\w+)", "\n".join(written[at]))
        for at in sorted(written):
            yield from ("", *written[at])

    def _function(self, node: ast.FunctionDef, indent: str) -> Iterator[str]:
        yield from (f"{indent}@{ast.unparse(one)}" for one in node.decorator_list)
        arguments = copy.deepcopy(node.args)
        for argument in (*arguments.args, *arguments.kwonlyargs):
            argument.annotation = None
        if node.name == "__init__":
            arguments = ast.arguments([], arguments.args[:1], None, [], [], None, [])
        kept = [
            (one, default)
            for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if one.arg not in self._fold.absent
        ]
        arguments.kwonlyargs, arguments.kw_defaults = [one for one, _ in kept], [one for _, one in kept]
        gone = [one for one in arguments.args if one.arg in self._fold.absent]
        arguments.args = [one for one in arguments.args if one not in gone]
        arguments.defaults = arguments.defaults[: len(arguments.defaults) - len(gone)]
        yield f"{indent}def {node.name}({_unparsed(arguments)}):"
        yield from _docstring(node, f"{indent}    ")
        body = node.body[1:] if ast.get_docstring(node) else node.body
        yield from self._block(body, f"{indent}    ")

    def _block(self, body: Sequence[ast.stmt], indent: str) -> Iterator[str]:
        for node in self._settled(body):
            if isinstance(node, ast.If | ast.For):
                yield from self._compound(node, indent)
            else:
                yield from _lines_of(node, indent)

    def _compound(self, node: ast.If | ast.For, indent: str) -> Iterator[str]:
        if isinstance(node, ast.For):
            yield f"{indent}for {_tuple(node.target)} in {_unparsed(node.iter)}:"
        else:
            yield f"{indent}if {_unparsed(node.test)}:"
        for one in node.body:
            yield from (
                self._compound(one, f"{indent}    ")
                if isinstance(one, ast.If | ast.For)
                else _lines_of(one, f"{indent}    ")
            )
        if node.orelse:
            yield f"{indent}else:"
            for one in node.orelse:
                yield from _lines_of(one, f"{indent}    ")

    def _settled(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements that are left, with what is known in its place."""
        left: list[ast.stmt] = []
        for original in body:
            node = copy.deepcopy(original)
            if isinstance(node, ast.If | ast.For):
                left += self._of_compound(node)
            elif not self._is_left_out(node):
                before = ast.dump(node)
                node = self._fold.visit(node)
                if not self._learns(node):
                    node.is_changed = before != ast.dump(node)
                    left.append(node)
            if left and isinstance(left[-1], ast.Return):
                break
        for at, one in enumerate(left):
            if isinstance(one, ast.AnnAssign) and one.value is not None:  # what it says to a type checker alone
                is_result = left[at + 1 :] and ast.unparse(left[at + 1]) == f"return {ast.unparse(one.target)}"
                plain = ast.Return(one.value) if is_result else ast.Assign([one.target], one.value)
                left[at] = _in_place_of(one, plain)
                del left[at + 1 : at + 2 if is_result else at + 1]
        return left

    def _of_compound(self, node: ast.If | ast.For) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            node.test = self._fold.visit(node.test)
            if isinstance(node.test, ast.Constant):
                return self._settled(node.body if node.test.value else node.orelse)
            if isinstance(node.body[0], ast.Raise):
                return []
        else:
            node.iter = self._fold.visit(node.iter)
        node.body, node.orelse = self._settled(node.body), self._settled(node.orelse)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Call):
            number, item = node.target.elts
            is_used = any(ast.unparse(number) in used(one) for one in node.body)
            if ast.unparse(node.iter.func) == "enumerate" and not is_used:
                node.target, node.iter = item, node.iter.args[0]
        return [node] if node.body else []

    def _is_left_out(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Expr):
            called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
            return isinstance(node.value, ast.Constant) or bool(CHECKS.match(called))
        if isinstance(node, ast.AugAssign):
            return ast.unparse(node.target) in self._fold.absent
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            value = "" if node.value is None else ast.unparse(node.value)
            is_known = target in self._fold.absent or target in self._fold.expressions
            is_nothing = target.startswith("self.") and value == "None"
            return is_known or is_nothing or value.startswith(f"{ROWS_WITHOUT_KEYS}(")
        return False

    def _learns(self, node: ast.stmt) -> bool:
        """Whether a statement makes what is known from now on, and need not be written."""
        if not isinstance(node, ast.Assign):
            return False
        target, value = node.targets[0], node.value
        if ast.unparse(target) == ast.unparse(value):
            return True
        if isinstance(target, ast.Attribute) and ast.unparse(value) in ("nn.Identity()", "nn.Dropout(0.0)"):
            self._fold.same.add(ast.unparse(target))
            return True
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        if all(isinstance(one, ast.Name) and self._is_known(given) for one, given in pairs) and self._setting.names:
            self._fold.names |= {ast.unparse(one): ast.unparse(given) for one, given in pairs}
            return True
        return False

    def _is_known(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Constant) or ast.unparse(value) in self._fold.constants


def _unparsed(node: ast.AST) -> str:
    return re.sub(r"'((?:\\\\n|[^'\"\\])*)'", r'"\1"', ast.unparse(node))


def _in_place_of(old: ast.stmt, new: ast.stmt) -> ast.stmt:
    """Return a statement that is written where another was."""
    new.home, new.is_changed = old.home, True  # type: ignore[attr-defined]
    return ast.fix_missing_locations(ast.copy_location(new, old))


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [ast.unparse(one) for one in node.targets]
    return []


def _docstring(node: ast.ClassDef | ast.FunctionDef, indent: str) -> Iterator[str]:
    """Yield the docstring of a class, or the first paragraph of a function's."""
    if text := ast.get_docstring(node):
        kept = text if isinstance(node, ast.ClassDef) else text.split("\n\n")[0]
        ended = f'"""{kept}"""' if "\n" not in kept or isinstance(node, ast.FunctionDef) else f'"""{kept}\n"""'
        yield from (f"{indent}{line}".rstrip() for line in ended.splitlines())


def _lines_of(node: ast.stmt, indent: str) -> Iterator[str]:
    """Yield a statement as it is written in its module; one that has changed, with the comment at its end."""
    lines = module_of(node.home).lines  # type: ignore[attr-defined]
    end = node.end_lineno or node.lineno
    if not getattr(node, "is_changed", False):
        yield from (f"{indent}{line[node.col_offset :]}" for line in lines[node.lineno - 1 : end])
        return
    rest = lines[end - 1].encode()[node.end_col_offset :].decode().strip()
    text = _unparsed(node)
    text = re.sub(r"ModuleList\(\((.*)\)\)$", r"ModuleList(\1)", text)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        text = f"{_tuple(node.targets[0])} = {_tuple(node.value)}"
    yield f"{indent}{text}{f'  {rest}' if rest else ''}"


def _tuple(node: ast.expr) -> str:
    return ", ".join(map(ast.unparse, node.elts)) if isinstance(node, ast.Tuple) else ast.unparse(node)

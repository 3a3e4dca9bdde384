"""Puts modules into one text. Each becomes a function that runs once, when it is first needed, as modules do."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from attnviz.components.bundle.reading import BundleError, Module, read_module

FRONTEND = Path(__file__).resolve().parents[1] / "frontend"

_NEW = "const $modules = new Map();\n"
_OPENING = """const $get = (path) => $modules.get(path)();
const $load = async (path) => $get(path);
const $add = (path, make) => {
let made;
if (!$modules.has(path)) $modules.set(path, () => (made ??= make()));
};
"""


@cache
def module(entry: str, root: Path = FRONTEND) -> str:
    """Return an ES module with the exports of `entry` and, inside, all modules that it imports or may load.

    Raises:
        BundleError: a module is missing or written in a way that the bundle does not know, or imports go in a circle.
    """
    modules = _collected(entry, root)
    names = list(modules[-1].exports)
    taken = ", ".join(f"{name}: $export{i}" for i, name in enumerate(names))
    given = ", ".join(f"$export{i} as {name}" for i, name in enumerate(names))
    return f"{_NEW}{_linked(modules)}const {{ {taken} }} = {_get(entry)};\nexport {{ {given} }};\n"


@cache
def shared_module(entry: str, root: Path = FRONTEND) -> str:
    """Return an ES module whose default export takes a Map and returns what `entry` exports; raises as `module` does.

    The map keeps the modules by their paths. Bundles that are given the same map run each module once, as if they
    imported it from the same address; so a bundle may hold what another one has brought.
    """
    return f"export default ($modules) => {{\n{_linked(_collected(entry, root))}return {_get(entry)};\n}};\n"


@cache
def script(entry: str, root: Path = FRONTEND) -> str:
    """Return a classic script that runs `entry`; raises as `module` does."""
    return f'(function () {{\n"use strict";\n{_NEW}{_linked(_collected(entry, root))}{_get(entry)};\n}})();\n'


def _collected(entry: str, root: Path) -> list[Module]:
    """Return the modules, each after those that it imports or loads, so that the entry is the last."""
    done: dict[str, Module] = {}
    open_: list[str] = []  # the chain of imports that leads here

    def visit(path: str) -> None:
        if path in done:
            return
        if path in open_:
            raise BundleError(f"imports go in a circle: {' -> '.join([*open_, path])}")
        if not (root / path).is_file():
            raise BundleError(f"{path} does not exist" + (f"; {open_[-1]} imports it" if open_ else ""))
        found = _read(path, root)
        open_.append(path)
        for needed in dict.fromkeys([*(one.path for one in found.imports), *found.loads]):
            visit(needed)
        open_.pop()
        _check_names(found, done)
        done[path] = found

    visit(entry)
    return list(done.values())


@cache
def _read(path: str, root: Path) -> Module:
    """Read a module once for all bundles that hold it."""
    return read_module((root / path).read_text(encoding="utf-8"), path)


def _check_names(found: Module, done: dict[str, Module]) -> None:
    for one in found.imports:
        for name in one.names:
            if name not in done[one.path].exports:
                raise BundleError(f"{found.path} imports {name}, which {one.path} does not export")


def _linked(modules: list[Module]) -> str:
    return _OPENING + "".join(map(_wrapped, modules))


def _get(path: str) -> str:
    return f"$get({json.dumps(path)})"


def _wrapped(found: Module) -> str:
    """Return a module as a function that returns its exports."""
    taken = "".join(
        f"const {{ {', '.join(f'{there}: {here}' for there, here in one.names.items())} }} = {_get(one.path)};\n"
        for one in found.imports
    )
    loads = [f"$load({json.dumps(path)})" for path in found.loads]
    code = "".join(part + load for part, load in zip(found.parts, [*loads, ""], strict=True)).strip()
    given = ", ".join(f"{json.dumps(name)}: {own}" for name, own in found.exports.items())
    return f"$add({json.dumps(found.path)}, () => {{\n{taken}{code}\nreturn {{ {given} }};\n}});\n"

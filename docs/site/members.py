"""Lets mkdocstrings find the function `attnviz.trace`, which has the name of the folder attnviz/trace/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import griffe


class FunctionsBesideFolders(griffe.Extension):
    """Adds each function of a package that has the name of a folder in it: `trace` as the member `trace()`."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Read the package's own file again, without its folders."""
        path = Path(str(pkg.filepath))
        style = {"docstring_parser": loader.docstring_parser, "docstring_options": loader.docstring_options}
        alone = griffe.visit(pkg.name, filepath=path, code=path.read_text("utf-8"), **style)
        for name, function in alone.functions.items():
            if name in pkg.modules:
                pkg.members[f"{name}()"] = function

"""The modules of the browser side as they are written, for tests of single modules and of pages made of them.

Types are taken out by the Node.js that Playwright brings; nothing else changes.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

import playwright
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from attnviz.components.styles import SOURCES

PREFIX = "/frontend"
"""Where the servers of tests offer them"""
CACHING = "max-age=86400"
"""Nothing changes while tests run: a browser fetches and compiles each module once."""
TYPES = {".ts": "text/javascript", ".css": "text/css"}
NODE = Path(playwright.__file__).parent / "driver" / "node"
STRIP = """
const { stripTypeScriptTypes } = require("node:module");
const { readFileSync } = require("node:fs");
const files = process.argv.slice(1);
process.stdout.write(JSON.stringify(files.map((file) => stripTypeScriptTypes(readFileSync(file, "utf8")))));
"""


@cache
def scripts() -> dict[Path, bytes]:
    """Return all modules without their types."""
    files = [file for file in sorted(SOURCES.rglob("*.ts")) if not file.name.endswith(".d.ts")]
    command = [str(NODE), "--no-warnings", "-e", STRIP, "--", *map(str, files)]
    texts: list[str] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {file: text.encode() for file, text in zip(files, texts, strict=True)}


def source(path: str) -> tuple[str, bytes] | None:
    """Return the type and the content of a file by its path in `frontend/`; None if there is none."""
    file = SOURCES / path
    if file.suffix == ".css" and file.is_file():
        return TYPES[".css"], file.read_bytes()
    return (TYPES[".ts"], scripts()[file]) if file in scripts() else None


async def _serve(request: Request) -> Response:
    file = source(request.path_params["path"])
    if file is None:
        return PlainTextResponse("", 404)
    return Response(file[1], media_type=file[0], headers={"Cache-Control": CACHING})


ROUTE = Route(PREFIX + "/{path:path}", _serve)

"""Modules and style sheets put into one text; tests/browser/test_bundle.py runs them."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest

from attnviz.components import bundle
from attnviz.components.bundle.linking import FRONTEND
from attnviz.components.bundle.masking import mask

KEPT = r"""const a = "//no comment \" import"; const b = `${a /* comment */} \` // text
  { import ${`inner ${{ x: 1 }.x}`} }`; const c = /["'`/]\/[/"]/g.test(a) / 2;"""


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text)
    return folder


def test_strings_templates_and_regular_expressions_are_not_code() -> None:
    masked = mask(KEPT)
    assert len(masked) == len(KEPT)
    assert "import" not in masked
    assert "comment" not in masked
    assert "inner" not in masked
    assert [word for word in ("const a", "${a", "{ x:", "const c", "test(a) / 2") if word not in masked] == []


def test_what_is_not_code_stays_as_it_is(tmp_path: Path) -> None:
    text = bundle.module("a.js", written(tmp_path, a=f"  // a comment\n{KEPT}\n\n  /** two */ f(a);\n"))
    shorter = {" /* comment */}": "}", " = ": "=", "; ": ";", "{ x: 1 }": "{x:1}", "(a) / 2": "(a)/ 2"}
    kept = reduce(lambda code, one: code.replace(*one), shorter.items(), KEPT)
    assert kept in text
    assert text.count("comment") == 1  # that of the string
    assert ";f(a);\n" in text


def test_a_module_comes_once_and_before_those_that_need_it(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        a='import b, { x as y } from "./b.js";\nimport { z } from "./c.js";\nexport { y, z as default };\nb();\n',
        b='import { z } from "./c.js";\nexport const x = z;\nfunction b() {}\nexport default b;\n',
        c="export const z = 1;\n",
    )
    text = bundle.script("a.js", files)
    assert [text.count(f'$add("{name}.js"') for name in "abc"] == [1, 1, 1]
    assert text.index('$add("c.js"') < text.index('$add("b.js"') < text.index('$add("a.js"')
    assert text == bundle.script("a.js", files)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('export * from "./b.js";', "line 1"),
        ('\nimport * as all from "./b.js";', "line 2"),
        ("export let a = 1;", "line 1"),
        ("export const { a } = {};", "line 1"),
        ("export default class {}", "line 1"),
        ("const a = import.meta.url;", "line 1"),
        ("const a = import(name);", "line 1"),
        ('import { a } from "lit";', "not a module of ours"),
        ('import { a } from "../../secret.js";', "not a module of ours"),
        ('import { a } from "./nowhere.js";', "nowhere.js does not exist; a.js imports it"),
        ('import { a } from "./b.js";', "a.js imports a, which b.js does not export"),
        ('import { c } from "./c.js";', "imports go in a circle: a.js -> c.js -> a.js"),
        ("const $modules = 1;", "belongs to the bundle"),
        ("const a = `open;", "does not end"),
        ("const a = {} / 1;", "divide or begin"),
    ],
)
def test_what_the_bundle_does_not_know_is_refused(tmp_path: Path, source: str, why: str) -> None:
    files = written(tmp_path, a=source, b="export const x = 1;", c='import "./a.js";\nimport { x } from "./a.js";')
    if "circle" in why:
        (files / "c.js").write_text('import { x } from "./a.js";')
    with pytest.raises(bundle.BundleError, match=r"a\.js") as refused:
        bundle.module("a.js", files)
    assert why in str(refused.value)


def test_style_sheets_come_in_the_place_of_their_import(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "a.css").write_text('/* words */\n@import url("parts/b.css");\n@import url("parts/b.css");\n.a {\n}\n')
    (tmp_path / "parts" / "b.css").write_text(".b {\n}\n")
    assert bundle.styles("a.css", tmp_path) == ".b {\n}\n.a {\n}\n"
    (tmp_path / "parts" / "b.css").write_text(".b { background: url(https://example.org) }")
    with pytest.raises(bundle.BundleError, match=r"b\.css loads a file"):
        bundle.styles("parts/b.css", tmp_path)
    with pytest.raises(bundle.BundleError, match="not a style sheet of ours"):
        bundle.styles("../a.css", tmp_path / "parts")


@pytest.mark.parametrize("sheet", sorted(path.relative_to(FRONTEND).as_posix() for path in FRONTEND.rglob("*.css")))
def test_every_style_sheet_of_ours_is_read(sheet: str) -> None:
    whole = bundle.styles(sheet)
    assert "@import" not in whole
    assert whole.count("{") == whole.count("}") > 0

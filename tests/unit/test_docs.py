"""What docs/ says of links and of the command that exports, compared with the code that reads them."""

from __future__ import annotations

import argparse
import inspect
import re
import shlex
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import attnviz
from attnviz import cli
from attnviz.cli import export
from attnviz.export.files.formats import FORMATS
from attnviz.export.jobs import NUMBERS, WEB
from attnviz.export.numbers import MAX_CSV_CELLS
from attnviz.lessons import OWN, shipped
from attnviz.links.link import KEYS
from attnviz.links.values import MAX_CHOSEN
from attnviz.settings import PUBLIC, Settings

ROOT = Path(__file__).resolve().parents[2]
EXPORT = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")


def pages() -> list[Path]:
    """Return the README and all pages of the docs."""
    return [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_what_belongs_to_every_page_and_the_lessons_are_named() -> None:
    assert set(re.findall("`([^`]+)`", KEYS["lesson"].about)) == {*shipped(), OWN}
    assert f"up to {MAX_CHOSEN} heads" in KEYS["chosen"].about


def test_every_option_and_every_format_of_the_command_is_named() -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    export.add_parser(commands)
    options = {option for action in commands.choices["export"]._actions for option in action.option_strings}
    named = set(re.findall(r"`(--[a-z-]+)`", EXPORT))
    assert named == {option for option in options if option.startswith("--")} - {"--help"}
    table = [line.strip("| ").split(" | ") for line in EXPORT.splitlines() if re.match(r"\| `[a-z]+` \| `\.", line)]
    rows = {cells[0].strip("`"): cells[1:] for cells in table}
    assert tuple(rows) == export.FORMATS == (*FORMATS, *NUMBERS, WEB)
    for name, kind in FORMATS.items():
        file, _, colours, tokens = rows[name]
        assert kind.suffix.startswith(re.findall(r"`(\.\w+)`", file)[0])
        assert (colours, tokens) == ("light, dark" if kind.themed else "light", str(kind.max_tokens))
    assert all(f"`{suffix}`" in rows[name][0] for name, suffix in NUMBERS.items())
    assert f"{MAX_CSV_CELLS:,} numbers" in rows["csv"][1]


def test_the_architecture_says_what_each_folder_holds_and_the_files_that_it_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Folders")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(?:attnviz/)?([a-z_]+/[\w/]*\.(?:py|js|ts))`", page))
    places = (ROOT / "attnviz", ROOT / "attnviz" / "components" / "frontend", ROOT)
    places += (ROOT / "attnviz" / "components",)
    assert len(named) > 20
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
    folders = [folder.name for folder in (ROOT / "attnviz").iterdir() if (folder / "__init__.py").is_file()]
    assert "ui" in folders
    assert [name for name in folders if f"`{name}/`" not in table and f"`attnviz/{name}/`" not in table] == []


def test_the_readme_is_short_and_shows_four_pictures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len([word for word in readme.split() if re.search(r"\w", word)]) <= 600
    assert len(re.findall(r"^!\[", readme, re.MULTILINE)) == 4


def test_the_list_of_guides_has_a_line_for_each() -> None:
    folder = ROOT / "docs" / "guides"
    listed = re.findall(r"^- \[.+?\]\((\w+\.md)\): ", (folder / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "index.md")
    assert "](docs/guides/index.md)" in (ROOT / "README.md").read_text("utf-8")


def test_pages_of_the_docs_have_titles_of_their_own() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    titles = re.findall(r"^ +- ([^:]+): \S+\.md$", navigation, re.MULTILINE)
    headings = [page.read_text("utf-8").partition("\n")[0] for page in (ROOT / "docs").rglob("*.md")]
    assert len(titles) > 30 and len(headings) > 30
    for names in (titles, headings):
        assert sorted(names) == sorted(set(names))


def test_tables_have_short_cells() -> None:
    """Names in code that stand side by side, as the values of a link's key do, count as one word."""
    cells = [
        re.sub(r"`[^`]*`( `[^`]*`)+", "`names`", cell)
        for page in pages()
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
        for cell in line.strip("| ").split(" | ")
    ]
    assert len(cells) > 500
    assert [cell for cell in cells if len(cell.split()) > 25] == []


def test_tests_that_the_docs_name_exist() -> None:
    named = {
        name
        for file in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"`(tests/[\w/.]+)`", file.read_text("utf-8"))
    }
    assert "tests/unit/test_attention.py" in named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_notebook_example_of_the_readme_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.+?)```", readme, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert repr(names["trace"]) == "Trace(minilm, 16 tokens, 6 layers x 12 heads)"
    signature = re.findall(r"`(attnviz\.trace_model)\((.+?)\)`", readme)
    assert [(name, parameters.split(", ")) for name, parameters in signature] == [
        ("attnviz.trace_model", list(inspect.signature(attnviz.trace_model).parameters)[:3])
    ]


def test_the_page_on_training_names_what_there_is_and_its_examples_run() -> None:
    from attnviz import trained
    from attnviz.training.series import SERIES
    from attnviz.training.tasks import TASKS

    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    shipped_part, _, rest = page.partition("## Tasks")
    tasks_part, _, _ = rest.partition("## A text")
    for part, known in ((shipped_part, trained.names()), (tasks_part, TASKS)):
        assert sorted(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)) == sorted(known)
    for stage in SERIES:
        reported = "–" if stage.reported is None else f"{stage.reported:.2f}"
        assert f"| {stage.title} | {reported} | {stage.expected[2000]:.2f} |" in page
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.+?)```", page, re.DOTALL):
        exec(example, names)
    assert names["weights"].shape == (2, 12, 12)  # type: ignore[attr-defined]
    assert names["head"].score > 0.5  # type: ignore[attr-defined]


def test_the_command_line_takes_the_commands_of_the_docs() -> None:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    for module in iter_modules(cli.__path__, f"{cli.__name__}."):
        import_module(module.name).add_parser(subparsers)
    blocks = [block for page in pages() for block in re.findall("```.*?```", page.read_text("utf-8"), re.DOTALL)]
    commands = re.findall(r"^ *python -m attnviz (.*)", "\n".join(blocks), re.MULTILINE)
    assert len(commands) > 20
    for command in commands:
        parser.parse_args(shlex.split(command, comments=True))  # or exits


MADE_UP = {"Download PPTX", "Open on Step by step", "How is 97 % computed?"}
"""Labels that the app puts together"""


def test_the_app_has_the_labels_that_the_guides_quote() -> None:
    suffixes = {".py", ".ts", ".ipynb", ".yaml"}
    folders = ("attnviz", "pages", "examples", "assets/lessons")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in suffixes]
    app = "\n".join(file.read_text("utf-8") for file in files)
    guides = [*(ROOT / "docs" / "guides").glob("*.md"), ROOT / "docs" / "tour.md"]
    text = re.sub(r"```.*?```|`[^`]*`", "", "\n".join(guide.read_text("utf-8") for guide in guides), flags=re.DOTALL)
    quoted = {" ".join(label.split()) for label in re.findall(r'"([^"]+)"', text)}
    assert len(quoted) > 30
    assert {label for label in quoted if label not in app} == MADE_UP


NOTHING = {"no limit", "none", "no restriction", "one per processor", ""}
"""What the docs call a setting that is 0 or empty"""


def in_docs(value: object) -> str:
    """Return how the docs write a setting; "" if it is 0 or empty."""
    if isinstance(value, bool):
        return str(int(value))
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def test_the_defaults_of_the_settings_are_those_of_the_docs() -> None:
    hosting = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `ATTNVIZ_(\w+)` \| ([^|]*)\| ([^|]*)\|", hosting, re.MULTILINE)
    assert {name.lower() for name, *_ in rows} == {field.name for field in fields(Settings)} - {"public"}
    for name, *columns in rows:
        for column, settings in zip(columns, (Settings(), PUBLIC), strict=True):
            text, value = column.strip(), getattr(settings, name.lower())
            assert ("" if text in NOTHING else text) == in_docs(value), name

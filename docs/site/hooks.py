"""What MkDocs adds to docs/: README.md as the start page, the notebooks as pages, and pictures from beside docs/.

Links in the sources lead from file to file of the repository, as on a host of repositories. `on_page_markdown` turns
those that leave docs/ into links of the site.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "examples/README.md": "examples/index.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "NOTICE.md": "project/notices.md",
}
"""Pages that are made of Markdown outside docs/: their places in the repository and in the site"""
LINK = re.compile(r"(?<=\]\()[^()#\s]+(?=[)#])")


def notebooks() -> list[Path]:
    """Return the notebooks in examples/."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that are not in docs/."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    for path in notebooks():
        place = f"examples/{path.name}"
        files.append(File.generated(config, place, abs_src_path=str(path)))
        files.append(File.generated(config, site_place(place), content=notebook_page(path)))
    for path in [ROOT / "LICENSE", ROOT / "CITATION.cff", *sorted((ROOT / "assets" / "screenshots").glob("*.png"))]:
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def site_place(path: str) -> str:
    """Return where a file of the repository is in the site, as the path of its source."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("examples/") and path.endswith(".ipynb"):
        return path.removesuffix("ipynb") + "md"
    return path.removeprefix("docs/")


def repository_place(page: str) -> str:
    """Return which file of the repository a page of the site is made of."""
    made_of = {place: source for source, place in PAGES.items()} | {
        site_place(f"examples/{path.name}"): f"examples/{path.name}" for path in notebooks()
    }
    return made_of.get(page, f"docs/{page}")


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make links to files of the repository links of the site."""
    if page.file.src_uri == "models.md":
        page.meta["search"] = {"boost": 0.1}  # its table has every model's name, and so is found by nearly every search
    source = repository_place(page.file.src_uri)

    def to_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[0]))
        if ":" in link[0] or target.startswith("..") or not (ROOT / target).is_file():
            return link[0]
        return posixpath.relpath(site_place(target), posixpath.dirname(page.file.src_uri) or ".")

    return LINK.sub(to_site, markdown)


def notebook_page(path: Path) -> str:
    """Return a notebook with its kept outputs as Markdown."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    parts = [part for cell in cells for part in cell_parts(cell)]
    parts.insert(1, f'<a href="{path.name}" download>Download this notebook</a>')
    return "\n\n".join(parts) + "\n"


def cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    """Yield a cell's source and its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        text = "".join(output.get("text") or data.get("text/plain", "")).rstrip()
        if "image/png" in data:
            yield f"![{text}](data:image/png;base64,{''.join(data['image/png'].split())})"
        else:
            yield f"```text\n{text}\n```"

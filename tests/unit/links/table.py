"""The table of all keys in docs/links.md, from the registry.

python -m tests.unit.links.table    # writes it anew
"""

from __future__ import annotations

from pathlib import Path

from attnviz.links.link import KEYS, SHARED_KEYS
from attnviz.links.pages import PAGES
from attnviz.links.values import Key

PAGE = Path(__file__).resolve().parents[3] / "docs" / "links.md"
HEAD = "| key | pages | takes | default | what it sets |\n| --- | --- | --- | --- | --- |\n"
LETTERS = {
    "step_by_step": "S", "heads": "H", "compare": "C", "averages": "A", "transformer": "X", "train": "R", "bert": "B",
    "tokens": "T",
}  # fmt: skip
"""What a page is called in the table, in the table's order"""


def pages_of(name: str) -> str:
    """Return the pages whose links have a key."""
    if name in SHARED_KEYS:
        return "all"
    return " ".join(letter for page, letter in LETTERS.items() if name in PAGES[page].link_keys())


def row(name: str, key: Key) -> str:
    """Return the row of a key."""
    default = "nothing" if key.default in (None, "", ()) else f"`{key.write(key.default)}`"
    takes = key.values.takes
    if name.startswith("b_"):
        takes, default = f"as `{name[2:]}`", "nothing: the same as A's"
    return f"| `{name}` | {pages_of(name)} | {takes} | {default} | {key.about} |\n"


def table() -> str:
    """Return the table."""
    return HEAD + "".join(row(name, key) for name, key in KEYS.items())


def written() -> str:
    """Return the table that docs/links.md has."""
    return HEAD + PAGE.read_text(encoding="utf-8").partition(HEAD)[2]


def main() -> None:
    """Write the table, which is the end of the page."""
    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(HEAD)[0] + table(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Record what the page shows at each link: `python -m tests.app.views.record`, which takes some minutes.

The recordings say what links have opened so far. Make them anew only where a view is meant to show something else,
and read what changes in them. A view that shows the same but for rounding keeps its recording.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.app.pages import SETTINGS_OPEN, open_page
from tests.app.views.comparing import Record, differences, record
from tests.app.views.links import OPENED, links, opened, query
from tests.app.views.seeing import look

FOLDER = Path(__file__).parent / "recorded"
MADE_BY = "Made by `python -m tests.app.views.record`: not to be edited by hand."


def fresh_record(page: str, link: str) -> Record:
    """Open a link in a session of its own, and record what it shows."""
    return record(look(fresh(page, link), query(link)))


def kept(then: Record | None, now: Record) -> Record:
    """Return what is recorded of a view: what was, unless it shows something else now."""
    return now if then is None or any(differences(then, now)) else then


def fresh(page: str, link: str) -> AppTest:
    """Open a link in a session of its own, with all settings and what is opened on its page."""
    what = {**SETTINGS_OPEN, **OPENED.get(page, {}), **opened(link)}
    return open_page("" if page == "step_by_step" else page, what, **query(link))


def write(page: str, views: dict[str, Record]) -> None:
    """Write the recording of a page, in groups: what all views of a group say, and what each says beyond that."""
    groups: dict[tuple[object, ...], dict[str, Record]] = defaultdict(dict)
    for link, view in views.items():
        groups[query(link).get("source"), not query(link), *opened(link).items()][link] = view
    written = {"made_by": MADE_BY, "groups": [_group(group) for group in groups.values()]}
    (FOLDER / f"{page}.json").write_text(_lines(written) + "\n", encoding="utf-8")


def _group(views: dict[str, Record]) -> dict[str, Any]:
    everywhere = reduce(and_, (Counter(view["texts"]) for view in views.values()))
    return {
        "everywhere": sorted(everywhere.elements()),
        "views": {
            link: {"texts": sorted((Counter(view["texts"]) - everywhere).elements()), "arrays": view["arrays"]}
            for link, view in views.items()
        },
    }


def read(page: str) -> dict[str, Record]:
    """Read the recording of a page: all of its views by their links."""
    recorded = json.loads((FOLDER / f"{page}.json").read_text(encoding="utf-8"))
    return {
        link: {"texts": [*group["everywhere"], *view["texts"]], "arrays": view["arrays"]}
        for group in recorded["groups"]
        for link, view in group["views"].items()
    }


def _lines(value: Any) -> str:
    """Write JSON with each text and each array on a line of its own."""
    if isinstance(value, dict) and value and "figures" not in value:
        items = (f"{json.dumps(name, ensure_ascii=False)}: {_lines(one)}" for name, one in value.items())
        return "{\n" + ",\n".join(items) + "}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_lines(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    """Record every link, or those on the pages that are named."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    FOLDER.mkdir(exist_ok=True)
    for page, on_page in links().items():
        if page in (sys.argv[1:] or [page]):
            then = read(page) if (FOLDER / f"{page}.json").exists() else {}
            write(page, {link: kept(then.get(link), fresh_record(page, link)) for link in on_page})


if __name__ == "__main__":
    main()

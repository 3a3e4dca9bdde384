"""The tab of the popover "Export" with the matrices of a head as files, and the code that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz import trained
from attnviz.sources import SOURCES, TRAINED
from attnviz.trained.shipped import FOLDER
from attnviz.ui.export.file import file_button
from attnviz.ui.plain import plain

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk
    from attnviz.ui.export.walk import ShownWalk


def show_numbers_export(page: str) -> None:
    """Show buttons for the numbers of the current head, and for the code that computes them."""
    from attnviz.export.code.recipes import about_code
    from attnviz.export.numbers import TooManyNumbersError, check_csv
    from attnviz.ui.export.walk import walk_to_export

    found = walk_to_export(page)
    if found is None:
        return
    shown, walk = found
    count = walk.layer.heads
    all_heads = st.toggle("Numbers of all heads", key="export_all_heads", disabled=count == 1)
    heads = range(count) if all_heads else [walk.head]
    too_many = ""
    try:
        check_csv(walk, heads)
    except TooManyNumbersError as why:
        too_many = str(why)
    _buttons(shown, heads, _file_name(shown), too_many)
    code = shown.no_code_reason or about_code(shown.view["source"], page)
    st.caption(f"{plain(walk.name)}: each matrix with its tokens, for a spreadsheet or numpy. {code}")


def _buttons(shown: ShownWalk, heads: Sequence[int], name: str, too_many: str) -> None:
    """Show a button for each file. The callbacks hold no matrices, so they keep no model in memory."""

    def csv() -> bytes:
        from attnviz.export import numbers

        walk = shown.walk()
        return numbers.csv_zip(walk, heads, _about(walk))

    def npz() -> bytes:
        from attnviz.export import numbers

        return numbers.npz(shown.walk(), heads)

    def notebook() -> bytes:
        from attnviz.export.code import cells as code

        return code.notebook(shown.cells()).encode()

    def script() -> bytes:
        from attnviz.export.code import cells as code

        return code.script(shown.cells()).encode()

    def weights() -> bytes:
        return (FOLDER / file).read_bytes()

    file = f"{shown.view['model']}.safetensors"
    with st.container(horizontal=True, key="numbers_export"):
        file_button("CSV", f"{name}.zip", "application/zip", csv, key="export_CSV", refused=too_many)
        file_button("npz", f"{name}.npz", "application/octet-stream", npz, key="export_npz")
        if not shown.no_code_reason:
            file_button("Notebook", f"{name}.ipynb", "application/x-ipynb+json", notebook, key="export_Notebook")
            file_button("Script", f"{name}.py", "text/x-python", script, key="export_Script")
        if shown.view["source"] == TRAINED.key and shown.view["model"] in trained.names():
            file_button("Model's file", file, "application/octet-stream", weights, key="export_weights")


def _file_name(shown: ShownWalk) -> str:
    view = shown.view
    source = SOURCES[view["source"]]
    if shown.page == "transformer":
        return f"attnviz-transformer-attention{view['block']}-head{view['head']}"
    where = f"layer{view['layer']}" if source.has_layers else source.key
    return f"attnviz-{where}-head{view['head']}"


def _about(walk: Walk) -> dict[str, Any]:
    """Return the description of the numbers."""
    tokens = walk.query_tokens
    return {"of": walk.name, "text": tokens.text, "second_text": tokens.pair, "link": walk.link}

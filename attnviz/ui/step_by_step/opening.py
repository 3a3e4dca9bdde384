"""The view that the app opens on: its picture ships with the app, so that it is there before the model is loaded.

`python -m attnviz.ui.step_by_step.opening` makes the file anew, which a test compares with what the model computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from attnviz import files
from attnviz.links.link import read_link
from attnviz.links.pages import OPENING
from attnviz.ui.walk.documents import Shipped, address_of, document_of_walk

if TYPE_CHECKING:
    from attnviz.document import Document

FILE = files.FOLDER / "assets" / "opening.safetensors"
"""The document of the layer that the opening view shows"""
READ = ("text", "pair", "source", "model", "kind", "layer")
"""The link keys that decide what the document holds: it has all heads, and all steps"""


def has(view: Mapping[str, Any], layer: int) -> bool:
    """Return whether the shipped document is that of a layer of this view."""
    opening = _opening()
    return opening["layer"] == layer and all(view[name] == opening[name] for name in READ if name != "layer")


@cache
def _opening() -> Mapping[str, Any]:
    """Return the opening view."""
    return read_link(OPENING)[0]


def shipped_document(digest: str) -> Document:
    """Return the shipped document as the server offers it; `digest` is the beginning of its arrays' addresses."""
    from attnviz.document import Document

    read = _read()
    references = {
        name: replace(reference, digest=address_of(name, digest)) for name, reference in read.header.references.items()
    }
    return Document(replace(read.header, references=references), read.arrays)


SHIPPED = Shipped(has, shipped_document)


@cache
def _read() -> Document:
    from attnviz.document import read

    return read(FILE.read_bytes())


def make() -> Document:
    """Compute the document with the built-in model."""
    from attnviz.sources.models import Direct
    from attnviz.sources.shown import shown

    view, resources = read_link(OPENING)[0], Direct()
    return document_of_walk(shown(view.__getitem__, resources).walk(resources), "opening")


def main() -> None:
    """Write the file."""
    from attnviz.document import write

    FILE.write_bytes(write(make()))


if __name__ == "__main__":
    main()

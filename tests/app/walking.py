"""The walk of the page Step by step: its document, requested as the browser requests it, and what is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from safetensors.numpy import load
from streamlit.testing.v1 import AppTest

from attnviz.document import Document, read
from attnviz.runtime.arrays import array_store
from tests.app.pages import payload
from tests.pictures import board_picture_of

Header = Mapping[str, Any]


def requested(address: str) -> bytes:
    """Return what is offered under a digest, or under that of a part."""
    return array_store().request(address).result(120).decompressed()


def document_of(header: Header) -> Document:
    """Return the document of the walk's layer, with the arrays that it refers to."""
    digests = header["documents"]
    found = read(requested(digests[header["values"].get("layer", 0)]))
    fetched = {name: load(requested(one.digest))["array"] for name, one in found.header.references.items()}
    return Document(replace(found.header, references={}), {**found.arrays, **fetched})


def walk(at: AppTest) -> tuple[dict[str, Any], Document]:
    """Return the header that the page sends to its walk, and the document that the browser then requests."""
    header, _ = payload(at, "walk")
    return header, document_of(header)


def hidden(at: AppTest) -> dict[str, Any]:
    """Return which word is hidden, without its masks and the way to its rank."""
    shown: dict[str, Any] = walk(at)[0]["hidden"]
    return {name: value for name, value in shown.items() if name not in ("masks", "ranked")}


def values(at: AppTest) -> dict[str, Any]:
    """Return what is chosen."""
    chosen: dict[str, Any] = payload(at, "walk")[0]["values"]
    return chosen


def step_of(header: Header, document: Document) -> Any:
    """Return what the document says of the step that is chosen."""
    return next(step for step in document.header.steps if step.name == header["values"]["step"])


def of_head(text: str | tuple[str, ...], header: Header, document: Document) -> str:
    """Return the text of the head that is chosen."""
    return text if isinstance(text, str) else text[document.header.heads.index(header["values"].get("head", 0))]


def picture(at: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the picture of the step, as the browser makes it of the document."""
    header, document = walk(at)
    chosen = header["values"]
    return board_picture_of(document, chosen["step"], chosen.get("head", 0), stretch=chosen.get("stretch", "0"))


def panels(at: AppTest) -> dict[str, np.ndarray]:
    """Return the matrices of the step's picture by name."""
    drawn, arrays = picture(at)
    return {panel["name"]: arrays[str(index)] for index, panel in enumerate(drawn["panels"])}

"""Documents with damaged headers: the browser and Python read the same ones and refuse the others in the same words."""

from __future__ import annotations

from base64 import b64encode
from functools import reduce
from operator import getitem

import numpy as np

from attnviz.document import DocumentError, read
from tests.browser.modules import Run
from tests.browser.test_document import READ_ALL
from tests.documents import file, parts
from tests.unit.document.test_hostile import PATHS, VALUES


def damaged(number: int) -> list[bytes]:
    """Return files in each of which one value of the header is another."""
    drawn, files = np.random.default_rng(0), []
    for _ in range(number):
        header, arrays = parts()
        path, value = PATHS[drawn.integers(len(PATHS))], VALUES[drawn.integers(len(VALUES))]
        reduce(getitem, path[:-1], header)[path[-1]] = value
        files.append(file(header, arrays))
    return files


def refusal(data: bytes) -> list[str] | None:
    """Return the name and the sentence of Python's refusal; None if it reads the file."""
    try:
        read(data)
    except DocumentError as error:
        return ["DocumentError", str(error)]
    return None


def test_both_readers_say_the_same_of_damaged_headers(run: Run) -> None:
    files = damaged(600)
    found = run("core/document.js", READ_ALL, [b64encode(data).decode() for data in files])
    expected = [refusal(data) for data in files]
    assert None in expected
    assert len({one[1] for one in expected if one}) > 30
    assert [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]] == []

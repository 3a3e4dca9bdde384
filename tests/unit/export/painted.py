"""Reads what a page of a PDF paints, in the coordinates of the picture that it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pypdf import PageObject
from pypdf.generic import ContentStream

State = dict[str, Any]
PLAIN: State = {"clip": (), "rg": (), "RG": (), "ca": 1.0, "CA": 1.0, "d": (), "w": 1.0}
PAINTING = ("n", "f", "f*", "S", "B", "B*", "Do")


def painted(page: PageObject) -> Iterator[tuple[str, State]]:
    """Yield each painting operator with the state in which it paints: its path, colours, opacities, widths, dashes and
    clips.

    A path is [("re", (left, top, right, bottom)), ("m", (x, y)), ...] in pixels; that of an image is its box.
    """
    return _Reader(page).read()


class _Reader:
    def __init__(self, page: PageObject) -> None:
        self.page = page
        self.states = page["/Resources"].get("/ExtGState", {})
        self.matrix, self.state = np.eye(3), dict(PLAIN)
        self.saved: list[tuple[np.ndarray, State]] = []
        self.path: list[tuple[str, tuple[float, ...]]] = []
        self.clips = False
        self.picture = np.linalg.inv([[0.75, 0, 0], [0, -0.75, 0], [0, float(page.mediabox[3]), 1]])

    def read(self) -> Iterator[tuple[str, State]]:
        for operands, operator in ContentStream(self.page.get_contents(), self.page.pdf).operations:
            name = operator.decode()
            if name in ("re", "m", "l", "c"):
                self.add(name, tuple(map(float, operands)))
            elif name in PAINTING:
                if self.clips:
                    self.state["clip"] = (*self.state["clip"], *self.path)
                if name == "Do":
                    self.path = [("image", self.places([(0, 0), (1, 1)]))]
                if name != "n":
                    yield name, {**self.state, "path": self.path}
                self.path, self.clips = [], False
            else:
                self.set(name, operands)

    def add(self, name: str, numbers: tuple[float, ...]) -> None:
        if name == "re":
            x, y, wide, high = numbers
            numbers = (x, y, x + wide, y + high)
        self.path.append((name, self.places([*zip(numbers[::2], numbers[1::2], strict=True)])))

    def set(self, name: str, operands: Any) -> None:
        if name == "q":
            self.saved.append((self.matrix, dict(self.state)))
        elif name == "Q":
            self.matrix, self.state = self.saved.pop()
        elif name == "cm":
            a, b, c, d, e, f = map(float, operands)
            self.matrix = np.array([[a, b, 0], [c, d, 0], [e, f, 1]]) @ self.matrix
        elif name in ("rg", "RG"):
            self.state[name] = tuple(round(255 * float(one)) for one in operands)
        elif name == "gs":
            found = self.states[operands[0]].get_object()
            self.state |= {key[1:]: float(value) for key, value in found.items() if key in ("/ca", "/CA")}
        elif name == "w":
            self.state["w"] = float(operands[0])
        elif name == "d":
            self.state["d"] = tuple(map(float, operands[0]))
        elif name in ("W", "W*"):
            self.clips = True

    def places(self, points: list[tuple[float, float]]) -> tuple[float, ...]:
        whole = np.array([(*point, 1) for point in points])
        return tuple((whole @ self.matrix @ self.picture)[:, :2].round(3).ravel().tolist())

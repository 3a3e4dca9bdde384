"""Batch export: makes the files of many texts, layers and heads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from attnviz.export.drawing.marks import LIGHT_THEME, Theme
from attnviz.export.files.formats import FORMATS, svg_files
from attnviz.export.sheets import sheets
from attnviz.export.views import START, View, walk_of
from attnviz.export.web import make_page, write_page
from attnviz.links.link import KEYS
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import ShownHead, ShownPart, shown, shown_part
from attnviz.steps import STEPS, names_at, steps_of, walk_names_at
from attnviz.trace.model import Place
from attnviz.trace.walk import Walk

NUMBERS = {"csv": ".csv.zip", "npz": ".npz", "ipynb": ".ipynb", "py": ".py"}
"""Formats of numbers and code, with their file suffixes"""
WEB = "html"
"""The format of a standalone web page"""
TRANSFORMER = "transformer"
"""The page of a walk through a whole model"""
ALL = -1
"""An index that means all layers or all heads"""


class NoStepError(ValueError):
    """A walk has none of the steps to export. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Job:
    """One head to export: the view of a text, layer and head, and the prefix of its file names."""

    view: View
    stem: str
    page: str = START
    """The page of the app that the view is on"""
    steps: tuple[str, ...] = tuple(STEPS)
    """The names of all steps of the walk, in order"""

    def files(self, formats: Iterable[str], steps: Sequence[str]) -> list[str]:
        """Return the names of the files that may be written; steps without a picture give no file."""
        names = []
        for kind in formats:
            if kind == "svg":
                names += [f"{self.stem}-{i:02d}-{step}.svg" for i, step in enumerate(self.steps, 1) if step in steps]
            else:
                names.append(self.file(kind))
        return names

    def file(self, kind: str) -> str:
        """Return the name of the file of a format that is one file."""
        if kind == WEB:
            return f"{self.stem}.html" if self.page == START else f"{self.stem}-{self.page}.html"
        return f"{self.stem}{NUMBERS.get(kind) or FORMATS[kind].suffix}"


@dataclass(frozen=True, slots=True)
class Exporter:
    """Makes the files of jobs. Jobs are ordered by text, so its resources need to keep only the last trace."""

    resources: DirectResources = field(default_factory=DirectResources)
    site: str = ""
    bare: bool = False
    theme: Theme = LIGHT_THEME
    """The theme of formats that support themes"""
    page: str = START
    """The page of the app that a web page shows; all other formats show the walk"""

    def jobs(self, views: Sequence[dict[str, Any]], layers: Sequence[int], heads: Sequence[int]) -> list[Job]:
        """Return a job for each text, layer and head; without layers, for the layer that the view shows.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded.
            IndexError: a layer or a head does not exist.
        """
        return [job for number, view in enumerate(views) for job in self._jobs(view, number, len(views), layers, heads)]

    def _jobs(
        self, view: dict[str, Any], number: int, count: int, layers: Sequence[int], heads: Sequence[int]
    ) -> Iterator[Job]:
        selection = self._shown(view)
        prefix = f"{number + 1:0{max(2, len(str(count)))}d}-" if count > 1 else ""
        name = slug(selection.model.name) if selection.source.has_names else selection.source.key
        places = selection.places if isinstance(selection, ShownPart) else ()
        first = layers or [selection.layer]
        for layer, head in product(_expand(first, selection.numbers), _expand(heads, range(selection.heads))):
            selection.at(layer, head)  # raises IndexError
            if places:
                steps = names_at(selection.model.description, places[layer])
                stem = f"{prefix}{name}-transformer-attention{layer}-head{head}"
                yield Job({**view, "block": layer, "head": head}, stem, self.page, steps)
            else:
                where = f"-layer{layer}" if selection.source.has_layers else ""
                steps = walk_names_at(selection.model.description, Place(selection.kind, layer))
                stem = f"{prefix}{name}{where}-head{head}"
                yield Job({**view, "layer": layer, "head": head}, stem, self.page, steps)

    @property
    def _walks(self) -> str:
        """The page whose walk is exported."""
        return self.page if self.page == TRANSFORMER else START

    def _shown(self, view: View) -> ShownHead:
        """Return what a view shows; a layer or head that does not exist is replaced.

        Raises:
            IndexError: the model does not have this kind of attention.
        """
        if self._walks == TRANSFORMER:
            return shown_part(view.__getitem__, self.resources)
        selection = shown(view.__getitem__, self.resources)
        is_requested = view["kind"] != KEYS["kind"].default  # the default, encoder, is not a request
        if is_requested and selection.kind != view["kind"] and selection.source.has_layers:
            kinds = " and ".join(selection.model.description.layers)
            raise IndexError(f"{view['model']} has no {view['kind']} attention, but {kinds}")
        return selection

    def walk(self, view: View) -> Walk:
        """Return the head that a view shows.

        Raises:
            attnviz.tokens.NoTokensError: the text gives no token.
        """
        return walk_of(view, self._shown(view), self.resources, self.site, self._walks)

    def make(self, job: Job, walk: Walk, kind: str, steps: Sequence[str]) -> dict[str, bytes]:
        """Return a job's files of one format, by their names.

        Raises:
            attnviz.export.files.formats.TooLongError: there are too many tokens for the format.
            attnviz.export.numbers.TooManyNumbersError: there are too many numbers for CSV.
            attnviz.export.code.recipes.NoCodeError: there is no code for models of this source.
            attnviz.export.web.NoPageError: this view can't be a standalone web page.
            NoStepError: the attention has none of these steps.
        """
        if kind == WEB:
            return {job.file(kind): write_page(make_page(job.page, job.view, self.resources))}
        if kind in NUMBERS:
            return {job.file(kind): self._numbers(job.view, walk, kind)}
        file_format = FORMATS[kind]
        file_format.check(walk)
        steps = [name for name in steps_of(walk) if name in steps]
        if not steps:
            raise NoStepError("This attention has none of the steps that were asked for.")
        pages = sheets(walk, steps, self.theme if file_format.themed else LIGHT_THEME)
        if kind == "svg":
            return {f"{job.stem}-{name}": content for name, content in svg_files(pages, bare=self.bare).items()}
        return {job.file(kind): file_format.write(pages)}

    def _numbers(self, view: View, walk: Walk, kind: str) -> bytes:
        from attnviz.export import numbers
        from attnviz.export.code import cells as code
        from attnviz.export.code.recipes import walk_cells

        if kind == "csv":
            return numbers.csv_zip(walk, [walk.head])
        if kind == "npz":
            return numbers.npz(walk, [walk.head])
        cells = walk_cells(self._shown(view), walk, self.resources)
        return (code.notebook(cells) if kind == "ipynb" else code.script(cells)).encode()


def slug(name: str) -> str:
    """Return a name in a form that is valid in file names on every system."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-50:].lower() or "model"


def _expand(indices: Sequence[int], existing: Sequence[int]) -> list[int]:
    """Return the requested indices of layers or heads, or all existing ones, without duplicates."""
    return list(existing) if ALL in indices else list(dict.fromkeys(indices))

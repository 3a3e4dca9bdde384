"""Batch export: the files of many texts, layers and heads, and how each is made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from attnviz.export.drawing.marks import LIGHT_THEME, Theme
from attnviz.export.sheets import FORMATS, sheets, svg_files
from attnviz.export.views import START, View, walk_of
from attnviz.export.web import make_page, write_page
from attnviz.links.link import KEYS
from attnviz.sources.models import Direct
from attnviz.sources.shown import Shown, ShownPart, shown, shown_part
from attnviz.steps import STEPS, names_at, steps_of
from attnviz.trace.walk import Walk

NUMBERS = {"csv": ".csv.zip", "npz": ".npz", "ipynb": ".ipynb", "py": ".py"}
"""Formats of numbers and code, with their file suffixes"""
WEB = "html"
"""The format of a web page of its own"""
TRANSFORMER = "transformer"
"""The page of a walk through a whole model"""
ALL = -1
"""An index that means all layers or all heads"""


class NoStepError(ValueError):
    """A walk has none of the steps that are to be exported. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Job:
    """One head to export: the view of a text, layer and head, and the prefix of its file names."""

    view: View
    stem: str
    page: str = START
    """The page of the app whose view it is"""
    steps: tuple[str, ...] = tuple(STEPS)
    """The names of all steps of its walk, in order"""

    def files(self, formats: Iterable[str], steps: Sequence[str]) -> list[str]:
        """Return the names of the files that may be written; steps without a picture give no file."""
        names = []
        for kind in formats:
            if kind == "svg":
                names += [f"{self.stem}-{i:02d}-{step}.svg" for i, step in enumerate(self.steps, 1) if step in steps]
            else:
                names.append(
                    self.web_file if kind == WEB else f"{self.stem}{NUMBERS.get(kind) or FORMATS[kind].suffix}"
                )
        return names

    @property
    def web_file(self) -> str:
        """The name of the web page."""
        return f"{self.stem}.html" if self.page == START else f"{self.stem}-{self.page}.html"


@dataclass(frozen=True, slots=True)
class Exporter:
    """Makes the files of jobs. Jobs come text by text, so the last trace that its resources keep is enough."""

    resources: Direct = field(default_factory=Direct)
    site: str = ""
    bare: bool = False
    theme: Theme = LIGHT_THEME
    """The theme of formats that support themes"""
    page: str = START
    """The page of the app that a web page shows; all other formats show the walk"""

    def jobs(self, views: Sequence[dict[str, Any]], layers: Sequence[int], heads: Sequence[int]) -> list[Job]:
        """Return a job for each text, layer and head; without layers, for the one that is shown.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded.
            IndexError: a layer or a head does not exist.
        """
        return [job for number, view in enumerate(views) for job in self._jobs(view, number, len(views), layers, heads)]

    def _jobs(
        self, view: dict[str, Any], number: int, count: int, layers: Sequence[int], heads: Sequence[int]
    ) -> Iterator[Job]:
        found = self._shown(view)
        prefix = f"{number + 1:0{max(2, len(str(count)))}d}-" if count > 1 else ""
        name = slug(found.model.name) if found.source.has_names else found.source.key
        places = found.places if isinstance(found, ShownPart) else ()
        first = layers or [found.layer]
        for layer, head in product(_expand(first, found.numbers), _expand(heads, range(found.heads))):
            found.at(layer, head)  # raises IndexError
            if places:
                steps = names_at(found.model.description, places[layer])
                stem = f"{prefix}{name}-transformer-attention{layer}-head{head}"
                yield Job({**view, "block": layer, "head": head}, stem, self.page, steps)
            else:
                where = f"-layer{layer}" if found.source.has_layers else ""
                yield Job({**view, "layer": layer, "head": head}, f"{prefix}{name}{where}-head{head}", self.page)

    @property
    def _walks(self) -> str:
        """The page whose walk is exported."""
        return self.page if self.page == TRANSFORMER else START

    def _shown(self, view: View) -> Shown:
        """Return what a view shows; its layer and head may be any.

        Raises:
            IndexError: a kind of attention that the model does not have.
        """
        if self._walks == TRANSFORMER:
            return shown_part(view.__getitem__, self.resources)
        found = shown(view.__getitem__, self.resources)
        asked = view["kind"] != KEYS["kind"].default  # a model without an encoder is not asked for one by default
        if asked and found.kind != view["kind"] and found.source.has_layers:
            there = " and ".join(found.model.description.layers)
            raise IndexError(f"{view['model']} has no {view['kind']} attention, but {there}")
        return found

    def walk(self, view: View) -> Walk:
        """Return the head that a view shows.

        Raises:
            attnviz.tokens.NoTokensError: the text gives no token.
        """
        return walk_of(view, self._shown(view), self.resources, self.site, self._walks)

    def make(self, job: Job, walk: Walk, kind: str, steps: Sequence[str]) -> dict[str, bytes]:
        """Return a job's files of one format, by their names.

        Raises:
            attnviz.export.sheets.TooLongError: there are too many tokens for the format.
            attnviz.export.numbers.TooManyNumbersError: there are too many numbers for CSV.
            attnviz.export.code.recipes.NoCodeError: there is no code for models of this source.
            attnviz.export.web.NoPageError: this view can't be a web page of its own.
            NoStepError: the attention has none of these steps.
        """
        if kind == WEB:
            return {job.web_file: write_page(make_page(job.page, job.view, self.resources))}
        if kind in NUMBERS:
            return {f"{job.stem}{NUMBERS[kind]}": self._numbers(job.view, walk, kind)}
        form = FORMATS[kind]
        form.check(walk)
        steps = [name for name in steps_of(walk) if name in steps]
        if not steps:
            raise NoStepError("This attention has none of the steps that were asked for.")
        pages = sheets(walk, steps, self.theme if form.themed else LIGHT_THEME)
        if kind == "svg":
            return {f"{job.stem}-{name}": content for name, content in svg_files(pages, bare=self.bare).items()}
        return {f"{job.stem}{form.suffix}": form.write(pages)}

    def _numbers(self, view: View, walk: Walk, kind: str) -> bytes:
        from attnviz.export import numbers
        from attnviz.export.code import cells as code
        from attnviz.export.code.recipes import walk_cells

        if kind == "csv":
            tokens = walk.query_tokens
            about = {"of": walk.name, "text": tokens.text, "second_text": tokens.pair, "link": walk.link}
            return numbers.csv_zip(walk, [walk.head], about)
        if kind == "npz":
            return numbers.npz(walk, [walk.head])
        cells = walk_cells(self._shown(view), walk, self.resources)
        return (code.notebook(cells) if kind == "ipynb" else code.script(cells)).encode()


def slug(name: str) -> str:
    """Return a name in a form that is valid in file names on every system."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-50:].lower() or "model"


def _expand(indices: Sequence[int], there: Sequence[int]) -> list[int]:
    """Return the requested indices of the layers or heads that are there, without duplicates."""
    return list(there) if ALL in indices else list(dict.fromkeys(indices))

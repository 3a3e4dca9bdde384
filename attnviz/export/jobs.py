"""A set of walks to be written to a folder: which files there will be, and what makes each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from attnviz.export.drawing.themes import LIGHT_THEME, Theme
from attnviz.export.formats import FORMATS, svg_files
from attnviz.export.subjects import View, pretrained_subject, toy_config, toy_subject, toy_tokens
from attnviz.export.walk import Subject, sheets
from attnviz.steps.vocabulary import STEPS

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel, Trace

NUMBERS = {"csv": ".csv.zip", "npz": ".npz", "ipynb": ".ipynb", "py": ".py"}
"""Formats of numbers and code, and how their files end"""
ALL_FORMATS = (*FORMATS, *NUMBERS)
EVERY = -1
"""Stands for all layers or all heads"""


@dataclass(frozen=True, slots=True)
class Job:
    """One walk to be written: a view of one text, layer and head, and the start of its files' names."""

    view: View
    stem: str

    def files(self, formats: Iterable[str], steps: Sequence[str]) -> list[str]:
        """Return the names of the files that may be written; a step without a picture writes none."""
        names = []
        for kind in formats:
            if kind == "svg":
                names += [f"{self.stem}-{i:02d}-{step}.svg" for i, step in enumerate(STEPS, 1) if step in steps]
            else:
                names.append(f"{self.stem}{NUMBERS.get(kind) or FORMATS[kind].suffix}")
        return names


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the files of jobs. A text is traced once for all its layers and heads."""

    load: Callable[[str], PretrainedModel]
    site: str = ""
    bare: bool = False
    theme: Theme = LIGHT_THEME
    """Of the formats that are made in the dark as well"""
    _traces: dict[tuple[str, str, str], Trace] = field(default_factory=dict)

    def jobs(self, views: Sequence[dict[str, Any]], layers: Sequence[int], heads: Sequence[int]) -> list[Job]:
        """Return a job for each text, layer and head.

        Raises:
            attnviz.pretrained.ModelError: the model can't be loaded.
            IndexError: a layer or a head that is not there.
        """
        return [job for number, view in enumerate(views) for job in self._jobs(view, number, len(views), layers, heads)]

    def _jobs(
        self, view: dict[str, Any], number: int, count: int, layers: Sequence[int], heads: Sequence[int]
    ) -> Iterator[Job]:
        has_layers, has_heads = self._shape(view)
        prefix = f"{number + 1:0{max(2, len(str(count)))}d}-" if count > 1 else ""
        name = "toy" if view["source"] == "toy" else slug(view["model"])
        for layer, head in product(_expand(layers, has_layers, "layer"), _expand(heads, has_heads, "head")):
            where = "" if view["source"] == "toy" else f"-layer{layer}"
            yield Job({**view, "layer": layer, "head": head}, f"{prefix}{name}{where}-head{head}")

    def _shape(self, view: View) -> tuple[int, int]:
        """Return how many layers and heads there are."""
        if view["source"] == "toy":
            return 1, toy_config(view).head_count
        counts = self.load(view["model"]).layer_counts
        if view["kind"] not in counts:
            raise IndexError(f"{view['model']} has no {view['kind']} attention, but {' and '.join(counts)}")
        return counts[view["kind"]]

    def subject(self, view: View) -> Subject:
        """Return the walk of a job.

        Raises:
            attnviz.tokens.NoTokensError: the text gives no token.
        """
        if view["source"] == "toy":
            return toy_subject(view, toy_tokens(view), site=self.site)
        model = self.load(view["model"])
        key = (view["model"], view["text"], view["pair"])
        if key not in self._traces:
            self._traces.clear()  # jobs come text by text, so one trace at a time is enough
            self._traces[key] = model.trace(view["text"], view["pair"].strip() or None)
        return pretrained_subject(view, model, self._traces[key], site=self.site)

    def make(self, job: Job, subject: Subject, kind: str, steps: Sequence[str]) -> dict[str, bytes]:
        """Return a job's files of one format, by their names.

        Raises:
            attnviz.export.formats.TooLongError: more tokens than the format holds.
            attnviz.export.numbers.TooManyNumbersError: more numbers than a CSV holds.
        """
        if kind in NUMBERS:
            return {f"{job.stem}{NUMBERS[kind]}": self._numbers(job.view, subject, kind)}
        form = FORMATS[kind]
        form.check(subject)
        shown = sheets(subject, steps, self.theme if form.themed else LIGHT_THEME)
        if kind == "svg":
            return {f"{job.stem}-{name}": content for name, content in svg_files(shown, bare=self.bare).items()}
        return {f"{job.stem}{form.suffix}": form.write(shown)}

    def _numbers(self, view: View, subject: Subject, kind: str) -> bytes:
        from attnviz.export import numbers
        from attnviz.export.code import lines as code
        from attnviz.export.code.recipes import walk_cells

        if kind == "csv":
            tokens = subject.tokens
            about = {"of": subject.name, "text": tokens.text, "second_text": tokens.pair, "link": subject.link}
            return numbers.csv_zip(subject.walk, [subject.walk.head], about)
        if kind == "npz":
            return numbers.npz(subject.walk, [subject.walk.head])
        cells = walk_cells(view, subject, self.load)
        return (code.notebook(cells) if kind == "ipynb" else code.script(cells)).encode()


def maker(*, site: str = "", bare: bool = False, theme: Theme = LIGHT_THEME) -> Maker:
    """Return a maker that loads each model once."""
    from attnviz.pretrained import load

    return Maker(cache(load), site, bare, theme)


def slug(name: str) -> str:
    """Return a name as a part of a file's name that every system takes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[-50:].lower() or "model"


def _expand(wanted: Sequence[int], count: int, what: str) -> list[int]:
    """Return what is asked for of `count` layers or heads.

    Raises:
        IndexError: one that is not there.
    """
    if EVERY in wanted:
        return list(range(count))
    beyond = [index for index in wanted if index >= count]
    if beyond:
        raise IndexError(f"{what} {beyond[0]} is not there: {what}s go from 0 to {count - 1}")
    return list(dict.fromkeys(wanted))

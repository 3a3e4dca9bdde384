"""Many sentences: statistics of heads over them, and their embeddings, in batches and one by one.

The statistics are also measured by two processes against one, and of many sentences against few.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from attnviz.bert.encoding import embed_sentences, token_ids
from attnviz.bert.search import built_in
from attnviz.corpus.blocks import Block, Read, sources
from attnviz.corpus.engines import run_local
from attnviz.corpus.run import Job, Run
from attnviz.files import FOLDER
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel
from bench.table import Row

ALONE, FEW, MANY, MOST = 500, 5_000, 10_000, 100_000
"""Sentences"""
JOB = Job("minilm")
Engine = Callable[[Iterator[Block]], Iterator[Read]]


def rows() -> Iterator[Row]:
    """Measure sentences of the reviews and reports; seconds are of the clock, but for the first row."""
    torch.set_num_threads(1)
    texts = reviews()
    yield _batches(texts)
    with TemporaryDirectory() as folder:
        few, many, most = (_file(Path(folder), texts, count) for count in (FEW, MANY, MOST))
        one, two = (_seconds(few, _local(processes)) for processes in (1, 2))
        yield Row(f"{FEW:,} sentences by two processes (peer: by one)", one, two, 1 / 1.7, "s")
        if find_spec("ray") is not None:
            yield Row(f"{FEW:,} sentences by Ray, two actors (peer: two processes)", two, _by_ray(few), 1 / 0.8, "s")
        little, much = (1000 * _seconds(file, _local(2)) / count for file, count in ((many, MANY), (most, MOST)))
        yield Row(f"a sentence of {MOST:,}, two processes (peer: of {MANY:,})", little, much, 1.1, "ms")


def _batches(texts: list[str]) -> Row:
    """Measure batches against traces of single sentences, in processor time."""
    reader, model = JOB.reader(), load("minilm")
    some = texts[:ALONE]

    def alone() -> None:
        found = reader.nothing()
        for number, text in enumerate(some):
            found.add(model.trace(text), pairs=number % JOB.pairs_every == 0)

    reader.read(texts[:64])  # warm
    first, peer, second = (
        _processor(lambda: reader.read(some)),
        _processor(alone),
        _processor(lambda: reader.read(some)),
    )
    return Row(f"{ALONE} sentences in batches (peer: one by one)", peer, (first + second) / 2, 1 / 3, "s")


def _by_ray(file: Path) -> float:
    from attnviz.corpus.engines import run_ray

    return _seconds(file, lambda blocks: run_ray(JOB, blocks, actors=2, gpus=0, address=None))


def _local(processes: int) -> Engine:
    return lambda blocks: run_local(JOB, blocks, processes)


def _seconds(file: Path, engine: Engine) -> float:
    """Return the time of all, from the first blocks that were read on: a run of hours starts its processes once."""
    run = Run(JOB, sources([file]))
    results = engine(run.remaining())
    for read in islice(results, 2):  # of two processes
        run.fold(read)
    began, before = time.perf_counter(), run.lines
    for read in results:
        run.fold(read)
    return (time.perf_counter() - began) * run.total / (run.total - before)


def _processor(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def _file(folder: Path, texts: list[str], count: int) -> Path:
    file = folder / f"{count}.txt"
    file.write_text("".join(f"{text}\n" for text in islice(cycle(texts), count)), encoding="utf-8")
    return file


COUNT, LIMIT = 5_000, 1 / 3
REVIEWS = ("reviews.csv", "reports.csv")


def encoding_rows() -> Iterator[Row]:
    """Measure short sentences, and some that are half as long again; seconds are processor time of one thread."""
    torch.set_num_threads(1)
    model = load("minilm")
    assert isinstance(model, BuiltInModel)
    for name, sentences in (("the built-in text", list(built_in().sentences)), ("reviews and reports", reviews())):
        texts = list(islice(cycle(sentences), COUNT))
        mean = sum(map(len, token_ids(model, texts))) / COUNT
        yield _against_one_by_one(model, f"{name}, {mean:.0f} tokens each", texts)


def _against_one_by_one(model: BuiltInModel, name: str, texts: list[str]) -> Row:
    embed_sentences(texts[:64], model=model)  # warm
    first = _processor(lambda: embed_sentences(texts, model=model))
    alone = _processor(lambda: [embed_sentences([text], model=model) for text in texts])
    second = _processor(lambda: embed_sentences(texts, model=model))
    what = f"{COUNT:,} sentences of {name}, embedded in batches (peer: one by one)"
    return Row(what, alone, (first + second) / 2, LIMIT, "s")


def reviews() -> list[str]:
    """Return the texts of all reviews and reports."""
    files = (FOLDER / "assets" / "bert" / name for name in REVIEWS)
    return [row["text"] for file in files for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())]

"""Sentence embeddings: 5,000 sentences in batches that are sorted by length, against the same ones one by one."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice

import torch

from attnviz.bert.encoding import embed_sentences, token_ids
from attnviz.bert.search import built_in
from attnviz.files import FOLDER
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel
from bench.table import Row

COUNT, LIMIT = 5_000, 1 / 3
REVIEWS = ("reviews.csv", "reports.csv")


def rows() -> Iterator[Row]:
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
    first = _seconds(lambda: embed_sentences(texts, model=model))
    alone = _seconds(lambda: [embed_sentences([text], model=model) for text in texts])
    second = _seconds(lambda: embed_sentences(texts, model=model))
    what = f"{COUNT:,} sentences of {name}, embedded in batches (peer: one by one)"
    return Row(what, alone, (first + second) / 2, LIMIT, "s")


def _seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def reviews() -> list[str]:
    """Return the texts of all reviews and reports."""
    files = (FOLDER / "assets" / "bert" / name for name in REVIEWS)
    return [row["text"] for file in files for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())]

"""Readers whose process dies at a certain block, in a module of their own: each of those processes imports it anew."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from attnviz.corpus import engines
from attnviz.corpus.blocks import Block, Read
from attnviz.corpus.run import Job
from attnviz.corpus.sentences import Reader

read_here = engines._read_here  # before a test puts another one in its place


def dying(job: Job, block: Block) -> Read:
    """Read a block in a process that dies at the third one, if the file beside the corpus says so."""
    marker = Path(block.path).with_suffix(".dies")
    if block.number == 2 and marker.exists():
        if marker.read_text() == "once":
            marker.unlink()
        else:
            marker.write_text(f"{marker.read_text()} again")
        os._exit(9)
    return read_here(job, block)


class DyingReader(Reader):
    """At a certain sentence, once: waits for a checkpoint of the driver, copies it, and ends its process."""

    checkpoint, copy = Path(), Path()
    sentence = ""

    def read(self, sentences: Any, places: Any = None, **on: Any) -> Any:
        """Read sentences, or end the process."""
        if self.sentence in sentences and not self.copy.exists():
            until = time.monotonic() + 60
            while not self.checkpoint.exists() and time.monotonic() < until:
                time.sleep(0.02)
            self.copy.write_bytes(self.checkpoint.read_bytes() if self.checkpoint.exists() else b"")
            os._exit(1)
        return super().read(sentences, places, **on)


class DyingJob(Job):
    """Its model's name also holds the files of the reader, and the sentence at which it dies."""

    def reader(self, device: str = "cpu") -> Reader:
        """Return a reader that dies."""
        model, checkpoint, copy, sentence = self.model.split("|")
        found = Job(model, self.batch, self.pairs_every).reader(device)
        reader = DyingReader(found._model, batch=self.batch, pairs_every=self.pairs_every)
        reader.checkpoint, reader.copy, reader.sentence = Path(checkpoint), Path(copy), sentence
        return reader

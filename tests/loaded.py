"""The built-in model, loaded once in a process, and its vectors of the built-in examples, computed once in a run.

Each load reads its 90 MB and compiles it, two thirds of a second; 600 texts take ten seconds of processor.
"""

from __future__ import annotations

import fcntl
import os
from functools import cache
from pathlib import Path

from safetensors.torch import load_file, save_file

from attnviz.bert.classification.classifier import Pooled, pool
from attnviz.bert.classification.examples import built_in
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel


@cache
def built_in_model() -> BuiltInModel:
    """Return the model that all tests of this process share; nobody may change it."""
    model = load()
    assert isinstance(model, BuiltInModel)
    return model


@cache
def pooled(examples: str) -> Pooled:
    """Return the vectors of the examples of this name, such as `reviews`: the first process that asks computes them."""
    folder = Path(os.environ["TESTS_SHARED"])
    file = folder / examples
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            vectors = pool(built_in_model(), built_in(examples).texts)
            unfinished = file.with_suffix(".part")  # a process that is killed while it writes leaves this one
            save_file({"cls": vectors.cls, "mean": vectors.mean}, unfinished)
            unfinished.replace(file)
    return Pooled(**load_file(file))

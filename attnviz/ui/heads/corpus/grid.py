"""All heads over a corpus in the grid of the explorer: each is a picture of its mean weights by relative position."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from attnviz.components.explorer import explorer
from attnviz.components.updates import acknowledged
from attnviz.corpus.offered import stamp, statistics
from attnviz.corpus.results import CorpusStatistics
from attnviz.heads.files import encode
from attnviz.runtime.arrays import array_store
from attnviz.settings import name_in_links
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.corpus.here import Here
from attnviz.ui.heads.corpus.words import HALF, share

KEY = "corpus_grid"
SAID = 3
"""The labels that are said of a head that is pointed at"""


def show_grid(here: Here, alike: Sequence[int] = ()) -> None:
    """Show the grid; `alike` are the numbers of heads with a frame, besides the chosen one."""
    explorer(*payload(here, alike), key=KEY, on_view=heads_state.take)


def payload(here: Here, alike: Sequence[int] = ()) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the explorer (see `components.explorer`)."""
    found, name, words = here.statistics, here.card.model, here.words
    (layers, heads), side = found.shape, found.offsets[-1] + 1
    chosen = [here.layer, here.head], *([*found.head(other)] for other in alike)
    trace = f"corpus {name_in_links(here.file)} {name} {stamp(here.file)}"
    digest = array_store().offer((trace,), partial(_file, here.file), compress=True)
    positions, ones = [str(position) for position in range(side)], [1] * side
    header = {
        "trace": trace, "model": name, "kind": here.card.kind, "layers": found.numbers, "heads": heads,
        "only_grid": True,
        "rows": side, "cols": side, "causal": False, "rollout": False, "norms": False,
        "query_labels": positions, "key_labels": positions, "query_groups": ones, "key_groups": ones,
        "files": {"shared": digest, "weights": [[digest, 0, layers * heads]], "rollout": []},
        "view": {**heads_state.view(), "layer": here.layer, "head": here.head, "chosen": chosen, "q": None, "k": None},
        "acknowledged": acknowledged(KEY),
        "labels": _of_heads(here, lambda held: [words.linked[name] for name, part in held if part >= HALF]),
        "said": _of_heads(here, lambda held: [f"{words.labels[name]} on {share(part)}" for name, part in held[:SAID]]),
        "measures": [
            {"name": one, "title": words.measures[one].title, "unit": words.measures[one].unit, "low": 0.0,
             "high": float(found.edges(one)[-1]), "keys": []}
            for one in found.present
        ],
    }  # fmt: skip
    places = [found.measures.index(one) for one in found.present]
    return header, {"measures": found.mean[..., places].astype(np.float32)}


def pictures(of: CorpusStatistics) -> npt.NDArray[np.float32]:
    """Return a matrix for each head, (L · H, n, n), whose cell (i, j) is the mean weight at the position j − i."""
    apart = np.arange(of.offsets[-1] + 1)
    apart = apart[None, :] - apart[:, None]  # key − query
    means = np.nan_to_num(of.offset_mean)[..., apart - of.offsets[0]]
    # In C's order, which indexing does not keep, and safetensors does not check.
    return np.ascontiguousarray(means.reshape(-1, *apart.shape), np.float32)


def _file(path: Path) -> bytes:
    """Return the pictures of all heads as the file that the browser requests."""
    return save({"weights": encode(pictures(statistics(path)[0]))})


def _of_heads(here: Here, say: Any) -> list[list[list[str]]]:
    """Return what is said of each head's labels, as L lists of H lists."""
    heads = here.statistics.shape[1]
    return [[say(here.labels(layer, head)) for head in range(heads)] for layer in here.statistics.numbers]

"""The files with the weights of all heads of a text, in 16 bits, and with what the heads share.

A small text is one file; of a large one, the browser requests the heads that it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from attnviz.measures.layers import weights_by_chunk
from attnviz.measures.survey import Survey
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

ALL_BYTES = 2_500_000
"""Up to this size, all weights of a text are in one file."""
PART_BYTES = 1_000_000
"""Otherwise a file has this much of one layer, and at least one head."""
ERROR = 7.7e-6
"""The most by which a weight in a file is off: half a step, and the rounding of a product in float32"""

Arrays = dict[str, npt.NDArray[Any]]


class Part(NamedTuple):
    """What a file has. Heads are numbered layer by layer: head h of layer l is number l · H + h."""

    what: Literal["shared", "weights", "rollout"]
    """`shared` is what all heads share (`shared_arrays`)"""
    first: int
    """The number of its first head; of a rollout, the layer; else 0"""
    heads: int
    """Of how many heads it has the weights; a `shared` file has those of all heads or of none"""


def list_files(survey: Survey, name: Callable[[Part], str], *, rollout: bool) -> dict[str, Any]:
    """Return for the browser which file has what; `name` returns the name under which it requests a file.

    Returns:
        `shared`, the file with what all heads share; `weights`, [file, number of the first head, how many] of each
        file with heads; `rollout`, the file for each layer, or [] if there is none.
    """
    layers, heads = survey.overview.shape[:2]
    found = list(parts(layers, heads, survey.hidden.size * 2))
    is_one = len(found) == 1
    shared = name(Part("shared", 0, layers * heads if is_one else 0))
    return {
        "shared": shared,
        "weights": [[shared if is_one else name(Part("weights", *part)), *part] for part in found],
        "rollout": [name(Part("rollout", layer, 1)) for layer in range(layers if rollout else 0)],
    }


def parts(layers: int, heads: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield the heads of each file, (number of the first, how many), where one head takes `each` bytes."""
    if each * layers * heads <= ALL_BYTES:
        yield 0, layers * heads
        return
    files = math.ceil(heads / max(1, PART_BYTES // each))  # of a layer
    edges = [heads * file // files for file in range(files + 1)]
    for layer in range(layers):
        for start, end in pairwise(edges):
            yield layer * heads + start, end - start


def write_part(
    part: Part,
    trace: Trace,
    kind: Kind,
    *,
    survey: Callable[[], Survey],
    rolled: Callable[[], npt.NDArray[np.float32]],
) -> bytes:
    """Return a file as safetensors. `survey` and `rolled`, which returns the rollout, are called if it needs them."""
    what, first, heads = part
    if what == "rollout":
        return save({"weights": encode(rolled()[first : first + heads])})
    if what == "weights":
        return save({"weights": encoded_weights(trace, kind, first, heads)})
    return save(shared_arrays(survey(), encoded_weights(trace, kind, first, heads) if heads else None))


def shared_arrays(survey: Survey, weights: npt.NDArray[np.uint16] | None) -> Arrays:
    """Return what all heads share.

    `weights`, uint16 (L · H, Tq, Tk), or without them `overview`, uint8 (L, H, n, m): thumbnails; `key_norms`, float32
    (L, H, Tk), if they are known; `hidden`, uint8 (Tq, Tk), if other cells than those of the causal mask are masked.
    """
    arrays: Arrays = {"overview": survey.overview} if weights is None else {"weights": weights}
    if survey.key_norms is not None:
        arrays["key_norms"] = survey.key_norms
    if survey.hidden.any() and not survey.causal:
        arrays["hidden"] = survey.hidden.view(np.uint8)
    return arrays


def encoded_weights(trace: Trace, kind: Kind, first: int, count: int) -> npt.NDArray[np.uint16]:
    """Compute the weights of some heads, (count, Tq, Tk), as rint(weight · 65535), at most 7.7e-6 from the float32."""
    heads = trace.layers[kind][0].heads
    codes = np.empty((count, len(trace.query_tokens(kind)), len(trace.key_tokens(kind))), np.uint16)
    for layer in range(first // heads, (first + count - 1) // heads + 1):
        start = layer * heads - first
        own = range(max(0, -start), min(heads, count - start))
        for chunk, weights in weights_by_chunk(trace.layers[kind][layer], own):
            codes[[start + head for head in chunk]] = encode(weights.numpy())
    return codes


def encode(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Return rint(weight · 65535)."""
    codes: npt.NDArray[np.uint16] = np.rint(weights * np.float32(65535)).astype(np.uint16)
    return codes

"""All heads of one trace, with all that the browser shows of them: on the page Heads, in web pages and in notebooks.

Files hold the weights, in 16 bits, and what the heads share. A short text has one file; for a long one, the browser
requests the files of the heads that it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from attnviz.measures.summary import CLOSING_TOKENS, OPENING_TOKENS
from attnviz.measures.survey import Survey, rolled_out, survey, survey_name, weights_by_chunk
from attnviz.measures.thumbnails import FULL
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind, window_marks
from attnviz.trace.trace import Trace

ALL_BYTES = 2_500_000
"""Up to this size, all weights of a text are in one file."""
PART_BYTES = 1_000_000
"""Otherwise a file has up to this many bytes of one layer, and at least one head."""
ERROR = 7.7e-6
"""The largest error of a weight in a file: half a step, plus the rounding of a product in float32"""

Arrays = dict[str, npt.NDArray[Any]]


class Part(NamedTuple):
    """The content of a file. Heads are numbered layer by layer: head h of layer l is number l · H + h."""

    what: Literal["shared", "weights", "rollout"]
    """`shared` is what all heads share (`shared_arrays`)"""
    first: int
    """The number of its first head; of a rollout, the layer; else 0"""
    heads: int
    """The number of heads whose weights it has; a `shared` file has those of all heads or of none"""


def list_files(survey: Survey, name: Callable[[Part], str], *, rollout: bool) -> dict[str, Any]:
    """Return the index of files for the browser; `name` returns the name under which it requests a file.

    Returns:
        `shared`, the file with what all heads share; `weights`, [file, number of the first head, how many] of each
        file with heads; `rollout`, the file for each layer, or [] if there is none.
    """
    layers, heads = survey.overview.shape[:2]
    ranges = list(parts(layers, heads, survey.hidden.size * 2))
    is_one = len(ranges) == 1
    shared = name(Part("shared", 0, layers * heads if is_one else 0))
    return {
        "shared": shared,
        "weights": [[shared if is_one else name(Part("weights", *part)), *part] for part in ranges],
        "rollout": [name(Part("rollout", layer, 1)) for layer in range(layers if rollout else 0)],
    }


def parts(layers: int, heads: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield the heads of each file, (number of the first, how many), if one head takes `each` bytes."""
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
    """Return a file as safetensors. `survey` and `rolled`, which returns the rollout, are called only if needed."""
    what, first, heads = part
    if what == "rollout":
        return save({"weights": encode(rolled()[first : first + heads])})
    if what == "weights":
        return save({"weights": encoded_weights(trace, kind, first, heads)})
    return save(shared_arrays(survey(), encoded_weights(trace, kind, first, heads) if heads else None))


def shared_arrays(survey: Survey, weights: npt.NDArray[np.uint16] | None) -> Arrays:
    """Return the arrays that all heads share.

    `weights`, uint16 (L · H, Tq, Tk), or without them `overview`, uint8 (L, H, n, m): thumbnails; `key_norms`, float32
    (L, H, Tk), if they are known; `hidden`, uint8 (Tq, Tk), if cells other than those of the causal mask are masked.
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
        selected = range(max(0, -start), min(heads, count - start))
        for chunk, weights in weights_by_chunk(trace.layers[kind][layer], selected):
            codes[[start + head for head in chunk]] = encode(weights.numpy())
    return codes


def encode(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Return rint(weight · 65535)."""
    codes: npt.NDArray[np.uint16] = np.rint(weights * np.float32(FULL)).astype(np.uint16)
    return codes


def explorer_payload(
    trace: Trace,
    kind: Kind,
    survey: Survey,
    files: Mapping[str, Any],
    view: Mapping[str, Any],
    *,
    acknowledged: int = 0,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the explorer (see `components.explorer`).

    Args:
        trace: the trace of the text.
        kind: the kind of attention.
        survey: the survey of all heads.
        files: where the browser requests arrays, from `list_files`.
        view: the view's values.
        acknowledged: the number of the last update that `view` includes.
    """
    heads = survey.overview.shape[1]
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    header = {
        "trace": survey.name, "model": keys.tokenizer, "kind": kind, "layers": survey.numbers, "heads": heads,
        "rows": len(queries), "cols": len(keys), "causal": survey.causal,
        "query_labels": queries.labels, "key_labels": keys.labels,
        "query_groups": groups(queries), "key_groups": groups(keys),
        "files": files, "view": dict(view), "acknowledged": acknowledged, "labels": survey.labels,
        "measures": [
            {"name": measure.name, "title": measure.title, "unit": measure.unit, "low": measure.low,
             "high": measure.high, "keys": measure.keys}
            for measure in survey.measures
        ],
        "rollout": kind != "cross", "norms": survey.key_norms is not None,
        "mask_reasons": [None if (why := layer.mask_reasons) is None else asdict(why) for layer in trace.layers[kind]],
        "shared_by": [layer.shared_by for layer in trace.layers[kind]],
        "layer_marks": window_marks([layer.window for layer in trace.layers[kind]], kind),
        "limited": survey.limited,
        "has_sinks": any(layer.sinks is not None for layer in trace.layers[kind]),
    }  # fmt: skip
    return header, {"measures": survey.values}


def groups(tokens: Tokens) -> list[int]:
    """Return the group of each token: 0 special (added or typed), 1 first sentence, 2 second sentence."""
    special = [added or piece in OPENING_TOKENS or piece in CLOSING_TOKENS
               for added, piece in zip(tokens.special, tokens.pieces, strict=True)]  # fmt: skip
    return [0 if is_special else 1 + min(segment, 1)
            for is_special, segment in zip(special, tokens.segments, strict=True)]  # fmt: skip


@dataclass(frozen=True, eq=False)
class AllHeads:
    """All heads of one kind of attention on a text."""

    trace: Trace
    kind: Kind
    survey: Survey

    @classmethod
    def of(cls, trace: Trace, kind: Kind) -> AllHeads:
        """Compute the survey of a trace's heads; raises KeyError if the model has no such kind of attention."""
        return cls(trace, kind, survey(trace, kind, survey_name(trace, kind)))

    def payload(self, view: Mapping[str, Any], *, acknowledged: int = 0) -> tuple[dict[str, Any], Arrays]:
        """Return the header and the arrays of the explorer; see `explorer_payload`."""
        return explorer_payload(self.trace, self.kind, self.survey, self._files[0], view, acknowledged=acknowledged)

    def names(self) -> list[str]:
        """Return the names of all files; files of other texts or models have other names."""
        return list(self._files[1])

    def file(self, name: str) -> bytes:
        """Return a file as safetensors, computed now; raises KeyError if there is none of this name."""
        part = self._files[1][name]
        return write_part(part, self.trace, self.kind, survey=lambda: self.survey, rolled=lambda: self._rolled)

    @cached_property
    def _files(self) -> tuple[dict[str, Any], dict[str, Part]]:
        """The index of files in the header, and the content of each file by its name."""
        named: dict[str, Part] = {}

        def name(part: Part) -> str:
            file_name = f"{self.survey.name}/{part.what}/{part.first}"
            named[file_name] = part
            return file_name

        return list_files(self.survey, name, rollout=self.kind != "cross"), named

    @cached_property
    def _rolled(self) -> npt.NDArray[np.float32]:
        return rolled_out(self.trace, self.kind)

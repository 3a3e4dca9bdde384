"""The weights of heads as the browser receives them: whole numbers of 16 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from attnviz.links.link import ROLLOUT, Head
from attnviz.measures.chunks import weights_by_chunk
from attnviz.trace.model import Kind
from attnviz.trace.whole import Trace


def encoded_weights(
    trace: Trace, kind: Kind, heads: Sequence[Head], rolled: npt.NDArray[np.float32] | None
) -> npt.NDArray[np.uint16]:
    """Compute the weights of S heads, (S, Tq, Tk), as rint(weight · 65535), at most 7.7e-6 from the float32.

    `rolled` (L, T, T) is the rollout, required if `heads` contains the head `ROLLOUT`.
    """
    rows, cols = len(trace.query_tokens(kind)), len(trace.key_tokens(kind))
    codes = np.empty((len(heads), rows, cols), np.uint16)
    for layer in dict.fromkeys(layer for layer, _ in heads):
        places = {head: place for place, (own, head) in enumerate(heads) if own == layer}
        if ROLLOUT in places and rolled is not None:
            codes[places.pop(ROLLOUT)] = _encode(rolled[layer])
        for chunk, weights in weights_by_chunk(trace.layers[kind][layer], list(places)):
            codes[[places[head] for head in chunk]] = _encode(weights.numpy())
    return codes


def _encode(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    codes: npt.NDArray[np.uint16] = np.rint(weights * np.float32(65535)).astype(np.uint16)
    return codes

"""Two attention matrices, A and B: cell beside cell, their difference A − B, and how far apart they are.

Shapes: Tq and Tk positions of one pane, P aligned rows, R aligned columns. Row = query, column = key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from attnviz.attention import AttentionSteps
from attnviz.compare.alignment import GAP, Alignment, align, spread
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace

QUANTITIES = ("scores", "scaled", "masked", "weights")
"""The steps that are a matrix of queries by keys, and so can be compared cell by cell."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One quantity of A and of B in the same places."""

    quantity: str
    queries: Alignment
    """P places"""
    keys: Alignment
    """R places"""
    a: Floats
    """(P, R): NaN where A has no such row or column, or hides the cell by its mask"""
    b: Floats
    """(P, R): the same of B"""
    difference: Floats
    """(P, R): A − B; NaN where one of them has no number. A hidden weight counts as the 0 that it is."""
    divergence: npt.NDArray[np.float64] | None
    """(P,): Jensen-Shannon divergence of each row's weights in bits, NaN where a row has none; or None, see `why`"""
    why: str
    """Why there is no divergence, as a clause; empty where there is"""


@dataclass(frozen=True, slots=True)
class Apart:
    """How far apart A and B are, over the cells that both have."""

    cells: int
    mean: float
    """Σ |A − B| / cells"""
    largest: float
    """The difference of the largest magnitude, with its sign"""
    at: tuple[int, int]
    """The aligned row and column of it"""
    cosine: float | None
    """Σ A·B / (‖A‖ ‖B‖), or None where one of them is all zeros"""


def compare(a: AttentionSteps, b: AttentionSteps, quantity: str, queries: Alignment, keys: Alignment) -> Comparison:
    """Lay one quantity of two heads side by side and subtract.

    Args:
        a: one head's steps; its quantities are (Tq, Tk).
        b: the other's, of any other size.
        quantity: one of `QUANTITIES`.
        queries: how the rows of both belong together.
        keys: how the columns do.

    Raises:
        ValueError: a quantity that is none of them.
    """
    if quantity not in QUANTITIES:
        raise ValueError(f"{quantity} is none of {', '.join(QUANTITIES)}")
    in_a, in_b = (queries.first, keys.first), (queries.second, keys.second)
    whole_a, whole_b = spread(_numbers(a, quantity), *in_a), spread(_numbers(b, quantity), *in_b)
    difference = np.full_like(whole_a, np.nan)
    np.subtract(whole_a, whole_b, out=difference, where=np.isfinite(whole_a) & np.isfinite(whole_b))
    divergence, why = _divergence(quantity, whole_a, whole_b, keys)
    shown_a, shown_b = spread(_unmasked(a, quantity), *in_a), spread(_unmasked(b, quantity), *in_b)
    return Comparison(quantity, queries, keys, shown_a, shown_b, difference, divergence, why)


def align_tokens(a: Tokens, b: Tokens) -> Alignment:
    """Align the tokens of two texts.

    Where both come from the same tokenizer, equal pieces are the same. Else the same are tokens that stand for the same
    characters but for case and white space, so that BERT's "animal" meets GPT-2's "␣Animal".
    """
    if a.tokenizer == b.tokenizer:
        return align(a.pieces, b.pieces)
    return align(_spelled(a), _spelled(b))


def what_if(layer: LayerTrace, scale: float | None, causal: bool) -> LayerTrace:
    """Change the scale or add a causal mask, holding Q, K and V as they are.

    Args:
        layer: a layer as it ran.
        scale: the factor between scores and scaled; the layer's own when None.
        causal: whether each query loses the keys after it, on top of what the layer hides by itself. Where rows and
            columns are not the same tokens (cross-attention), "after" means nothing, and the mask stays.
    """
    if scale is not None:
        layer = replace(layer, scale=scale)
    if causal and layer.query.shape[1] == layer.key.shape[1]:
        layer = replace(layer, mask=layer.mask.and_causal(layer.query.shape[1]))
    return layer


def measure(comparison: Comparison) -> Apart | None:
    """Measure how far apart A and B are; None where they have no cell in common."""
    there = np.isfinite(comparison.difference)
    cells = int(there.sum())
    if not cells:
        return None
    difference = comparison.difference.astype(np.float64)
    place = int(np.nanargmax(np.abs(difference)))
    at = divmod(place, difference.shape[1])
    # A cell that is compared and yet not shown is a hidden weight, which is 0.
    a, b = (np.nan_to_num(side[there].astype(np.float64)) for side in (comparison.a, comparison.b))
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float(a @ b) / norms if norms else None
    return Apart(cells, float(np.abs(difference[there]).mean()), float(difference[at]), at, cosine)


def jensen_shannon(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the Jensen-Shannon divergence of each pair of rows, (P,), in bits: 0 for the same, 1 for nothing shared.

    JSD(p, q) = ½ Σ p log₂(p/m) + ½ Σ q log₂(q/m) with m = ½ (p + q); 0 log 0 is 0 (Lin 1991, "Divergence measures based
    on the Shannon entropy").

    Args:
        p: (P, R), rows that sum to 1.
        q: (P, R)
    """
    middle = (p + q) / 2

    def against(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ratio = np.divide(rows, middle, out=np.ones_like(rows), where=rows > 0)
        summed: npt.NDArray[np.float64] = (rows * np.log2(ratio)).sum(axis=1)
        return summed

    return np.clip((against(p) + against(q)) / 2, 0.0, 1.0)  # rounding may leave it a hair outside


def _divergence(quantity: str, a: Floats, b: Floats, keys: Alignment) -> tuple[npt.NDArray[np.float64] | None, str]:
    if quantity != "weights":
        return None, "only rows of weights share out a whole"
    if keys.gaps:
        return None, "A and B have not the same keys"
    p, q = a.astype(np.float64), b.astype(np.float64)
    # A row that only one side has is NaN; a row whose every key is hidden shares out nothing.
    whole = (np.nan_to_num(p).sum(axis=1) > 0) & (np.nan_to_num(q).sum(axis=1) > 0)
    bits = np.full(len(p), np.nan)
    bits[whole] = jensen_shannon(p[whole], q[whole])
    return bits, ""


def _numbers(steps: AttentionSteps, quantity: str) -> Floats:
    """Return a quantity as it was computed, (Tq, Tk)."""
    numbers: Floats = getattr(steps, quantity).float().numpy()
    return numbers


def _unmasked(steps: AttentionSteps, quantity: str) -> Floats:
    """Return a quantity as it is drawn, (Tq, Tk): what the mask hides is no number."""
    numbers = _numbers(steps, quantity)
    if quantity not in ("masked", "weights"):
        return numbers
    return np.where(steps.masked.isneginf().numpy(), np.float32(np.nan), numbers)


def _spelled(tokens: Tokens) -> list[str]:
    """Spell each token without case and white space; one that the tokenizer added is its own piece."""
    sources = (tokens.source(index).strip().casefold() for index in range(len(tokens)))
    return [source or piece for source, piece in zip(sources, tokens.pieces, strict=True)]


def joined_labels(places: Alignment, first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Label the places of an axis that two token sequences share.

    "word" where both have it, "tired | wide" where they differ, "very | –" and "– | very" where only one has a token.
    """
    labels = []
    for i, j, changed in zip(places.first, places.second, places.changed, strict=True):
        if GAP not in (i, j) and not changed:
            labels.append(first[i])
        else:
            labels.append(f"{first[i] if i != GAP else '–'} | {second[j] if j != GAP else '–'}")
    return labels

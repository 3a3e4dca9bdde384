"""Comparison of two attention matrices, A and B: aligned cells, the difference A − B, and their distance.

Shapes: Tq and Tk positions of one side, P aligned rows, R aligned columns. Row = query, column = key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from attnviz.attention import AttentionSteps
from attnviz.compare.alignment import GAP, Alignment, align, expand
from attnviz.mask_reasons import MaskReasons
from attnviz.measures.summary import sink_shares
from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.steps import WALK
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace
from attnviz.trace.walk import Walk

QUANTITIES = tuple(name for name, step in WALK.items() if step.is_by_cell)
"""The steps with one cell per query and key, which can be compared cell by cell."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(ShortRepr):
    """One quantity of A and of B, aligned."""

    quantity: str
    """The step that is compared, one of `QUANTITIES`"""
    queries: Alignment
    """P places"""
    keys: Alignment
    """R places"""
    a: Floats
    """(P, R): NaN where A has no such row or column, or where its mask hides the cell"""
    b: Floats
    """(P, R): the same for B"""
    difference: Floats
    """(P, R): A − B; NaN where A or B has no number. Weights of masked cells count as 0."""
    divergence: npt.NDArray[np.float64] | None
    """(P,): Jensen-Shannon divergence of each row of weights in bits, NaN where it is undefined; or None"""
    no_divergence_reason: str
    """Why `divergence` is None, as a clause; empty if it is not None"""


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of A and B over the cells that both have."""

    cells: int
    """The number of cells that A and B both have"""
    mean: float
    """Σ |A − B| / cells"""
    largest: float
    """The difference of the largest magnitude, with its sign"""
    at: tuple[int, int]
    """Its aligned row and column"""
    cosine: float | None
    """Σ A·B / (‖A‖ ‖B‖), or None if A or B is all zeros"""


def compare(a: AttentionSteps, b: AttentionSteps, quantity: str, queries: Alignment, keys: Alignment) -> Comparison:
    """Align one quantity of two heads and subtract.

    Args:
        a: the steps of one head; its quantities are (Tq, Tk).
        b: the steps of the other head, of any size.
        quantity: one of `QUANTITIES`.
        queries: the alignment of the rows.
        keys: the alignment of the columns.

    Raises:
        ValueError: `quantity` is not one of `QUANTITIES`.
    """
    if quantity not in QUANTITIES:
        raise ValueError(f"{quantity} is not one of {', '.join(QUANTITIES)}")
    in_a, in_b = (queries.first, keys.first), (queries.second, keys.second)
    whole_a, whole_b = expand(_numbers(a, quantity), *in_a), expand(_numbers(b, quantity), *in_b)
    difference = np.full_like(whole_a, np.nan)
    np.subtract(whole_a, whole_b, out=difference, where=np.isfinite(whole_a) & np.isfinite(whole_b))
    divergence, reason = _divergence(quantity, whole_a, whole_b, keys)
    shown_a, shown_b = expand(_unmasked(a, quantity), *in_a), expand(_unmasked(b, quantity), *in_b)
    return Comparison(quantity, queries, keys, shown_a, shown_b, difference, divergence, reason)


def align_tokens(a: Tokens, b: Tokens) -> Alignment:
    """Align the tokens of two texts.

    With the same tokenizer, equal pieces match. With different tokenizers, tokens match if they cover the same
    characters, ignoring case and white space: BERT's "animal" matches GPT-2's "␣Animal".
    """
    if a.tokenizer == b.tokenizer:
        return align(a.pieces, b.pieces)
    return align(_spelled(a), _spelled(b))


def what_if(layer: LayerTrace, scale: float | None, causal: bool) -> LayerTrace:
    """Return the layer with another scale or an added causal mask, and the same Q, K and V.

    Args:
        layer: the layer of a trace.
        scale: the factor between scores and scaled; None keeps the layer's own.
        causal: whether to add a causal mask to the layer's own mask. It is ignored if rows and columns are not the same
            tokens (cross-attention).
    """
    if scale is not None:
        bias = layer.position_bias
        layer = replace(layer, scale=scale, position_bias=None if bias is None else bias.with_scale(scale))
    if causal and layer.query.shape[1] == layer.key.shape[1]:
        layer = replace(layer, mask=layer.mask.and_causal(layer.query.shape[1]), stated_reasons=None)
    return layer


def measure_distance(comparison: Comparison) -> Distance | None:
    """Measure the distance of A and B. Returns None if they have no cell in common."""
    common = np.isfinite(comparison.difference)
    cells = int(common.sum())
    if not cells:
        return None
    difference = comparison.difference.astype(np.float64)
    place = int(np.nanargmax(np.abs(difference)))
    at = divmod(place, difference.shape[1])
    # A compared cell that is NaN in a or b is a masked weight, which is 0.
    a, b = (np.nan_to_num(side[common].astype(np.float64)) for side in (comparison.a, comparison.b))
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float(a @ b) / norms if norms else None
    return Distance(cells, float(np.abs(difference[common]).mean()), float(difference[at]), at, cosine)


def jensen_shannon(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the Jensen-Shannon divergence of each pair of rows, (P,), in bits: 0 if equal, 1 if they share no key.

    JSD(p, q) = ½ Σ p log₂(p/m) + ½ Σ q log₂(q/m) with m = ½ (p + q) and 0 log 0 = 0 (Lin 1991, "Divergence measures
    based on the Shannon entropy").

    Args:
        p: (P, R), rows that sum to 1.
        q: (P, R)
    """
    middle = (p + q) / 2

    def kl_to_middle(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ratio = np.divide(rows, middle, out=np.ones_like(rows), where=rows > 0)
        summed: npt.NDArray[np.float64] = (rows * np.log2(ratio)).sum(axis=1)
        return summed

    return np.clip((kl_to_middle(p) + kl_to_middle(q)) / 2, 0.0, 1.0)  # against rounding


def _divergence(quantity: str, a: Floats, b: Floats, keys: Alignment) -> tuple[npt.NDArray[np.float64] | None, str]:
    if not WALK[quantity].is_distribution:
        return None, "only rows of weights sum to 1"
    if keys.gaps:
        return None, "A and B do not have the same keys"
    p, q = a.astype(np.float64), b.astype(np.float64)
    # A row that only one side has is NaN; a row whose keys are all masked sums to 0.
    has_weights = (np.nan_to_num(p).sum(axis=1) > 0) & (np.nan_to_num(q).sum(axis=1) > 0)
    bits = np.full(len(p), np.nan)
    bits[has_weights] = jensen_shannon(*_with_sinks(p[has_weights], q[has_weights]))
    return bits, ""


def _with_sinks(
    p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Add a column for the share of a sink, where rows of p or q, (P, R), leave one: all rows then sum to 1."""
    shares = [sink_shares(torch.from_numpy(rows)) for rows in (p, q)]
    if shares == [None, None]:
        return p, q
    of_p, of_q = (np.zeros((len(p), 1)) if share is None else share.numpy() for share in shares)
    return np.hstack([p, of_p]), np.hstack([q, of_q])


def _numbers(steps: AttentionSteps, quantity: str) -> Floats:
    """Return a quantity as computed, (Tq, Tk); hidden scores are −inf."""
    values = getattr(steps, quantity).float()
    if quantity == "masked":
        values = values.masked_fill(steps.hidden, -torch.inf)  # even if the mask fills in another number
    numbers: Floats = values.numpy()
    return numbers


def may_hide(steps: AttentionSteps, quantity: str) -> bool:
    """Whether cells of a quantity are drawn as hidden: by a mask, or as outside of LongT5's windows, without a bias."""
    return bool(WALK[quantity].masked_value) or bool(np.isneginf(_numbers(steps, quantity)).any())


def mask_reasons(walk: Walk, quantity: str) -> MaskReasons | None:
    """Return why cells of a quantity are drawn as hidden; None if none are, or if that is not known.

    Before the mask of this step, which may be another than the model's own, the model's windows alone hide cells.
    """
    if WALK[quantity].masked_value:
        return walk.layer.mask_reasons
    reasons = MaskReasons.of(torch.from_numpy(np.isneginf(_numbers(walk.steps, quantity))))
    return None if reasons == MaskReasons() else reasons


def _unmasked(steps: AttentionSteps, quantity: str) -> Floats:
    """Return a quantity as drawn, (Tq, Tk): NaN in masked cells."""
    numbers = _numbers(steps, quantity)
    if not WALK[quantity].masked_value:
        return np.where(np.isneginf(numbers), np.float32(np.nan), numbers)  # outside of LongT5's window
    hidden = steps.hidden_weights if WALK[quantity].is_distribution else steps.hidden
    return np.where(hidden.numpy(), np.float32(np.nan), numbers)


def _spelled(tokens: Tokens) -> list[str]:
    """Return each token's characters without case and white space, or the piece of an added token."""
    sources = (tokens.source(index).strip().casefold() for index in range(len(tokens)))
    return [source or piece for source, piece in zip(sources, tokens.pieces, strict=True)]


def joined_labels(places: Alignment, first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the labels of the places of two aligned token sequences.

    "word" if both have it, "tired | wide" if they differ, "very | –" or "– | very" if only one has a token.
    """
    labels = []
    for i, j, changed in zip(places.first, places.second, places.changed, strict=True):
        if GAP not in (i, j) and not changed:
            labels.append(first[i])
        else:
            labels.append(f"{first[i] if i != GAP else '–'} | {second[j] if j != GAP else '–'}")
    return labels


EXACT_CELLS = 2**17
"""Matrices with up to this many cells (362 × 362) are sent as float32, larger ones with 16 bits per cell."""
LEVELS = 2**16 - 2
MISSING = 2**16 - 1
"""The 16-bit level of the largest number, and of no number"""


def encode(matrix: npt.NDArray[np.float32]) -> tuple[npt.NDArray[Any], list[float] | None]:
    """Encode a matrix for sending; also return the range [low, high] of its 16-bit levels, or None if it is float32.

    A 16-bit level means low + level / 65534 · (high − low); 65535 means NaN. So the error is at most 1/131068 of the
    range: 7.7e-6 for weights from 0 to 1.
    """
    if matrix.size <= EXACT_CELLS:
        return matrix, None
    finite = np.isfinite(matrix)
    low, high = (float(matrix[finite].min()), float(matrix[finite].max())) if finite.any() else (0.0, 1.0)
    levels = (matrix.astype(np.float64) - low) * (LEVELS / ((high - low) or 1.0))
    coded = np.where(finite, np.rint(np.where(finite, levels, 0)), MISSING).astype(np.uint16)
    return coded, [low, high]


@dataclass(frozen=True, slots=True, eq=False)
class Divergences(ArraysSize):
    """The divergences of N heads, or of a head in N layers, from one of them, the reference."""

    bits: npt.NDArray[np.float64]
    """(N,): 0 for the reference itself; NaN where no row has weights on both sides"""
    numbers: tuple[int, ...]
    """The numbers of the N heads or layers"""
    of: int
    """The number of the reference"""

    @property
    def most(self) -> int | None:
        """The number of the most different head or layer, the first if several are equal; None if there is no other."""
        others = np.where(np.array(self.numbers) == self.of, np.nan, self.bits)
        return self.numbers[int(np.nanargmax(others))] if np.isfinite(others).any() else None

    def bits_at(self, number: int) -> float:
        """Return the divergence of the head or layer with this number."""
        return float(self.bits[self.numbers.index(number)])


def divergences(weights: Mapping[int, Floats], of: int) -> Divergences:
    """Return the divergence of each matrix of weights from one of them, the reference.

    Args:
        weights: the matrices of N heads or layers by their numbers, (Tq, Tk) each: rows sum to 1, or to 0 where the
            mask hides all keys, or to less than 1 where a sink takes a share, which counts as one more key.
        of: the number of the reference.
    """
    matrices = {number: matrix.astype(np.float64) for number, matrix in weights.items()}
    bits = np.array([_mean_of_rows(matrix, matrices[of]) for matrix in matrices.values()])
    return Divergences(bits, tuple(matrices), of)


def _mean_of_rows(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    has_weights = (p.sum(axis=1) > 0) & (q.sum(axis=1) > 0)
    return (
        float(jensen_shannon(*_with_sinks(p[has_weights], q[has_weights])).mean())
        if has_weights.any()
        else float("nan")
    )

"""Pairs of heads that do the same: how far their rows of weights are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.measures.rows import entropy


def divergence_sums(weights: Tensor) -> Tensor:
    """Return the sums over all queries of the Jensen-Shannon divergence of each two heads, (G, G) float64, in bits.

    For the rows p and q of two heads it is H((p + q) / 2) − (H(p) + H(q)) / 2, with the entropy H: 0 where they are
    equal, 1 where they share no key (Lin 1991, "Divergence Measures Based on the Shannon Entropy", section IV; Clark et
    al. 2019, section 6, compare the heads of BERT by it).

    Args:
        weights: of all G heads of a model on one text, (G, Tq, Tk).
    """
    own = entropy(weights).double().sum(-1)  # (G,)
    found = weights.new_zeros(len(weights), len(weights), dtype=torch.float64)
    for head in range(len(weights) - 1):
        mixed = entropy((weights[head + 1 :] + weights[head]) / 2).double().sum(-1)
        found[head, head + 1 :] = mixed - (own[head + 1 :] + own[head]) / 2
    found.clamp_min_(0)  # rounding may give less
    return found + found.T


def clusters(divergence: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Return a cluster number for each head, (G,): those that are near each other share one; 0 is the largest cluster.

    Agglomerative clustering by the mean divergence between clusters (scikit-learn's `AgglomerativeClustering`).

    Args:
        divergence: of each two heads, (G, G).
        count: how many clusters.

    Raises:
        ValueError: `count` is not between 1 and G.
    """
    if not 1 <= count <= len(divergence):
        raise ValueError(f"{count} clusters of {len(divergence)} heads: there must be 1 to {len(divergence)}")
    if len(divergence) == 1:
        return np.zeros(1, np.int64)
    from sklearn.cluster import AgglomerativeClustering

    found = AgglomerativeClustering(count, metric="precomputed", linkage="average").fit_predict(divergence)
    _, first, sizes = np.unique(found, return_index=True, return_counts=True)
    ranks = np.empty(count, np.int64)
    ranks[np.lexsort((first, -sizes))] = np.arange(count)
    numbers: npt.NDArray[np.int64] = ranks[found]
    return numbers

"""From averages to attention: the uniform average over the past, computed in three equivalent ways."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import AttentionSteps, apply_mask, attend, causal_mask
from attnviz.reprs import ShortRepr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Averages(ShortRepr):
    """The same averages, (T, C), computed three times, with the matrices of the second and third computation."""

    by_loop: Tensor
    """(T, C): row i is the mean of rows 0 to i of x, summed in a loop"""
    triangle: Tensor
    """(T, T): lower-triangular ones, each row divided by its sum"""
    by_matrix: Tensor
    """(T, C): triangle @ x"""
    masked_zeros: Tensor
    """(T, T): zeros, −inf above the diagonal"""
    softmax_weights: Tensor
    """(T, T): softmax of masked_zeros over the keys; equals triangle"""
    by_softmax: Tensor
    """(T, C): softmax_weights @ x"""


def average_past(x: Tensor) -> Averages:
    """Average each row of x, (T, C), with the rows before it: with a loop, a matrix product and a softmax."""
    n, _ = x.shape
    by_loop = torch.zeros_like(x)
    for i in range(n):
        for j in range(i + 1):
            by_loop[i] += x[j]
        by_loop[i] /= i + 1
    ones = causal_mask(n).to(x.dtype)
    triangle = ones / ones.sum(dim=1, keepdim=True)
    masked_zeros = apply_mask(torch.zeros(n, n, dtype=x.dtype), causal_mask(n))
    softmax_weights = torch.softmax(masked_zeros, dim=-1)
    return Averages(by_loop, triangle, triangle @ x, masked_zeros, softmax_weights, softmax_weights @ x)


def attend_to_past(x: Tensor, query: Tensor, key: Tensor) -> AttentionSteps:
    """Average the past with weights from the data: causal attention whose values are the rows of x.

    x is (T, C), query and key are (T, D). `head_outputs` is (T, C), the counterpart of `average_past(x)`.
    """
    return attend(query, key, x, mask=causal_mask(x.shape[0]))

"""Scaled dot-product attention that keeps every intermediate: the only definition of attention in this project.

Every model calls `attend` through `attnviz.trace.recorder.recorded_attention`, which stores its operands.

Shapes: H heads, Tq query positions, Tk key positions, D head width. Row = query, column = key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr

MaskKind = Literal["none", "causal", "window", "padding", "cross", "other"]
Masked = Literal["scaled", "scores"]
"""The matrix whose hidden cells a mask fills: after the scaling, or before it"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mask(ShortRepr):
    """An attention mask and its kind.

    none: hides nothing. causal: hides the keys after each query. window: hides the keys that are too far from each
    query (see `window`). padding: hides the same keys from every query. cross: hides keys of another text. other:
    everything else, such as numbers that are added to the scores of some keys.
    """

    kind: MaskKind = "none"
    """What the mask hides"""
    cells: Tensor | None = None
    """bool (True = may look) or float (added to `scaled`), broadcasts to (H, Tq, Tk); None if nothing is hidden"""
    value: float = -math.inf
    """The number that fills hidden cells: −inf, or a finite number, such as the −1e10 that many programs use"""
    fills: Masked = "scaled"
    """Whether it fills cells of `scaled`, or of `scores`, so that the scaling multiplies it too"""

    def __post_init__(self) -> None:
        if (self.kind == "none") != (self.cells is None):
            raise ValueError(f"a mask of kind {self.kind} with {'no' if self.cells is None else 'its'} cells")
        if math.isnan(self.value) or self.value == math.inf:
            raise ValueError(f"a mask can't fill {self.value} into hidden cells")
        if not self.is_infinite and self.cells is not None and self.cells.dtype != torch.bool:
            raise ValueError(f"a mask that fills {self.value} into hidden cells has bool cells, not {self.cells.dtype}")

    @classmethod
    def causal(cls, n: int) -> Mask:
        """Return the causal mask over n positions."""
        return cls("causal", causal_mask(n))

    @classmethod
    def recognise(cls, cells: Tensor | None, *, crosses: bool = False) -> Mask:
        """Return these cells as a mask, with its kind.

        Args:
            cells: (Tq, Tk) or (H or 1, Tq, Tk), bool or float, as `attend` takes them.
            crosses: whether rows and columns belong to different texts, as in cross-attention.
        """
        if cells is None:
            return cls()
        visible = cells if cells.dtype == torch.bool else cells == 0
        if bool(visible.all()):
            return cls()
        if cells.dtype != torch.bool and not bool((visible | cells.isneginf()).all()):
            return cls("other", cells)  # finite numbers are added to the scores
        return cls("cross" if crosses else _kind_of(visible), cells)

    @property
    def window(self) -> tuple[int, int] | None:
        """How many keys before and after itself each query sees, if the mask is a window; else None.

        (w − 1, 0) in a decoder whose queries see the last w keys, such as Mistral's; (s, s) if they see s on both
        sides, as in ModernBERT's local layers.
        """
        if self.cells is None or self.kind != "window":
            return None
        return _window(~hidden_cells(self.cells, tuple(self.cells.shape)))

    @property
    def hides_later(self) -> bool:
        """Whether no query sees a later key; False if there are fewer than two positions."""
        if self.cells is None or self.cells.shape[-2] != self.cells.shape[-1]:
            return False
        later = ~causal_mask(self.cells.shape[-1])
        return bool(later.any()) and bool(hidden_cells(self.cells, tuple(self.cells.shape))[..., later].all())

    @property
    def adds(self) -> bool:
        """Whether the mask adds finite numbers to visible cells."""
        cells = self.cells
        return cells is not None and cells.is_floating_point() and bool((cells.isfinite() & (cells != 0)).any())

    @property
    def is_infinite(self) -> bool:
        """Whether hidden cells are −inf, so that their weights are 0 whatever the scores are."""
        return math.isinf(self.value)

    @property
    def hides_rows(self) -> bool:
        """Whether a query sees no key at all."""
        if self.cells is None or self.kind == "causal":
            return False
        return bool(hidden_cells(self.cells, self.cells.shape).all(dim=-1).any())

    def hidden_value(self, scale: float, cap: float | None = None) -> float:
        """Return the number in a hidden cell of `masked` if the scores are multiplied by `scale`, then capped.

        A position bias is not added to it.
        """
        if self.fills == "scaled" or self.is_infinite:
            return self.value
        scaled = self.value * scale
        return scaled if cap is None else cap * math.tanh(scaled / cap)

    def of_heads(self, heads: int | list[int]) -> Mask:
        """Return the mask of one head, (Tq, Tk), or of several, (h, Tq, Tk); shared masks are (Tq, Tk)."""
        cells = self.cells
        if cells is None or cells.ndim < 3:
            return self
        return replace(self, cells=cells[0] if cells.shape[0] == 1 else cells[heads])

    def and_causal(self, n: int) -> Mask:
        """Return this mask over n positions combined with the causal mask."""
        if self.cells is None or self.kind == "causal":
            return replace(self, kind="causal", cells=causal_mask(n))
        return replace(Mask.recognise(and_causal(self.cells, n)), value=self.value, fills=self.fills)

    def hidden(self, shape: tuple[int, ...]) -> Tensor:
        """Return the hidden cells of scores of this shape, bool (True = hidden)."""
        return hidden_cells(self.cells, shape)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionSteps(ShortRepr):
    """Every step from query, key and value to the head outputs. "..." is empty, (H,) or (B, H)."""

    query: Tensor
    """(..., Tq, D)"""
    key: Tensor
    """(..., Tk, D)"""
    value: Tensor
    """(..., Tk, Dv)"""
    scale: float
    """The factor between `scores` and `scaled`; 1/√D by default."""
    mask: Tensor | None
    """The mask as passed: bool (True = may look) or float (added to `scaled`), broadcasts to (..., Tq, Tk)."""
    scaled: Tensor
    """(..., Tq, Tk): scores × scale"""
    masked: Tensor
    """(..., Tq, Tk): biased, with hidden cells at −inf, or at the number that a `Mask` fills in"""
    weights: Tensor
    """(..., Tq, Tk): softmax of masked over the keys; a row sums to 1, or to 0 if all its cells are at −inf. With a
    sink, a row and its share in `sink` sum to 1"""
    head_outputs: Tensor
    """(..., Tq, Dv): weights @ value"""
    cap: float | None = None
    """The soft cap of `capped`; None if there is none"""
    sinks: Tensor | None = None
    """The sink's score, beside those in `masked`; broadcasts to (..., Tq, 1). None if there is no sink"""
    sink: Tensor | None = None
    """(..., Tq, 1): the sink's share of each row's softmax; None if there is no sink"""
    position_bias: Tensor | None = None
    """What is added to `capped`, by the distance of query and key; broadcasts to (..., Tq, Tk). −inf in those hidden
    cells for which there is no number. None if nothing is added"""

    @property
    def scores(self) -> Tensor:
        """(..., Tq, Tk): query @ keyᵀ.

        It is computed on each read, so that a forward pass keeps one large matrix less.
        """
        return self.query @ self.key.transpose(-2, -1)

    @property
    def capped(self) -> Tensor:
        """(..., Tq, Tk): cap · tanh(scaled / cap), computed on each read; without a cap, `scaled` itself."""
        return self.scaled if self.cap is None else soft_cap(self.scaled, self.cap)

    @property
    def biased(self) -> Tensor:
        """(..., Tq, Tk): capped + position_bias, computed on each read; without a bias, `capped` itself."""
        return self.capped if self.position_bias is None else self.capped + self.position_bias

    @property
    def hidden(self) -> Tensor:
        """The cells that the mask hides, (..., Tq, Tk) bool (True = hidden)."""
        return hidden_cells(self.mask, tuple(self.scaled.shape))

    @property
    def hidden_weights(self) -> Tensor:
        """The hidden cells whose weight is 0, (..., Tq, Tk) bool: not all, if the mask fills in a finite value."""
        return self.hidden & (self.weights == 0)

    @property
    def concat(self) -> Tensor:
        """The concatenated head outputs, (..., Tq, H·Dv). Without a head axis there is one head."""
        if self.head_outputs.ndim < 3:
            return self.head_outputs
        return self.head_outputs.transpose(-3, -2).flatten(-2)  # (..., Tq, H, Dv) -> (..., Tq, H·Dv)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | Mask | None = None,
    scale: float | None = None,
    cap: float | None = None,
    sinks: Tensor | None = None,
    position_bias: Tensor | None = None,
) -> AttentionSteps:
    """Compute softmax(Q Kᵀ · scale + mask) V and keep every step (Vaswani et al. 2017, section 3.2.1).

    Args:
        query: (..., Tq, D), float; "..." is empty, (H,) or (B, H).
        key: (..., Tk, D)
        value: (..., Tk, Dv)
        mask: bool, True where a query may look at a key, or float, added to `scaled` (the convention of
            `torch.nn.functional.scaled_dot_product_attention`). Anything that broadcasts to (..., Tq, Tk); or a `Mask`,
            which may fill a finite number into hidden cells, also before the scaling.
        scale: the factor on the scores; 1/√D if None.
        cap: the soft cap c, above 0: before the mask, scaled scores become c · tanh(scaled / c), which lies between −c
            and c, as in Gemma 2; None for none.
        sinks: scores that broadcast to (..., Tq, 1), such as (H, 1, 1): one more column of the softmax, whose share
            gives nothing to the output, as in gpt-oss; None for none.
        position_bias: float, added after the cap and before the mask: numbers that depend on the distance of query and
            key, as in T5 and ALiBi. Anything that broadcasts to (..., Tq, Tk); None for none.

    Raises:
        ValueError: the shapes do not match, the message names both; or the cap is not above 0.
        TypeError: a tensor is not floating point.
    """
    _check(query, key, value)
    if cap is not None and not 0 < cap < math.inf:
        raise ValueError(f"a soft cap of {cap} is not above 0")
    filling = mask if isinstance(mask, Mask) else None
    cells = mask.cells if isinstance(mask, Mask) else mask
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scaled = (query @ key.transpose(-2, -1)).mul_(scale)  # (..., Tq, Tk), in place: these matrices are large
    masked = scaled if cap is None else soft_cap(scaled, cap)
    if position_bias is not None:
        _check_broadcast("position bias", position_bias, scaled)
        masked = masked + position_bias
    fills_number = filling is not None and not filling.is_infinite
    if cells is not None:
        masked = apply_mask(masked, cells, filling.hidden_value(scale, cap) if filling is not None else -math.inf)
    weights, sink = _softmax(masked, sinks)
    if cells is not None and not fills_number:
        weights = _zero_hidden_rows(weights, cells)
    outputs = weights @ value
    return AttentionSteps(
        query, key, value, scale, cells, scaled, masked, weights, outputs, cap, sinks, sink, position_bias
    )


def soft_cap(scaled: Tensor, cap: float) -> Tensor:
    """Return cap · tanh(scaled / cap), between −cap and cap, in the shape of `scaled` (Bello et al. 2016)."""
    return torch.tanh(scaled / cap) * cap


def _softmax(masked: Tensor, sinks: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return the softmax over the keys, (..., Tq, Tk), and the share of the sink, (..., Tq, 1), if there is one.

    Raises:
        ValueError: the sinks do not broadcast to (..., Tq, 1).
    """
    if sinks is None:
        return torch.softmax(masked, dim=-1), None
    column = (*masked.shape[:-1], 1)
    try:
        whole = torch.softmax(torch.cat([masked, sinks.to(masked.dtype).expand(column)], dim=-1), dim=-1)
    except RuntimeError as error:
        raise ValueError(f"sinks {tuple(sinks.shape)} do not broadcast to {column}") from error
    return whole[..., :-1], whole[..., -1:]


def apply_mask(scaled: Tensor, mask: Tensor, value: float = -math.inf) -> Tensor:
    """Return `scaled` under a mask: a float mask is added; where a bool mask is False, `value` is filled in.

    Returns a tensor of the shape of `scaled`.

    Raises:
        ValueError: the mask does not broadcast to the scores.
    """
    _check_broadcast("mask", mask, scaled)
    if mask.dtype != torch.bool:
        return scaled + mask
    if scaled.requires_grad and value == -math.inf:  # equal where scores are finite, and eight times as fast
        return scaled + torch.zeros_like(mask, dtype=scaled.dtype).masked_fill(~mask, value)
    return scaled.masked_fill(~mask, value)


def _check_broadcast(name: str, cells: Tensor, scaled: Tensor) -> None:
    pairs = zip(reversed(cells.shape), reversed(scaled.shape), strict=False)
    if cells.ndim > scaled.ndim or any(size not in (1, expected) for size, expected in pairs):
        raise ValueError(f"{name} {tuple(cells.shape)} does not broadcast to scores {tuple(scaled.shape)}")


def causal_mask(n: int) -> Tensor:
    """Return the causal mask, (n, n) bool: query i may look at keys 0 to i."""
    return torch.ones(n, n, dtype=torch.bool).tril()


def and_causal(mask: Tensor | None, n: int, *, before: int = 0) -> Tensor:
    """Return a mask, bool or float, that broadcasts to (..., n, before + n), combined with the causal mask.

    Args:
        mask: the mask to combine it with; None for none.
        n: the number of queries.
        before: the number of tokens before them, which are keys only (see `attnviz.toy.layers.Past`).
    """
    return _both(mask, causal_mask(before + n)[before:])


def window_mask(n: int, reach: tuple[int, int]) -> Tensor:
    """Return the mask, (n, n) bool, of queries that look at `reach` keys before and after themselves, and at their own.

    With no keys after themselves they have a causal window.
    """
    before, after = reach
    return torch.ones(n, n, dtype=torch.bool).tril(after).triu(-before)


def and_window(mask: Tensor | None, n: int, reach: tuple[int, int], *, before: int = 0) -> Tensor:
    """Return a mask combined with `window_mask`; the other arguments are those of `and_causal`."""
    return _both(mask, window_mask(before + n, reach)[before:])


def _both(mask: Tensor | None, visible: Tensor) -> Tensor:
    """Return a mask, bool or float, that also hides the cells that are not visible."""
    if mask is None:
        return visible
    return mask & visible if mask.dtype == torch.bool else mask.masked_fill(~visible, -torch.inf)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    """Return the padding mask, (B, 1, 1, n) bool, for sequences of these lengths, (B,).

    It broadcasts over heads and queries: no query looks at a padded key.

    Raises:
        ValueError: a length is less than 0 or more than n.
    """
    if lengths.numel() and (int(lengths.min()) < 0 or int(lengths.max()) > n):
        raise ValueError(f"lengths {lengths.tolist()} do not lie between 0 and {n}")
    return (torch.arange(n) < lengths[:, None])[:, None, None, :]  # (B, n) -> (B, 1, 1, n)


def hidden_cells(mask: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Return the cells that a mask hides in scores of this shape, bool (True = hidden)."""
    if mask is None:
        return torch.zeros(shape, dtype=torch.bool)
    return (~mask if mask.dtype == torch.bool else mask.isneginf()).expand(shape)


def _kind_of(visible: Tensor) -> MaskKind:
    """Return the kind of a mask that hides some of the cells (..., Tq, Tk) of one text, and adds nothing to others."""
    rows, columns = visible.shape[-2:]
    if rows == columns and bool((visible == causal_mask(rows)).all()):
        return "causal"
    if rows == columns and _window(visible) is not None:
        return "window"
    same_keys = bool((visible == visible.flatten(0, -2)[0]).all())
    return "padding" if same_keys else "other"


def _window(visible: Tensor) -> tuple[int, int] | None:
    """Return how many keys before and after itself each query sees, if the visible cells, (..., T, T), are a window.

    A window is the same for every query: it ends at the query, or goes as far before it as after it.
    """
    positions = torch.arange(visible.shape[-1])
    offsets = positions[:, None] - positions  # query minus key
    visible_offsets = offsets.expand(visible.shape)[visible]
    if not visible_offsets.numel():
        return None
    before, after = int(visible_offsets.max()), -int(visible_offsets.min())
    is_band = bool((visible == ((offsets <= before) & (offsets >= -after))).all())
    return (before, after) if is_band and after in (0, before) else None


def _zero_hidden_rows(weights: Tensor, mask: Tensor) -> Tensor:
    """Set rows whose cells are all hidden to zeros; their softmax is NaN."""
    hidden_rows = hidden_cells(mask, mask.shape).all(dim=-1, keepdim=True)
    return weights.masked_fill(hidden_rows, 0.0) if bool(hidden_rows.any()) else weights


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    shapes = {"query": tuple(query.shape), "key": tuple(key.shape), "value": tuple(value.shape)}
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not tensor.is_floating_point():
            raise TypeError(f"{name} is {tensor.dtype}; attention needs floating point")
        if tensor.ndim < 2:
            raise ValueError(f"{name} {shapes[name]} needs at least two axes: positions and head width")
    for first, second, same in (
        ("query", "key", shapes["query"][-1] == shapes["key"][-1]),
        ("key", "value", shapes["key"][-2] == shapes["value"][-2]),
        ("query", "key", shapes["query"][:-2] == shapes["key"][:-2]),
        ("key", "value", shapes["key"][:-2] == shapes["value"][:-2]),
    ):
        if not same:
            raise ValueError(f"{first} {shapes[first]} and {second} {shapes[second]} do not match")
    if shapes["query"][-1] == 0:
        raise ValueError(f"query {shapes['query']} and key {shapes['key']} have a head width of 0")

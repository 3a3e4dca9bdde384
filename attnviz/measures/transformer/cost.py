"""What one forward pass costs: multiplications and memory of each part, as the text grows. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 4
"""Of a float32 number"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that decide what a model costs."""

    width: int
    """C"""
    heads: int
    """H"""
    feed_forward: int
    """F"""
    layers: int
    """L: layers with self-attention and feed-forward"""
    crosses: int = 0
    """Of these, the layers that have attention to an encoder too; its text is taken to be as long"""
    vocabulary: int = 0
    """V; 0 if there are no logits"""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of all layers together."""

    name: str
    multiplications: int
    """Each is followed by an addition, so the pass has twice as many floating-point operations"""
    nbytes: int
    """Of the numbers that it computes, as float32"""
    is_quadratic: bool = False
    """Whether its multiplications grow with T²"""


def cost(sizes: Sizes, tokens: int, *, new: int | None = None) -> tuple[Part, ...]:
    """Return the parts of a forward pass on one text of T tokens, in the order of computation.

    With a key-value cache only the last `new` tokens are computed, which look at all T.

    Only matrix products are counted. Norms, activations, softmax and sums need some operations for each number that a
    part computes, which is less by a factor of C or D. The scores need T² · C multiplications, as the weighted values
    do, and have H · T² numbers, whatever the width. (Vaswani et al. 2017, table 1, gives the orders.)
    """
    keys, c, f, layers = tokens, sizes.width, sizes.feed_forward, sizes.layers
    t = tokens if new is None else new
    attentions = layers + sizes.crosses
    parts = [
        Part("Q, K, V", attentions * 3 * t * c * c, attentions * BYTES * 3 * t * c),
        Part("scores", attentions * t * keys * c, attentions * BYTES * sizes.heads * t * keys, is_quadratic=True),
        Part("weighted values", attentions * t * keys * c, attentions * BYTES * t * c, is_quadratic=True),
        Part("W_O", attentions * t * c * c, attentions * BYTES * t * c),
        Part("feed-forward", layers * 2 * t * c * f, layers * BYTES * t * (f + c)),
    ]
    if sizes.vocabulary:
        parts.append(Part("logits", t * c * sizes.vocabulary, BYTES * t * sizes.vocabulary))
    return tuple(parts)


def equal_at(sizes: Sizes) -> float:
    """Return the T at which the parts that grow with T² need as many multiplications as those that grow with T.

    With A attentions, A · 2 · T² · C = A · 4 · T · C² + L · 2 · T · C · F, so T = 2 · C + F · L / A,
    without logits.
    """
    return 2 * sizes.width + sizes.feed_forward * sizes.layers / (sizes.layers + sizes.crosses)

"""What one forward pass costs: multiplications and memory of each part, as the text grows. Needs no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from attnviz.trace.sizes import MapSize, ModelSizes, outputs, weights

BYTES = 4
"""Of a float32 number"""


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


def cost(sizes: ModelSizes, tokens: int, *, new: int | None = None) -> tuple[Part, ...]:
    """Return the parts of a forward pass on one text of T tokens, in the order of computation.

    With a key-value cache only the last `new` tokens are computed, which look at all T. An encoder's text is taken to
    be as long as the decoder's.

    Only matrix products are counted. Norms, activations, softmax and sums need some operations for each number that a
    part computes, which is less by a factor of C or D. A map needs as many multiplications for each token as its weight
    has numbers; the scores need T² · D for each head, as the weighted values do. (Vaswani et al. 2017, table 1, gives
    the orders.)
    """
    t = tokens if new is None else new

    def maps(name: str, of_part: Iterable[MapSize]) -> Part:
        found = tuple(of_part)
        return Part(name, t * weights(found), BYTES * t * outputs(found))

    attentions = sizes.attentions
    parts = [
        maps("Q, K, V", chain.from_iterable(one.projections for one in attentions)),
        Part(
            "scores",
            t * tokens * sum(one.heads * one.head_size for one in attentions),
            BYTES * t * tokens * sum(one.heads for one in attentions),
            is_quadratic=True,
        ),
        Part(
            "weighted values",
            t * tokens * sum(one.heads * one.value_size for one in attentions),
            BYTES * t * sum(one.heads * one.value_size for one in attentions),
            is_quadratic=True,
        ),
        maps("W_O", chain.from_iterable(one.output for one in attentions)),
        maps("feed-forward", chain.from_iterable(sizes.feed_forwards)),
    ]
    parts += [maps(name, found) for name, found in (("other maps", sizes.others), ("logits", sizes.logits)) if found]
    return tuple(parts)


def equal_at(sizes: ModelSizes) -> float:
    """Return the T at which the parts that grow with T² need as many multiplications as those that grow with T.

    Without logits. Where every attention has four maps of C · C and every feed-forward two of C · F, that is
    2 · C + F for an encoder or a decoder alone: 2 · T² · C = T · (4 · C² + 2 · C · F).

    Raises:
        ZeroDivisionError: there is no attention.
    """
    linear, quadratic = (
        sum(part.multiplications for part in cost(sizes, 1) if part.is_quadratic is kind and part.name != "logits")
        for kind in (False, True)
    )
    return linear / quadratic


def maps_in_words(sizes: ModelSizes) -> str:
    """Say which maps an attention and a feed-forward have, such as "Each attention has 4 maps of 32 × 32.\""""
    kinds = {
        "attention": [(*one.projections, *one.output) for one in sizes.attentions],
        "feed-forward": list(sizes.feed_forwards),
    }
    clauses = [
        f"each {kind} has {' or '.join(dict.fromkeys(map(_in_words, parts)))}" for kind, parts in kinds.items() if parts
    ]
    return f"{'; '.join(clauses).capitalize()}." if clauses else ""


def _in_words(maps: Iterable[MapSize]) -> str:
    counts = Counter(f"{one.inputs} × {one.outputs}" for one in maps)
    named = [f"{count} {'map' if count == 1 else 'maps'} of {size}" for size, count in counts.items()]
    return " and ".join([", ".join(named[:-1]), named[-1]] if named[:-1] else named)

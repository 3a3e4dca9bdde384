"""The cost of one forward pass (multiplications and memory of each part), and the parameters of each part.

Needs no torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from attnviz.formatting import joined
from attnviz.trace.model import MapSize, ModelSizes

BYTES = 4
"""The size of a float32 number"""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of all layers together."""

    name: str
    multiplications: int
    """Each is followed by an addition, so the pass has twice as many floating-point operations"""
    nbytes: int
    """The size of the numbers that it computes, as float32"""
    is_quadratic: bool = False
    """Whether its multiplications grow with T²"""


def cost(sizes: ModelSizes, tokens: int, *, new: int | None = None) -> tuple[Part, ...]:
    """Return the parts of a forward pass on one text of T tokens, in the order of computation.

    With a key-value cache only the last `new` tokens are computed, and they attend to all T. An encoder's text is
    assumed to be as long as the decoder's.

    Only matrix products are counted. Norms, activations, softmax and sums need some operations for each number that a
    part computes, which is less by a factor of C or D. A map needs as many multiplications for each token as its weight
    has numbers; the scores need T² · D for each head, as the weighted values do. (Vaswani et al. 2017, table 1, gives
    the orders.)
    """
    t = tokens if new is None else new

    def maps(name: str, of_part: Iterable[MapSize]) -> Part:
        maps_of_part = tuple(of_part)
        return Part(name, t * weights(maps_of_part), BYTES * t * outputs(maps_of_part))

    attentions = sizes.attentions
    parts = [
        maps("Q, K, V", chain.from_iterable(size.projections for size in attentions)),
        Part(
            "scores",
            t * tokens * sum(size.heads * size.head_size for size in attentions),
            BYTES * t * tokens * sum(size.heads for size in attentions),
            is_quadratic=True,
        ),
        Part(
            "weighted values",
            t * tokens * sum(size.heads * size.value_size for size in attentions),
            BYTES * t * sum(size.heads * size.value_size for size in attentions),
            is_quadratic=True,
        ),
        maps("W_O", chain.from_iterable(size.output for size in attentions)),
        maps("feed-forward", chain.from_iterable(sizes.feed_forwards)),
    ]
    parts += [
        maps(name, maps_of_part)
        for name, maps_of_part in (("other maps", sizes.others), ("logits", sizes.logits))
        if maps_of_part
    ]
    return tuple(parts)


def equal_at(sizes: ModelSizes) -> float:
    """Return the T at which the parts that grow with T² need as many multiplications as those that grow with T.

    Logits are left out. If every attention has four maps of C · C and every feed-forward two of C · F, that T is
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
        "attention": [(*size.projections, *size.output) for size in sizes.attentions],
        "feed-forward": list(sizes.feed_forwards),
    }
    clauses = [
        f"each {kind} has {' or '.join(dict.fromkeys(map(_in_words, parts)))}" for kind, parts in kinds.items() if parts
    ]
    return f"{'; '.join(clauses).capitalize()}." if clauses else ""


def _in_words(maps: Iterable[MapSize]) -> str:
    counts = Counter(f"{map_size.inputs} × {map_size.outputs}" for map_size in maps)
    return joined(f"{count} {'map' if count == 1 else 'maps'} of {size}" for size, count in counts.items())


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a transformer."""

    width: int
    """C"""
    feed_forward: int
    """F"""
    encoder: int = 0
    """Encoder layers"""
    decoder: int = 0
    """Decoder layers without attention to an encoder (GPT), or with it if there is an encoder"""
    embeddings: int = 0
    """Rows of all embedding tables together: vocabulary, learned positions, segments"""
    norms: int = 0
    """Norms outside of the layers: of the embeddings, of the output"""
    pooler: bool = False
    """Whether BERT's pooler follows, a linear map of the first token"""


BERT_BASE = Architecture(768, 3072, encoder=12, embeddings=30522 + 512 + 2, norms=1, pooler=True)
"""Devlin et al. 2019, section 3, with the vocabulary of bert-base-uncased"""
PAPER_BASE = Architecture(512, 2048, encoder=6, decoder=6, embeddings=37000)
"""Vaswani et al. 2017, table 3, "base": one table of 37,000 tokens for both languages and for the output layer"""


def parameters(architecture: Architecture) -> dict[str, int]:
    """Return the number of parameters by part; parts that the model does not have are left out.

    An attention has four maps of C · C with biases, a feed-forward has C · F and F · C with biases, a norm has two
    vectors. The number of heads does not matter, because the heads share the maps.
    """
    c, f = architecture.width, architecture.feed_forward
    layers = architecture.encoder + architecture.decoder
    crosses = architecture.decoder if architecture.encoder else 0
    counts = {
        "embeddings": architecture.embeddings * c,
        "attention": (layers + crosses) * 4 * (c * c + c),
        "feed-forward": layers * (2 * c * f + f + c),
        "norms": (2 * layers + crosses + architecture.norms) * 2 * c,
        "pooler": (c * c + c) if architecture.pooler else 0,
    }
    return {name: count for name, count in counts.items() if count}


def weights(maps: Iterable[MapSize]) -> int:
    """Return the multiplications of these maps for one token."""
    return sum(size.weights for size in maps)


def outputs(maps: Iterable[MapSize]) -> int:
    """Return how many numbers these maps compute for one token."""
    return sum(size.outputs for size in maps)

"""How many parameters the parts of a transformer have. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass


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

    An attention has four maps of C · C with biases, a feed-forward C · F and F · C with biases, a norm two vectors.
    The number of heads changes nothing: they share the maps.
    """
    c, f = architecture.width, architecture.feed_forward
    layers = architecture.encoder + architecture.decoder
    crosses = architecture.decoder if architecture.encoder else 0
    found = {
        "embeddings": architecture.embeddings * c,
        "attention": (layers + crosses) * 4 * (c * c + c),
        "feed-forward": layers * (2 * c * f + f + c),
        "norms": (2 * layers + crosses + architecture.norms) * 2 * c,
        "pooler": (c * c + c) if architecture.pooler else 0,
    }
    return {name: count for name, count in found.items() if count}

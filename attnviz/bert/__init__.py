"""Built on BERT: embeddings and back, classifiers on a frozen model, search by meaning, heads left out.

Importing this package does not import torch; embedding does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.bert.encoding import embed_sentences

__all__ = ["embed_sentences"]


def __getattr__(name: str) -> Any:
    if name == "embed_sentences":
        from attnviz.bert.encoding import embed_sentences

        return embed_sentences
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The summands of BERT's embeddings: token, segment and position, whose sum is normalised."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnviz.trace.embedding_sum import EmbeddingSum, is_sum
from attnviz.trace.layer import Norm
from attnviz.trace.trace import Trace

_MODULES = (
    {"token": "token", "segment": "segment", "position": "position", "norm": "norm"},
    {
        "token": "word_embeddings",
        "segment": "token_type_embeddings",
        "position": "position_embeddings",
        "norm": "LayerNorm",
    },
)
"""The names of the modules in the embeddings of this project's BERT, and of transformers'"""


def embedding_sum(body: nn.Module, trace: Trace) -> EmbeddingSum | None:
    """Return what X of a BERT's first block is made of; None if the model's X is no such sum.

    Args:
        body: the model.
        trace: its trace of a text.
    """
    embeddings, x = getattr(body, "embeddings", None), trace.embeddings
    if not isinstance(embeddings, nn.Module) or x is None or trace.decoder_tokens is not None:
        return None
    for names in _MODULES:
        modules = {name: getattr(embeddings, path, None) for name, path in names.items()}
        norm = modules.pop("norm")
        tables = {name: module.weight.detach() for name, module in modules.items() if isinstance(module, nn.Embedding)}
        if len(tables) == len(modules) and isinstance(norm, nn.LayerNorm):
            return _checked(tables, Norm.of(norm), trace, x)
    return None


def _checked(tables: dict[str, Tensor], norm: Norm, trace: Trace, x: Tensor) -> EmbeddingSum | None:
    tokens = trace.tokens
    rows = {"token": list(tokens.ids), "segment": list(tokens.segments), "position": list(range(len(tokens)))}
    if any(max(rows[name]) >= len(table) for name, table in tables.items()):
        return None
    parts = {name: table[torch.tensor(rows[name])] for name, table in tables.items()}
    summed = torch.stack(list(parts.values())).sum(0)
    if summed.shape != x.shape or not is_sum(norm.apply(summed).double(), x):
        return None  # such as RoBERTa's, whose positions begin at another row
    return EmbeddingSum(parts, norm)

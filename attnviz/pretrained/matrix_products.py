"""The matrix products of a model of transformers, as a forward pass makes them: no configuration is believed.

Linear maps are watched while the model runs, so a layer that is used twice counts twice, and a model with a gate, with
keys that heads share, or with heads of a width of their own counts what it multiplies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from attnviz.pretrained.families import PARTS, part_of
from attnviz.pretrained.model import ModuleNames
from attnviz.trace.recorder import Call
from attnviz.trace.sizes import AttentionSize, MapSize, ModelSizes


def watch_maps(model: nn.Module, run: Callable[[], Any], tokens: int) -> list[tuple[str, MapSize]] | None:
    """Return the path and size of each linear map that a pass applies to every token, in order of computation.

    A map of one row, such as that of BERT's pooler, costs the same for every text and is left out.

    Args:
        model: the model without its language head.
        run: runs it on one text.
        tokens: the number of tokens of the text, more than 1; an encoder's and a decoder's have as many.

    Returns:
        None if it multiplies in another way too: by experts, of which each token has its own, or by the matrix of a
        module that is no linear map.
    """
    paths = {module: path for path, module in model.named_modules()}
    applied: list[tuple[str, int, MapSize]] = []
    others: list[str] = []

    def record(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        is_map = isinstance(module, nn.Linear | Conv1D) and isinstance(output, Tensor)  # some routers return tuples
        if is_map and args and isinstance(args[0], Tensor):
            size = MapSize(args[0].shape[-1], output.shape[-1])
            applied.append((paths[module], args[0].numel() // size.inputs, size))
        else:
            others.append(paths[module])

    hooks = [module.register_forward_hook(record) for module in paths if _has_matrix(module)]
    try:
        with torch.inference_mode():
            run()
    finally:
        for hook in hooks:
            hook.remove()
    of_tokens = [(path, rows, size) for path, rows, size in applied if rows != 1]
    if others or any(rows % tokens for _, rows, _ in of_tokens):
        return None
    return [(path, size) for path, rows, size in of_tokens for _ in range(rows // tokens)]


def _has_matrix(module: nn.Module) -> bool:
    """Whether a module itself may multiply by a matrix; a table, of which rows are taken, does not."""
    return not isinstance(module, nn.Embedding) and any(one.ndim > 1 for one in module.parameters(recurse=False))


def sizes_of(
    model: nn.Module, maps: Sequence[tuple[str, MapSize]], calls: Sequence[Call], names: Sequence[ModuleNames]
) -> ModelSizes | None:
    """Return the sizes of a model's matrix products, or None if its maps can't be given to its attentions.

    Args:
        model: the model without its language head.
        maps: what `watch_maps` returns.
        calls: the attention calls of a pass.
        names: the names of the modules of each call.
    """
    owners = {f"{path}.": one.attention for one in names for path in (one.attention, one.output) if path}
    outputs = {one.output for one in names}

    def owner(path: str) -> str:
        """Return the path of the attention that a map belongs to, or else the name of its part."""
        known = (attention for start, attention in owners.items() if f"{path}.".startswith(start))
        return next(known, None) or part_of(path, model.get_submodule(path), ())

    runs = [(name, list(group)) for name, group in groupby(maps, lambda one: owner(one[0]))]
    attentions = [(name, group) for name, group in runs if name in owners.values()]
    if [name for name, _ in attentions] != [one.attention for one in names]:
        return None
    return ModelSizes(
        tuple(
            AttentionSize(
                call.query.shape[0],
                call.query.shape[-1],
                call.value.shape[-1],
                tuple(size for path, size in group if path not in outputs),
                tuple(size for path, size in group if path in outputs),
            )
            for call, (_, group) in zip(calls, attentions, strict=True)
        ),
        tuple(tuple(size for _, size in group) for name, group in runs if name == "feed_forward"),
        tuple(size for name, group in runs if name in PARTS and name != "feed_forward" for _, size in group),
    )

"""Facts measured in a forward pass instead of read from the configuration: matrix products and maximum length.

Linear maps are recorded while the model runs, so a layer used twice counts twice, and gates, keys shared by heads, and
unusual head widths are counted correctly.

The maximum length follows from the size of the position tables. RoBERTa numbers positions from the one after its
padding token, OPT and BART from 2, BERT from 0; models with relative or rotary positions have no such table. Names tell
nothing about this, so a position table is recognised by use: a pass reads consecutive rows of it, one for each token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers.pytorch_utils import Conv1D

from attnviz.pretrained.families import PARTS, part_of
from attnviz.pretrained.model import ModuleNames
from attnviz.trace.model import AttentionSize, MapSize, ModelSizes
from attnviz.trace.recorder import Call


def run_modules(model: nn.Module, run: Callable[[], Any]) -> set[nn.Module]:
    """Return the modules of a model that `run`, which runs the model on a text, calls."""
    called: set[nn.Module] = set()
    _run_watched(run, model.modules(), lambda module, *_: called.add(module))
    return called


def _run_watched(run: Callable[[], Any], modules: Iterable[nn.Module], on_call: Callable[..., None]) -> None:
    """Call `run`, and `on_call` with each of the modules that it calls, its arguments and its output."""
    hooks = [module.register_forward_hook(on_call) for module in modules]
    try:
        with torch.inference_mode():
            run()
    finally:
        for hook in hooks:
            hook.remove()


def watch_maps(model: nn.Module, run: Callable[[], Any], tokens: int) -> list[tuple[str, MapSize]] | None:
    """Return the path and size of each linear map that a pass applies to every token, in order of computation.

    A map applied to only one row, such as that of BERT's pooler, costs the same for every text and is left out.

    Args:
        model: the model without its language head.
        run: runs the model on one text.
        tokens: the number of tokens of the text, more than 1; the same for encoder and decoder.

    Returns:
        None if the model also multiplies in other ways: with experts chosen for each token, or with the matrix of a
        module that is not a linear map.
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

    _run_watched(run, filter(_has_matrix, paths), record)
    per_token = [(path, rows, size) for path, rows, size in applied if rows != 1]
    if others or any(rows % tokens for _, rows, _ in per_token):
        return None
    return [(path, size) for path, rows, size in per_token for _ in range(rows // tokens)]


def _has_matrix(module: nn.Module) -> bool:
    """Whether a module itself may multiply by a matrix; an embedding table, whose rows are looked up, does not."""
    own_parameters = module.parameters(recurse=False)
    return not isinstance(module, nn.Embedding) and any(parameter.ndim > 1 for parameter in own_parameters)


def sizes_of(
    model: nn.Module, maps: Sequence[tuple[str, MapSize]], calls: Sequence[Call], names: Sequence[ModuleNames]
) -> ModelSizes | None:
    """Return the sizes of a model's matrix products, or None if its maps can't be assigned to its attentions.

    Args:
        model: the model without its language head.
        maps: the result of `watch_maps`.
        calls: the attention calls of a pass.
        names: the names of the modules of each call.
    """
    owners = {
        f"{path}.": module_names.attention
        for module_names in names
        for path in (module_names.attention, module_names.output)
        if path
    }
    outputs = {module_names.output for module_names in names}

    def owner(path: str) -> str:
        """Return the path of the attention to which a map belongs, or else the name of its part."""
        attentions = (attention for start, attention in owners.items() if f"{path}.".startswith(start))
        return next(attentions, None) or part_of(path, model.get_submodule(path), ())

    runs = [(name, list(group)) for name, group in groupby(maps, lambda path_and_size: owner(path_and_size[0]))]
    attentions = [(name, group) for name, group in runs if name in owners.values()]
    if [name for name, _ in attentions] != [module_names.attention for module_names in names]:
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


class PositionTables(TorchFunctionMode):
    """Records the tables of which the passes inside the `with` block read consecutive rows, one for each token.

    A table is recorded before it is read, so also if it has too few rows and the pass fails.
    """

    def __init__(self, model: nn.Module, ids: Sequence[int]) -> None:
        """Watch the passes of a model on these token ids."""
        super().__init__()
        self._ids = list(ids)
        self._stored = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
        self.rooms: list[int] = []
        """For each table: how many tokens it has rows for, counted from the first token's row"""
        self.rows: list[int] = []
        """For each table: how many rows it has"""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run an operation of torch, and record the rows that it reads."""
        del types
        named = kwargs or {}
        if func is functional.embedding:
            self._note(args[1] if len(args) > 1 else named["weight"], 0, args[0] if args else named["input"])
        elif func in (Tensor.index_select, torch.index_select, torch.gather) and self._is_stored(args[0]):
            axis, index = (*args[1:], *(named[name] for name in ("dim", "index") if name in named))
            self._note(args[0], axis, index)
        elif func is Tensor.__getitem__ and self._is_stored(args[0]):
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            for axis, index in enumerate(indices[: args[0].ndim]):
                if index is Ellipsis or index is None:
                    break
                self._note(args[0], axis, index)
        return func(*args, **named)

    def _is_stored(self, table: Tensor) -> bool:
        return table.data_ptr() in self._stored

    def _note(self, table: Tensor, axis: int, index: Any) -> None:
        if isinstance(index, slice):
            first, last = index.start or 0, index.stop
            if isinstance(first, int) and isinstance(last, int) and last - first == len(self._ids):
                self._append(table.shape[axis], first)
        elif isinstance(index, Tensor) and index.ndim and index.numel() == len(self._ids) == index.shape[-1]:
            rows = index.flatten().tolist()
            if rows != self._ids and rows == list(range(rows[0], rows[0] + len(rows))):
                self._append(table.shape[axis], rows[0])

    def _append(self, rows: int, first: int) -> None:
        self.rows.append(rows)
        self.rooms.append(rows - first)

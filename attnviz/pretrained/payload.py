"""A forward pass as a payload for another process, which keeps its numbers, memory layout and shared storages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnviz.trace.recorder import Call, Pass

ALIGNMENT = 64
"""Bytes. Torch begins every tensor at a multiple of it, and how a product adds its terms up may depend on that."""


def pack(done: Pass) -> tuple[bytes, Tensor]:
    """Serialise a pass: return a description in JSON, and a uint8 tensor with the numbers."""
    storages = _Storages()
    calls = [
        {"scale": call.scale, "tensors": [storages.add(tensor) for tensor in _tensors(call)]} for call in done.calls
    ]
    description = {"calls": calls, "hidden": storages.add(done.hidden), "tensors": storages.described}
    return json.dumps(description).encode(), storages.numbers()


def unpack(description: bytes, numbers: Tensor) -> Pass:
    """Deserialise what `pack` returned. The tensors are views of `numbers`."""
    header: dict[str, Any] = json.loads(description)
    tensors = [
        numbers.view(dtype := getattr(torch, name)).as_strided(shape, stride, at // dtype.itemsize)
        for name, shape, stride, at in header["tensors"]
    ]
    calls = []
    for call in header["calls"]:
        query, key, value, *others = call["tensors"]
        mask, query_input, key_input = (None if index is None else tensors[index] for index in others)
        of_heads = tensors[query], tensors[key], tensors[value]
        calls.append(Call(*of_heads, mask, call["scale"], query_input, key_input))
    return Pass(tuple(calls), tensors[header["hidden"]])


def _tensors(call: Call) -> Sequence[Tensor | None]:
    return call.query, call.key, call.value, call.mask, call.query_input, call.key_input


@dataclass(slots=True)
class _Storages:
    """Tensors of one payload; a storage that several share is written once."""

    described: list[tuple[str, tuple[int, ...], tuple[int, ...], int]] = field(default_factory=list)
    """Each tensor's dtype, shape, stride, and where it begins, in bytes"""
    _index: dict[int, int] = field(default_factory=dict)
    _storages: dict[int, tuple[int, Tensor]] = field(default_factory=dict)
    """By address: where it will begin, and its bytes"""
    _size: int = 0

    def add(self, tensor: Tensor | None) -> int | None:
        """Return the index of a tensor among those described. One that is there already comes in once."""
        if tensor is None:
            return None
        if id(tensor) not in self._index:
            at = self._place(tensor) + int(tensor.storage_offset()) * tensor.itemsize
            self._index[id(tensor)] = len(self.described)
            self.described.append((str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.stride(), at))
        return self._index[id(tensor)]

    def _place(self, tensor: Tensor) -> int:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._storages:
            plain = torch.empty(0, dtype=torch.uint8).set_(storage)
            self._storages[storage.data_ptr()] = self._size, plain
            self._size += -(-len(plain) // ALIGNMENT) * ALIGNMENT
        return self._storages[storage.data_ptr()][0]

    def numbers(self) -> Tensor:
        """Return the memory of all of them in one piece."""
        whole = torch.zeros(self._size, dtype=torch.uint8)
        for at, plain in self._storages.values():
            whole[at : at + len(plain)] = plain
        return whole

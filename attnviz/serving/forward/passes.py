"""A forward pass as a safetensors file: query, key, value and input of each layer, and never a matrix of T x T."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from attnviz.attention import Mask, causal_mask
from attnviz.pretrained.model import PretrainedModel, true_mask
from attnviz.trace.recorder import Call, Pass

VERSION = 1
"""Of this format; it is part of the fingerprint"""
PROBE, PROBE_TOKENS = "one two three", 48
"""The text of the probe, and the length to which its tokens are repeated"""
HEADER_BYTES = 2**17
"""More than the header of a file of 100 layers"""
OPERANDS = ("query", "key", "value")


class UnsendableError(ValueError):
    """A pass holds what this format has no place for. The message is one sentence."""


class DamagedError(ValueError):
    """A file is not that of a pass of this model and length."""


@dataclass(frozen=True, slots=True)
class CallFormat:
    """The sizes of one attention call."""

    heads: int
    sizes: tuple[int, int, int]
    """The last axis of query, key and value"""
    by_token: tuple[bool, bool, bool]
    """Whether query, key and value lie in memory as (T, H, D), or as (H, T, D). Each is sent as it lies, and laid out
    here as it was there: a matrix product may round differently if its operands lie differently."""
    input: int | None
    """The width of the attention's input; None if it is not known"""
    block: int | None
    """The width of the block's input, if the pass has it"""
    mask: tuple[int, bool] = (2, False)
    """How many axes a causal mask has, and whether it is one of numbers that are added"""

    @classmethod
    def of(cls, call: Call) -> CallFormat:
        """Return the format of a recorded call."""
        operands = call.query, call.key, call.value
        return cls(
            call.query.shape[0],
            (call.query.shape[-1], call.key.shape[-1], call.value.shape[-1]),
            tuple(operand.stride(0) < operand.stride(1) for operand in operands),  # type: ignore[arg-type]
            None if call.query_input is None else call.query_input.shape[-1],
            None if call.block_input is None else call.block_input.shape[-1],
            (2, False) if call.mask is None else (call.mask.ndim, call.mask.is_floating_point()),
        )

    def shapes(self, number: int, tokens: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield names and shapes of this call's tensors in the file."""
        for name, size, by_token in zip(OPERANDS, self.sizes, self.by_token, strict=True):
            yield f"{number}.{name}", (tokens, self.heads, size) if by_token else (self.heads, tokens, size)
        if self.input is not None:
            yield f"{number}.input", (tokens, self.input)
        if self.block is not None:
            yield f"{number}.block", (tokens, self.block)


@dataclass(frozen=True, slots=True)
class PassFormat:
    """The form of a model's passes, as the model itself shows it on a few tokens, and the file of a pass."""

    calls: tuple[CallFormat, ...]
    width: int
    fingerprint: str = ""
    """A digest of the file of the probe. Equal ones mean the same weights, the same architecture, and the same
    arithmetic down to the last bit: another release of torch, or another kind of processor, may round differently."""

    @classmethod
    def of(cls, model: PretrainedModel) -> PassFormat:
        """Run the model on the probe, and return the form of its passes.

        Raises:
            UnsendableError: it has an encoder and a decoder, or its passes can't be sent.
        """
        if model.is_encoder_decoder:
            raise UnsendableError(f"{model.name} has an encoder and a decoder; its passes are not sent.")
        tokens = model.tokenize(PROBE)
        length = min(PROBE_TOKENS, model.max_tokens)
        ids, segments = (list(islice(cycle(of), length)) for of in (tokens.ids, tokens.segments))
        done = model.run(ids, segments, None)
        found = cls(tuple(map(CallFormat.of, done.calls)), done.hidden.shape[-1])
        digest = hashlib.sha256(f"{VERSION} {found}".encode() + found.write(done)).hexdigest()
        return cls(found.calls, found.width, digest)

    def shapes(self, tokens: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of all tensors in the file of a pass of T tokens."""
        found = {"hidden": (tokens, self.width), "scales": (len(self.calls),), "causal": (len(self.calls),)}
        for number, call in enumerate(self.calls):
            found |= call.shapes(number, tokens)
        return found

    def most_bytes(self, tokens: int) -> int:
        """Return the most bytes that the file of a pass of T tokens has."""
        return HEADER_BYTES + sum(8 * math.prod(shape) for shape in self.shapes(tokens).values())

    def write(self, done: Pass) -> bytes:
        """Return the file of a pass.

        Raises:
            UnsendableError: it has other sizes than the probe, a mask that is neither absent nor causal, or keys of
                another input than the queries'.
        """
        tensors = {
            "hidden": done.hidden,
            "scales": torch.tensor([call.scale for call in done.calls], dtype=torch.float64),
            "causal": torch.tensor([_is_causal(call) for call in done.calls]),
        }
        for number, (call, form) in enumerate(zip(done.calls, self.calls, strict=True)):
            for name, by_token in zip(OPERANDS, form.by_token, strict=True):
                operand: Tensor = getattr(call, name)
                tensors[f"{number}.{name}"] = operand.transpose(0, 1) if by_token else operand
            if call.query_input is not None:
                tensors[f"{number}.input"] = call.query_input
            if call.block_input is not None:
                tensors[f"{number}.block"] = call.block_input
        sizes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        if sizes != self.shapes(len(done.hidden)) or any(
            tensor.dtype != torch.float32 for name, tensor in tensors.items() if name not in ("scales", "causal")
        ):
            raise UnsendableError("The pass has other sizes or types than the probe.")
        return save(_apart(tensors))

    def read(self, file: bytes, tokens: int) -> Pass:
        """Read the file of a pass of T tokens.

        Raises:
            DamagedError: it is none, or has other names, shapes or types, or numbers that are not finite.
        """
        try:
            found = load(file)
        except (SafetensorError, ValueError, KeyError) as error:
            raise DamagedError("not a safetensors file") from error
        if {name: tuple(tensor.shape) for name, tensor in found.items()} != self.shapes(tokens):
            raise DamagedError("other names or shapes")
        types = {"scales": torch.float64, "causal": torch.bool}
        if any(tensor.dtype != types.get(name, torch.float32) for name, tensor in found.items()):
            raise DamagedError("other types")
        # Cloned: what is loaded lies in the file's bytes, at any address, and kernels expect multiples of 64.
        found = {name: tensor.clone() for name, tensor in found.items()}
        if not all(bool(tensor.sum().isfinite()) for tensor in found.values()):  # NaN and infinity stay in a sum
            raise DamagedError("numbers that are not finite")
        scales, causal = found["scales"].tolist(), found["causal"].tolist()
        masks = {
            form.mask: _causal(tokens, *form.mask) for form, is_so in zip(self.calls, causal, strict=True) if is_so
        }
        calls = (
            self._call(number, found, masks[form.mask] if causal[number] else None, scales[number])
            for number, form in enumerate(self.calls)
        )
        return Pass(tuple(calls), found["hidden"])

    def _call(self, number: int, found: dict[str, Tensor], mask: Tensor | None, scale: float) -> Call:
        query, key, value = (
            found[f"{number}.{name}"].transpose(0, 1) if by_token else found[f"{number}.{name}"]
            for name, by_token in zip(OPERANDS, self.calls[number].by_token, strict=True)
        )
        x = found.get(f"{number}.input")
        return Call(query, key, value, mask, scale, x, x, found.get(f"{number}.block"))


def _apart(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return contiguous tensors, no two of which share memory, as the library wants them."""
    found, seen = dict[str, Tensor](), set[int]()
    for name, tensor in tensors.items():
        own = tensor.contiguous()
        found[name] = own.clone() if own.untyped_storage().data_ptr() in seen else own
        seen.add(found[name].untyped_storage().data_ptr())
    return found


def _causal(tokens: int, axes: int, is_added: bool) -> Tensor:
    """Return the causal mask as a model passes it."""
    visible = causal_mask(tokens)
    mask = torch.zeros(tokens, tokens).masked_fill(~visible, -torch.inf) if is_added else visible
    return mask[(None,) * (axes - 2)]


def _is_causal(call: Call) -> bool:
    """Whether a call's mask is the causal one; False if it has none."""
    if call.key_input is not call.query_input:
        raise UnsendableError("The keys have another input than the queries.")
    mask = Mask.recognise(true_mask(call.mask))
    if mask.kind not in ("none", "causal"):
        raise UnsendableError("The mask is neither absent nor causal.")
    return mask.kind == "causal"

"""A trained model as one safetensors file, and back.

The file's `__metadata__` holds, as JSON: `plan` (`attnviz.training.plan.Plan`), `labels` (the vocabulary) and `card`;
for a model that learned a user's tags, also `outputs`, the names of the tags.
Nothing in a file is run, and no model is built before the file is known to be large enough for it, so files from
untrusted sources can be read. https://github.com/safetensors/safetensors#format
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from attnviz.formatting import larger
from attnviz.pretrained.names import ModelError
from attnviz.tokens import repair
from attnviz.toy.language.config import BigramConfig, GRUConfig, LinearConfig, ModelConfig, TokenConfig
from attnviz.trained.card import Card, shortened
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TAGGED, TEXT
from attnviz.training.tagged.files import FILL, LONGEST, NO_WORDS
from attnviz.training.tagged.task import TaggedWords
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Task

FORMAT = "1"
LARGEST = 8 * 2**20
"""The largest file, in bytes"""
TOO_LARGE = f"A trained model's file has up to {LARGEST // 2**20} MB; this one {{}}."
LARGEST_HEADER = 2**20
LARGEST_VOCABULARY, LONGEST_BLOCK, MOST_LAYERS = 8192, 1024, 64
_POSITIVE = ("vocabulary", "width", "block_size", "outputs", "heads")
_UNREADABLE = "The model in this file can't read what “{}” gives it."
_LENGTH = 8  # bytes, of the number with which a safetensors file begins


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """The content of a file."""

    plan: Plan
    labels: tuple[str, ...]
    """The vocabulary: labels[i] is the token with id i"""
    card: Card
    module: nn.Module
    """float32, in evaluation mode, without gradients"""
    task: Task | None = None
    """The task that it learned; None if it was trained on a text"""


def write(module: nn.Module, plan: Plan, labels: Sequence[str], card: Card, outputs: Sequence[str] = ()) -> bytes:
    """Return a file with the module's weights, rounded to float16: equal bytes for equal weights, plan and card.

    Args:
        module: the model.
        plan: its training.
        labels: its vocabulary.
        card: its card.
        outputs: the names of its logits, if the plan's subject is a user's files.

    Raises:
        ModelError: a weight is not finite, or too large for float16; or the file would be too large to be read.
    """
    weights = {name: weight.detach().to(torch.float16).contiguous() for name, weight in module.state_dict().items()}
    if not all(weight.isfinite().all() for weight in weights.values()):
        raise ModelError("The model has weights that are not finite in float16, so it can't be saved.")
    metadata = {"plan": plan.to_json(), "labels": list(labels), "card": card.to_json()}
    metadata |= {"outputs": list(outputs)} if plan.subject == TAGGED else {}
    data = _ordered(
        save(weights, {"attnviz.trained": FORMAT, **{name: json.dumps(value) for name, value in metadata.items()}})
    )
    if len(data) > LARGEST:
        raise ModelError(TOO_LARGE.format(larger(len(data), LARGEST)))
    if int.from_bytes(data[:_LENGTH], "little") > LARGEST_HEADER:
        raise ModelError(f"The model's words take more than the {LARGEST_HEADER // 2**20} MB that a file has for them.")
    return data


def _ordered(data: bytes) -> bytes:
    """Return a file with the metadata in its header sorted: safetensors writes metadata in any order."""
    size = int.from_bytes(data[:_LENGTH], "little")
    entries = json.loads(data[_LENGTH : _LENGTH + size])
    entries["__metadata__"] = dict(sorted(entries["__metadata__"].items()))
    header = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % _LENGTH)  # so that the numbers are aligned
    return len(header).to_bytes(_LENGTH, "little") + header + data[_LENGTH + size :]


def read(data: bytes) -> Saved:
    """Read a file.

    Raises:
        ModelError: it is too large, damaged, of another kind, or its weights are not those of its plan. The message is
            one sentence.
    """
    if len(data) > LARGEST:
        raise ModelError(TOO_LARGE.format(larger(len(data), LARGEST)))
    header = _header(data)
    metadata = header.get("__metadata__")
    plan, labels, card = _said(metadata)
    _check_size(plan.token_model, len(data))
    task = _checked_task(plan, labels, metadata, card)
    _check_heads(plan, card)
    try:
        weights = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelError("This safetensors file is damaged.") from error
    try:
        module = build(plan.model, 0)
    except (ValueError, RuntimeError) as error:  # such as an activation that does not exist
        raise ModelError(f"The model's file is not valid: {shortened(error)}.") from error
    _check_weights(weights, module.state_dict())
    module.load_state_dict({name: weight.float() for name, weight in weights.items()})
    return Saved(plan, labels, card, module.eval().requires_grad_(False), task)


def _header(data: bytes) -> dict[str, Any]:
    size = int.from_bytes(data[:_LENGTH], "little")
    has_header = len(data) >= _LENGTH and 2 <= size <= min(len(data) - _LENGTH, LARGEST_HEADER)
    header = _json(data[_LENGTH : _LENGTH + size]) if has_header else None
    if not isinstance(header, dict):
        raise ModelError("This is not a safetensors file, which is what a trained model is saved as.")
    return header


def _json(raw: bytes | str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise ModelError("This safetensors file is damaged: its header can't be read.") from error


def _said(metadata: Any) -> tuple[Plan, tuple[str, ...], Card]:
    """Read the plan, the labels and the card from the header's metadata."""
    if not isinstance(metadata, dict) or metadata.get("attnviz.trained") != FORMAT:
        raise ModelError("This safetensors file is not a model that attnviz trained.")
    values = {name: _json(str(metadata.get(name))) for name in ("plan", "labels", "card")}
    try:
        plan, card, labels = Plan.from_json(values["plan"]), Card.from_json(values["card"]), values["labels"]
    except (ValueError, OverflowError) as error:
        raise ModelError(f"The model's file is not valid: {shortened(error)}.") from error
    if isinstance(plan.model, LinearConfig):
        raise ModelError("The model in this file is one linear layer, which reads vectors and not a text.")
    return plan, _names(labels, "tokens"), card


def _names(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name == repair(name) for name in value):
        raise ModelError(f"The model's file has no list of {what}.")
    return tuple(value)


def _check_size(model: ModelConfig, nbytes: int) -> None:
    """Refuse a shape that takes more than the file can hold, before anything is built."""
    numbers = {name: number for name, number in asdict(model).items() if isinstance(number, int)}
    if any(number < 0 or (number == 0 and name in _POSITIVE) for name, number in numbers.items()):
        raise ModelError("The model's file is not valid: a number of its shape is too small.")
    vocabulary, layers, block = (numbers.get(name, 1) for name in ("vocabulary", "layers", "block_size"))
    if vocabulary > LARGEST_VOCABULARY or block > LONGEST_BLOCK or layers > MOST_LAYERS:
        raise ModelError(
            f"A model has up to {LARGEST_VOCABULARY:,} tokens, {LONGEST_BLOCK:,} positions and {MOST_LAYERS} layers; "
            f"this file says {vocabulary:,}, {block:,} and {layers:,}."
        )
    if 2 * _fewest_numbers(model) > nbytes:
        raise ModelError("The model's file is smaller than the model that it says it holds.")


def _fewest_numbers(model: ModelConfig) -> int:
    """Return a lower bound on the number of weights of a model of this shape."""
    if isinstance(model, BigramConfig):
        return model.vocabulary**2
    width = model.width
    if isinstance(model, GRUConfig):
        return 2 * model.vocabulary * width + model.layers * 6 * width * width
    block = 4 * width * width + 2 * width * model.feed_forward_width
    return (model.vocabulary + model.block_size + model.logit_count) * width + model.layers * block


def _checked_task(plan: Plan, labels: tuple[str, ...], metadata: Any, card: Card) -> Task | None:
    """Return the task that a model learned; refuse a plan whose model can't read the inputs of its subject."""
    check_plan(plan)
    model, subject = plan.token_model, plan.subject
    if len(labels) != model.vocabulary or len(set(labels)) != len(labels):
        raise ModelError("The model's file does not have one token for each row of its embedding.")
    if subject == TAGGED and isinstance(model, TokenConfig):
        outputs = _names(_json(str(metadata.get("outputs"))), "tags")
        if len(outputs) != model.outputs or len(set(outputs)) != len(outputs) or labels[: len(NO_WORDS)] != NO_WORDS:
            raise ModelError("The model's file does not have one tag for each of its outputs, and the words for them.")
        if not all(0 < len(label) <= LONGEST for label in (*labels, *outputs)) or len(labels) == len(NO_WORDS):
            raise ModelError(f"The model's file has a word or a tag that is empty or longer than {LONGEST} characters.")
        return TaggedWords(labels, outputs, model.block_size, [card.files.example] if card.files else ())
    if not all(len(label) == 1 for label in labels) if subject == TEXT else labels != TASKS[subject].labels:
        raise ModelError(_UNREADABLE.format(subject))
    return TASKS.get(subject)


def check_plan(plan: Plan) -> None:
    """Check that a plan's model can read the inputs of the plan's subject.

    Raises:
        ModelError: it can't, or there is no such task.
    """
    model, subject = plan.model, plan.subject
    if subject not in (TEXT, TAGGED, *TASKS) or (subject == TAGGED and not isinstance(model, TokenConfig)):
        raise ModelError(f"The model's file names a task, “{repair(subject[:40])}”, that is not known here.")
    if not isinstance(model, TokenConfig):
        return
    if subject == TEXT:
        fits = (model.architecture, model.outputs, model.padding) == ("decoder", None, None)
    elif subject == TAGGED:
        fits = (model.architecture, model.padding) == ("encoder", FILL) and model.outputs is not None
    else:
        fits = _interface(model) == _interface(TASKS[subject].model)
    if not fits:
        raise ModelError(_UNREADABLE.format(subject))


def _interface(model: TokenConfig) -> tuple[object, ...]:
    return model.architecture == "both", model.block_size, model.outputs, model.padding


def _check_heads(plan: Plan, card: Card) -> None:
    """Refuse a card that names a head that the model does not have."""
    model = plan.model
    for head in card.heads.values():
        exists = (
            isinstance(model, TokenConfig)
            and head.kind in model.kinds
            and head.layer < model.layers
            and head.head < model.heads
        )
        if not exists:
            raise ModelError("The model's file names a head that the model does not have.")


def _check_weights(weights: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    if weights.keys() != expected.keys():
        raise ModelError("The file does not have the weights of the model that it says it holds.")
    for name, weight in weights.items():
        if weight.dtype not in (torch.float16, torch.float32):
            raise ModelError(
                f"The weights {name} are {str(weight.dtype).removeprefix('torch.')}, not float16 or float32."
            )
        if weight.shape != expected[name].shape:
            raise ModelError(
                f"The weights {name} have the shape {tuple(weight.shape)}; "
                f"the model needs {tuple(expected[name].shape)}."
            )
        if not weight.isfinite().all():
            raise ModelError(f"The weights {name} are not all finite numbers.")

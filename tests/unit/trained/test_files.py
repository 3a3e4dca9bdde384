"""A trained model's file, also of a snapshot: what it holds comes back, and one that can't be trusted is refused."""

from __future__ import annotations

import json
import pickle
import re
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from attnviz import trained
from attnviz.pretrained import ModelError
from attnviz.toy.language.config import BigramConfig, GRUConfig, LinearConfig, ModelConfig, TokenConfig
from attnviz.trained import shipped
from attnviz.trained.card import AboutFiles, Card, Corpus, FoundHead, as_file
from attnviz.trained.files import LARGEST, _fewest_numbers, check_plan, read, write
from attnviz.trained.making import OWN_TEXT, file_of, why_not_shown
from attnviz.training.jobs.view import Snapshot
from attnviz.training.jobs.weights import to_bytes
from attnviz.training.plan import Plan, build
from attnviz.training.series import SERIES
from attnviz.training.settings import VECTORS, TrainingSettings
from attnviz.training.tasks import TASKS

LABELS = tuple("abcdefg")
CARD = Card("mine", 0.5, 0.75, 0.25, Corpus("a text", 12, "ff"), {"match": FoundHead("decoder", 1, 0, 0.9)}, "x", "y")
CONFIGS: list[ModelConfig] = [
    TokenConfig(7, 8, layers=2, heads=2, width=8),
    TokenConfig(7, 8, layers=1, heads=1, width=8, feed_forward=0, norm=False, residual=False, bias=False),
    TokenConfig(7, 8, layers=0, heads=1, width=8),
    GRUConfig(7, 8, width=4, layers=2),
    BigramConfig(7),
]


def plan(config: ModelConfig = CONFIGS[0], subject: str = "text") -> Plan:
    return Plan(subject, config, TrainingSettings())


def whole(config: ModelConfig = CONFIGS[0], **changed: Tensor) -> bytes:
    """Return a file of a text's model, with some of its weights changed."""
    module = build(config, 0)
    return packed({**module.state_dict(), **changed}, plan(config))


def packed(weights: dict[str, Tensor], of: Plan, **said: Any) -> bytes:
    """Return a file with these weights, whatever they are."""
    values = {"plan": of.to_json(), "labels": LABELS, "card": CARD.to_json(), **said}
    return save(weights, {"attnviz.trained": "1", **{name: json.dumps(one) for name, one in values.items()}})


@pytest.mark.parametrize("config", CONFIGS)
def test_a_file_holds_the_plan_the_card_and_the_weights_rounded_to_float16(config: ModelConfig) -> None:
    module = build(config, 3)
    card = CARD if config is CONFIGS[0] else replace(CARD, heads={})  # it names a head of the second layer
    found = read(write(module, plan(config), LABELS, card))
    assert (found.plan, found.labels, found.card) == (plan(config), LABELS, card)
    assert found.module.state_dict().keys() == module.state_dict().keys()
    for name, one in module.state_dict().items():
        assert torch.equal(found.module.state_dict()[name], one.half().float()), name
    assert not found.module.training
    assert not any(one.requires_grad for one in found.module.parameters())


def test_a_task_s_model_comes_back_too() -> None:
    task = TASKS["induction"]
    of = Plan("induction", task.model, task.training)
    found = read(write(build(task.model, 0), of, task.labels, CARD))
    assert found.plan == of


def test_the_card_beside_a_model_says_its_plan_too() -> None:
    said = json.loads(as_file(plan(), CARD))
    assert Plan.from_json(said.pop("plan")) == plan()
    assert Card.from_json(said) == CARD


def test_weights_that_float16_can_t_hold_are_not_written() -> None:
    module = build(CONFIGS[0], 0)
    module.get_parameter("token.weight").data[0, 0] = 1e6
    said = r"^The model has weights that are not finite in float16, so it can't be saved\.$"
    with pytest.raises(ModelError, match=said):
        write(module, plan(), LABELS, CARD)


NO_HEAD = "The model's file names a head that the model does not have."
NO_FILE = "This is not a safetensors file, which is what a trained model is saved as."
SIZES = "A model has up to 8,192 tokens, 1,024 positions and 64 layers; this file says"
WEIGHTS: list[tuple[Callable[[Tensor], Tensor], str]] = [
    (lambda x: x.fill_(torch.nan), "The weights token.weight are not all finite numbers."),
    (lambda x: x.fill_(torch.inf), "The weights token.weight are not all finite numbers."),
    (lambda x: x.double(), "The weights token.weight are float64, not float16 or float32."),
    (lambda x: x.to(torch.int8), "The weights token.weight are int8, not float16 or float32."),
    (lambda x: x.T.contiguous(), "The weights token.weight have the shape (8, 7); the model needs (7, 8)."),
    (lambda x: x[:0], "The weights token.weight have the shape (0, 8); the model needs (7, 8)."),
]


@pytest.mark.parametrize(("change", "reason"), WEIGHTS)
def test_weights_of_another_shape_or_type_or_not_finite_are_refused(
    change: Callable[[Tensor], Tensor], reason: str
) -> None:
    refused(whole(**{"token.weight": change(build(CONFIGS[0], 0).state_dict()["token.weight"].clone())}), reason)


def test_a_linear_layer_is_refused_because_it_reads_no_text() -> None:
    config = LinearConfig(8, 7)
    data = packed(build(config, 0).state_dict(), Plan(VECTORS, config, plan().training))
    refused(data, "The model in this file is one linear layer, which reads vectors and not a text.")


def test_weights_that_are_missing_or_too_many_are_refused() -> None:
    state = build(CONFIGS[0], 0).state_dict()
    said = "The file does not have the weights of the model that it says it holds."
    refused(packed({name: one for name, one in state.items() if name != "head.bias"}, plan()), said)
    refused(packed({**state, "more": torch.zeros(1)}, plan()), said)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"hello, world", pickle.dumps({"weights": [1.0]}), b"PK\x03\x04" + bytes(100), b"\xff" * 4096,
     struct.pack("<Q", 2**62) + b"{}", struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 4) + b"null",
     struct.pack("<Q", 200_000) + b"[" * 200_000, struct.pack("<Q", 4) + b"\xff\xfe{}"],
)  # fmt: skip
def test_what_is_no_safetensors_file_is_refused_and_no_pickle_is_opened(data: bytes) -> None:
    refused(data, NO_FILE, "This safetensors file is damaged: its header can't be read.")


def test_a_file_that_ends_early_or_has_other_bytes_is_refused() -> None:
    data = whole()
    for length in (1, 8, 9, 100):
        refused(data[:length], NO_FILE)
    for broken in (data[: len(data) // 2], data[:-1], data + b"\0"):
        refused(broken, "This safetensors file is damaged.")
    header = 8 + int.from_bytes(data[:8], "little")
    for place in range(0, header, 7):
        broken = data[:place] + bytes([data[place] ^ 0x15]) + data[place + 1 :]
        try:
            read(broken)
        except ModelError as error:
            assert str(error)


def test_a_file_that_is_too_large_is_refused() -> None:
    refused(bytes(LARGEST + 1), "A trained model's file has up to 8 MB; this one has 1 byte more.")


def test_other_safetensors_files_are_refused() -> None:
    for about in (None, {"attnviz.trained": "2"}):
        refused(save({"weight": torch.zeros(2)}, about), "This safetensors file is not a model that attnviz trained.")


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIGS[0], width=10**9), replace(CONFIGS[0], layers=10**9, width=2),
        replace(CONFIGS[0], block_size=10**9), GRUConfig(7, 8, width=10**9),
        replace(CONFIGS[0], outputs=10**12), replace(CONFIGS[0], outputs=-1), replace(CONFIGS[0], outputs=0),
        replace(CONFIGS[0], feed_forward=10**12), replace(CONFIGS[0], layers=64, width=512),
        GRUConfig(7, 8, width=-4), GRUConfig(7, 8, width=4, layers=10**9), GRUConfig(7, 10**9), BigramConfig(10**6),
        BigramConfig(0),
    ],
)  # fmt: skip
def test_a_plan_of_a_huge_model_is_refused_before_anything_is_built(config: ModelConfig) -> None:
    begun = time.perf_counter()
    refused(
        packed({"token.weight": torch.zeros(7, 8)}, plan(config)),
        "The model's file is smaller than the model that it says it holds.",
        "The model's file is not valid: a number of its shape is too small.",
        *(
            f"{SIZES} {sizes}."
            for sizes in (f"7, 8 and {10**9:,}", f"7, {10**9:,} and 2", f"7, {10**9:,} and 1", "1,000,000, 1 and 1")
        ),
    )
    assert time.perf_counter() - begun < 2


CANT_READ = "The model in this file can't read what “{}” gives it."
NO_TASK = "The model's file names a task, “{}”, that is not known here."
NOT_OF = " is not a text of at most 2,000 characters that can be encoded in UTF-8"
NO_LIST = "…no list of tokens…."


def not_valid(why: str = "…") -> str:
    return f"The model's file is not valid: {why}."


def test_what_the_header_says_is_checked() -> None:
    state = build(CONFIGS[0], 0).state_dict()
    of = plan().to_json()
    for said, reason in (
        ({"labels": list("abc")}, "The model's file does not have one token for each row of its embedding."),
        ({"labels": list("aabcdef")}, "The model's file does not have one token for each row of its embedding."),
        ({"labels": ["ab", *"bcdefg"]}, CANT_READ.format("text")),
        ({"labels": ["\ud800", *"bcdefg"]}, NO_LIST),
        ({"labels": "abcdefg"}, NO_LIST),
        ({"labels": [1, 2, 3, 4, 5, 6, 7]}, NO_LIST),
        (
            {"plan": {**of, "subject": "../../etc"}},
            NO_TASK.format("../../etc"),
        ),
        ({"plan": {**of, "subject": "induction"}}, CANT_READ.format("induction")),
        ({"plan": {**of, "training": {"learning_rate": float("nan")}}}, not_valid()),
        ({"plan": {**of, "model": {"kind": "transformer"}}}, not_valid()),
        ({"plan": {**of, "model": {"kind": []}}}, not_valid()),
        ({"plan": {**of, "cut": []}}, not_valid()),
        ({"plan": {**of, "model": {**of["model"], "heads": 3}}}, not_valid()),
        ({"plan": {**of, "model": {**of["model"], "architecture": "encoder"}}}, CANT_READ.format("text")),
        ({"plan": {**of, "model": {**of["model"], "activation": "swish"}}}, not_valid()),
        ({"plan": {**of, "model": {**of["model"], "architecture": "x"}}}, CANT_READ.format("text")),
        ({"plan": None}, not_valid()),
        ({"card": {}}, not_valid()),
        ({"card": {**CARD.to_json(), "loss": float("inf")}}, not_valid()),
        ({"card": {**CARD.to_json(), "name": "x" * 5000}}, not_valid()),
        ({"card": {**CARD.to_json(), "heads": {"match": {"kind": 3}}}}, not_valid()),
        ({"card": {**CARD.to_json(), "heads": []}}, not_valid()),
        ({"plan": {**of, "subject": "\ud800"}}, NO_TASK.format("…")),
        (
            {"card": {**CARD.to_json(), "name": "\ud800"}},
            not_valid("name" + NOT_OF),
        ),
        (
            {"card": {**CARD.to_json(), "corpus": {"name": "\ud800", "characters": 1, "sha256": ""}}},
            not_valid("name" + NOT_OF),
        ),
        (
            {"card": {**CARD.to_json(), "accuracy": 1.01}},
            not_valid("accuracy is 1.01, which it can't be"),
        ),
        (
            {"card": {**CARD.to_json(), "after": 10**6}},
            not_valid("after is 1000000, which it can't be"),
        ),
        ({"card": {**CARD.to_json(), "loss": 10**400}}, not_valid("loss is 1…")),
    ):
        refused(packed(state, plan(), **said), reason)  # type: ignore[arg-type]


def refused(data: bytes, *sentences: str) -> None:
    """Read a file that is refused: with one of these sentences, or with one of which "…" is any part."""
    with pytest.raises(ModelError) as found:
        read(data)
    message = str(found.value)
    assert any(re.fullmatch(re.escape(one).replace("…", ".*"), message) for one in sentences), message
    assert message.endswith(".")
    assert "\n" not in message
    assert message.encode()
    assert len(message) < 300


def test_the_largest_shapes_are_read_and_one_more_is_refused() -> None:
    shapes: list[tuple[ModelConfig, ModelConfig]] = [
        (GRUConfig(8192, 8, width=1), GRUConfig(8193, 8, width=1)),
        (GRUConfig(7, 1024, width=1), GRUConfig(7, 1025, width=1)),
        (TokenConfig(7, 1024, layers=64, heads=1, width=1), TokenConfig(7, 8, layers=65, heads=1, width=1)),
    ]
    for largest, beyond in shapes:
        labels = tuple(chr(0x4E00 + number) for number in range(largest.vocabulary))
        card = replace(CARD, heads={})
        assert read(write(build(largest, 0), plan(largest), labels, card)).plan == plan(largest)
        refused(packed({}, plan(beyond)), f"{SIZES} ….")
    with pytest.raises(ModelError, match=r"^A trained model's file has up to 8 MB; this one has 8\.3 MB\.$"):
        write(build(BigramConfig(2080), 0), plan(BigramConfig(2080)), LABELS, CARD)
    refused(b"\xff" * LARGEST, NO_FILE)  # not of its size


@pytest.mark.parametrize("config", [*CONFIGS, GRUConfig(50, 8, width=40, layers=3), TokenConfig(50, 30, width=40)])
def test_a_file_that_holds_its_model_is_never_said_to_be_too_small_for_it(config: ModelConfig) -> None:
    there = sum(one.numel() for one in build(config, 0).parameters())
    assert 0.5 * there < _fewest_numbers(config) <= there


def test_a_plan_whose_model_reads_something_else_than_its_subject_is_refused() -> None:
    text, task = CONFIGS[0], TASKS["induction"].model
    assert isinstance(text, TokenConfig)
    check_plan(plan(text))
    check_plan(plan(task, "induction"))
    check_plan(plan(replace(task, width=8, heads=2, layers=1), "induction"))
    both = replace(task, architecture="both", feed_forward=None, norm=True, residual=True)
    wrong = [
        plan(replace(text, outputs=7)), plan(replace(text, padding=0)), plan(replace(text, architecture="encoder")),
        plan(replace(task, block_size=task.block_size + 1), "induction"), plan(replace(task, outputs=2), "induction"),
        plan(replace(task, padding=0), "induction"), plan(both, "induction"),
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(ModelError, match="can't read what"):
            check_plan(one)
    with pytest.raises(ModelError, match=r"^The model's file names a task, “tagged”, that is not known here\.$"):
        check_plan(plan(CONFIGS[3], "tagged"))


def test_a_task_s_file_has_the_task_s_own_vocabulary() -> None:
    task = TASKS["induction"]
    of, state = Plan("induction", task.model, task.training), build(task.model, 0).state_dict()
    card = replace(CARD, heads={}).to_json()
    assert read(packed(state, of, labels=list(task.labels), card=card)).task is task
    refused(packed(state, of, labels=list(task.labels[::-1]), card=card), CANT_READ.format("induction"))


def test_a_card_s_numbers_and_texts_are_taken_up_to_their_limits() -> None:
    files = AboutFiles("a", "f", 1, 2, 0, 0, 1, 3, 4, "a b")
    card = replace(CARD, accuracy=1.0, loss=0.0, name="x" * 2000, after=100_000, files=files)
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card
    said = card.to_json()
    head = said["heads"]["match"]
    words = {"str": NOT_OF.strip(), "int": "is not a whole number", "float": "is not a number"}
    type_of = words.__getitem__
    can_t_be = "is {}, which it can't be".format
    changes: list[tuple[dict[str, Any], str]] = [
        ({"accuracy": 1.001}, f"accuracy {can_t_be(1.001)}"), ({"accuracy": -0.001}, f"accuracy {can_t_be(-0.001)}"),
        ({"loss": -0.001}, f"loss {can_t_be(-0.001)}"), ({"name": "x" * 2001}, f"name {type_of('str')}"),
        ({"name": 3}, f"name {type_of('str')}"), ({"after": 100_001}, f"after {can_t_be(100_001)}"),
        ({"loss": True}, f"loss {type_of('float')}"), ({"loss": None}, f"loss {type_of('float')}"),
        ({"loss": "1"}, f"loss {type_of('float')}"), ({"more": 1}, f"Card has {', '.join(said)}"),
        ({"heads": {3: head}}, "heads is not a mapping of names to heads"),
        ({"corpus": {**said["corpus"], "characters": 1.5}}, f"characters {type_of('int')}"),
        ({"corpus": {**said["corpus"], "characters": -1}}, f"characters {can_t_be(-1)}"),
        ({"corpus": {"name": "a"}}, f"Corpus has {', '.join(said['corpus'])}"),
        ({"files": {**said["files"], "words": True}}, f"words {type_of('int')}"),
        ({"files": {}}, f"AboutFiles has {', '.join(said['files'])}"),
        ({"heads": {"match": {**head, "score": 1.1}}}, f"score {can_t_be(1.1)}"),
        ({"heads": {"match": {**head, "layer": -1}}}, f"layer {can_t_be(-1)}"),
    ]  # fmt: skip
    for change, why in changes:
        with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
            Card.from_json({**said, **change})
    assert Card.from_json({**said, "accuracy": 1, "loss": 2}).loss == 2  # JSON's whole numbers are numbers too
    for name in ("loss", "heads", "corpus"):
        with pytest.raises(
            ValueError,
            match=r"^Card has name, loss, accuracy, training_loss, corpus, heads, command, date, torch, after, files$",
        ):
            Card.from_json({key: one for key, one in said.items() if key != name})
    older = {key: one for key, one in said.items() if key not in ("after", "files")}
    assert (Card.from_json(older).after, Card.from_json(older).files) == (None, None)
    assert not {"after", "files"} & set(CARD.to_json())


def test_a_head_that_the_model_lacks_is_refused_and_its_last_is_not() -> None:
    state = build(CONFIGS[0], 0).state_dict()
    for kind, layer, head, there in (
        ("decoder", 1, 1, True), ("decoder", 2, 0, False), ("decoder", 0, 2, False), ("encoder", 0, 0, False),
    ):  # fmt: skip
        card = replace(CARD, heads={"match": FoundHead(kind, layer, head, 1.0)})
        data = packed(state, plan(), card=card.to_json())
        if there:
            assert read(data).card == card
        else:
            refused(data, NO_HEAD)
    gru = CONFIGS[3]
    refused(
        packed(build(gru, 0).state_dict(), plan(gru)), "The model's file names a head that the model does not have."
    )


TASK = TASKS["induction"]
PLAN = Plan("induction", TASK.model, TASK.training)
LOSSES = np.arange(100, dtype=np.float32)


def snapshot(of: Plan = PLAN, step: int = 60) -> Snapshot:
    weights = to_bytes(build(of.model, 4))
    assert weights
    return Snapshot(step, weights)


def test_the_weights_are_those_of_the_snapshot_bit_for_bit_and_in_a_notebook_too() -> None:
    taken = snapshot()
    made = file_of(PLAN, taken, LOSSES)
    written = load(made.data)
    raw = b"".join(written[name].numpy().tobytes() for name in build(TASK.model, 0).state_dict())
    assert raw == taken.weights
    model = shipped.keep(made.data)
    assert trained.load(model.name) is model
    again = file_of(model.plan, Snapshot(60, raw), LOSSES)
    assert again.data == made.data, "opened and saved again it is the same file"
    ids = TASK.held_out().ids[:4]
    with torch.no_grad():
        assert torch.equal(trained.load(model.name).logits(ids), build_of(taken)(ids))


def build_of(taken: Snapshot) -> torch.nn.Module:
    """Return the model of a snapshot without this project's reader of snapshots."""
    module, at = build(TASK.model, 0), 0
    values = torch.from_numpy(np.frombuffer(taken.weights, np.float16).astype(np.float32))
    state = {}
    for name, one in module.state_dict().items():
        state[name] = values[at : at + one.numel()].view(one.shape)
        at += one.numel()
    module.load_state_dict(state)
    return module.eval()


def test_the_card_says_the_numbers_of_these_weights_and_the_steps_that_were_made() -> None:
    taken = snapshot()
    made = file_of(PLAN, taken, LOSSES)
    held = TASK.held_out()
    with torch.no_grad():
        logits = build_of(taken)(held.ids)
    counts = held.targets >= 0
    loss = torch.nn.functional.cross_entropy(logits[counts], held.targets[counts]).item()
    assert made.card.loss == pytest.approx(loss, rel=1e-5)
    assert made.card.accuracy == pytest.approx((logits.argmax(-1) == held.targets)[counts].float().mean().item())
    assert made.card.training_loss == pytest.approx(np.mean(range(10, 60)))
    assert (made.card.after, made.stem) == (60, "induction-60-steps")
    said = json.loads(made.card_file())
    assert said["plan"]["training"]["steps"] == TASK.training.steps
    assert shipped.title(shipped.keep(made.data).name).startswith("induction, 60 steps · ")


@pytest.mark.parametrize(("step", "first"), [(1, 0), (20, 0), (49, 0), (50, 0), (51, 1), (100, 50)])
def test_the_training_loss_of_a_card_is_the_mean_of_the_last_50_steps_or_of_all(step: int, first: int) -> None:
    losses = np.random.default_rng(0).uniform(1, 3, 100).astype(np.float32)
    card = file_of(PLAN, snapshot(step=step), losses).card
    assert card.training_loss == pytest.approx(np.mean(losses[first:step]), rel=1e-6)
    assert file_of(PLAN, snapshot(step=0), losses).card.training_loss == 0


@pytest.mark.parametrize("stage", SERIES)
def test_each_stage_of_the_series_becomes_a_file_or_is_said_to_have_no_attention(stage: Any) -> None:
    text = "to be or not to be, that is the question. " * 20
    of = stage.plan(len(set(text)))
    made = file_of(of, snapshot(of), LOSSES, data=text)
    found = read(made.data)
    assert (found.card.corpus and found.card.corpus.name) == OWN_TEXT
    if stage.name in ("bigram", "gru"):
        assert "no attention" in why_not_shown(of)
        with pytest.raises(
            ModelError, match=r"^This model has no attention: there is nothing to show of it step by step\.$"
        ):
            shipped.keep(made.data)
    else:
        assert why_not_shown(of) == ""
        weights = shipped.keep(made.data).trace("to be").attentions(0)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))


@pytest.mark.parametrize("name", TASKS)
def test_each_task_s_model_and_control_can_be_shown_or_it_is_said_why_not(name: str) -> None:
    task = TASKS[name]
    for config in (task.model, task.control_model):
        of = Plan(name, config, task.training)
        why = why_not_shown(of)
        if why:
            assert config == task.control_model
            with pytest.raises(ModelError):
                shipped.keep(file_of(of, snapshot(of), LOSSES).data)
        else:
            assert shipped.keep(file_of(of, snapshot(of), LOSSES).data).trace(task.examples[0])


def test_a_card_without_steps_is_read_and_one_with_odd_steps_or_heads_is_refused() -> None:
    card = Card("mine", 0.5, 0.5, 0.5).to_json()
    state = build(plan().model, 0).state_dict()
    older = {name: one for name, one in card.items() if name != "after"}
    assert read(packed(state, plan(), card=older)).card.after is None
    head = {"kind": "decoder", "layer": 0, "head": 0, "score": 0.5}
    assert read(packed(state, plan(), card={**card, "heads": {"x": head}})).card.heads
    steps: list[dict[str, object]] = [{"after": -1}, {"after": "60"}, {"after": True}, {"after": 1.5}]
    heads: list[dict[str, object]] = [{"kind": "cross"}, {"kind": "<b>"}, {"layer": 99}, {"head": 2}]
    for one in (*steps, *({"heads": {"x": {**head, **said}}} for said in heads)):
        with pytest.raises(ModelError, match=r"can't be|does not have|is not a whole number|is not text"):
            read(packed(state, plan(), card={**card, **one}))


def test_a_bigram_has_nothing_to_show() -> None:
    assert why_not_shown(Plan("text", BigramConfig(5), PLAN.training))

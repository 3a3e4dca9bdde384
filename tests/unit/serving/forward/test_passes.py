"""The file of a pass against `model.run`, bit for bit; damaged files; and requests from anybody."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load as load_file
from safetensors.torch import save as save_file

from attnviz.pretrained import PretrainedModel, load
from attnviz.serving.forward.answering import Answering
from attnviz.serving.forward.messages import MOST_BYTES, Answer, Asked, RequestError
from attnviz.serving.forward.passes import DamagedError, PassFormat, UnsendableError
from tests.unit.families import save
from tests.unit.serving.forward.conftest import ids_of, same


@pytest.mark.parametrize("tokens", [2, 3, 17, 128, 512])
def test_a_pass_of_the_built_in_model_comes_back_bit_for_bit(minilm: PretrainedModel, tokens: int) -> None:
    form, ids = PassFormat.of(minilm), ids_of(tokens)
    done = minilm.run(ids, [0] * tokens, None)
    file = form.write(done)
    assert same(form.read(file, tokens), done)
    numbers = 4 * (6 * 4 + 1) * 384 * tokens  # float32: Q, K, V and the input of six layers, and the last hidden state
    assert numbers < len(file) < numbers + 4000
    assert len(file) <= form.most_bytes(tokens)


def test_all_that_is_computed_from_a_pass_is_equal_too(minilm: PretrainedModel, gpt2: PretrainedModel) -> None:
    """The causal mask is not sent, but made anew, as the model passes it."""
    text = "The keys to the cabinet are on the table. " * 9
    for model in (minilm, gpt2):
        form = PassFormat.of(model)

        def sent(ids: Any, segments: Any, decoder: Any, form: PassFormat = form, of: Any = model) -> Any:
            return form.read(form.write(of.run(ids, segments, decoder)), len(ids))

        here, there = model.trace(text), model.trace(text, run=sent)
        for kind, layers in here.layers.items():
            for ours, theirs in zip(layers, there.layers[kind], strict=True):
                assert ours.mask.kind == theirs.mask.kind == ("causal" if model is gpt2 else "none")
                assert torch.equal(ours.attentions(), theirs.attentions())
                if ours.mask.cells is not None and theirs.mask.cells is not None:
                    assert ours.mask.cells.dtype == theirs.mask.cells.dtype
                    assert torch.equal(ours.mask.cells, theirs.mask.cells)
        ends = [of.blocks[here.kinds[0]][-1].steps() for of in (here, there)]
        assert ends[0] is not None and ends[1] is not None
        assert torch.equal(ends[0].block_output, ends[1].block_output)
        assert torch.equal(here.last_hidden_state, there.last_hidden_state)


@pytest.mark.parametrize("tokens", [1, 2, 60])
def test_a_pre_norm_model_sends_the_input_of_its_blocks(gpt2: PretrainedModel, tokens: int) -> None:
    form, ids = PassFormat.of(gpt2), list(range(5, 5 + tokens))
    done = gpt2.run(ids, [0] * tokens, None)
    assert form.calls[0].block == 32
    assert same(form.read(form.write(done), tokens), done)


def test_equal_fingerprints_mean_equal_weights(gpt2: PretrainedModel, tmp_path: Path) -> None:
    form = PassFormat.of(gpt2)
    assert PassFormat.of(gpt2) == form
    other = load(str(save("gpt2", tmp_path / "gpt2", seed=1)))
    assert PassFormat.of(other).calls == form.calls
    assert PassFormat.of(other).fingerprint != form.fingerprint


def test_what_has_no_place_in_the_file_is_not_sent(minilm: PretrainedModel, tmp_path: Path) -> None:
    with pytest.raises(UnsendableError, match="encoder and a decoder"):
        PassFormat.of(load(str(save("t5", tmp_path / "t5"))))
    form, done = PassFormat.of(minilm), minilm.run([101, 7592, 102], [0] * 3, None)
    call = done.calls[0]
    assert call.query_input is not None
    for changed, why in (
        (replace(call, mask=torch.tensor([[True, True, False]])), "mask"),
        (replace(call, key_input=call.query_input.clone()), "another input"),
        (replace(call, value=call.value.double()), "types"),
        (replace(call, query=call.query[:, :2]), "sizes"),
    ):
        with pytest.raises(UnsendableError, match=why):
            form.write(replace(done, calls=(changed, *done.calls[1:])))


def test_damaged_files_are_refused(minilm: PretrainedModel) -> None:
    form = PassFormat.of(minilm)
    file = form.write(minilm.run([101, 7592, 102], [0] * 3, None))
    tensors = load_file(file)
    wrong = {
        "no file": b"",
        "no header": b"\xff" * 100,
        "half of it": file[: len(file) // 2],
        "a byte more": file + b"\0",
        "another length": form.write(minilm.run([101, 102], [0] * 2, None)),
        "a name less": save_file({name: x for name, x in tensors.items() if name != "3.key"}),
        "a name more": save_file({**tensors, "9.key": tensors["3.key"] + 1}),
        "another type": save_file({**tensors, "3.key": tensors["3.key"].half()}),
        "another shape": save_file({**tensors, "3.key": tensors["3.key"].flatten()}),
        "not a number": save_file({**tensors, "hidden": tensors["hidden"] * torch.nan}),
        "infinity": save_file({**tensors, "0.query": tensors["0.query"] / 0}),
    }
    for what, damaged in wrong.items():
        with pytest.raises(DamagedError):
            form.read(damaged, 3)
            pytest.fail(what)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_refused_as_a_request(body: bytes) -> None:
    with pytest.raises(RequestError):
        Asked.read(body)


def test_only_ids_of_the_model_are_run(minilm: PretrainedModel) -> None:
    served, form = Answering(["minilm"]), PassFormat.of(minilm)
    good = Asked("minilm", form.fingerprint, (101, 7592, 102), (0, 0, 0))
    assert Asked.read(good.to_bytes()) == good

    def status(**changes: Any) -> int:
        said = json.loads(good.to_bytes()) | changes
        checked = served.check(json.dumps(said).encode())
        return checked.status if isinstance(checked, Answer) else served.run(checked).status

    assert status() == 200
    assert status(model="gpt2") == 404
    assert status(fingerprint="") == 409
    for ids in ([], [30522], [-1], [True], [1.0], ["1"], [10**30], None, [101] * 513, {"a": 1}, [[1]]):
        assert status(ids=ids, segments=[0] * len(ids or ())) == 400, ids
    for segments in ([0, 0], [0, 0, 2], [0, 0, -1], [0, 0, None]):
        assert status(segments=segments) == 400, segments
    assert status(more=1) == 400
    assert isinstance(served.check(b" " * (MOST_BYTES + 1) + good.to_bytes()), Answer)
    assert isinstance(served.check(b"[" * MOST_BYTES), Answer)
    assert status(ids=[101, *[7592] * 510, 102], segments=[0] * 512) == 200


def test_an_error_of_one_pass_is_its_own(minilm: PretrainedModel, caplog: pytest.LogCaptureFixture) -> None:
    served, form = Answering(["minilm"]), PassFormat.of(minilm)
    answer = served.run(Asked("minilm", form.fingerprint, (101, 98765, 102), (0, 0, 0)))  # unchecked
    assert answer.status == 500
    assert "98765" not in caplog.text + answer.body.decode()
    assert "failed: RuntimeError" in caplog.text

"""The recorded trainings that ship: what they say is true, and a damaged file is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save

from attnviz.cli import main
from attnviz.pretrained import ModelError
from attnviz.trained import making, recorded, shipped
from attnviz.trained.card import as_file
from attnviz.trained.making import chosen
from attnviz.trained.recorded import LARGEST, pack, read, unpack, write
from attnviz.training.evaluation import evaluate
from attnviz.training.jobs.view import Evaluation, Snapshot, View
from attnviz.training.jobs.weights import model_of
from attnviz.training.series import BLOCK, SERIES, Stage
from attnviz.training.tasks import TASKS
from attnviz.training.text.subject import Text
from tests.training import model_after

FILE = recorded.FOLDER / "induction-control.safetensors"


def test_all_recordings_ship_as_the_page_trains_by_default() -> None:
    assert recorded.names() == recorded.NAMES
    for name in recorded.names():
        one = recorded.load(name)
        assert one.plan == recorded.plan_of(name)[0], "a default has changed: record it again"
        assert (recorded.FOLDER / f"{name}.json").read_bytes() == as_file(one.plan, one.card)
        assert one.card.command == f"python -m attnviz record {name}"
        steps = [snapshot.step for snapshot in one.view.snapshots]
        assert steps[0] == 0
        assert steps[-1] == one.plan.training.steps == len(one.view.losses)
        assert len(steps) <= recorded.SNAPSHOTS[name]


def test_a_task_has_its_recording_and_its_control() -> None:
    own, control = recorded.of_task("induction")
    assert (own.plan.model, control.plan.model) == (TASKS["induction"].model, TASKS["induction"].control_model)
    assert [one.card.name for one in recorded.of_task("reverse")] == ["reverse"]
    assert recorded.of_task("nothing") == ()
    assert recorded.of_stage("nothing") is None


@pytest.mark.parametrize("name", [one for one in recorded.NAMES if not one.startswith(recorded.STAGE)])
def test_the_snapshots_do_on_held_out_sequences_what_the_curves_say(name: str) -> None:
    one = recorded.load(name)
    task, last = TASKS[one.plan.subject], one.view.evaluations[-1]
    found = evaluate(model_of(one.plan.model, one.view.snapshots[-1].weights), task)
    assert found.loss == pytest.approx(last.loss, rel=1e-3, abs=1e-6)
    assert found.accuracy == pytest.approx(last.accuracy, abs=1e-6)
    assert (one.card.loss, one.card.accuracy) == (last.loss, last.accuracy)
    assert {name: head.score for name, head in one.card.heads.items()} == {
        name: last.best(name) for name in last.scores
    }
    first = evaluate(model_of(one.plan.model, one.view.snapshots[0].weights), task)
    assert first.loss == pytest.approx(one.view.losses[0], rel=0.05)


@pytest.mark.parametrize("stage", SERIES, ids=lambda stage: stage.name)
def test_a_stage_of_the_series_has_on_validation_text_the_loss_that_is_said(stage: Stage) -> None:
    one = recorded.of_stage(stage.name)
    assert one is not None
    text = Text(one.text or "", BLOCK)
    last = one.view.evaluations[-1]
    model = model_of(one.plan.model, one.view.snapshots[-1].weights).eval()
    size = int(getattr(model, "block_size", BLOCK))
    part = text.validation[: (len(text.validation) - 1) // size * size + 1]
    with torch.no_grad():
        logits = model(part[:-1].view(-1, size))
    logits = logits.flatten(0, 1)
    found = torch.nn.functional.cross_entropy(logits, part[1:])
    assert float(found) == pytest.approx(last.loss, abs=1e-3)
    assert float((logits.argmax(-1) == part[1:]).float().mean()) == pytest.approx(last.accuracy, abs=1e-3)
    assert (one.card.loss, one.card.accuracy) == (last.loss, last.accuracy)
    assert last.loss == pytest.approx(stage.expected[2000], abs=0.02)


def test_a_model_knows_its_sums_by_heart_long_before_it_can_add() -> None:
    one = recorded.load("modular")
    sums = [(a, b) for a in range(31) for b in range(31)]
    held = {tuple(row[:2]) for row in TASKS["modular"].held_out().ids.tolist()}
    told = {each.step: each for each in one.view.evaluations}
    shares = []
    for snapshot in one.view.snapshots:
        model = model_of(one.plan.model, snapshot.weights).eval()
        with torch.no_grad():
            said = model(torch.tensor([[a, b, 31] for a, b in sums]))[:, -1].argmax(-1).tolist()
        right = [(pair in held, sum(pair) % 31 == number) for pair, number in zip(sums, said, strict=True)]
        shares.append(tuple(float(np.mean([good for out, good in right if out == part])) for part in (False, True)))
        if (known := told.get(snapshot.step)) is not None:
            assert (known.trained, known.accuracy) == pytest.approx(shares[-1], abs=0.01)  # weights are float16
    learned, able = (next(at for at, pair in enumerate(shares) if pair[of] > 0.9) for of in (0, 1))
    steps = [snapshot.step for snapshot in one.view.snapshots]
    assert steps[able] > 3 * steps[learned]
    assert shares[learned][1] < 0.2
    assert min(shares[-1]) > 0.9


def test_the_first_snapshots_are_those_of_a_plain_training_in_torch() -> None:
    one = recorded.load("induction")
    early = [snapshot for snapshot in one.view.snapshots if snapshot.step <= 60]
    assert len(early) >= 3
    settings = one.plan.training
    expected = model_after([found.step for found in early], rate=settings.learning_rate, steps=60)
    for found in early:
        weights = np.frombuffer(found.weights, "<f2").astype(np.float32)
        whole = torch.cat([value.flatten() for value in expected[found.step].state_dict().values()])
        np.testing.assert_allclose(weights, whole, rtol=1e-2, atol=2e-3)


@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_what_is_packed_is_unpacked_bit_by_bit(count: int, length: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(0, 2**16, (count, length), np.uint16)
    snapshots = [row.astype("<u2").tobytes() for row in drawn]
    assert list(unpack(pack(snapshots), count)) == snapshots


@pytest.mark.parametrize("count", [0, 3, 7])
def test_snapshots_that_are_not_as_many_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"^its snapshots are not {count} of the same model$"):
        unpack(pack([b"\0\1\2\3"] * 3 + [b"\4\5\6\7"] * 2), count)


def test_what_is_written_reads_back_the_same(tmp_path: Path) -> None:
    one = recorded.load("induction-control")
    again = tmp_path / "again.safetensors"
    again.write_bytes(write(one))
    found = read(again)
    assert (found.plan, found.card) == (one.plan, one.card)
    assert found.view.snapshots == one.view.snapshots
    assert found.view.evaluations == one.view.evaluations
    np.testing.assert_array_equal(found.view.losses, one.view.losses)
    with pytest.raises(ValueError, match="read-only"):
        found.view.losses[0] = 1


SIDEWAYS, DECODER = "scores.match.sideways.0", "scores.match.decoder.0"
NO_NUMBERS = "is missing, not finite or of another shape"
SCORES = np.zeros((3, 2), np.float32)
SNAPSHOTS = len(recorded.load("induction-control").view.snapshots)
HEADER = "Error while deserializing header: .*"
NOT_STEPS = "are not ascending steps of a training of 800"


def _changed(**arrays: np.ndarray) -> bytes:
    data = FILE.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return save(arrays_of(data) | arrays, json.loads(data[8 : 8 + size])["__metadata__"])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", HEADER), (b"\x80\x02." * 99, HEADER), (FILE.read_bytes()[:-9], HEADER),
        (bytes(LARGEST + 1), "it has more than 4 MB"),
        ((shipped.FOLDER / "induction.safetensors").read_bytes(), "it is a file of another kind"),
        (_changed(losses=np.zeros(3, np.float32)), f"losses {NO_NUMBERS}"),
        (_changed(losses=np.full(800, np.nan, np.float32)), f"losses {NO_NUMBERS}"),
        (_changed(losses=np.zeros(800, np.float64)), f"losses {NO_NUMBERS}"),
        (_changed(snapshot_steps=np.array([0, 5], np.int32)), "a weight is not finite"),
        (_changed(snapshot_steps=np.array([5, 5], np.int32)), f"snapshot_steps {NOT_STEPS}"),
        (_changed(evaluated=np.array([0, 900], np.int32)), f"evaluated {NOT_STEPS}"),
        (_changed(snapshots=np.zeros(9, np.uint8)), "its snapshots are damaged"),
        (_changed(snapshots=pack([b"\xff\xff"] * SNAPSHOTS)), "a weight is not finite"),
        (_changed(**{SIDEWAYS: SCORES}), f"{SIDEWAYS} is not the name of a pattern's scores"),
        (_changed(**{DECODER: SCORES}), f"{DECODER} {NO_NUMBERS}"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_in_one_sentence(data: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "one.safetensors"
    file.write_bytes(data)
    with pytest.raises(ModelError, match=rf"^The recorded training one\.safetensors can't be read: {why}\.$"):
        read(file)


def test_a_recording_that_does_not_exist_is_named() -> None:
    with pytest.raises(
        ModelError, match=r"^There is no recorded training “nothing”: there are induction, .*, ladder-gru\.$"
    ):
        recorded.load("nothing")
    with pytest.raises(ModelError, match="can't be read"):
        read(Path("/nowhere/one.safetensors"))


def test_most_snapshots_are_kept_where_the_model_changes() -> None:
    steps = range(0, 101, 5)
    evaluations = tuple(Evaluation(step, 0.0, float(step > 50)) for step in steps)
    view = View("done", 100, evaluations=evaluations, snapshots=tuple(Snapshot(step, b"") for step in range(101)))
    kept = [one.step for one in chosen(view, 12)]
    assert len(kept) <= 12
    assert (kept[0], kept[-1]) == (0, 100)
    assert sum(50 <= step <= 55 for step in kept) >= 5
    assert chosen(replace(view, snapshots=view.snapshots[:3]), 12) == view.snapshots[:3]


def test_the_command_records_and_leaves_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, _ = recorded.plan_of("induction-control")
    quick = replace(plan, training=replace(plan.training, steps=20, batch=8))
    monkeypatch.setattr(making, "plan_of", lambda _: (quick, None))
    out = tmp_path / "one.safetensors"
    assert main(["record", "induction-control", "--out", str(out)]) == 0
    assert "5 snapshots" in capsys.readouterr().out
    found = read(out)
    assert (found.plan, found.view.status, found.view.step) == (quick, "done", 20)
    assert [one.step for one in found.view.snapshots] == [0, 5, 10, 15, 20]
    assert json.loads(out.with_suffix(".json").read_text())["accuracy"] == found.card.accuracy
    assert main(["record", "induction-control", "--out", str(out)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["record", "induction-control", "--out", str(tmp_path / "no" / "one.safetensors")]) == 1

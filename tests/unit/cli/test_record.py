"""`attnviz record` and what `classify` and `corpus` write to the terminal when they are done."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attnviz.bert.classification import shipped as classifiers
from attnviz.cli import corpus, main
from attnviz.trained import recorded
from attnviz.training.loop import DivergedError

Terminal = pytest.CaptureFixture[str]


def test_a_recording_is_written_with_its_card_and_never_over_a_file_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Terminal
) -> None:
    recording = recorded.load("induction-control")
    monkeypatch.setattr("attnviz.trained.making.record", lambda name: {"induction-control": recording}[name])
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "induction-control.safetensors"
    assert main(["record", "induction-control"]) == 0
    shipped = recorded.FOLDER / out.name
    found = recorded.read(out)
    assert (found.plan, found.card, len(out.read_bytes())) == (recording.plan, recording.card, shipped.stat().st_size)
    assert out.with_suffix(".json").read_bytes() == shipped.with_suffix(".json").read_bytes()
    card = json.loads(shipped.with_suffix(".json").read_text(encoding="utf-8"))
    assert capsys.readouterr().out == (
        f"{out.name}: {shipped.stat().st_size:,} bytes, {len(recording.view.snapshots)} snapshots, "
        f"loss {card['loss']:.4f}, accuracy {card['accuracy']:.2%}\n"
    )
    out.write_bytes(b"mine")
    assert main(["record", "induction-control"]) == 1
    assert capsys.readouterr().err.endswith(f"{out.name}: it already exists; --force overwrites it\n")
    assert out.read_bytes() == b"mine"
    assert main(["record", "induction-control", "--force"]) == 0
    assert recorded.read(out).card == recording.card


def test_a_recording_that_can_not_be_made_or_written_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Terminal
) -> None:
    recording = recorded.load("induction-control")
    monkeypatch.setattr("attnviz.trained.making.record", lambda _: recording)
    out = tmp_path / "no" / "one.safetensors"
    assert main(["record", "induction-control", "--out", str(out)]) == 1
    assert "No such file or directory" in capsys.readouterr().err

    def diverges(_: str) -> None:
        raise DivergedError("The loss is not a number.")

    monkeypatch.setattr("attnviz.trained.making.record", diverges)
    assert main(["record", "induction-control", "--out", str(tmp_path / "one.safetensors")]) == 1
    assert capsys.readouterr().err.endswith("The loss is not a number.\n")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("quiet", [False, True])
def test_a_classifier_is_written_and_its_accuracy_said_unless_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Terminal, quiet: bool
) -> None:
    made = classifiers.load("classifier")
    monkeypatch.setattr("attnviz.bert.classification.making.make", lambda *_: made)
    out = tmp_path / "one.safetensors"
    assert main(["classify", "classifier", "--out", str(out), *["--quiet"] * quiet]) == 0
    assert (out.read_bytes(), out.with_suffix(".json").read_bytes()) == classifiers.write(made)
    said = capsys.readouterr().out.splitlines()
    if quiet:
        assert said == []
    else:
        assert said[0] == f"{out}: accuracy {made.card.accuracy:.2%} on held-out texts"
        assert len(said) == 2


@pytest.mark.parametrize("quiet", [False, True])
def test_statistics_of_a_corpus_are_written_and_the_setting_that_shows_them_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Terminal, quiet: bool
) -> None:
    written: list[Any] = []
    monkeypatch.setattr("attnviz.corpus.table.write", lambda *given: written.append(given))
    monkeypatch.setattr("attnviz.corpus.run.card_of", lambda _, **named: named)
    monkeypatch.setattr(corpus, "_command", lambda _: "the command")
    monkeypatch.setattr(corpus, "_report", lambda _: "2 lines are bad.\n")
    statistics = SimpleNamespace(sentences=2345, tokens=67890)
    sums = SimpleNamespace(sums={"sentences": 2345}, finish=lambda: statistics)
    run: Any = SimpleNamespace(statistics=sums, sources=[SimpleNamespace(name="a.txt"), SimpleNamespace(name="b.txt")])
    checkpoint = tmp_path / "checkpoint"
    checkpoint.touch()
    arguments = Namespace(out=Path("my own.parquet"), name="", licence="CC0", quiet=quiet)
    assert corpus._finish(run, arguments, checkpoint) == 0
    card = {"corpus": "a.txt, b.txt", "licence": "CC0", "command": "the command"}
    assert written == [(arguments.out, statistics, card)]
    assert not checkpoint.exists()
    said = (
        "my own.parquet: 2,345 sentences, 67,890 tokens\n2 lines are bad.\n"
        "ATTNVIZ_CORPORA='my own.parquet' shows them on the page Heads of the app.\n"
    )
    assert capsys.readouterr().out == ("" if quiet else said)
    run.statistics = None
    with pytest.raises(ValueError, match="the files have no sentence that can be read"):
        corpus._finish(run, arguments, checkpoint)
    assert capsys.readouterr().out == ("" if quiet else "2 lines are bad.\n")

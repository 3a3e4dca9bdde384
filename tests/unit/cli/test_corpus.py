"""The commands that take long: what they write when they are done, and a corpus that is killed and goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from attnviz.bert.classification import shipped as classifiers
from attnviz.cli import corpus, main
from attnviz.corpus import table
from attnviz.corpus.blocks import Block, Read, read_block
from attnviz.corpus.engines import EngineError
from attnviz.corpus.run import Job
from attnviz.corpus.sentences import Reader
from attnviz.trained import recorded
from attnviz.training.loop import DivergedError
from tests.unit.test_layers import ROOT

LINES = 6
"""Of a block"""
STOPS = """if True:
    import os, signal, sys
    from attnviz.cli import corpus, main
    from attnviz.corpus.run import Run
    save = Run.save
    Run.save = lambda *asked: (save(*asked), os.kill(os.getpid(), signal.SIGSTOP))
    corpus.SAVED_EVERY = 0
    sys.exit(main(sys.argv[1:]))
"""
"""The command, which stops after its first checkpoint while its process reads on"""
SENTENCE = "The {} of number {} was painted by nobody in particular, they said.\n"


def read(*arguments: str | Path) -> int:
    return main(["corpus", "--processes", "1", *map(str, arguments), "--quiet"])


@cache
def reader() -> Reader:
    return Job("minilm").reader()


def read_here(arguments: Namespace, job: Job) -> Callable[[Iterator[Block]], Iterator[Read]]:
    """Read blocks in this process, as an engine: processes of its own take seconds to start."""
    return partial(map, partial(read_block, reader()))


def test_a_killed_run_goes_on_and_writes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed with its processes at work, then stopped by Ctrl-C, then to the end."""
    file, checkpoint = tmp_path / "some.txt", tmp_path / "killed.parquet.checkpoint"
    things = ("house", "bridge", "old boat", "refrigerator", "gate")
    file.write_text("".join(SENTENCE.format(things[n % 5], n) for n in range(LINES * 6)))
    wanted = ["corpus", file, "--out", tmp_path / "killed.parquet", "--pairs-every", "512", "--lines", LINES]
    wanted += ["--quote", file]
    command = [sys.executable, "-c", STOPS, *map(str, wanted), "--quiet", "--processes", "1"]
    process = subprocess.Popen(command, cwd=ROOT)
    assert os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED
    assert checkpoint.exists()
    children = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert psutil.wait_procs(children, timeout=30)[1] == []  # none goes on alone

    job = Job("minilm", pairs_every=512)
    reader_of_few, counted = job.reader(), list[int]()

    def stopped_after_one(blocks: Iterator[Block]) -> Iterator[Read]:
        for number, block in enumerate(blocks):
            counted.append(block.number)
            if number == 1:
                signal.raise_signal(signal.SIGINT)
            yield read_block(reader_of_few, block)

    with monkeypatch.context() as patch:
        patch.setattr("attnviz.cli.corpus._engine", lambda *_: stopped_after_one)
        assert main([*map(str, wanted), "--quiet"]) == 130
        assert checkpoint.exists()
    before = len(counted)
    monkeypatch.setattr("attnviz.cli.corpus._engine", lambda *_: partial(map, partial(read_block, reader_of_few)))
    assert main([*map(str, wanted), "--quiet"]) == 0
    assert counted[0] > 0 and before == 2
    assert not checkpoint.exists()
    assert main(["corpus", *map(str, (file, "--out", tmp_path / "whole.parquet", *wanted[4:])), "--quiet"]) == 0
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    found, card = table.read(tmp_path / "whole.parquet")
    assert found.sentences == LINES * 6
    settings = f"--model minilm --pairs-every 512 --lines {LINES} --quote some.txt"
    assert card.command == f"python -m attnviz corpus some.txt {settings}"


def test_what_can_t_be_read_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, empty, blank = (tmp_path / f"{name}.txt" for name in ("some", "empty", "blank"))
    blank.write_bytes(b"\n \n\xff\n" + b"x" * 30_000)
    file.write_text("One sentence.\n")
    empty.touch()
    out = tmp_path / "out.parquet"
    for arguments, code, said in (
        ([tmp_path / "none.txt"], 1, "No such file"),
        ([file, file], 2, "given twice"),
        ([empty], 2, "have no sentence"),
        ([file, "--batch", "0"], 2, "batch is 0"),
        ([file, "--processes", "-1"], 2, "at least 1"),
        ([file, "--gpus", "1"], 2, "--engine ray"),
        ([file, "--quote", empty], 2, "not among those"),
    ):
        assert read(*arguments, "--out", out) == code, arguments
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1, error
        assert not out.exists()
    for engine, arguments, code, said in (
        (read_here, [blank], 2, "have no sentence"),
        (lambda _, job: lambda _: job.reader(), [file, "--model", tmp_path / "nowhere"], 1, "nowhere"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr("attnviz.cli.corpus._engine", engine)
            assert read(*arguments, "--out", out) == code
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1 and not out.exists()
    out.write_bytes(b"mine")
    assert read(file, "--out", out) == 1
    assert "--force" in capsys.readouterr().err and out.read_bytes() == b"mine"
    (tmp_path / "out.parquet.checkpoint").write_bytes(b"no checkpoint")
    assert read(file, "--out", out, "--force") == 1
    assert "not a checkpoint" in capsys.readouterr().err


def test_what_was_read_is_kept_where_a_run_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "some.txt", tmp_path / "out.parquet"
    file.write_text("".join(SENTENCE.format("house", n) for n in range(30)))

    def failing(blocks: Iterator[Block]) -> Iterator[Read]:
        yield read_block(reader(), next(blocks))
        raise EngineError("Processes died.")

    with monkeypatch.context() as patch:
        patch.setattr("attnviz.cli.corpus._engine", lambda *_: failing)
        assert read(file, "--out", out, "--lines", "10") == 1
    assert not out.exists() and (tmp_path / "out.parquet.checkpoint").exists()
    monkeypatch.setattr("attnviz.cli.corpus._engine", read_here)
    assert read(file, "--out", out, "--lines", "10", "--quote", file) == 0  # all are quoted, in both
    assert table.read(out)[0].sentences == 30
    assert [one.name for one in tmp_path.iterdir() if "checkpoint" in one.name] == []


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
        f"loss {card['loss']:.4f}, accuracy {100 * card['accuracy']:.2f} %\n"
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
    monkeypatch.setattr("attnviz.bert.classification.shipped.make", lambda *_: made)
    out = tmp_path / "one.safetensors"
    assert main(["classify", "classifier", "--out", str(out), *["--quiet"] * quiet]) == 0
    assert (out.read_bytes(), out.with_suffix(".json").read_bytes()) == classifiers.write(made)
    said = capsys.readouterr().out.splitlines()
    if quiet:
        assert said == []
    else:
        assert said[0] == f"{out}: accuracy {100 * made.card.accuracy:.2f} % on held-out texts"
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

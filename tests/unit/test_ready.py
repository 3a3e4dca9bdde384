"""Ready for class: each check says what is there, and notices what is not."""

from __future__ import annotations

import io
import socket
from pathlib import Path

import pytest

from attnviz import files, ready
from attnviz.cli import main
from attnviz.lessons.shipped import NAMES
from attnviz.pretrained import ModelError, load
from attnviz.ready import Check, checks, print_checks


def test_all_is_ready_here_and_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = main(["ready", "--port", str(port)])
    output = capsys.readouterr().out
    assert code == 0, output
    for line in (
        "ok    Python",
        "Built-in model: its file is the one",
        "Forward pass: its weights differ",
        "No network",
        f"Lessons: {len(NAMES)} lessons",
        "Browser files: page, plotly.js",
        f"Port: {port} is free",
        "Ready for class.",
    ):
        assert line in output, line
    assert "fail" not in output


def test_failures_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A used port, a missing package, a model with wrong numbers, little memory."""
    required = tmp_path / "requirements.txt"
    required.write_text(f"{files.REQUIREMENTS.read_text()}\nnumpy==0.1\nno-such-package==1.0\n")
    monkeypatch.setattr(files, "REQUIREMENTS", required)
    monkeypatch.setattr(ready, "free_memory", lambda: 0.2)

    def off() -> object:
        model = load()
        model.bert.encoder.layers[2].attention.query.bias.add_(0.01)
        return model

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = {check.name: check for check in checks(taken.getsockname()[1], off)}
    assert found["Packages"].state == "fail"
    assert "no-such-package" in found["Packages"].detail
    assert found["Port"].state == "fail"
    assert found["Memory"].state == "fail"
    assert found["Forward pass"].state == "fail"
    out = io.StringIO()
    assert print_checks(iter([Check("A", "ok", "is here"), Check("B", "fail", "is not", "get it")]), out) is False
    assert out.getvalue() == "ok    A: is here\nfail  B: is not\n      -> get it\n"


@pytest.mark.asks_outside
def test_a_machine_contacted_while_the_model_loads_is_named() -> None:
    def asks() -> object:
        with pytest.raises(OSError):
            socket.getaddrinfo("example.org", 443)
        import sys

        sys.audit("socket.getaddrinfo", "example.org", 443)  # the tests' guard stands before Python's own call
        sys.audit("socket.getaddrinfo", "127.0.0.1", 443)
        return load()

    found = {check.name: check for check in checks(load=asks)}
    assert found["No network needed"] == Check(
        "No network needed", "fail", "contacted example.org", "Set HF_HUB_OFFLINE=1 and try again."
    )


def test_a_built_in_model_that_is_not_there_ends_its_checks_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(_: str) -> Path:
        raise ModelError("The built-in model's file is not the one that its publisher lists; install it again.")

    monkeypatch.setattr("attnviz.pretrained.built_in.check_digest", damaged)
    found = list(checks())
    model = next(check for check in found if check.name == "Built-in model")
    assert (model.state, "pip install" in model.advice) == ("fail", True)
    assert "Forward pass" not in {check.name for check in found}


@pytest.mark.parametrize("name", ["built.json", "main/main.js", "app/base.js", "app/share.js"])
def test_a_script_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path: not path.as_posix().endswith(f"dist/{name}") and is_file(path))
    found = ready._browser_files()
    assert (found.state, found.detail) == ("fail", f"missing: our components' {name}")

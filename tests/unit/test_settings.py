"""What whoever runs the app may decide, and what happens where they say it wrongly."""

from __future__ import annotations

import ast
import dataclasses
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from attnviz.settings import LIMITS, PUBLIC, Settings, SettingsError, read, settings, use
from tests.scripts import run_alone

ROOT = Path(__file__).resolve().parents[2]


def test_the_defaults_are_for_a_local_machine() -> None:
    free = read({"PATH": "/usr/bin", "ATTNVIZ_CHROMIUM": "/usr/bin/chromium"})
    assert free == Settings()
    assert all(free.allows(name) for name in ("minilm", "gpt2", "some/model", "/models/mine", "../mine", "~/mine"))


def test_the_public_defaults_are_safe() -> None:
    public = read({"ATTNVIZ_PUBLIC": "1"})
    assert public == PUBLIC
    assert not (public.hub or public.folders or public.uploads)
    assert public.sessions
    assert public.requests
    assert public.allows(" minilm\n")
    for name in ("gpt2", "bert-base-uncased", "/etc", "..", "~", "../mine", "tests/unit", "", "minilm/../x"):
        assert not public.allows(name)


@pytest.mark.parametrize("name", ["..", "../mine", "a/..", "a..b/c", "/etc", "~/mine"])
def test_what_may_be_a_folder_is_none_of_the_hubs_names(name: str) -> None:
    """A server that allows the hub and no folders: transformers would read a folder of this name."""
    hub = Settings(hub=True, folders=False)
    assert hub.allows("some/model")
    assert not hub.allows(name)


def test_each_setting_is_read_from_the_environment_and_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    environment = {
        "PUBLIC": "yes", "MODELS": "minilm, gpt2 ,", "HUB": "on", "FOLDERS": "0", "UPLOADS": "true",
        "LARGEST_UPLOAD": "2", "LARGEST_TEXT": "900", "SESSIONS": "7", "REQUESTS": "60",
        "CHANGES": "90", "TRUSTED_PROXIES": "10.0.0.0/8,::1", "FRAME_ANCESTORS": "'self',https://lms.example.org:8443",
        "REPLICA": "a1", "PASSES": "3", "TRAININGS": "1", "TRAINING_STEPS": "2000", "TRAINING_PARAMETERS": "50000",
        "TRAINING_BLOCK": "64", "TRAINING_BATCH": "32",
        "CORPORA": "README.md, pyproject.toml",
    }  # fmt: skip
    assert {name.lower() for name in environment} == {field.name for field in fields(Settings)}
    expected = Settings(
        public=True, models=("minilm", "gpt2"), hub=True, folders=False, uploads=True, largest_upload=2,
        largest_text=900, sessions=7, requests=60, changes=90, trusted_proxies=("10.0.0.0/8", "::1"),
        frame_ancestors=("'self'", "https://lms.example.org:8443"), replica="a1", passes=3,
        trainings=1, training_steps=2000, training_parameters=50_000, training_block=64, training_batch=32,
        corpora=("README.md", "pyproject.toml"),
    )  # fmt: skip
    assert read({f"ATTNVIZ_{name}": value for name, value in environment.items()}) == expected
    file = tmp_path / "settings.toml"
    file.write_text(
        'public = true\nmodels = ["minilm", "gpt2"]\nhub = true\nfolders = false\nuploads = true\n'
        "largest_upload = 2\nlargest_text = 900\nsessions = 7\nrequests = 60\nchanges = 90\n"
        'trusted_proxies = ["10.0.0.0/8", "::1"]\n'
        """frame_ancestors = ["'self'", "https://lms.example.org:8443"]\nreplica = "a1"\npasses = 3\n"""
        "trainings = 1\ntraining_steps = 2000\ntraining_parameters = 50000\ntraining_block = 64\ntraining_batch = 32\n"
        'corpora = ["README.md", "pyproject.toml"]\n'
    )
    assert read({"ATTNVIZ_SETTINGS": str(file)}) == expected
    assert read({"ATTNVIZ_SETTINGS": str(file), "ATTNVIZ_SESSIONS": "8"}).sessions == 8


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("ATTNVIZ_MODLES", "gpt2", "unknown setting"),
        ("ATTNVIZ_UPLOADS", "maybe", "expected 1 or 0"),
        ("ATTNVIZ_SESSIONS", "many", "from 0 to"),
        ("ATTNVIZ_SESSIONS", "-1", "from 0 to"),
        ("ATTNVIZ_SESSIONS", "1e3", "from 0 to"),
        ("ATTNVIZ_SESSIONS", "٣", "from 0 to"),
        ("ATTNVIZ_LARGEST_TEXT", "20001", "from 100 to 20000"),
        ("ATTNVIZ_MODELS", " , ", "at least one model"),
        ("ATTNVIZ_TRUSTED_PROXIES", "nginx", "addresses or networks"),
        ("ATTNVIZ_FRAME_ANCESTORS", "https://a; script-src *", "or sites such as"),
        ("ATTNVIZ_REPLICA", "a b; Path=/", "letters, digits"),
        ("ATTNVIZ_CORPORA", "no/such.parquet", "is not a file"),
        ("ATTNVIZ_CORPORA", "README.md,docs/../README.md", "same name"),
        ("ATTNVIZ_SETTINGS", "/no/such/file.toml", "can't be read"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_it(variable: str, value: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as error:
        read({variable: value})
    assert "\n" not in str(error.value)
    assert value.strip() in str(error.value)


@pytest.mark.parametrize("text", ["sessions = true", "models = 'a'\nmodels = 'b'", "sessions", "models = [1]", "a = 1"])
def test_a_wrong_file_is_one_line_that_names_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as error:
        read({"ATTNVIZ_SETTINGS": str(file)})
    assert "\n" not in str(error.value)
    assert str(file) in str(error.value)


def test_defaults_are_within_their_own_limits() -> None:
    for defaults in (Settings(), PUBLIC):
        assert all(low <= getattr(defaults, name) <= high for name, (low, high) in LIMITS.items())
        assert defaults.parallel_passes >= 1


def test_streamlits_options_keep_speed_and_privacy() -> None:
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    expected = {
        "runner": {"postScriptGC": False},
        "server": {"headless": True, "fileWatcherType": "none", "disconnectedSessionTTL": 120},
        "browser": {"gatherUsageStats": False},
        "client": {"toolbarMode": "minimal", "showErrorDetails": "none", "showErrorLinks": False},
    }
    for section, options in expected.items():
        assert config[section].items() >= options.items()
    assert 0 < config["server"]["maxUploadSize"] <= 8
    assert {"light", "dark"} <= config["theme"].keys()


def runs_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when a module is imported: all but the bodies of functions and lambdas."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            later = node.body if isinstance(node.body, list) else [node.body]
            now = [child for child in ast.iter_child_nodes(node) if child not in later]
            yield from now
            for child in now:
                yield from runs_at_import(child)
        else:
            yield from runs_at_import(node)


def settings_read(source: str) -> list[int]:
    """Return the lines where the import of a module reads settings or the environment."""
    if not re.search("settings|environ|getenv", source):
        return []
    found = []
    for node in runs_at_import(ast.parse(source)):
        is_call = isinstance(node, ast.Call) and re.fullmatch(
            r"(\w+\.)*(settings|getenv|environ\.get|environ\.copy|environb?\.items)", ast.unparse(node.func)
        )
        is_item = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and "environ" in ast.unparse(node)
        if is_call or is_item:
            found.append(node.lineno)
    return sorted(set(found))


@pytest.mark.parametrize(
    "line",
    [
        "LIMIT = settings().largest_text",
        "KEYS = {'text': Key('', short(s.settings().largest_text))}",
        "def read(raw, limit=settings().largest_text): ...",
        "def read(raw, *, limit=settings().largest_text): ...",
        "read = lambda raw, limit=settings().largest_text: raw",
        "@limited(settings().largest_text)\ndef read(raw): ...",
        "class Key:\n    limit = settings().largest_text",
        "class Key:\n    def read(self, limit=settings().largest_text): ...",
        "if settings().public:\n    import json",
        "HOME = os.environ['HOME']",
        "HOME = os.getenv('HOME')",
        "HOME = os.environ.get('HOME')",
    ],
)
def test_what_an_import_reads_is_seen(line: str) -> None:
    assert settings_read(line)
    assert not settings_read("def later():\n    " + line.replace("\n", "\n    "))
    assert not settings_read(
        "models = lambda: settings().models\nos.environ.setdefault('A', '1')\nos.environ['B'] = ''"
    )


def test_no_module_reads_settings_or_the_environment_when_it_is_imported() -> None:
    files = sorted((ROOT / "attnviz").rglob("*.py"))
    assert len(files) > 100
    assert {str(file.relative_to(ROOT)): lines for file in files if (lines := settings_read(file.read_text()))} == {}


def test_importing_everything_leaves_the_settings_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """With settings that can't be read, each module is imported, and only then is there an error."""
    code = (
        "import importlib, pkgutil, attnviz\n"
        "scripts = 'attnviz.__main__', 'attnviz.ui.frame'\n"
        "for module in pkgutil.walk_packages(attnviz.__path__, 'attnviz.'):\n"
        "    if module.name not in scripts:\n        importlib.import_module(module.name)\n"
        "from attnviz.settings import SettingsError, settings\n"
        "try:\n    settings()\nexcept SettingsError as error:\n    print(error)\n"
    )
    monkeypatch.setenv("ATTNVIZ_SESSIONS", "many")
    done = run_alone(code, cwd=ROOT, on_warning="ignore", has_attnviz=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ATTNVIZ_SESSIONS=many: expected a whole number from 0 to 100000.\n"


def test_a_server_gives_its_settings_to_all_that_ask_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.settings._current", [])
    use(PUBLIC)
    assert settings() is PUBLIC
    use(dataclasses.replace(PUBLIC))  # the same ones again
    with pytest.raises(SettingsError, match="Other settings were read before"):
        use(dataclasses.replace(PUBLIC, sessions=7))
    assert settings() == PUBLIC


def test_settings_that_were_read_as_those_of_an_own_machine_can_not_become_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("attnviz.settings._current", [])
    monkeypatch.delenv("ATTNVIZ_PUBLIC", raising=False)
    assert not settings().public
    with pytest.raises(SettingsError, match="Other settings were read before"):
        use(PUBLIC)


def test_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.settings._current", [])
    monkeypatch.setenv("ATTNVIZ_SESSIONS", "7")
    first = settings()
    monkeypatch.setenv("ATTNVIZ_SESSIONS", "8")
    assert settings() is first
    assert first.sessions == 7

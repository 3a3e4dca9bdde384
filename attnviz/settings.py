"""Settings of a server: allowed models, size limits and numbers of visitors.

Each setting is a field of `Settings`. It is read once, from the environment (`ATTNVIZ_SESSIONS=50`) or from the TOML
file that ATTNVIZ_SETTINGS names (`sessions = 50`); the environment takes precedence. By default nothing is restricted,
which suits a private machine. ATTNVIZ_PUBLIC=1 changes the defaults to `PUBLIC`; `python -m attnviz serve` uses these
unless ATTNVIZ_PUBLIC=0 is set in the environment.
"""

from __future__ import annotations

import ipaddress
import os
import re
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

PREFIX = "ATTNVIZ_"
FILE = "ATTNVIZ_SETTINGS"
OTHERS = {FILE, "ATTNVIZ_CHROMIUM", "ATTNVIZ_BENCH_CACHE"}
"""Variables with our prefix that are not settings. The last two are used by tests."""

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_ANCESTOR = re.compile(r"'none'|'self'|\*|https?://[\w.*-]+(:\d{1,5})?", re.ASCII)


class SettingsError(ValueError):
    """A setting is invalid. The message is one line for the person who started the server."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings, with the defaults for a private machine. `PUBLIC` has the defaults for a public link."""

    public: bool = False
    """Whether settings default to `PUBLIC`"""
    models: tuple[str, ...] = ("minilm", "bert-base-uncased")
    """Models in the menu, which are always allowed, like minilm: names on the Hugging Face hub, or folders"""
    hub: bool = True
    """Whether visitors may request any other model on the hub"""
    folders: bool = True
    """Whether visitors may request any other folder on this machine"""
    uploads: bool = True
    """Whether files may be uploaded"""
    largest_upload: int = 8
    """The largest upload in megabytes"""
    largest_text: int = 20_000
    """The longest text in characters"""
    sessions: int = 0
    """The most simultaneous visitors; 0 means no limit"""
    requests: int = 0
    """The most requests per minute from one address; 0 means no limit"""
    changes: int = 0
    """The most messages per minute from one visitor; 0 means no limit"""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of the proxies whose X-Forwarded-For is trusted; * is any"""
    frame_ancestors: tuple[str, ...] = ()
    """Sites that may embed the app in a frame, as in Content-Security-Policy; the directive is omitted if empty"""
    replica: str = ""
    """The name of this server if it is one of several behind a load balancer"""
    passes: int = 0
    """Forward passes that run in parallel; 0 is one per processor"""
    corpora: tuple[str, ...] = ()
    """Files written by `python -m attnviz corpus`: statistics that the page Heads shows for their models"""
    trainings: int = 2
    """Training runs at the same time, one process each; others wait"""
    training_steps: int = 100_000
    """The most steps of a training run"""
    training_parameters: int = 12_000_000
    """The most parameters of a model to train"""
    training_block: int = 1024
    """The longest sequence in training, in tokens"""
    training_batch: int = 4096
    """The most sequences per step"""

    def allows(self, model: str) -> bool:
        """Whether a visitor may request this model, a name on the hub or a folder."""
        name = model.strip()
        if name == "minilm" or name in self.models or (self.hub and self.folders):
            return True
        is_folder = not _HUB_NAME.fullmatch(name) or ".." in name or (os.sep in name and os.path.isdir(name))  # noqa: PTH112 — never raises
        return self.folders if is_folder else self.hub

    @property
    def parallel_passes(self) -> int:
        """The number of forward passes that run in parallel."""
        return self.passes or processors()


PUBLIC = Settings(
    public=True,
    models=("minilm",),
    hub=False,
    folders=False,
    uploads=False,
    largest_upload=1,
    largest_text=5_000,
    sessions=400,
    requests=12_000,
    changes=1_200,
    frame_ancestors=("'self'",),
    training_steps=6_000,
    training_parameters=2_000_000,
    training_block=128,
    training_batch=512,
)
"""The defaults for a public link. They admit a class of 300 behind one address with a change every two seconds."""

LIMITS = {
    "largest_upload": (1, 8),
    "largest_text": (100, 20_000),
    "sessions": (0, 100_000),
    "requests": (0, 10_000_000),
    "changes": (0, 1_000_000),
    "passes": (0, 256),
    "trainings": (1, 64),
    "training_steps": (1, 100_000),
    "training_parameters": (1_000, 100_000_000),
    "training_block": (8, 4_096),
    "training_batch": (1, 4_096),
}
"""The range of each integer setting."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_current: list[Settings] = []
"""The settings of this process, once they are known"""
_lock = threading.Lock()


def settings() -> Settings:
    """Return the settings of this process: those that `use` set, or else those of the environment, read once.

    Call it where a value is needed, never when a module is imported: a server calls `use` after its imports.

    Raises:
        SettingsError: a setting is invalid.
    """
    if not _current:
        with _lock:
            if not _current:
                _current.append(read(os.environ))
    return _current[0]


def use(value: Settings) -> None:
    """Set the settings of this process, before anything asks for them.

    Raises:
        SettingsError: other settings were read before, so parts of the program may already follow them.
    """
    with _lock:
        if _current and _current[0] != value:
            raise SettingsError("Other settings were read before the server could set its own; start it first.")
        _current[:] = [value]


def read(environment: Mapping[str, str]) -> Settings:
    """Read settings from environment variables, and from the file that ATTNVIZ_SETTINGS names.

    Raises:
        SettingsError: an invalid value, an unknown setting, or an unreadable file.
    """
    values = _from_file(environment[FILE]) if environment.get(FILE) else {}
    for variable, value in environment.items():
        if variable.startswith(PREFIX) and variable not in OTHERS:
            name = variable.removeprefix(PREFIX).lower()
            values[name] = _read(name, value, f"{variable}={value}")
    return replace(PUBLIC if values.get("public") else Settings(), **values)


def _from_file(path: str) -> dict[str, Any]:
    try:
        raw = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"The settings file {path} can't be read: {error.strerror or error}.") from error
    except ValueError as error:  # not UTF-8 or not TOML
        reason = str(error).splitlines()[0]
        raise SettingsError(f"The settings file {path} is not TOML: {reason}.") from error
    return {name: _read(name, value, f"{name} = {value!r} in {path}") for name, value in raw.items()}


def _read(name: str, value: Any, assignment: str) -> Any:
    """Parse the raw value of a setting. `assignment` quotes the assignment for error messages."""
    assignment = " ".join(assignment[:200].split())
    kind = next((field.type for field in fields(Settings) if field.name == name), None)
    if kind is None:
        raise SettingsError(
            f"{assignment}: unknown setting; choose from {', '.join(f.name for f in fields(Settings))}."
        )
    if kind == "bool":
        return _switch(value, assignment)
    if kind == "int":
        return _whole(value, assignment, *LIMITS[name])
    return _name(value, assignment) if kind == "str" else _several(name, value, assignment)


def _switch(value: Any, assignment: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    switch = words.get(str(value).strip().lower())
    if switch is None:
        raise SettingsError(f"{assignment}: expected 1 or 0.")
    return switch


def _whole(value: Any, assignment: str, low: int, high: int) -> int:
    digits = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", digits, re.ASCII) or not low <= int(digits) <= high:
        raise SettingsError(f"{assignment}: expected a whole number from {low} to {high}.")
    return int(digits)


def _name(value: Any, assignment: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w.-]{0,64}", value, re.ASCII):
        raise SettingsError(f"{assignment}: expected a name of letters, digits, points and hyphens.")
    return value


def _several(name: str, value: Any, assignment: str) -> tuple[str, ...]:
    """Parse a list: comma-separated in the environment, an array of strings in a file."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise SettingsError(f"{assignment}: expected a list of names.")
    entries = tuple(part.strip() for part in parts if part.strip())
    if name == "models" and not entries:
        raise SettingsError(f"{assignment}: at least one model is needed, such as minilm.")
    if name == "corpora" and (wrong := [part for part in entries if not Path(part).is_file()]):
        raise SettingsError(f"{assignment}: {wrong[0]} is not a file.")
    if name == "corpora" and len(set(map(name_in_links, map(Path, entries)))) < len(entries):
        raise SettingsError(f"{assignment}: two files have the same name, by which links choose one.")
    if name == "trusted_proxies" and not all(_is_network(part) for part in entries):
        raise SettingsError(f"{assignment}: expected addresses or networks, such as 10.0.0.0/8, or *.")
    if name == "frame_ancestors" and not all(_ANCESTOR.fullmatch(part) for part in entries):
        raise SettingsError(f"{assignment}: expected 'none', 'self', * or sites such as https://example.org.")
    return entries


def name_in_links(corpus: Path) -> str:
    """Return the name of a file of `corpora` in links."""
    return corpus.stem[:60]


def _is_network(written: str) -> bool:
    if written == "*":
        return True
    try:
        ipaddress.ip_network(written, strict=False)
    except ValueError:
        return False
    return True

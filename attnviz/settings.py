"""What whoever runs attnviz may decide: which models and sizes are allowed, and how many may use it at once.

Each setting is a field of `Settings`. It is read once, from the environment (`ATTNVIZ_SESSIONS=50`) or from the TOML
file that ATTNVIZ_SETTINGS names (`sessions = 50`); the environment goes first. On one's own machine nothing is
restricted. With ATTNVIZ_PUBLIC=1, which `python -m attnviz serve` sets, what is not said is safe for a public link.
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

PREFIX = "ATTNVIZ_"
FILE = "ATTNVIZ_SETTINGS"
OTHERS = {FILE, "ATTNVIZ_CHROMIUM", "ATTNVIZ_BENCH_CACHE"}
"""Variables with our prefix that are no settings; the last two are the tests' own."""

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_ANCESTOR = re.compile(r"'none'|'self'|\*|https?://[\w.*-]+(:\d{1,5})?", re.ASCII)


class SettingsError(ValueError):
    """A setting that is wrong. The message is one line for whoever started the server."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is allowed. The defaults are those of one's own machine; `PUBLIC` has those of a public link."""

    public: bool = False
    """Whether what is not said takes the defaults of a public link"""
    models: tuple[str, ...] = ("minilm", "bert-base-uncased")
    """Models that are offered, and always allowed as minilm is: names on the Hugging Face hub, or folders"""
    hub: bool = True
    """Whether any other name on the hub may be asked for"""
    folders: bool = True
    """Whether any other folder on this machine may be asked for"""
    uploads: bool = True
    """Whether files may be uploaded"""
    largest_upload: int = 5
    """Megabytes of a file that is uploaded, at most"""
    largest_text: int = 20_000
    """Characters of a text, at most"""
    sessions: int = 0
    """Visitors at once, at most; 0 is no limit"""
    requests: int = 0
    """Requests a minute from one address, at most; 0 is no limit"""
    changes: int = 0
    """Messages a minute from one visitor, at most; 0 is no limit"""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of the proxies whose X-Forwarded-For is believed; * is any"""
    frame_ancestors: tuple[str, ...] = ()
    """Sites that may show the app in a frame, as in Content-Security-Policy; nothing is said where there are none"""
    replica: str = ""
    """The name of this server where it is one of several behind a load balancer"""
    passes: int = 0
    """Texts that models read at once; 0 is one for each processor"""
    pass_process: bool = False
    """Whether the built-in model runs in a process of its own, which takes some 400 MB, where there are two processors
    or more"""

    def allows(self, model: str) -> bool:
        """Say whether a visitor may ask for this model, by a name on the hub or by a folder."""
        name = model.strip()
        if name == "minilm" or name in self.models or (self.hub and self.folders):
            return True
        is_folder = not _HUB_NAME.fullmatch(name) or ".." in name or (os.sep in name and os.path.isdir(name))  # noqa: PTH112 — never raises
        return self.folders if is_folder else self.hub

    @property
    def passes_at_once(self) -> int:
        """Texts that models read at once, counted out."""
        return self.passes or processors()

    @property
    def has_pass_process(self) -> bool:
        """Whether the built-in model runs in a process of its own, on this machine."""
        return self.pass_process and processors() > 1


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
    pass_process=True,
)
"""The defaults of a public link. A class of 300 behind one address, at a change every two seconds, is let in."""

LIMITS = {
    "largest_upload": (1, 5),
    "largest_text": (100, 20_000),
    "sessions": (0, 100_000),
    "requests": (0, 10_000_000),
    "changes": (0, 1_000_000),
    "passes": (0, 256),
}
"""What whole numbers may be."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def settings() -> Settings:
    """Return the settings of this process, read once.

    Raises:
        SettingsError: one of them is wrong.
    """
    return read(os.environ)


def read(environment: Mapping[str, str]) -> Settings:
    """Read settings from variables of the environment, and from the file that one of them may name.

    Raises:
        SettingsError: a value that its setting does not take, a setting that there is not, a file that can't be read.
    """
    given = _from_file(environment[FILE]) if environment.get(FILE) else {}
    for variable, value in environment.items():
        if variable.startswith(PREFIX) and variable not in OTHERS:
            name = variable.removeprefix(PREFIX).lower()
            given[name] = _read(name, value, f"{variable}={value}")
    return replace(PUBLIC if given.get("public") else Settings(), **given)


def _from_file(path: str) -> dict[str, Any]:
    try:
        raw = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"The settings file {path} can't be read: {error.strerror or error}.") from error
    except ValueError as error:  # not UTF-8, or no TOML
        why = str(error).splitlines()[0]
        raise SettingsError(f"The settings file {path} is no TOML: {why}.") from error
    return {name: _read(name, value, f"{name} = {value!r} in {path}") for name, value in raw.items()}


def _read(name: str, value: Any, said: str) -> Any:
    """Turn what was said of a setting into its value; `said` is how it was said, for the message."""
    said = " ".join(said[:200].split())
    kind = next((field.type for field in fields(Settings) if field.name == name), None)
    if kind is None:
        raise SettingsError(
            f"{said}: there is no such setting; there are {', '.join(f.name for f in fields(Settings))}."
        )
    if kind == "bool":
        return _switch(value, said)
    if kind == "int":
        return _whole(value, said, *LIMITS[name])
    return _name(value, said) if kind == "str" else _several(name, value, said)


def _switch(value: Any, said: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    found = words.get(str(value).strip().lower())
    if found is None:
        raise SettingsError(f"{said}: this is a switch, 1 or 0.")
    return found


def _whole(value: Any, said: str, low: int, high: int) -> int:
    written = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", written, re.ASCII) or not low <= int(written) <= high:
        raise SettingsError(f"{said}: this is a whole number from {low} to {high}.")
    return int(written)


def _name(value: Any, said: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w.-]{0,64}", value, re.ASCII):
        raise SettingsError(f"{said}: this is a name of letters, digits, points and hyphens.")
    return value


def _several(name: str, value: Any, said: str) -> tuple[str, ...]:
    """Read a list: in the environment with commas, in a file as an array of strings."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise SettingsError(f"{said}: this is a list of names.")
    found = tuple(part.strip() for part in parts if part.strip())
    if name == "models" and not found:
        raise SettingsError(f"{said}: at least one model is needed, such as minilm.")
    if name == "trusted_proxies" and not all(_is_network(part) for part in found):
        raise SettingsError(f"{said}: these are addresses or networks, such as 10.0.0.0/8, or *.")
    if name == "frame_ancestors" and not all(_ANCESTOR.fullmatch(part) for part in found):
        raise SettingsError(f"{said}: these are 'none', 'self', * or sites such as https://example.org.")
    return found


def _is_network(written: str) -> bool:
    if written == "*":
        return True
    try:
        ipaddress.ip_network(written, strict=False)
    except ValueError:
        return False
    return True

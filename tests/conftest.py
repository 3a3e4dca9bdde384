"""What holds for every test: no network, repeatable examples, one thread for torch."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# Here and nowhere else: a fixture that two folders import is two fixtures, and Playwright starts once a process.
from tests.browser.contexts import (  # noqa: F401
    browser,
    idle,
    kept,
    kept_touch,
    new_context,
    one_page,
    one_touch_page,
    page,
    plain,
    plain_page,
    pytest_runtest_makereport,
    still_page,
    touch_watch_of_file,
    watch_of_file,
)
from tests.slow import function_of, slow_tests

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by torch when something imports it
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# jsonschema, which checks notebooks, imports a parser of addresses that builds its grammar for seconds, in each process
# of the tests: a sixth of what collecting them takes. No part of a notebook has the format that it would check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# Streamlit warns each time that code outside a page reads the session's state: hundreds of times in one test.
for name in ("runtime.scriptrunner_utils.script_run_context", "runtime.state.session_state_proxy"):
    logging.getLogger(f"streamlit.{name}").disabled = True

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


UNFREEZE = gc.unfreeze


class NoNetworkError(OSError):
    """Raised where a test's code turns to another machine: what a machine without a network would say."""


def pytest_configure(config: pytest.Config) -> None:
    """Name the project's markers."""
    config.addinivalue_line("markers", "asks_outside: the test is about what happens when the network does not answer")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--quick`, which `tests/run --quick` sets."""
    parser.addoption("--quick", action="store_true", help="leave out the tests that are listed in tests/slow.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests where `--quick` is set; pytest says how many it has deselected."""
    if config.getoption("--quick"):
        slow = slow_tests()
        left_out = [item for item in items if function_of(item.nodeid) in slow]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if function_of(item.nodeid) not in slow]


def pytest_collection_finish() -> None:
    """Freeze all that the tests have imported: the collector takes a second to go through it.

    Collecting less often saves up to a tenth of the time of tests that open pages.

    Streamlit's loggers, of which each module has one, hand on what they log: otherwise pytest adds two handlers to each
    of them, and takes them away, three times in every test.
    """
    for name in filter(re.compile(r"streamlit\b").match, logging.root.manager.loggerDict):
        logging.getLogger(name).propagate = True
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000)


@pytest.fixture(scope="session", autouse=True)
def imports_stay_frozen() -> Iterator[None]:
    """Keep what the tests have imported frozen when the app calls `gc.unfreeze()`; see `unfreezing`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def folder_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tell `tests.loaded` of a folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    os.environ["TESTS_SHARED"] = str(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture(scope="session")
def minilm() -> BuiltInModel:
    """Return the built-in model; nobody may change it."""
    from tests.loaded import built_in_model

    return built_in_model()


@pytest.fixture
def unfreezing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test whose subject is what the collector finds have all of it collected; then all is frozen again."""
    monkeypatch.setattr(gc, "unfreeze", UNFREEZE)
    yield
    gc.freeze()


def is_here(host: object) -> bool:
    """Return whether this host is the machine itself, or nobody's: `attnviz.hosts` names an address for documentation.

    It connects a datagram socket, which sends nothing.
    """
    name = host.decode(errors="replace") if isinstance(host, bytes) else host
    if name in (None, "", "localhost", "192.0.2.1"):
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def asked_outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuse every connection that leaves the machine, and fail the test that asked for one.

    A test marked `asks_outside` may ask; it is refused all the same, and finds in this list for which hosts.
    """
    asked: list[str] = []

    def guarded(real: Callable[..., object], host_of: Callable[..., object]) -> Callable[..., object]:
        def ask(*args: object, **kwargs: object) -> object:
            host = host_of(*args, **kwargs)
            if is_here(host):
                return real(*args, **kwargs)
            asked.append(str(host))
            raise NoNetworkError(f"tests have no network, and {host} was asked for")

        return ask

    def address_host(_sock: socket.socket, address: object) -> object:
        return address[0] if isinstance(address, tuple) else None  # a local socket's address is a path

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, guarded(getattr(socket.socket, name), address_host))
    monkeypatch.setattr(socket, "getaddrinfo", guarded(socket.getaddrinfo, lambda host, *_, **__: host))
    yield asked
    if not request.node.get_closest_marker("asks_outside"):
        assert not asked, f"the test asked the outside for {', '.join(asked)}"

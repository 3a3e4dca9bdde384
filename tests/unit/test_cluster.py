"""Ray as this process starts it and joins it, with a stand-in: what it is asked for, and what is said if it fails."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from attnviz.cluster import ClusterError, check_address, connected, first_line

QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}
ALONE = {**QUIET, "num_cpus": 3, "object_store_memory": 77, "include_dashboard": False}


class Ray:
    """Stands in for the module `ray`: notes what is asked of it, and fails with these errors first."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.errors: list[Exception] = []
        self.runs = False

    def is_initialized(self) -> bool:
        return self.runs

    def init(self, address: str, **options: object) -> None:
        self.asked.append((address, options))
        if self.errors:
            raise self.errors.pop(0)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def shutdown(self) -> None:
        self.asked.append("shutdown")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"HOME": "here"})


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    stand_in = Ray()
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    return stand_in


def connect(address: str | None = None) -> None:
    with connected(address, processors=3, store_bytes=77):
        pass


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_it_is_started_again_once_if_the_first_start_fails(ray: Ray) -> None:
    ray.errors = [TimeoutError("slow")]
    connect()
    assert ray.asked == [("local", ALONE), "shutdown", ("local", ALONE), "shutdown"]
    ray.asked, ray.errors = [], [TimeoutError("slow"), OSError("\nno room\nfor it"), OSError("a third")]
    with pytest.raises(ClusterError) as raised:
        connect()
    assert str(raised.value) == "Ray on this machine can't be reached: no room"
    assert ray.asked == [("local", ALONE), "shutdown"] * 2


def test_a_running_cluster_is_joined_with_its_own_processors_and_asked_once(ray: Ray) -> None:
    with listening() as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        connect(address)
        assert ray.asked == [(address, QUIET), "shutdown"]
        ray.asked, ray.errors = [], [ValueError("another version")]
        with pytest.raises(ClusterError, match=f"^Ray at {address} can't be reached: another version$"):
            connect(address)
    assert ray.asked == [(address, QUIET), "shutdown"]


def test_ray_that_runs_already_is_used_and_goes_on(ray: Ray) -> None:
    ray.runs = True
    connect("nobody:1")
    assert ray.asked == []


def test_the_signal_that_ends_a_process_stays_this_process_s(ray: Ray) -> None:
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        connect()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    with ThreadPoolExecutor(1) as thread:  # only the main thread may set it
        thread.submit(connect).result(30)
    assert ray.asked == [("local", ALONE), "shutdown"] * 2


def test_ray_s_variables_are_set_unless_they_are_set_already(monkeypatch: pytest.MonkeyPatch, ray: Ray) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "mine"
    connect()
    assert "RAY_AUTH_TOKEN" not in os.environ, "it has been imported, and read them"
    monkeypatch.delitem(sys.modules, "ray")
    monkeypatch.setattr(sys, "path", [])  # it is not installed
    for given, address, mode, letters in (
        ({"RAY_AUTH_MODE": "disabled"}, None, "disabled", 0),
        ({}, None, "token", 64),
        ({}, "127.0.0.1:1", None, 0),  # a running cluster has its own
    ):
        monkeypatch.setattr(os, "environ", {"RAY_USAGE_STATS_ENABLED": "mine", **given})
        with pytest.raises(ClusterError) as raised:
            connect(address)
        assert str(raised.value) == "Ray is not installed; pip install 'attnviz[ray]' installs it."
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "mine"
        assert os.environ["RAY_BACKEND_LOG_LEVEL"] == "fatal"
        assert os.environ.get("RAY_AUTH_MODE") == mode
        assert len(os.environ.get("RAY_AUTH_TOKEN", "")) == letters


def test_an_address_is_tried_before_ray_tries_it_for_minutes() -> None:
    with listening() as server:
        port = server.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            check_address(address)
        os.environ["RAY_ADDRESS"] = f"127.0.0.1:{port}"
        check_address("auto")
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", f"[127.0.0.1]:{port}", "127.0.0.1:70000"):
        with pytest.raises(ClusterError) as raised:
            check_address(address)
        assert str(raised.value).startswith(f"Ray at {address} can't be reached: ")
    with pytest.raises(ClusterError, match=f"^Ray at 127.0.0.1:{port} can't"):
        check_address("auto")
    del os.environ["RAY_ADDRESS"]
    for address in ("auto", "local", "127.0.0.1:", "127.0.0.1:ssh"):
        check_address(address)  # Ray itself notices at once


def test_of_an_error_one_line_is_said() -> None:
    assert first_line(OSError("\n  one\ntwo")) == "one"
    assert first_line(OSError()) == "OSError"
    assert first_line(OSError("x" * 301)) == "x" * 300

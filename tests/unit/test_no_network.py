"""The guard that keeps tests from the network does its work."""

from __future__ import annotations

import socket
import urllib.request

import pytest

from tests.conftest import NoNetworkError, is_here


@pytest.mark.asks_outside
def test_names_and_addresses_of_other_machines_are_refused_and_listed(asked_outside: list[str]) -> None:
    with pytest.raises(OSError, match=r"example\.org was asked for"):
        urllib.request.urlopen("https://example.org/")
    with pytest.raises(NoNetworkError), socket.socket() as ours:
        ours.connect(("198.51.100.1", 80))
    assert asked_outside == ["example.org", "198.51.100.1"]


def test_this_machine_is_reached(asked_outside: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        assert ours.getpeername() == server.getsockname()
    assert asked_outside == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1", b"localhost", None])
def test_hosts_that_are_here(host: object) -> None:
    assert is_here(host)


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "10.0.0.1", "0x7f.1", "::2"])
def test_hosts_that_are_not(host: object) -> None:
    assert not is_here(host)

"""Which addresses mean this machine, and the one by which others reach it."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from attnviz.hosts import address_for_others, is_local


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("192.168.1.4", False),
     ("example.org", False), ("", False)],
)  # fmt: skip
def test_what_means_this_machine(host: str, local: bool) -> None:
    assert is_local(host) == local


@pytest.mark.parametrize(
    ("bound", "address"),
    [("127.0.0.1", ""), ("localhost", ""), ("10.0.0.7", "10.0.0.7"), ("lab.example", "lab.example")],
)
def test_a_server_with_an_address_of_its_own_is_reached_there_or_not_at_all(bound: str, address: str) -> None:
    assert address_for_others(bound) == address


class Socket:
    """A socket of a machine with the address `own`, or without a network if that is None."""

    def __init__(self, own: str | None) -> None:
        self.own = own

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def connect(self, to: tuple[str, int]) -> None:
        if self.own is None:
            raise OSError
        assert not ip_address(to[0]).is_global

    def getsockname(self) -> tuple[str | None, int]:
        return self.own, 1


@pytest.mark.parametrize("bound", [None, "", "0.0.0.0", "::"])
@pytest.mark.parametrize(("own", "address"), [("192.0.2.2", "192.0.2.2"), ("127.0.0.1", ""), (None, "")])
def test_a_server_that_listens_everywhere_is_reached_at_the_machines_address(
    bound: str | None, own: str | None, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_: Socket(own))
    assert address_for_others(bound) == address

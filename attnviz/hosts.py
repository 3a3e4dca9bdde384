"""Host names and addresses: whether one means this machine, and by which address other machines reach it."""

from __future__ import annotations

import socket
from ipaddress import ip_address


def is_local(host: str) -> bool:
    """Whether a host name or address means this machine itself."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def address_for_others(bound: str | None) -> str:
    """Return the address at which other machines reach a server that listens on `bound`, or "" if they can't.

    For a server that listens on all addresses (None, 0.0.0.0, ::), it is the address from which this machine would
    send to others. Nothing is sent to find it.
    """
    if bound and not _is_everywhere(bound):
        return "" if is_local(bound) else bound
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation (RFC 5737); a datagram socket sends nothing
        except OSError:  # no network
            return ""
        address: str = probe.getsockname()[0]
    return "" if is_local(address) else address


def _is_everywhere(bound: str) -> bool:
    try:
        return ip_address(bound).is_unspecified
    except ValueError:
        return False

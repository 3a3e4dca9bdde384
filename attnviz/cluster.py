"""Ray: started on this machine, or a running cluster.

Importing this imports no Ray, which the extra `attnviz[ray]` installs.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STARTS = 2
"""Attempts to start Ray here: it gives up after 30 seconds, which a busy machine may need"""
CONNECT_SECONDS = 5
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # as versions to come do; without it, Ray warns of them
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its errors come as exceptions too
}
"""Variables that Ray reads when it is imported, where they are not set already"""


class ClusterError(RuntimeError):
    """Ray is not installed or can't be reached. The message is one sentence."""


@contextmanager
def connected(address: str | None, *, processors: int, store_bytes: int) -> Iterator[None]:
    """Connect to a cluster, or start Ray here; quietly, and with nothing sent to Ray's makers.

    If Ray runs in this process already, it is used as it is, and left running.

    Args:
        address: of a running cluster; if None, Ray is started on this machine, and ended afterwards.
        processors: how many Ray has here.
        store_bytes: its memory for results here.

    Raises:
        ClusterError: Ray is not installed or can't be reached.
    """
    _set_environment(alone=address is None)
    try:
        import ray
    except ImportError as error:
        raise ClusterError("Ray is not installed; pip install 'attnviz[ray]' installs it.") from error
    if ray.is_initialized():
        yield
        return
    if address is not None:
        check_address(address)
    own = signal.getsignal(signal.SIGTERM)
    try:
        _start(address, processors, store_bytes)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, own)  # Ray's would end the process before it has written what it must
    try:
        yield
    finally:
        ray.shutdown()


def _start(address: str | None, processors: int, store_bytes: int) -> None:
    """Connect to a cluster, or start Ray here.

    Raises:
        ClusterError: neither can be done.
    """
    import ray

    here: dict[str, Any] = {"num_cpus": processors, "object_store_memory": store_bytes, "include_dashboard": False}
    for attempt in range(1 if address else STARTS):
        try:
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **({} if address else here))
        except Exception as error:  # Ray raises plain ones too
            ray.shutdown()
            if address or attempt + 1 == STARTS:
                where = f"at {address}" if address else "on this machine"
                raise ClusterError(f"Ray {where} can't be reached: {first_line(error)}") from error
        else:
            return


def _set_environment(*, alone: bool) -> None:
    """Set what Ray reads when it is imported; if it starts here, with a secret that its ports ask for.

    Without one in the environment, Ray writes its own to the home folder, where others may read it.
    """
    os.environ |= {name: value for name, value in ENVIRONMENT.items() if name not in os.environ}
    if alone and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def check_address(address: str) -> None:
    """Try whether somebody listens: Ray itself tries for many minutes.

    For "auto" that is the address in RAY_ADDRESS, if it is set, as for Ray.

    Raises:
        ClusterError: nobody does.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # Ray looks for a cluster on this machine, and finds at once that there is none
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ClusterError(f"Ray at {address} can't be reached: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]

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
"""Attempts to start Ray on this machine: each ends after 30 seconds, which can be too few on a busy machine"""
CONNECT_SECONDS = 5
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # later versions do this; without it, Ray warns about that
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # errors are also raised as exceptions
}
"""Variables that Ray reads when it is imported; variables that are already set are kept"""


class ClusterError(RuntimeError):
    """Ray is not installed or can't be reached. The message is one sentence."""


@contextmanager
def connected(address: str | None, *, processors: int, store_bytes: int) -> Iterator[None]:
    """Connect to a cluster, or start Ray on this machine, without Ray's output and without its usage statistics.

    If this process already runs Ray, that is used, and keeps running afterwards.

    Args:
        address: the address of a running cluster; if None, Ray is started on this machine, and stopped afterwards.
        processors: how many processors Ray may use on this machine.
        store_bytes: Ray's memory for results on this machine.

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
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _start(address, processors, store_bytes)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's would end the process before it has written its results
    try:
        yield
    finally:
        ray.shutdown()


def _start(address: str | None, processors: int, store_bytes: int) -> None:
    """Connect to a cluster, or start Ray on this machine.

    Raises:
        ClusterError: that fails.
    """
    import ray

    options: dict[str, Any] = {"num_cpus": processors, "object_store_memory": store_bytes, "include_dashboard": False}
    for attempt in range(1 if address else STARTS):
        try:
            ray.init(
                address or "local", log_to_driver=False, logging_level=logging.ERROR, **({} if address else options)
            )
        except Exception as error:  # Ray also raises plain exceptions
            ray.shutdown()
            if address or attempt + 1 == STARTS:
                where = f"at {address}" if address else "on this machine"
                raise ClusterError(f"Ray {where} can't be reached: {first_line(error)}") from error
        else:
            return


def _set_environment(*, alone: bool) -> None:
    """Set the variables that Ray reads when it is imported; if it starts here, also a token that its ports require.

    Without a token in the environment, Ray writes one to the home folder, where others may read it.
    """
    os.environ |= {name: value for name, value in ENVIRONMENT.items() if name not in os.environ}
    if alone and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def check_address(address: str) -> None:
    """Check that a server listens at an address, because Ray itself keeps trying for many minutes.

    "auto" means the address in RAY_ADDRESS, if it is set, as it does for Ray.

    Raises:
        ClusterError: no server listens there.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # Ray looks for a cluster on this machine, and notices at once if there is none
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ClusterError(f"Ray at {address} can't be reached: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
